"""Which source line each instruction comes from, and through which inlined calls.

A cubin's .debug_line is DWARF 2 with one extension: the extended operation 0x90 names, for the rows behind
it, the row (counted from 1 in its sequence) of the call that they were inlined at, and the offset of the
inlined function's name in .debug_str; two zeros end it. The row of the call may be inlined itself: a chain.
"""

import os
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from banksim.system.source_files import is_library

INLINED_CALL = 0x90
ESCAPE = re.compile(rb'\\([0-3][0-7]{2}|[\\"])')
ESCAPED = re.compile(r"""(?:[^\\]|\\(?:[0-3][0-7]{2}|[\\"]))*""")


@dataclass(frozen=True, slots=True)
class Line:
    """A source line (0: none). `inlined`: calls, innermost first, as function, file and line of call."""

    file: str
    line: int
    inlined: tuple[tuple[str, str, int], ...] = ()


def in_own_code(line: Line) -> tuple[Line, tuple[tuple[str, int], ...]]:
    """The user's own line into which a line of a library was inlined, and the places in the library, innermost first.
    Any other line stays as it is, and so does one that no line of the user's calls."""
    frames = [(line.file, line.line), *((file, number) for _, file, number in line.inlined)]
    kernel = frames[-1][0]
    depth = next((n for n, (file, _) in enumerate(frames) if not is_library(file, kernel)), 0)
    return Line(*frames[depth], line.inlined[depth:]), tuple(frames[:depth])


@dataclass(frozen=True, slots=True)
class LineTableRow:
    """A row of the table: instructions from byte `offset` on."""

    offset: int
    file: int
    line: int
    context: int
    function: int


@dataclass(frozen=True, slots=True)
class Sequence:
    """Rows of one code section, with the names of their files (the first has number 1)."""

    section: str
    files: list[str]
    rows: list[LineTableRow]


class DwarfReader:
    """A cursor over little-endian DWARF data."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def number(self, size: int, signed: bool = False) -> int:
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "little", signed=signed)

    def uleb(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def sleb(self) -> int:
        start = self.at
        value = self.uleb()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) else value

    def text(self) -> str:
        end = self.data.index(b"\0", self.at)
        value = self.data[self.at : end].decode(errors="replace")
        self.at = end + 1
        return value


def line_table(
    debug_line: bytes, debug_str: bytes, relocations: Mapping[int, str]
) -> dict[str, list[tuple[int, Line]]]:
    """For each code section the (byte offset, line) pairs where a new line begins, in the order of offsets.

    `relocations` says which section's address belongs at an offset of .debug_line.
    """
    table: dict[str, list[tuple[int, Line]]] = {}
    name = cache(lambda place: DwarfReader(debug_str, place).text())
    for sequence in sequences(debug_line, relocations):
        lines: list[Line] = []
        for number, row in enumerate(sequence.rows):
            inlined: tuple[tuple[str, str, int], ...] = ()
            if 0 < row.context <= number:  # a call stands before what is inlined at it
                caller = lines[row.context - 1]
                inlined = ((name(row.function), caller.file, caller.line), *caller.inlined)
            lines.append(Line(sequence.files[row.file], row.line, inlined))
            table.setdefault(sequence.section, []).append((row.offset, lines[-1]))
    for entries in table.values():
        entries.sort(key=lambda entry: entry[0])
    return table


def sequences(data: bytes, relocations: Mapping[int, str]) -> Iterator[Sequence]:
    """Every sequence of every line program in .debug_line."""
    read = DwarfReader(data)
    while read.at + 4 <= len(data):
        size = read.number(4)
        end = read.at + size
        version = read.number(2)
        if 2 <= version <= 4:  # version 5 has another header; no release of ptxas writes it
            yield from program(read, version, end, relocations)
        read.at = end


def program(read: DwarfReader, version: int, end: int, relocations: Mapping[int, str]) -> Iterator[Sequence]:
    """The sequences of the line program whose header `read` stands in, behind the version."""
    size = read.number(4)
    start = read.at + size
    step = read.number(1)
    read.at += (version >= 4) + 1  # operations of a long instruction word; whether rows begin statements
    line_base = read.number(1, signed=True)
    line_range = read.number(1)
    opcode_base = read.number(1)
    operands = [read.number(1) for _ in range(1, opcode_base)]
    folders = [""]
    while folder := read.text():
        folders.append(folder)
    files = [""]
    while name := read.text():
        files.append(path_of(folders[read.uleb()], name))
        read.uleb(), read.uleb()  # time, size

    section, rows = "", list[LineTableRow]()
    offset, file, line, context, function = 0, 1, 1, 0, 0
    read.at = start
    while read.at < end:
        opcode = read.number(1)
        if opcode >= opcode_base:
            offset += (opcode - opcode_base) // line_range * step
            line += (opcode - opcode_base) % line_range + line_base
            rows.append(LineTableRow(offset, file, line, context, function))
        elif opcode == 0:  # extended
            size = read.uleb()
            after = read.at + size
            extended = read.number(1)
            if extended == 1:  # the end of a sequence
                yield Sequence(section, files, rows)
                section, rows = "", []
                offset, file, line, context, function = 0, 1, 1, 0, 0
            elif extended == 2:
                section = relocations.get(read.at, "")
                offset = read.number(size - 1)
            elif extended == INLINED_CALL:
                context, function = read.uleb(), read.uleb()
            read.at = after
        elif opcode == 1:  # copy
            rows.append(LineTableRow(offset, file, line, context, function))
        elif opcode == 2:
            offset += read.uleb() * step
        elif opcode == 3:
            line += read.sleb()
        elif opcode == 4:
            file = read.uleb()
        elif opcode == 8:
            offset += (255 - opcode_base) // line_range * step
        elif opcode == 9:
            offset += read.number(2)
        else:
            for _ in range(operands[opcode - 1]):
                read.uleb()


def path_of(folder: str, name: str) -> str:
    """The path of a file that a compiler has written as folder and name.

    LLVM writes other letters than those of ASCII as octal bytes (`\\303\\244`), and backslashes twice, in the PTX's
    name of a file, which ptxas cuts at its last slash or backslash, perhaps amid such a letter.
    """
    ways = [unescaped(posixpath.join(folder, name)), unescaped(f"{folder}\\{name}")]
    return next((path for path in ways if path is not None), posixpath.join(folder, name))


def unescaped(path: str) -> str | None:
    """A path without LLVM's escapes; None where what stands there is none of them."""
    if "\\" not in path:
        return path
    if not ESCAPED.fullmatch(path):
        return None
    content = ESCAPE.sub(lambda match: bytes([int(match[1], 8)]) if match[1].isdigit() else match[1], os.fsencode(path))
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None
