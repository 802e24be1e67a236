"""Kernels of TileLang, as its documentation writes them: functions that return a kernel, and one that is its own."""

import tilelang
import tilelang.language as T


@tilelang.jit
def transpose(M, N, B=32, PAD=0, dtype="float32"):
    @T.prim_func
    def main(x: T.Tensor((M, N), dtype), y: T.Tensor((N, M), dtype)):
        with T.Kernel(T.ceildiv(N, B), T.ceildiv(M, B), threads=128) as (bx, by):
            tile = T.alloc_shared((B, B + PAD), dtype)
            for i, j in T.Parallel(B, B):
                tile[i, j] = x[by * B + i, bx * B + j]
            for i, j in T.Parallel(B, B):
                y[bx * B + i, by * B + j] = tile[j, i]

    return main


@tilelang.jit(out_idx=[-1])
def product(M, N, K, BM=64, BN=64, BK=32, stages=2):
    @T.prim_func
    def main(a: T.Tensor((M, K), "float16"), b: T.Tensor((K, N), "float16"), c: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
            left = T.alloc_shared((BM, BK), "float16")
            right = T.alloc_shared((BK, BN), "float16")
            total = T.alloc_fragment((BM, BN), "float32")
            T.clear(total)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
                T.copy(a[by * BM, k * BK], left)
                T.copy(b[k * BK, bx * BN], right)
                T.gemm(left, right, total)
            T.copy(total, c[by * BM, bx * BN])

    return main


@tilelang.jit
def total(N):
    rows = T.dynamic("rows")

    @T.prim_func
    def main(x: T.Tensor((rows, N), "float32"), out: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=128) as row:
            values = T.alloc_fragment((1, N), "float32")
            result = T.alloc_fragment((1,), "float32")
            T.copy(x[row, 0], values)
            T.reduce_sum(values, result, dim=1)
            out[row] = result[0]

    return main


@tilelang.jit
def softmax(N):
    rows = T.dynamic("rows")

    @T.prim_func
    def main(x: T.Tensor((rows, N), "float32"), out: T.Tensor((rows, N), "float32"), scale: T.float32):
        with T.Kernel(rows, threads=128) as row:
            values = T.alloc_fragment((1, N), "float32")
            high = T.alloc_fragment((1,), "float32")
            weight = T.alloc_fragment((1,), "float32")
            T.copy(x[row, 0], values)
            T.reduce_max(values, high, dim=1)
            for i, j in T.Parallel(1, N):
                values[i, j] = T.exp((values[i, j] - high[i]) * scale)
            T.reduce_sum(values, weight, dim=1)
            for i, j in T.Parallel(1, N):
                values[i, j] = values[i, j] / weight[i]
            T.copy(values, out[row, 0])

    return main


@tilelang.jit
def eager(x, y, B: int = 32):
    M, N = T.const("M N")
    x: T.Tensor[[M, N], T.float32]
    y: T.Tensor[[N, M], T.float32]
    with T.Kernel(T.ceildiv(N, B), T.ceildiv(M, B), threads=128) as (bx, by):
        tile = T.alloc_shared((B, B + 1), T.float32)
        for i, j in T.Parallel(B, B):
            tile[i, j] = x[by * B + i, bx * B + j]
        for i, j in T.Parallel(B, B):
            y[bx * B + i, by * B + j] = tile[j, i]


@tilelang.jit
def sums(x, B: int = 64):
    N = T.const("N")
    x: T.Tensor[[N], T.float32]
    out = T.empty((N,), T.float32)
    with T.Kernel(T.ceildiv(N, B), threads=B) as block:
        for i in T.Parallel(B):
            out[block * B + i] = x[block * B + i] + 1
    return out


@T.prim_func
def doubled(x: T.Tensor((256,), "float32"), y: T.Tensor((256,), "float32")):
    with T.Kernel(2, threads=128) as block:
        for i in T.Parallel(128):
            y[block * 128 + i] = x[block * 128 + i] * 2


@tilelang.jit
def two_kernels(N):
    @T.prim_func
    def main(x: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=N):
            for i in T.Parallel(N):
                x[i] = x[i] + 1
        with T.Kernel(1, threads=N):
            for i in T.Parallel(N):
                x[i] = x[i] * 2

    return main
