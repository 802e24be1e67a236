"""Records what atomics, and stores that an mbarrier counts, in other blocks' shared memory take.

`compile FOLDER` makes the machine code; `launch FOLDER SECONDS`, under the profiler, launches one request after the
other, each 16 times in the kernel, in clusters; `convert CSV NPZ` keeps the counter of its raw page. The recording
holds `how` (the kernel's cases), `cluster` (its blocks), `grid` (blocks in all), `shared` (bytes of each), `source`
(the rank that makes the request), `mask`, `address` (n, 32; in dynamic shared memory), `rank` (n, 32), and the counter,
of 16 requests of each cluster, as `lines`.
"""

import ctypes
import time
from pathlib import Path
from typing import Any

import numpy as np
from cluster_latency import Attribute, Config
from recorder import commands, compile_kernels, counts

WIDTHS = (4, 4, 4, 4, 8, 8, 8, 8, 4, 4, 8, 16, 4, 8, 16, 16, 4, 4, 8)
"""By the kernel's cases: bytes of a lane."""
COUNTED, COMPARING, LOAD_AND_STORE = range(9, 14), (3, 5, 15), 18
"""Cases that an mbarrier counts, that compare, and that is no single request: the maximum of 64 bits."""
METRIC = "l1tex__t_set_accesses_pipe_lsu_mem_dshared.sum"
SHARED, FIRST = 232448, 1024
ROUNDS = 110


def requests() -> list[dict[str, Any]]:
    rng = np.random.default_rng(2026)
    found = []
    for turn in range(ROUNDS):
        for how, width in enumerate(WIDTHS):
            cluster = int(rng.choice([2, 4, 8, 8, 8, 16, 16]))
            source = int(rng.integers(cluster)) if turn % 2 else 0
            many = turn % 11 == 10
            shared = 20 << 10 if many else SHARED
            others = [r for r in range(cluster) if r != source]
            lines = rng.integers(FIRST // 128, shared // 128, rng.integers(1, 20))
            if turn % 3 == 0:  # neighbouring bits of the line's number
                lines = lines[0] ^ (1 << rng.integers(0, 11, len(lines)))
                lines = np.where((lines < FIRST // 128) | (lines >= shared // 128), FIRST // 128 + 1, lines)
            words = rng.integers(0, 128 // width, rng.integers(1, 1 + 128 // width))
            address = 128 * rng.choice(lines, 32) + width * rng.choice(words, 32)
            if turn % 7 == 6:  # a stride
                address = FIRST + (
                    width * np.arange(32) * int(rng.choice([0, 1, 2, 4, 8, 16, 32, 33, 64, 128]))
                    + 128 * int(rng.integers(1024))
                ) % (shared - FIRST)
            rank = rng.choice(others, 32) if turn % 4 else np.full(32, rng.choice(others))
            if turn % 5 == 4:
                rank = rng.choice(rng.choice(others, 2), 32)
            if turn % 13 == 12:  # the own block's too
                rank = rng.integers(0, cluster, 32)
            mask = 0xFFFFFFFF if turn % 3 else int(rng.integers(1, 1 << 32))
            found.append(
                {
                    "how": how, "cluster": cluster, "grid": cluster * (24 if many else 1), "shared": shared,
                    "source": source, "mask": mask, "address": address // width * width, "rank": rank,
                }
            )  # fmt: skip
    order = rng.permutation(len(found))
    return [found[n] for n in order]


def launch(folder: Path, seconds: float) -> None:
    from driver import Driver

    began = time.monotonic()
    driver = Driver()
    function = driver.function(driver.module((folder / "remote_atomics.cubin").read_bytes()), "request")
    driver("cuFuncSetAttribute", function, 8, SHARED)
    driver("cuFuncSetAttribute", function, 14, 1)
    out, places, ranks = driver.zeros(64), driver.zeros(128), driver.zeros(128)
    for one in requests():
        if time.monotonic() - began > seconds:
            break
        for buffer, numbers in ((places, one["address"]), (ranks, one["rank"])):
            numbers = numbers.astype(np.uint32)
            driver("cuMemcpyHtoD_v2", buffer, numbers.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(128))
        given = [
            places,
            ranks,
            ctypes.c_uint32(one["mask"]),
            ctypes.c_int(one["how"]),
            ctypes.c_uint32(one["source"]),
            out,
        ]
        attribute = Attribute(4, 0, (ctypes.c_uint * 16)(one["cluster"], 1, 1))
        config = Config(
            (ctypes.c_uint * 7)(one["grid"], 1, 1, 32, 1, 1, one["shared"]), None, ctypes.addressof(attribute), 1
        )
        addresses = (ctypes.c_void_p * len(given))(*(ctypes.addressof(a) for a in given))
        driver("cuLaunchKernelEx", ctypes.byref(config), function, addresses, None)
        driver("cuCtxSynchronize")


def convert(table: Path, npz: Path) -> None:
    counted = counts(table, METRIC)
    made = requests()[: len(counted)]
    types = {
        "how": np.uint8, "cluster": np.uint8, "grid": np.uint16, "shared": np.uint32, "source": np.uint8,
        "mask": np.uint32, "address": np.uint32, "rank": np.uint8,
    }  # fmt: skip
    np.savez_compressed(
        npz, lines=counted, **{name: np.array([one[name] for one in made], kind) for name, kind in types.items()}
    )


def compile_all(folder: Path) -> None:
    compile_kernels("nvcc", "remote_atomics.cu", folder.resolve() / "remote_atomics.cubin", arch="sm_90a")


def metrics() -> None:
    """Print that which `launch` is to be profiled for."""
    print(METRIC)


if __name__ == "__main__":
    commands(__doc__, compile=compile_all, launch=launch, convert=convert, metrics=metrics)
