"""Operands as nvdisasm prints them, one by one; instructions of many kernels against their encoding."""

import functools
import struct
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banksim.errors import InputError
from banksim.kernels import disassembly
from banksim.kernels.cubin import decode
from banksim.kernels.cubin import kernels as read_anew
from banksim.kernels.kernel import Instruction, Kernel, Operand
from helpers.known_sources import DIVISORS, listed, made


def imm(number: int, text: str) -> Operand:
    return Operand("imm", number, text=text)


R2 = Operand("R", 2, text="R2")
R2_WIDE = Operand("R", 2, modifiers=("64",), text="R2.64")
UR4 = Operand("UR", 4, text="UR4")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("R2", R2),
        ("R2.reuse", R2),
        ("RZ", Operand("R", 255, text="RZ")),
        ("URZ", Operand("UR", 255, text="URZ")),
        ("-RZ", Operand("R", 255, negative=True, text="-RZ")),
        ("~R10", Operand("R", 10, inverted=True, text="~R10")),
        ("|R2|", Operand("R", 2, absolute=True, text="|R2|")),
        ("|R2|.reuse", Operand("R", 2, absolute=True, text="|R2|")),
        ("-|R2|", Operand("R", 2, negative=True, absolute=True, text="-|R2|")),
        ("-R3.H0_H0", Operand("R", 3, negative=True, modifiers=("H0_H0",), text="-R3.H0_H0")),
        ("|R3|.H1_H1", Operand("R", 3, absolute=True, modifiers=("H1_H1",), text="|R3|.H1_H1")),
        ("R2.64", R2_WIDE),
        ("R4.X4", Operand("R", 4, modifiers=("X4",), text="R4.X4")),
        ("P0", Operand("P", 0, text="P0")),
        ("PT", Operand("P", 7, text="PT")),
        ("!PT", Operand("P", 7, inverted=True, text="!PT")),
        ("!UP3", Operand("UP", 3, inverted=True, text="!UP3")),
        ("UPT", Operand("UP", 7, text="UPT")),
        ("B0", Operand("B", 0, text="B0")),
        ("SB5", Operand("SB", 5, text="SB5")),
        ("SR_TID.X", Operand("special", text="SR_TID.X")),
        ("SRZ", Operand("special", text="SRZ")),
        ("PR", Operand("special", text="PR")),
        ("UPR", Operand("special", text="UPR")),
        ("0x10", imm(16, "0x10")),
        ("-0x2", imm(0xFFFFFFFE, "-0x2")),
        ("1", Operand("float", 0x3F800000, text="1")),
        ("-1.5", Operand("float", 0xBFC00000, text="-1.5")),
        ("1.1754943508222875080e-38", Operand("float", 0x00800000, text="1.1754943508222875080e-38")),
        ("+INF", Operand("float", 0x7F800000, text="+INF")),
        ("-INF", Operand("float", 0xFF800000, text="-INF")),
        ("1e300", Operand("float", 0x7F800000, text="1e300")),
        ("+QNAN", Operand("float", 0x7FFFFFFF, text="nan")),
        ("-QNAN", Operand("float", 0xFFFFFFFF, text="-nan")),
        ("c[0x0][0x210]", Operand("const", 0, parts=(imm(0x210, "0x210"),), text="c[0x0][0x210]")),
        ("-c[0x3][0x8]", Operand("const", 3, True, parts=(imm(8, "0x8"),), text="-c[0x3][0x8]")),
        ("|c[0x0][0x8]|", Operand("const", 0, absolute=True, parts=(imm(8, "0x8"),), text="|c[0x0][0x8]|")),
        ("c[0x2][R2+-0x8000]", Operand("const", 2, parts=(R2, imm(0xFFFF8000, "-0x8000")), text="c[0x2][R2+-0x8000]")),
        ("[R2]", Operand("memory", parts=(R2,), text="[R2]")),
        ("[UR4+0x10]", Operand("memory", parts=(UR4, imm(16, "0x10")), text="[UR4+0x10]")),
        (
            "desc[UR4][R2.64+0x10]",
            Operand("memory", modifiers=("desc",), parts=(R2_WIDE, imm(16, "0x10")), text="desc[UR4][R2.64+0x10]"),
        ),
        (
            "[R2.X8+UR4+-0x4]",
            Operand(
                "memory",
                parts=(Operand("R", 2, modifiers=("X8",), text="R2.X8"), UR4, imm(0xFFFFFFFC, "-0x4")),
                text="[R2.X8+UR4+-0x4]",
            ),
        ),
        ("{1,0}", Operand("other", text="{1,0}")),
        ("2D", Operand("other", text="2D")),
        ("gdesc[UR4]", Operand("gdesc", 4, text="gdesc[UR4]")),
    ],
)
def test_operand(text: str, expected: Operand) -> None:
    assert disassembly.operand(text) == expected


