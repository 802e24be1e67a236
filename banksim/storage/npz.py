"""Traces as NumPy archives: arrays op, width, mask and address, as `Trace.from_arrays` takes them. Never unpickled.

site, block, warp and epoch are optional. The array of addresses is read in pieces, the others whole.
"""

import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from banksim.errors import InputError, first_line
from banksim.requests.kinds import LANES
from banksim.requests.trace import Trace
from banksim.storage.files import opened
from banksim.storage.source import ROWS, Source, stream

NEEDED = ("op", "width", "mask", "address")
OPTIONAL = ("site", "block", "warp", "epoch")
DENSEST = 1032
"""Bytes that one byte of deflated data can become, at most."""
FAILURES = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError, MemoryError, NotImplementedError,
    SyntaxError, TypeError, OverflowError, RuntimeError, tokenize.TokenError,
)  # fmt: skip


def source(path: str) -> Source:
    """The trace in an .npz file."""
    return Source(path, lambda notes: stream(chunks(path)))


def chunks(path: str) -> Iterator[Trace]:
    try:
        with opened(path) as file, zipfile.ZipFile(file) as archive:
            yield from read(archive)
    except FAILURES as error:
        if str(error).startswith(path):
            raise
        raise InputError(f"{path}: {first_line(error)}") from None


def read(archive: zipfile.ZipFile) -> Iterator[Trace]:
    for entry in archive.infolist():
        if entry.comment:  # its length may be damaged, and the comment hold the entries that follow
            raise InputError(f"{entry.filename} has a comment of {len(entry.comment)} bytes: save it with numpy.savez")
        archive.open(entry).close()  # compares its two names: if one is damaged, the entry would be left out
    names = {name.removesuffix(".npy") for name in archive.namelist()}
    for name in NEEDED:
        if name not in names:
            raise InputError(f"no array {name}: a trace has {', '.join(NEEDED)} (and {', '.join(OPTIONAL)})")
    with opened_array(archive, "address") as file:
        shape, dtype = head(archive, file, "address")
        if len(shape) != 2 or shape[1] != LANES:
            raise InputError(f"address has shape {shape}: give (n, {LANES}), one column per lane")
        rows = shape[0]
        columns = {name: column(archive, name, rows) for name in (*NEEDED[:-1], *OPTIONAL) if name in names}
        sites = None
        if "site" in columns and columns["site"].size and columns["site"].dtype.kind in "iu":
            sites = int(columns["site"].max())
        for first in range(0, max(rows, 1), ROWS):
            count = min(ROWS, rows - first)
            address = np.frombuffer(exactly(file, count * LANES * dtype.itemsize, "address"), dtype)
            part = {
                name: values if values.ndim == 0 else values[first : first + count] for name, values in columns.items()
            }
            yield with_sites(part, address.reshape(count, LANES), sites)
        ended(file, "address")


def with_sites(columns: dict[str, Any], address: np.ndarray, last: int | None) -> Trace:
    """A chunk whose sites are those of the whole file: numbers up to `last`, without a name."""
    from banksim.requests.trace import Site

    if last is not None and not 0 <= last < 1 << 20:
        raise InputError(f"site {last}: number the sites from 0 on")
    return Trace.from_arrays(address=address, sites=[Site()] * ((last or 0) + 1), **columns)


def opened_array(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    """An array's bytes. `InputError` where it claims more than its compressed bytes can become."""
    entry = archive.getinfo(f"{name}.npy")
    if entry.file_size > DENSEST * entry.compress_size + DENSEST:
        raise InputError(f"{name} claims {entry.file_size:,} bytes in {entry.compress_size:,}: this cannot be")
    return archive.open(entry)


def head(archive: zipfile.ZipFile, file: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type of an array, checked against the size that the archive tells."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise InputError(f"{name} is of .npy version {version}: versions 1 and 2 are read")
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, column_first, dtype = read_header(file)
    if dtype.hasobject:
        raise InputError(f"{name} holds Python objects, which are never loaded: save it as integers")
    size = dtype.itemsize * int(np.prod([int(n) for n in shape], dtype=object))
    held = archive.getinfo(f"{name}.npy").file_size
    if min(shape, default=0) < 0 or size > held:
        raise InputError(f"{name} claims shape {shape} of {dtype}, but has {held:,} bytes")
    if column_first and len(shape) > 1:
        raise InputError(f"{name} is stored column by column: save np.ascontiguousarray({name})")
    return shape, dtype


def column(archive: zipfile.ZipFile, name: str, rows: int) -> np.ndarray:
    """One of the smaller arrays: a value for all requests, or one for each."""
    with opened_array(archive, name) as file:
        shape, dtype = head(archive, file, name)
        if shape not in ((), (1,), (rows,)):
            raise InputError(f"{name} has shape {shape}: give one value or {rows}, one per request")
        values = np.frombuffer(exactly(file, dtype.itemsize * (shape[0] if shape else 1), name), dtype)
        ended(file, name)
        return values if shape == (rows,) and rows != 1 else values.reshape(())


def exactly(file: IO[bytes], size: int, name: str) -> bytes:
    found = file.read(size)
    if len(found) != size:
        raise InputError(f"{name} is cut off")
    return found


def ended(file: IO[bytes], name: str) -> None:
    """`InputError` unless this is an array's end, where zipfile compares its checksum."""
    if file.read(1):
        raise InputError(f"{name} is longer than its shape")
