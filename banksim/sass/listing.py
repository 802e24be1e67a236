"""What nvdisasm prints, read: each instruction with every operand understood.

nvdisasm writes bare decimals for floats and hexadecimal for integers; `R3.reuse` is a hint to the register cache and
is dropped; addresses of code are bytes from the start of their section.
"""

from __future__ import annotations

import functools
import json
import re
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from banksim.compilers import tools
from banksim.sass.program import ZERO_REGISTER, Operand

CODE = frozenset({"BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "CALL", "RET", "BSSY", "LEPC", "WARPSYNC"})
"""Instructions whose last operand, where it is a number or a name, is a place in the code."""
REGISTER = re.compile(r"(UR|UP|R|P|B|SB)(\d+|Z|T)((?:\.\w+)*)")
FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|INF|[QS]?NAN)", re.IGNORECASE)
RELOCATED = re.compile(r"(?:\d+@)?(?:(lo|hi)\()?\(?([^\s()]+?)(?:@\w+)?(?: \+ (-?0x[0-9a-f]+))?\)*")


def disassemble(cubin: bytes) -> list[dict[str, Any]]:
    """nvdisasm's JSON for every code section of a cubin: function-name, sass-instructions …"""
    with tempfile.TemporaryDirectory(prefix="banksim-") as folder:
        (Path(folder) / "kernel.cubin").write_bytes(cubin)
        printed = tools.run("nvdisasm", ["-json", "kernel.cubin"], cwd=Path(folder), what="the cubin")
    functions: list[dict[str, Any]] = json.loads(printed)[1]
    return functions


def split(operands: str) -> list[str]:
    """The operands of an instruction: cut at commas outside brackets and braces."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(operands):
        if letter in "[({":
            depth += 1
        elif letter in "])}":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(operands[start:at].strip())
            start = at + 1
    parts.append(operands[start:].strip())
    return [part for part in parts if part]


def guard(predicate: str) -> tuple[str, list[str]]:
    """The guard of an instruction, and what else nvdisasm puts into its field: P2R's operand PR, which is its second."""
    words = predicate.split()
    return next((word for word in words if word.startswith("@")), ""), [word for word in words if word[0] != "@"]


@functools.cache
def operand(text: str) -> Operand:
    """One operand, as nvdisasm writes it, relocations aside."""
    text = text.replace(".reuse", "")
    negative = inverted = absolute = False
    body = text
    while body and body[0] in "-~!":
        if body[0] == "-" and FLOAT.fullmatch(body):
            break
        negative, inverted = negative or body[0] == "-", inverted or body[0] in "~!"
        body = body[1:]
    if body.startswith("|"):
        absolute = True
        inner, _, after = body[1:].partition("|")
        body = inner + after
    build = functools.partial(
        Operand, negative=negative, inverted=inverted, absolute=absolute, text=text
    )
    if match := REGISTER.fullmatch(body):
        kind, number, marks = match.groups()
        modifiers = tuple(marks.split(".")[1:])
        return build(kind, ZERO_REGISTER[kind] if number in "ZT" else int(number), modifiers=modifiers)
    if body.startswith("0x"):
        value = int(body, 16)
        return Operand("imm", (-value if negative else value) & (0xFFFFFFFF if value < 1 << 32 else -1), text=text)
    if FLOAT.fullmatch(body):
        return Operand("float", float_bits(body), text=text)
    if body.startswith("SR") or body in ("PR", "UPR"):
        return Operand("special", text=body)
    if match := re.fullmatch(r"c\[0x([0-9a-f]+)\]\[([^\[\]]*)\]((?:\.\w+)*)", body):
        bank, terms, marks = match.groups()
        return build("const", int(bank, 16), modifiers=tuple(marks.split(".")[1:]), parts=address(terms))
    if match := re.fullmatch(r"(?:(g?desc)\[(\w+)\])?\[([^\[\]]*)\]((?:\.\w+)*)", body):
        descriptor, _, terms, marks = match.groups()
        modifiers = ((descriptor,) if descriptor else ()) + tuple(marks.split(".")[1:])
        return build("memory", modifiers=modifiers, parts=address(terms))
    return Operand("other", text=text)


def address(terms: str) -> tuple[Operand, ...]:
    """The terms of a memory or constant address: registers with their scale or width, offsets."""
    return tuple(operand(term) for term in re.split(r"\+(?=[^+])", terms) if term)


def float_bits(text: str) -> int:
    """The float32 that a printed number stands for, as bits; beyond its range an infinity."""
    name = text.lstrip("+-").upper()
    if name.endswith("NAN"):
        return 0xFFFFFFFF if text.startswith("-") else 0x7FFFFFFF
    value = float(text)
    try:
        return int.from_bytes(struct.pack("<f", value), "little")
    except OverflowError:
        return 0xFF800000 if value < 0 else 0x7F800000


def operands(
    name: str, texts: list[str], pc: int, place: Callable[[str, int], Operand | None]
) -> tuple[Operand, ...]:
    """The operands of an instruction `name` at byte `pc` of its section.

    `place(symbol, offset)` gives the operand for a symbol that the linker would put there: a place in the code, or
    the address of a variable.
    """
    result = []
    for at, text in enumerate(texts):
        value = operand(text)
        if name in CODE and at == len(texts) - 1 and value.kind == "imm":
            number = value.number
            if name in ("BRX", "BRXU"):  # relative to the next instruction; JMX is absolute
                number = (number + pc + 16) & 0xFFFFFFFF
            value = place("", number) or value
        elif value.kind == "other":
            value = relocated(text, place) or value
        result.append(value)
    return tuple(result)


def relocated(text: str, place: Callable[[str, int], Operand | None]) -> Operand | None:
    """The operand of `symbol`, `32@lo((symbol + 0x10))`, `32@hi(symbol)` and the like."""
    match = RELOCATED.fullmatch(text)
    if match is None:
        return None
    half, symbol, offset = match.groups()
    target = place(symbol, int(offset or "0", 16))
    if target is None:
        return None
    if half is None:
        return target
    number = target.number >> 32 if half == "hi" else target.number & 0xFFFFFFFF
    return Operand("imm", number, text=text)
