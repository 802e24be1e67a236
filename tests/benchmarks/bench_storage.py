"""Requests a second from a trace file to its report, beside numpy.sum over the bytes of their addresses.

python tests/benchmarks/bench_storage.py [millions of requests, 4 by default]

Below the rates of all cores stand those of one core, by the time that the process had one, and what that makes of 10^12
requests: terabytes, and hours of a core to write them and to judge them.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from banksim.architectures.bank_rules import architecture
from banksim.banks.pieces import judge_pieces
from banksim.requests.columns import cores
from banksim.requests.kinds import FULL_MASK, LANES
from banksim.requests.trace import Site, Trace, concatenated
from banksim.storage import open_trace, write_trace

ROUNDS = 3
CHUNK = 1 << 16
WANTED = 10e6
"""Requests a second from Parquet to a report, on two cores."""


def chunk(kind: str, number: int) -> Trace:
    """65,536 requests of 64 blocks with 8 warps."""
    random = np.random.default_rng(number)
    rows = np.arange(CHUNK)
    lane = np.arange(LANES)
    address = {
        "conflict-free": 128 * (rows[:, None] % 64) + 4 * lane,
        "32-way": 4 * (rows[:, None] % 32) + 128 * lane,
        "random": 4 * random.integers(0, 12288, (CHUNK, LANES)),
    }[kind]
    sites = [Site("LDS", 16 * site, "kernel.cu", 10 + site, f"s[{site}]") for site in range(8)]
    block, warp = 64 * number + rows // 1024, rows // 8 % 8
    return Trace.from_arrays("ld", 4, FULL_MASK, address, warp=warp, block=block, site=rows % 8, sites=sites)


def best(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the fastest of some rounds, and the least seconds of a core."""
    times, busy = [], []
    for _ in range(ROUNDS):
        began, start = time.perf_counter(), time.process_time()
        work()
        times.append(time.perf_counter() - began)
        busy.append(time.process_time() - start)
    return min(times), min(busy)


def main() -> None:
    chunks = int(float(sys.argv[1] if len(sys.argv) > 1 else 4) * 1e6) // CHUNK
    requests = chunks * CHUNK
    rules = [[architecture(name) for name in names] for names in (["sm_90"], ["kepler-4", "kepler-8", "sm_90"])]
    print(f"{requests:,} requests, {cores()} cores, best of {ROUNDS} rounds; M requests/s")
    print(f"{'':14}{'B/request':>10}{'write':>8}{'read':>8}{'report':>8}{'3 archs':>8}{'sum':>8}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.parquet"
        for kind in ("conflict-free", "32-way", "random"):
            made = [chunk(kind, number) for number in range(chunks)]

            def write(made: list[Trace] = made) -> None:
                with write_trace(path) as writer:
                    for one in made:
                        writer.write(one)

            addresses = concatenated(made).address
            seconds = [
                best(write),
                best(lambda: [len(one) for one in open_trace(path)]),
                best(lambda: judge_pieces(open_trace(path).pieces, rules[0])),
                best(lambda: judge_pieces(open_trace(path).pieces, rules[1])),
                best(lambda addresses=addresses: np.sum(addresses)),  # type: ignore[misc]
            ]
            met = "" if requests / seconds[2][0] >= WANTED else f"  below {WANTED / 1e6:.0f} M/s"
            size = path.stat().st_size / requests
            for what, suffix in enumerate((met, "")):
                speeds = [requests / one[what] / 1e6 for one in seconds]
                figures = "".join(f"{speed:8.1f}" for speed in speeds)
                name, shown = ("  one core", "") if what else (kind, f"{size:.1f}")
                print(f"{name:14}{shown:>10}{figures}{suffix}", flush=True)
            written, judged = (1e12 / requests * seconds[k][1] / 3600 for k in (0, 2))
            print(f"{'  10^12':14}{size:7.1f} TB{written:6.0f} h{'':8}{judged:6.0f} h")


if __name__ == "__main__":
    main()
