"""Traces as a stream of Arrow record batches, which goes through pipes."""

from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa

from banksim.errors import InputError, first_line
from banksim.requests.trace import Trace
from banksim.storage import checksums
from banksim.storage.checksums import Summed, crc32
from banksim.storage.files import opened
from banksim.storage.parquet import FAILURES
from banksim.storage.schema import SCHEMA, SiteNumbers, batch_of, check, metadata_of, sites_of, trace_of
from banksim.storage.source import Source, stream


class Writer:
    """Writes traces to an open stream."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = Summed(file)
        self.writer = pa.ipc.new_stream(self.file, SCHEMA)
        self.sites, self.launches = SiteNumbers(), list[dict[str, object]]()
        self.told = (-1, -1)

    def write(self, trace: Trace) -> None:
        """Add the requests of a trace; sites that are alike in several traces become one."""
        batch = batch_of(self.sites.renumbered(trace))
        known = len(self.sites.all), len(self.launches)
        more = None if known == self.told else metadata_of(self.sites.all, self.launches)
        self.told = known
        self.writer.write_batch(batch, custom_metadata=more)

    def close(self) -> None:
        """Mark the end, without which a reader knows that something is missing, and write the checksum behind it."""
        self.file.flush()
        end = self.file.held = bytearray()
        self.writer.close()
        total = crc32(end, self.file.take())
        self.file.file.write(end + checksums.trailer(total))  # at once: a reader may leave after the end


def source(path: str) -> Source:
    """The trace in a stream (`-`: standard input)."""
    return Source(path, lambda notes: stream(chunks(path)))


def chunks(path: str) -> Iterator[Trace]:
    number = 0
    try:
        with opened(path) as file:
            watched = Watched(file)
            reader = pa.ipc.open_stream(watched)
            metadata = reader.schema.metadata or {}
            check(reader.schema, metadata)
            sites = sites_of(metadata)
            while True:
                try:
                    batch, more = reader.read_next_batch_with_custom_metadata()
                except StopIteration:
                    break
                batch.validate(full=True)  # its buffers may point anywhere
                sites = sites_of(more) or sites
                yield trace_of(batch, sites)
                number += 1
            if not watched.marked:
                raise InputError("the end is missing: the stream is cut off")
            checksums.verify_trailer(file.read(checksums.TRAILER.size + 1), watched.sum)
    except FAILURES as error:
        raise InputError(f"{path}: batch {number}: {first_line(error)}") from None


class Watched:
    """A stream that remembers its checksum, and whether its end was marked: four bytes of ones and a length of 0."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.last, self.sum = file, b"", 0

    def read(self, size: int = -1) -> bytes:
        found = self.file.read(size)
        self.last = (self.last + found[-8:])[-8:]
        self.sum = crc32(found, self.sum)
        return found

    def readable(self) -> bool:
        return True

    @property
    def marked(self) -> bool:
        return self.last == b"\xff\xff\xff\xff\0\0\0\0"
