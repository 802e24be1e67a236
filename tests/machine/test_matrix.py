"""Kernels of every kind on every architecture against NumPy, bit by bit.

Each architecture runs on one engine; `BANKSIM_MATRIX=all pytest tests/machine/test_matrix.py` runs each on both (some
minutes).
"""

import os
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.architectures.code_layout import MACHINES
from banksim.kernels.compilers import assemble, tools
from banksim.kernels.compilers.numba_arguments import argument_type
from banksim.kernels.cubin import decode, decode_ahead
from banksim.kernels.kernel import BYTES
from banksim.runs import resolve
from cuda_kernels.kernels.products import tiled
from helpers import numba_kernels
from helpers.operations import joined, parts, signed
from helpers.places import KERNELS

COMPILED_BY_LLVM = {"sm_75", "sm_120"}
"""Compiling a kernel for the LLVM engine takes longer than the NumPy engine takes for these launches."""
RUNS = [
    (arch, engine)
    for arch in MACHINES
    for engine in ("llvm", "numpy")
    if os.environ.get("BANKSIM_MATRIX") == "all" or (engine == "llvm") == (arch in COMPILED_BY_LLVM)
]
MASK = (1 << 32) - 1
NUMBA = ("sm_75", "sm_87", "sm_103", "sm_110", "sm_121")
TILED = tiled(16, 1)


@pytest.fixture(scope="module", name="ptx")
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The PTX of each file. It is the same for all architectures from the one that it is compiled for."""

    @cache
    def made(stem: str, least: str) -> Path:
        path = tmp_path_factory.mktemp("matrix") / f"{stem}.ptx"
        source = KERNELS / f"{stem}.cu"
        tools.run("nvcc", ["-ptx", "-arch", least, "-w", "-lineinfo", "-o", path, source], KERNELS, what=str(source))
        return path

    return made


@pytest.fixture(scope="module", name="decoded")
def decoded_once(ptx: Any) -> Any:
    """Decodes what the tests execute of an architecture, with one start of nvdisasm."""

    @cache
    def decoded(arch: str) -> None:
        files = [KERNELS / "plain.ptx", ptx("matrix", "compute_75")]
        files += [ptx("matrix_80", "compute_80")] if arch != "sm_75" else []
        cubins = [assemble(file.read_bytes(), arch) for file in files]
        matrix = argument_type(np.zeros((32, 32), "f4"))
        cubins += [resolve.compiled_once(TILED, (matrix,) * 3, arch).cubin] if arch in NUMBA else []
        decode_ahead(cubins)

    return decoded


def integers(seed: int, *shape: int, low: int = 0, high: int = 1000) -> Any:
    return np.random.default_rng(seed).integers(low, high, shape, "i4")


def odd(seed: int, count: int, kind: str) -> Any:
    """Integers of all magnitudes, the least and the greatest among them."""
    rng = np.random.default_rng(seed)
    info = np.iinfo(kind)
    values = rng.integers(info.min, info.max, count, kind) >> rng.integers(0, info.bits, count).astype(kind)
    values[: count // 4] = rng.choice([0, 1, -1, 5, 7, 63, info.max, info.min, info.min + 1, info.max - 1], count // 4)
    return values


def quotient(a: int, b: int) -> int:
    """A quotient rounded toward zero, as C divides."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def rounded(v: Any, up: bool) -> Any:
    """A double as float32, rounded up or toward zero."""
    f = v.astype("f4")
    if up:
        return np.where(f < v, np.nextafter(f, np.float32(np.inf)), f)
    return np.where(np.abs(f) > np.abs(v), np.nextafter(f, np.float32(0)), f)


# ---- one function a kernel: (kernel, grid, block, arguments, what they are afterwards, dynamic shared bytes)


def scan() -> Any:
    v = integers(1, 128)
    return 128, [v, np.zeros(128, "i4")], {1: np.cumsum(v, dtype="i4")}


def votes() -> Any:
    v = integers(2, 64, high=16)
    h = np.zeros(64, "u4")
    for warp in (v[:32].tolist(), v[32:].tolist()):
        at = 0 if warp == v[:32].tolist() else 32
        ballot = sum((x & 1) << n for n, x in enumerate(warp)) + (7 in warp) + 2
        both = sum((x & 6) == 6 for x in warp)
        for n, x in enumerate(warp):
            alike = sum(1 << m for m, y in enumerate(warp) if (x ^ y) & 3 == 0)
            r = (ballot ^ (both << 8 if x & 2 else 0)) + alike * 31
            h[at + n] = (r + warp[n ^ 5] + warp[x]) & MASK
    return 64, [v, np.zeros(64, "u4")], {1: h}


