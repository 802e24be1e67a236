"""The addresses of a row group straight from its Parquet pages, where they are as pyarrow writes lists of 32 numbers.

banksim writes the first bytes of all numbers of a page, then their second bytes, and so on (BYTE_STREAM_SPLIT): of
addresses the higher ones are 0. So LZ4 makes of random ones half, as Zstandard does of whole numbers in 12 times the
time, and of those that repeat as little.

Parquet stores two further numbers for each value in a list, which tell where its list begins and ends. Readers build
lists from these value by value, which takes longer than judging the requests. Here the numbers of a whole page are
compared with those of lists of 32. Where a page is not of this form, the answer is None, and pyarrow reads it.

Measured with pyarrow 26, CPU seconds for a million requests that repeat (for random ones): 0.07 to 0.11 (0.26) here,
0.23 to 0.32 (0.54) by pyarrow's lists, 0.25 to 0.33 (0.31 to 0.46) if the file had 32 plain columns.
Format: parquet.thrift (PageHeader, Thrift's compact protocol) and Encodings.md of apache/parquet-format.
"""

from collections.abc import Callable
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from banksim.errors import InputError
from banksim.requests.kinds import LANES, SMALL
from banksim.system.compiled_types import Integer

DATA_PAGE, PLAIN, RLE, BYTES_APART = 0, 0, 3, 9
TYPE, UNPACKED, PACKED, CHECKSUM, HEADER = 1, 2, 3, 4, 5
VALUES, ENCODING, ENDS, STARTS = 1, 2, 3, 4
LIST_OF_32 = int.from_bytes(b"\x03\xfe\x30\x01", "little")
"""The numbers that tell where one list begins: eight as bits, 0 and seven times 1, then a run of 24 times 1."""
FIXED = {3: 1, 7: 8}
"""Bytes of Thrift's types of fixed size: byte and double."""
DEEPEST = 8
LONGEST_HEADER = 1 << 12
"""Bytes: pages with a longer header are left to pyarrow."""
AT_ONCE = 1 << 15
"""Bytes that are read to find pages. Longer ones are read one by one, to be unpacked while they are in the caches."""
Read = Callable[[int, int], bytes | memoryview]
"""Gives bytes of a file, which last until it is called again: from where on, how many."""
Join = Callable[[npt.NDArray[np.uint8], npt.NDArray[np.uint32]], Integer]


class Addresses(NamedTuple):
    """The addresses of requests, (n, 32), and bits that hold all those of each."""

    all: npt.NDArray[np.uint32]
    bits: int


def addresses(read: Read, row_group: Any, column: int, most: int, verify: bool = True) -> Addresses | None:
    """The addresses of a row group of at most `most` rows, None where its pages are of another form.

    `verify`: raise `InputError` for a page that has not the checksum that its header tells.
    """
    rows, described = row_group.num_rows, row_group.column(column)
    if (
        rows > most
        or described.physical_type != "INT32"
        or described.has_dictionary_page
        or described.num_values != rows * LANES
        or described.compression not in ("ZSTD", "LZ4", "SNAPPY")
    ):
        return None
    codec = pa.Codec({"LZ4": "lz4_raw"}.get(described.compression, described.compression.lower()))
    found = np.empty(rows * LANES, np.uint32)
    join: Join = put_together
    if rows > SMALL:
        from banksim.requests.columns import put_together as join
    done = bits = 0
    at = begin = described.data_page_offset
    end = at + described.total_compressed_size
    data = memoryview(b"")
    while at < end:
        if begin + len(data) < min(at + LONGEST_HEADER, end):
            begin, data = at, memoryview(read(at, min(AT_ONCE, end - at)))
        try:
            page = Page(data, at - begin)
        except (IndexError, ValueError):  # pyarrow may know such a header, or tells what is wrong with it
            return None
        first = begin + page.begin
        at = first + page.size
        packed = data[page.begin : page.begin + page.size]
        if len(packed) < page.size and at <= end:
            packed, data = memoryview(read(first, page.size)), data[:0]
        count, union = page.read(codec, packed, verify, found[done:], join)
        if not count:
            return None
        done, bits = done + count, bits | union
    return Addresses(found.reshape(rows, LANES), bits) if done == len(found) else None


