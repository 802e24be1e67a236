"""Fat binaries: the cubins and PTX in what nvcc makes (.fatbin, .o, .so, executables).

A container is a head of 16 bytes (magic number, version, size of the head, bytes behind it) and entries, each with a
head of its own (`ENTRY`). Host files hold one container for each file that was compiled, in a section of their own;
they are found by their magic number, in any kind of file.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from banksim.errors import InputError
from banksim.system.extras import missing

MAGIC = b"\x50\xed\x55\xba"
HEAD = struct.Struct("<4sHHQ")
ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
"""Kind, version, size of this head, size of what follows; its size if compressed, offset of options; minor and major
number of the format, architecture, offset and size of the file's name; flags, nothing, size when decompressed."""
PTX, CUBIN = 1, 2
LZ4, ZSTD = 0x2000, 0x8000
"""Flags of a compressed entry."""
LARGEST = 1 << 30
"""The most bytes of an entry once it is decompressed: more is taken for damage."""
PTX_OF = "PTX of "
"""Stands before a file's name where lines are those of the PTX in it, which is no text of its own."""


@dataclass(frozen=True)
class FatBinaryEntry:
    """A cubin (`kind` CUBIN) or PTX for compute capability `capability` (90 for 9.0); `container` numbers what was
    compiled together."""

    kind: int
    capability: int
    container: int
    stored: bytes
    flags: int
    size: int

    @property
    def what(self) -> str:
        return f"{'a cubin' if self.kind == CUBIN else 'PTX'} for sm_{self.capability}"

    def content(self) -> bytes:
        """The cubin or PTX. InputError where it is damaged, or cannot be decompressed here."""
        if not self.flags & (LZ4 | ZSTD):
            return self.stored
        if self.size > LARGEST:
            raise InputError(f"a damaged fat binary: {self.what} of {self.size} bytes")
        content = lz4(self.stored, self.size) if self.flags & LZ4 else zstd(self.stored, self.size)
        if len(content) != self.size:
            raise InputError(f"a damaged fat binary: {self.what} has {len(content)} bytes, not {self.size}")
        return content


def entries(data: bytes) -> list[FatBinaryEntry]:
    """Every cubin and PTX in a file, in order; none where it holds no container that is whole."""
    found: list[FatBinaryEntry] = []
    at = data.find(MAGIC)
    container = 0
    while at >= 0:
        inside = list(of_container(data, at, container))
        found += inside
        container += bool(inside)
        at = data.find(MAGIC, at + 1)
    return found


def of_container(data: bytes, at: int, number: int) -> Iterator[FatBinaryEntry]:
    if at + HEAD.size > len(data):
        return
    _, version, head, size = HEAD.unpack_from(data, at)
    end = at + head + size
    if version != 1 or head != HEAD.size or end > len(data):
        return
    at += head
    while at + ENTRY.size <= end:
        kind, _, head, size, packed, _, _, _, capability, _, _, flags, _, unpacked = ENTRY.unpack_from(data, at)
        start, at = at + head, at + head + size
        if head < ENTRY.size or at > end:
            return
        if kind in (PTX, CUBIN):
            yield FatBinaryEntry(kind, capability, number, data[start : start + (packed or size)], flags, unpacked)


def chosen(found: Sequence[FatBinaryEntry], capability: int) -> list[FatBinaryEntry]:
    """Of each container the entry that the driver would run on a GPU of this compute capability: the cubin of the
    nearest number below within the same generation, else the newest PTX that is not newer."""
    best = []
    for container in sorted({entry.container for entry in found}):
        inside = [entry for entry in found if entry.container == container and entry.capability <= capability]
        cubins = [e for e in inside if e.kind == CUBIN and e.capability // 10 == capability // 10]
        texts = [e for e in inside if e.kind == PTX]
        if cubins or texts:
            best.append(max(cubins or texts, key=lambda entry: entry.capability))
    return best


def listed(found: Sequence[FatBinaryEntry]) -> str:
    """What a file holds, for a message."""
    return ", ".join(sorted({entry.what for entry in found}))


def zstd(packed: bytes, size: int) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise missing("what nvcc compressed needs zstandard", "cuda") from None
    try:
        return zstandard.ZstdDecompressor().decompress(packed, max_output_size=size)
    except zstandard.ZstdError as error:
        raise InputError(f"a damaged fat binary: {error}") from None


def lz4(packed: bytes, size: int) -> bytes:
    """An LZ4 block: literals and copies of what came before, by turns (lz4_Block_format.md)."""
    out = bytearray()
    at = 0

    def length(short: int) -> int:
        """A length of 15 is followed by bytes to add to it, the last of which is not 255."""
        nonlocal at
        total, byte = short, 255 if short == 15 else 0
        while byte == 255:
            byte = packed[at]
            at += 1
            total += byte
        return total

    try:
        while at < len(packed) and len(out) <= size:
            token = packed[at]
            at += 1
            literals = length(token >> 4)
            out += packed[at : at + literals]
            at += literals
            if at >= len(packed):
                break
            distance = int.from_bytes(packed[at : at + 2], "little")
            at += 2
            count = length(token & 15) + 4
            if not 0 < distance <= len(out) or len(out) + count > size:
                raise InputError("a damaged fat binary: LZ4 that refers to nothing")
            piece = bytes(out[len(out) - distance :][:count])
            out += (piece * (count // len(piece) + 1))[:count]
    except IndexError:
        raise InputError("a damaged fat binary: LZ4 that is cut off") from None
    return bytes(out)
