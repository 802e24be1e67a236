"""A launch of which only counts are asked for.

A small launch takes next to no time, so it is executed as ever, and all is found that executing finds.
A large one is counted without memory: one block of each class of blocks that do the same, or every block where there
are too many classes. A class is a box of blocks at regular distances; those at its corners are then executed whole, on
memory of zeros: their faults are reported, and their counts must be those of their class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from banksim.architectures.bank_rules import Architecture
from banksim.errors import AbsentError
from banksim.machine import codes
from banksim.machine.host_memory import BUFFER_LIMIT
from banksim.machine.launch import Launch
from banksim.runs.counts_to_conflicts import run_of
from banksim.runs.options import Options
from banksim.runs.outcome import Run

if TYPE_CHECKING:
    from banksim.classes.counting import Alike, Counted

    Corners = list[tuple[Alike, list[int]]]

Rules = tuple[Architecture, ...]
SMALL = 1 << 25
"""Warp instructions up to which a launch is executed: half a second, too little for classes to save."""
FEW = 4
"""Blocks below which a launch is executed: classes have too little to save."""
MOST_WHOLE = 64
"""Blocks that are executed whole beside the classes, at most."""
DIFFERENT = (
    "blocks that were executed whole counted otherwise than their classes, a defect of banksim: please report it"
)


def by_classes(launch: Launch, rules: Rules, options: Options, execute: Callable[[Launch, Rules, Options], Run]) -> Run:
    """Execute one block of each class; `execute` every block of a small launch, or where classes are not enough."""
    from banksim.classes.block_by_block import count_each
    from banksim.classes.counting import TooMany, Undecided, count
    from banksim.machine.faults import raise_unless_interrupted

    unknown = next((one.name for one in launch.buffers if one.absent is not None and one.absent.contents is None), "")
    if not unknown and is_small(launch):
        return execute(launch.copy(), rules, options)
    found = count(launch, rules, options.progress)
    unlike = ""
    if isinstance(found, TooMany):
        unlike = str(found)
        found = count_each(launch, rules, options.workers, options.progress)
    if isinstance(found, Undecided):
        why = str(found)
    else:
        raise_unless_interrupted(launch, found.counts.stop)
        corners = corners_of(launch, found)
        whole, why = (0, "") if found.counts.stop else executed_whole(launch, rules, found, corners)
        if not why:
            return replace(counted(launch, rules, found, corners), whole=whole, undecided=unlike)
    if unknown:
        raise AbsentError(f"{launch.kernel.plain_name}: {unknown} is absent, and {why}: pass an array")
    return replace(execute(launch.copy(), rules, options), undecided=why)


def by_classes_if_large(launch: Launch, rules: Rules, options: Options) -> Run:
    """The counts of a large launch by classes; where they depend on data, or of a small one: a `Run` of no blocks."""
    from banksim.classes.counting import Counted, count
    from banksim.machine.faults import raise_unless_interrupted

    found = None if is_small(launch) else count(launch, rules, options.progress)
    if not isinstance(found, Counted):
        return Run(
            launch.kernel,
            launch,
            (),
            np.zeros((len(launch.kernel.listing), 3), np.int64),
            blocks=0,
            seconds=0,
            partial=True,
        )
    raise_unless_interrupted(launch, found.counts.stop)
    return counted(launch, rules, found, corners_of(launch, found))


def counted(launch: Launch, rules: Rules, found: Counted, corners: Corners) -> Run:
    done = run_of(launch, rules, [(found.compiled, found.counts)])
    return replace(done, classes=found.classes, corners=tuple(numbers_of(corners)))


def is_small(launch: Launch) -> bool:
    """Whether executing a launch is next to no work, to judge by three of its clusters on memory of zeros."""
    from banksim.machine.llvm.compile import compile_for
    from banksim.machine.llvm.workers import execute

    if too_large(launch) or launch.warps * launch.blocks > SMALL:
        return False
    if launch.blocks < FEW or launch.cooperative:
        return True
    clusters = launch.blocks // launch.cluster_blocks
    chosen = (0, clusters // 2, clusters - 1)
    most = SMALL * len(chosen) // clusters
    compiled, stand_in = compile_for(launch), launch.stand_in()
    total = 0
    for number in chosen:
        blocks = launch.blocks_of_cluster(number)
        counts = execute(stand_in, compiled, (), workers=1, max_instructions=max(most, 1), blocks=blocks)
        if counts.stop and counts.stop.code == codes.INTERRUPTED:
            raise KeyboardInterrupt
        total += compiled.warp_instructions(counts.counters)
        if counts.stop:  # zeros may have caused the fault: on real data the block may go on
            total += len(blocks) * launch.warps * len(launch.kernel.instructions)
        if total > most or (counts.stop and counts.stop.code == codes.LIMIT):
            return False
    return True


def too_large(launch: Launch) -> bool:
    """Whether a launch has a buffer that is too large to be executed on."""
    return any(buffer.data.nbytes > BUFFER_LIMIT for buffer in launch.buffers)


def corners_of(launch: Launch, found: Counted) -> Corners:
    """The first classes, as many as are next to no work, each with the numbers of the blocks at its corners. None of
    clusters, whose blocks are not executed one by one."""
    corners: Corners = []
    blocks = work = 0
    for alike in found.first if launch.apart else ():
        more = alike.box.corners(launch.grid)
        blocks += len(more)
        work += len(more) * found.compiled.warp_instructions(alike.counters)
        if blocks > MOST_WHOLE or work > SMALL:
            break
        corners.append((alike, more))
    return corners


def numbers_of(corners: Corners) -> list[int]:
    return sorted(number for _, numbers in corners for number in numbers)


def executed_whole(launch: Launch, rules: Rules, found: Counted, corners: Corners) -> tuple[int, str]:
    """Execute the blocks at the corners of classes on memory of zeros. Returns how many they were, and what is wrong
    with the classes. Raises the `Fault` that executing them on the arrays would raise."""
    from banksim.classes.needed import placed_by_data
    from banksim.machine.faults import fault
    from banksim.machine.llvm.compile import compile_for
    from banksim.machine.llvm.counts import Counts, merged
    from banksim.machine.llvm.workers import execute

    numbers = numbers_of(corners)
    if not numbers or too_large(launch):
        return 0, ""
    stand_in, compiled = launch.stand_in(), compile_for(launch)
    counts = execute(stand_in, compiled, rules, blocks=numbers)
    if stop := counts.stop:
        known = stop.code not in (codes.INTERRUPTED, codes.LIMIT, codes.BLOCK_DEADLOCK)
        if known and int(stop.error["pc"]) not in placed_by_data(launch.kernel):
            raise fault(stand_in, stop)
        return 0, ""
    expected = [alike.times(len(blocks)) for alike, blocks in corners]
    wanted = Counts(
        counters=np.sum([counters for counters, _ in expected], axis=0),
        tallies=merged([tallies for _, tallies in expected]).reshape(counts.tallies.shape),
        blocks=len(numbers),
        seconds=0,
        stop=None,
    )
    theirs, ours = (run_of(launch, rules, [part]) for part in ((compiled, counts), (found.compiled, wanted)))
    same = theirs.judged == ours.judged and theirs.profile == ours.profile
    return len(numbers), "" if same else DIFFERENT
