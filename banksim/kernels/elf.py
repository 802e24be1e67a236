"""A cubin as an ELF file: sections, symbols, relocations, and the attributes that NVIDIA keeps in .nv.info.

Read here and not by a library, because NVIDIA uses bits that libraries drop: that a symbol is a kernel stands
in bit 4 of its `other` field.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from banksim.errors import InputError

HEADER = struct.Struct("<4sBBBBB7xHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELA, REL = struct.Struct("<QQq"), struct.Struct("<QQ")
CUDA_MACHINE, RELOCATABLE = 190, 1
NO_BITS = 8
"""The kind of a section of which the file holds only the size."""
OBJECT, FUNCTION = 1, 2
"""Kinds of symbols: variables, code."""
ENTRY = 0x10
"""The bit of a symbol's `other` field that marks a kernel."""
SIZED = 4
"""The format of an attribute whose value follows its head of 4 bytes; the others hold it in the head."""
HALF_WIDE = frozenset({1, 3, 6})
"""Relocations of data that fill in 32 bits (R_CUDA_32, R_CUDA_G32, a texture reference's); others fill in 64."""


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    kind: int
    offset: int
    size: int
    info: int
    align: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name for `size` bytes at `value` of a section ("": defined elsewhere)."""

    name: str
    section: str
    value: int
    size: int
    kind: int
    entry: bool


@dataclass(frozen=True, slots=True)
class Relocation:
    """What belongs at `offset` of a section: the address of `symbol` + `addend`, in data `size` bytes."""

    offset: int
    symbol: Symbol
    addend: int
    size: int


def is_cubin(data: bytes) -> bool:
    """Whether a file begins as cubins do."""
    return data[:4] == b"\x7fELF" and data[18:20] == CUDA_MACHINE.to_bytes(2, "little")


class Elf:
    """The parts of a cubin by their names. InputError when `data` is none."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        if not data.startswith(b"\x7fELF"):
            raise InputError("not a cubin: the file does not begin as an ELF file does")
        try:
            self._read()
        except InputError:
            raise
        except (struct.error, IndexError, ValueError) as error:
            raise InputError(f"a damaged cubin: {error}") from None

    def _read(self) -> None:
        (_, bits, order, _, _, abi, kind, machine, _, _, _, table, flags, _, _, _, width, count, names) = (
            HEADER.unpack_from(self.data)
        )
        if (bits, order, machine) != (2, 1, CUDA_MACHINE):
            raise InputError("this ELF file is no cubin: make one with nvcc -cubin or ptxas")
        if width != SECTION.size or table + width * count > len(self.data):
            raise InputError("a damaged cubin: its table of sections is outside the file")
        self.relocatable = kind == RELOCATABLE
        self.arch = architecture(flags, abi)
        headers = [SECTION.unpack_from(self.data, table + width * n) for n in range(count)]
        strings = headers[names][4]
        self.sections: dict[str, Section] = {}
        for name, kind, _, _, offset, size, _, info, align, _ in headers:
            if kind != NO_BITS and offset + size > len(self.data):
                raise InputError("a damaged cubin: one of its sections is outside the file")
            text = self._string(strings, name)
            self.sections[text] = Section(text, kind, offset, size, info, align)
        in_order = [self._string(strings, header[0]) for header in headers]
        strings = self.sections[".strtab"].offset if ".strtab" in self.sections else 0
        self.symbols = [
            Symbol(
                name=self._string(strings, name),
                section=in_order[section] if 0 < section < len(in_order) else "",
                value=value,
                size=size,
                kind=kind & 15,
                entry=bool(other & ENTRY),
            )
            for name, kind, other, section, value, size in SYMBOL.iter_unpack(self.content(".symtab"))
        ]
        self.by_name = {symbol.name: symbol for symbol in self.symbols if symbol.name}
        for section in self.sections:
            self._check_relocations(section)

    def _check_relocations(self, section: str) -> None:
        """Debugging sections too. Only nvdisasm reads them, and where their numbers lead nowhere it never ends."""
        size = self.sections[section].size
        for relocation in self.relocations(section):
            leads_nowhere = "debug" in section and abs(relocation.addend) > len(self.data)
            if relocation.offset + relocation.size > size or leads_nowhere:
                raise InputError(f"a damaged cubin: a relocation of {section} lies outside of it")

    @property
    def entries(self) -> list[str]:
        """The names of its kernels."""
        return [symbol.name for symbol in self.symbols if symbol.kind == FUNCTION and symbol.entry]

    def _string(self, table: int, at: int) -> str:
        start = table + at
        return self.data[start : self.data.index(b"\0", start)].decode()

    def content(self, section: str) -> bytes:
        """The bytes of a section; b"" when there is no such section, or only its size is in the file."""
        found = self.sections.get(section)
        if found is None or found.kind == NO_BITS:
            return b""
        return self.data[found.offset : found.offset + found.size]

    def relocations(self, section: str) -> Iterator[Relocation]:
        """What a linker or loader has yet to fill in to a section."""
        content = self.content(section)
        for prefix, form in ((".rela", RELA), (".rel", REL)):
            for offset, info, *addend in form.iter_unpack(self.content(prefix + section)):
                size = 4 if info & 0xFFFFFFFF in HALF_WIDE else 8
                there = int.from_bytes(content[offset : offset + size], "little")
                yield Relocation(offset, self.symbols[info >> 32], addend[0] if addend else there, size)

    def attributes(self, section: str) -> Iterator[tuple[int, bytes]]:
        """(attribute, value) of an .nv.info section."""
        data, at = self.content(section), 0
        while at + 4 <= len(data):
            form, attribute, size = struct.unpack_from("<BBH", data, at)
            at += 4
            if form == SIZED:
                yield attribute, data[at : at + size]
                at += size
            else:
                yield attribute, size.to_bytes(2, "little")


def architecture(flags: int, abi_version: int) -> str:
    """sm_NN from the ELF header: the number moved to the second byte with version 8 of the ABI (CUDA 13)."""
    return f"sm_{flags >> 8 & 0xFF if abi_version >= 8 else flags & 0xFF}"
