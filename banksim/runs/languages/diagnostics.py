"""What a compiler that is built on MLIR and LLVM says on standard error, where it fails or ends its process."""

import re
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

from banksim.errors import CompileError
from banksim.system.own_process import apart

Result = TypeVar("Result")

DIAGNOSTIC = re.compile(r"(?:\berror|\bnote|LLVM ERROR): |(?=Assertion )")
"""What marks a line that tells what is wrong, and stands before that."""
_said = set[str]()


def outlived(compile: Callable[[], Result], where: str, arch: str) -> Result:
    """What `compile` returns, in a process of its own. Its standard error is passed on once if all is well; an
    error has only the lines that tell what is wrong, without the code that the compiler lists."""
    done = apart(compile)
    if done.value is not None:
        if done.said not in _said:
            _said.add(done.said)
            sys.stderr.write(done.said)
        return done.value
    lines = [line.strip() for line in uncoloured(done.said).splitlines() if DIAGNOSTIC.search(line)]
    gist = gist_of(lines)
    if done.ended:
        raise CompileError(
            "\n".join([f"{where}: its compiler gave up on code for {arch} ({gist or done.ended})", *lines])
        )
    if isinstance(done.error, CompileError) and gist:
        raise CompileError("\n".join([f"{str(done.error).splitlines()[0]}: {gist}", *lines]))
    raise done.error or CompileError(f"{where}: its compiler made nothing")


def gist_of(lines: Sequence[str]) -> str:
    """The last error message; where it only says that there were errors, the step that failed."""
    errors = [line for line in lines if "note: " not in line and "Failures have been detected" not in line]
    found = DIAGNOSTIC.split((errors or [*lines] or [""])[-1])[-1]
    return found.partition(": reproducer generated")[0]


def uncoloured(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)
