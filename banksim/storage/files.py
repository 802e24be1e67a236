"""Opening files: local ones, standard input, other file systems through fsspec; compressed ones."""

import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, BinaryIO, cast

from banksim.errors import InputError
from banksim.system.extras import missing

LONGEST_LINE = 1 << 16
MOST_EMPTY = 100_000
"""The most lines of one letter or none in a row: a packed file of kilobytes can hold millions of them."""
COMPRESSED = (".gz", ".xz", ".zst")
DAMAGED = (EOFError, OSError, zlib.error, lzma.LZMAError, MemoryError)
"""What decompression raises; zstandard's own error is known by its name, as it need not be installed."""
FRAME_PIECE = 1 << 11
"""Bytes that are decompressed at a time: few, as each can become 32 KiB."""
LARGEST_WINDOW = 1 << 27
"""Bytes that a Zstandard file may refer back to."""


def plain(path: str) -> str:
    """The name without the ending that says how the file is compressed."""
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
        raise missing(f"{path}: URLs need fsspec", "distributed") from None
    return fsspec.open(path, "rb").open()


@contextmanager
def unpacked(path: str) -> Iterator[IO[bytes]]:
    """As `opened`, but decompressed as the name's ending says."""
    with opened(path) as file:
        if path.endswith(".gz"):
            with gzip.open(file) as inner:
                yield cast("IO[bytes]", inner)
        elif path.endswith(".xz"):
            with lzma.open(file) as inner:
                yield inner
        elif path.endswith(".zst"):
            try:
                import zstandard  # noqa: F401
            except ImportError:
                raise missing(f"{path}: .zst needs zstandard", "traces") from None
            yield cast("IO[bytes]", io.BufferedReader(Frames(file), 1 << 20))
        else:
            yield file


class Frames(io.RawIOBase):
    """The content of a Zstandard file. zstandard's own reader takes the end of a cut file for that of its content."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.frame, self.content = file, cast("Any", None), memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.content and (packed := self.file.read(FRAME_PIECE)):
            self.content = memoryview(b"".join(self.unpacked(packed)))
        if not self.content and self.frame is not None:
            raise EOFError("the file is cut off")
        size = min(len(self.content), len(buffer))
        buffer[:size], self.content = self.content[:size], self.content[size:]
        return size

    def unpacked(self, packed: bytes) -> Iterator[bytes]:
        """What the next bytes contain; a file may consist of several frames."""
        import zstandard

        while packed:
            if self.frame is None:
                self.frame = zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW).decompressobj()
            yield self.frame.decompress(packed)
            packed = self.frame.unused_data if self.frame.eof else b""
            if self.frame.eof:
                self.frame = None


def lines(path: str) -> Iterator[str]:
    """The lines of a text, decompressed, without their ends. `InputError` for what is damaged or no text."""
    number = empty = 0
    with unpacked(path) as file:
        try:
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                empty = 0 if len(line) > 2 else empty + 1
                if empty > MOST_EMPTY:
                    raise InputError(
                        f"{path}, line {number}: {MOST_EMPTY:,} lines with nothing in them: this is no trace"
                    )
                if len(line) > LONGEST_LINE:
                    raise InputError(f"{path}, line {number}: longer than {LONGEST_LINE} bytes: this is no trace")
                yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise InputError(f"{path}, line {number}: this is no text") from None
        except DAMAGED as error:
            reason = str(error) or ("too little memory" if isinstance(error, MemoryError) else "the file is cut off")
            raise InputError(f"{path}, after line {number}: {reason}") from None
        except Exception as error:
            if type(error).__name__ != "ZstdError":
                raise
            raise InputError(f"{path}, after line {number}: {error}") from None
