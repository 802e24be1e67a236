"""Finds the accesses to shared memory in a statement, in the order in which it makes them."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from banksim.patterns import syntax
from banksim.patterns.evaluate import Mask, Place, Scope, dimensions, pick
from banksim.patterns.integers import Numbers
from banksim.patterns.source import Span
from banksim.patterns.syntax import Node
from banksim.patterns.threads import check_requests
from banksim.patterns.types import Array, Piece, Scalar, dimensions_of, pieces

SHARED_LIMIT = 227 * 1024
"""Bytes of shared memory that a block can have on any GPU so far (sm_90, sm_100)."""
MOST_PIECES = 64
"""The most accesses that one read of a whole struct may become."""

ATOMICS = {
    "add": "atom", "sub": "atom", "and": "atom", "or": "atom", "xor": "atom", "min": "atom", "max": "atom",
    "inc": "atom", "dec": "atom", "exch": "exch", "cas": "cas",
}  # fmt: skip
"""By what follows `atomic` in CUDA C++ and `cuda.atomic.` in Numba: the op."""
MERGED = {"add": 1, "inc": 0xFFFFFFFF}
"""Atomics that become ATOMS.POPC.INC when their operand is this constant and their result is not used."""
SYNCHRONISATIONS = {
    "__syncthreads": 1, "syncthreads": 1, "__syncwarp": 0, "syncwarp": 0, "__threadfence_block": 0,
    "__threadfence": 0,
}  # fmt: skip
"""Functions that may stand between accesses, and how many barriers they are."""


class ThreadAccesses(NamedTuple):
    """One access of all threads: `address` in bytes and `active`, both broadcast to (points, threads).

    `barriers`: how many barriers stand before it.
    """

    text: str
    op: str
    width: int
    address: Numbers
    active: Mask
    barriers: int


class Finder:
    """Walks statements within a scope and collects their accesses."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.found: list[ThreadAccesses] = []
        self.barriers = 0

    def statement(self, node: Node, active: Mask) -> None:
        """The accesses of a statement, of which there must be one, or a barrier."""
        before = len(self.found)
        if not isinstance(node, STATEMENTS):
            self.require_known(node)
        self.visit(node, active, used=False)
        if len(self.found) == before and not is_synchronisation(node):
            self.require_known(node)
            raise node.span.error("this reads or writes no array that is declared in shared memory")

    def store(self, node: Node, active: Mask) -> None:
        """The accesses of a statement, or of a place that is written."""
        if isinstance(node, STATEMENTS):
            self.statement(node, active)
        else:
            self.emit(self.scope.place(node), "st", node.span, active)

    def require_known(self, node: Node) -> None:
        """Raise the error of a name in `node` that nothing declares: it may be meant for an array."""
        for name in self.free_names(node):
            if name.name not in self.scope.known_words():
                raise self.scope.unknown(name)

    def free_names(self, node: Node) -> Iterator[syntax.Name]:
        """The names in `node`, outermost first, but for those of functions and built-in ones with dots."""
        level = [node]
        while level:
            inside: list[Node] = []
            for inner in level:
                if isinstance(inner, syntax.Name):
                    yield inner
                elif isinstance(inner, syntax.Call):
                    inside.extend(inner.arguments)
                elif syntax.dotted(inner) not in self.scope.names:
                    inside.extend(syntax.children(inner))
            level = inside

    def touches(self, node: Node) -> bool:
        """Whether a name in `node` stands for something in shared memory."""
        return any(self.scope.leads_to_memory(name) for name in self.free_names(node))

    def visit(self, node: Node, active: Mask, used: bool = True) -> None:
        """The accesses that computing `node` makes; `used`: whether its value goes anywhere."""
        if self.scope.is_place(node):
            self.emit(self.scope.place(node), "ld", node.span, active)
            return
        match node:
            case syntax.Assign():
                self.assign(node, active)
            case syntax.If():
                self.visit(node.condition, active)
                self.branch(node.condition, active, True, node.yes, used)
                if node.no is not None:
                    self.branch(node.condition, active, False, node.no, used)
            case syntax.Several():
                for item in node.items:
                    self.visit(item, active, used)
            case syntax.Binary(sign="&&" | "||"):
                self.visit(node.left, active)
                self.branch(node.left, active, node.sign == "&&", node.right, used)
            case syntax.Choice():
                self.visit(node.condition, active)
                self.branch(node.condition, active, True, node.yes, used)
                self.branch(node.condition, active, False, node.no, used)
            case syntax.Call() if is_synchronisation(node):
                self.barriers += SYNCHRONISATIONS[syntax.dotted(node.function) or ""]
            case syntax.Call():
                self.call(node, active, used)
            case syntax.Unary(sign="&") if self.scope.leads_to_memory(node):
                raise node.span.error("what is done with this address in shared memory is not known here")
            case _:
                for child in syntax.children(node):
                    self.visit(child, active)

    def branch(self, condition: Node, active: Mask, when: bool, node: Node, used: bool) -> None:
        """The accesses of `node`, computed only by threads for which the condition is `when`."""
        if self.touches(node):
            true = self.scope.condition(condition, active)
            self.visit(node, true if when else active & ~true, used)

    def assign(self, node: syntax.Assign, active: Mask) -> None:
        """The reads of the value, and of the target if the assignment is compound; then the write."""
        if isinstance(node.target, syntax.Name) and node.target.name in self.scope.names:
            raise node.target.span.error(f"`{node.target.name}` has its value already and cannot change")
        if not self.scope.is_place(node.target):
            self.visit(node.target, active)
            self.visit(node.value, active)
            return
        place = self.scope.place(node.target)
        if node.sign:
            self.emit(place, "ld", node.target.span, active)
        self.visit(node.value, active)
        self.emit(place, "st", node.target.span, active)

    def call(self, node: syntax.Call, active: Mask, used: bool) -> None:
        """The accesses of a function's arguments, and of an atomic function itself."""
        atomic = atomic_parts(node)
        if atomic is None:
            for argument in node.arguments:
                self.visit(argument, active)
            return
        what, target, operands = atomic
        shared = self.scope.is_place(target)
        if not shared:
            self.visit(target, active)
        for operand in operands:
            self.visit(operand, active)
        if shared:
            place = self.scope.place(target)
            self.emit(place, self.atomic_op(node, what, place, operands[0], used), node.span, active)

    def atomic_op(self, node: syntax.Call, what: str, place: Place, value: Node, used: bool) -> str:
        """The op that the compiler makes of an atomic function, as nvcc 13.4 does for sm_90."""
        type_ = place.type
        if not isinstance(type_, Scalar):
            raise node.span.error(f"`{place.what}` is {type_.name}: an atomic function takes one number")
        native = type_.size == 4 and type_.integer is not None
        if what in ("exch", "cas"):
            native = type_.size in (4, 8)
        if not native:
            raise node.span.error(
                f"`{node.function.span.written}` on {type_.name} in shared memory becomes a loop of reads "
                "and compare-and-swaps: how often it runs is not known here"
            )
        merged = not used and what in MERGED and self.constant(value) == MERGED[what]
        return "popc_inc" if merged else ATOMICS[what]

    def constant(self, node: Node) -> int | None:
        """The value of `node` if it is a number, a let that is one, or a cast of these."""
        inner = node
        while isinstance(inner, syntax.Cast):
            inner = inner.operand
        if isinstance(inner, syntax.Number) or (isinstance(inner, syntax.Name) and inner.name in self.scope.constants):
            return int(self.scope.integer(node).numbers.flat[0])
        return None

    def emit(self, place: Place, op: str, span: Span, active: Mask) -> None:
        """The accesses that read or write the whole of `place`."""
        scope = self.scope
        scope.check(place.offset.fault, active)
        if isinstance(place.type, Array):
            total = place.indices + len(dimensions_of(place.type)[1])
            given = "1 index is" if place.indices == 1 else f"{place.indices or 'no'} indices are"
            raise span.error(f"`{place.what}` has {dimensions(total)}, and {given} given")
        parts = list(islice(pieces(place.type), MOST_PIECES + 1))
        if len(parts) > MOST_PIECES:
            raise span.error(f"`{span.written}` is more than {MOST_PIECES} accesses: name a part of it")
        for part in parts:
            address = self.checked_address(place, part, span, active)
            text = span.written + part.suffix
            self.found.append(ThreadAccesses(text, op, part.width, address, active, self.barriers))
            check_requests(scope.threads, len(self.found))

    def checked_address(self, place: Place, part: Piece, span: Span, active: Mask) -> Numbers:
        """The addresses of a part of `place`; for active threads in its variable, not negative, aligned."""
        address, width = place.offset.numbers + part.offset, part.width
        if self.scope.checked:
            self.require_inside(address, width, place, span, active)
        address = address.astype(np.int32)  # as the GPU computes: shared memory has addresses of 32 bits

        def negative(point: int, thread: int) -> str:
            return f"address {pick(address, point, thread)} is negative"

        def misaligned(point: int, thread: int) -> str:
            where = pick(address, point, thread)
            return f"misaligned: an access of {width} bytes at {where}, which is no multiple of {width}"

        self.scope.refuse((address < 0) & active, span, negative)
        self.scope.refuse((address % width != 0) & active, span, misaligned)
        return address

    def require_inside(self, address: Numbers, width: int, place: Place, span: Span, active: Mask) -> None:
        """Refuse addresses outside the variable, which pointers can reach."""
        variable = place.variable
        end = SHARED_LIMIT if variable.dynamic else variable.base + variable.type.size
        why = f", which has {variable.type.size} bytes"
        if variable.dynamic:
            why = f": no GPU gives a block more than {SHARED_LIMIT} bytes"

        def outside(point: int, thread: int) -> str:
            return f"byte {pick(address, point, thread) - variable.base} is outside `{variable.name}`{why}"

        self.scope.refuse(((address < variable.base) | (address + width > end)) & active, span, outside)