class Page:
    """One page of a column: its header, from where to where it is packed."""

    def __init__(self, data: memoryview, at: int) -> None:
        self.data, self.at = data, at
        self.header = self.struct(0)
        size = self.header.get(PACKED)
        self.begin, self.size = self.at, size if isinstance(size, int) and size > 0 else 0

    def read(
        self, codec: Any, packed: memoryview, verify: bool, into: npt.NDArray[np.uint32], join: Join
    ) -> tuple[int, int]:
        """Put the values of the page at the beginning of an array; `join` as `put_together`.

        Returns how many they are, and their bits; 0 if they are not lists of 32, one after the other, or too many.
        """
        header, size = self.header.get(HEADER), self.header.get(UNPACKED)
        if self.header.get(TYPE) != DATA_PAGE or not isinstance(header, dict) or len(packed) != (self.size or -1):
            return 0, 0
        count = header.get(VALUES)
        encoding = header.get(ENCODING)
        if encoding not in (PLAIN, BYTES_APART) or [header.get(field) for field in (ENDS, STARTS)] != [RLE, RLE]:
            return 0, 0
        if not isinstance(count, int) or not 0 < count <= len(into) or count % LANES:
            return 0, 0
        length = count // LANES * 4
        all_there = varint_of(count << 1) + b"\x01"
        head, values = 4 + length + 4 + len(all_there), 4 * count
        if size != head + values:
            return 0, 0
        total = self.header.get(CHECKSUM) if verify else None
        if not isinstance(total, int | None):
            return 0, 0
        if total is not None and total & 0xFFFFFFFF != crc32(packed):
            raise InputError("the checksum of a page of addresses is wrong: the file is damaged")
        body = codec.decompress(packed, size)
        starts = np.frombuffer(body, np.uint32, count // LANES, 4)
        others = bytes(body[:4]) + bytes(body[4 + length : head])
        if (starts != LIST_OF_32).any() or others != length.to_bytes(4, "little") + len(all_there).to_bytes(
            4, "little"
        ) + all_there:
            return 0, 0
        if encoding == PLAIN:
            into[:count] = np.frombuffer(body, np.uint32, count, head)
            return count, int(np.bitwise_or.reduce(into[:count]))
        return count, int(join(np.frombuffer(body, np.uint8, 4 * count, head).reshape(4, count), into[:count]))

    def struct(self, depth: int) -> dict[int, Any]:
        """The fields of a Thrift struct by number. `ValueError` or `IndexError` for what is none."""
        if depth > DEEPEST:
            raise ValueError("a page header is nested too deep")
        fields: dict[int, Any] = {}
        number = 0
        while (head := self.byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            fields[number] = self.value(head & 15, depth)
        return fields

    def value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == 12:
            return self.struct(depth + 1)
        if kind == 8:
            size = self.varint()
        elif kind in FIXED:
            size = FIXED[kind]
        else:
            raise ValueError(f"a page header has a field of kind {kind}")
        self.at += size
        return None

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        found = 0
        for shift in range(0, 64, 7):
            byte = self.byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
        raise ValueError("a page header has a number of more than 64 bits")

    def zigzag(self) -> int:
        number = self.varint()
        return (number >> 1) ^ -(number & 1)


def put_together(parts: npt.NDArray[np.uint8], into: npt.NDArray[np.uint32]) -> int:
    """Numbers from their first bytes, their second ones …: (4, n). Returns the union of their bits.

    Compiled code for many is in requests/columns.py."""
    into.view(np.uint8).reshape(-1, 4)[:] = parts.T
    return int(np.bitwise_or.reduce(into))


def varint_of(number: int) -> bytes:
    """`number` as Parquet's run lengths are written."""
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])
