"""Copies of tensors by descriptors (TMA) of every kind of map, and what an H200 makes of them.

`python tensor_copies.py compile` writes the kernels' cubin. On a machine with the GPU, `launch FOLDER` runs all cases,
which `convert FOLDER` puts into `tensor_copies.npz`: of each case the first 64 bytes of its map, and a digest of what
it changed, or 0 where the GPU stopped at an illegal instruction. Under `ncu`, `count FOLDER` launches copies of many
shapes and requests to other blocks of a cluster, and writes their clocks.
"""

import ctypes
import json
import math
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from recorder import DATA, commands, compile_kernels, digest

SIZES = (1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4)
"""Bytes of an element, by the driver's number of its type."""
SPACE = 1 << 17
"""Bytes of global memory that tensors lie in."""
CHUNK = 16
"""Coordinates along the innermost axis must be at multiples of so many bytes; others are illegal."""
MOST = 4096
"""Most bytes of a box."""
WHOLE = (2, 3, 4, 5)
REDUCED = {
    20: (2, 3, 4, 6, 7, 9, 10), 21: (2, 3, 4, 5, 6, 9), 22: (2, 3, 4, 5, 6, 9), 23: (2,), 24: (2,), 25: WHOLE,
    26: WHOLE, 27: WHOLE,
}  # fmt: skip
"""The types of elements that each reduction takes (add, min, max, inc, dec, and, or, xor, by number)."""


@dataclass(frozen=True)
class Case:
    """A map, with the innermost axis first, and one copy. `how`: 1 to 5 for loads in tile mode of so many axes, 13 to
    15 in im2col mode; more: stores, and from 20 on reductions of two axes. `corners`: for im2col, with the channels and
    pixels of a box."""

    how: int
    kind: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]
    at: tuple[int, ...]
    start: int = 0
    interleave: int = 0
    swizzle: int = 0
    promotion: int = 0
    fill: int = 0
    corners: tuple[tuple[int, ...], ...] = ()
    offsets: tuple[int, ...] = ()
    stores: bool = False
    bytes: int = field(default=0)

    @property
    def span(self) -> int:
        """Bytes of shared memory that a box takes. Rows that are shorter than the swizzle is wide lie as far apart as
        it is wide."""
        row = self.box[0] * SIZES[self.kind]
        return self.bytes // row * max(row, (0, 32, 64, 128)[self.swizzle])


