"""Reads the listing that nvdisasm prints: each instruction with its operands.

It is the text that is read: to print JSON, nvdisasm follows data through the code, which makes its start a third
longer. It writes bare decimals for floats and hexadecimal for integers. `.reuse`, a hint to the register cache, is
dropped. Addresses of code are bytes from the start of their section, or a symbol.
"""

import functools
import re
import struct
import tempfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from banksim.errors import CompileError, InputError
from banksim.kernels.compilers import tools
from banksim.kernels.control_opcodes import CONTROL
from banksim.kernels.elf import Elf
from banksim.kernels.kernel import BYTES, ZERO_REGISTER, Operand
from banksim.kernels.merged_code import MARK, merged
from banksim.system import cache
from banksim.system.writing import write

TO_CODE = frozenset({"LEPC", "JMX", "JMXU"} | {name for name, control in CONTROL.items() if control.names_code})
"""Instructions whose last operand, where it is a number or a symbol, is a place in the code."""
REGISTER = re.compile(r"(UR|UP|R|P|B|SB)(\d+|Z|T)((?:\.\w+)*)")
FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|INF|[QS]?NAN)", re.IGNORECASE)
CONSTANT = re.compile(r"c\[0x([0-9a-f]+)\]\[([^\[\]]*)\]((?:\.\w+)*)")
MEMORY = re.compile(r"(?:(desc)\[\w+\])?\[([^\[\]]*)\]((?:\.\w+)*)")
RELOCATED = re.compile(r"(?:32@)?(?:(lo|hi)\()?(?:fun@fdesc)?\(?([^\s()]+?)(?: \+ (-?0x[0-9a-f]+))?\)*")
DESCRIPTORS = re.compile(r"gdesc\[UR(\d+)\]((?:\.\w+)*)")
SPECIAL = re.compile(r"SR\w*(?:\.\w+)?|U?PR")

SECONDS = 30
"""Seconds of CPU time that nvdisasm may take, and as many more for each MiB of a cubin. It needs some 2 a MiB, but on
some damaged cubins it never ends."""

Place = Callable[[str, int, bool], Operand | None]
"""(symbol, offset, whether it names a function as such) → what a linker would put there; "" for a symbol: an offset of
the code section itself."""


class Listed(NamedTuple):
    """An instruction as nvdisasm has it; its guard begins with an @, or there is none."""

    guard: str
    opcode: str
    operands: str


Listing = dict[str, list[Listed]]
"""The instructions of every code section, by the function that the section is named after."""
LINE = re.compile(
    r"""^[ \t]*(?:\.section\s+"?\.text\.(?P<function>[^",\n]+)
    |(?P<label>\.L\w+):
    |/\*[0-9a-f]+\*/\s+(?:(?P<guard>@\S+)\s+)?(?P<opcode>[^\s;]+)\s*(?P<operands>[^;\n]*?)\s*;)""",
    re.MULTILINE | re.VERBOSE,
)
"""What a listing says: where the code of a function begins, that a place has a name, an instruction."""
SECTION = re.compile(rb'^(?=[ \t]*\.section\s+"?\.text\.[^",\n]*' + MARK.pattern + b")", re.MULTILINE)
"""Where the code of a function begins in the listing of a merged file, and the number of its cubin."""
NAMED = re.compile(r"`\(([^()]*)\)|[^\s()]+ \+ (\.L\w+)@srel")
"""How an operand names a place or a function; and a place in what a linker fills, behind the name of some function."""


def disassemble(elf: Elf) -> Listing:
    """The listing of a cubin, from the user's cache if one with the same code was listed, whatever its lines and data:
    nvdisasm takes half a second to start. `InputError` with its complaint about a cubin, in one line."""
    key = kept_as(elf)
    stored = cache.get(key) if key else None
    if stored is not None:
        return listing(zlib.decompress(stored))
    text = printed(elf.data)
    found = listing(text)
    if key:
        cache.put(key, zlib.compress(text, 1))
    return found


