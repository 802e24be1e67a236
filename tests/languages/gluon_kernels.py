"""Kernels of Gluon: a tile goes through shared memory from one distributed layout to another."""

import triton.experimental.gluon.language as gl
from triton.experimental import gluon

ROWS = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
COLUMNS = gl.BlockedLayout([8, 1], [8, 4], [1, 4], [0, 1])
SWIZZLED = gl.SwizzledSharedLayout(8, 8, 8, [1, 0])


@gluon.jit
def exchange(x, out, M: gl.constexpr, N: gl.constexpr, A: gl.constexpr, B: gl.constexpr, S: gl.constexpr):
    row = gl.arange(0, M, layout=gl.SliceLayout(1, A))[:, None]
    column = gl.arange(0, N, layout=gl.SliceLayout(0, A))[None, :]
    tile = gl.load(x + row * N + column)
    shared = gl.allocate_shared_memory(tile.dtype, [M, N], S)
    shared.store(tile)
    again = shared.load(B)
    row = gl.arange(0, M, layout=gl.SliceLayout(1, B))[:, None]
    column = gl.arange(0, N, layout=gl.SliceLayout(0, B))[None, :]
    gl.store(out + row * N + column, again)