def test_operands_are_cut_outside_brackets_and_braces() -> None:
    found = disassembly.split("R1 c[0x0][R2,R3],{1,0}, 32@lo((k + 0x10))")
    assert found == ["R1", "c[0x0][R2,R3]", "{1,0}", "32@lo((k + 0x10))"]
    assert disassembly.split("") == []


PRINTED = """\
\t.target\tsm_90
\t.section\t.text._Z1kPi,"ax",@progbits
_Z1kPi:
.text._Z1kPi:
        /*0000*/                   P2R R0, PR, RZ, 0x7f ;
        /*0010*/              @!P0 BRA `(.L_x_1) ;
.L_x_0:
        /*0020*/                   CALL.REL.NOINC `(_Z1fi) ;
        /*0030*/               @P0 MUFU.RSQ R3, -QNAN  ;
        /*0040*/              @UP1 BRA `(.L_x_0);
.L_x_1:
        /*0050*/                   NOP;
.L_x_2:

\t.section\t.text._Z1fi,"ax",@progbits
        /*0000*/                   RET.REL.NODEC R20 `(_Z1kPi) ;
        /*0010*/                   MOV R20, 32@lo((_Z1fi + .L_x_2@srel)) ;
"""


def test_what_is_printed_is_read_line_by_line() -> None:
    listed = disassembly.listing(PRINTED.encode())
    assert {name: [tuple(one) for one in code] for name, code in listed.items()} == {
        "_Z1kPi": [
            ("", "P2R", "R0, PR, RZ, 0x7f"),
            ("@!P0", "BRA", "0x50"),
            ("", "CALL.REL.NOINC", "_Z1fi"),
            ("@P0", "MUFU.RSQ", "R3, -QNAN"),
            ("@UP1", "BRA", "0x20"),
            ("", "NOP", ""),
        ],
        "_Z1fi": [("", "RET.REL.NODEC", "R20 _Z1kPi"), ("", "MOV", "R20, 32@lo((_Z1kPi + 0x60))")],
    }


def test_code_that_is_not_listed_whole_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cubin = made("divisions", "sm_75")
    text = disassembly.printed(cubin)
    monkeypatch.setattr(disassembly, "kept_as", lambda elf: None)
    monkeypatch.setattr(disassembly, "printed", lambda data: text.replace(b"/*0010*/", b"{*0010*/"))
    with pytest.raises(InputError, match="a damaged cubin"):
        read_anew(cubin)


@given(st.floats(width=32, allow_nan=False))
def test_a_float_printed_with_twenty_digits_keeps_its_bits(value: float) -> None:
    text = f"{'-' if value < 0 else '+'}INF" if np.isinf(value) else f"{value:.20g}"
    found = disassembly.operand(text)
    assert (found.kind, found.number) == ("float", struct.unpack("<I", struct.pack("<f", value))[0])
    assert float(found.text) == value


def place(symbol: str, offset: int, _: bool) -> Operand | None:
    """A section that lies at 0x400 and calls itself `f`; a variable beyond 32 bits."""
    if symbol in ("", "f"):
        return Operand("code", 0x400 + offset)
    return Operand("imm", 0x7F0000000000 + offset) if symbol == "variable" else None


