"""Requests judged a second by `banksim.transactions` and `banksim.replay`, of a million, beside the speed of memory.

    python tests/benchmarks/bench_replay.py [requests]

Prints, in millions of requests a second, the median of nine runs after one that compiles, and the same by the time that
the process had a core, which other programs of the machine change less. Inputs are ready-made uint32 arrays, as a trace
holds them, unless the name says more. `numpy.sum` reads addresses of 4 bytes as uint64 and does nothing else, alone and
on all cores; of a replay the last column is its speed beside the latter's.
"""

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

import numpy as np

import banksim
from banksim.requests.columns import cores
from banksim.requests.kinds import FULL_MASK
from banksim.requests.trace import Trace

RUNS = 9
LANE = np.arange(32, dtype=np.uint32)
SHARED = 48 * 1024


def inputs(n: int) -> dict[str, dict[str, Any]]:
    """Arguments of `banksim.transactions` by name."""
    rng = np.random.default_rng(2024)
    words = rng.integers(0, SHARED // 4, (n, 32), dtype=np.uint32) * np.uint32(4)
    few = rng.integers(0, 64, (n, 32), dtype=np.uint32) * np.uint32(4)
    vectors = rng.integers(0, SHARED // 16, (n, 32), dtype=np.uint32) * np.uint32(16)
    masks = rng.integers(0, 2**32, n, dtype=np.uint32)
    widths = rng.choice(np.array([1, 2, 4, 8, 16], np.uint8), n)
    plain = rng.choice(np.array(["ld", "st"]), n)
    ops = rng.choice(np.array(["ld", "st", "atom", "red", "exch", "cas", "popc_inc", "cp_async"]), n)
    return {
        "4 bytes, free of conflicts": {"address": np.tile(4 * LANE, (n, 1))},
        "4 bytes, 32-way": {"address": np.tile(128 * LANE, (n, 1))},
        "4 bytes, one address": {"address": np.full((n, 32), 64, np.uint32)},
        "4 bytes, random": {"address": words},
        "4 bytes, random among 64 words": {"address": few},
        "4 bytes, random, random masks": {"address": words, "mask": masks},
        "mixed widths, random masks": {"address": vectors, "width": widths, "mask": masks},
        "mixed widths, loads and stores": {"address": vectors, "width": widths, "op": plain, "mask": masks},
        "4 bytes, mixed ops by name": {"address": words, "op": ops, "mask": masks},
        "4 bytes, random, int64": {"address": words.astype(np.int64)},
    }


def show(name: str, run: Callable[[], object], n: int, beside: float | None = None) -> float:
    """Print millions of requests a second, which are returned, by the time on a core, and as a part of `beside`."""
    run()
    wall, busy = [], []
    for _ in range(RUNS):
        start, began = time.perf_counter(), time.process_time()
        run()
        wall.append(time.perf_counter() - start)
        busy.append(time.process_time() - began)
    speed = n / median(wall) / 1e6
    print(f"{name:36} {speed:12.1f} {n / median(busy) / 1e6:12.1f}" + (f" {speed / beside:12.2f}" if beside else ""))
    return speed


def main(n: int) -> None:
    load = f", load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{n:,} requests on {cores()} cores{load}\n\n{'transactions':36} M requests/s   of one core")
    cases = inputs(n)
    for name, arguments in cases.items():
        show(name, lambda given=arguments: banksim.transactions(**given), n)  # type: ignore[misc]
    print("\nreading only")
    words = cases["4 bytes, free of conflicts"]["address"].view(np.uint64)
    show("numpy.sum", words.sum, n)
    with ThreadPoolExecutor(cores()) as pool:
        parts = np.array_split(words, 8 * cores())
        most = show("numpy.sum on all cores", lambda: [*pool.map(np.sum, parts)], n)
    print(f"\n{'replay, 50 sites, 64 warps':36} M requests/s   of one core   of reading")
    row = np.arange(n)
    place = {"site": row % 50, "block": row // 3200, "warp": row // 50 % 64}
    for name, given in cases.items():
        if given["address"].dtype == np.uint32:
            columns = {"op": "ld", "width": 4, "mask": FULL_MASK} | given | place
            trace = Trace.from_arrays(**columns)
            show(name, lambda trace=trace: banksim.replay(trace), n, most)  # type: ignore[misc]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
