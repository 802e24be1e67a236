"""LLVM's intermediate representation, written as text while it is built: what llvmlite's own `ir` makes objects of, and
those text at last, takes three times as long, and a kernel's instructions become some hundred of them each.

LLVM checks the text when it parses it. Here types are told only as far as code that translates asks for them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import count

WEIGHTS = '!0 = !{!"branch_weights", i32 99, i32 1}\n!1 = !{!"branch_weights", i32 1, i32 99}\n'
"""Metadata of every text: how likely conditions are."""


# ---- types
class Type:
    """A type, which its text tells from others."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __call__(self, constant: object) -> Constant:
        return Constant(self, constant)

    def written(self, constant: object) -> str:
        """A constant of this type."""
        return str(constant)


class FloatType(Type):
    __slots__ = ("bits",)

    def __init__(self, bits: int) -> None:
        super().__init__({16: "half", 32: "float", 64: "double"}[bits])
        self.bits = bits

    def written(self, constant: object) -> str:
        """LLVM reads the bits of a double; of a half its own."""
        assert isinstance(constant, float)
        if self.bits == 16:
            return f"0xH{int.from_bytes(struct.pack('>e', constant)):04X}"
        if self.bits == 32:
            (constant,) = struct.unpack(">f", struct.pack(">f", constant))
        return f"0x{int.from_bytes(struct.pack('>d', constant)):016X}"


class Several(Type):
    """A vector or an array."""

    __slots__ = ("count", "element")

    brackets = "<>"

    def __init__(self, element: Type, count: int) -> None:
        super().__init__(f"{self.brackets[0]}{count} x {element.text}{self.brackets[1]}")
        self.element, self.count = element, count

    def written(self, constant: object) -> str:
        assert isinstance(constant, Sequence)
        return f"{self.brackets[0]}{listed(constant)}{self.brackets[1]}"


class VectorType(Several):
    __slots__ = ()

    def written(self, constant: object) -> str:
        """A constant for each lane, or one for all."""
        return f"splat ({constant.typed})" if isinstance(constant, Constant) else super().written(constant)


class ArrayType(Several):
    __slots__ = ()

    brackets = "[]"


class StructType(Type):
    __slots__ = ("elements",)

    def __init__(self, *elements: Type) -> None:
        super().__init__(f"{{ {', '.join(map(str, elements))} }}")
        self.elements = elements


BOOL, POINTER, VOID = Type("i1"), Type("ptr"), Type("void")


def as_many(element: Type, like: Type) -> Type:
    """A type with as many elements as another."""
    return VectorType(element, like.count) if isinstance(like, VectorType) else element


# ---- values
class Value:
    """What an operand is: its type, and how it is named."""

    __slots__ = ("text", "type")

    def __init__(self, type: Type, text: str) -> None:
        self.type, self.text = type, text

    @property
    def typed(self) -> str:
        return f"{self.type.text} {self.text}"


def listed(values: Sequence[Value]) -> str:
    return ", ".join([f"{v.type.text} {v.text}" for v in values])


class Constant(Value):
    """`constant`: a number; of a vector or an array one `Constant` for each element, of a vector also one for all; None
    for zeros; `UNDEFINED`."""

    __slots__ = ("constant",)

    def __init__(self, type: Type, constant: object) -> None:
        self.constant = constant
        text = "zeroinitializer" if constant is None else "undef" if constant is UNDEFINED else type.written(constant)
        super().__init__(type, text)

    def is_all(self, number: int) -> bool:
        """Whether it is this number, in every lane."""
        scalar = self.constant.constant if isinstance(self.constant, Constant) else self.constant
        return scalar == number or (scalar is None and number == 0)


UNDEFINED = object()
"""The value of a constant that may be any."""


class Recast(Value):
    """The bits of another value as another type."""

    __slots__ = ("source",)

    def __init__(self, recast: Value, source: Value) -> None:
        super().__init__(recast.type, recast.text)
        self.source = source


class Joined(Value):
    """A value made of others, its words."""

    __slots__ = ("words",)

    def __init__(self, whole: Value, *words: Value) -> None:
        super().__init__(whole.type, whole.text)
        self.words = words


class Slot(Value):
    """A local variable: where it lies, and the type of what it holds."""

    __slots__ = ("holds",)

    def __init__(self, text: str, holds: Type) -> None:
        super().__init__(POINTER, text)
        self.holds = holds


