"""The types of C as CUDA lays them out in memory (64-bit Linux; vector types as in CUDA's vector_types.h)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from banksim.patterns.source import Span, TokenReader


class Scalar(NamedTuple):
    """A number of `size` bytes; `integer` is NumPy's name of its type, None for floating point."""

    name: str
    size: int
    align: int
    integer: str | None = None

    @property
    def levels(self) -> int:
        """How deep arrays and structs are nested."""
        return 0


class Member(NamedTuple):
    """A member of a struct, `offset` bytes behind its beginning."""

    name: str
    offset: int
    type: Type


class Record(NamedTuple):
    """A struct or a vector type.

    `unit`: the compiler reads and writes the whole of it in accesses of so many bytes, because a declared
    alignment lets it (float4: 16); None: member by member. `levels`: how deep arrays and structs are nested.
    """

    name: str
    size: int
    align: int
    members: tuple[Member, ...]
    unit: int | None
    levels: int

    def member(self, name: str) -> Member | None:
        """The member of this name."""
        return next((member for member in self.members if member.name == name), None)


class Array(NamedTuple):
    """`length` elements; None: a dynamic array, whose length the declaration does not say."""

    element: Type
    length: int | None

    @property
    def size(self) -> int:
        """Bytes; 0 if the length is unknown."""
        return self.element.size * (self.length or 0)

    @property
    def align(self) -> int:
        """Bytes that the address is a multiple of."""
        return self.element.align

    @property
    def levels(self) -> int:
        """How deep arrays and structs are nested."""
        return 1 + self.element.levels

    @property
    def name(self) -> str:
        """As C writes it."""
        scalar, dimensions = dimensions_of(self)
        return scalar.name + "".join(f"[{'' if n is None else n}]" for n in dimensions)


Type = Scalar | Record | Array


class Piece(NamedTuple):
    """One access of those that read or write a whole value: `suffix` says which part of it."""

    suffix: str
    offset: int
    width: int


def dimensions_of(type_: Type) -> tuple[Scalar | Record, list[int | None]]:
    """The innermost element of an array of arrays, and the lengths from the outside in."""
    lengths = []
    while isinstance(type_, Array):
        lengths.append(type_.length)
        type_ = type_.element
    return type_, lengths


def pieces(type_: Type, suffix: str = "", offset: int = 0) -> Iterator[Piece]:
    """The accesses by which the compiler reads or writes a whole `type_`, in the order of their addresses.

    A vector type of two or four, and a struct with a declared alignment, goes in accesses of its alignment,
    16 bytes at most; any other struct member by member.
    """
    if isinstance(type_, Scalar):
        yield Piece(suffix, offset, type_.size)
    elif isinstance(type_, Array):
        for index in range(type_.length or 0):
            yield from pieces(type_.element, f"{suffix}[{index}]", offset + index * type_.element.size)
    elif type_.unit is None:
        for member in type_.members:
            yield from pieces(member.type, f"{suffix}.{member.name}", offset + member.offset)
    else:
        for start in range(0, type_.size, type_.unit):
            whole = type_.size == type_.unit
            part = "" if whole else f" (bytes {start} to {start + type_.unit - 1})"
            yield Piece(suffix + part, offset + start, type_.unit)


