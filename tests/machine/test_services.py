"""Printing, assertions, the heap, bulk copies, atomics that memory computes, floats of 8 bits: on both engines."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.__main__ import main
from banksim.errors import Fault, InputError, UnsupportedError
from banksim.machine.llvm import driver_callbacks
from banksim.machine.services import SERVICES
from helpers.commands import out_of
from helpers.operations import ENGINES
from helpers.places import KERNELS, loaded

FILE = KERNELS / "services.cu"
TEXT = np.frombuffer(b"a string\0", np.uint8).copy()
PRINTED = """\
0.0    7|7    |00007|+7|2.500 7 (nil)
a string|ab    |x%|-12345678901|0x7|4294967289|2.50e+00|2.5|0x1.4p+1
0.1    7|7    |00007|+7|2.500 7 (nil)
1.0    7|7    |00007|+7|2.500 7 (nil)
a string|ab    |x%|-12345678901|0x7|4294967289|2.50e+00|2.5|0x1.4p+1
1.1    7|7    |00007|+7|2.500 7 (nil)
"""


kernels = partial(loaded, FILE)


@ENGINES
def test_printing(engine: str) -> None:
    """In the order of blocks; within a warp, one call after the other, lane by lane."""
    run = banksim.run(kernels()["prints"], 2, 2, [7, 2.5, TEXT], engine=engine)
    assert sorted(run.output.splitlines()) == sorted(PRINTED.splitlines())
    blocks = [line[0] for line in run.output.splitlines() if line[1] == "."]
    assert blocks == ["0", "0", "1", "1"]
    assert all(e.instruction.name != "SERVICE" for e in run.profile)


def test_the_command_prints_what_the_kernel_prints(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    np.save(tmp_path / "text.npy", TEXT)
    words = ["kernel", f"{FILE}:prints", "--block", "2", "--arg", "int32=7", "--arg", "float64=2.5"]
    words += ["--arg", str(tmp_path / "text.npy")]
    assert out_of(capsys, words).startswith("a string|ab    |x%|")
    assert json.loads(out_of(capsys, [*words, "--json"]))["output"].count("\n") == 3


@ENGINES
def test_an_assertion_is_a_fault_with_its_place(engine: str) -> None:
    banksim.run(kernels()["asserts"], 2, 32, [64], engine=engine)
    line = 1 + next(n for n, text in enumerate(FILE.read_text().splitlines()) if "assert(i < n)" in text)
    expected = rf"^asserts: assertion `i < n` failed at .*services\.cu:{line} in void asserts\(int\), "
    with pytest.raises(Fault, match=expected + r"block \(1, 0, 0\), warp 0, lane 8$"):
        banksim.run(kernels()["asserts"], 2, 32, [40], engine=engine)


def test_what_was_printed_before_a_fault_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernel", f"{FILE}:asserts", "--grid", "2", "--block", "32", "--arg", "int32=40"]) == 2
    shown = capsys.readouterr()
    assert shown.out == "block 0\nblock 1\n"
    assert shown.err.startswith("banksim: asserts: assertion")


def test_printing_where_time_is_simulated() -> None:
    run = banksim.run(kernels()["prints"], 2, 2, [7, 2.5, TEXT], timing=True)
    assert sorted(run.output.splitlines()) == sorted(PRINTED.splitlines())
    with pytest.raises(UnsupportedError, match="the time of blocks that wait for each other is not simulated"):
        banksim.run(kernels()["grid_steps"], 4, 48, [np.zeros((2, 192), np.int32), 5], timing=True)


def test_what_is_timed_twice_prints_once(tmp_path: Path) -> None:
    """A kernel with conflicts is simulated a second time, with its requests at their ideal."""
    file = tmp_path / "conflict.cu"
    file.write_text("""#include <cstdio>
    extern "C" __global__ void k(int *a) {
        __shared__ int s[32][32];
        for (int i = 0; i < 32; ++i) s[threadIdx.x][i] = threadIdx.x;  // more than waiting for constants hides
        __syncthreads();
        if (threadIdx.x == 0) printf("once %d\\n", s[5][0]);
        a[threadIdx.x] = s[threadIdx.x][0];
    }""")
    out = np.zeros(32, np.int32)
    run = banksim.run(banksim.load(file)["k"], 1, 32, [out], timing=True)
    assert run.cycles is not None
    assert run.cycles.total > run.cycles.ideal
    assert run.output == "once 5\n"
    assert out.tolist() == list(range(32))


@ENGINES
def test_the_heap(engine: str) -> None:
    out = np.zeros(32, np.int32)
    banksim.run(kernels()["allocates"], 1, 32, [out], engine=engine)
    x = np.arange(32)
    np.testing.assert_array_equal(out, x * (x - 1) // 2 + (x & 1) * x * x)
    banksim.run(kernels()["exhausts"], 1, 1, [out], engine=engine)
    assert out[0] == 7


@ENGINES
@pytest.mark.parametrize("in_shared", [0, 1, 2])
def test_atomics_wherever_the_pointer_leads(in_shared: int, engine: str) -> None:
    """In global memory, in shared memory, and half of the lanes in each."""
    arrays = [np.zeros(8, kind) for kind in (np.uint64, np.float32, np.float64, np.int32)]
    arrays[0][:4], arrays[1][:4], arrays[2][:4] = 10, 1, 1
    banksim.run(kernels()["atomics"], 1, 32, [*arrays, in_shared], engine=engine)
    lanes = {0: (range(32), range(0)), 1: (range(0), range(32)), 2: (range(0, 32, 2), range(1, 32, 2))}[in_shared]
    for place, some in enumerate(lanes):
        longs, floats, doubles, words = (a[4 * place : 4 * place + 4] for a in arrays)
        n, last = len(some), max(some, default=0)
        least = -last % (1 << 64) if n else 10
        assert longs.tolist() == [10 + n, max(last, 10), least, 100 + some[0] if n else 10]
        assert (floats[0], floats[2]) == (1 + 0.5 * n, 7.0 if n else 1.0)
        assert (doubles[0], words[0], words[1]) == (1 + 0.25 * n, n, max(n - 1, 0))


@ENGINES
def test_atomics_of_halves_and_pairs(engine: str) -> None:
    h, b, f = np.zeros(68, np.float16), np.zeros(2, np.uint16), np.zeros((33, 2), np.float32)
    banksim.run(kernels()["half_atomics"], 1, 32, [h, b, f], engine=engine)
    x = np.arange(32)
    assert h[:2].tolist() == [496, 16]
    np.testing.assert_array_equal(h[2:66].reshape(32, 2), np.stack([x, 2 * x], 1))
    bfloat = b.astype(np.uint32) << 16
    assert bfloat.view(np.float32).tolist() == [32, -112]
    assert f[0].tolist() == [496, 0], "memory takes denormals for zeros"


def eighths(digits: int, bias: int) -> Any:
    """The values of all bytes without a sign bit, in order, up to the largest finite number."""
    values = []
    for byte in range(128):
        exponent, fraction = byte >> digits, byte & (1 << digits) - 1
        hidden = (1 << digits) * (exponent > 0)
        values.append((hidden + fraction) * 2.0 ** (max(exponent, 1) - bias - digits))
    return np.array(values[: 0x7F if digits == 3 else 0x7C])


def nearest(values: Any, v: Any) -> Any:
    """The byte of the nearest value; of two equally near ones, the even byte."""
    distance = np.abs(np.abs(v)[:, None] - values)
    best = distance.argmin(1)
    rows, above = np.arange(len(v)), np.minimum(best + 1, len(values) - 1)
    best = np.where((best & 1 == 1) & (distance[rows, above] == distance[rows, best]), above, best)
    return np.where(np.isnan(v), 0x7F, best | np.signbit(v) << 7).astype(np.uint8)


@ENGINES
def test_floats_of_eight_bits(engine: str) -> None:
    """Against a search among all values; infinities become the largest number."""
    e4m3, e5m2 = eighths(3, 7), eighths(2, 15)
    rng = np.random.default_rng(0)
    middles = [(v[1:] + v[:-1]) / 2 for v in (e4m3, e5m2)]
    odd = np.array([0.0, -0.0, 1e9, -1e9, np.inf, -np.inf, np.nan, 448, 449, 464, 480, 57344, 61440, 1e-30])
    some = np.concatenate([odd, *middles, rng.normal(size=400) * 2.0 ** rng.integers(-18, 18, 400)])[:512]
    given = np.resize(some, 512).astype(np.float32)
    out = [np.zeros(512, np.uint8), np.zeros(512, np.uint8), np.zeros(512, np.float16)]
    banksim.run(kernels()["eighths"], 4, 128, [given, *out], engine=engine)
    for values, got in zip((e4m3, e5m2), out, strict=False):
        wide = np.where(np.isinf(given), np.copysign(values[-1], given), given.astype(np.float64))
        np.testing.assert_array_equal(got, nearest(values, wide))
    for values, back in zip((e4m3, e5m2), out[2].reshape(2, 2, 128), strict=True):
        np.testing.assert_array_equal(back[0, : len(values)].astype(np.float64), values)
        np.testing.assert_array_equal(back[1, : len(values)].astype(np.float64), -values)
    assert np.isnan(out[2][[0x7F, 0xFF, 0x17D, 0x1FF]]).all()
    assert out[2][0x17C] == np.inf


@ENGINES
def test_bulk_copies(engine: str) -> None:
    given, out, total = np.arange(256, dtype=np.int32), np.zeros(256, np.int32), np.zeros(64, np.int32)
    run = banksim.run(kernels()["bulk"], 1, 64, [given, out, total, 4], engine=engine)
    np.testing.assert_array_equal(out, given + 1000)
    np.testing.assert_array_equal(total, (given + 1000).reshape(4, 64).sum(0))
    bulk = [s for s in run.conflicts.sites if s.op == "bulk"]
    assert [(s.requests, s.transactions, s.status) for s in bulk] == 3 * [(4, None, "unknown")]
    assert run.conflicts.transactions is None, "the counters report nothing of bulk copies"
    with pytest.raises(Fault, match=r"bulk: bulk copy: 256 bytes out of bounds of global memory, .*services\.cu:\d+ "):
        banksim.run(kernels()["bulk"], 1, 64, [given[:130].copy(), out, total, 4], engine=engine)


def test_bulk_copies_stay_in_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python takes no part in those that are in bounds; one of its calls would cost as much as hundreds of stores."""
    asked: list[str] = []

    def noted(name: str) -> Any:
        return lambda *arguments: asked.append(name) or SERVICES[name](*arguments)  # type: ignore[func-returns-value]

    monkeypatch.setattr(driver_callbacks, "BY_NUMBER", [noted(name) for name in SERVICES])
    given, out, total = np.arange(256, dtype=np.int32), np.zeros(256, np.int32), np.zeros(64, np.int32)
    banksim.run(kernels()["bulk"], 1, 64, [given, out, total, 4], engine="llvm")
    assert asked == 4 * ["reduce_out"], "additions to global memory alone need a lock"
    with pytest.raises(Fault, match="out of bounds"):
        banksim.run(kernels()["bulk"], 1, 64, [given[:130].copy(), out, total, 4], engine="llvm")
    assert asked[4:] == ["copy_in"], "Python says what is wrong"


