"""Loads whose addresses are those of an earlier one of their block, moved: values, counts and faults are those of the
reference engine, however requests change from pass to pass."""

from pathlib import Path

import numpy as np
import pytest

import banksim
from banksim.errors import Fault
from banksim.kernels.kernel import Kernel
from banksim.machine.llvm import compile
from helpers.fixtures import Patch

SOURCE = """
#define WORD(n) asm volatile("ld.shared.u32 %0, [%1+" #n "];" : "=r"(x) : "r"(at)); sum = sum * 5 + x;
#define PAIR(n) asm volatile("ld.shared.v2.u32 {%0, %1}, [%2+" #n "];" : "=r"(x), "=r"(y) : "r"(wide)); \\
    sum = (sum * 5 + x) * 3 + y;
#define FOUR(n) asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4+" #n "];" \\
    : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(wide)); sum = (sum * 5 + (x ^ z)) * 3 + (y ^ w);
extern "C" __global__ void shifted(unsigned* out, const unsigned* words, const unsigned* places, const unsigned* masks,
                                   int passes) {
    extern __shared__ __align__(16) unsigned s[];
    for (int k = threadIdx.x; k < 512; k += 64) s[k] = words[k];
    __syncthreads();
    unsigned x, y, z, w, sum = 0, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned start = (unsigned)__cvta_generic_to_shared(s);
    for (int p = 0; p < passes * blockIdx.x; p++)  // requests of block 0 are probed for races, one by one
        if (masks[2 * p + warp] >> lane & 1) {
            unsigned at = start + places[p * 64 + threadIdx.x], wide = at & ~15u;
            WORD(0) WORD(128) FOUR(32) WORD(-64) PAIR(8) WORD(4) FOUR(0) FOUR(-16) WORD(132) PAIR(0) PAIR(16)
        }
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}
"""
LANE = np.arange(32)
UPPER = LANE // 16
FIRST = 160
SHAPES = [
    4 * LANE, 0 * LANE, 4 * (LANE % 16), 64 * UPPER, 4 * (LANE % 16) + 400 * UPPER, 4 * (LANE % 16) + 96 * (1 - UPPER),
    512 * UPPER, 512 * (1 - UPPER), 8 * LANE, 4 * (LANE % 8) + 64 * (LANE // 8), np.where(LANE == 9, 64, 4 * LANE),
    np.where(LANE == 31, 4, 128 * UPPER), 4 * LANE[::-1],
]  # fmt: skip
MASKS = (0xFFFFFFFF, 0xFFFFFFFF, 0x0000FFFF, 0xFFFFFFFE, 0x7FFFFFFF, 0xFFFF0001, 0)


@pytest.fixture(scope="module", name="kernel")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    path: Path = tmp_path_factory.mktemp("shifted") / "shifted.cu"
    path.write_text(SOURCE)
    return banksim.load(path)["shifted"]


def outcome(kernel: Kernel, places: np.ndarray, masks: np.ndarray, engine: str = "llvm") -> tuple[object, ...]:
    out, words = np.zeros(128, np.uint32), np.random.default_rng(1).integers(0, 1 << 32, 512, np.uint32)
    given = (out, words, places.astype(np.uint32), masks.astype(np.uint32), len(places))
    try:
        run = banksim.run(kernel, 2, 64, given, engine=engine, dynamic_shared=2048)
    except Fault as fault:
        return (str(fault),)
    numbers = [(site.requests, site.transactions, site.ideal, site.degree) for site in run.conflicts.sites]
    worst = run.judged if engine == "llvm" else ()
    return out.tolist(), numbers, run.counts.tolist(), run.out_of_bounds, worst


def agree(kernel: Kernel, monkeypatch: Patch, places: np.ndarray, masks: np.ndarray) -> None:
    """Assert that code which knows such loads counts as that which does not, and both as the reference engine does,
    which may name another of the worst requests."""
    expected = outcome(kernel, places, masks)
    assert expected[:4] == outcome(kernel, places, masks, "numpy")[:4]
    monkeypatch.setattr(compile, "LITTLE", 0)
    assert outcome(kernel, places, masks) == expected


def passes(random: np.random.Generator, first: int) -> tuple[np.ndarray, np.ndarray]:
    """What 60 passes of two warps access, from `first` on or somewhat behind: shape, mask and place change by turns."""
    places, masks = np.zeros((60, 2, 32), np.int64), np.zeros((60, 2), np.int64)
    for warp in range(2):
        shape, mask, behind = 0, 0, 0
        for p in range(60):
            if random.integers(4) == 0:
                shape = random.integers(len(SHAPES))
            if random.integers(3) == 0:
                mask = random.integers(len(MASKS))
            if random.integers(2) == 0:
                behind = random.integers(8)
            places[p, warp], masks[p, warp] = SHAPES[shape] + first + 16 * behind, MASKS[mask]
    return places.reshape(60, 64), masks


@pytest.mark.parametrize("seed", range(4))
def test_both_engines_agree(kernel: Kernel, monkeypatch: Patch, seed: int) -> None:
    agree(kernel, monkeypatch, *passes(np.random.default_rng(seed), FIRST))


@pytest.mark.parametrize("mask", [0xFFFFFFFE, 0xFFFF0000, 0x7FFFFFFF])
def test_lanes_that_access_nothing_have_any_address(kernel: Kernel, monkeypatch: Patch, mask: int) -> None:
    """Their places are read as 0, which is that of the others first."""
    places = np.tile(np.array([0, 0, 64, 96, 96, 160])[:, None], 64)
    agree(kernel, monkeypatch, places, np.array([*[[mask] * 2] * 4, [0xFFFFFFFF] * 2, [mask] * 2]))


@pytest.mark.parametrize("first", [0, 16, 48, 1264, 1280, 1392, 1776, 1792, 1904, 1920, 1932, 2000])
@pytest.mark.parametrize("shape", [0, 1, 3])
def test_faults_and_doubts_are_those_of_the_instruction_that_leaves_memory(
    kernel: Kernel, monkeypatch: Patch, shape: int, first: int
) -> None:
    """The last pass accesses memory where only some of the loads are within the block's."""
    places = np.tile(SHAPES[shape] + FIRST, (4, 2))
    places[3] = np.tile(SHAPES[shape] + first, 2)
    agree(kernel, monkeypatch, places, np.full((4, 2), 0xFFFFFFFF))