def histogram() -> Any:
    v = integers(3, 300)
    out = np.append(np.bincount(v & 15, minlength=16), 101).astype("i4")
    total, wide = np.array([(v & 7).sum()], "f4"), np.array([int(v.max()) << 33], "u8")
    args = [v, np.zeros(17, "i4"), np.zeros(1, "f4"), np.zeros(1, "u8"), np.int32(300)]
    return 64, args, {1: out, 2: total, 3: wide}


WEIGHTS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9, 5]


def branches() -> Any:
    v, out = integers(4, 96), np.full(96, -5, "i4")
    for n, x in enumerate(v.tolist()):
        steps = 0
        while x > 1 and steps < 40:
            x, steps = 3 * x + 1 if x & 1 else x // 2, steps + 1
        reversed_bits, zeros = int(f"{steps:032b}"[::-1], 2), 32 - x.bit_length()
        ends = [x + 11, x * 5, steps - x, None, x ^ 0x55, WEIGHTS[steps & 31], reversed_bits + zeros, -steps]
        end = ends[steps & 7]
        if end is not None:
            out[n] = signed(end + steps * 100)
    return 96, [v, np.full(96, -5, "i4"), np.int32(11)], {1: out}


def calls() -> Any:
    v = integers(5, 64)
    out = [(x & 3) + (2 if x & 1 else 1) for x in v.tolist()]  # Ackermann's function of 1 or 0 and x
    called = [((x & 3) + 1) ** 2 if x & 1 else 2 * ((x & 3) + 1) for x in v.tolist()]
    return 64, [v, np.zeros(64, "i4")], {1: np.array(out, "i4") * 1000 + np.array(called, "i4")}


def local_arrays() -> Any:
    v = integers(6, 32, 8)
    ordered, k = np.sort(v, 1), np.arange(8)
    out = (np.take_along_axis(ordered, (v[:, :1] + k) & 7, 1) * (k + 1)).sum(1, dtype="i4")
    return 32, [v.reshape(-1), np.zeros(32, "i4")], {1: out}


def generic(n: int) -> Any:
    v, t = integers(7, 64), np.arange(64)
    dynamic, local = v + 1, np.tile(np.arange(1, 5), (64, 1))
    local[:, n & 3] += t
    source = [v[t & 3], dynamic[t & 3], local[t, t & 3]][n % 3]
    out = np.where(t & 1, dynamic[t & 3], source) + dynamic[::-1] * local[:, (n + 1) & 3]
    return 64, [v, np.zeros(64, "i4"), np.int32(n)], {1: out.astype("i4")}, 256


def longs() -> Any:
    a, b = odd(8, 64, "i8"), odd(9, 64, "i8")
    whole = (1 << 64) - 1
    out = []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        u, w = x & whole, y & whole
        least_bits = (x << (y & 63)) ^ (u >> (y & 31))
        out += [
            x + y - 7, x * y, quotient(x, y) if y else 0, u % w if w else 0, min(x, y), max(u, w), least_bits,
            x - 1 if x < y else y if u < w else 3, (x * y >> 64) + u.bit_count() - (64 - w.bit_length()), abs(x) & ~y,
            int(float(x) * 0.5), x == -1 or (x > 5 and u <= 0xFFF8000000000000),
        ]  # fmt: skip
    return 64, [a, b, np.zeros(768, "i8")], {2: np.array([signed(v, 64) for v in out], "i8")}


