"""Shared arrays in the source of a Numba kernel, found in its syntax tree."""

import ast
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from banksim.advise.kernels.source import SourceArray, SourceSpan, Use
from banksim.architectures.bank_rules import Architecture
from banksim.errors import BanksimError, InputError

PURE = ("min", "max", "abs", "int", "len")
"""Functions that an index may call twice."""


@dataclass(eq=False)
class Rewritten:
    """What `banksim.run` needs of a dispatcher: the function, its options, and its signatures if it has some."""

    py_func: Any
    targetoptions: dict[str, Any]
    _can_compile: bool
    banksim_signatures: list[Any]


class NumbaSource:
    """A Numba kernel. Another function may have made it, whose variables its closure then holds."""

    def __init__(self, kernel: object, file: str | Path | None = None) -> None:
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
        self.made: dict[bytes, Rewritten] = {}
        names = {**body.__globals__, **inspect.getclosurevars(body).nonlocals}
        self.declared = tuple(NumbaReader(self.content, self.definition(self.content), names).arrays())

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
        from banksim.kernels.compilers.numba_arguments import declared

        if content not in self.made:
            signatures = declared(self.dispatcher)
            options = dict(getattr(self.dispatcher, "targetoptions", {}))
            self.made[content] = Rewritten(self.remade(content), options, not signatures, signatures)
        return self.made[content]

    def ahead(self, contents: Iterable[bytes], args: Sequence[object], archs: Sequence[Architecture]) -> None:
        from banksim.runs.resolve import list_numba_ahead

        launches: list[Any] = []
        for content in contents:
            with suppress(BanksimError):  # `kernel` will raise it again
                launches.append((self.kernel(content), args))
        list_numba_ahead(launches, archs)


def codes(content: bytes, file: Path) -> Iterator[CodeType]:
    """The code objects of all functions in a file; none if the file is no Python.

    It is compiled both as a whole and by statements, as either may have been done to run it: Python compiles calls of
    an imported module's functions differently where it sees the import.
    """
    try:
        tree = ast.parse(content)
        parts = [tree, *(ast.Module([statement], []) for statement in tree.body)]
        waiting = [compile(part, str(file), "exec", dont_inherit=True) for part in parts]
    except (SyntaxError, ValueError):
        return
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def is_same(one: CodeType, other: CodeType) -> bool:
    first, second = ((code.co_code, code.co_firstlineno, code.co_names, plain(code)) for code in (one, other))
    return first == second


def plain(code: CodeType) -> list[object]:
    """The constants of a function but for the functions within it."""
    return [constant for constant in code.co_consts if not isinstance(constant, CodeType)]


class NumbaReader:
    """Finds shared arrays and their uses in a function that knows `names`."""

    def __init__(self, content: bytes, function: ast.FunctionDef, names: Mapping[str, object]) -> None:
        self.content, self.function, self.names = content, function, names
        self.starts = [0]
        for line in content.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.parents = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}

    def arrays(self) -> Iterator[SourceArray]:
        """The assignments of `cuda.shared.array(shape, dtype)`."""
        for node in ast.walk(self.function):
            if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
                continue
            called, target = node.value, node.targets[0]
            if not ast.unparse(called.func).endswith("shared.array") or not isinstance(target, ast.Name):
                continue
            given = dict(zip(("shape", "dtype"), called.args, strict=False))
            given |= {word.arg: word.value for word in called.keywords if word.arg}
            shape = given.get("shape")
            if shape is None:
                continue
            lengths = tuple(map(self.place, shape.elts if isinstance(shape, ast.Tuple) else [shape]))
            if any(length.value is None for length in lengths):
                continue  # a length that Numba makes out of more than names and numbers
            array = SourceArray(
                name=target.id,
                line=node.lineno,
                end=self.place(node).end,
                lengths=() if lengths[0].value == 0 else lengths,
                size=element_size(given.get("dtype")),
            )
            yield self.with_uses(array, target, max(1, len(array.lengths)))

    def place(self, node: ast.expr | ast.Assign) -> SourceSpan:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.starts[node.lineno - 1] + node.col_offset
        end = self.starts[node.end_lineno - 1] + node.end_col_offset
        return SourceSpan(start, end, self.content[start:end].decode(errors="surrogateescape"), self.value(node))

    def value(self, node: ast.expr | ast.Assign) -> int | None:
        """The value of an expression of constants."""
        allowed = (ast.Constant, ast.Name, ast.Attribute, ast.BinOp, ast.operator, ast.expr_context)
        if not all(isinstance(part, allowed) for part in ast.walk(node)):
            return None
        assert isinstance(node, ast.expr)
        try:
            found = eval(compile(ast.Expression(node), "length", "eval"), {"__builtins__": {}}, dict(self.names))
        except Exception:  # a name that is no constant, whatever it is made to do
            return None
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def with_uses(self, array: SourceArray, target: ast.Name, dimensions: int) -> SourceArray:
        uses = []
        for node in ast.walk(self.function):
            if isinstance(node, ast.Name) and node.id == array.name and node is not target:
                use = self.use(node, dimensions)
                if isinstance(use, str):
                    return replace(array, fixed=f"line {node.lineno} {use}")
                uses.append(use)
        return replace(array, uses=tuple(uses))

    def use(self, node: ast.Name, dimensions: int) -> Use | str:
        """The access to one element that a mention of an array makes, or why it makes none."""
        parent = self.parents[node]
        indices: list[ast.expr] = []
        outer: ast.expr = node
        if isinstance(parent, ast.Call) and ".atomic." in ast.unparse(parent.func) and parent.args[0] is node:
            outer = parent.args[1]
            indices = outer.elts if isinstance(outer, ast.Tuple) else [outer]
        while isinstance(parent, ast.Subscript) and parent.value is outer:
            indices += parent.slice.elts if isinstance(parent.slice, ast.Tuple) else [parent.slice]
            outer, parent = parent, self.parents[parent]
        if len(indices) != dimensions:
            return "uses it whole"
        if reason := next((reason for index in indices if (reason := self.unrepeatable(index))), ""):
            return reason
        return Use(self.place(node).start, self.place(outer).end, tuple(map(self.place, indices)))

    def unrepeatable(self, index: ast.expr) -> str:
        """Why an index cannot be written twice, or is not that of one element; "" if it can."""
        for part in ast.walk(index):
            if isinstance(part, ast.Slice | ast.Starred) or (isinstance(part, ast.Constant) and part.value is ...):
                return "takes a slice of it"
            if isinstance(part, ast.NamedExpr):
                return "assigns in an index"
            if isinstance(part, ast.Call) and ast.unparse(part.func) not in PURE:
                return f"calls {ast.unparse(part.func)} in an index"
        value = self.value(index) if not isinstance(index, ast.UnaryOp) else -1
        return "counts from the end" if value is not None and value < 0 else ""


def element_size(dtype: ast.expr | None) -> int | None:
    """Bytes of an element of a type such as `numba.float32`."""
    try:
        return np.dtype(ast.unparse(dtype).rpartition(".")[2]).itemsize if dtype is not None else None
    except TypeError:
        return None
