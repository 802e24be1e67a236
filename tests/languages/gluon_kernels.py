"""Kernels of Gluon: a tile goes through shared memory from one distributed layout to another."""

import triton.experimental.gluon.language as gl
from triton.experimental import gluon
from triton.experimental.gluon.language.nvidia import ampere
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma, warpgroup_mma

ROWS = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
COLUMNS = gl.BlockedLayout([8, 1], [8, 4], [1, 4], [0, 1])
LINE = gl.BlockedLayout([4], [32], [4], [0])
SWIZZLED = gl.SwizzledSharedLayout(8, 8, 8, [1, 0])
MATRICES = gl.SwizzledSharedLayout(8, 1, 8, [1, 0])
PLAIN = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
PADDED = gl.PaddedSharedLayout.with_identity_for([[64, 8]], [64, 64], [1, 0])
NVMMA = gl.NVMMASharedLayout(128, 16)
MMA_V2 = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
MMA_V3 = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])


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


@gluon.jit
def transpose(x, out, m, n, T: gl.constexpr, A: gl.constexpr, S: gl.constexpr):
    shared = gl.allocate_shared_memory(x.dtype.element_ty, [T, T], S)
    i = gl.program_id(0) * T + gl.arange(0, T, layout=gl.SliceLayout(1, A))[:, None]
    j = gl.program_id(1) * T + gl.arange(0, T, layout=gl.SliceLayout(0, A))[None, :]
    shared.store(gl.load(x + i * n + j))
    turned = shared.permute([1, 0]).load(A)
    j = gl.program_id(1) * T + gl.arange(0, T, layout=gl.SliceLayout(1, A))[:, None]
    i = gl.program_id(0) * T + gl.arange(0, T, layout=gl.SliceLayout(0, A))[None, :]
    gl.store(out + j * m + i, turned)


@gluon.jit
def total(x, out, N: gl.constexpr, L: gl.constexpr):
    at = gl.program_id(0) * N + gl.arange(0, N, layout=L)
    gl.atomic_add(out, gl.sum(gl.load(x + at), 0))


@gluon.jit
def softmax(out, x, n, N: gl.constexpr, L: gl.constexpr):
    at = gl.arange(0, N, layout=L)
    row = gl.program_id(0) * n
    values = gl.load(x + row + at, mask=at < n, other=-float("inf"))
    values = gl.exp(values - gl.max(values, 0))
    gl.store(out + row + at, values / gl.sum(values, 0), mask=at < n)


@gluon.jit
def pixels(given, out, h, w):
    """A copy by a descriptor for im2col."""
    shared = gl.allocate_shared_memory(given.dtype, given.block_shape, given.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, given.block_type.nbytes)
    tma.async_load_im2col(given, [0, h, w, 0], [0, 0], bar, shared)
    mbarrier.wait(bar, phase=0)
    tma.async_store(out, [0, 0], shared)
    tma.store_wait(pendings=0)


@gluon.jit
def product(a, b, c, n, k, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, A: gl.constexpr, ACC: gl.constexpr,
            S: gl.constexpr):  # fmt: skip
    """Tiles by asynchronous copies, then ldmatrix and mma."""
    left = gl.allocate_shared_memory(gl.float16, [M, K], S)
    right = gl.allocate_shared_memory(gl.float16, [K, N], S)
    of_left: gl.constexpr = gl.DotOperandLayout(0, ACC, 2)
    of_right: gl.constexpr = gl.DotOperandLayout(1, ACC, 2)
    i = gl.program_id(0) * M + gl.arange(0, M, layout=gl.SliceLayout(1, A))[:, None]
    j = gl.program_id(1) * N + gl.arange(0, N, layout=gl.SliceLayout(0, A))[None, :]
    r = gl.arange(0, K, layout=gl.SliceLayout(0, A))[None, :]
    q = gl.arange(0, K, layout=gl.SliceLayout(1, A))[:, None]
    total = gl.zeros([M, N], gl.float32, ACC)
    for at in range(0, k, K):
        async_copy.async_load(left, a + i * k + at + r)
        async_copy.async_load(right, b + (at + q) * n + j)
        async_copy.commit_group()
        async_copy.wait_group(0)
        gl.barrier()
        total = ampere.mma_v2(left.load(of_left), right.load(of_right), total)
        gl.barrier()
    i = gl.program_id(0) * M + gl.arange(0, M, layout=gl.SliceLayout(1, ACC))[:, None]
    j = gl.program_id(1) * N + gl.arange(0, N, layout=gl.SliceLayout(0, ACC))[None, :]
    gl.store(c + i * n + j, total)


@gluon.jit
def warpgroup_product(a, b, c, n, k, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, A: gl.constexpr,
                      ACC: gl.constexpr, S: gl.constexpr):  # fmt: skip
    """Tiles through registers, then products of a warp group (sm_90)."""
    left = gl.allocate_shared_memory(gl.float16, [M, K], S)
    right = gl.allocate_shared_memory(gl.float16, [K, N], S)
    i = gl.program_id(0) * M + gl.arange(0, M, layout=gl.SliceLayout(1, A))[:, None]
    j = gl.program_id(1) * N + gl.arange(0, N, layout=gl.SliceLayout(0, A))[None, :]
    r = gl.arange(0, K, layout=gl.SliceLayout(0, A))[None, :]
    q = gl.arange(0, K, layout=gl.SliceLayout(1, A))[:, None]
    total = gl.zeros([M, N], gl.float32, ACC)
    for at in range(0, k, K):
        left.store(gl.load(a + i * k + at + r))
        right.store(gl.load(b + (at + q) * n + j))
        fence_async_shared()
        gl.barrier()
        total = warpgroup_mma(left, right, total)
        gl.barrier()
    i = gl.program_id(0) * M + gl.arange(0, M, layout=gl.SliceLayout(1, ACC))[:, None]
    j = gl.program_id(1) * N + gl.arange(0, N, layout=gl.SliceLayout(0, ACC))[None, :]
    gl.store(c + i * n + j, total)
