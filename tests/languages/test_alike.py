"""A tile of 32 × 32 floats goes through shared memory and comes back transposed, in every language.

Where the layout is the programmer's, all languages must count the same for the same one, whatever instructions their
compilers choose: 128 bytes of a row or a column in one transaction, or each word of a column in its own.
"""

from collections import Counter
from typing import Any

import numpy as np
import pytest
import triton.experimental.gluon.language as gl
from numba import cuda, float32

import banksim
from banksim.requests.kinds import OPS
from languages import cutile_kernels, gluon_kernels, tilelang_kernels, triton_kernels, warp_kernels

LANES = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
"""A row for each warp, a float for each lane."""
PADDED = gl.PaddedSharedLayout.with_identity_for([[32, 1]], [32, 32], [1, 0])
SWIZZLED = gl.SwizzledSharedLayout(1, 1, 32, [1, 0])
CUDA = """
extern "C" __global__ void transpose(const float *x, float *y) {
    __shared__ float tile[32][32 + PAD];
    for (int row = threadIdx.y; row < 32; row += 4) tile[row][threadIdx.x] = x[32 * row + threadIdx.x];
    __syncthreads();
    for (int row = threadIdx.y; row < 32; row += 4) y[32 * row + threadIdx.x] = tile[threadIdx.x][row];
}
"""


def of_numba(pad: int) -> Any:
    width = 32 + pad

    @cuda.jit
    def transpose(x: Any, y: Any) -> None:
        tile = cuda.shared.array((32, width), float32)
        for row in range(cuda.threadIdx.y, 32, 4):
            tile[row, cuda.threadIdx.x] = x[row, cuda.threadIdx.x]
        cuda.syncthreads()
        for row in range(cuda.threadIdx.y, 32, 4):
            y[row, cuda.threadIdx.x] = tile[cuda.threadIdx.x, row]

    return transpose


def of_cuda(pad: int) -> Any:
    return banksim.load(banksim.kernels.compilers.cuda.source_file(CUDA), defines=[f"PAD={pad}"])["transpose"]


def of_gluon(shared: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
    return gluon_kernels.transpose, None, (32, 32), {"T": 32, "A": LANES, "S": shared}


def of_tilelang(pad: int) -> tuple[Any, Any, Any, dict[str, Any]]:
    return tilelang_kernels.transpose, None, (), {"M": 32, "N": 32, "PAD": pad}


PLAIN = {"st": 32, "ld": 32 * 32}
PLAIN_AND_STACK = {"st": 32 + 3 * 4, "ld": 32 * 32 + 4}
"""Warp keeps a stack of tiles, whose top each thread stores three times and reads once."""
FREE = {"st": 32, "ld": 32}
CASES: dict[str, tuple[Any, dict[str, int]]] = {
    "CUDA C++": (lambda: (of_cuda(0), (32, 4), (), {}), PLAIN),
    "CUDA C++, padded": (lambda: (of_cuda(1), (32, 4), (), {}), FREE),
    "Numba": (lambda: (of_numba(0), (32, 4), (), {}), PLAIN),
    "Numba, padded": (lambda: (of_numba(1), (32, 4), (), {}), FREE),
    "Gluon": (lambda: of_gluon(gluon_kernels.PLAIN), PLAIN),
    "Gluon, padded": (lambda: of_gluon(PADDED), FREE),
    "Gluon, swizzled": (lambda: of_gluon(SWIZZLED), FREE),
    "TileLang": (lambda: of_tilelang(0), PLAIN),
    "TileLang, padded": (lambda: of_tilelang(1), FREE),
    "Warp": (lambda: (warp_kernels.transpose, 128, (), {}), PLAIN_AND_STACK),
    "Triton, its own layout": (lambda: (triton_kernels.transpose, None, (32, 32), {"BLOCK": 32}), FREE),
    "cuTile, its own layout": (lambda: (cutile_kernels.transpose, None, (), {"T": 32}), FREE),
}


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("case", CASES)
def test_the_same_tile_has_the_same_transactions(case: str, arch: str) -> None:
    kernel, block, more, const = CASES[case][0]()
    x = np.arange(1024, dtype=np.float32).reshape(32, 32)
    y, traces = np.zeros_like(x), list[banksim.Trace]()
    done = banksim.run(kernel, (1, 1), block, [x, y, *more], arch=arch, const=const, trace=traces.append)
    assert (y == x.T).all()
    found = Counter[str]()
    for trace in traces:
        ops = np.array(OPS)[trace.op]
        counts = banksim.transactions(trace.address, op=ops, width=trace.width, mask=trace.mask, arch=arch)
        for op, count in zip(ops, counts, strict=True):
            found[str(op)[:2]] += int(count)
    assert found == CASES[case][1]
    assert found.total() == done.conflicts.transactions