def round_up(offset: int, align: int) -> int:
    """The first multiple of `align` from `offset` on."""
    return -(-offset // align) * align


def record(name: str, members: Sequence[tuple[str, Type]], align: int = 1) -> Record:
    """A struct with C's padding; `align` is the alignment that `__align__` declares, 1 if none."""
    offset, laid = 0, []
    for member, type_ in members:
        offset = round_up(offset, type_.align)
        laid.append(Member(member, offset, type_))
        offset += type_.size
    natural = max((type_.align for _, type_ in members), default=1)
    unit = min(align, 16) if align > natural else None
    align = max(align, natural)
    levels = 1 + max((type_.levels for _, type_ in members), default=0)
    return Record(name, round_up(offset, align), align, tuple(laid), unit, levels)


def integer(name: str, size: int, signed: bool) -> Scalar:
    """An integer type."""
    return Scalar(name, size, size, f"{'i' if signed else 'u'}{size}")


FUNDAMENTAL: dict[str, Scalar] = {
    "bool": Scalar("bool", 1, 1, "?"),
    "float": Scalar("float", 4, 4),
    "double": Scalar("double", 8, 8),
    **{
        name: integer(name, size, not name.startswith("unsigned"))
        for name, size in {
            "char": 1, "signed char": 1, "unsigned char": 1, "short": 2, "unsigned short": 2, "int": 4,
            "unsigned int": 4, "long": 8, "unsigned long": 8, "long long": 8, "unsigned long long": 8,
        }.items()
    },
}  # fmt: skip
"""By the name in its normal order of words."""

ALIASES: dict[str, Scalar] = {
    **{f"int{8 * size}_t": integer(f"int{8 * size}_t", size, True) for size in (1, 2, 4, 8)},
    **{f"uint{8 * size}_t": integer(f"uint{8 * size}_t", size, False) for size in (1, 2, 4, 8)},
    "size_t": integer("size_t", 8, False),
    "ptrdiff_t": integer("ptrdiff_t", 8, True),
    "uchar": integer("uchar", 1, False),
    "ushort": integer("ushort", 2, False),
    "uint": integer("uint", 4, False),
    "ulong": integer("ulong", 8, False),
    **{name: Scalar(name, 2, 2) for name in ("half", "__half", "nv_bfloat16", "__nv_bfloat16", "bfloat16")},
}

NUMBA: dict[str, Scalar] = {
    **{f"int{8 * size}": integer(f"int{8 * size}", size, True) for size in (1, 2, 4, 8)},
    **{f"uint{8 * size}": integer(f"uint{8 * size}", size, False) for size in (1, 2, 4, 8)},
    **{name: integer(name, 8, name[0] != "u") for name in ("intp", "uintp", "int", "int_", "uint")},
    "byte": integer("byte", 1, False),
    **{name: Scalar(name, 1, 1, "?") for name in ("bool", "bool_", "boolean")},
    "float16": Scalar("float16", 2, 2),
    "float32": Scalar("float32", 4, 4),
    "float64": Scalar("float64", 8, 8),
    "float": Scalar("float", 8, 8),
    "double": Scalar("double", 8, 8),
}
"""Types of `cuda.shared.array`, as Numba and NumPy name them."""

PAIRS = {"half2": "half", "__half2": "half", "nv_bfloat162": "bfloat16", "__nv_bfloat162": "bfloat16"}
VECTOR = re.compile(r"(u?)(char|short|int|long|longlong|float|double)([1-4])(_16a|_32a)?")
WORDS = frozenset(("char", "short", "int", "long", "signed", "unsigned", "float", "double", "bool", "_Bool"))
QUALIFIERS = frozenset(("const", "volatile", "static", "extern", "register", "__shared__", "__restrict__"))


def vector(name: str) -> Record | None:
    """The vector type `name`: char1 … double4, half2."""
    if name in PAIRS:
        part: Scalar = ALIASES[PAIRS[name]]
        count, align = 2, 4
    else:
        match = VECTOR.fullmatch(name)
        if match is None:
            return None
        unsigned, base, digit, variant = match.groups()
        base = "long long" if base == "longlong" else base
        if unsigned and base in ("float", "double"):
            return None
        part = FUNDAMENTAL["unsigned " + base if unsigned else base]
        count = int(digit)
        if variant and (count != 4 or part.size != 8):
            return None
        align = min(count * part.size, 16) if count in (2, 4) else part.size
        align = 32 if variant == "_32a" else align
    laid = record(name, [(letter, part) for letter in "xyzw"[:count]])
    unit = min(align, 16) if count != 3 else None
    return laid._replace(align=align, size=round_up(laid.size, align), unit=unit)


def named_type(name: str, declared: Mapping[str, Type]) -> Type | None:
    """The type with this one-word name."""
    return declared.get(name) or ALIASES.get(name) or vector(name)


def read_type(reader: TokenReader, declared: Mapping[str, Type]) -> tuple[Type, Span] | None:
    """The type at the reader, with its qualifiers; None, and nothing taken, if what stands there is none."""
    start = reader.position
    words: list[str] = []
    found: Type | None = None
    span = reader.token.span
    while reader.token.kind == "name":
        word = reader.token.word
        if word in WORDS and found is None:
            words.append("bool" if word == "_Bool" else word)
        elif word == "struct" and not words and found is None and reader.ahead(1).word in declared:
            reader.take()
            found = declared[reader.token.word]
        elif not words and found is None and named_type(word, declared) is not None:
            found = named_type(word, declared)
        elif word not in QUALIFIERS:
            break
        span = span.to(reader.take().span)
    if words:
        found = fundamental(words)
        if found is None:
            raise span.error(f"`{span.written}` is no type")
    if found is None:
        reader.position = start
        return None
    return found, span


def fundamental(words: list[str]) -> Scalar | None:
    """The type of `unsigned long int` and the like, whatever the order of its words."""
    rest = sorted(words)
    unsigned = "unsigned" in rest
    for sign in ("signed", "unsigned"):
        if sign in rest:
            rest.remove(sign)
    if len(words) - len(rest) > 1:
        return None
    if len(rest) != len(words) and rest == ["char"]:
        return FUNDAMENTAL["unsigned char" if unsigned else "signed char"]
    if rest.count("int") == 1 and set(rest) <= {"int", "short", "long"} and len(rest) > 1:
        rest.remove("int")
    name = " ".join(rest) or "int"
    return FUNDAMENTAL.get(f"unsigned {name}" if unsigned else name)