@ENGINES
def test_transaction_barriers_that_threads_leave(engine: str) -> None:
    given, out = np.arange(128, dtype=np.int32), np.zeros(64, np.int32)
    banksim.run(kernels()["leaves"], 1, 128, [given, out], engine=engine)
    np.testing.assert_array_equal(out, 63 - np.arange(64))


@ENGINES
def test_blocks_wait_for_the_whole_grid(engine: str) -> None:
    a = np.zeros((2, 192), np.int32)
    a[0] = np.arange(192)
    run = banksim.run(kernels()["grid_steps"], 4, 48, [a, 5], engine=engine)
    expected = np.arange(192, dtype=np.int32)
    for _ in range(5):
        expected = expected + np.roll(expected, -33)
    np.testing.assert_array_equal(a[1], expected)
    assert run.blocks == 4


@ENGINES
def test_a_grid_that_waits_for_ever_is_stopped(engine: str) -> None:
    with pytest.raises(Fault, match="the instruction limit is used up"):
        banksim.run(kernels()["grid_alone"], 3, 1, [np.zeros(1, np.int32)], engine=engine, max_instructions=20_000)
    with pytest.raises(InputError, match="wait for each other, and no GPU holds 5000"):
        banksim.run(kernels()["grid_alone"], 5000, 1, [np.zeros(1, np.int32)])


@ENGINES
def test_products_of_bits(engine: str) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 1 << 32, (rows, 8), np.uint64).astype(np.uint32) for rows in (16, 8))
    out = np.zeros((2, 16, 8), np.int32)
    banksim.run(kernels()["bits"], 1, 32, [a, b, out[0], out[1]], engine=engine)
    np.testing.assert_array_equal(out[0], np.bitwise_count(a[:, None] & b).sum(2))
    np.testing.assert_array_equal(out[1], np.bitwise_count(a[:, None] ^ b).sum(2) + 1)
