"""The loop over boxes, with kernels that are Python functions: every block is counted once, and what bounds leave of a
region keeps to them."""

import ctypes
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from banksim.classes.compiled.records import DIRECTIONS, MARGIN, REGION, ROW, WORK
from banksim.classes.counting import BOXES, NARROWING
from banksim.classes.regions import Box, along, whole
from banksim.machine import codes
from banksim.machine.state import CONTEXT, ERROR, aligned
from banksim.system.native_code import callback

RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_uint64, ctypes.c_int64, ctypes.c_int64)
COUNT = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_uint64, ctypes.c_int64)
NARROW = ctypes.CFUNCTYPE(None, ctypes.c_uint64, *[ctypes.c_uint32] * 3)


class Loop:
    """A launch without memory, of this grid of clusters, in directions along these axes."""

    def __init__(
        self, grid: tuple[int, int, int], axes: tuple[int, ...], cluster: tuple[int, int, int] = (1, 1, 1)
    ) -> None:
        self.cluster = cluster
        self.context, self.error, self.region = aligned(CONTEXT, 1), aligned(ERROR, 1), aligned(REGION, 1)
        self.halvings, self.grid, self.axes = np.zeros(1, np.int64), grid, axes
        c = self.context[0]
        c["error"], c["region"], c["grid"] = self.error.ctypes.data, self.region.ctypes.data, grid
        self.r = self.region[0]
        self.r["halvings"] = self.halvings.ctypes.data
        self.r["axis"] = [*axes, *[-1] * (DIRECTIONS - len(axes))]
        self.narrowed = NARROW(callback(NARROWING, "narrow").address)

    def narrow(self, bounds: list[tuple[int, int, list[int]]], bits: int) -> int:
        """By a bound (below, above, slopes) for each of the first lanes. 0 or an error code."""
        for lane, (below, above, slopes) in enumerate(bounds):
            self.r["below"][lane], self.r["above"][lane] = below, above
            self.r["slopes"][:, lane] = [*slopes, *[0] * (DIRECTIONS - len(slopes))]
        self.narrowed(self.context.ctypes.data, 0, (1 << len(bounds)) - 1, bits)
        return int(self.error[0]["code"])

    def classes(self, run: Any) -> list[Box]:
        """The boxes that are counted if `run` executes a block."""
        kept, work, stack = RUN(run), aligned(WORK, 1), np.zeros((2 * MARGIN, ROW), np.int64)
        w = work[0]
        w["context"], w["region"], w["before"] = self.context.ctypes.data, self.region.ctypes.data, 2**62
        w["run"] = ctypes.cast(kept, ctypes.c_void_p).value
        rows = whole(self.grid, self.cluster, self.axes)
        w["stack"], w["room"], w["waiting"], w["cluster"] = stack.ctypes.data, len(stack), len(rows), self.cluster
        stack[: len(rows)] = rows
        count, found = COUNT(callback(BOXES, "count_boxes").address), []
        while w["waiting"]:
            assert count(work.ctypes.data, 1) == codes.DONE
            found.append(Box.of_row(w["box"], self.axes))
        assert (w["classes"], w["blocks"]) == (len(found), sum(one.blocks for one in found))
        return found


@pytest.mark.parametrize("seed", range(40))
def test_every_block_is_counted_once(seed: int) -> None:
    """Whatever narrows the regions, and whatever steps are made longer; as a block of its rank in the cluster, as all
    others of its class."""
    pick = random.Random(seed)
    clusters = [(pick.randrange(1, 300), 1, 1), (pick.randrange(1, 30), pick.randrange(1, 15), 1), (5, 4, 3)][seed % 3]
    cluster = pick.choice([(1, 1, 1), (3, 1, 1), (2, 2, 1), (2, 1, 2)])
    x, y, z = (n * size for n, size in zip(clusters, cluster, strict=True))
    grid = x, y, z
    loop = Loop(grid, along(grid, pick.randrange(3)), cluster)
    told: list[bool] = []

    def rank(number: int) -> int:
        place = number % x % cluster[0], number // x % y % cluster[1], number // x // y % cluster[2]
        return place[0] + cluster[0] * (place[1] + cluster[1] * place[2])

    def run(context: int, first: int, last: int) -> int:
        told.append(loop.context[0]["own_shared"] == rank(first) << codes.RANK_BIT)
        for _ in range(pick.randrange(4)):
            bits = pick.choice([0, 5, 8, 32])
            top = (1 << (bits or 9)) - 1
            kinds = [[pick.choice([0, 1, 3, pick.randrange(-top, top) // 2]) for _ in loop.axes] for _ in range(2)]
            axis = [int(step) for step in loop.r["step"][: len(loop.axes)]]
            half = (top + 1) // 2
            kinds = [[(s * a + half) % (top + 1) - half for s, a in zip(k, axis, strict=True)] for k in kinds]
            bounds = [(low := pick.randrange(top), top - low, kinds[n % 2]) for n in range(pick.randrange(1, 5))]
            if code := loop.narrow(bounds, bits):
                return codes.FAULT + code
        return 0

    classes = loop.classes(run)
    assert all(told)
    assert all(len({rank(int(number)) for number in box.numbers(grid)}) == 1 for box in classes)
    counted = Counter(int(number) for box in classes for number in box.numbers(grid))
    assert counted == Counter(range(int(np.prod(grid))))


@pytest.mark.parametrize("seed", range(60))
def test_what_is_left_of_a_region_keeps_to_the_bounds(seed: int) -> None:
    """Exactly, though products of slopes and numbers of steps have more than 64 bits."""
    pick = random.Random(seed)

    def anything(bits: int) -> int:
        return pick.randrange(1 << pick.randrange(bits + 1)) * pick.choice([-1, 1])

    for _ in range(30):
        loop = Loop((1 << 30, 1 << 15, 1 << 15), (0, 1, 2, 0, 0))
        before = [pick.randrange(1 << pick.randrange(31)) for _ in range(DIRECTIONS)]
        loop.r["count"], loop.r["step"] = before, 1
        bounds = [
            (abs(anything(62)), abs(anything(62)), [anything(pick.choice([8, 63])) for _ in range(DIRECTIONS)])
            for _ in range(pick.randrange(1, 6))
        ]
        assert not loop.narrow(bounds, 0)
        count = [int(n) for n in loop.r["count"]]
        assert all(0 <= n <= m for n, m in zip(count, before, strict=True))
        for below, above, slopes in bounds:
            moved = [s * n for s, n in zip(slopes, count, strict=True)]
            assert -below <= sum(min(m, 0) for m in moved)
            assert sum(max(m, 0) for m in moved) <= above


def test_a_step_is_made_longer_by_what_brings_its_slope_to_0() -> None:
    """Of division by 1,000, as multiplication by 2³² / 1,000 writes it: blocks that are 1,000 apart are alike."""
    loop = Loop((1 << 20, 1, 1), (0, 0))
    loop.r["count"][0], loop.r["step"][0] = (1 << 20) - 1, 1
    assert loop.narrow([(2**20, 2**32 - 2**20 - 1, [2**32 // 1000])], 32) == codes.LONGER_STEP
    assert (loop.r["longer"], loop.r["along"], loop.r["onto"]) == (1000, 0, 1)
