"""How fast time is simulated: `python tests/benchmarks/bench_timing.py [ROUNDS] [KIND …]`.

Prints for kernels of several kinds, warm: warp instructions that `--timing` simulates in a second of CPU time, in the
best of ROUNDS, and cycles; where global memory has a part, also the time with the model of the caches beside
that with a constant latency. The simulation without conflicts, which follows where there are any, counts as well.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import banksim
from banksim.timing import timed_launch

SOURCE = r"""
extern "C" __global__ void chain(unsigned *out, const unsigned *in, int n) {
    unsigned a = threadIdx.x, b = n;
    for (int i = 0; i < n; i++) {
        #pragma unroll 8
        for (int k = 0; k < 8; k++) { a = a * b + k; b = (b << 3) ^ (a >> 5); b += a & 0xff; }
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b;
}
extern "C" __global__ void columns(unsigned *out, const unsigned *in, int n) {
    __shared__ unsigned tile[32][32];
    unsigned x = threadIdx.x & 31, y = threadIdx.x >> 5, sum = 0;
    for (int i = 0; i < n; i++) {
        tile[y][x ^ i & 31] = i + x;
        __syncthreads();
        for (int k = 0; k < 4; k++) sum += tile[(x + k) & 31][y];
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ void product(float *out, const float *in, int n) {
    __shared__ float a[16][16], b[16][16];
    int x = threadIdx.x & 15, y = threadIdx.x >> 4, width = 16 * n;
    float sum = 0;
    for (int i = 0; i < n; i++) {
        a[y][x] = in[(16 * (blockIdx.x % n) + y) * width + 16 * i + x];
        b[y][x] = in[(16 * i + y) * width + 16 * (blockIdx.x / n % n) + x];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ void sum(float *out, const float *in, int n) {
    __shared__ float part[1024];
    float own = 0;
    for (int i = 0; i < n; i++) {
        part[threadIdx.x] = threadIdx.x + i;
        for (unsigned s = blockDim.x / 2; s; s >>= 1) {
            __syncthreads();
            if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        }
        __syncthreads();
        own += part[0];
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = own;
}
extern "C" __global__ void copy(float *out, const float *in, int n) {
    for (int i = 0; i < n; i++) {
        int at = (i * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x & 0xfffff;
        out[at] = in[at] * 2 + 1;
    }
}
extern "C" __global__ void gather(unsigned *out, const unsigned *in, int n) {
    unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u >> 12, sum = 0;
    for (int i = 0; i < n; i++) { sum += in[at]; at = at * 1664525u + 1013904223u & 0xfffff; }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ __cluster_dims__(4, 1, 1) void cluster(unsigned *out, const unsigned *in, int n) {
    __shared__ unsigned own[1024];
    unsigned sum = 0, rank, at = (unsigned)__cvta_generic_to_shared(&own[threadIdx.x]), other;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    for (int i = 0; i < n; i++) {
        own[threadIdx.x] = i + threadIdx.x;
        asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
        for (int k = 0; k < 8; k++) {
            asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(at), "r"((rank + k) & 3));
            unsigned value;
            asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(other) : "memory");
            sum = sum * 3 + value;
        }
        asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""
KINDS: dict[str, tuple[str, int, int, int]] = {
    "integer chain, 1 warp": ("chain", 1, 32, 4000),
    "integer chain, 8 warps": ("chain", 1, 256, 800),
    "integer chain, 64 warps": ("chain", 264, 1024, 80),
    "columns of shared memory": ("columns", 132, 1024, 150),
    "product in tiles": ("product", 528, 256, 32),
    "sum by barriers": ("sum", 528, 256, 60),
    "copy": ("copy", 528, 256, 400),
    "gather": ("gather", 528, 256, 400),
    "cluster of 4": ("cluster", 132, 512, 60),
}
"""Kernel, blocks, threads of each, and its number of rounds."""
GLOBAL = "product in tiles", "copy", "gather"
CONSTANT = 258
"""A latency of global memory, in cycles beyond shared memory's."""


class Rate:
    """Seconds and warp instructions of the simulations of one launch; the launch's other blocks do not count."""

    def __init__(self, kernel: Any, blocks: int, threads: int, arguments: list[Any], latency: int | None) -> None:
        self.instructions, self.cycles, self.seconds = 0, 0, 0.0
        run = timed_launch.Simulation.run

        def measured(simulation: Any) -> Any:
            began = time.thread_time()
            found = run(simulation)
            self.seconds += time.thread_time() - began
            self.instructions += found.instructions
            self.cycles = self.cycles or found.cycles
            return found

        timed_launch.Simulation.run = measured  # type: ignore[method-assign]
        try:
            banksim.run(kernel, blocks, threads, arguments, timing=True, global_latency=latency)
        finally:
            timed_launch.Simulation.run = run  # type: ignore[method-assign]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kinds.cu"
        path.write_text(SOURCE)
        kernels = banksim.load(path)
    data = np.random.default_rng(0).integers(0, 1 << 20, 1 << 20).astype(np.uint32)
    for kind in sys.argv[2:] or KINDS:
        name, blocks, threads, n = KINDS[kind]
        given = [np.zeros(1 << 20, np.uint32), data, n]
        ways = (None, CONSTANT) if kind in GLOBAL else (None,)
        found = {way: [Rate(kernels[name], blocks, threads, given, way) for _ in range(rounds)] for way in ways}
        best = {way: min(rates, key=lambda rate: rate.seconds) for way, rates in found.items()}
        modelled = best[None]
        ratio = f", {modelled.seconds / best[CONSTANT].seconds:.2f} × a constant latency" if len(ways) > 1 else ""
        print(
            f"{kind:26}{modelled.instructions / modelled.seconds / 1e6:6.2f} M/s, "
            f"{modelled.seconds:.3f} s, {modelled.cycles:,} cycles{ratio}",
            flush=True,
        )


if __name__ == "__main__":
    main()
