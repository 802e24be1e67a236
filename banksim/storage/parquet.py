"""Traces in Parquet: written in row groups as requests come, read row group by row group on all cores."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from banksim.errors import InputError, first_line
from banksim.requests.trace import Piece, Site, Trace
from banksim.storage import checksums, parquet_pages
from banksim.storage.checksums import Range, Summed, read_at, verified
from banksim.storage.files import is_remote, opened
from banksim.storage.parquet_pages import Addresses
from banksim.storage.schema import SCHEMA, SiteNumbers, batch_of, check, metadata_of, sites_of, trace_of
from banksim.storage.source import Source

ADDRESS = "address.list.element"
"""Parquet's name of the column with the values of the lists of addresses."""
GROUP = 1 << 17
"""Requests of a row group that is written, and of a chunk that is read."""
DICTIONARY = 1 << 16
"""Bytes of a dictionary beyond which a column is written as it is: to write and look up more of them takes longer."""
LARGEST_GROUP = 1 << 31
"""The most bytes that a row group may claim to hold, uncompressed."""
BUFFER = 1 << 20
"""Bytes of a column that are read at a time, so that memory does not grow with the size of row groups."""
FAILURES = (pa.ArrowException, OSError, ValueError, MemoryError, KeyError, IndexError, OverflowError)


class Writer:
    """Writes traces to an open file, in a thread of its own; what is in memory is less than two row groups."""

    def __init__(self, file: BinaryIO) -> None:
        scalars = [name for name in SCHEMA.names if name != "address"]
        options = {
            "compression": "lz4",
            "use_dictionary": scalars,
            "dictionary_pagesize_limit": DICTIONARY,
            "use_byte_stream_split": [ADDRESS],
            "write_statistics": scalars,
        }
        self.file = Summed(file)
        self.writer = pq.ParquetWriter(self.file, SCHEMA, write_page_checksum=True, **options)
        self.groups: list[tuple[int, int]] = []
        self.thread = ThreadPoolExecutor(1)
        self.written: Future[None] | None = None
        self.waiting: list[pa.RecordBatch] = []
        self.rows = 0
        self.sites = SiteNumbers()
        self.launches: list[dict[str, object]] = []

    def write(self, trace: Trace) -> None:
        """Add the requests of a trace; sites that are alike in several traces become one."""
        self.waiting.append(batch_of(self.sites.renumbered(trace)))
        self.rows += len(trace)
        while self.rows >= GROUP:
            table = pa.Table.from_batches(self.waiting, SCHEMA)
            self.waiting = table[GROUP:].to_batches()
            self.rows -= GROUP
            self.begin(table[:GROUP])

    def begin(self, table: pa.Table) -> None:
        """Let the thread write a row group when the one before is written."""
        self.finish()
        self.written = self.thread.submit(self.write_group, table)

    def write_group(self, table: pa.Table) -> None:
        """Write a row group, and note its checksum for the end."""
        self.writer.write_table(table, GROUP)
        self.groups.append((self.file.at, self.file.take()))

    def finish(self) -> None:
        """Wait for the thread. Raises what it raised."""
        if self.written:
            self.written.result()

    def close(self) -> None:
        """Write what is left, the sites, and the checksums, which stand before the footer but cover it too."""
        try:
            if self.rows:
                self.begin(pa.Table.from_batches(self.waiting, SCHEMA))
            self.finish()
        finally:
            self.thread.shutdown()
        self.writer.add_key_value_metadata(metadata_of(self.sites.all, self.launches))
        footer = self.file.held = bytearray()
        self.writer.close()
        self.file.file.write(checksums.before_footer(self.groups, footer) + footer)


@contextmanager
def reader(path: str, metadata: object = None, verify: bool = True) -> Iterator[Any]:
    """An open Parquet file, local or on any file system that fsspec knows; `metadata`: its footer, if known.

    `verify`: check the pages that have checksums.
    """
    with (
        opened(path) as file,
        pq.ParquetFile(
            file if is_remote(path) else path, metadata=metadata, buffer_size=BUFFER, page_checksum_verification=verify
        ) as found,
    ):
        yield found


