"""The user's cache folder: results of compilers and decoders, found again by the content that they came from.

A file is named by the digest of all that went into it (`key`), starts with a checksum of name and content, and
is written beside and then renamed. So two processes may write at once, and a damaged file is as good as none.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

MAGIC = b"banksim2"
DIGEST = 32


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
    """The name of what `parts` lead to; ("ab", "c") and ("a", "bc") differ."""
    digest = hashlib.blake2b(digest_size=DIGEST)
    for part in parts:
        content = part.encode(errors="surrogateescape") if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.hexdigest()


def get(key: str) -> bytes | None:
    """What was put under `key`, or None: not there, not readable, or damaged."""
    try:
        content = path(key).read_bytes()
    except (OSError, RuntimeError):  # Path.home() raises RuntimeError where there is no home
        return None
    payload = content[len(MAGIC) + DIGEST :]
    return payload if content.startswith(MAGIC + checksum(key, payload)) else None


def put(key: str, payload: bytes) -> None:
    """Keep `payload` under `key`; where nothing can be written, nothing is kept."""
    with suppress(OSError, RuntimeError):
        target = path(key)
        target.parent.mkdir(parents=True, exist_ok=True)
        write(target, MAGIC + checksum(key, payload) + payload)


def write(target: Path, content: bytes) -> None:
    """Make `target` hold `content`, at once for whoever reads it meanwhile."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def keep(content: bytes, name: str) -> Path:
    """A file `name` with `content` that stays: in the cache, or where that cannot be, a new one."""
    for base in (folder, lambda: Path(tempfile.mkdtemp(prefix="banksim-"))):
        try:
            file = base() / "sources" / key(content)[:16] / name
            if not file.is_file() or file.read_bytes() != content:
                file.parent.mkdir(parents=True, exist_ok=True)
                write(file, content)
            return file
        except (OSError, RuntimeError):
            continue
    raise OSError("no folder that can be written to, not even for temporary files")


def path(key: str) -> Path:
    return folder() / key[:2] / key[2:]


def checksum(key: str, payload: bytes) -> bytes:
    return hashlib.blake2b(key.encode() + payload, digest_size=DIGEST).digest()
