"""Writing files: every file that banksim makes gets its name when it is whole, and the old one stays until then."""

import errno
import io
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from banksim.errors import InputError


def write(path: str | os.PathLike[str], content: str | bytes, own: bool = False) -> None:
    """Make `path` hold `content`: see `replaced`. Text is written as UTF-8, what that cannot hold as an escape."""
    with replaced(path, own) as file:
        file.write(content.encode(errors="backslashreplace") if isinstance(content, str) else content)


@contextmanager
def replaced(path: str | os.PathLike[str], own: bool = False) -> Iterator[io.RawIOBase]:
    """A file to write, which takes the place of `path` at the end; after any error `path` is what it was.

    An old file keeps its mode, and a link goes on pointing to it. What is no file, as /dev/stdout, is written as it is.
    `own`: one of banksim's own files, which nobody else gets at and which need not be on the disk. `InputError`
    with the name, for what cannot be written.
    """
    named = os.fspath(path)
    target = os.path.realpath(named)
    mode = mode_of(named)
    if mode is not None and not stat.S_ISREG(mode):
        yield from straight(named)
        return
    part = part_in(os.path.dirname(target))
    file = None
    try:
        file = Named(part, "xb", named, 0o600 if own else 0o666)
        yield file
        with naming(named):
            if not own:
                os.fsync(file.fileno())
            file.close()
            if mode is not None:
                os.chmod(part, stat.S_IMODE(mode))
            os.replace(part, target)
    except BaseException:  # the name is known before there is a file: nothing stays, whenever this ends
        with suppress(OSError):
            if file is not None:
                file.close()
            os.unlink(part)
        raise


def part_in(folder: str) -> str:
    """The name of a file that is not whole yet."""
    return os.path.join(folder, f".banksim-{secrets.token_hex(8)}.part")


def require_writable(path: str | os.PathLike[str], makes_folders: bool = False) -> None:
    """`InputError`, before there is anything to write, for what `replaced` would refuse to write. `makes_folders`:
    missing folders above it will be made."""
    named = os.fspath(path)
    mode = mode_of(named)
    if mode is None or stat.S_ISREG(mode):
        folder = os.path.dirname(os.path.realpath(named))
        require_room(existing(folder) if makes_folders else folder, named)


def require_writable_folder(path: str | os.PathLike[str]) -> None:
    """The same for a folder, which may have to be made, with those above it."""
    named = os.fspath(path)
    require_room(existing(os.path.realpath(named)), named)


def existing(folder: str) -> str:
    """The folder itself, or the nearest above it that is there."""
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    return folder


def require_room(folder: str, named: str) -> None:
    """Make a file in a folder, and take it away: only this tells what rights, mounts and systems allow."""
    part = part_in(folder)
    with naming(named):
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.unlink(part)


def mode_of(named: str) -> int | None:
    """The mode of what is there; None where there is nothing. `InputError` for what is not to be written."""
    if not named:
        raise InputError("the name of the file to write is empty: nothing was written")
    with naming(named):
        try:
            mode = os.stat(named).st_mode
        except FileNotFoundError:
            return None
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not mode & stat.S_IWUSR or not os.access(named, os.W_OK):
        raise InputError(f"{named}: it is read-only: nothing was written")
    return mode


def straight(named: str) -> Iterator[io.RawIOBase]:
    """A pipe or a device, which nothing can replace."""
    file = Named(named, "wb", named, 0o666)
    try:
        yield file
    finally:
        file.close()


class Named(io.RawIOBase):
    """A file open for writing, whose failures are `InputError`s that name it as the user did."""

    def __init__(self, path: str, how: str, named: str, mode: int) -> None:
        self.named = named

        def opener(path: str, flags: int) -> int:
            return os.open(path, flags, mode)

        with naming(named):
            self.file = open(path, how, buffering=0, opener=opener)  # noqa: SIM115 (closed with this one)

    def write(self, content: Any) -> int:
        with naming(self.named), memoryview(content).cast("B") as rest:
            at = 0
            while at < len(rest):  # a signal or a nearly full disk cuts a write short
                at += self.file.write(rest[at:])
            return at

    def seek(self, offset: int, whence: int = 0) -> int:
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()

    def fileno(self) -> int:
        return self.file.fileno()

    def seekable(self) -> bool:
        return self.file.seekable()

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            super().close()
            with naming(self.named):
                self.file.close()


@contextmanager
def naming(named: str) -> Iterator[None]:
    """Failures of the system as `InputError`s that name the file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except FileNotFoundError:
        raise InputError(
            f"{named}: there is no such folder: nothing was written, choose a folder that exists"
        ) from None
    except OSError as error:
        raise InputError(f"{named}: {error.strerror or error}: nothing was written") from None
