"""How a block begins: with registers that no other block has left behind, where it could tell."""

from pathlib import Path

import numpy as np
import pytest

import banksim
from banksim.kernels.load import Module
from banksim.machine.llvm.translate import translate

SOURCE = """
__global__ void add(float *out, const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += in[i];
}
__global__ void from_exited(int *out, int seed) {
    int t = threadIdx.x, b = blockIdx.x, mine = 0;
    if (t < 16) {
        mine = (b + seed) * 1000 + t;
        out[64 * b + t] = mine;
        if (b & 1) return;
    }
    out[64 * b + 32 + t] = __shfl_xor_sync(0xffffffff, mine, 16);
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    file = tmp_path_factory.mktemp("blocks") / "blocks.cu"
    Path(file).write_text(SOURCE)
    return banksim.load(file)


def test_code_that_writes_its_registers_first_needs_none_zeroed(module: Module) -> None:
    assert translate(module["add"]).unwritten == []


def test_where_lanes_read_those_of_others_all_registers_are_zeroed(module: Module) -> None:
    assert translate(module["from_exited"]).unwritten is None


def test_what_threads_read_from_those_that_have_exited_does_not_hang_on_the_blocks_before(module: Module) -> None:
    """It is undefined, but the same whichever worker executes the block."""
    results = []
    for workers in (1, 2, 3):
        out = np.zeros(64 * 999, np.int32)
        banksim.run(module["from_exited"], 999, 32, [out, 7], workers=workers)
        results.append(out)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
