"""Reports of entries in the cache, by all that went into them.

A report is found again if the command, banksim, Python, its packages and the compilers are the same, and so is every
file that was read when it was made. What else a program depends on nobody can see: so programs are kept only where
their entry names its `inputs`.
"""

import functools
import json
import os
import platform
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from banksim.errors import BanksimError
from banksim.kernels.compilers import nvrtc, tools
from banksim.kernels.compilers.included import folders, read_all
from banksim.kernels.load import SOURCES
from banksim.project.file import Entry, Project, file_of
from banksim.system import cache

ENVIRONMENT = ("NVCC_", "NUMBA_", "CUDA_", "PYTHON")
"""How the names of the environment variables begin that compilers and Python heed."""


def key(project: Project, entry: Entry) -> str | None:
    """The key of an entry's report. None where nobody can tell what it depends on."""
    if entry.kind == "program" and entry.inputs is None:
        return None
    contents = [*sources(project.folder, entry), *named_inputs(project.folder, entry)]
    known = [content for content in contents if content is not None]
    return cache.key("check", *surroundings(), *entry.words, *known) if len(known) == len(contents) else None


def sources(folder: Path, entry: Entry) -> Iterator[bytes | None]:
    """CUDA sources with their headers; None for a header that only a preprocessor can name."""
    includes = [folder / word.partition("=")[2] for word in entry.words if word.startswith("--include=")]
    words = [file_of(entry)] if entry.kind == "kernel" else entry.subject
    files = [(folder / word).resolve() for word in words if word.endswith(SOURCES) and (folder / word).is_file()]
    for file in files:
        yield from read_all(file, [*includes, *folders(files, includes)])


def named_inputs(folder: Path, entry: Entry) -> Iterator[bytes]:
    """The names and contents of a program's file and of its `inputs`."""
    if entry.inputs is not None:
        patterns = [one for one in (*entry.subject[:1], *entry.inputs) if one and not Path(one).is_absolute()]
        for file in sorted({file for pattern in patterns for file in folder.glob(pattern) if file.is_file()}):
            yield os.fsencode(file.relative_to(folder))
            yield file.read_bytes()


@functools.cache
def surroundings() -> tuple[str, ...]:
    """What tells this banksim with its Python and its compilers from every other."""
    package = Path(__file__).parents[1]
    code = cache.sources(package, ["."]), cache.sources(package, ["runs/programs/cuda"], "*")
    installed = {info.name for place in sys.path if place for info in Path(place).glob("*.dist-info")}
    environment = [f"{name}={value}" for name, value in os.environ.items() if name.startswith(ENVIRONMENT)]
    return (*code, sys.version, platform.platform(), *sorted(installed), *sorted(environment), *compilers())


def compilers() -> Iterator[str]:
    """For each compiler that is installed, what tells its version from others."""
    yield str(tools.host_compiler())
    for name in tools.PACKAGES:
        with suppress(BanksimError, OSError):
            yield tools.identity(name)
    with suppress(BanksimError, OSError):
        yield nvrtc.identity()


def get(key: str, folder: Path) -> dict[str, object] | None:
    """The report under a key, if every file that it was made of is as it was."""
    packed = cache.get(key)
    if packed is None:
        return None
    kept = json.loads(zlib.decompress(packed))
    same = all(digest(folder / name) == known for name, known in kept["files"].items())
    report: dict[str, object] | None = kept["report"] if same else None
    return report


def put(key: str, folder: Path, report: dict[str, object], read: Sequence[str]) -> None:
    """Keep a report, with the digests of what was read; files of the project by their paths in it."""
    base = folder.resolve()
    files = {os.path.relpath(file, base) if Path(file).is_relative_to(base) else file: digest(file) for file in read}
    cache.put(key, zlib.compress(json.dumps({"files": files, "report": report}).encode(), 1))


def digest(file: str | Path) -> str | None:
    try:
        return cache.key(Path(file).read_bytes())
    except OSError:
        return None
