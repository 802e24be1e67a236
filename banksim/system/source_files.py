"""The source files that code was compiled from: their lines, and whether the user wrote them."""

import functools
import posixpath
import re
from pathlib import Path
from stat import S_ISREG

from banksim.system.notebooks import lines_of

LIBRARY = re.compile(
    r"/(site|dist)-packages/|^/usr/(local/)?(include|lib)/|/cuda[^/]*/(targets/[^/]+/)?include/"
    r"|/include/(cub|thrust|cuda|cutlass|cute|cooperative_groups)/|/(third_party|3rdparty|external|vendor)/"
)
"""Folders whose files their user has not written: installed packages, the toolkit, copies of others' projects."""


@functools.lru_cache(4096)
def is_library(file: str, kernel: str) -> bool:
    """Whether a file is a library's, not the user's own. A folder `include` is a library's, unless the kernel's file
    lies beside or in it, as in a project with headers."""
    path = posixpath.normpath(file.replace("\\", "/"))
    if LIBRARY.search(path):
        return True
    above, include, _ = path.rpartition("/include/")
    return bool(include) and not posixpath.normpath(kernel.replace("\\", "/")).startswith(f"{above}/")


def source_line(file: str | None, line: int | None) -> str:
    """The text of a source line, without the blanks around it; "" where there is none to be read."""
    if not file or not line or line < 0:
        return ""
    lines = source_lines(file)
    return lines[line - 1].strip() if line <= len(lines) else ""


def source_lines(file: str) -> tuple[str, ...]:
    """The lines of a source as compilers count them; () where there is none to be read."""
    try:
        state = Path(file).stat()
    except (OSError, ValueError):
        return lines_of(file)
    # What a damaged cubin or a foreign trace names may be a device that never ends.
    return _lines(file, state.st_mtime_ns, state.st_size) if S_ISREG(state.st_mode) else ()


@functools.lru_cache(64)
def _lines(file: str, time: int, size: int) -> tuple[str, ...]:
    try:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    return tuple(text.removesuffix("\n").split("\n"))  # str.splitlines would end lines at form feeds too
