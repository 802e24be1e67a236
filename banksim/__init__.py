"""banksim: shared-memory bank conflicts of GPU kernels, counted exactly, with no GPU.

Names are loaded when first used: importing banksim loads neither numba nor rich nor a compiler.

requests/        what a request to shared memory is, and which opcode makes which
architectures/   everything known of a GPU
banks/           what requests cost: the bank rule
patterns/        requests from index expressions
layouts/         requests from layouts as CuTe and Gluon write them
storage/         requests from and to trace files
kernels/         from source to decoded machine code
machine/         executes machine code
classes/         a grid at the cost of its distinct blocks
timing/          how many cycles that takes
runs/            `banksim.run`, and whole programs
project/         what a project's file lists, judged together
distributed.py   traces and grids spread over many computers
advise/          layouts that cure conflicts
report/          everything that is shown
commands/        the command line, which __main__.py starts
testing.py       for pytest
magic.py         for notebooks
wording.py       numbers and lists in words
system/          files, processes, signals, caches, terminals
errors.py        what can go wrong
version.py       which banksim this is
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from banksim.architectures.bank_rules import Architecture, architecture
    from banksim.banks.conflicts import Conflicts
    from banksim.banks.pieces import replay
    from banksim.banks.replay import explain, ideal, nsight_ideal, transactions
    from banksim.errors import BanksimError
    from banksim.layouts import Layout, layout, layout_pattern
    from banksim.machine.host_memory import absent
    from banksim.machine.structs import Struct
    from banksim.machine.tensor_maps import tensor_map
    from banksim.requests.counts import Range
    from banksim.requests.trace import Site, Trace
    from banksim.runs.run import run
    from banksim.timing.block_cycles import block_cycles

_MODULE_OF = {
    "Architecture": "architectures.bank_rules", "BanksimError": "errors", "Conflicts": "banks.conflicts",
    "Layout": "layouts", "Range": "requests.counts", "Site": "requests.trace", "Struct": "machine.structs",
    "Trace": "requests.trace", "architecture": "architectures.bank_rules", "absent": "machine.host_memory",
    "block_cycles": "timing.block_cycles", "errors": "", "explain": "banks.replay", "ideal": "banks.replay",
    "layout": "layouts", "layout_pattern": "layouts", "load": "kernels.load", "nsight_ideal": "banks.replay",
    "pattern": "patterns", "replay": "banks.pieces", "run": "runs.run", "tensor_map": "machine.tensor_maps",
    "transactions": "banks.replay",
}  # fmt: skip

__all__ = [
    "Architecture", "BanksimError", "Conflicts", "Layout", "Range", "Site", "Struct", "Trace", "absent",
    "architecture", "block_cycles", "errors", "explain", "ideal", "layout", "layout_pattern", "load", "nsight_ideal",
    "pattern", "replay", "run", "tensor_map", "transactions",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'banksim' has no attribute {name!r}")
    if not _MODULE_OF[name]:
        return importlib.import_module(f"banksim.{name}")
    value = getattr(importlib.import_module(f"banksim.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: object) -> None:
    """`%load_ext banksim`: the cell magic `%%banksim`."""
    importlib.import_module("banksim.magic").register(shell)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