STATEMENTS = (syntax.Assign, syntax.If, syntax.Call, syntax.Several)
"""What may hold names of registers and of arrays in global memory, which nothing declares."""


def is_synchronisation(node: Node) -> bool:
    """Whether `node` calls a barrier or a fence."""
    return isinstance(node, syntax.Call) and syntax.dotted(node.function) in SYNCHRONISATIONS


def atomic_parts(node: syntax.Call) -> tuple[str, Node, tuple[Node, ...]] | None:
    """What an atomic function does, the place where it does it, and its operands; None for other functions.

    CUDA C++ writes `atomicAdd(&s[i], v)`; Numba `cuda.atomic.add(s, i, v)`, and for `s[0]`
    `cuda.atomic.compare_and_swap(s, old, v)`.
    """
    name = syntax.dotted(node.function) or ""
    python = name.startswith("atomic.")
    what = name[7:].rstrip("_") if python else name[6:].removesuffix("_block").removesuffix("_system").lower()
    arguments = node.arguments
    if python and what == "compare_and_swap" and arguments:
        what = "cas"
        arguments = (arguments[0], syntax.Number(node.span, 0, "i8"), *arguments[1:])
    if not name.startswith("atomic") or what not in ATOMICS or len(arguments) < (3 if python else 2):
        return None
    if not python:
        pointer = arguments[0]
        return what, syntax.Unary(pointer.span, "*", pointer), arguments[1:]
    array, index = arguments[:2]
    indices = index.items if isinstance(index, syntax.Several) else (index,)
    return what, syntax.Index(array.span.to(index.span), array, indices), arguments[2:]
