"""Numba's types of the machine's records."""

from __future__ import annotations

from typing import Any

from numba import from_dtype, types

from banksim.machine import state

_TALLY = state.TALLY


# The layouts are part of the functions' types, and with these of the key under which numba caches their code.
_pointer_to: Any = types.CPointer


WARP = _pointer_to(from_dtype(state.WARP))


MEMO = _pointer_to(from_dtype(state.MEMO))


CONTEXT = _pointer_to(from_dtype(state.CONTEXT))


MEMOS = state.MEMO