class Phi(Value):
    """What a block was entered with; it is written when all its values are known."""

    __slots__ = ("incoming",)

    def __init__(self, type: Type, text: str) -> None:
        super().__init__(type, text)
        self.incoming: list[tuple[Value, Block]] = []

    def add_incoming(self, value: Value, block: Block) -> None:
        self.incoming.append((value, block))

    def __str__(self) -> str:
        incoming = ", ".join(f"[ {value.text}, {block.last} ]" for value, block in self.incoming)
        return f"  {self.text} = phi {self.type.text} {incoming}\n"


class Switch:
    """A branch by a number, which is written when all its cases are known."""

    __slots__ = ("cases", "start")

    def __init__(self, number: Value, default: Block) -> None:
        self.start, self.cases = f"  switch {number.typed}, label {default.text}", list[str]()

    def add_case(self, number: Constant, block: Block) -> None:
        self.cases.append(f"{number.typed}, label {block.text}")

    def __str__(self) -> str:
        return f"{self.start} [ {' '.join(self.cases)} ]\n"


# ---- functions and modules
MOST_LINES = 250
"""Of a block as LLVM is given it. Where code is compiled quickly, LLVM puts the instructions of a block in order in a
time that grows with the square of their number: 3,000 lines took it 35 s, and in pieces a quarter of a second."""


class Block:
    """A basic block: its lines, its values by what computes them, and the numbers that make names unique in its
    function. A long one is written as several, each of which goes on in the next."""

    __slots__ = ("function", "is_terminated", "lines", "text", "values")

    def __init__(self, function: Function, name: str) -> None:
        self.function, self.is_terminated = function, False
        self.lines: list[str | Phi | Switch] = []
        self.values: dict[str, Value] = {}
        self.text = f"%{name}.{next(function.numbers)}"

    @property
    def pieces(self) -> range:
        """The lines at which pieces begin. The first block of a function is one piece, for it has the local variables;
        the last two lines belong together, as a call in the place of this one and its return."""
        first = self is self.function.blocks[0]
        return range(0, 1 if first else max(len(self.lines) - 1, 1), MOST_LINES)

    def piece(self, start: int) -> str:
        return f"{self.text}.{start}" if start else self.text

    @property
    def last(self) -> str:
        """The name of the piece from which other blocks are entered."""
        return self.piece(self.pieces[-1])

    def __str__(self) -> str:
        starts = self.pieces
        lines = [f"{self.text[1:]}:\n", *map(str, self.lines)]
        for start in reversed(starts[1:]):
            name = self.piece(start)
            lines.insert(start + 1, f"  br label {name}\n{name[1:]}:\n")
        return "".join(lines)


class Function(Value):
    """A function of a module: declared, until it has a block."""

    def __init__(self, module: Module, result: Type, arguments: Sequence[Type], name: str) -> None:
        super().__init__(POINTER, f'@"{name}"')
        self.name, self.result, self.numbers = name, result, count()
        self.args = [Value(one, f"%v{next(self.numbers)}") for one in arguments]
        self.attributes: set[str] = set()
        self.linkage = ""
        self.blocks: list[Block] = []
        module.functions[name] = self

    @property
    def is_declaration(self) -> bool:
        return not self.blocks

    @property
    def entry_basic_block(self) -> Block:
        return self.blocks[0]

    def append_basic_block(self, name: str = "start") -> Block:
        self.blocks.append(Block(self, name))
        return self.blocks[-1]

    def declared(self) -> str:
        return f"declare {self.result} {self.text}({', '.join(str(one.type) for one in self.args)})"

    def __str__(self) -> str:
        words = ["define", self.linkage, f"{self.result} {self.text}({listed(self.args)})", *sorted(self.attributes)]
        return f"{' '.join(filter(None, words))} {{\n{''.join(map(str, self.blocks))}}}\n"


class Table(Value):
    """Numbers of a module that do not change."""

    def __init__(self, module: Module, name: str, numbers: Constant) -> None:
        super().__init__(POINTER, f'@"{name}"')
        self.numbers = numbers
        module.tables[name] = self

    def declared(self) -> str:
        """It is written out, so that code has it beside itself."""
        return f"{self.text} = internal constant {self.numbers.typed}, align 64"


class Module:
    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}
        self.tables: dict[str, Table] = {}

    def add(self, other: Module) -> None:
        """Add what another module has and this one has not."""
        self.functions.update((name, one) for name, one in other.functions.items() if name not in self.functions)
        self.tables.update((name, one) for name, one in other.tables.items() if name not in self.tables)

    def declared(self, name: str) -> str:
        return (self.functions.get(name) or self.tables[name]).declared()
