"""The launches that were recorded on an H200, and their runs here; each is executed once in a process."""

import fnmatch
import functools
from dataclasses import replace
from typing import Any

from launches import LAUNCHES, argument

import banksim
from helpers.recordings import kernels, text

SOURCES = sorted({launch.source for launch in LAUNCHES})


def because(table: dict[str, Any], name: str) -> Any:
    return next((why for pattern, why in table.items() if fnmatch.fnmatchcase(name, pattern)), None)


ENTRIES = {entry["name"]: entry for source in SOURCES for entry in text(source)["launches"]}


ENDING = [name for name, entry in ENTRIES.items() if "hangs" not in entry]


def without_clock(kernel: Any) -> Any:
    """The kernel with its readings of the clock, which are no part of the comparison, replaced by zeros."""

    def still(operand: Any) -> Any:
        return replace(operand, text="SRZ") if operand.text.startswith("SR_CLOCK") else operand

    if not any(operand.text.startswith("SR_CLOCK") for i in kernel.instructions for operand in i.operands):
        return kernel
    code = tuple(replace(i, operands=tuple(map(still, i.operands))) for i in kernel.instructions)
    return replace(kernel, instructions=code, cubin=kernel.cubin + b"without clock")


def launched(name: str, **options: Any) -> tuple[Any, list[Any]]:
    """The run of a launch by these options, and its arguments after it."""
    entry, arguments = ENTRIES[name], [argument(rule) for rule in ENTRIES[name]["arguments"]]
    kernel = without_clock(kernels(name.split(".")[0])[entry["kernel"]])
    options["dynamic_shared"] = entry["dynamic_shared"]
    return banksim.run(kernel, entry["grid"], entry["block"], arguments, **options), arguments


@functools.cache
def executed(name: str, trace: Any = None) -> tuple[Any, list[Any]]:
    """The run of a launch, and its arguments after it."""
    return launched(name, workers=1, max_instructions=5_000_000, trace=trace)
