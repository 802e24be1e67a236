"""Numba's types of the machine's records."""

import numpy as np
from numba import from_dtype, types

from banksim.machine import state
from banksim.system.compiled_types import NumbaType

_TALLY = state.TALLY
_CLUSTER = state.CLUSTER


def pointer_to(layout: np.dtype) -> NumbaType:
    """The layouts are part of the functions' types, and with these of the key under which numba caches their code."""
    return types.CPointer(from_dtype(layout))  # type: ignore[no-untyped-call]


WARP = pointer_to(state.WARP)
MEMO = pointer_to(state.MEMO)
CONTEXT = pointer_to(state.CONTEXT)
MEMOS = state.MEMO
