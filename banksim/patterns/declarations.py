"""Declarations of shared memory, in C or as Numba writes them, and where each variable lies."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from banksim.patterns.evaluate import Variable
from banksim.patterns.expression import KEYWORDS, Parser
from banksim.patterns.source import Span, Token, TokenReader
from banksim.patterns.syntax import Dot, Name, Node, Opaque, Several, dotted
from banksim.patterns.types import NUMBA, QUALIFIERS, Array, Record, Type, read_type, record, round_up

LARGEST = 1 << 31
"""The most bytes of one type: addresses in shared memory have 32 bits."""
DEEPEST = 16
"""How deep arrays and structs may be nested."""
DYNAMIC_ALIGN = 16
"""Dynamic shared memory begins at the next multiple of this behind the static arrays (as in ptxas 13.4)."""
ALIGNS = ("__align__", "alignas")

Constant = Callable[[Node], int]
"""Gives the value of an expression that must be constant."""


class Declared(NamedTuple):
    """A variable before it has its place; `align` may be more than its type's."""

    name: Token
    type: Type
    align: int
    dynamic: bool


class Declarations:
    """Reads declarations one text after the other, into `types` and `variables`."""

    def __init__(self, constant: Constant) -> None:
        self.constant = constant
        self.types: dict[str, Type] = {}
        self.declared: dict[str, Declared] = {}

    def read(self, found: list[Token]) -> None:
        """Add what these tokens declare."""
        reader = TokenReader(found)
        while reader.token.kind != "end":
            if reader.accept(";"):
                continue
            if reader.token.kind == "name" and reader.ahead(1).word == "=":
                self.numba(reader)
            else:
                self.statement(reader)

    def statement(self, reader: TokenReader) -> None:
        """A C declaration up to its `;`."""
        typedef = reader.accept("typedef") is not None
        start = reader.position
        type_, align = self.type(reader, 0)
        extern = any(token.word == "extern" for token in reader.tokens[start : reader.position])
        while not reader.at(";") and reader.token.kind != "end":
            name, declared = self.declarator(reader, type_, extern and not typedef)
            if typedef:
                self.types[name.word] = declared
            else:
                self.add(Declared(name, declared, align, extern))
            if not reader.accept(","):
                break
        if reader.token.kind != "end":
            reader.expect(";")

    def add(self, declared: Declared) -> None:
        word = declared.name.word
        if word in self.declared:
            raise declared.name.span.error(f"`{word}` is declared twice")
        if word in KEYWORDS:
            raise declared.name.span.error(f"`{word}` cannot be a name")
        self.declared[word] = declared

    def type(self, reader: TokenReader, nesting: int) -> tuple[Type, int]:
        """A type, defined here or earlier, and the alignment that stands before it."""
        align = self.qualifiers(reader)
        if reader.at("union", "class", "enum"):
            raise reader.token.span.error(f"a {reader.token.word} is not supported: use a struct")
        defined = "{" in (reader.ahead(1).word, reader.ahead(2).word) or reader.ahead(1).word in ALIGNS
        if reader.at("struct") and defined:
            found: Type = self.struct(reader, nesting)
        else:
            named = read_type(reader, self.types)
            if named is None:
                reader.accept("struct")
                raise reader.surprise("a type")
            found = named[0]
        return found, max(align, self.qualifiers(reader))

    def qualifiers(self, reader: TokenReader) -> int:
        """Skip `__shared__`, `const` and the like; the largest alignment among them, 1 if none."""
        align = 1
        while reader.at(*QUALIFIERS, *ALIGNS):
            word = reader.take()
            if word.word in QUALIFIERS:
                continue
            reader.expect("(")
            node = Parser(reader, self.types, python=False).part()
            reader.expect(")")
            value = self.constant(node)
            if not (0 < value <= 1024) or value & (value - 1):
                raise node.span.error(f"an alignment is a power of two up to 1024, not {value}")
            align = max(align, value)
        return align

    def struct(self, reader: TokenReader, nesting: int) -> Record:
        """`struct name { members }`."""
        word = reader.expect("struct")
        if nesting == DEEPEST:
            raise word.span.error(f"structs are nested more than {DEEPEST} levels deep")
        align = self.qualifiers(reader)
        name = reader.take() if reader.token.kind == "name" else None
        reader.expect("{")
        members: list[tuple[str, Type]] = []
        while not reader.at("}"):
            self.members(reader, members, nesting)
        closing = reader.expect("}")
        if not members:
            raise word.span.to(closing.span).error("a struct needs a member")
        found = record(name.word if name else "a struct", members, align)
        require_sane(found, word.span.to(closing.span))
        if name is not None:
            if name.word in self.types:
                raise name.span.error(f"`{name.word}` is defined twice")
            self.types[name.word] = found
        return found

    def members(self, reader: TokenReader, members: list[tuple[str, Type]], nesting: int) -> None:
        """One declaration inside a struct."""
        start = reader.token.span
        type_, align = self.type(reader, nesting + 1)
        if align > 1:
            raise start.error("the alignment of a member is not supported: put it on the struct")
        while True:
            name, member = self.declarator(reader, type_, unsized=False)
            if any(name.word == other for other, _ in members):
                raise name.span.error(f"the struct has two members `{name.word}`")
            members.append((name.word, member))
            if not reader.accept(","):
                break
        reader.expect(";")

    def declarator(self, reader: TokenReader, type_: Type, unsized: bool) -> tuple[Token, Type]:
        """`name[m][n]`; the first length may be missing if `unsized`."""
        if reader.at("*", "&"):
            raise reader.token.span.error("pointers are not supported: declare the arrays themselves")
        name = reader.name("a name")
        lengths: list[int | None] = []
        while opening := reader.accept("["):
            if closing := reader.accept("]"):
                if not unsized or lengths:
                    why = "only the first length of an `extern __shared__` array may be missing"
                    raise opening.span.to(closing.span).error(why)
                lengths.append(None)
                continue
            node = Parser(reader, self.types, python=False).part()
            reader.expect("]")
            lengths.append(self.length(node))
        if reader.at(":"):
            raise reader.token.span.error("bit-fields are not supported")
        return name, array(type_, lengths, name.span)

    def length(self, node: Node, least: int = 1) -> int:
        """The length that `node` gives."""
        value = self.constant(node)
        if value < least:
            raise node.span.error(f"an array's length is at least {least}, not {value}")
        return value

    def numba(self, reader: TokenReader) -> None:
        """`name = cuda.shared.array(shape, dtype)`; a shape of 0 is dynamic shared memory."""
        name = reader.take()
        reader.expect("=")
        function: Node = Name(reader.token.span, reader.name("cuda.shared.array").word)
        while reader.accept("."):
            part = reader.name("cuda.shared.array")
            function = Dot(function.span.to(part.span), function, part.word, part.span)
        if dotted(function) != "shared.array":
            raise function.span.error("only `cuda.shared.array(shape, dtype)` declares shared memory")
        given = self.arguments(reader)
        closing = reader.tokens[reader.position - 1].span
        for needed in ("shape", "dtype"):
            if needed not in given:
                raise function.span.to(closing).error(f"`cuda.shared.array` needs a {needed}")
        shape = given["shape"].items if isinstance(given["shape"], Several) else (given["shape"],)
        lengths: list[int | None] = [self.length(node, least=0) for node in shape]
        dynamic = lengths == [0]
        if 0 in lengths and not dynamic:
            raise given["shape"].span.error("only the shape 0 means dynamic shared memory")
        align = self.constant(given["alignment"]) if "alignment" in given else 1
        type_ = array(numba_type(given["dtype"]), [None] if dynamic else lengths, name.span)
        self.add(Declared(name, type_, max(align, 1), dynamic))

    def arguments(self, reader: TokenReader) -> dict[str, Node]:
        """The arguments of `cuda.shared.array` by name."""
        given: dict[str, Node] = {}
        known = ("shape", "dtype", "alignment")
        reader.expect("(")
        while not reader.at(")"):
            token = reader.token
            if token.kind == "name" and reader.ahead(1).word == "=":
                reader.take()
                reader.take()
                name = token.word
            else:
                name = known[min(len(given), 2)]
            if name not in known or name in given:
                raise token.span.error("`cuda.shared.array` takes shape, dtype and alignment")
            given[name] = Parser(reader, self.types, python=True).part()
            if not reader.accept(","):
                break
        reader.expect(")")
        return given

    def variables(self) -> dict[str, Variable]:
        """Every variable at its place: one behind the other with C's alignment, dynamic ones last."""
        found = {}
        end = 0
        for declared in self.declared.values():
            if not declared.dynamic:
                end = round_up(end, max(declared.type.align, declared.align))
                found[declared.name.word] = placed(declared, end)
                end += declared.type.size
                if end > LARGEST:
                    raise declared.name.span.error(f"this ends beyond byte {LARGEST}")
        for declared in self.declared.values():
            if declared.dynamic:
                start = round_up(end, max(DYNAMIC_ALIGN, declared.type.align, declared.align))
                found[declared.name.word] = placed(declared, start)
        return found


def placed(declared: Declared, base: int) -> Variable:
    """The variable at `base`."""
    name = declared.name
    return Variable(name.word, declared.type, base, declared.dynamic, name.span)


def array(element: Type, lengths: Sequence[int | None], span: Span) -> Type:
    """An array of arrays with these lengths, from the outside in."""
    for length in reversed(lengths):
        element = Array(element, length)
        require_sane(element, span)
    return element


def require_sane(type_: Type, span: Span) -> None:
    """Refuse what no 32-bit address reaches, and what is too deep for recursion."""
    if type_.levels > DEEPEST:
        raise span.error(f"more than {DEEPEST} arrays and structs are inside each other")
    if type_.size > LARGEST:
        raise span.error(f"this has more than {LARGEST} bytes")


def numba_type(node: Node) -> Type:
    """The type that a `dtype` argument names."""
    name = node.span.written.strip("'\"") if isinstance(node, Opaque) else dotted(node)
    found = NUMBA.get((name or "").removeprefix("types."))
    if found is None:
        raise node.span.error(f"`{node.span.written}` is no type of a shared array: give float32, int32, …")
    return found