def kept_as(elf: Elf) -> str | None:
    """The name in the cache of the listing of a cubin's code; None for a damaged one, of which nvdisasm says more."""
    try:
        return cache.key("listed", tools.identity("nvdisasm"), merged([elf]))
    except (struct.error, LookupError, ValueError, OverflowError):
        return None


def list_ahead(cubins: Mapping[str, Elf]) -> None:
    """Put the listings of cubins that are `alike` into the user's cache, from one start of nvdisasm. They are given by
    their names there (`kept_as`)."""
    texts: list[list[bytes]] = [[] for _ in cubins]
    _, *parts = SECTION.split(printed(merged([*cubins.values()])))
    for number, text in zip(parts[::2], parts[1::2], strict=True):
        texts[int(number)].append(MARK.sub(b"", text))
    for (key, elf), listed in zip(cubins.items(), texts, strict=True):
        if len(listed) == sum(name.startswith(".text.") for name in elf.sections):
            cache.put(key, zlib.compress(b"".join(listed), 1))


def printed(cubin: bytes) -> bytes:
    with tempfile.TemporaryDirectory(prefix="banksim-") as folder:
        write(Path(folder) / "kernel.cubin", cubin, own=True)
        seconds = SECONDS * (1 + (len(cubin) >> 20))
        try:
            return tools.run("nvdisasm", ["-c", "-ndf", "-raw", "kernel.cubin"], Path(folder), "the cubin", seconds)
        except CompileError as error:
            # Warnings follow that tell nothing more; whoever knows the file puts its name in front.
            raise InputError(str(error).splitlines()[0]) from None


def listing(printed: bytes) -> Listing:
    found, places = Listing(), dict[str, tuple[str, str]]()
    function, code = "", list[Listed]()
    for line in LINE.finditer(printed.decode(errors="surrogateescape")):
        if line["opcode"]:
            code.append(Listed(line["guard"] or "", line["opcode"], line["operands"]))
        elif line["label"]:
            places[line["label"]] = function, hex(BYTES * len(code))
        else:
            function = line["function"]
            code = found.setdefault(function, [])

    def settled(name: re.Match[str]) -> str:
        if name[2]:
            return " + ".join(places[name[2]])
        return places[name[1]][1] if name[1] in places else name[1]

    named = ((code, at) for code in found.values() for at, one in enumerate(code) if ".L" in one[2] or "`" in one[2])
    for code, at in named:
        code[at] = code[at]._replace(operands=NAMED.sub(settled, code[at].operands))
    return found


