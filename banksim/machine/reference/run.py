"""The reference machine: every block, warp and instruction in turn, in plain Python over NumPy.

It says what a GPU does; the LLVM engine says it fast, and tests hold the two together.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from banksim.errors import Fault
from banksim.kernels.kernel import BYTES
from banksim.machine import codes, faults
from banksim.machine.launch import Launch
from banksim.machine.reference.block import Block, Cluster, Executed
from banksim.machine.reference.groups import OfCluster, Phase, Waits, Word
from banksim.machine.reference.warp import Warp
from banksim.machine.supported import check

ALLOWANCE = 1 << 20
"""Without a limit, a block of so many warp instructions is taken for an endless loop: they take less than a minute."""


def run(launch: Launch, max_instructions: int | None = None) -> Executed:
    """Run every block of a launch, one after the other; its buffers change in place.

    Raises `UnsupportedError` before anything runs, `Fault` where a GPU would stop or never end.
    """
    check(launch.kernel)
    outcome = Executed(launch, np.zeros((len(launch.kernel.instructions), 3), np.int64))
    limit = max_instructions if max_instructions is not None else ALLOWANCE
    with np.errstate(all="ignore"):
        size = launch.cluster_blocks
        clusters = [launch.blocks_of_cluster(n) for n in range(launch.blocks // size)]
        if launch.cooperative:
            run_together([blocks for numbers in clusters for blocks in blocks_of(launch, numbers, outcome, limit)])
            return outcome
        for numbers in clusters:
            blocks = blocks_of(launch, numbers, outcome, limit)
            run_together(blocks)
            limit = ALLOWANCE if max_instructions is None else min(warps[0].block.limit for warps in blocks)
    return outcome


def blocks_of(launch: Launch, numbers: Sequence[int], outcome: Executed, limit: int) -> list[list[Warp]]:
    """The warps of each block of a cluster."""
    cluster = Cluster()
    blocks = (Block(launch, number, outcome, limit, cluster) for number in numbers)
    return [[Warp(block, index) for index in range(launch.warps)] for block in blocks]


def run_together(blocks: list[list[Warp]]) -> None:
    """Let the warps of these blocks run in turn until all threads have left."""
    while blocks:
        progress = [warp.run() for warps in blocks for warp in warps]
        if not any(progress):
            raise stuck(blocks[0])
        blocks = [warps for warps in blocks if warps[0].block.live]


def stuck(warps: list[Warp]) -> Fault:
    """The fault of a block none of whose warps can go on."""
    launch, number = warps[0].launch, warps[0].block.number
    waiting: Counter[tuple[str, int]] = Counter()
    for warp in warps:
        for group in warp.groups:
            waits_at = group.pc - BYTES * (not isinstance(group.waits, Word))
            waiting[waited_for(group.waits), waits_at] += group.mask.bit_count()
    where = faults.block_index(launch, number)
    return Fault(f"{launch.kernel.plain_name}: {faults.unreachable(launch, waiting)}, block {where}")


def waited_for(waits: Waits | None) -> str:
    match waits:
        case Phase(number):
            return f"barrier {number}"
        case Word():
            return faults.OF_WAITS[codes.AT_WORD]
        case OfCluster():
            return faults.OF_WAITS[codes.AT_CLUSTER]
    return "other threads of their warp"
