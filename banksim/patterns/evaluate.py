"""Evaluates expressions for all threads at once: integers, and places in shared memory."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.errors import near
from banksim.patterns import integers, syntax
from banksim.patterns.integers import Numbers, Value
from banksim.patterns.source import PatternError, Span
from banksim.patterns.syntax import Node
from banksim.patterns.threads import AXES, Threads
from banksim.patterns.types import NUMBA, Array, Record, Scalar, Type, dimensions_of

Mask = npt.NDArray[np.bool_]
"""Which threads are meant, of shape (points, threads)."""
Describe = Callable[[int, int], str]
"""What is wrong for the thread at these indices of an array."""


class Variable(NamedTuple):
    """A declared array, struct or scalar: `base` is its byte offset in the block's shared memory.

    `dynamic`: its length is given at launch, so nobody knows where it ends.
    """

    name: str
    type: Type
    base: int
    dynamic: bool
    span: Span


class Place(NamedTuple):
    """Something that can be read or written: for each thread, `offset` bytes into the block's shared memory.

    `what` is the last name on the way to it, `indices` how many indices came behind that name.
    """

    type: Type
    offset: Value
    variable: Variable
    what: str
    indices: int = 0


class Pointer(NamedTuple):
    """The address of a `type`."""

    type: Type
    offset: Value
    variable: Variable


class Scope:
    """The names of one launch at its points from `first` on, and what expressions over them evaluate to.

    `names`: built-in names, loop variables and lets; `constants`: those lets that are the same everywhere.
    `python`: compute as Numba does; `checked`: an index outside its array is a fault. Faults (a division by
    zero, too) become errors when a thread that is active needs the value: in `check`.
    """

    def __init__(
        self,
        threads: Threads,
        first: int,
        names: Mapping[str, Value],
        variables: Mapping[str, Variable],
        python: bool,
        checked: bool,
        constants: frozenset[str],
    ) -> None:
        self.threads = threads
        self.first = first
        self.names: dict[str, Value | Pointer] = dict(names)
        self.variables = variables
        self.python = python
        self.checked = checked
        self.constants = constants
        self.faults: list[tuple[Span, Describe]] = []

    # Faults

    def fault(self, span: Span, describe: Describe) -> int:
        """A number for a new fault."""
        self.faults.append((span, describe))
        return len(self.faults)

    def check(self, fault: Numbers | None, active: Mask) -> None:
        """Raise the error of the first active thread that has a fault."""
        if fault is not None:
            bad = (fault != 0) & active
            if bad.any():
                point, thread = first_true(bad)
                span, describe = self.faults[int(pick(fault, point, thread)) - 1]
                self.refuse(bad, span, describe)

    def refuse(self, bad: Mask, span: Span, describe: Describe) -> None:
        """Raise the error `describe` at `span` for the first thread that is `bad`, if there is one."""
        if bad.any():
            point, thread = first_true(bad)
            who = self.threads.describe(self.first + point, thread)
            raise span.error(f"{describe(point, thread)}, in {who}")

    def known_words(self) -> set[str]:
        """The names that an expression may begin with."""
        return {name.split(".")[0] for name in self.names} | set(self.variables)

    def unknown(self, name: syntax.Name) -> PatternError:
        """The error for a name that nothing declares."""
        hint = near(name.name, self.known_words()) or ": declare it with --declare, or give it with --let or --for"
        return name.span.error(f"unknown name `{name.name}`{hint}")

    # Integers

    def integer(self, node: Node) -> Value:
        """The integer that `node` is."""
        value = self.evaluate(node)
        if isinstance(value, Pointer):
            raise node.span.error(f"`{node.span.written}` is an address: a number is needed here")
        return value

    def condition(self, node: Node, active: Mask) -> Mask:
        """The active threads for which `node` is not 0."""
        value = self.integer(node)
        self.check(value.fault, active)
        true: Mask = active & (value.numbers != 0)
        return true

    def evaluate(self, node: Node) -> Value | Pointer:
        """What `node` is, for every thread; `PatternError` for what only running the kernel would tell."""
        match node:
            case syntax.Number():
                return integers.number(node.value, node.type)
            case syntax.Name() | syntax.Dot() | syntax.Index():
                return self.named(node)
            case syntax.Unary():
                return self.unary(node)
            case syntax.Binary():
                return self.binary(node)
            case syntax.Choice():
                condition, yes, no = (self.integer(part) for part in (node.condition, node.yes, node.no))
                return integers.choose(condition, yes, no, self.python)
            case syntax.Cast():
                return self.cast(node)
            case syntax.Call():
                return self.call(node)
            case syntax.Opaque():
                raise node.span.error(f"{node.what} has no place in an index")
            case syntax.Several():
                raise node.span.error("a tuple has no place here")
        raise node.span.error("an assignment has no place in an index")

    def named(self, node: syntax.Name | syntax.Dot | syntax.Index) -> Value | Pointer:
        """A name's value, or the address that an array's name stands for."""
        name = syntax.dotted(node)
        if name is not None and name in self.names:
            return self.names[name]
        root, _, axis = (name or "").partition(".")
        if root in ("threadIdx", "blockIdx", "blockDim", "gridDim") and root not in self.variables:
            wrong = f"{root} has x, y and z" if axis not in AXES else "a constant is needed here"
            raise node.span.error(f"`{node.span.written}`: {wrong}")
        place = self.place(node)
        if isinstance(place.type, Array):
            return Pointer(place.type.element, place.offset, place.variable)
        raise unknown_content(node)

    def unary(self, node: syntax.Unary) -> Value | Pointer:
        if node.sign == "&":
            place = self.place(node.operand)
            return Pointer(place.type, place.offset, place.variable)
        if node.sign == "*":
            place = self.place(node)
            if isinstance(place.type, Array):
                return Pointer(place.type.element, place.offset, place.variable)
            raise unknown_content(node)
        return integers.unary(node.sign, self.integer(node.operand), self.python)

    def binary(self, node: syntax.Binary) -> Value | Pointer:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        if isinstance(left, Pointer) or isinstance(right, Pointer):
            return self.moved(node, left, right)
        if node.sign in ("&&", "||"):
            return integers.logical(node.sign, left, right, self.python)
        fault = 0
        if node.sign in ("<<", ">>"):
            counts = right.numbers

            def describe(point: int, thread: int) -> str:
                return f"a shift by {pick(counts, point, thread)} is undefined"

            fault = self.fault(node.span, describe)
        elif node.sign in ("/", "//", "%"):
            if self.python and node.sign == "/":
                raise node.span.error("`/` gives a float in Python: write `//`")
            fault = self.fault(node.span, lambda point, thread: "division by zero")
        return integers.binary(node.sign, left, right, self.python, fault)

    def moved(self, node: syntax.Binary, left: Value | Pointer, right: Value | Pointer) -> Pointer:
        """Pointer arithmetic."""
        if isinstance(right, Pointer) and node.sign == "+":
            left, right = right, left
        if not isinstance(left, Pointer) or isinstance(right, Pointer) or node.sign not in ("+", "-"):
            raise node.span.error(f"`{node.sign}` has no meaning for an address in shared memory here")
        steps = right.numbers.astype(np.int64)
        distance = (steps if node.sign == "+" else -steps) * left.type.size
        fault = integers.worse(left.offset.fault, right.fault)
        return left._replace(offset=Value(left.offset.numbers + distance, fault))

    def cast(self, node: syntax.Cast) -> Value | Pointer:
        value = self.evaluate(node.operand)
        if node.pointer:
            if isinstance(value, Value):
                raise node.span.error("a number made into an address: where it points is not known here")
            return value._replace(type=node.type)
        if isinstance(value, Pointer):
            raise node.span.error("an address made into a number: its value is not known here")
        if not isinstance(node.type, Scalar) or node.type.integer is None:
            raise node.span.error(f"a {node.type.name} has no place in an index")
        return integers.convert(value, node.type.integer)

    def call(self, node: syntax.Call) -> Value | Pointer:
        """The few functions that index expressions use."""
        name = syntax.dotted(node.function) or ""
        if name in ("min", "max", "umin", "umax") and len(node.arguments) > 1:
            sides = [self.integer(argument) for argument in node.arguments]
            return integers.extremes(name[-3:], sides, self.python)
        if name == "abs" and len(node.arguments) == 1:
            value = self.integer(node.arguments[0])
            zero = integers.number(0, "i4")
            negative = integers.binary("<", value, zero, self.python, 0)
            return integers.choose(negative, integers.unary("-", value, self.python), value, self.python)
        if self.python and len(node.arguments) == 1:
            if name == "grid" and isinstance(node.arguments[0], syntax.Number) and node.arguments[0].value == 1:
                return self.names["grid(1)"]
            if name in NUMBA and (NUMBA[name].integer or "u")[0] == "i":
                return integers.convert(self.integer(node.arguments[0]), str(NUMBA[name].integer))
        raise node.function.span.error(f"`{node.function.span.written}(…)` has no meaning in an index here")

    # Places

    def is_place(self, node: Node) -> bool:
        """Whether `node` is something in shared memory that can be read: its name is declared."""
        match node:
            case syntax.Name():
                return node.name in self.variables and node.name not in self.names
            case syntax.Dot() | syntax.Index():
                return syntax.dotted(node) not in self.names and self.leads_to_memory(node.base)
            case syntax.Unary(sign="*"):
                return self.leads_to_memory(node.operand)
        return False

    def leads_to_memory(self, node: Node) -> bool:
        """Whether `node` is a place, or an address made from one."""
        match node:
            case syntax.Name():
                return self.is_place(node) or isinstance(self.names.get(node.name), Pointer)
            case syntax.Cast() | syntax.Unary(sign="&"):
                return self.leads_to_memory(node.operand)
            case syntax.Binary(sign="+" | "-"):
                return self.leads_to_memory(node.left) or self.leads_to_memory(node.right)
        return self.is_place(node)

    def place(self, node: Node) -> Place:
        """The place in shared memory that `node` names."""
        match node:
            case syntax.Name():
                return self.variable(node)
            case syntax.Dot():
                return self.member(node)
            case syntax.Index():
                base = self.base(node.base)
                for index in node.indices:
                    base = self.element(base, index, node)
                assert isinstance(base, Place)
                return base
            case syntax.Unary(sign="*"):
                pointer = self.evaluate(node.operand)
                if isinstance(pointer, Pointer):
                    return pointed(pointer, node.span.written)
                raise node.span.error(f"`{node.operand.span.written}` is a number, and `*` needs an address")
        raise node.span.error(f"`{node.span.written}` is no place in shared memory")

    def base(self, node: Node) -> Place | Pointer:
        """What an index is applied to."""
        if self.is_place(node):
            return self.place(node)
        if isinstance(node, syntax.Name) and node.name not in self.names:
            return self.variable(node)
        value = self.evaluate(node)
        if isinstance(value, Value):
            raise node.span.error(f"`{node.span.written}` is a number, and only an array has elements")
        return value

    def variable(self, node: syntax.Name) -> Place:
        variable = self.variables.get(node.name)
        if variable is None:
            raise self.unknown(node)
        return Place(variable.type, integers.number(variable.base, "i8"), variable, variable.name)

    def member(self, node: syntax.Dot) -> Place:
        place = self.place(node.base)
        written = node.base.span.written
        if not isinstance(place.type, Record):
            raise node.name_span.error(f"`{written}` is {place.type.name}, which has no members")
        member = place.type.member(node.name)
        if member is None:
            names = ", ".join(member.name for member in place.type.members)
            raise node.name_span.error(f"`{written}` has no member `{node.name}`: it has {names}")
        moved = place.offset.numbers + member.offset
        return Place(member.type, place.offset._replace(numbers=moved), place.variable, node.name)

    def element(self, base: Place | Pointer, index: Node, node: syntax.Index) -> Place:
        """`base[index]`: a place."""
        value = self.integer(index)
        numbers, fault = value.numbers.astype(np.int64), value.fault
        if isinstance(base, Pointer):
            place = pointed(base, node.base.span.written)
            element: Type = place.type
        elif isinstance(base.type, Array):
            place, element = base, base.type.element
            numbers, outside = self.bounded(numbers, base, base.type.length, index)
            fault = integers.worse(fault, outside)
        else:
            if base.indices == 0:
                raise index.span.error(f"`{base.what}` is {base.type.name}, no array")
            raise index.span.error(f"`{base.what}` has {dimensions(base.indices)}, and more indices are given")
        offset = place.offset.numbers + numbers * element.size
        fault = integers.worse(place.offset.fault, fault)
        return Place(element, Value(offset, fault), place.variable, place.what, place.indices + 1)

    def bounded(
        self, numbers: Numbers, array: Place, length: int | None, index: Node
    ) -> tuple[Numbers, Numbers | None]:
        """The index of an array's element, counted from the end where Python does, and its faults."""
        given = numbers
        if self.python and length is not None:
            numbers = np.where(numbers < 0, numbers + length, numbers)
        outside = numbers < 0
        if length is not None:
            outside = outside | (numbers >= length)
        if not self.checked or not outside.any():
            return numbers, None
        dimensions = array.indices + len(dimensions_of(array.type)[1])
        where = f"`{array.what}`" + (f", dimension {array.indices + 1}" if dimensions > 1 else "")
        end = "" if length is None else f" (0 to {length - 1})"

        def describe(point: int, thread: int) -> str:
            value = pick(given, point, thread)
            wrapped = f" ({value - 2**32} as unsigned int)" if 2**31 <= value < 2**32 else ""
            return f"index {value}{wrapped} is outside {where}{end}"

        return numbers, np.where(outside, self.fault(index.span, describe), 0)


def unknown_content(node: Node) -> PatternError:
    """The error for a read of memory where a number is needed."""
    return node.span.error(f"`{node.span.written}` is read from memory: what it holds is not known here")


def dimensions(count: int) -> str:
    """`2 dimensions`."""
    return f"{count} dimension{'' if count == 1 else 's'}"


def pointed(pointer: Pointer, what: str) -> Place:
    """What a pointer points to."""
    return Place(pointer.type, pointer.offset, pointer.variable, what)


def pick(numbers: np.ndarray, point: int, thread: int) -> int:
    """The element for a thread, of an array whose axes may have length 1."""
    rows, columns = numbers.shape
    return int(numbers[point if rows > 1 else 0, thread if columns > 1 else 0])


def first_true(mask: Mask) -> tuple[int, int]:
    """Where the first True stands."""
    point, thread = np.unravel_index(int(np.argmax(mask)), mask.shape)
    return int(point), int(thread)
