"""Completion of commands, options, files, kernels, architectures and entries in shells, by argcomplete if it is there.

eval "$(register-python-argcomplete banksim)"
"""

import os
import re
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path

from banksim.commands import COMMANDS

SOURCES = (".py", ".cu", ".cuh", ".cpp", ".cxx", ".cc")
ATTRIBUTES = re.compile(r"__\w+__\s*\([^)]*\)")
"""Such as __launch_bounds__(256), which stands between __global__ and the name."""
OF_CUDA = re.compile(r"__global__\s[^;{(]*?(\w+)\s*\(")
OF_NUMBA = re.compile(r"^@(?:\w+\.)*jit\b.*?^def\s+(\w+)", re.MULTILINE | re.DOTALL)


def complete(parser_of: Callable[[str], ArgumentParser]) -> None:
    """Answer the shell, and end the process, if argcomplete is installed."""
    try:
        import argcomplete
    except ImportError:
        return
    begun = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", "0"))]
    words = begun.split()[1:]
    done = len(words) - (not begun.endswith(" "))  # words that the user has ended
    names = [name for name in COMMANDS if name.split() == words[: len(name.split())] and len(name.split()) <= done]
    if not names:
        parser = ArgumentParser("banksim")
        parser.add_argument("command", choices=[name for name in COMMANDS if " " not in name])
    else:
        name = max(names, key=len)
        parser = parser_of(name)
        os.environ["_ARGCOMPLETE"] = str(1 + len(name.split()))  # where the parser's own words begin
        prepare(parser, name)
    argcomplete.autocomplete(parser, always_complete_options="long")


def prepare(parser: ArgumentParser, name: str) -> None:
    """Say what completes the arguments of a command; files complete all others."""
    special: dict[tuple[str, str] | str, Callable[..., list[str]]] = {
        "arch": architectures,
        ("arch", "name"): architectures,
        ("check", "name"): entries,
        ("advise", "access"): lambda prefix, **_: ["kernel"],
        "kernel": kernels,
    }
    for action in parser._actions:
        found: object = special.get((name, action.dest)) or special.get(action.dest)
        if found:
            action.completer = found  # type: ignore[attr-defined]


def architectures(prefix: str, **_: object) -> list[str]:
    """Names of architectures and GPUs, behind the commas that stand there already."""
    from banksim.architectures.bank_rules import presets
    from banksim.architectures.gpus import GPUS

    before = prefix[: prefix.rfind(",") + 1]
    gpus = [name for names in GPUS.values() for name in names]
    return [before + name for name in (*presets(), *gpus)]


def kernels(prefix: str, **_: object) -> list[str]:
    """Files and folders, and behind a file's name its kernels."""
    file, colon, _name = prefix.partition(":")
    if colon or Path(file).is_file():
        return [f"{file}:{name}" for name in names_in(file)]
    folder = Path(file if file.endswith("/") else os.path.dirname(file) or ".")
    try:
        found = sorted(folder.iterdir())
    except OSError:
        return []
    shown = [one for one in found if one.is_dir() or one.suffix in (*SOURCES, ".ptx", ".cubin")]
    return [os.path.join(os.path.dirname(file), one.name) + ("/" if one.is_dir() else "") for one in shown]


def names_in(file: str) -> Sequence[str]:
    """The kernels that a source defines, by a look at its text: nothing is compiled or imported."""
    try:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    found = OF_NUMBA.findall(text) if file.endswith(".py") else OF_CUDA.findall(ATTRIBUTES.sub("", text))
    return list(dict.fromkeys(found))


def entries(prefix: str, **_: object) -> list[str]:
    """The entries of the project's file."""
    from banksim.errors import InputError
    from banksim.project.file import find, read

    try:
        return [one.name for one in read(find(Path.cwd())).entries]
    except InputError:
        return []
