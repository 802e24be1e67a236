"""Checksums of every byte of a trace that banksim writes, at places where other readers do not look.

Parquet has checksums of pages, but neither of their headers nor of the file's description (the footer); an Arrow stream
has none at all. So banksim adds some:

- a stream has a trailer behind its end: `MAGIC`, and the CRC-32 of everything before;
- a Parquet file has a table between its last row group and its footer: for each row group where it ends, and its
  CRC-32. Behind the table stand the CRC-32 of the table and the footer, and `MAGIC`.

Files of other programs have neither, and are read as they are.
"""

import os
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, BinaryIO, NamedTuple

from banksim.errors import InputError

MAGIC = b"\x89banksim"
TRAILER = struct.Struct("<8sI")
GROUP = struct.Struct("<QI")
BEFORE_FOOTER = struct.Struct("<I8s")
LENGTH = struct.Struct("<I4s")
MANY = 1 << 20
"""From so many bytes on, compiled code is sooner done, even if it has to be loaded for them."""
FEW = 1 << 14
"""Up to so many bytes, zlib is sooner done than compiled code is called."""


def crc32(data: bytes | bytearray | memoryview, before: int = 0, whole: int = 0) -> int:
    """The CRC-32 of bytes behind others that have `before`. `whole`: bytes of which these are a part."""
    if len(data) < FEW or max(len(data), whole) < MANY:
        return zlib.crc32(data, before)
    from banksim.storage.crc32 import crc32 as compiled

    return compiled(data, before)


class Summed:
    """A file to write that knows the checksum of what went into it since the last `take`, and can hold bytes back."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.sum, self.at = file, 0, 0
        self.held: bytearray | None = None

    def write(self, data: bytes) -> int:
        size = memoryview(data).nbytes
        self.at += size
        if self.held is None:
            self.sum = crc32(data, self.sum)
            self.file.write(data)
        else:
            self.held += data
        return size

    def take(self) -> int:
        """The checksum of what was written since the last time."""
        taken, self.sum = self.sum, 0
        return taken

    def tell(self) -> int:
        return self.at

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None:
        """Nothing: the file is closed by who opened it."""


class Range(NamedTuple):
    """Bytes of a file from `first` to before `end`, and their checksum."""

    first: int
    end: int
    sum: int


def before_footer(groups: list[tuple[int, int]], footer: bytes | bytearray) -> bytes:
    """What stands before a footer: (end, checksum) of each row group, then the checksum of all these and the footer."""
    table = b"".join(GROUP.pack(*group) for group in groups)
    return table + BEFORE_FOOTER.pack(crc32(footer, crc32(table)), MAGIC)


def row_groups(file: BinaryIO, groups: int) -> tuple[Range, ...]:
    """The row groups of a Parquet file that has `groups` of them, each with its checksum; none if it has no checksums.

    `InputError` if the checksum of the footer is wrong.
    """
    size = file.seek(0, os.SEEK_END)
    footer_size, _ = LENGTH.unpack(read_at(file, size - LENGTH.size, LENGTH.size))
    behind = size - LENGTH.size - footer_size
    begin = behind - BEFORE_FOOTER.size - groups * GROUP.size
    if begin < 0:
        return ()
    block = read_at(file, begin, size - begin)
    table, footer = block[: groups * GROUP.size], block[behind - begin :]
    wanted, magic = BEFORE_FOOTER.unpack(block[len(table) : behind - begin])
    if magic != MAGIC:
        return ()
    if crc32(footer, crc32(table)) != wanted:
        raise InputError("the checksum of its footer is wrong: the file is damaged")
    ends = [*GROUP.iter_unpack(table)]
    return tuple(Range(first, end, total) for (first, _), (end, total) in pairwise([(0, 0), *ends]))


@contextmanager
def verified(file: Any, range: Range) -> Iterator[Callable[[int, int], memoryview]]:
    """Reads these bytes: from where on, how many; they last until the next read. `InputError` in the end unless all
    have their checksum. It is added up as they are read, because this and their use are fastest from the caches.
    """
    done, sum, room = range.first, 0, bytearray(0)

    def read(at: int, size: int) -> memoryview:
        nonlocal done, sum, room
        if at > done:
            read(done, at - done)
        size = max(min(size, range.end - at), 0) if at >= range.first else 0
        if size > len(room):
            room = bytearray(size)
        file.seek(at)
        data = memoryview(room)[:size]
        data = data[: file.readinto(data)]
        new = data[max(done - at, 0) :]
        done, sum = done + len(new), crc32(new, sum, range.end - range.first)
        return data

    try:
        yield read
    finally:
        read(done, range.end - done)
        if (done, sum) != (range.end, range.sum):
            raise InputError("its checksum is wrong: the file is damaged")


def read_at(file: BinaryIO, at: int, size: int) -> bytes:
    file.seek(at)
    return file.read(size)


def trailer(sum: int) -> bytes:
    """What stands behind a stream whose bytes have this checksum."""
    return TRAILER.pack(MAGIC, sum)


def verify_trailer(behind: bytes, sum: int) -> None:
    """`InputError` if there is something behind a stream that is not its checksum."""
    if behind and behind != trailer(sum):
        ours = behind[: len(MAGIC)] == MAGIC and behind[: TRAILER.size] != trailer(sum)
        raise InputError(
            "its checksum is wrong: the stream is damaged" if ours else "something stands behind the end of the stream"
        )
