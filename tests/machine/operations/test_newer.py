"""Instructions that sm_90 does not have, written by hand, against plain Python numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.errors import UnsupportedError
from banksim.kernels.compilers import assemble
from helpers.assembler import run
from helpers.operations import ENGINES, WORD, compare, joined, parts, signed, with_predicate, words

LONG = 1 << 64


def pair(r: list[int], number: int) -> int:
    """The 64 bits of a pair of registers. Rows 0 and up are R8 and up."""
    return r[number - 8] | r[number - 7] << 32


@ENGINES
def test_words_of_64_bits(engine: str) -> None:
    lines = ["IADD.64 R20, R8, -R10", "IADD.64 R20, R10, -0x7", "MOV.64 R20, R12", "MOV.64 R20, 0xfff8000000000001"]
    lines += ["SEL.64 R20, R8, -0x1, P1", "IMNMX.S64 PT, PT, R20, R8, R10, PT, !PT"]
    lines += ["IMNMX.U64 PT, PT, R20, R8, 0x40, !PT, !PT", "ISETP.GE.S64.AND P2, PT, R8, -0x1, PT"]
    lines += ["ISETP.LT.U64.OR P2, PT, R8, R10, !PT", "UIADD3.64 UR20, UPT, UPT, UR8, -0x20, URZ"]

    def expected(n: int, r: list[int], p: list[bool]) -> Any:
        a, b = pair(r, 8), pair(r, 10)
        unchanged = 0x11111111 | 0x22222222 << 32
        value = [
            a - b, b - 7, pair(r, 12), 0xFFF8000000000001, a if p[1] else LONG - 1,
            min(signed(a, 64), signed(b, 64)), max(a, 64), unchanged, unchanged, unchanged,
        ][n] % LONG  # fmt: skip
        flag = {7: signed(a, 64) >= -1, 8: a < b}.get(n)
        return value, value >> 32, r[0] & 0x7F if flag is None else with_predicate(r, 2, flag)

    compare(lines, expected, engine)
    values = words()
    total = (int(values[0, 0]) | int(values[1, 0]) << 32) - 0x20
    assert run(lines[-1:], values, engine)[0, 3, 0] == total % WORD


@ENGINES
@pytest.mark.parametrize("text", ["IADD.64 R20, P1, R8, R10", "IMNMX.S64 P1, PT, R20, R8, R10, PT, !PT"])
def test_flags_of_64_bits_are_refused(text: str, engine: str) -> None:
    with pytest.raises(UnsupportedError, match="SASS 0x"):
        run([text], words(), engine)


@ENGINES
def test_parts_of_words(engine: str) -> None:
    lines = ["VIADD.U8x4 R20, R8, -R9", "VIADD.16x2 R20, R8, -R9", "VIMNMX.U8x4 R20, R8, R9, !PT"]
    lines += ["VIMNMX.S8x4 R20, R8, R9, PT", "VIMNMX.S32 R20, R8, R9, PT", "VIMNMX3.U8x4 R20, R8, R9, R10, !PT"]

    def expected(n: int, r: list[int], p: list[bool]) -> Any:
        if n < 2:
            bits = (8, 16)[n]
            both = zip(parts(r[0], bits, False), parts(r[1], bits, False), strict=True)
            return (joined([u - v for u, v in both], bits),)
        kinds = [(8, False, max, 2), (8, True, min, 2), (32, True, min, 2), (8, False, max, 3)]
        bits, sign, choose, count = kinds[n - 2]
        return (joined([choose(s) for s in zip(*(parts(v, bits, sign) for v in r[:count]), strict=True)], bits),)

    compare(lines, expected, engine)


def floats(seed: int) -> Any:
    values = np.random.default_rng(seed).uniform(-100, 100, (8, 32)).astype("f4")
    values[:, :3] = [np.nan, np.inf, -0.0]
    values[1, 4:8] = [np.nan, 0.0, -np.inf, 1e-40]
    return values


def fma(a: Any, b: Any, c: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return (a.astype("f8") * b + c).astype("f4")


def same(got: Any, want: Any) -> None:
    """The same bits; for every NaN the bits that the GPU writes."""
    want = np.where(np.isnan(want), np.uint32(0x7FFFFFFF), want.astype("f4").view("u4"))
    np.testing.assert_array_equal(got, want)


@ENGINES
def test_pairs_of_floats(engine: str) -> None:
    """An operand that is not a pair serves both halves, even if the first half's result overwrites it."""
    values = floats(1)
    a, b, c = values[0:2], values[2:4], values[4:6]
    marks = ".F32x2.HI_LO"
    lines = [f"FADD2 R20, R8{marks}, -R10{marks}", f"FMUL2 R20, R8{marks}, 2", f"FMUL2 R20, R8{marks}, R10.F32"]
    lines += [f"FFMA2 R20, R8{marks}, R10{marks}, R12{marks}", f"FFMA2 R20, R8{marks}, R10{marks}, RZ.F32"]
    with np.errstate(invalid="ignore"):
        wanted = [a - b, a * 2, a * b[0], fma(a, b, c), fma(a, b, np.float32(0))]
    for got, want in zip(run(lines, values.view("u4"), engine), wanted, strict=True):
        same(got[:2], want)
    got = run([f"FADD2 R20, R20.F32, R10{marks}"], values.view("u4"), engine)[0]
    same(got[:2], np.uint32(0x11111111).view("f4") + b)


