"""The parser of CuTe's notation: `S<3,3,3> o (8,64):(64,1)`."""

from math import prod

from banksim.layouts.algebra import (
    MOST_ELEMENTS,
    Layout,
    Nested,
    Offset,
    Part,
    Pointer,
    Strided,
    Swizzle,
    compact,
    congruent,
    leaves,
    written,
)
from banksim.patterns.source import Span, Token, TokenReader, tokens

SWIZZLES = ("S", "Sw", "Swizzle", "SW")
COMPOSE = "o"
DEEPEST = 32
"""How deep tuples may be nested."""
LARGEST = 1 << 40
"""Every number must be smaller."""
EXAMPLE = "a layout such as (8,64):(64,1) or S<3,3,3> o (8,64):(64,1)"


def parse(text: str) -> Layout:
    """The layout that `text` describes. `PatternError`, which points at what is wrong."""
    return Reader(text).whole()


class Reader:
    """Goes through the notation from left to right."""

    def __init__(self, text: str) -> None:
        self.reader = TokenReader(tokens(text.replace("∘", COMPOSE).replace("◦", COMPOSE)))

    def whole(self) -> Layout:
        if self.reader.token.kind == "end":
            raise self.reader.token.span.error(f"this is empty: give {EXAMPLE}")
        found = self.composition(0)
        if self.reader.token.kind != "end":
            raise self.reader.surprise(f"`:`, `{COMPOSE}` or the end")
        return Layout(self.checked(found))

    def checked(self, found: list[tuple[Part | Nested, Span]]) -> tuple[Part, ...]:
        """The parts of a composition, of which the last has the shape."""
        parts: list[Part] = []
        for place, (part, span) in enumerate(found):
            last = place == len(found) - 1
            if isinstance(part, int | tuple):
                number = part if isinstance(part, int) else None
                part = Offset(number) if number is not None and not last else column_major(part, span)
            if last and not isinstance(part, Strided):
                raise span.error(f"nothing is right of this that has a shape: give {EXAMPLE}")
            if isinstance(part, Pointer) and any(isinstance(one, Pointer | Strided) for one in parts):
                raise span.error("a pointer stands once, left of every shape")
            parts.append(part)
        return tuple(parts)

    def composition(self, depth: int) -> list[tuple[Part | Nested, Span]]:
        """Terms with `o` between them."""
        found = self.term(depth)
        while self.reader.accept(COMPOSE):
            found += self.term(depth)
        return found

    def term(self, depth: int) -> list[tuple[Part | Nested, Span]]:
        """A swizzle, a pointer, a layout, an offset; or a composition in parentheses."""
        token = self.reader.token
        if self.reader.at(*SWIZZLES):
            return [self.swizzle()]
        if token.word == "smem_ptr":
            return [self.pointer()]
        if self.reader.accept("{"):
            value, span = self.number()
            self.reader.expect("}", "behind the offset")
            return [(value, span)]
        if not (self.reader.at("(") or self.is_number(token)):
            raise self.reader.surprise(EXAMPLE)
        shape, span = self.group(depth)
        if isinstance(shape, list):
            return shape
        if not self.reader.accept(":"):
            return [(shape, span)]
        require_sizes(shape, span)
        start = self.reader.token
        stride, stride_span = self.nested(depth)
        if not congruent(shape, stride):
            raise start.span.to(stride_span).error(
                f"the stride {written(stride)} has not the form of the shape {written(shape)}"
            )
        return [(Strided(shape, stride), span.to(stride_span))]

    def group(self, depth: int) -> tuple[Nested | list[tuple[Part | Nested, Span]], Span]:
        """A shape, or a composition in parentheses."""
        if not self.reader.at("("):
            return self.number()
        self.require_depth(depth)
        start = self.reader.take()
        inner = self.composition(depth + 1)
        first, _ = inner[0]
        if len(inner) > 1 or not isinstance(first, int | tuple):
            end = self.reader.expect(")", "behind what stands in parentheses")
            return inner, start.span.to(end.span)
        return self.tuple_from([first], start, depth)

    def nested(self, depth: int) -> tuple[Nested, Span]:
        """A number or a tuple."""
        if not self.reader.at("("):
            return self.number()
        self.require_depth(depth)
        start = self.reader.take()
        first, _ = self.nested(depth + 1)
        return self.tuple_from([first], start, depth)

    def tuple_from(self, found: list[Nested], start: Token, depth: int) -> tuple[Nested, Span]:
        """The rest of a tuple whose first part is read."""
        while self.reader.accept(","):
            if self.reader.at(")"):
                break
            found.append(self.nested(depth + 1)[0])
        end = self.reader.expect(")", "or `,` in a tuple")
        return tuple(found), start.span.to(end.span)

    def require_depth(self, depth: int) -> None:
        if depth >= DEEPEST:
            raise self.reader.token.span.error(f"more than {DEEPEST} tuples are inside each other")

    @staticmethod
    def is_number(token: Token) -> bool:
        return token.kind == "number" or (token.kind == "name" and token.word.lstrip("_").isdecimal())

    def number(self, least: int = 0) -> tuple[int, Span]:
        """`8`, or `_8` as C++ prints what it knows when it compiles."""
        sign = self.reader.accept("-") if least < 0 else None
        token = self.reader.token
        if not self.is_number(token):
            raise self.reader.surprise("a whole number")
        self.reader.take()
        word = token.word.removeprefix("_")
        if not word.isdecimal() or len(word) > 13 or int(word) >= LARGEST:
            raise token.span.error(f"{token.word!r} is no whole number below {LARGEST}")
        return (-int(word) if sign else int(word)), (sign or token).span.to(token.span)

    def swizzle(self) -> tuple[Swizzle, Span]:
        """`S<3,3,3>`, `Sw<3,3,3>`, `Swizzle<3, 3, 3>`, `Swizzle(3, 3, 3)`."""
        name = self.reader.take()
        close = {"<": ">", "(": ")"}.get(self.reader.token.word, "")
        if not close:
            raise self.reader.surprise("`<` and bits, base and shift, as in S<3,3,3>")
        self.reader.take()
        bits, _ = self.number()
        self.reader.expect(",", "and the base of the swizzle")
        base, _ = self.number()
        self.reader.expect(",", "and the shift of the swizzle")
        shift, _ = self.number(least=-1)
        span = name.span.to(self.reader.expect(close, "behind bits, base and shift").span)
        if abs(shift) < bits:
            raise span.error(f"a shift of {shift} is shorter than the {bits} bits: they would be xored with themselves")
        if bits + base + abs(shift) > 40:
            raise span.error("this reaches beyond the bits of an address")
        return Swizzle(bits, base, shift), span

    def pointer(self) -> tuple[Pointer, Span]:
        """`smem_ptr[16b](unset)`, which stands between a swizzle of bytes and a layout of elements."""
        name = self.reader.take()
        self.reader.expect("[", "and the bits of an element, as in smem_ptr[16b]")
        token = self.reader.take()
        bits = token.word.removesuffix("b")
        if not bits.isdecimal() or int(bits) not in (8, 16, 32, 64, 128):
            raise token.span.error("give 8, 16, 32, 64 or 128 bits, as in smem_ptr[16b]")
        end = self.reader.expect("]", "behind the bits")
        if self.reader.accept("("):
            self.reader.name("`unset`")
            end = self.reader.expect(")", "behind `unset`")
        return Pointer(int(bits)), name.span.to(end.span)


def column_major(shape: Nested, span: Span) -> Strided:
    """A shape alone, whose elements lie one behind the other, as CuTe's `make_layout` has it."""
    require_sizes(shape, span)
    return Strided(shape, compact(shape))


def require_sizes(shape: Nested, span: Span) -> None:
    """Refuse a shape that has no elements, or too many."""
    if 0 in leaves(shape):
        raise span.error("a mode of 0 has no elements: give sizes from 1 on")
    if prod(leaves(shape)) > MOST_ELEMENTS:
        raise span.error(f"this has {prod(leaves(shape))} elements; the limit is {MOST_ELEMENTS}")
