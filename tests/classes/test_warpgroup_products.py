"""Products of warp groups whose operands lie where it depends on the block are counted by classes as executed."""

from pathlib import Path

import numpy as np
import pytest

import banksim
from banksim.kernels.compilers import compile_cuda
from banksim.runs.outcome import Run
from helpers.both_ways import each_alone, equal
from helpers.fixtures import Patch

SOURCE = """
#define PRODUCT(NAME, MOVED, TIMES, SWIZZLE) \\
extern "C" __global__ void NAME(unsigned* out) { \\
    extern __shared__ __align__(1024) unsigned s[]; \\
    const unsigned bx = blockIdx.x, tid = threadIdx.x; \\
    unsigned at = (unsigned)__cvta_generic_to_shared(s) + (MOVED); \\
    unsigned long long form = 8ull << 16 | 64ull << 32 | (unsigned long long)SWIZZLE << 62; \\
    float d[4] = {}; \\
    for (unsigned k = 0; k < TIMES; ++k) { \\
        unsigned long long a = form | (at + k * 32) >> 4 & 0x3fff, b = form | (at + 8192 + k * 32) >> 4 & 0x3fff; \\
        asm volatile("wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " \\
            "{%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; " \\
            "wgmma.wait_group.sync.aligned 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b)); \\
    } \\
    s[tid * (bx & 3)] = d[0]; out[tid] = d[1] + d[2] + d[3] + s[tid]; \\
}
PRODUCT(moved, bx * 16 % 4096, 2, 1)
PRODUCT(turns, 0, (bx & 3) + 1, 0)
"""


@pytest.mark.parametrize(("name", "classes"), [("moved", 37), ("turns", 4)])
def test_operands_that_move_with_the_block(name: str, classes: int, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr("banksim.runs.by_classes.is_small", lambda launch: False)
    file, code = tmp_path / "products.cu", tmp_path / "products.cubin"
    file.write_text(SOURCE)
    code.write_bytes(compile_cuda(file, "sm_90a"))
    kernel = banksim.load(code)[name]

    def run(values: bool) -> Run:
        return banksim.run(kernel, 37, 128, [np.zeros(128, np.uint32)], dynamic_shared=32768, values=values)

    full, mine = run(True), run(False)
    assert mine.classes == classes, mine.undecided
    equal(mine, full)
    each_alone(monkeypatch)
    equal(run(False), full)
