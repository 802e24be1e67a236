"""The user's cache folder: results of compilers and decoders, found again by the content that they came from.

A file is named by the digest of all that went into it (`key`), starts with a checksum of name and content, and
is written beside and then renamed. So two processes may write at once, and a damaged file is as good as none.

The checksum finds damage, not malice: what is kept here is executed as it is, and whoever can write such a file can
write its checksum too. So only files are read, and only folders used, that belong to the user (or to root) and that
nobody else can write to.
"""

import atexit
import functools
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from banksim.errors import InputError
from banksim.system.visible import say
from banksim.system.writing import write

MAGIC = b"banksim2"
DIGEST = 32
OPENING = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK"))
"""How files are opened: no link is followed, and a pipe does not wait for its other end."""


def folder() -> Path:
    """Where cached files lie: $BANKSIM_CACHE, else `banksim` in the user's cache folder. It may not exist."""
    chosen = os.environ.get("BANKSIM_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    else:
        base = os.environ.get("XDG_CACHE_HOME")
    return Path(base) / "banksim" if base else Path.home() / ".cache" / "banksim"


def key(*parts: str | bytes) -> str:
    """The name under which the result of `parts` is kept; ("ab", "c") and ("a", "bc") differ."""
    digest = hashlib.blake2b(digest_size=DIGEST)
    for part in parts:
        content = part.encode(errors="surrogateescape") if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.hexdigest()


def sources(package: Path, rooms: Iterable[str], pattern: str = "*.py") -> str:
    """A digest of all source files in some folders of a package."""
    files = [file for room in rooms for file in sorted((package / room).rglob(pattern)) if file.is_file()]
    return key(*(file.read_bytes() for file in files))


def get(key: str) -> bytes | None:
    """What was put under `key`; None if it is not there, cannot be read, is not the user's own, or is damaged."""
    try:
        content = read(path(key)) if usable(folder()) else None
    except (OSError, RuntimeError):  # Path.home() raises RuntimeError where there is no home
        return None
    if content is None:
        return None
    payload = content[len(MAGIC) + DIGEST :]
    return payload if content.startswith(MAGIC + checksum(key, payload)) else None


def put(key: str, payload: bytes) -> None:
    """Keep `payload` under `key`; where nothing can be written, nothing is kept."""
    with suppress(OSError, RuntimeError, InputError):
        if made(folder()):
            target = path(key)
            target.parent.mkdir(parents=True, exist_ok=True)
            write(target, MAGIC + checksum(key, payload) + payload, own=True)


def read(file: Path) -> bytes | None:
    """The content of a file; None if others may have written it."""
    with open(os.open(file, OPENING), "rb") as opened:
        state = os.fstat(opened.fileno())
        return opened.read() if stat.S_ISREG(state.st_mode) and strangers(state) is None else None


def made(folder: Path) -> bool:
    """Make a folder that nobody else can write to; whether it can be used now."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    return usable(folder)


def usable(folder: Path, variable: str = "BANKSIM_CACHE") -> bool:
    """Whether nobody else can write to a folder, or there is none yet. If they can, that is said once, with the
    environment's `variable` that names another."""
    try:
        why = strangers(folder.stat())
    except FileNotFoundError:
        return True
    if why is not None:
        refuse(folder, why, variable)
    return why is None


def strangers(state: os.stat_result) -> str | None:
    """Why others than the user and root may have written a file or what is in a folder; None if they cannot."""
    if not hasattr(os, "geteuid"):  # Windows: the folder is in the user's profile
        return None
    if state.st_uid not in (os.geteuid(), 0):
        return "it belongs to another user"
    return "others can write to it" if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else None


@functools.cache
def refuse(folder: Path, why: str, variable: str) -> None:
    say(f"nothing is kept in the cache {folder}, nor taken from it: {why}; {variable} names another folder")


def keep(content: bytes, name: str) -> Path:
    """A file `name` with `content` that stays: in the cache, or where that cannot be, a new one."""
    for base in (folder, lambda: Path(tempfile.mkdtemp(prefix="banksim-"))):
        try:
            place = base()
            if not made(place):
                continue
            file = place / "sources" / key(content)[:16] / name
            if not file.is_file() or file.read_bytes() != content:
                file.parent.mkdir(parents=True, exist_ok=True)
                write(file, content, own=True)
            return file
        except (OSError, RuntimeError, InputError):
            continue
    raise OSError("no folder that can be written to, not even for temporary files")


def passing() -> Path:
    """A new folder for what is used without being kept; it goes when the process ends."""
    place = Path(tempfile.mkdtemp(prefix="banksim-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def path(key: str) -> Path:
    return folder() / key[:2] / key[2:]


def checksum(key: str, payload: bytes) -> bytes:
    return hashlib.blake2b(key.encode() + payload, digest_size=DIGEST).digest()