def tensor(rng: Any, rank: int, kind: int, unit: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and strides of a tensor in SPACE."""
    while True:
        size = SIZES[kind]
        first = int(rng.integers(1, 400 // size + 2))
        sizes = (first, *(int(n) for n in rng.integers(1, 14 if rank < 5 else 8, rank - 1)))
        strides, below = [], first * size
        for n in sizes[1:]:
            stride = -(-below // unit) * unit + unit * int(rng.integers(0, 3))
            strides.append(stride)
            below = stride * n
        if below <= SPACE - 4096:
            return sizes, tuple(strides)


def tile(rng: Any, stores: bool, interleave: int = 0, how: int = 0) -> Case:
    while True:
        rank = how if 0 < how < 6 else 2 if how else int(rng.integers(3 if interleave else 1, 6))
        kind = int(rng.integers(0, 13))
        size, unit = SIZES[kind], 32 if interleave == 2 else 16
        sizes, strides = tensor(rng, rank, kind, unit)
        swizzle = 1 if interleave == 2 else 0 if interleave else int(rng.integers(0, 4))
        row = (0, 32, 64, 128)[swizzle] or 256
        units = int(rng.integers(1, row // 16 + 1))
        if swizzle and rng.random() < 0.5:
            units = row // 16
        inner = units * 16 // size
        if interleave:
            inner = (16 if interleave == 1 else 32) // size * int(rng.integers(1, 4))
        steps = tuple(int(n) if rng.random() < 0.3 else 1 for n in rng.integers(1, 5, rank))
        if not interleave:
            steps = (1, *steps[1:])
        box = (inner, *(int(n) for n in rng.integers(1, 12 if rank < 4 else 6, rank - 1)))
        size_of_box = size * math.prod(-(-n // s) for n, s in zip(box, steps, strict=True))
        if size_of_box > MOST or max(box) > 256:
            continue
        at = tuple(
            int(rng.integers(-b, n + b // 2 + 1)) if rng.random() < 0.6 else int(rng.integers(0, n))
            for b, n in zip(box, sizes, strict=True)
        )
        at = (at[0] // (CHUNK // size) * (CHUNK // size), *at[1:])
        if interleave and rng.random() < 0.6:
            at = (0, *at[1:])
        fill = int(rng.random() < 0.3 and kind >= 6)
        start, promotion = unit * int(rng.integers(0, 8)), int(rng.integers(0, 4))
        return Case(
            how or rank, kind, sizes, strides, box, steps, at, start, interleave, swizzle, promotion, fill,
            stores=stores, bytes=size_of_box,
        )  # fmt: skip


def im2col(rng: Any, stores: bool) -> Case:
    while True:
        rank, kind = int(rng.integers(3, 6)), int(rng.integers(0, 10))
        size = SIZES[kind]
        sizes, strides = tensor(rng, rank, kind, 16)
        swizzle = int(rng.integers(0, 4))
        row = (0, 32, 64, 128)[swizzle] or 256
        units = row // 16 if swizzle and rng.random() < 0.6 else int(rng.integers(1, row // 16 + 1))
        channels, pixels = units * 16 // size, int(rng.integers(1, 40))
        lower = tuple(int(n) for n in rng.integers(-2, 3, rank - 2))
        upper = tuple(int(n) for n in rng.integers(-3, 2, rank - 2))
        spans = [n + above - below for n, above, below in zip(sizes[1:-1], upper, lower, strict=True)]
        if channels > 256 or channels * pixels * size > MOST or min(spans) <= 0:
            continue
        steps = (1, *(int(n) if rng.random() < 0.3 else 1 for n in rng.integers(1, 4, rank - 2)), 1)
        at = [int(rng.integers(-2, sizes[0] + 1)) if rng.random() < 0.4 else 0]
        at[0] = at[0] // (CHUNK // size) * (CHUNK // size)
        at += [int(rng.integers(below, below + span)) for below, span in zip(lower, spans, strict=True)]
        at += [int(rng.integers(0, sizes[-1]))]
        offsets = tuple(int(n) for n in rng.integers(0, 4, rank - 2))
        return Case(
            10 + rank, kind, sizes, strides, (channels,), steps, tuple(at), 16 * int(rng.integers(0, 8)), 0, swizzle,
            0, int(rng.random() < 0.2 and kind >= 6), (lower, upper, (channels, pixels)), offsets, stores,
            channels * pixels * size,
        )  # fmt: skip


def cases() -> list[Case]:
    rng = np.random.default_rng(15)
    found = [tile(rng, False) for _ in range(240)]
    found += [tile(rng, False, 1 + n % 2) for n in range(60)]
    found += [im2col(rng, False) for _ in range(90)]
    found += [tile(rng, True) for _ in range(60)] + [im2col(rng, True) for _ in range(20)]
    for how, kinds in REDUCED.items():
        for kind in kinds:
            one = tile(rng, True, 0, how)
            while one.kind != kind or one.bytes > 1024:
                one = tile(rng, True, 0, how)
            found.append(one)
    return found


@cache
def memory(kind: int, seed: int) -> Any:
    """SPACE bytes of numbers of an element type. Some floats are denormal, infinite or NaN."""
    rng = np.random.default_rng(seed)
    if kind not in (6, 7, 8, 9, 10, 11, 12):
        return rng.integers(0, 256, SPACE, np.uint8)
    size = SIZES[kind]
    bits = rng.integers(0, 256, SPACE, np.uint8).view(f"u{size}").copy()
    exponent = {6: 10, 7: 23, 8: 52, 9: 7}.get(kind, 23)
    width = {6: 5, 7: 8, 8: 11, 9: 8}.get(kind, 8)
    mask, middle = (1 << width) - 1, (1 << width - 1) - 1
    new = rng.integers(middle - 3, middle + 4, bits.size)
    some = rng.random(bits.size)
    new = np.where(
        some < 0.1, 0, np.where(some < 0.12, mask, np.where(some < 0.2, rng.integers(0, mask, bits.size), new))
    )
    keep = np.array(~(mask << exponent) & ((1 << 8 * size) - 1), bits.dtype)
    return (bits & keep | new.astype(bits.dtype) << np.array(exponent, bits.dtype)).view(np.uint8)


def encoded(driver: Any, case: Case, address: int) -> tuple[int, Any]:
    """The driver's error, and the map."""
    raw = (ctypes.c_ubyte * 192)()
    at = (ctypes.addressof(raw) + 63) & ~63
    rank = len(case.sizes)

    def longs(values: Any, kind: Any = ctypes.c_uint32) -> Any:
        return (kind * max(len(values), 1))(*values)

    last = [case.interleave, case.swizzle, case.promotion, case.fill]
    head = [ctypes.c_void_p(at), case.kind, rank, ctypes.c_void_p(address + case.start)]
    head += [longs(case.sizes, ctypes.c_uint64), longs(case.strides, ctypes.c_uint64)]
    if case.corners:
        lower, upper, (channels, pixels) = case.corners
        body = [longs(lower, ctypes.c_int), longs(upper, ctypes.c_int), channels, pixels, longs(case.steps)]
        error = driver.library.cuTensorMapEncodeIm2col(*head, *body, *last)
    else:
        error = driver.library.cuTensorMapEncodeTiled(*head, longs(case.box), longs(case.steps), *last)
    return error, (ctypes.c_ubyte * 128).from_buffer_copy(ctypes.string_at(at, 128))


def perform(driver: Any, functions: Any, case: Case, seed: int, times: int = 1) -> dict[str, Any]:
    """The driver's error if it refuses the map; else the map, what the kernel told, and the memory afterwards."""
    from driver import raw

    space = driver.upload(memory(case.kind, seed % 7))
    error, content = encoded(driver, case, space.value)
    if error:
        driver.free([space])
        return {"error": np.int32(error)}
    at = np.zeros(8, np.int32)
    at[: len(case.at)], at[5 : 5 + len(case.offsets)] = case.at, case.offsets
    where, told = driver.upload(at), driver.zeros(64)
    size = case.span + 256 & ~127
    buffers = [space, where, told]
    content = raw(bytes(content))
    number = ctypes.c_int
    if case.stores:
        given = driver.upload(memory(case.kind, 100 + seed % 5)[:size].copy())
        buffers.append(given)
        words = [content, number(case.how), where, given, number(times), number(size), told]
        driver.launch(functions["store"], (1,), (64,), words, 65536)
        after = driver.download(space, np.empty(SPACE, np.uint8))
        changed = np.flatnonzero(after != memory(case.kind, seed % 7)).astype(np.int32)
        found = {"at": changed, "to": after[changed]}
    else:
        out = driver.zeros(size)
        buffers.append(out)
        words = [content, number(case.how), where, out, number(case.bytes), number(times), number(size), told]
        driver.launch(functions["load"], (1,), (64,), words, 65536)
        found = {"out": driver.download(out, np.empty(size, np.uint8))}
    found["told"] = driver.download(told, np.empty(2, np.int32))
    body = np.frombuffer(bytes(content), np.uint8).copy()
    body[:8] = np.frombuffer((int(body[:8].view("u8")[0]) - space.value).to_bytes(8, "little", signed=True), np.uint8)
    found["map"] = body
    driver.free(buffers)
    return found


def launch(folder: Path, first: int = 0) -> None:
    """Run all cases. After one at which the GPU stops, the rest run in another process."""
    from driver import Driver

    driver = Driver()
    module = driver.module((DATA / "tensor_copies.cubin").read_bytes())
    functions = {name: driver.function(module, name) for name in ("load", "store")}
    for function in functions.values():
        driver("cuFuncSetAttribute", function, 8, 65536)
    results: dict[str, Any] = {}
    for number, case in enumerate(cases()):
        if number < first:
            continue
        try:
            found = perform(driver, functions, case, number)
        except RuntimeError as error:
            print(number, case, error, flush=True)
            np.savez_compressed(folder / f"tensor_copies_{first}.npz", **results)
            again = [sys.executable, __file__, "launch", str(folder), "--first", str(number + 1)]
            subprocess.run(again, check=True)
            return
        for name, value in found.items():
            results[f"{number}/{name}"] = value
    np.savez_compressed(folder / f"tensor_copies_{first}.npz", **results)


def convert(folder: Path) -> None:
    found: dict[str, Any] = {}
    for file in folder.glob("tensor_copies_*.npz"):
        with np.load(file) as stored:
            found |= dict(stored)
    number = len(cases())
    maps, outcome = np.zeros((number, 64), np.uint8), np.zeros(number, np.uint64)
    for n, case in enumerate(cases()):
        names = ("at", "to") if case.stores else ("out",)
        if f"{n}/told" in found:
            maps[n] = found[f"{n}/map"][:64]
            outcome[n] = digest(*(found[f"{n}/{name}"] for name in names))
    np.savez_compressed(DATA / "tensor_copies.npz", map=maps, outcome=outcome)


# ---- what is counted and timed


def shapes() -> list[Case]:
    """Cases with different rows and swizzles, all in bounds."""
    found = []
    for stores in (False, True):
        for inner, rows in ((16, 64), (32, 64), (64, 64), (128, 64), (256, 32), (128, 8), (16, 255)):
            for swizzle in range(4):
                if inner <= (256, 32, 64, 128)[swizzle]:
                    found.append(
                        Case(
                            2, 0, (inner, rows), (max(inner, 16),), (inner, rows), (1, 1), (0, 0), 0, 0, swizzle,
                            stores=stores, bytes=inner * rows,
                        )
                    )  # fmt: skip
        found.append(Case(2, 0, (128, 64), (1024,), (128, 64), (1, 1), (0, 0), 0, 0, 3, stores=stores, bytes=8192))
        found.append(Case(2, 0, (16, 64), (1024,), (16, 64), (1, 1), (0, 0), 0, 0, 0, stores=stores, bytes=1024))
    return found


def places() -> list[tuple[str, Any]]:
    lane = np.arange(32)
    found = [(f"stride {n} words", 4 * n * lane) for n in (0, 1, 2, 4, 8, 16, 32, 33)]
    found += [(f"{n} lanes", np.where(lane < n, 4 * lane, -(1 << 31))) for n in (1, 2, 8, 16)]
    found += [
        ("16 bytes each", 16 * lane),
        ("8 bytes each", 8 * lane),
        ("144 bytes", 144 * lane),
        ("256 bytes", 256 * lane),
    ]
    rng = np.random.default_rng(2)
    found += [(f"random {n}", 4 * rng.integers(0, 4096, 32)) for n in range(6)]
    return [(name, (v % 32768 if v.min() >= 0 else v).astype(np.int32)) for name, v in found]


def count(folder: Path) -> None:
    from driver import Driver

    driver = Driver()
    module = driver.module((DATA / "tensor_copies.cubin").read_bytes())
    functions = {name: driver.function(module, name) for name in ("load", "store", "bulk", "remote")}
    for function in functions.values():
        driver("cuFuncSetAttribute", function, 8, 65536)
    rows: list[Any] = []
    for case in shapes():
        for times in (1, 8):
            told = perform(driver, functions, case, 0, times)
            rows.append(
                ["store" if case.stores else "load", asdict(case), times, [int(n) for n in told.get("told", [])]]
            )
    number = ctypes.c_int
    space = driver.zeros(65536)
    for how in range(3):
        for size in (16, 128, 1024, 4096, 16384):
            for times in (1, 8):
                told = driver.zeros(64)
                driver.launch(
                    functions["bulk"], (2,), (64,), [space, number(how), number(size), number(times), told], 32768
                )
                rows.append(["bulk", how, size, times, driver.download(told, np.empty(4, np.int32)).tolist()])
    for how in (0, 1, 2, 3, 10, 11, 20, 21):
        for name, table in places():
            width = 4 << how // 10
            at = np.where(table < 0, table, table // width * width).astype(np.int32)
            for near in (0, 1):
                told, where = driver.zeros(512), driver.upload(at)
                driver.launch(
                    functions["remote"], (2,), (32,), [number(how), number(near), where, number(64), told], 32768
                )
                found = driver.download(told, np.empty((32, 3), np.int32))
                rows.append(["remote", how, name, near, found[0].tolist()])
                driver.free([told, where])
    (folder / "tensor_copies_clocks.json").write_text(json.dumps(rows))


def compile_all(nvcc: str = "nvcc") -> None:
    compile_kernels(nvcc, "tensor_copies.cu", DATA / "tensor_copies.cubin", "-lineinfo", arch="sm_90a")


if __name__ == "__main__":
    commands(__doc__, compile=compile_all, launch=launch, convert=convert, count=count)
