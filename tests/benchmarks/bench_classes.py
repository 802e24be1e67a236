"""How fast grids of real size are counted by classes of blocks: python tests/benchmarks/bench_classes.py

Prints for each launch the time of the first count (code made, nothing in the cache), of the next ones, its classes, the
memory above that of the imports; and the time of executing every block of a launch that is small enough for it.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import banksim

SOURCE = """
template <int T> __device__ void multiply(float* c, const float* a, const float* b, int m, int n, int k) {
    __shared__ float s[T][T], t[T][T];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * T + y, column = blockIdx.x * T + x;
    float sum = 0;
    for (int at = 0; at < k; at += T) {
        s[y][x] = row < m && at + x < k ? a[(size_t)row * k + at + x] : 0;
        t[y][x] = column < n && at + y < k ? b[(size_t)(at + y) * n + column] : 0;
        __syncthreads();
        for (int j = 0; j < T; ++j) sum += s[y][j] * t[j][x];
        __syncthreads();
    }
    if (row < m && column < n) c[(size_t)row * n + column] = sum;
}
extern "C" __global__ void product(float* c, const float* a, const float* b, int m, int n, int k) {
    multiply<16>(c, a, b, m, n, k);
}
extern "C" __global__ void scattered(float* c, const float* a, const float* b, int n) {
    __shared__ float s[16][16], t[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    unsigned turn = (blockIdx.x * blockIdx.x * 2654435761u ^ blockIdx.y * blockIdx.y * 40503u) >> 8 & 15;
    float sum = 0;
    for (int at = 0; at < n; at += 16) {
        s[y][x ^ turn] = a[(size_t)row * n + at + x];
        t[y][x] = b[(size_t)(at + y) * n + column];
        __syncthreads();
        for (int j = 0; j < 16; ++j) sum += s[y][j ^ turn] * t[j][x];
        __syncthreads();
    }
    c[(size_t)row * n + column] = sum;
}
extern "C" __global__ void transpose(float* out, const float* in, int rows, int columns) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < columns && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(y + j) * columns + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < rows && y + j < columns) out[(size_t)(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}
"""


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def seconds(work: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def show(name: str, kernel: Any, grid: Sequence[int], block: Sequence[int], args: Sequence[Any]) -> None:
    before = megabytes()
    times = []
    for _ in range(3):
        took, run = seconds(lambda: banksim.run(kernel, grid, block, args, values=False))
        times.append(took)
    first, *more = times
    print(
        f"{name:<28}{run.blocks:>12,} blocks{run.classes:>5} classes{first:>9.3f} s first{min(more):>9.3f} s then"
        f"{megabytes() - before:>7.0f} MB"
    )


def main() -> None:
    path = Path(tempfile.mkdtemp()) / "classes.cu"
    path.write_text(f'{SOURCE}extern "C" __global__ void only_{time.time_ns()}() {{}}\n')  # in no cache
    module = banksim.load(path)
    product, transpose = module["product"], module["transpose"]
    small = [np.zeros((512, 512), np.float32) for _ in range(3)]
    for values in (True, False):  # what is compiled once for all kernels is compiled here
        banksim.run(product, 32, (16, 16), [*small, 512, 512, 512], values=values)
    took, _ = seconds(lambda: banksim.run(product, (32, 32), (16, 16), [*small, 512, 512, 512]))
    print(f"{'every block of 512³':<28}{took:>9.3f} s")
    scattered = module["scattered"]  # too many classes: each block is executed as far as counts need it
    took, _ = seconds(
        lambda: banksim.run(scattered, (64, 64), (16, 16), [*[np.zeros((1024, 1024), np.float32)] * 3, 1024])
    )
    print(f"{'every block of scattered 1024³':<28}{took:>9.3f} s")
    show("scattered 1024³", scattered, (64, 64), (16, 16), [*[banksim.absent((1024, 1024))] * 3, 1024])
    for m, n, k in ((1024,) * 3, (16384,) * 3, (16383, 16381, 16379), (65536,) * 3):
        sizes = [(m, n), (m, k), (k, n)]
        grid = (-(-n // 16), -(-m // 16))
        show(f"product {m}×{n}×{k}", product, grid, (16, 16), [*map(banksim.absent, sizes), m, n, k])
    for rows, columns in ((65536, 65536), (65535, 65521)):
        grid = (-(-columns // 32), -(-rows // 32))
        arrays = [banksim.absent((columns, rows)), banksim.absent((rows, columns))]
        show(f"transpose {rows}×{columns}", transpose, grid, (32, 8), [*arrays, rows, columns])


if __name__ == "__main__":
    sys.exit(main())
