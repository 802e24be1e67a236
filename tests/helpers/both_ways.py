"""Kernels from one line of source, run with every block executed and by classes of blocks."""

from typing import Any

import numpy as np
import pytest

import banksim
from banksim.classes.counting import TooMany
from banksim.runs.by_classes import DIFFERENT
from banksim.runs.outcome import Run

CALLED = """__device__ __noinline__ unsigned thrice(unsigned v, unsigned n) { return v > n ? v * 3 : v; }
__device__ __noinline__ unsigned folded(unsigned v, unsigned n) { return n ? folded(v * 5 + n, n - 1) : v; }
"""


def source(bodies: dict[str, str]) -> str:
    head = """__global__ void in_%s(unsigned* out, const unsigned* in, unsigned n) {
    __shared__ __align__(16) unsigned s[512];
    unsigned tid = threadIdx.x, bx = blockIdx.x, by = blockIdx.y + 3 * blockIdx.z;
    %s
    __syncthreads();
    out[tid] = s[tid] + in[tid];\n}\n"""
    return CALLED + "".join(f'extern "C" {head % pair}' for pair in bodies.items())


def arguments(n: int = 1000) -> list[Any]:
    return [np.zeros(4096, np.uint32), np.arange(4096, dtype=np.uint32) % 3, np.uint32(n)]


def both(kernel: Any, grid: tuple[int, ...], block: int | tuple[int, int] = 64, n: int = 1000, **more: Any) -> Run:
    """The run by classes, which must be the one of all blocks in every number."""
    full = banksim.run(kernel, grid, block, arguments(n), **more)
    given = arguments(n)
    mine = banksim.run(kernel, grid, block, given, values=False, **more)
    assert not given[0].any(), "an array was changed"
    assert bool(mine.whole) == bool(mine.classes), "no block was executed whole beside its class"
    equal(mine, full)
    return mine


def each_alone(patch: pytest.MonkeyPatch) -> None:
    """Have every block executed as far as its counts need it, as if there were too many classes."""
    patch.setattr("banksim.classes.counting.count", lambda *launch: TooMany(None, None, "too many"))


def equal(mine: Run, full: Run) -> None:
    """Assert that both are the same in every number."""
    assert mine.blocks == full.blocks
    assert not mine.partial
    assert mine.undecided != DIFFERENT
    assert mine.hints == full.hints
    for found, wanted in zip(mine.judged, full.judged, strict=True):
        assert found == wanted
    for one, other in zip(mine.profile, full.profile, strict=True):
        assert one == other, one.instruction.text
