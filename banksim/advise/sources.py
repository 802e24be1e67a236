"""Where a kernel's source declares its shared arrays, and how to make their rows longer there.

Places are byte offsets: nothing but the length of a row changes in the file.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Protocol

from banksim.errors import InputError

SIMPLE = re.compile(r"[\w.]+(?: *[-+*/] *[\w.]+)*")
"""Expressions to which a number can be added without brackets."""
COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
SHARED = re.compile(rb"__shared__\s[^;{}=]*;")
DECLARATOR = re.compile(rb"(\w+)\s*((?:\[[^\[\]]*\]\s*)+)(?=[,;])")
LENGTH = re.compile(rb"\[\s*([^\[\]]*?)\s*\]")


@dataclass(frozen=True)
class Declared:
    """A shared array of several dimensions: `row` is the length of its rows as written, at bytes `start` to `end`.

    `value`: that length, where a number must stand in the place of a name, as Numba wants it.
    """

    name: str
    line: int
    row: str
    start: int
    end: int
    value: int | None = None

    def longer(self, more: int) -> str:
        """The length of a row with `more` elements more."""
        if self.value is not None or self.row.isdecimal():
            return str((int(self.row) if self.value is None else self.value) + more)
        return f"{self.row} + {more}" if SIMPLE.fullmatch(self.row) else f"({self.row}) + {more}"


class Source(Protocol):
    """A kernel's source: a file's content, the shared arrays declared in the kernel, and how to compile it anew."""

    file: Path
    name: str
    content: bytes
    declared: tuple[Declared, ...]

    def kernel(self, content: bytes) -> Any:
        """The kernel of this content of the file, as `banksim.run` takes it."""


def padded(content: bytes, paddings: Mapping[Declared, int]) -> bytes:
    """The file with longer rows."""
    for declared in sorted(paddings, key=lambda one: -one.start):
        longer = declared.longer(paddings[declared]).encode()
        content = content[: declared.start] + longer + content[declared.end :]
    return content


def require_arrays(source: Source) -> None:
    if not source.declared:
        raise InputError(
            f"{source.file}: {source.name} declares no shared array of two dimensions whose rows could be longer"
        )


# ---- Numba
@dataclass(eq=False)
class Rewritten:
    """What `banksim.run` needs of a dispatcher: the function, its options, and its signatures if it has some."""

    py_func: Any
    targetoptions: dict[str, Any]
    _can_compile: bool
    banksim_signatures: list[Any]


class NumbaSource:
    """A Numba kernel, whose function may be made by another with variables of that one in its closure."""

    def __init__(self, kernel: Any, file: str | Path | None = None) -> None:
        """`file`: how the user calls the file."""
        body = getattr(kernel, "py_func", kernel)
        if not isinstance(body, FunctionType):
            raise InputError(f"{kernel!r} is no Numba kernel")
        self.dispatcher, self.function = kernel, body
        self.name = body.__name__
        self.file = Path(file or body.__code__.co_filename)
        try:
            self.content = self.file.read_bytes()
        except OSError as error:
            raise InputError(f"{self.name}: its source cannot be read: {error.strerror} ({self.file})") from None
        if not any(is_same(body.__code__, code) for code in codes(self.content, self.file)):
            raise self.changed()
        names = {**body.__globals__, **inspect.getclosurevars(body).nonlocals}
        self.declared = tuple(numba_arrays(self.definition(self.content), self.content, names))

    def changed(self) -> InputError:
        return InputError(f"{self.file}: it changed since {self.name} was imported: run again")

    def definition(self, content: bytes) -> ast.FunctionDef:
        """The function in the file."""
        first = self.function.__code__.co_firstlineno
        try:
            tree = ast.parse(content)
        except SyntaxError:
            raise self.changed() from None
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == self.name:
                lines = [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]
                if min(lines) == first:
                    return node
        raise self.changed()

    def remade(self, content: bytes) -> FunctionType:
        """The function as this content of its file has it, in the place of the original."""
        node = self.definition(content)
        node.decorator_list = []
        free = self.function.__code__.co_freevars
        arguments = ast.arguments(
            posonlyargs=[], args=[ast.arg(name) for name in free], kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        outer = ast.FunctionDef("outer", arguments, [node, ast.Return(ast.Name(self.name, ast.Load()))], [])
        module = ast.fix_missing_locations(ast.Module([outer], []))
        names = dict(self.function.__globals__)
        exec(compile(module, self.function.__code__.co_filename, "exec", dont_inherit=True), names)
        cells = [cell.cell_contents for cell in self.function.__closure__ or ()]
        made = names["outer"](*cells)
        assert isinstance(made, FunctionType)
        return made

    def kernel(self, content: bytes) -> Rewritten:
        from banksim.compilers.numba import declared

        signatures = declared(self.dispatcher)
        options = dict(getattr(self.dispatcher, "targetoptions", {}))
        return Rewritten(self.remade(content), options, not signatures, signatures)


def codes(content: bytes, file: Path) -> Iterator[CodeType]:
    """Of all functions in a file; none if it is no Python."""
    try:
        waiting = [compile(content, str(file), "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def is_same(one: CodeType, other: CodeType) -> bool:
    return (one.co_code, one.co_firstlineno, one.co_names, plain(one)) == (
        other.co_code,
        other.co_firstlineno,
        other.co_names,
        plain(other),
    )


def plain(code: CodeType) -> list[object]:
    """The constants of a function but for the functions within it."""
    return [constant for constant in code.co_consts if not isinstance(constant, CodeType)]


def numba_arrays(function: ast.FunctionDef, content: bytes, names: Mapping[str, Any]) -> Iterator[Declared]:
    """The assignments of `cuda.shared.array((…, row), …)` in a function that knows `names`."""
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in ast.walk(function):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        called, target = node.value, node.targets[0]
        if not ast.unparse(called.func).endswith("shared.array") or not isinstance(target, ast.Name):
            continue
        shapes = [*called.args[:1], *(word.value for word in called.keywords if word.arg == "shape")]
        if shapes and isinstance(shapes[0], ast.Tuple) and len(shapes[0].elts) > 1:
            row = shapes[0].elts[-1]
            assert row.end_lineno is not None
            assert row.end_col_offset is not None
            start = starts[row.lineno - 1] + row.col_offset
            end = starts[row.end_lineno - 1] + row.end_col_offset
            value = row.value if isinstance(row, ast.Constant) else names.get(ast.unparse(row))
            if isinstance(value, int):
                yield Declared(target.id, node.lineno, content[start:end].decode(), start, end, value)


# ---- CUDA C++
class CudaSource:
    """A kernel of a CUDA C++ file."""

    def __init__(
        self, file: str | Path, name: str, defines: Sequence[str], includes: Sequence[str | Path], std: str | None
    ) -> None:
        self.file, self.name = Path(file), name
        self.options: dict[str, Any] = {"defines": defines, "includes": [self.file.parent, *includes], "std": std}
        try:
            self.content = self.file.read_bytes()
        except OSError as error:
            raise InputError(f"{file}: {error.strerror}") from None
        self.declared = tuple(cuda_arrays(self.content, name))

    def kernel(self, content: bytes) -> Any:
        from banksim.compilers import compile_cuda
        from banksim.kernels import Module
        from banksim.sass.cubin import decode

        def compiled(*instances: str) -> Mapping[str, Any]:
            text = content.decode(errors="surrogateescape") + "\n"
            return decode(compile_cuda(text, "sm_90", **self.options, instances=instances))

        return Module(compiled(), str(self.file), compiled)[self.name]


def cuda_arrays(content: bytes, name: str) -> Iterator[Declared]:
    """The declarations of `__shared__ T array[…][row]` in the body of a kernel."""
    code = COMMENT.sub(lambda match: re.sub(rb"[^\n]", b" ", match[0]), content)
    start, end = body(code, name.partition("<")[0].rpartition("::")[2].partition("(")[0].encode())
    for statement in SHARED.finditer(code, start, end):
        for match in DECLARATOR.finditer(code, *statement.span()):
            lengths = list(LENGTH.finditer(code, *match.span(2)))
            if len(lengths) > 1:
                first, last = lengths[-1].span(1)
                line = code.count(b"\n", 0, match.start()) + 1
                yield Declared(match[1].decode(), line, content[first:last].decode(), first, last)


def body(code: bytes, name: bytes) -> tuple[int, int]:
    """Where the body of the kernel `name` begins and ends; an empty place if it is not in this file."""
    for match in re.finditer(rb"\b__global__\b[^;{}]*?\b" + re.escape(name) + rb"\s*\(", code):
        start = code.find(b"{", match.end())
        depth = 0
        for brace in re.finditer(rb"[{}]", code[start:]) if start >= 0 else ():
            depth += 1 if brace[0] == b"{" else -1
            if not depth:
                return start, start + brace.end()
    return 0, 0


# ---- the file
def write(file: Path, before: bytes, after: bytes) -> None:
    """Put `after` into the file in one step. `InputError` if it is read-only or no longer holds `before`."""
    target = file.resolve()
    try:
        mode = target.stat().st_mode
        if not mode & stat.S_IWUSR or not os.access(target, os.W_OK):
            raise InputError(f"{file}: it is read-only: nothing was written")
        if target.read_bytes() != before:
            raise InputError(f"{file}: it changed meanwhile: nothing was written; run again")
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
        try:
            with os.fdopen(handle, "wb") as new:
                new.write(after)
            os.chmod(name, stat.S_IMODE(mode))
            os.replace(name, target)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}: nothing was written") from None
