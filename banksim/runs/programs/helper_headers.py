"""Headers that a program includes and its compiler does not find: those of helpers, which lie beside its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from banksim.kernels.compilers.cuda import read_all

FOLDERS = ("", "include", "inc", "common", "common/inc", "Common")
"""Where projects, NVIDIA's samples among them, have the headers that their programs share."""
LEVELS = 6
"""So many folders up they are looked for."""


def folders(sources: Sequence[Path], includes: Sequence[Path]) -> list[Path]:
    """The folders of all headers that are neither beside who includes them nor in `includes`, and are found above the
    sources. The system's are among them if some project has a header of that name: a compiler is to look there last."""
    found: list[Path] = []
    while True:
        missing: set[str] = set()
        for file in sources:
            for _ in read_all(file.resolve(), [*includes, *found], missing=missing):
                pass
        new = {place for name in missing for file in sources if (place := above(file, name))} - set(found)
        if not new:
            return found
        found += sorted(new)


def above(file: Path, name: str) -> Path | None:
    """The nearest folder above a file from which a header is included by its name."""
    for parent in file.resolve().parents[:LEVELS]:
        for folder in FOLDERS:
            if (parent / folder / name).is_file():
                return parent / folder
    return None
