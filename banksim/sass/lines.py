"""Which source line each instruction comes from, and through which inlined calls.

A cubin's .debug_line is DWARF 2 with one extension: the extended operation 0x90 names, for the rows that follow, the
row (counted from 1) of the call that they were inlined at, and the offset of the inlined function's name in
.debug_str; two zeros end it. The row of the call may be inlined in its turn, which makes the chain.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

INLINED_CALL = 0x90


@dataclass(frozen=True, slots=True)
class Line:
    """A source line; `inlined` is the chain of calls, innermost first: the function, and file and line of the call."""

    file: str
    line: int
    inlined: tuple[tuple[str, str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: instructions of `section` from byte `offset` on."""

    section: str
    offset: int
    file: int
    line: int
    context: int
    function: int


class Reader:
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


def line_table(debug_line: bytes, debug_str: bytes, relocations: Mapping[int, str]) -> dict[str, list[tuple[int, Line]]]:
    """For each code section the (byte offset, line) pairs where a new line begins, in the order of offsets.

    `relocations` says which section's address belongs at an offset of .debug_line. Line 0 marks instructions that
    the compiler ascribes to no source line.
    """
    table: dict[str, list[tuple[int, Line]]] = {}
    for files, rows in programs(debug_line, relocations):
        for row in rows:
            chain, at = [], row
            while at.context:
                caller = rows[at.context - 1]
                chain.append((Reader(debug_str, at.function).text(), files[caller.file], caller.line))
                at = caller
            table.setdefault(row.section, []).append((row.offset, Line(files[row.file], row.line, tuple(chain))))
    for entries in table.values():
        entries.sort(key=lambda entry: entry[0])
    return table


def programs(data: bytes, relocations: Mapping[int, str]) -> Iterator[tuple[list[str], list[Row]]]:
    """File names (the first has number 1) and rows of every line program in .debug_line."""
    read = Reader(data)
    while read.at + 4 <= len(data):
        size = read.number(4)
        end = read.at + size
        version = read.number(2)
        if 2 <= version <= 4:  # version 5 would need other headers; no release of ptxas writes it
            yield program(read, version, end, relocations)
        read.at = end


def program(read: Reader, version: int, end: int, relocations: Mapping[int, str]) -> tuple[list[str], list[Row]]:
    """One line program: its files, and its rows in the order in which the program gives them."""
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
        files.append(posixpath.join(folders[read.uleb()], name))
        read.uleb(), read.uleb()  # time, size

    rows: list[Row] = []
    section, offset, file, line, context, function = "", 0, 1, 1, 0, 0
    read.at = start
    while read.at < end:
        opcode = read.number(1)
        if opcode >= opcode_base:
            offset += (opcode - opcode_base) // line_range * step
            line += (opcode - opcode_base) % line_range + line_base
            rows.append(Row(section, offset, file, line, context, function))
        elif opcode == 0:  # extended
            size = read.uleb()
            after = read.at + size
            extended = read.number(1)
            if extended == 1:  # end of the sequence: what follows belongs to another section
                section, offset, file, line, context, function = "", 0, 1, 1, 0, 0
            elif extended == 2:
                section = relocations.get(read.at, "")
                offset = read.number(size - 1)
            elif extended == INLINED_CALL:
                context, function = read.uleb(), read.uleb()
            read.at = after
        elif opcode == 1:  # copy
            rows.append(Row(section, offset, file, line, context, function))
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
    return files, rows
