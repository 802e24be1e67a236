"""What an expression is made of, once parsed. Every node knows the piece of text that it stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from banksim.patterns.source import Span
from banksim.patterns.types import Type


class Number(NamedTuple):
    """An integer literal; `type` is NumPy's name of its C type."""

    span: Span
    value: int
    type: str


class Opaque(NamedTuple):
    """A floating-point number or a string: it may be stored, but no address follows from it."""

    span: Span
    what: str


class Name(NamedTuple):
    """A name."""

    span: Span
    name: str


class Dot(NamedTuple):
    """`base.name`."""

    span: Span
    base: Node
    name: str
    name_span: Span


class Index(NamedTuple):
    """`base[i]`, or Numba's `base[i, j]`."""

    span: Span
    base: Node
    indices: tuple[Node, ...]


class Call(NamedTuple):
    """`function(arguments)`."""

    span: Span
    function: Node
    arguments: tuple[Node, ...]


class Several(NamedTuple):
    """Python's tuple `(a, b)`, or C's block of statements `{ a; b; }`."""

    span: Span
    items: tuple[Node, ...]


class Unary(NamedTuple):
    """`- + ~ ! * &` in front of an operand."""

    span: Span
    sign: str
    operand: Node


class Binary(NamedTuple):
    """An operator between two operands; Python's `and` and `or` are `&&` and `||`."""

    span: Span
    sign: str
    left: Node
    right: Node


class Choice(NamedTuple):
    """`condition ? yes : no`, or Python's `yes if condition else no`."""

    span: Span
    condition: Node
    yes: Node
    no: Node


class Cast(NamedTuple):
    """`(type) operand`, to a pointer to `type` if `pointer`."""

    span: Span
    type: Type
    pointer: bool
    operand: Node


class Assign(NamedTuple):
    """`target = value`; `sign` holds the operator of a compound assignment (`+` for `+=`), else nothing."""

    span: Span
    sign: str
    target: Node
    value: Node


class If(NamedTuple):
    """`if (condition) yes; else no`."""

    span: Span
    condition: Node
    yes: Node
    no: Node | None


Node = (
    Number | Opaque | Name | Dot | Index | Call | Several | Unary | Binary | Choice | Cast | Assign | If
)  # fmt: skip


def children(node: Node) -> Iterator[Node]:
    """The nodes directly inside `node`."""
    for part in node[1:]:
        if isinstance(part, Node):
            yield part
        elif isinstance(part, tuple) and not isinstance(part, Span):
            yield from (item for item in part if isinstance(item, Node))


def depth(node: Node) -> int:
    """How deep nodes are nested, found without recursion."""
    level, deepest = [node], 0
    while level:
        deepest += 1
        level = [child for parent in level for child in children(parent)]
    return deepest


def count(nodes: Iterable[Node]) -> int:
    """How many nodes these are, with all inside them."""
    level, total = [*nodes], 0
    while level:
        total += len(level)
        level = [child for parent in level for child in children(parent)]
    return total


def dotted(node: Node) -> str | None:
    """`a.b.c` for names joined by dots, without the module in front of Numba's and NumPy's; else None."""
    words: list[str] = []
    while isinstance(node, Dot):
        words.append(node.name)
        node = node.base
    if not isinstance(node, Name):
        return None
    words.append(node.name)
    while len(words) > 1 and words[-1] in ("cuda", "numba", "np", "numpy", "nb", "math"):
        words.pop()
    return ".".join(reversed(words))
