"""Records what requests to other blocks' shared memory take by the profiler's counters.

`compile FOLDER` makes the machine code; `launch FOLDER`, under the profiler, launches every request once, 16 times in
the kernel; `convert CSV NPZ` keeps the counter of its raw page. The recording holds `how` (the kernel's cases),
`mask`, `address` (n, 32), the blocks' `rank` (n, 32), and the counter, of 16 requests each, as `lines`.
"""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from recorder import commands, compile_kernels, counts

WIDTHS = dict(enumerate((4, 8, 16, 4, 8, 16, 4, 4, 4, 4, 8, 1, 1, 2, 2, 4, 8, 16)))
"""By the kernel's cases: bytes of a lane."""
METRIC = "l1tex__t_set_accesses_pipe_lsu_mem_dshared.sum"


def requests() -> tuple[Any, Any, Any, Any]:
    """(how, mask, address (n, 32), rank (n, 32)) of all that is recorded. Block 0 of four makes the requests."""
    rng = np.random.default_rng(15)
    how, mask, address, rank = [], [], [], []
    lanes = np.arange(32)
    for case, width in WIDTHS.items():
        some = [width * s * lanes for s in (0, 1, 2, 3, 8, 32, 33)]
        some += [width * rng.permutation(32) for _ in range(2)]
        some += [width * rng.integers(0, n, 32) for n in (8, 32, 64, 128, 256, 1024, 2048) for _ in range(2)]
        some += [128 * rng.integers(0, 16, 32) + width * rng.integers(0, 2, 32) for _ in range(2)]
        some += [128 * (lanes // 8) + width * rng.integers(0, 128 // width, 32) for _ in range(2)]
        ranks = [np.ones(32, int)] * len(some)
        places = [width * s * lanes for s in (0, 1, 2, 8)]
        places += [width * rng.integers(0, n, 32) for n in (8, 32, 128, 1024)]
        for offsets in places:
            for to in (1 + lanes % 3, lanes // 8, rng.integers(1, 4, 32), rng.integers(0, 4, 32), 0 * lanes):
                some.append(offsets)
                ranks.append(to)
        if 6 <= case <= 10:
            for _ in range(48):
                lines, words = rng.integers(1, 33), rng.integers(1, 1 + 128 // width)
                some.append(128 * rng.integers(0, lines, 32) + width * rng.integers(0, words, 32))
                ranks.append(np.ones(32, int))
        for n, (one, to) in enumerate(zip(some, ranks, strict=True)):
            how.append(case)
            mask.append(0xFFFFFFFF if n % 3 else int(rng.integers(1, 1 << 32)) if n > 8 else 0xFFFFFFFF)
            address.append(one % (36 << 10) // width * width)
            rank.append(to)
    return np.array(how, np.uint8), np.array(mask, np.uint32), np.array(address, np.uint16), np.array(rank, np.uint8)


def launch(folder: Path) -> None:
    from driver import Driver

    driver = Driver()
    function = driver.function(driver.module((folder / "remote_requests.cubin").read_bytes()), "request")
    out = driver.zeros(64)
    for how, mask, address, rank in zip(*requests(), strict=True):
        places = [driver.upload(numbers.astype(np.uint32)) for numbers in (address, rank)]
        given = [*places, ctypes.c_uint32(int(mask)), ctypes.c_int(int(how)), out]
        driver.launch(function, (4,), (32,), given, 40 << 10)


def convert(table: Path, npz: Path) -> None:
    lines = counts(table, METRIC)
    how, mask, address, rank = (values[: len(lines)] for values in requests())
    np.savez_compressed(npz, how=how, mask=mask, address=address, rank=rank, lines=lines)


def compile_all(folder: Path) -> None:
    compile_kernels("nvcc", "remote_requests.cu", folder.resolve() / "remote_requests.cubin", arch="sm_90a")


def metrics() -> None:
    """Print that which `launch` is to be profiled for."""
    print(METRIC)


if __name__ == "__main__":
    commands(__doc__, compile=compile_all, launch=launch, convert=convert, metrics=metrics)
