"""What --check costs beside the plain run: python tests/benchmarks/bench_checks.py

Prints for each kernel the processor's seconds of the plain run, and how many times as long it takes with a check. Runs
are taken in turn, and the shortest of each counts.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import banksim
from cuda_kernels.kernels.products import tiled

sys.path.append(str(Path(__file__).parents[1]))
from helpers.numba_kernels import histogram, reduction, transpose

CHECKS = ((), ("races",), ("uninitialized",), ("races", "uninitialized"))
ROUNDS = 5


def compare(name: str, kernel: Any, grid: Any, block: Any, args: Sequence[Any]) -> None:
    shortest = [float("inf")] * len(CHECKS)
    for _ in range(ROUNDS):
        for number, check in enumerate(CHECKS):
            start = time.process_time()
            run = banksim.run(kernel, grid, block, args, check=check)
            shortest[number] = min(shortest[number], time.process_time() - start)
            assert not run.findings, run.findings
    plain, *checked = shortest
    times = "".join(f"{seconds / plain:>10.2f}" for seconds in checked)
    print(f"{name:<32}{plain:>10.4f} s{times}")


def main() -> None:
    random = np.random.default_rng(0)
    print(f"{'':<32}{'plain':>12}{'races':>10}{'uninit.':>10}{'both':>10}")
    a = [random.random((256, 256), np.float32) for _ in range(3)]
    for tile, pad in ((16, 0), (16, 1), (32, 0), (32, 1)):
        n = 256 // tile
        compare(f"product 256³, tile {tile}, pad {pad}", tiled(tile, pad), (n, n), (tile, tile), a)
    numbers = random.random(4096 * 256, np.float32)
    compare("reduction, 4,096 blocks", reduction, 4096, 256, (np.zeros(4096, np.float32), numbers))
    keys = random.integers(0, 256, 1 << 22).astype(np.int32)
    compare("shared histogram of 4 M keys", histogram, 512, 256, (np.zeros(256, np.int32), keys))
    big = [random.random((2048, 2048), np.float32) for _ in range(2)]
    compare("transpose 2048²", transpose, (64, 64), (32, 32), big)


if __name__ == "__main__":
    main()
