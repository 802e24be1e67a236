"""The code of several cubins as one ELF file: nvdisasm takes longer to start than to list most kernels."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from banksim.kernels.elf import ENTRY, HEADER, REL, RELA, SECTION, SYMBOL, Elf

PROGRAM, SYMBOLS, STRINGS, RELOCATIONS_WITH_ADDENDS, RELOCATIONS = 1, 2, 3, 4, 9
"""Kinds of sections."""
CODE = 6
"""Flags of a section with code: in memory, executable."""
GLOBAL = 1 << 4
"""The binding of a symbol."""
MARK = re.compile(rb"#(\d+)#")
"""Follows each name of the cubin of that number; no name in PTX has this letter."""


class Part(NamedTuple):
    """A section to be written."""

    name: str
    kind: int
    flags: int
    content: bytes
    link: int = 0
    info: int = 0
    align: int = 1
    entry_size: int = 0


class Strings:
    """A table of names that end in a zero byte."""

    def __init__(self) -> None:
        self.content = bytearray(b"\0")

    def place(self, name: str) -> int:
        if not name:
            return 0
        at = len(self.content)
        self.content += name.encode() + b"\0"
        return at


def alike(elf: Elf) -> bytes:
    """What cubins must have in common to be merged: format and architecture. The flags' highest byte differs among the
    cubins of one compiler, and nvdisasm lists the same whatever it is."""
    flags: int = HEADER.unpack_from(elf.data)[12]
    return elf.data[:16] + (flags & 0xFFFFFF).to_bytes(4, "little")


def merged(cubins: Sequence[Elf]) -> bytes:
    """One file with the code of cubins that are alike, and with the symbols and relocations of that code."""
    names, symbols = Strings(), bytearray()
    parts, relocations = [Part("", 0, 0, b"")], []
    for number, elf in enumerate(cubins):
        mark, before = f"#{number}#", len(symbols) // SYMBOL.size
        places: dict[str, int] = {}
        for section in elf.sections.values():
            if not section.name.startswith(".text."):
                continue
            places[section.name] = at = len(parts)
            info, content = section.info + before, elf.content(section.name)
            parts.append(Part(section.name + mark, PROGRAM, CODE, content, 0, info, section.align))
            for prefix, kind, form in ((".rela", RELOCATIONS_WITH_ADDENDS, RELA), (".rel", RELOCATIONS, REL)):
                if fills := elf.content(prefix + section.name):
                    moved = (form.pack(o, which + (before << 32), *a) for o, which, *a in form.iter_unpack(fills))
                    name = prefix + section.name + mark
                    relocations.append(Part(name, kind, 0, b"".join(moved), 0, at, 8, form.size))
        for s in elf.symbols:
            marked = names.place(s.name + mark if s.name else "")
            symbols += SYMBOL.pack(marked, GLOBAL | s.kind, ENTRY * s.entry, places.get(s.section, 0), s.value, s.size)
    table = len(parts) + len(relocations)
    parts += [part._replace(link=table) for part in relocations]
    parts.append(Part(".symtab", SYMBOLS, 0, bytes(symbols), table + 1, 1, 8, SYMBOL.size))
    parts.append(Part(".strtab", STRINGS, 0, bytes(names.content)))
    return written(cubins[0].data, parts)


def written(like: bytes, parts: Sequence[Part]) -> bytes:
    """An ELF file of sections, its header as in the file `like`."""
    names, headers, body = Strings(), bytearray(), bytearray(HEADER.size)
    own = names.place(".shstrtab")
    placed = [names.place(part.name) for part in parts]
    strings = Part("", STRINGS, 0, bytes(names.content))
    for name, part in zip([*placed, own], [*parts, strings], strict=True):
        body += bytes(-len(body) % 128)
        fields = name, part.kind, part.flags, 0, len(body), len(part.content)
        headers += SECTION.pack(*fields, part.link, part.info, part.align, part.entry_size)
        body += part.content
    body += bytes(-len(body) % 8)
    head = list(HEADER.unpack_from(like))
    head[10:12], head[14:] = (0, len(body)), (0, 0, SECTION.size, len(parts) + 1, len(parts))
    body[: HEADER.size] = HEADER.pack(*head)
    return bytes(body + headers)
