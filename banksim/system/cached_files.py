"""What is kept for the next run, and where: banksim's own folder, and the code of its loops in those of numba."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from banksim.errors import InputError
from banksim.system import cache

OURS = re.compile(r"[0-9a-f]{2}|sources|programs")
"""The names of what is banksim's own in the cache folder, which may hold other things too."""
LOOPS = (".nbi", ".nbc")
"""The endings of numba's files."""


@dataclass(frozen=True)
class Kept:
    """So many files and bytes in a folder."""

    what: str
    folder: str
    files: int
    bytes: int

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def contents() -> list[Kept]:
    """What is kept, by kind."""
    loops = list(of_loops())
    common = os.path.commonpath([one.parent for one in loops]) if loops else str(cache.folder())
    kernels = [one for place in own() for one in (place.rglob("*") if place.is_dir() else [place])]
    return [
        counted("kernels and reports", str(cache.folder()), kernels),
        counted("compiled loops of banksim", common, loops),
    ]


def counted(what: str, folder: str, files: list[Path]) -> Kept:
    sizes = []
    for file in files:
        with suppress(OSError):  # another process may have taken it away
            if file.is_file() and not file.is_symlink():  # what a link leads to is not kept here
                sizes.append(file.stat().st_size)
    return Kept(what, folder, len(sizes), sum(sizes))


def own() -> list[Path]:
    """What is banksim's own in the cache's folder."""
    folder = cache.folder()
    try:
        return [one for one in folder.iterdir() if OURS.fullmatch(one.name)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}") from None


def of_loops() -> Iterator[Path]:
    """The code of banksim's loops, wherever numba keeps it."""
    from banksim.system.jit import folders_of_loops

    for folder in folders_of_loops():
        yield from (one for one in folder.glob("*.nb?") if one.suffix in LOOPS)


def clear() -> None:
    """Take away all that is kept. `InputError` for what cannot be."""
    for place in [*own(), *of_loops()]:
        try:
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"{place}: {error.strerror}: it stays in the cache") from None