@pytest.mark.parametrize(
    ("opcode", "texts", "kind", "number"),
    [
        ("BRA", ["0x30"], "code", 0x430),
        ("BRA", ["!P1", "0x30"], "code", 0x430),
        ("BRA.DIV", ["UR4", "0x30"], "code", 0x430),
        ("BSSY", ["B0", "0x30"], "code", 0x430),
        ("CALL.REL.NOINC", ["f"], "code", 0x400),
        ("CALL.ABS.NOINC", ["f"], "code", 0x400),
        ("CALL.REL.NOINC", ["R2", "f"], "imm", 0x400),
        ("CALL.ABS.NOINC", ["R2"], "R", 2),
        ("RET.REL.NODEC", ["R20", "f"], "imm", 0x400),
        ("RET.ABS.NODEC", ["R20", "0x0"], "imm", 0),
        ("BRX", ["R2", "-0x160"], "imm", 0xFFFFFEA0),
        ("WARPSYNC.COLLECTIVE", ["R1", "0x30"], "code", 0x430),
        ("WARPSYNC", ["0xff"], "imm", 0xFF),
        ("MOV", ["R1", "32@lo((f + 0x10))"], "imm", 0x410),
        ("MOV", ["R1", "32@lo(variable)"], "imm", 0),
        ("MOV", ["R1", "32@hi((variable + 0x8))"], "imm", 0x7F00),
        ("MOV", ["R1", "32@lo(nobody)"], "other", 0),
        ("IADD3", ["R1", "R2", "0x30"], "imm", 0x30),
    ],
)
def test_places_in_the_code_and_symbols_are_settled(opcode: str, texts: list[str], kind: str, number: int) -> None:
    name, *modifiers = opcode.split(".")
    last = disassembly.operands(name, frozenset(modifiers), texts, place)[-1]
    assert (last.kind, last.number) == (kind, number)


# ---- whole kernels
@functools.cache
def kernels(source: str, arch: str) -> tuple[Kernel, ...]:
    listed(arch)
    return tuple(decode(made(source, arch)).values())


def instructions(source: str, arch: str) -> Iterator[Instruction]:
    for kernel in kernels(source, arch):
        yield from kernel.instructions


FORMS = [("forms.cu", "sm_90"), ("forms.cu", "sm_120"), ("calls.cu", "sm_75"), ("calls.cu", "sm_90")]


@pytest.mark.parametrize(("source", "arch"), FORMS)
def test_every_operand_is_understood(source: str, arch: str) -> None:
    unknown = {
        (i.name, operand.text)
        for i in instructions(source, arch)
        for operand in (*i.operands, *(part for operand in i.operands for part in operand.parts))
        if operand.kind == "other"
    }
    assert unknown <= {("TEX", "2D")}, "only textures have operands that nothing executes"


@pytest.mark.parametrize(("source", "arch"), FORMS)
def test_guards_agree_with_the_encoding(source: str, arch: str) -> None:
    for i in instructions(source, arch):
        bits = i.encoding >> 12 & 15
        guard = i.predicate.number | i.predicate.inverted << 3 if i.predicate else 7
        assert guard == bits, i.text


@pytest.mark.parametrize(("source", "arch"), FORMS)
def test_registers_and_immediates_agree_with_the_encoding(source: str, arch: str) -> None:
    arithmetic = {"FADD", "FMUL", "FFMA", "IADD3", "IMAD", "LOP3", "SHF", "DADD", "DMUL", "DFMA"}
    compared = 0
    for i in instructions(source, arch):
        if i.name not in arithmetic:
            continue
        target = next(operand for operand in i.operands if operand.kind == "R")
        assert target.number == i.encoding >> 16 & 255, i.text
        for operand in i.operands:
            if operand.kind == "float" and i.name[0] == "F":
                assert operand.number == i.encoding >> 32 & 0xFFFFFFFF, i.text
                compared += 1
            if operand.kind == "imm" and operand.number > 255:  # small ones may be shifts and truth tables
                assert operand.number == i.encoding >> 32 & 0xFFFFFFFF, i.text
                compared += 1
    assert compared > 10


def test_nans_keep_the_bits_that_nvdisasm_does_not_print() -> None:
    code = instructions("forms.cu", "sm_90")
    found = {operand.number for i in code for operand in i.operands if operand.text.endswith("nan")}
    assert {0x7FF80000, 0xFFF80000, 0xFFC00000} <= found


@pytest.mark.parametrize("name", DIVISORS)
def test_the_upper_word_of_a_double_is_taken_as_such(name: str) -> None:
    """A division by a constant begins with MUFU.RCP64H of its upper word, which nvdisasm prints as a double."""
    (kernel,) = (kernel for kernel in kernels("divisions", "sm_90") if kernel.name == name)
    words = {i.operands[1].number for i in kernel.instructions if i.opcode == "MUFU.RCP64H"}
    assert int.from_bytes(struct.pack("<d", DIVISORS[name])[4:], "little") in words


def test_p2r_and_r2p_have_their_predicates() -> None:
    operands = {i.name: i.operands for i in instructions("forms.cu", "sm_90")}
    for name, at in (("P2R", 1), ("R2P", 0)):
        if name in operands:
            assert operands[name][at] == Operand("special", text="PR")
    assert "P2R" in operands