def source(path: str) -> Source:
    """The trace in a Parquet file, each row group a piece. Raises `InputError` for a file that is none."""
    described = describe(path)
    firsts = [0, *accumulate(described.rows)]
    pieces = [described.piece(group, first) for group, first in enumerate(firsts[:-1])]
    return Source(path, lambda notes: pieces, firsts[-1])


@dataclass(frozen=True)
class Described:
    """What a Parquet file says of itself: its footer, the sites, and its row groups' bytes if these have checksums."""

    path: str
    footer: Any
    sites: tuple[Site, ...]
    groups: tuple[Range, ...]

    @property
    def rows(self) -> list[int]:
        """How many requests each row group has."""
        return [self.footer.row_group(group).num_rows for group in range(self.footer.num_row_groups)]

    def piece(self, group: int, first: int) -> Piece:
        """A row group, read when it is called; `first` is the number of its first request."""
        return lambda: row_group(self, group, first)


def describe(path: str) -> Described:
    """What a Parquet file says of itself, checked."""
    try:
        with reader(path) as file:
            footer = file.metadata
            with opened(path) as raw:
                groups = checksums.row_groups(raw, footer.num_row_groups)
            check(file.schema_arrow, footer.metadata or {})
            return Described(path, footer, sites_of(footer.metadata), groups)
    except FAILURES as error:
        if str(error).startswith(path):
            raise
        what = "" if isinstance(error, InputError) else "no whole Parquet file: "
        raise InputError(f"{path}: {what}{first_line(error)}") from None


def addresses(path: str, file: Any, group: int, summed: Range | None) -> Addresses | None:
    """The addresses of a row group, None where pyarrow must read them. `summed`: what has a checksum to compare."""
    schema, described = file.schema_arrow, file.metadata.schema
    paths = [described.column(k).path for k in range(len(described))]
    known = ADDRESS in paths and schema.field("address") == SCHEMA.field("address")
    with opened(path) as raw, verified(raw, summed) if summed else nullcontext(partial(read_at, raw)) as read:
        if not known:
            return None
        return parquet_pages.addresses(read, file.metadata.row_group(group), paths.index(ADDRESS), GROUP, not summed)


def batches(
    path: str, file: Any, group: int, summed: Range | None
) -> Iterator[tuple[pa.RecordBatch, tuple[()] | Addresses]]:
    """The requests of a row group in batches, each with its addresses and their bits if these were read from the pages.
    `summed`: what has a checksum."""
    columns = [name for name in SCHEMA.names if name in file.schema_arrow.names]
    address = addresses(path, file, group, summed)
    if address is None:
        for batch in file.iter_batches(GROUP, [group], columns, use_threads=False):
            yield batch, ()
        return
    columns.remove("address")
    table = file.read_row_group(group, columns, use_threads=False).combine_chunks()
    for batch in table.to_batches():
        yield batch, address


def row_group(described: Described, group: int, first: int) -> Iterator[tuple[int, Trace]]:
    """The requests of one row group in chunks. `InputError` with its number and place if it is damaged."""
    path, at = described.path, first
    try:
        with reader(path, described.footer, not described.groups) as file:
            claimed = file.metadata.row_group(group)
            if claimed.total_byte_size > LARGEST_GROUP:
                raise InputError(
                    f"it claims {claimed.total_byte_size:,} bytes: write row groups of at most {LARGEST_GROUP:,}"
                )
            summed = described.groups[group] if described.groups else None
            for batch, address in batches(path, file, group, summed):
                yield at, trace_of(batch, described.sites, *address)
                at += batch.num_rows
            if at - first != claimed.num_rows:
                raise InputError(f"it claims {claimed.num_rows:,} requests and has {at - first:,}")
    except FAILURES as error:
        raise InputError(f"{path}: row group {group}, from request {at:,} on: {first_line(error)}") from None
