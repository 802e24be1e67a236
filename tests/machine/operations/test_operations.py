"""Operations one by one, on instructions written by hand, against plain Python integers."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from banksim.errors import UnsupportedError
from banksim.machine.operations import request
from banksim.machine.operations.logic import logic
from banksim.machine.operations.table import operation, refuse_marks
from banksim.machine.supported import check
from helpers.assembler import instruction, run
from helpers.operations import ENGINES, WORD, compare, signed, with_predicate, words

# ---- the table itself


def test_a_name_stands_once() -> None:
    with pytest.raises(ValueError, match="twice"):
        operation("IADD3")(lambda x, i: None)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("IADD3.WIDE R1, R2, R3, R4", ".WIDE"),
        ("FROB R1, R2", "FROB"),
        ("LDS.U.256 R1, [R2]", ".256"),
        ("LDGMC.E R4, [R2]", "the memory of several GPUs .* is not simulated"),
        ("TMML.NODEP R0, R2, UR4, 2D", "the use of levels of textures is not simulated"),
        ("SUATOM.D.BA.2D.ADD R0, R2, R4, UR6, 0x0", "the use of surfaces is not simulated"),
        (
            "QGMMA.SP.64x64x64.F32.E4M3.E4M3 R24, gdesc[UR4], R24, R28, 0x0, gsb0",
            "a sparse matrix product is not simulated",
        ),
        ("HGMMA.SP.64x8x32.F32 R24, gdesc[UR8], R24, R28, 0x0, gsb0", "a sparse matrix product is not simulated"),
        ("UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11], UPT", r"tcgen05. is not simulated"),
    ],
)
def test_what_is_not_known_is_named(text: str, named: str) -> None:
    from helpers.assembler import kernel

    with pytest.raises(UnsupportedError, match=named):
        check(kernel([text, "EXIT"]))


def test_marks_on_operands_are_refused_unless_known() -> None:
    refuse_marks(instruction("LDG.E R1, desc[UR4][R2.64+0x10]"), frozenset())
    refuse_marks(instruction("HADD2 R0, R1.H0_H0, R2.H1_H1"), frozenset({"H0_H0", "H1_H1"}))
    with pytest.raises(UnsupportedError, match=r"\.H1_H1 of IADD3"):
        refuse_marks(instruction("IADD3 R0, R1.H1_H1, R2, RZ"), frozenset())
    with pytest.raises(UnsupportedError, match=r"\.X32 of LDS"):
        refuse_marks(instruction("LDS R0, [R1.X32]"), frozenset())


@ENGINES
@pytest.mark.parametrize("text", ["IADD3 R20, R8.H1, R9, RZ", "IMAD R20, P0, R8, R9, R10", "S2R R20, SR_VIRTID"])
def test_an_engine_refuses_what_the_table_does(text: str, engine: str) -> None:
    with pytest.raises(UnsupportedError, match="SASS 0x"):
        run([text], words(), engine)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("LDS.U.128 R4, [R2+0x10]", ("ld", 16)),
        ("LDS.U8 R4, [R2]", ("ld", 1)),
        ("STS.64 [R2], R4", ("st", 8)),
        ("ATOMS.ADD R4, [R2], R5", ("atom", 4)),
        ("ATOMS.ADD RZ, [R2], R5", ("red", 4)),
        ("ATOMS.POPC.INC.32 RZ, [R2+UR4]", ("popc_inc", 4)),
        ("ATOMS.EXCH.64 R4, [R2], R6", ("exch", 8)),
        ("ATOMS.CAS R4, [R2], R6, R7", ("cas", 4)),
        ("LDG.E R4, [R2.64]", None),
        ("LDL R4, [R2]", None),
        ("LD.E.64 R4, [R2.64]", ("ld", 8)),
        ("IADD3 R4, R2, R3, RZ", None),
    ],
)
def test_requests_to_shared_memory(text: str, asked: tuple[str, int] | None) -> None:
    assert request(instruction(text)) == asked


# ---- logic


def test_every_logic_function_of_three() -> None:
    a, b, c = np.uint32(0b11110000), np.uint32(0b11001100), np.uint32(0b10101010)
    for table in range(256):
        assert int(logic(table, [a, b, c])) & 0xFF == table


def test_every_logic_function_of_three_predicates() -> None:
    for table, *values in itertools.product(range(256), *[(False, True)] * 3):
        row = values[0] << 2 | values[1] << 1 | values[2]
        assert bool(logic(table, [np.bool_(v) for v in values])) == bool(table >> row & 1)


@ENGINES
def test_lop3_and_its_predicate(engine: str) -> None:
    lines = [f"LOP3.LUT {p}, R20, R9, R10, R11, {t:#x}, {q}" for p, t, q in
             (("P1", 0xC0, "!PT"), ("P2", 0x96, "P0"), ("P3", 0x80, "!P4"))]  # fmt: skip
    lines.append("LOP3.LUT.PAND P5, R20, R9, 0xff, RZ, 0xc0, P6")

    def expected(n: int, r: list[int], p: list[bool]) -> tuple[int, None, int]:
        v = [r[1] & r[2], r[1] ^ r[2] ^ r[3], r[1] & r[2] & r[3], r[1] & 0xFF][n]
        flag = [v != 0, v != 0 or p[0], v != 0 or not p[4], v != 0 and p[6]][n]
        return v, None, with_predicate(r, (1, 2, 3, 5)[n], flag)

    compare(lines, expected, engine)


@ENGINES
def test_plop3_reads_signs(engine: str) -> None:
    lines = ["PLOP3.LUT P1, P2, R9.SIGN, R10.SIGN, P3, 0x80, 0xfe"]

    def expected(n: int, r: list[int], p: list[bool]) -> tuple[None, None, int]:
        values = (r[1] >> 31 & 1, r[2] >> 31 & 1, p[3])
        bits = with_predicate(r, 1, all(values))
        return None, None, bits & ~4 | any(values) << 2

    compare(lines, expected, engine)


@ENGINES
def test_predicates_and_registers(engine: str) -> None:
    """P2R and R2P by bytes."""
    lines = ["P2R R20, PR, R9, 0x7f", "P2R.B1 R20, PR, R9, 0x15", "P2R.B3 R20, PR, RZ, 0x7f"]
    lines += ["R2P PR, R9, 0x7f", "R2P PR, R9.B1, 0x3"]
    lines[-1] = "R2P.B1 PR, R9, 0x3"

    def expected(n: int, r: list[int], p: list[bool]) -> tuple[int | None, None, int]:
        bits = r[0] & 0x7F
        if n < 3:
            mask, shift, base = ((0x7F, 0, r[1]), (0x15, 8, r[1]), (0x7F, 24, 0))[n]
            return base & ~(mask << shift) | (bits & mask) << shift, None, bits
        if n == 3:
            return None, None, r[1] & 0x7F
        return None, None, bits & ~3 | r[1] >> 8 & 3

    compare(lines, expected, engine)


# ---- sums with carries

SOURCES = ("R9", "R10", "R11", "-R9", "-R10", "~R11", "RZ", "-RZ", "0x5", "-0x1", "c[0x0][0x0]", "UR9")


def source(text: str, r: list[int], uniform: list[int]) -> tuple[int, int]:
    """(the 32 bits of a source with −a taken for ~a, whether 1 is to be added)."""
    body = text.lstrip("-~")
    v = {"RZ": 0, "c[0x0][0x0]": 32}.get(body)
    if v is None:
        v = int(body, 16) if body[0] == "0" else uniform[int(body[2:]) - 8] if body[0] == "U" else r[int(body[1:]) - 8]
    if text[0] == "-" and body[0] == "0":
        return -v % WORD, 0
    return (v ^ 0xFFFFFFFF if text[0] in "-~" else v), int(text[0] == "-")


@ENGINES
@settings(max_examples=6, phases=[Phase.generate])
@given(
    st.lists(
        st.tuples(st.sampled_from(["IADD3", "IADD3.X"]), st.sampled_from(["", "P1, ", "P1, P2, "]),
                  *[st.sampled_from(SOURCES)] * 3, st.sampled_from([None, ("P3", "!PT"), ("!P4", "P5")])),
        min_size=40, max_size=40,
    )
)  # fmt: skip
def test_sums_with_carries(engine: str, forms: list[Any]) -> None:
    """IADD3: the sum of three operands and of the carries in, with as many carries out as are asked for."""
    lines = []
    for opcode, out, a, b, c, carries in forms:
        incoming = "" if carries is None else ", " + ", ".join(carries)
        lines.append(f"{opcode} R20, {out}{a}, {b}, {c}{incoming}")
    uniform = [int(v) for v in words()[:4, 0]]

    def expected(n: int, r: list[int], p: list[bool]) -> tuple[int, None, int]:
        _, out, *sources, carries = forms[n]
        total = sum(sum(source(s, r, uniform)) for s in sources)
        for name in carries or ():
            flag = name.lstrip("!")
            total += (p[7] if flag == "PT" else p[int(flag[1])]) != name.startswith("!")
        bits = r[0] & 0x7F
        for k in range(out.count("P")):
            bits = bits & ~(2 << k) | (total >> 32 > k) << (k + 1)
        return total, None, bits

    compare(lines, expected, engine)


@ENGINES
def test_products_of_64_bits(engine: str) -> None:
    lines = ["IMAD.WIDE.U32 R20, P1, R9, R10, R12", "IMAD.WIDE R20, R9, R10, R12"]
    lines += ["IMAD.WIDE.U32.X R20, P1, R9, R10, R12, P2", "IMAD.HI.U32 R20, R9, R10, R12", "IMAD.HI R20, R9, R10, RZ"]
    lines += ["IMAD.WIDE.U32 R20, P1, R9, R10, -R12"]
    lines += ["IMAD.X R20, R9, R10, ~R11, P3", "IMAD.WIDE.U32.X R20, R9, R10, ~RZ, P2", "IMAD R20, R9, -0x3, R11"]

    def expected(n: int, r: list[int], p: list[bool]) -> tuple[int, int | None, int]:
        unsigned = r[1] * r[2]
        both = signed(r[1]) * signed(r[2])
        c = r[5] << 32 | r[4]
        bits = r[0] & 0x7F
        if n in (0, 2, 5):
            total = unsigned + (c if n != 5 else (1 << 64) - c) + (n == 2 and p[2])
            carry = total >> 64 > 0 if c or n != 5 else True
            return total, total >> 32, with_predicate(r, 1, carry)
        if n in (1, 7):
            total = both + c if n == 1 else unsigned + (1 << 64) - 1 + p[2]
            return total, total >> 32, bits
        if n in (3, 4):
            return (unsigned + c if n == 3 else both) >> 32, None, bits
        if n == 6:
            return unsigned + (r[3] ^ 0xFFFFFFFF) + p[3], None, bits
        return r[1] * -3 + r[3], None, bits

    compare(lines, expected, engine)


@ENGINES
def test_lea(engine: str) -> None:
    """With −a the carry says that nothing was borrowed, for a = 0 too: compilers make differences of 64 bits of it."""
    lines = [f"LEA R20, P1, R9, R10, {s:#x}" for s in (0, 3, 31)] + ["LEA R20, P1, R9, -R10, 0x4"]
    lines += [f"LEA R20, P1, -R9, R10, {s:#x}" for s in (0, 30)] + ["LEA R20, P1, -RZ, R10, 0x3"]
    lines += [f"LEA.HI R20, R9, R10, R11, {s:#x}" for s in (0, 1, 20, 31)]
    lines += ["LEA.HI.X R20, R9, R10, R11, 0x3, P2", "LEA.HI.X.SX32 R20, R9, R10, 0x2, P2"]
    lines += ["LEA.HI.SX32 R20, R9, R10, 0x1f"]

    def expected(n: int, r: list[int], p: list[bool]) -> tuple[int, None, int]:
        if n < 4:
            low = r[1] << (0, 3, 31, 4)[n] & 0xFFFFFFFF
            total = low + (r[2] if n < 3 else WORD - r[2])
            return total, None, with_predicate(r, 1, bool(total >> 32))
        if n < 7:
            low = (r[1], r[1] << 30, 0)[n - 4] & 0xFFFFFFFF
            return r[2] - low, None, with_predicate(r, 1, r[2] >= low)
        s = (0, 1, 20, 31, 3, 2, 31)[n - 7]
        pair = signed(r[1]) if n > 11 else r[3] << 32 | r[1]
        return (pair << s >> 32) + r[2] + (n in (11, 12) and p[2]), None, r[0] & 0x7F

    compare(lines, expected, engine)


# ---- shifts


SHIFTS = ["L.U32", "L.U32.HI", "L.W.U32.HI", "L.U64.HI", "R.U32", "R.W.U32", "R.U32.HI", "R.S32.HI", "R.U64", "R.S64"]
SHIFTS += ["L.W.U32", "R.S32", "R.W.U32.HI"]


@ENGINES
@pytest.mark.parametrize("amount", ["R10", 0, 1, 7, 31, 32, 33, 45, 63, 64, 200])
def test_funnel_shifts(amount: str | int, engine: str) -> None:
    """One word of the shifted pair c:a. The count is clamped at the width of the type, or wraps around with W."""
    written = amount if isinstance(amount, str) else hex(amount)
    lines = [f"SHF.{form} R20, R9, {written}, R11" for form in SHIFTS]

    def expected(n: int, r: list[int], p: list[bool]) -> tuple[int, None, None]:
        marks = SHIFTS[n].split(".")
        width = 64 if "64" in SHIFTS[n] else 32
        count = r[2] if amount == "R10" else int(amount)
        count = count % width if "W" in marks else min(count, width)
        pair = r[3] << 32 | r[1]
        pair = signed(pair, 64) if marks[-1 - ("HI" in marks)][0] == "S" else pair
        moved = pair << count if marks[0] == "L" else pair >> count
        return moved >> 32 if "HI" in marks else moved, None, None

    compare(lines, expected, engine)


@ENGINES
def test_masks_and_fields(engine: str) -> None:
    lines = ["BMSK R20, R9, R10", "BMSK.W R20, R9, R10", "SGXT R20, R9, R10", "SGXT.U32 R20, R9, R10"]
    lines += ["SGXT.W R20, R9, R10", "SGXT R20, R9, 0x5", "SGXT.U32 R20, R9, 0x14", "BREV R20, R9", "POPC R20, R9"]
    lines += ["FLO.U32 R20, R9", "FLO R20, R9", "FLO.U32.SH R20, R9", "IABS R20, R9", "PRMT R20, R9, R10, R11"]

    def expected(n: int, r: list[int], p: list[bool]) -> tuple[int, None, None]:
        a, b = r[1], r[2]

        def extended(bits: int, sign: bool) -> int:
            if bits >= 32:
                return a
            low = a & (1 << bits) - 1
            return low - (1 << bits) if sign and bits and low >> (bits - 1) else low

        def mask(position: int, count: int) -> int:
            return 0 if position >= 32 else (1 << min(count, 32)) - 1 << position

        def byte(nibble: int) -> int:
            v = (r[3] << 32 | a) >> 8 * (nibble & 7) & 0xFF
            return (0xFF if v >> 7 else 0) if nibble & 8 else v

        differing = a ^ (0xFFFFFFFF if a >> 31 else 0)
        results = [
            mask(a, b), mask(a & 31, b & 31), extended(b, True), extended(b, False), extended(b & 31, True),
            extended(5, True), extended(20, False), int(f"{a:032b}"[::-1], 2), a.bit_count(), a.bit_length() - 1,
            differing.bit_length() - 1, 32 - a.bit_length() if a else -1, abs(signed(a)),
            sum(byte(b >> 4 * k & 15) << 8 * k for k in range(4)),
        ]  # fmt: skip
        return results[n], None, None

    compare(lines, expected, engine)


# ---- comparisons


@ENGINES
def test_comparisons_of_64_bits(engine: str) -> None:
    """ISETP.EX: the upper words, where P2 says how the lower ones compare."""
    names = {"LT": int.__lt__, "LE": int.__le__, "GT": int.__gt__, "GE": int.__ge__, "EQ": int.__eq__, "NE": int.__ne__}
    forms = [(name, u, how) for name in names for u in ("", ".U32") for how in ("AND", "OR", "XOR")]
    lines = [f"ISETP.{name}{u}.{how}.EX P0, P1, R9, R10, !P3, P2" for name, u, how in forms]

    def expected(n: int, r: list[int], p: list[bool]) -> tuple[None, None, int]:
        name, u, how = forms[n]
        a, b = (r[1], r[2]) if u else (signed(r[1]), signed(r[2]))
        holds = names[name](2 * a, 2 * b)
        if a == b:
            holds = p[2]  # what the lower words say, for EQ and NE too
        elif name in ("LE", "GE"):
            holds = names[name[0] + "T"](a, b)
        q = not p[3]
        results = [{"AND": v and q, "OR": v or q, "XOR": v != q}[how] for v in (holds, not holds)]
        return None, None, r[0] & 0x7C | results[0] | results[1] << 1

    compare(lines, expected, engine)


@ENGINES
def test_extrema(engine: str) -> None:
    lines = ["VIMNMX R20, R9, R10, P0", "VIMNMX.U32 R20, R9, R10, !PT", "VIMNMX3 R20, R9, R10, R11, PT"]
    lines += ["VIADDMNMX R20, R9, R10, R11, !PT", "VIMNMX.RELU R20, R9, R10, PT"]
    lines += ["VIMNMX.S16x2 R20, P1, P2, R9, R10, PT"]
    lines += ["VIADDMNMX.U16x2 R20, R9, -R10, R11, !PT", "VIADD.16x2 R20, R9, -R10"]
    lines += ["VIADD.16x2 R20, R9, R10"]

    def halves(v: int, sign: bool) -> list[int]:
        return [signed(v >> at & 0xFFFF, 16) if sign else v >> at & 0xFFFF for at in (0, 16)]

    def joined(low: int, high: int) -> int:
        return (high & 0xFFFF) << 16 | low & 0xFFFF

    def expected(n: int, r: list[int], p: list[bool]) -> tuple[int, None, int]:
        a, b, c = r[1:4]
        s, t, u = (signed(v) for v in (a, b, c))
        bits = r[0] & 0x7F
        if n == 5:
            pairs = list(zip(halves(a, True), halves(b, True), strict=True))
            flags = [v <= w for v, w in pairs]
            return joined(*(min(pair) for pair in pairs)), None, bits & ~6 | flags[0] << 1 | flags[1] << 2
        differences = [(v - w) & 0xFFFF for v, w in zip(halves(a, False), halves(b, False), strict=True)]
        sums = [v + w for v, w in zip(halves(a, False), halves(b, False), strict=True)]
        results = [
            min(s, t) if p[0] else max(s, t), max(a, b), min(s, t, u), max(signed(s + t), u), max(min(s, t), 0), 0,
            joined(*(max(d, v) for d, v in zip(differences, halves(c, False), strict=True))), joined(*differences),
            joined(*sums),
        ]  # fmt: skip
        return results[n], None, bits

    compare(lines, expected, engine)


# ---- guards, uniform registers, the warp


@ENGINES
def test_lanes_whose_guard_fails_keep_their_registers(engine: str) -> None:
    lines = ["@P1 IADD3 R20, P2, R9, R10, RZ", "@!P1 MOV R20, R9", "@!PT MOV R20, R9"]

    def expected(n: int, r: list[int], p: list[bool]) -> tuple[int, None, int]:
        if n == 0 and p[1]:
            return r[1] + r[2], None, with_predicate(r, 2, r[1] + r[2] >= WORD)
        return r[1] if n == 1 and not p[1] else 0x11111111, None, r[0] & 0x7F

    compare(lines, expected, engine)


@ENGINES
def test_uniform_twins(engine: str) -> None:
    values = words(3)
    a, b, c = (int(v) for v in values[1:4, 0])
    lines = ["UIADD3 UR20, UR9, -UR10, UR11", "ULOP3.LUT UR20, UR9, UR10, UR11, 0x96, !UPT", "UMOV UR20, 0x7"]
    lines += ["UIMAD UR20, UR9, UR10, UR11", "USHF.R.S32.HI UR20, URZ, 0x5, UR9", "ULEA UR20, UR9, UR10, 0x2"]
    lines += ["USEL UR20, UR9, UR10, UP1", "UPRMT UR20, UR9, 0x5410, UR10", "UFLO.U32 UR20, UR9", "UPOPC UR20, UR9"]
    lines += ["R2UR UR20, R11", "@P2 R2UR UR20, R11", "S2UR UR20, SR_LANEID"]
    out = run(lines, values, engine)[:, 3]
    guarded = [lane for lane in range(32) if values[0, lane] >> 2 & 1]
    expected = [
        a - b + c, a ^ b ^ c, 7, a * b + c, signed(a) >> 5, (a << 2) + b, a if values[0, 0] >> 1 & 1 else b,
        (b & 0xFFFF) << 16 | a & 0xFFFF, a.bit_length() - 1, a.bit_count(), c, int(values[3, guarded[0]]), 0,
    ]  # fmt: skip
    for line, got, want in zip(lines, out, expected, strict=True):
        assert set(got.tolist()) == {want % WORD}, line


@ENGINES
def test_r2ur_tells_who_differs(engine: str) -> None:
    values = words(4)
    values[1] = [5, 5, 6, 5] * 8
    out = run(["R2UR P1, UR20, R9", "@P2 R2UR P1, UR20, R9"], values, engine)
    assert [int(v) >> 1 & 1 for v in out[0, 2]] == [0, 0, 1, 0] * 8
    guarded = [lane for lane in range(32) if values[0, lane] >> 2 & 1]
    for lane in guarded:
        assert int(out[1, 2, lane]) >> 1 & 1 == (values[1, lane] != values[1, guarded[0]])


@ENGINES
def test_votes_and_matches_count_executing_lanes(engine: str) -> None:
    values = words(5)
    values[1] %= 3
    lines = ["@P1 VOTE.ANY R20, PT, P2", "@P1 VOTE.ALL P3, P2", "@P1 MATCH.ANY R20, R9"]
    lines += ["@P1 MATCH.ALL P4, R20, R9", "@P1 REDUX.MIN.S32 UR20, R10", "@P1 REDUX UR20, R10"]
    lines += ["@P1 REDUX.SUM UR20, R10", "@P1 REDUX.MAX UR20, R10"]
    out = run(lines, values, engine)
    lanes = [lane for lane in range(32) if values[0, lane] >> 1 & 1]
    yes = sum(1 << lane for lane in lanes if values[0, lane] >> 2 & 1)
    every = sum(1 << lane for lane in lanes)
    held = [int(v) for v in values[2, lanes]]
    for lane in lanes:
        assert out[0, 0, lane] == yes
        assert int(out[1, 2, lane]) >> 3 & 1 == (yes == every)
        assert out[2, 0, lane] == sum(1 << other for other in lanes if values[1, other] == values[1, lane])
        assert out[3, 0, lane] == 0  # three values are in play
    conjunction = 0xFFFFFFFF
    for v in held:
        conjunction &= v
    assert int(out[4, 3, 0]) == min(map(signed, held)) % WORD
    assert int(out[5, 3, 0]) == conjunction
    assert int(out[6, 3, 0]) == sum(held) % WORD
    assert int(out[7, 3, 0]) == max(held)


@ENGINES
def test_shuffles_by_segments(engine: str) -> None:
    """PTX's definition of shfl, lane by lane."""
    values = words(6)
    clamps = (0x1F, 0x0, 0x181F, 0x1C03, 0x70B)
    forms = list(itertools.product(("IDX", "UP", "DOWN", "BFLY"), clamps))
    out = run([f"SHFL.{mode} P1, R20, R9, R10, {c:#x}" for mode, c in forms], values, engine)
    for n, (mode, c) in enumerate(forms):
        segment, clamp = c >> 8 & 31, c & 31
        for lane in range(32):
            step = int(values[2, lane]) & 31
            low = lane & segment
            last = low | clamp & ~segment
            j = {"IDX": low | step & ~segment & 31, "UP": lane - step, "DOWN": lane + step, "BFLY": lane ^ step}[mode]
            inside = j >= last if mode == "UP" else j <= last
            assert out[n, 0, lane] == values[1, j if inside else lane], (mode, hex(c), lane)
            assert bool(out[n, 2, lane] >> 1 & 1) == inside
