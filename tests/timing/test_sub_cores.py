"""On which sub-core the warps of a block are, as one H200's were, and what it takes if one of each block works."""

import json
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.timing.instruction_caches import SUB_CORES
from banksim.timing.room import cores_of_warps
from banksim.timing.whole_grid import estimate
from helpers.places import DATA, loaded

kernels = partial(loaded, DATA / "timing" / "cores.cubin")


@cache
def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / "timing" / "h200_cores.json").read_text())
    return found


@pytest.mark.parametrize("row", recorded()["slots"], ids=lambda row: f"{row[0]} {row[2]}")
def test_the_first_warp_of_a_block_is_on_the_next_sub_core(row: list[Any]) -> None:
    """Of blocks of four warps and a multiple; others go on where the block before them ended. So it is of the first
    blocks of a multiprocessor, on whichever sub-core the first of them begins."""
    warps, blocks = row[0], row[4][: row[1]]
    first = blocks[0][1][0]
    for given, (_, slots) in enumerate(blocks):
        cores = cores_of_warps(warps, given)
        assert cores.tolist() == [(slot - first) % SUB_CORES for slot in slots]


@pytest.mark.parametrize("warps", [4, 8, 16])
@pytest.mark.parametrize("which", [0, 3])
def test_blocks_of_which_one_warp_works(warps: int, which: int) -> None:
    """The first (0), or all share its work (3). All first warps were on one sub-core: four times as long."""
    for of, blocks, times, how, took in recorded()["works"]:
        if (of, how) == (warps, which) and took > 3:
            given = np.zeros(4, np.uint32), np.uint32(64), np.uint32(which)
            run = banksim.run(kernels()["works"], 132 * blocks * times, 32 * warps, given, timing=True)
            assert run.cycles is not None
            assert estimate(run.launch, run.cycles).microseconds == pytest.approx(took, rel=0.1)