def split(operands: str) -> list[str]:
    """The operands of an instruction: cut at commas and blanks outside brackets and braces."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(operands):
        depth += (letter in "[({") - (letter in "])}")
        if depth == 0 and letter in ", ":
            parts.append(operands[start:at])
            start = at + 1
    parts.append(operands[start:])
    return [part for part in parts if part]


@functools.lru_cache(1 << 16)
def operand(text: str) -> Operand:
    """One operand as nvdisasm writes it, symbols aside."""
    text = text.replace(".reuse", "")
    if FLOAT.fullmatch(text):
        number, shown = float_bits(text)
        return Operand("float", number, text=shown)
    body = text.lstrip("-~!")
    marks = text[: len(text) - len(body)]
    absolute = body.startswith("|")
    if absolute:
        inner, _, after = body[1:].partition("|")
        body = inner + after
    build = functools.partial(
        Operand, negative="-" in marks, inverted="~" in marks or "!" in marks, absolute=absolute, text=text
    )
    if match := REGISTER.fullmatch(body):
        kind, digits, modifiers = match.groups()
        return build(kind, ZERO_REGISTER[kind] if digits in "ZT" else int(digits), modifiers=words(modifiers))
    if re.fullmatch("0x[0-9a-f]+", body):
        value = int(body, 16)
        return Operand("imm", -value & 0xFFFFFFFF if "-" in marks else value, text=text)
    if match := DESCRIPTORS.fullmatch(body):
        return build("gdesc", int(match[1]), modifiers=words(match[2]))
    if SPECIAL.fullmatch(body):
        return Operand("special", text=body)
    if match := CONSTANT.fullmatch(body):
        bank, terms, modifiers = match.groups()
        return build("const", int(bank, 16), modifiers=words(modifiers), parts=address(terms))
    if match := MEMORY.fullmatch(body):
        descriptor, terms, modifiers = match.groups()
        before = (descriptor,) if descriptor else ()
        return build("memory", modifiers=before + words(modifiers), parts=address(terms))
    return Operand("other", text=text)


def words(modifiers: str) -> tuple[str, ...]:
    return tuple(modifiers.split(".")[1:])


def address(terms: str) -> tuple[Operand, ...]:
    """The terms of an address: registers with width or scale, offsets (32 bits, to be sign-extended)."""
    return tuple(operand(term) for term in terms.split("+") if term)


def float_bits(text: str) -> tuple[int, str]:
    """The bits of the float32 that a printed number stands for, and the number as `float` reads it."""
    sign = "-" if text.startswith("-") else ""
    if text.upper().endswith("NAN"):
        return (0xFFFFFFFF if sign else 0x7FFFFFFF), sign + "nan"
    try:
        return int.from_bytes(struct.pack("<f", float(text)), "little"), text
    except OverflowError:  # a double beyond a float's range
        return (0xFF800000 if sign else 0x7F800000), text


def operands(name: str, modifiers: frozenset[str], texts: list[str], place: Place) -> tuple[Operand, ...]:
    """The operands of an instruction, symbols and places in the code settled.

    A direct target is of kind code. Where a register tells the target, the operand behind it is a number to
    add: for BRX the distance from the next instruction, for CALL and RET the base of the section (ABS: 0).
    """
    result = [operand(text) for text in texts]
    if modifiers & {"64", "S64", "U64"}:
        result = [in_64_bits(found) for found in result]
    for at, found in enumerate(result):
        if found.kind == "other":
            result[at] = relocated(found.text, place) or found
    if name not in TO_CODE or not result or (name == "WARPSYNC" and "COLLECTIVE" not in modifiers):
        return tuple(result)
    last = result[-1]
    relative = "ABS" not in modifiers and name not in ("JMP", "JMX", "JMXU")
    if last.kind == "imm" and relative and name not in ("BRX", "BRXU"):
        last = place("", last.number, False) or last
    elif last.kind == "imm" and not relative:
        last = Operand("code", last.number, text=last.text)
    by_register = any(o.kind in ("R", "UR") for o in result[:-1])
    if last.kind == "code" and by_register and name in ("CALL", "RET", "JMX", "JMXU"):
        last = Operand("imm", last.number, text=last.text)
    result[-1] = last
    return tuple(result)


def in_64_bits(found: Operand) -> Operand:
    """A negative immediate as a number of 64 bits."""
    if found.kind != "imm" or not found.text.startswith("-"):
        return found
    return replace(found, number=found.number | 0xFFFFFFFF << 32)


def relocated(text: str, place: Place) -> Operand | None:
    """The operand of `symbol`, `32@lo((symbol + 0x10))`, `32@hi(fun@fdesc(symbol))` and the like."""
    match = RELOCATED.fullmatch(text)
    if match is None:
        return None
    half, symbol, offset = match.groups()
    target = place(symbol, int(offset or "0", 16), "fun@fdesc" in text)
    if target is None or half is None:
        return target
    number = target.number >> 32 if half == "hi" else target.number & 0xFFFFFFFF
    return Operand("imm", number, text=text)


def exact(found: Operand, opcode: str, encoding: int) -> Operand:
    """A NaN with the bits that the instruction holds, for nvdisasm prints NaNs of one sign alike; and the upper word
    of a double for MUFU.RCP64H and RSQ64H, which it prints as that double."""
    if found.kind != "float" or not (found.text.endswith("nan") or (opcode.startswith("MUFU") and "64H" in opcode)):
        return found
    return Operand("float", encoding >> 32 & 0xFFFFFFFF, text=found.text)


def encodings(code: bytes) -> list[int]:
    """The 128-bit words of a code section."""
    return [int.from_bytes(code[at : at + BYTES], "little") for at in range(0, len(code), BYTES)]