@ENGINES
def test_extrema_of_three(engine: str) -> None:
    values = floats(2)
    a, b, c = values[:3]
    lines = ["FMNMX3 R20, R8, |R9|, R10, !PT", "FMNMX3 R20, R8, R9, -R10, PT", "FMNMX3.NAN R20, R8, R9, R10, PT"]
    wanted = [np.fmax(np.fmax(a, abs(b)), c), np.fmin(np.fmin(a, b), -c), np.minimum(np.minimum(a, b), c)]
    for got, want in zip(run(lines, values.view("u4"), engine), wanted, strict=True):
        zero = want == 0  # NumPy does not say which of the two zeros it is
        same(got[0][~zero], want[~zero])
        assert not (got[0][zero] << 1).any()


@ENGINES
def test_uniform_floats(engine: str) -> None:
    values = floats(3)[:, 8:].repeat(2, axis=1)[:, :32]
    a, b = values[0, 0], values[1, 0]
    lines = ["UFADD UR20, UR8, -UR9", "UFMUL UR20, UR8, 3", "UFFMA UR20, UR8, UR9, -UR8", "UFMNMX UR20, UR8, UR9, PT"]
    lines += ["UFSEL UR20, UR8, UR9, !UPT", "UI2FP.F32.S32 UR20, 0x7", "UFRND.FLOOR UR20, UR8"]
    wanted = [a - b, a * np.float32(3), fma(a, b, -a), min(a, b), b, np.float32(7), np.floor(a)]
    got = run(lines, values.view("u4"), engine)[:, 3, 0]
    np.testing.assert_array_equal(got, np.array(wanted, "f4").view("u4"))


@ENGINES
def test_reductions_of_executing_lanes(engine: str) -> None:
    values = words(5)
    on = (values[0] >> 1 & 1).astype(bool)
    got = run(["@P1 CREDUX.MAX.S32 UR20, R9", "@P1 CREDUX.MIN UR20, R9"], values, engine)[:, 3, 0]
    assert list(got) == [int(values[1][on].view("i4").max()) % WORD, int(values[1][on].min())]


# ---- whole kernels, as compilers write these instructions

PTX = """.version 8.8
.target sm_100
.address_size 64
.visible .entry wide(.param .u64 a, .param .u64 b) {
  .reg .b64 %d<4>; .reg .b32 %r<12>;
  mov.u32 %r9, %tid.x;
  mul.wide.u32 %d2, %r9, 32;
  ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b];
  add.u64 %d0, %d0, %d2; add.u64 %d1, %d1, %d2;
  ld.global.v8.b32 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%d0];
  st.global.v8.b32 [%d1], {%r7,%r1,%r2,%r3,%r4,%r5,%r6,%r0};
  ret;
}
"""


@ENGINES
@pytest.mark.parametrize("arch", ["sm_100", "sm_120"])
def test_loads_and_stores_of_32_bytes(arch: str, engine: str, tmp_path: Path) -> None:
    (tmp_path / "wide.cubin").write_bytes(assemble(PTX.replace("sm_100", arch), arch))
    kernel = banksim.load(tmp_path / "wide.cubin")["wide"]
    assert {"LDG.E.ENL2.256", "STG.E.ENL2.256"} <= {i.opcode for i in kernel.instructions}
    a, b = np.arange(256, dtype="i4").reshape(32, 8), np.zeros((32, 8), "i4")
    banksim.run(kernel, 1, 32, [a, b], engine=engine)
    np.testing.assert_array_equal(b, a[:, [7, 1, 2, 3, 4, 5, 6, 0]])
