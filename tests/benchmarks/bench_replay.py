"""Requests judged a second: `banksim.transactions` and `banksim.replay` on a million requests.

    python tests/benchmarks/bench_replay.py [requests]

Prints the median of nine runs, in millions of requests a second, after one that compiles; and how much of the
machine was there for it. Inputs are ready-made uint32 arrays, as a trace holds them, unless the name says more.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import banksim
from banksim.trace import FULL_MASK, Trace

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


def rate(run: Callable[[], object], n: int) -> float:
    """Millions of requests a second."""
    run()
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return n / median(times) / 1e6


def main(n: int) -> None:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = f", load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{n:,} requests on {cores} cores{load}\n\n{'transactions':36} M requests/s")
    cases = inputs(n)
    for name, arguments in cases.items():
        print(f"{name:36} {rate(lambda given=arguments: banksim.transactions(**given), n):12.1f}")  # type: ignore[misc]
    print(f"\n{'replay, 50 sites, 64 warps':36}")
    row = np.arange(n)
    for name in ("4 bytes, free of conflicts", "4 bytes, random"):
        place = {"site": row % 50, "block": row // 3200, "warp": row // 50 % 64}
        trace = Trace.from_arrays("ld", 4, FULL_MASK, cases[name]["address"], **place)
        for arch in ("sm_90", "kepler-4"):
            print(f"{f'{name}, {arch}':36} {rate(lambda t=trace, a=arch: banksim.replay(t, a), n):12.1f}")  # type: ignore[misc]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
