"""Counting a launch block by block, each executed only as far as its counts need it: for grids of which hardly any
blocks are alike, though counts depend on nothing that is loaded."""

from collections.abc import Callable, Sequence

import numpy as np

from banksim.architectures.bank_rules import Architecture
from banksim.classes.compiled.records import AXES, ROW
from banksim.classes.counting import KEPT, Counted, Counting, Undecided, region_of, undecided
from banksim.classes.regions import Box
from banksim.classes.translate import compile_class
from banksim.machine import codes
from banksim.machine.launch import Launch
from banksim.machine.llvm.worker import Worker, period_of
from banksim.machine.llvm.workers import execute

NO_AXES = ()
"""Those along which a block is compared with others."""


def count_each(
    launch: Launch,
    rules: Sequence[Architecture],
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Counted | Undecided:
    """The counts of a launch of which `count` said that it has too many classes. Each block is a class of its own; the
    `first` that are kept are spread over the grid."""
    compiled = compile_class(launch.kernel, NO_AXES, period_of(rules), clustered=launch.cluster_blocks > 1)
    counts = execute(launch, compiled, rules, workers=workers, progress=progress, prepare=add_marks)
    stop = counts.stop
    if stop and stop.code == codes.UNDECIDED:
        return undecided(launch.kernel, int(stop.error["pc"]), NO_AXES)
    counting = Counting(launch, compiled, rules, NO_AXES)
    for number in () if stop else spread(launch.blocks):
        counting.push([*Box.of_one(number, launch.grid).first, *[0] * (ROW - AXES)])
        counting.go_on()
    return Counted(compiled, counts, launch.blocks, tuple(counting.first), counting.touched)


def add_marks(worker: Worker) -> None:
    """Give a worker the copy of local memory that marks what is unknown."""
    worker.kept = region_of(worker, NO_AXES)


def spread(blocks: int) -> list[int]:
    """So many numbers of blocks as may be kept, the first and the last among them."""
    return sorted({int(n) for n in np.linspace(0, blocks - 1, KEPT // 2)})
