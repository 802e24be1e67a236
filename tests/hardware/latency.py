"""Records what instructions take on one SM: latency.cu on a GPU, for every kernel and number of warps.

`compile CUBIN` makes the machine code (nvcc on the path or given by --nvcc), `record CUBIN` runs it on a GPU.
tests/data/hardware/timing/latency.npz holds
    cubin           what ran
    NAME_config     (n, 3): active (bit w: warp w took part), rounds, stride of the n launches of kernel NAME
    NAME            (n, 32 warps, 2 passes, readings) clocks since the earliest of the pass, -1: none; the cold
                    pass is left out. Readings: start and end; line_* and order_*: start, behind each of 24 steps, end;
                    barrier_skew: start, then of each of six barriers before, behind, and when a load behind it has come
    chase_NAME_config (n, 3): bytes of the ring, loads / 16, bytes between two
"""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from driver import Driver
from recorder import DATA, commands, compile_kernels

RECORDING = DATA / "timing" / "latency.npz"
PASSES, SLOTS, SEED, LINE = 3, 49, 1, 128
ALL = 0xFFFFFFFF
SUB_CORE = (0x1, 0x11, 0x1111, 0x11111111)
TOGETHER = (0x1, 0x3, 0xF, 0xFF, 0xFFFF, ALL)
KIB = 1024
MIB = 1024 * KIB
RINGS = [n * KIB for n in (4, 16, 64, 128, 192, 224, 256, 512)] + [
    n * MIB for n in (1, 4, 16, 24, 32, 48, 64, 128, 512, 1024)
]
SHARED = ("lds", "sts", "atoms", "cp", "bar_lds")


def launches(kernel: str) -> list[tuple[int, int, int]]:
    """(active, rounds, stride) of the launches of a kernel."""
    kind, _, name = kernel.partition("_")
    rounds: tuple[int, ...] = (4, 12)
    if name.startswith(("sleep", "membar_sys")):
        rounds = (1, 3)
    strides: tuple[int, ...] = (1,)
    if name.startswith(SHARED):
        wide = 4 if "128" in name or "sm" in name or "16" in name else 2 if "64" in name else 1
        strides = tuple(s for s in (1, 2, 4, 8, 16, 32) if s >= wide)
    if kind == "barrier":
        return [(active, 1, stride) for active in TOGETHER for stride in (0, 40, 200)]
    if kind == "chain" and "bar" in name.split("_"):
        return [(active, r, s) for active in TOGETHER for r in rounds for s in strides[::3]]
    if kind == "chain":
        one = [(1, r, s) for r in rounds for s in strides]
        return one + [(active, rounds[-1], s) for active in (0x11, 0xF, 0x11111111, ALL) for s in strides[:1]]
    if kind == "rate":
        active = (*SUB_CORE, 0xF, 0xFF, 0xFFFF, ALL)
        return [(a, r, s) for a in active for r in rounds for s in strides]
    if kind == "loop":
        return [(a, r, 1) for a in (0x1, 0x11, 0x1111, 0xF, 0xFFFF) for r in rounds]
    if kind == "line":
        several = TOGETHER[1:3] if name == "bar" else (0x11, 0x3, 0xF, 0x11111111)
        return [(a, 1, s) for a in (0x1, *several) for s in strides[::5] or strides]
    return [(a, 1, 1) for a in (*SUB_CORE, 0xF, ALL)]


def readings(kernel: str) -> int:
    kind = kernel.partition("_")[0]
    return {"line": 26, "order": 26, "barrier": 19}.get(kind, 2)


def settled(clocks: np.ndarray, active: int) -> np.ndarray:
    """Raw clocks (32 warps, passes, readings) as cycles since the earliest reading of each pass, without the cold pass;
    -1 for warps that took no part."""
    on = np.array([active >> w & 1 for w in range(32)], bool)
    found = (clocks[:, 1:] - clocks[on][0, 1:, :1]).astype(np.int32)  # the clock wraps around
    first = found[on].min(axis=(0, 2))
    return np.where(on[:, None, None], found - first[None, :, None], -1).astype(np.int32)


def record(cubin: Path, npz: Path = RECORDING) -> None:
    code = cubin.read_bytes()
    names = sorted(kernels(code) - {"barrier_skew", "chase_fill", "chase_plain", "chase_cg"})
    driver = Driver()
    module = driver.module(code)
    time, some, buffer = (driver.zeros(size) for size in (32 * PASSES * SLOTS * 4, 256, (1 << 30) + 4096))
    found: dict[str, Any] = {"cubin": np.frombuffer(code, np.uint8)}

    def launch(kernel: str, grid: int, block: int, numbers: tuple[int, ...], slots: int, rows: int) -> np.ndarray:
        given = [*map(ctypes.c_uint32, numbers), time, some, buffer]
        driver.launch(driver.function(module, kernel), (grid,), (block,), given, 40 * KIB)
        return driver.download(time, np.empty((32, PASSES, rows), np.uint32))[:, :, :slots]

    for kernel in [*names, "barrier_skew"]:
        slots = readings(kernel)
        cases = [(1, 4, 1), (1, 12, 1)] if kernel == "chain_ldl" else launches(kernel)
        kept = []
        for active, rounds, stride in cases:
            numbers = (active, rounds, SEED, stride)
            raw = launch(kernel, 1, 32 * active.bit_length(), numbers, slots, slots if slots == 2 else SLOTS)
            kept.append(settled(raw, active))
        found[kernel], found[f"{kernel}_config"] = np.stack(kept), np.array(cases, np.int64)
    for kind in ("plain", "cg"):
        kept, cases = [], []
        for size in RINGS:
            count = size // LINE
            launch("chase_fill", 132, 1024, (1, count, LINE, 1), 2, 2)
            rounds = min(count // 16, 256)
            kept.append(settled(launch(f"chase_{kind}", 1, 32, (1, rounds, SEED, 1), 2, 2), 1))
            cases.append((size, rounds, LINE))
        found[f"chase_{kind}"], found[f"chase_{kind}_config"] = np.stack(kept), np.array(cases, np.int64)
    np.savez_compressed(npz, **found)


def kernels(cubin: bytes) -> set[str]:
    """The names of the kernels: sections .text.NAME."""
    parts = cubin.split(b".text.")[1:]
    return {name for p in parts if (name := p.split(b"\0")[0].decode()) and not name.startswith("_Z")}


def compile_all(cubin: Path, nvcc: str = "nvcc") -> None:
    compile_kernels(nvcc, "latency.cu", cubin.resolve())


if __name__ == "__main__":
    commands(__doc__, compile=compile_all, record=record)