def words() -> Any:
    a, b = odd(10, 64, "i4"), odd(11, 64, "i4")
    out = []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        u, w = x & MASK, y & MASK
        d, e = y | 1, w | 1
        sixteen = [min(p, q) for p, q in zip(parts(u, 16, True), parts(w, 16, True), strict=True)]
        largest = [max(p, q) for p, q in zip(parts(u, 8), parts(w, 8), strict=True)]
        apart = [abs(p - q) for p, q in zip(parts(u, 8), parts(w, 8), strict=True)]
        dot = sum(p * q for p, q in zip(parts(u, 8, True), parts(w, 8, True), strict=True)) + x
        both = w << 32 | u
        permuted = sum((both >> 8 * (0x5273 >> 4 * k & 7) & 0xFF) << 8 * k for k in range(4))
        lowest = (x & -x).bit_length()
        out += [
            quotient(x, d) + x - quotient(x, d) * d, u // e - u % e, (x * y >> 32) ^ (u * w >> 32),
            permuted + (both >> (w & 31)), min(max(x, y), signed(x ^ y) >> 3), joined(largest, 8) - joined(sixteen, 16),
            joined(apart, 8) + dot, (x >> (y & 31)) + (x << (y & 15)) + (u & 0x00FF00FF | w & ~u),
            lowest * (32 - w.bit_length()) + (u ^ w).bit_count(), signed(x, 8) + (w & 0xFFFF),
            max(signed(x + y), x) + min(u, w, 77), abs(x) - (y if x < 0 else u > w),
        ]  # fmt: skip
    return 64, [a, b, np.zeros(768, "i4")], {2: np.array([signed(v) for v in out], "i4")}


def floats() -> Any:
    rng = np.random.default_rng(12)
    x, y = (rng.uniform(-30, 30, 64).astype("f4") for _ in range(2))
    scale, shift = np.float32(1.5), np.float32(0.25)
    d, e = x.astype("f8"), y.astype("f8")
    fdim = np.where(x > y, x - y, np.float32(0))
    out = [
        (d * e + 1.625).astype("f4"), (d * e - 1.5).astype("f4"), x / y, np.sqrt(np.abs(x)),
        np.minimum(np.minimum(x, y), scale), np.maximum(np.abs(x), np.maximum(y, shift)),
        np.floor(x) + np.ceil(y) * 4 + np.rint(x) * 16 + np.trunc(y) * 64, np.trunc(x) - np.trunc(np.abs(y)),
        rounded(d + e, up=False) + rounded(d * e, up=True),
        np.where(x < y, x, np.where(y >= scale, np.float32(1), np.copysign(np.float32(2), x))),
        np.clip(x, np.float32(0), np.float32(1)) + fdim, (d * e + 1 / 3).astype("f4"),
    ]  # fmt: skip
    return 64, [x, y, np.zeros(768, "f4"), scale, shift], {2: np.stack(out, 1).reshape(-1)}


def doubles() -> Any:
    rng = np.random.default_rng(13)
    x, y = rng.uniform(-30, 30, 32), rng.uniform(-30, 30, 32)
    fused = np.array([float(Fraction(a) * Fraction(b) - Fraction(a)) for a, b in zip(x, y, strict=True)])
    out = [
        x / y, np.sqrt(np.abs(x)), fused, np.minimum(x, y) + np.floor(x),
        np.where(x < y, x.astype("f4").astype("f8"), np.trunc(y)), fused + y,
    ]  # fmt: skip
    return 32, [x, y, np.zeros(192)], {2: np.stack(out, 1).reshape(-1)}


def halves() -> Any:
    rng = np.random.default_rng(14)
    a, b = (rng.uniform(-8, 8, 32).astype("f2") for _ in range(2))
    x, y = np.stack([a, b], 1).astype("f8"), np.stack([b, a], 1).astype("f8")
    last = np.stack([x[:, 0] * 3, np.where(np.arange(32) - 7 > x[:, 1], 1.0, -1.0)], 1)
    out = np.stack([x + y, x * y, x * y + x, last], 1).astype("f2").reshape(-1)
    return 32, [a, b, np.zeros(256, "f2")], {2: out}


def reduce() -> Any:
    v = integers(15, 32)
    h = int(v.sum()) + int(v.min() - 9) * 3 + int(v.max()) * 5
    h ^= int(np.bitwise_and.reduce(v | 0xF0)) ^ int(np.bitwise_or.reduce(v)) ^ int(np.bitwise_xor.reduce(v * 77))
    return 32, [v, np.zeros(32, "i4")], {1: np.where(v & 1, h + v[v & 1 == 1].sum(), h).astype("i4")}


def copy() -> Any:
    v = np.random.default_rng(16).random(256).astype("f4")
    t = np.arange(32)
    return 32, [v, np.zeros(32, "f4")], {1: v[127 - t] + v[128 + 4 * t]}


