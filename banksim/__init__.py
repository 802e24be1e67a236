"""banksim: shared-memory bank conflicts of GPU kernels, counted exactly, with no GPU.

Names are loaded when first used: importing banksim loads neither numba nor rich nor a compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from banksim import errors
    from banksim.arch import Architecture, architecture
    from banksim.conflicts import Conflicts
    from banksim.errors import BanksimError
    from banksim.judge import explain, ideal, nsight_ideal, replay, transactions
    from banksim.requests.counts import Range
    from banksim.timing.requests import block_cycles
    from banksim.trace import Site, Trace

_MODULE_OF = {
    "Architecture": "arch",
    "BanksimError": "errors",
    "Conflicts": "conflicts",
    "Range": "requests.counts",
    "Site": "trace",
    "Trace": "trace",
    "architecture": "arch",
    "block_cycles": "timing.requests",
    "errors": "",
    "explain": "judge",
    "ideal": "judge",
    "load": "kernels",
    "nsight_ideal": "judge",
    "pattern": "patterns",
    "replay": "judge",
    "run": "run_kernel",
    "transactions": "judge",
}

__all__ = [
    "Architecture",
    "BanksimError",
    "Conflicts",
    "Range",
    "Site",
    "Trace",
    "architecture",
    "block_cycles",
    "errors",
    "explain",
    "ideal",
    "load",
    "nsight_ideal",
    "pattern",
    "replay",
    "run",
    "transactions",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'banksim' has no attribute {name!r}")
    if not _MODULE_OF[name]:
        return importlib.import_module(f"banksim.{name}")
    value = getattr(importlib.import_module(f"banksim.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
