"""How fast the machine runs, counting and judging on: python tests/benchmarks/bench_machine.py

Prints, from one run: thread instructions per second of both engines beside NumPy's in-cache addition, the time to
translate and compile a kernel and to find it in the cache, the time of a small launch, and memory above the imports.
"""

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import banksim
from banksim.kernels.compilers.numba_arguments import argument_type
from banksim.machine.llvm import compile
from cuda_kernels.kernels.products import tiled

sys.path.append(str(Path(__file__).parents[1]))
from helpers.numba_kernels import histogram, reduction


def best(repeats: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest of several runs, in seconds, and the last result."""
    shortest, result = float("inf"), None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest, result


def show(name: str, value: str) -> None:
    print(f"{name:<58}{value:>20}")


def rate(
    name: str, kernel: Any, grid: Any, block: Any, args: Sequence[Any], repeats: int = 3, engine: str = "llvm"
) -> None:
    seconds, run = best(repeats, lambda: banksim.run(kernel, grid, block, args, engine=engine))
    show(f"{name} [{engine}]", f"{run.thread_instructions / seconds / 1e9:.3f} G/s, {seconds:.3f} s")


def memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    random = np.random.default_rng(0)
    os.environ["BANKSIM_CACHE"] = tempfile.mkdtemp()
    a = np.ones(1 << 12, np.int32)
    seconds, _ = best(5, lambda: [np.add(a, a, out=a) for _ in range(2000)])
    show("NumPy: additions in cache", f"{2000 * a.size / seconds / 1e9:.3f} G/s")

    small = [random.random((256, 256), np.float32) for _ in range(3)]
    matmul = tiled(16, 0)
    first, _ = best(1, lambda: banksim.run(matmul, (16, 16), (16, 16), small))
    show("first launch, all compilers run", f"{first:.3f} s")
    kernel, _ = banksim.runs.resolve.numba_kernel(matmul, tuple(argument_type(m) for m in small), "sm_90")
    ways = {"traced": False, "stepwise": False, "watched": False, "clustered": False}
    seconds, _ = best(3, lambda: compile.build(kernel, **ways))
    show(f"translate and compile {len(kernel.instructions)} instructions", f"{1000 * seconds:.1f} ms")
    seconds, _ = best(5, lambda: compile.compile_kernel.__wrapped__(kernel))
    show("the same from the cache", f"{1000 * seconds:.2f} ms")
    seconds, _ = best(20, lambda: banksim.run(matmul, 1, (16, 16), small))
    show("a launch of one block of 256 threads", f"{1000 * seconds:.2f} ms")

    before = memory()
    for tile, pad in ((16, 0), (16, 1), (32, 0), (32, 1)):
        n = 256 // tile
        rate(f"product 256³, tile {tile}, pad {pad}", tiled(tile, pad), (n, n), (tile, tile), small)
    numbers = random.random(4096 * 256, np.float32)
    rate("reduction, 4,096 blocks", reduction, 4096, 256, (np.zeros(4096, np.float32), numbers))
    keys = random.integers(0, 256, 1 << 22).astype(np.int32)
    rate("shared histogram of 4 M keys", histogram, 512, 256, (np.zeros(256, np.int32), keys))
    rate("reduction, 2 blocks", reduction, 2, 256, (np.zeros(2, np.float32), numbers[:512]), 1, "numpy")
    large = [random.random((1024, 1024), np.float32) for _ in range(3)]
    rate("product 1024³, tile 16", matmul, (64, 64), (16, 16), large, repeats=2)
    show("memory above the imports, arrays included", f"{memory() - before:.0f} MB")


if __name__ == "__main__":
    import banksim.kernels.compilers
    import banksim.runs.resolve

    main()
