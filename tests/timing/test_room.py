"""When the next block of one multiprocessor began, and on which sub-cores, beside what its warps that had exited left
(tests/data/timing/ends.cu): each warp of the first blocks waited for a time of its own."""

from functools import cache

import numpy as np
import pytest

from banksim.architectures.occupancy import limits, occupancy
from banksim.timing.instruction_caches import SUB_CORES
from banksim.timing.room import cores_of_warps, slots_for, slots_of_core
from helpers.places import DATA

ARCH = "sm_90"
APART, SOON = 1000, (300, 800)
"""Cycles: ends so far from others are looked at; of what follows them within so many, blocks begin."""


@cache
def recorded() -> dict[str, np.ndarray]:
    with np.load(DATA / "timing" / "h200_ends.npz") as stored:
        return dict(stored)


def warps_of(kernel: int) -> tuple[np.ndarray, ...]:
    """The slot, begin and end of each warp of a launch's blocks on one multiprocessor: (block in their order, warp)."""
    own = recorded()["kernel"] == kernel
    blocks = int(recorded()["block"][own].max()) + 1
    return tuple(recorded()[name][own].astype(np.int64).reshape(blocks, -1) for name in ("slot", "begin", "end"))


@pytest.mark.parametrize("kernel", range(len(recorded()["kernels"])))
def test_a_blocks_warps_go_on_behind_those_of_the_block_before(kernel: int) -> None:
    """Whichever blocks have ended: on the sub-cores that come next."""
    slots, _, _ = warps_of(kernel)
    warps = slots.shape[1]
    expected = np.array([cores_of_warps(warps, given) for given in range(len(slots))])
    assert np.array_equal((slots - slots[0, 0]) % SUB_CORES, expected)


def test_a_block_begins_when_another_has_ended_if_warps_have_left_room_for_it() -> None:
    """So many begin within half a microsecond of each end as there is room for, in nine of ten cases and more; of
    shared memory, and of blocks, where one has ended."""
    right = cases = early = 0
    for kernel, (threads, shared, registers, held) in enumerate(recorded()["kernels"].tolist()):
        slots, begins, ends = warps_of(kernel)
        by = occupancy(ARCH, threads, registers, shared).by
        places = min(by["blocks"], by.get("shared memory", by["blocks"]))
        over = np.sort(ends.max(1))
        for end in over[[alone(end, over) for end in over]]:
            given = int(np.count_nonzero(begins.min(1) < end + SOON[0]))
            lives = ends[:given] > end
            free = np.ones(SUB_CORES * slots_of_core(limits(ARCH), registers), bool)
            free[slots[:given][lives]] = False
            resident, room = int(np.count_nonzero(lives.any(1))), 0
            while given + room < len(slots) and resident + room < places:
                own = slots_for((cores_of_warps(slots.shape[1], given + room) + slots[0, 0]) % SUB_CORES, free)
                if own is None:
                    break
                free[own], room = False, room + 1
            followed = (begins.min(1) >= end + SOON[0]) & (begins.min(1) < end + SOON[1])
            cases, right = cases + 1, right + (np.count_nonzero(followed) == room)
            early += resident + room > held
    assert cases > 100
    assert early > 30  # more blocks than whole ones fit
    assert right / cases > 0.9


def alone(end: int, ends: np.ndarray) -> bool:
    """Whether no other block ends near."""
    return bool(np.count_nonzero(abs(ends - end) < APART) == 1)


def test_the_end_of_a_block_on_the_multiprocessor_beside_counts_as_well() -> None:
    """Multiprocessor 10 had room for three blocks since warps had exited, and blocks that went on; of all
    others, on which a block ended, that with which it shares a part of the GPU let them begin."""
    assert {int(sm): int(began) for sm, began in enumerate(recorded()["beside"]) if began} == {11: 3}
