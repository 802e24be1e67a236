"""The headers that a source includes, and where its helpers have theirs: above it, where compilers do not look."""

import functools
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from banksim.kernels.compilers import tools

INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*(?:(["<])([^">\n]+)[">]|(\S.*))', re.MULTILINE)
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
            if os.path.isfile(parent / folder / name):
                return parent / folder
    return None


def read_all(
    file: Path, includes: Sequence[Path], seen: set[Path] | None = None, missing: set[str] | None = None
) -> Iterator[bytes | None]:
    """The contents of a file and of the headers that it may include, those of compilers and system aside, whose names
    are added to `missing`.

    Reads more than a preprocessor would, never less. None: a header only a preprocessor can name.
    """
    seen = set() if seen is None else seen
    seen.add(file)
    content = file.read_bytes()
    yield content
    for quote, name, computed in INCLUDE.findall(content):
        if computed:
            yield None
            continue
        folders = ([file.parent] if quote == b'"' else []) + list(includes)
        found = next((path for folder in folders if os.path.isfile(path := folder / os.fsdecode(name))), None)
        if found is None:
            if missing is not None:
                missing.add(os.fsdecode(name))
        elif found.resolve() not in seen:
            yield from read_all(found.resolve(), includes, seen, missing)


def not_found(file: Path, places: Sequence[Path]) -> set[str]:
    """The headers that a source may include, by itself or by others in `places`, and that no compiler finds. CUDA's own
    are not read: they name headers of other systems."""
    names: set[str] = set()
    for _ in read_all(file, places, missing=names):
        pass
    known = [*tools.include_folders(), *of_host()]
    return {name for name in names if not any(os.path.isfile(place / name) for place in known)}


@functools.cache
def of_host() -> tuple[Path, ...]:
    """The folders in which the host's compiler looks for headers by itself."""
    compiler = tools.host_compiler()
    if compiler is None:
        return ()
    command = [compiler, "-E", "-v", "-x", "c++", os.devnull]
    said = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL).stderr
    return tuple(Path(line.strip()) for line in said.splitlines() if line.startswith(" /"))
