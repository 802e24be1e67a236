"""Trace files: one module for each format that is read or written.

>>> for chunk in open_trace("out.parquet"):  # chunks are `Trace`s, whose `sites` say where requests come from
...     print(len(chunk))

source.py           a trace that is read in pieces
files.py            opening files, also compressed ones
schema.py           what banksim's own files hold
parquet.py          Parquet
parquet_pages.py    addresses straight from its pages
checksums.py        checksums of what is written
crc32.py            the checksum of many bytes, compiled
arrow.py            streams of Arrow
csv.py              CSV
npz.py              archives of NumPy
accelsim.py         traces of Accel-Sim
nvbit.py            traces of NVBit's mem_trace
shared_windows.py   addresses as tracers record them → offsets
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from banksim.errors import InputError
from banksim.system.extras import missing

if TYPE_CHECKING:
    from banksim.requests.trace import Trace
    from banksim.storage.source import Source

FORMATS: dict[str, str] = {
    "parquet": "one row a request, as banksim writes it",
    "arrow": "the same as an Arrow stream, also through a pipe",
    "csv": "op,width,mask,a0,…,a31",
    "npz": "NumPy arrays op, width, mask and address",
    "accelsim": "kernelslist.g or a .traceg of Accel-Sim's tracer",
    "nvbit": "what NVBit's mem_trace prints",
}
"""Every format that is read; `banksim.storage.NAME` is its module."""
ENDINGS = {
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".arrows": "arrow", ".csv": "csv", ".npz": "npz",
    ".traceg": "accelsim", ".g": "accelsim", ".txt": "nvbit", ".log": "nvbit", ".out": "nvbit",
}  # fmt: skip
WRITTEN = {".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".arrows": "arrow"}
BINARY = ("parquet", "arrow", "npz")
NEEDS_PYARROW = ("parquet", "arrow")


class Writer(Protocol):
    """Takes the requests of a trace, chunk by chunk. `launches` made them; `storage.schema.launch` tells each."""

    launches: list[dict[str, object]]

    def write(self, trace: Trace) -> None: ...

    def close(self) -> None: ...


def open_trace(path: str | os.PathLike[str], format: str | None = None) -> Source:
    """The trace in a file, to be read in chunks: of any length, memory holds only some of them.

    `path` is a file, a URL of any file system that fsspec knows, or `-`, standard input (an Arrow stream, or a
    text `format`); .gz, .xz and .zst of text formats are decompressed. `format` is one of `FORMATS`; if None, the
    name's ending tells. Raises `InputError`, there or while reading, for what is no trace.
    """
    from banksim.storage.files import is_remote

    path = os.fspath(path)
    if path != "-" and not is_remote(path) and not os.path.exists(path):
        raise InputError(f"{path}: no such file")
    format = format or format_of(path)
    if format not in FORMATS:
        raise InputError(f"unknown format {format!r}: give one of {', '.join(FORMATS)}")
    if path == "-" and format in ("parquet", "npz"):
        raise InputError(f"-: {format} cannot be read from a pipe: give a file, or an Arrow stream")
    source = cast("Callable[[str], Source]", module(format).source)
    return source(path)


def named_format(path: str) -> str | None:
    """What the name's ending says, if anything."""
    from banksim.storage.files import plain

    return next((format for ending, format in ENDINGS.items() if plain(path).endswith(ending)), None)


def format_of(path: str) -> str:
    """What the name's ending says. `InputError` where it says nothing."""
    from banksim.storage.files import COMPRESSED, plain

    if path == "-":
        return "arrow"
    format = named_format(path)
    if format is None:
        endings = ", ".join(ENDINGS)
        raise InputError(f"{path}: the name tells no format: it ends in none of {endings}; give --input-format")
    if format in BINARY and plain(path) != path:
        raise InputError(f"{path}: {format} is compressed within: decompress it ({', '.join(COMPRESSED)} are for text)")
    return format


@contextmanager
def write_trace(path: str | os.PathLike[str]) -> Iterator[Writer]:
    """A writer of a trace file: .parquet, or .arrow, which `-` (standard output) is too.

    The file gets its name when all is written: if anything fails before, there is none. Raises `InputError`.
    """
    import sys

    from banksim.system.writing import replaced

    path = os.fspath(path)
    format = "arrow" if path == "-" else WRITTEN.get(os.path.splitext(path)[1])
    if format is None:
        raise InputError(f"{path}: give a name that ends in .parquet or .arrow, or - for an Arrow stream")
    kind = module(format).Writer
    if path == "-":
        writer = kind(sys.stdout.buffer)
        yield writer
        writer.close()
        sys.stdout.buffer.flush()
        return
    with replaced(path) as file:
        writer = kind(file)
        try:
            yield writer
        except BaseException:
            with suppress(Exception):  # it fails, but otherwise pyarrow would write later, when the file is closed
                writer.close()
            raise
        writer.close()


def module(format: str) -> Any:
    """The module of a format."""
    if format in NEEDS_PYARROW:
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise missing(f"{format} needs pyarrow", "traces") from None
    return import_module(f"banksim.storage.{format}")
