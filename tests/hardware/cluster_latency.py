"""Records what accesses to other blocks of a cluster take on one SM: cluster_latency.cu, on a GPU.

`compile FOLDER` makes the machine code, `record FOLDER NPZ` runs it. `convert NPZ OUT` keeps, by names that say
the kernel and its arguments, when the last warp of the first block came to each reading, from its first start on.
"""

import ctypes
import time
from pathlib import Path
from typing import Any

import numpy as np
from recorder import commands, compile_kernels

SHARED = 200 << 10
PASSES = 3
REQUESTS = ("loads", "chain", "loads_8", "loads_16", "stores", "stores_16", "reds", "atoms", "atom_chain", "cas_chain")
REQUESTS += ("exchanges", "async_stores", "async_stores_16")
PINGS = ("ping_arrive", "ping_store", "ping_plain", "ping_add", "ping_expect")


def cases() -> list[tuple[str, int, int, list[int], int]]:
    """(kernel, blocks of the cluster, threads, arguments behind the passes, readings)."""
    found: list[tuple[str, int, int, list[int], int]] = []
    for blocks in (2, 4, 8, 16):
        found += [("chain", blocks, 32, [to, 4, 1, 1], 4) for to in range(blocks)]
        found += [("atom_chain", blocks, 32, [to, 4, 1, 1], 4) for to in range(0, blocks, 3)]
        found += [(name, blocks, 32, [blocks - 1, 0], 2) for name in ("ping_arrive", "ping_store")]
        for warps in (1, 4, 16, 32):
            found.append(("barriers", blocks, 32 * warps, [], 6))
    found += [("barriers", 1, 32 * warps, [], 6) for warps in (1, 4, 32)]
    for name in REQUESTS:
        wide = 16 if name.endswith("_16") else 8 if name.endswith("_8") else 4
        times = 1 if name == "async_stores_16" else 4
        found += [(name, 2, 32, [to, wide * stride, 1, 1], 4) for to in (0, 1) for stride in (0, 1, 2, 4, 8, 16, 32)]
        for warps in (1, 2, 4, 8, 16, 32):
            found += [(name, 2, 32 * warps, [1, wide * stride, 1, times], 4) for stride in (1, 8)]
            found += [(name, blocks, 32 * warps, [1, wide, blocks, times], 4) for blocks in (2, 8)]
        found += [(name, 8, 256, [1, wide, active, times], 4) for active in (1, 2, 4, 8)]
    found += [(name, 2, 32, [1, 0], 2) for name in PINGS]
    for size in (16, 128, 1024, 4096, 16384, 65536):
        found += [("ping_copy", 2, 32, [1, size], 2)]
        for blocks in (1, 2, 4, 8, 16):
            for how in (0, 1, 2):
                if size // blocks >= 16:
                    found += [("multicast", blocks, 32, [size, n, how], 3) for n in (1, 4, 16) if n * size <= 160 << 10]
    return [*found, ("mapas", 2, 32, [], 2)]


class Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_uint * 16)]


class Config(ctypes.Structure):
    _fields_ = [("sizes", ctypes.c_uint * 7), ("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p)]
    _fields_ += [("count", ctypes.c_uint)]


class Clusters:
    """Launches in clusters."""

    def __init__(self, cubin: Path) -> None:
        from driver import Driver

        self.driver = Driver()
        self.module = self.driver.module(cubin.read_bytes())

    def function(self, name: str) -> Any:
        function = self.driver.function(self.module, name)
        self.driver("cuFuncSetAttribute", function, 8, SHARED)
        self.driver("cuFuncSetAttribute", function, 14, 1)
        return function

    def launch(self, function: Any, blocks: int, threads: int, cluster: int, given: list[Any], shared: int) -> None:
        """Without waiting for its end. A cluster of 0: no attribute."""
        one = Attribute(4, 0, (ctypes.c_uint * 16)(cluster, 1, 1))
        config = Config(
            (ctypes.c_uint * 7)(blocks, 1, 1, threads, 1, 1, shared), None, ctypes.addressof(one), cluster > 0
        )
        addresses = (ctypes.c_void_p * len(given))(*(ctypes.addressof(a) for a in given))
        self.driver("cuLaunchKernelEx", ctypes.byref(config), function, addresses, None)


def record(folder: Path, out: Path) -> None:
    gpu = Clusters(folder / "cluster_latency.cubin")
    driver = gpu.driver
    table, buffer = driver.zeros(4 << 20), driver.zeros(4 << 20)
    found: dict[str, Any] = {}
    for name, blocks, threads, arguments, readings in cases():
        shape = (blocks, threads // 32, PASSES, readings)
        driver("cuMemsetD8_v2", table, ctypes.c_ubyte(0), ctypes.c_size_t(4 * int(np.prod(shape))))
        given = [table, ctypes.c_int(PASSES), *([buffer] if name == "multicast" else []), *map(ctypes.c_int, arguments)]
        gpu.launch(gpu.function(name), blocks, threads, blocks, given, SHARED)
        driver("cuCtxSynchronize")
        key = "/".join(map(str, (name, blocks, threads, *arguments)))
        found[key] = driver.download(table, np.empty(shape, np.uint32))
    for blocks, threads, shared in (
        (2, 32, 0), (4, 128, 0), (8, 32, 0), (16, 32, 0), (8, 1024, 0), (8, 128, 100 << 10),
    ):  # fmt: skip
        for grid in (blocks, 16, 128, 528):
            gpu.launch(gpu.function("where"), grid, threads, blocks, [table], shared)
            driver("cuCtxSynchronize")
            found[f"where/{blocks}/{threads}/{shared}/{grid}"] = driver.download(table, np.empty((grid, 4), np.uint32))
    nothing = gpu.function("nothing")
    for grid in (16, 128, 1056):
        for cluster in (0, 1, 2, 4, 8, 16):
            times = []
            for _ in range(5):
                driver("cuCtxSynchronize")
                began = time.perf_counter()
                for _ in range(200):
                    gpu.launch(nothing, grid, 128, cluster, [table], 0)
                driver("cuCtxSynchronize")
                times.append((time.perf_counter() - began) / 200)
            found[f"launch/{grid}/{cluster}"] = np.array(times)
    np.savez_compressed(out, **found)


def span(readings: Any) -> Any:
    """(blocks, warps, passes, readings) as `convert` keeps them, of the last pass."""
    last = readings[0, :, -1].astype(np.int64)
    return last[:, 1:].max(0) - last[:, 0].min()


def convert(npz: Path, out: Path) -> None:
    with np.load(npz) as found:
        kept = {name: span(found[name]) for name in found if not name.startswith(("where", "launch"))}
        kept |= {name: found[name][:, 0] for name in found if name.startswith("where") and name.endswith("/128")}
    np.savez_compressed(out, **kept)


def compile_all(folder: Path) -> None:
    compile_kernels("nvcc", "cluster_latency.cu", folder / "cluster_latency.cubin", "-w", "-O3", arch="sm_90a")


if __name__ == "__main__":
    commands(__doc__, compile=compile_all, record=record, convert=convert)
