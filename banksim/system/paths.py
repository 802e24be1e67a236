"""Paths as every checkout of a project has them: reports of one hold in another."""

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any

MARKS = (".git", "pyproject.toml")
"""What the root of a project has; the first one decides."""


@lru_cache(maxsize=4096)
def marked(folder: Path) -> Path | None:
    """The nearest folder, from this one upwards, that is the root of a project."""
    for mark in MARKS:
        for one in (folder, *folder.parents):
            try:
                if (one / mark).exists():
                    return one
            except OSError:  # a folder that may not be looked into, or no folder's name at all
                break
    return None


def root(file: str) -> Path | None:
    """The root of the project that a file lies in: where there are no marks the current folder, if it lies in that."""
    path = Path(file)
    if not path.is_absolute():
        return None
    return marked(path.parent) or next((one for one in [Path.cwd()] if path.is_relative_to(one)), None)


def portable(file: str) -> str:
    """A file's path from the root of its project, with slashes; as it is if it lies in none."""
    base = root(file)
    return (PurePath(file) if base is None else PurePath(file).relative_to(base)).as_posix()


def from_here(text: str) -> str:
    """A message with the paths of files in the current folder as they are from there."""
    return re.sub(rf"(?<![^\s\"'(]){re.escape(os.getcwd())}/", "", text)


def portable_all(plain: object) -> Any:
    """Plain data with every path in it, under the name `file`, made portable."""
    if isinstance(plain, Mapping):
        return {
            name: portable(value) if name == "file" and isinstance(value, str) else portable_all(value)
            for name, value in plain.items()
        }
    return [portable_all(one) for one in plain] if isinstance(plain, list | tuple) else plain