def product() -> Any:
    a, b = (integers(seed, *shape, low=-9, high=10) for seed, shape in ((17, (16, 16)), (18, (16, 8))))
    d = a @ b
    t = np.arange(32)
    row, column = t // 4, t % 4 * 2
    out = [d[row, column] + 1, d[row, column + 1] + 2, d[row + 8, column] + 3, d[row + 8, column + 1] + 4]
    return 32, [a.astype("f2"), b.astype("f2"), np.zeros(128, "f4")], {2: np.stack(out, 1).astype("f4").reshape(-1)}


def bfloats() -> Any:
    rng = np.random.default_rng(19)
    a, b = (rng.uniform(-8, 8, 32).astype("f4") for _ in range(2))
    x = np.stack([bfloat(a), bfloat(b)], 1)
    y = np.stack([bfloat(b), np.full(32, 3.0)], 1)
    out = np.concatenate([bfloat(x * y + x), np.maximum(bfloat(x * y), y)], 1).astype("f4")
    return 32, [a, b, np.zeros(128, "f4")], {2: out.reshape(-1)}


def bfloat(v: Any) -> Any:
    """Rounded once to 8 binary digits, to nearest even; exact in a double."""
    fraction, exponent = np.frexp(v.astype("f8"))
    return np.ldexp(np.rint(fraction * 256), exponent - 8)


OLD = [scan, votes, histogram, branches, calls, local_arrays, longs, words, floats, doubles, halves]
NEW = [reduce, copy, product, bfloats]


def check(kernel: Any, arch: str, engine: str, case: Any) -> None:
    block, args, expected, *dynamic = case
    assert kernel.arch == arch
    given = [a.copy() for a in args]
    banksim.run(kernel, 1, block, given, arch=arch, engine=engine, dynamic_shared=sum(dynamic))
    for number, (before, after) in enumerate(zip(args, given, strict=True)):
        want = expected.get(number, before)
        if np.ndim(before):
            different = np.flatnonzero(after.view(np.uint8) != want.astype(after.dtype).view(np.uint8))
            assert not len(different), f"{kernel.plain_name}, argument {number}: {after[:8]} is not {want[:8]}"


@pytest.mark.parametrize(("arch", "engine"), RUNS)
def test_what_all_have(arch: str, engine: str, ptx: Any, decoded: Any) -> None:
    decoded(arch)
    kernels = banksim.load(ptx("matrix", "compute_75"), arch)
    for case in OLD:
        check(kernels[case.__name__], arch, engine, case())
    for n in range(3):
        check(kernels["generic"], arch, engine, generic(n))


@pytest.mark.parametrize(("arch", "engine"), [(arch, engine) for arch, engine in RUNS if arch != "sm_75"])
def test_what_came_with_sm_80(arch: str, engine: str, ptx: Any, decoded: Any) -> None:
    decoded(arch)
    kernels = banksim.load(ptx("matrix_80", "compute_80"), arch)
    for case in NEW:
        check(kernels[case.__name__], arch, engine, case())


@pytest.mark.parametrize("arch", MACHINES)
def test_code_is_read(arch: str, decoded: Any) -> None:
    decoded(arch)
    (kernel,) = decode(assemble((KERNELS / "plain.ptx").read_bytes(), arch)).values()
    assert kernel.arch == arch
    store = next(i for i in kernel.instructions if i.name == "STS")
    assert [o.kind for o in store.operands] == ["memory", "R"]
    assert all(i.encoding >> 12 & 15 == 7 for i in kernel.instructions if i.predicate is None)
    assert [i.pc for i in kernel.instructions] == list(range(0, BYTES * len(kernel.instructions), BYTES))


@pytest.mark.parametrize("arch", NUMBA)
def test_numba(arch: str, decoded: Any) -> None:
    """Numba compiles for each architecture; data goes through tiles in shared memory."""
    decoded(arch)
    a, b = (numba_kernels.random("f4", 32, 32, seed=seed) for seed in (0, 1))
    c = np.zeros_like(a)
    got = banksim.run(TILED, (2, 2), (16, 16), [a, b, c], arch=arch)
    expected = np.zeros_like(c)
    for k in range(32):
        expected = (expected + a[:, k, None].astype("f8") * b[k].astype("f8")).astype("f4")
    np.testing.assert_array_equal(c, expected)
    assert got.kernel.arch == arch
