"""Opening files: local ones, standard input, other file systems through fsspec; compressed ones; writing safely."""

from __future__ import annotations

import gzip
import lzma
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from banksim.errors import InputError

LONGEST_LINE = 1 << 16
COMPRESSED = (".gz", ".xz", ".zst")
DAMAGED = (EOFError, gzip.BadGzipFile, lzma.LZMAError)


def plain(path: str) -> str:
    """The name without what says how it is compressed."""
    return path.removesuffix(next((ending for ending in COMPRESSED if path.endswith(ending)), ""))


def is_remote(path: str) -> bool:
    return "://" in path


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """The bytes of a file, of standard input (`-`) or of a URL. `InputError` if it cannot be opened."""
    if path == "-":
        yield sys.stdin.buffer
        return
    try:
        file = remote(path) if is_remote(path) else open(path, "rb")  # noqa: SIM115 (closed below)
    except InputError:
        raise
    except Exception as error:  # fsspec's file systems raise what they like
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise InputError(f"{path}: {reason}".splitlines()[0]) from None
    with file:
        yield cast("BinaryIO", file)


def remote(path: str) -> Any:
    try:
        import fsspec
    except ImportError:
        raise InputError(f"{path}: for URLs install fsspec: pip install 'banksim[distributed]'") from None
    return fsspec.open(path, "rb").open()


@contextmanager
def unpacked(path: str) -> Iterator[IO[bytes]]:
    """The same, decompressed as the name's ending says."""
    with opened(path) as file:
        if path.endswith(".gz"):
            with gzip.open(file) as inner:
                yield cast("IO[bytes]", inner)
        elif path.endswith(".xz"):
            with lzma.open(file) as inner:
                yield inner
        elif path.endswith(".zst"):
            try:
                import zstandard
            except ImportError:
                raise InputError(f"{path}: for .zst install zstandard: pip install 'banksim[traces]'") from None
            with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file) as inner:
                yield cast("IO[bytes]", Buffered(inner))
        else:
            yield file


class Buffered:
    """Lines of a reader that has none."""

    def __init__(self, reader: Any) -> None:
        import io

        self.lines = io.BufferedReader(reader, 1 << 20)

    def readline(self, size: int) -> bytes:
        return self.lines.readline(size)

    def read(self, size: int = -1) -> bytes:
        return self.lines.read(size)


def lines(path: str) -> Iterator[str]:
    """The lines of a text, decompressed, without their ends. `InputError` for what is damaged or no text."""
    number = 0
    with unpacked(path) as file:
        try:
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise InputError(f"{path}, line {number}: longer than {LONGEST_LINE} bytes: this is no trace")
                yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise InputError(f"{path}, line {number}: this is no text") from None
        except DAMAGED as error:
            raise InputError(f"{path}, after line {number}: {error or 'the file is cut off'}") from None
        except Exception as error:
            if type(error).__name__ != "ZstdError":
                raise
            raise InputError(f"{path}, after line {number}: {error}") from None


@contextmanager
def replaced(path: str) -> Iterator[BinaryIO]:
    """A file to write, which gets its name only when it is complete: no half file ever looks whole."""
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: choose a folder that can be written to") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
