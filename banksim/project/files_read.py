"""Runs a command of banksim and notes every file that Python reads meanwhile: what its report depends on."""

import json
import os
import runpy
import sys
import sysconfig
from collections.abc import Iterable
from importlib.util import source_from_cache
from pathlib import Path

from banksim.system import cache

INSTALLED = ("stdlib", "platstdlib", "purelib", "platlib")
"""The folders whose files change only when something is installed."""


def main() -> None:
    """`FILE COMMAND …`: run the command; FILE gets the names of what was read, as JSON."""
    target, *words = sys.argv[1:]
    target = os.path.abspath(target)
    read: set[str] = set()

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str) and not flags(arguments) & os.O_WRONLY:
            read.add(os.path.abspath(arguments[0]))

    sys.addaudithook(note)
    sys.argv = ["banksim", *words]
    try:
        runpy.run_module("banksim", run_name="__main__", alter_sys=True)
    finally:
        Path(target).write_text(json.dumps(sorted(own(frozenset(read) - {target}))), encoding="utf-8")


def flags(arguments: tuple[object, ...]) -> int:
    return arguments[2] if isinstance(arguments[2], int) else 0


def own(read: Iterable[str]) -> set[str]:
    """Those of the user's files: no installed ones, nor banksim's, nor what is cached or has gone."""
    places = [*(sysconfig.get_paths()[name] for name in INSTALLED), Path(__file__).parents[1], cache.folder()]
    others = [os.path.join(os.path.realpath(str(place)), "") for place in places]
    found = set()
    for name in read:
        file = os.path.realpath(name)
        if f"{os.sep}__pycache__{os.sep}" in file or (sys.pycache_prefix and file.startswith(sys.pycache_prefix)):
            try:
                file = source_from_cache(file)
            except ValueError:  # a cache of Numba's, made from sources that are read too
                continue
        if os.path.isfile(file) and not file.startswith((*others, "/proc/", "/dev/", "/sys/")):
            found.add(file)
    return found
