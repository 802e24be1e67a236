"""Lines of Python in the CUDA C++ that TileLang writes.

TileLang can write, before a statement, which line of Python it comes from. It writes none for statements that its own
passes add, and a C++ compiler would go on counting from the line before. So here every statement without a line of
Python gets its line in the C++."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from banksim.kernels.compilers.numba_without_gpu import replaced

ENABLED = "TILELANG_ENABLE_IR_SPAN"
"""The environment variable that tells TileLang whether to keep lines."""
DIRECTIVE = re.compile(r'#line (\d+) "(.*)"$')
GOES_ON = re.compile(r"#pragma |\w+ \w+(?: = .*)?;$|\(\(\w+\*\)\(&__\d+\)\)\[\d+\] = |__\d+\.\w+ = ")
"""How a line begins that belongs to the next one's statement: a hint to the compiler, or a vector's parts."""


@contextmanager
def kept_by_passes() -> Iterator[None]:
    """Within, what a pass of TileLang's writes in place of a user's statement keeps that statement's line. Without
    this, it has the line of TileLang's own Python."""
    before = os.environ.get(ENABLED)
    os.environ[ENABLED] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[ENABLED]
        else:
            os.environ[ENABLED] = before


@contextmanager
def of_callers() -> Iterator[None]:
    """Within, what TileLang's own Python writes for a user (`T.reduce_sum`, which is a macro) has the user's line."""
    try:
        builder: Any = import_module("tilelang.language.eager.builder").Builder
    except Exception:  # the user's file may do without a TileLang that cannot be imported
        yield
        return
    before, package = builder.set_fileline, folder()

    def set_fileline(self: Any, file: str, line: int, name: str) -> None:
        if self.macro_fileline_stack and file.startswith(package):
            file, line, _ = self.macro_fileline_stack[-1]
        before(self, file, line, name)

    with replaced(builder, "set_fileline", set_fileline):
        yield


def folder() -> str:
    """Where TileLang's own Python is."""
    return str(Path(import_module("tilelang").__file__ or "").parent) + os.sep


def without_directives(source: str) -> str:
    """The C++ alone."""
    return "".join(line for line in source.splitlines(keepends=True) if not DIRECTIVE.match(line.strip()))


def told(source: str, file: str, library: str) -> str:
    """The source with a line told for each statement: that of Python where TileLang says it, otherwise that of `file`,
    which holds the C++ alone. `library`: the folder of Python that is not the user's."""
    out = [f'#line 1 "{file}"']
    number, python = 1, ""
    for line in source.splitlines():
        if found := DIRECTIVE.match(line.strip()):
            python = "" if found[2].startswith(library) else line.strip()
            continue
        number += 1
        if not python:
            out.append(line)
            continue
        out += [python, line]
        if not GOES_ON.match(line.strip()):
            out.append(f'#line {number} "{file}"')
            python = ""
    return "\n".join([*out, ""])
