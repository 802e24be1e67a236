"""The parser of expressions: C's grammar, or Python's where Numba's spelling is used."""

from collections.abc import Mapping
from itertools import pairwise

from banksim.patterns import syntax
from banksim.patterns.literals import number
from banksim.patterns.source import Token, TokenReader
from banksim.patterns.syntax import Node
from banksim.patterns.types import Scalar, Type, read_type

DEEPEST = 100
"""How deep parentheses, signs and the like may be nested, which keeps the recursion far from Python's limit."""
LONGEST_CHAIN = 200
"""How deep nodes may be nested: a sum of n terms is n deep."""

C_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip
PYTHON_LEVELS = (
    ("or",), ("and",), (), ("==", "!=", "<", ">", "<=", ">="), ("|",), ("^",), ("&",), ("<<", ">>"),
    ("+", "-", "++", "--"), ("*", "/", "//", "%"),
)  # fmt: skip
"""Binary operators from the loosest to the tightest; `not` has the empty level of its own."""
NOT_LEVEL = PYTHON_LEVELS.index(())
PLAIN = {"and": "&&", "or": "||", "++": "+", "--": "+"}
"""What a binary operator means if not itself; `a--b` is `a - -b` in Python."""
COMPARISONS = frozenset(("==", "!=", "<", ">", "<=", ">="))
ORDERINGS = COMPARISONS - {"==", "!="}
ASSIGNMENTS = frozenset(("=", "+=", "-=", "*=", "/=", "//=", "%=", "<<=", ">>=", "&=", "|=", "^="))
CASTS = frozenset(("static_cast", "reinterpret_cast", "const_cast"))
ONLY_C = {"&&": "and", "||": "or", "!": "not", "?": "a if c else b", "->": "."}
"""Signs that Python does not have, and what it writes instead."""
KEYWORDS = frozenset(("and", "or", "not", "if", "else", "sizeof", *CASTS))


def looks_like_python(found: list[Token]) -> bool:
    """Whether these tokens are in Numba's spelling: `//`, `and`, `cuda.`, `a if c else b`, `t[i, j]` …"""
    brackets: list[str] = []
    for token, following in pairwise(found):
        if token.kind == "sign":
            if token.word in ("//", "//="):
                return True
            if token.word in ("(", "["):
                brackets.append(token.word)
            elif token.word in (")", "]") and brackets:
                brackets.pop()
            elif token.word == "," and brackets and brackets[-1] == "[":
                return True
        elif token.kind == "name":
            if token.word in ("and", "or", "not"):
                return True
            if token.word == "cuda" and following.word == ".":
                return True
            if token.word == "if" and following.word != "(":
                return True
        if following.word == "else" and token.word not in (";", "}"):
            return True
    return False


class Parser:
    """A recursive-descent parser over a `TokenReader`.

    `types` are the declared structs and typedefs, which a cast may name; `python` chooses the grammar.
    """

    def __init__(self, reader: TokenReader, types: Mapping[str, Type], python: bool) -> None:
        self.reader = reader
        self.types = types
        self.python = python
        self.levels = PYTHON_LEVELS if python else C_LEVELS
        self.nesting = 0

    def statements(self) -> list[Node]:
        """Everything up to the end, as statements separated by `;`."""
        return [self.shallow(node) for node in self.sequence("end")]

    def sequence(self, last: str) -> list[Node]:
        """Statements up to a token of the kind or the word `last`."""
        found = []
        while last not in (self.reader.token.kind, self.reader.token.word):
            if self.reader.accept(";"):
                continue
            found.append(self.statement())
            block = self.reader.tokens[self.reader.position - 1].word == "}"
            if not block and last not in (self.reader.token.kind, self.reader.token.word):
                self.reader.expect(";", "or an operator")
        return found

    def whole(self) -> Node:
        """The one expression that all tokens make."""
        node = self.part()
        if self.reader.token.kind != "end":
            raise self.reader.surprise("an operator or the end")
        return node

    def part(self) -> Node:
        """The expression at the reader, up to what cannot belong to it."""
        return self.shallow(self.expression())

    def shallow(self, node: Node) -> Node:
        """`node`, unless it is so deep that evaluating it could exhaust Python's stack."""
        if syntax.depth(node) > LONGEST_CHAIN:
            raise node.span.error(f"the expression is nested more than {LONGEST_CHAIN} levels deep")
        return node

    def statement(self) -> Node:
        """`if …`, `{ … }`, or an assignment or expression."""
        reader = self.reader
        if self.python or not reader.at("if", "{"):
            return self.python_if() if reader.at("if") else self.assignment()
        start = self.enter(reader.take())
        if start.word == "{":
            body = self.sequence("}")
            node: Node = syntax.Several(start.span.to(reader.expect("}").span), tuple(body))
        else:
            reader.expect("(", "behind `if`")
            condition = self.expression()
            reader.expect(")")
            yes = self.statement()
            no = None
            if reader.at(";") and reader.ahead(1).word == "else":
                reader.take()
            if reader.accept("else"):
                no = self.statement()
            node = syntax.If(start.span.to((no or yes).span), condition, yes, no)
        self.nesting -= 1
        return node

    def python_if(self) -> Node:
        """`if condition: body`."""
        start = self.enter(self.reader.take())
        condition = self.expression()
        self.reader.expect(":")
        body = self.statement()
        self.nesting -= 1
        return syntax.If(start.span.to(body.span), condition, body, None)

    def assignment(self) -> Node:
        step = None if self.python else self.reader.accept("++", "--")
        target = self.expression()
        if step is None and not self.python:
            step = self.reader.accept("++", "--")
        if step is not None:
            return syntax.Assign(target.span, step.word[0], target, syntax.Number(step.span, 1, "i4"))
        if self.reader.token.word not in ASSIGNMENTS or self.reader.token.kind != "sign":
            return target
        sign = self.enter(self.reader.take())
        value = self.assignment()
        self.nesting -= 1
        return syntax.Assign(target.span.to(value.span), sign.word[:-1], target, value)

    def expression(self) -> Node:
        """Anything but an assignment."""
        self.enter(self.reader.token)
        node = self.binary(0)
        if self.python and self.reader.accept("if"):
            condition = self.binary(0)
            self.reader.expect("else")
            no = self.expression()
            node = syntax.Choice(node.span.to(no.span), condition, node, no)
        elif not self.python and self.reader.accept("?"):
            yes = self.expression()
            self.reader.expect(":", "of `? :`")
            no = self.expression()
            node = syntax.Choice(node.span.to(no.span), node, yes, no)
        self.nesting -= 1
        return node

    def enter(self, token: Token) -> Token:
        """Count one level of recursion, and stop before Python would."""
        self.nesting += 1
        if self.nesting > DEEPEST:
            raise token.span.error(f"the expression is nested more than {DEEPEST} levels deep")
        return token

    def binary(self, lowest: int) -> Node:
        """Operators of level `lowest` and tighter, by precedence climbing."""
        left, last = self.unary(lowest), ""
        chained = COMPARISONS if self.python else ORDERINGS
        while True:
            token = self.reader.token
            level = self.level(token)
            if level is None or level < lowest:
                return left
            if last in chained and token.word in chained:
                # in C it never means what it seems to, and Python means something else
                word = "and" if self.python else "&&"
                raise token.span.error(f"comparisons in a chain: write `a < b {word} b < c`, or parentheses")
            self.enter(self.reader.take())
            right = self.binary(level + 1)
            self.nesting -= 1
            last = token.word
            left = syntax.Binary(left.span.to(right.span), PLAIN.get(last, last), left, right)

    def level(self, token: Token) -> int | None:
        """The level of a binary operator; None for anything else."""
        if token.kind not in ("sign", "name"):
            return None
        if self.python and token.kind == "sign" and token.word in ONLY_C:
            instead = ONLY_C[token.word]
            raise token.span.error(f"`{token.word}` is C, the rest is in Numba's spelling: write `{instead}`")
        return next((level for level, signs in enumerate(self.levels) if token.word in signs), None)

    def unary(self, lowest: int) -> Node:
        reader = self.reader
        token = reader.token
        if self.python and token.kind == "name" and token.word == "not":
            if lowest > NOT_LEVEL:
                raise token.span.error("syntax error: put `not …` in parentheses here")
            self.enter(reader.take())
            operand = self.binary(NOT_LEVEL)
            self.nesting -= 1
            return syntax.Unary(token.span.to(operand.span), "!", operand)
        signs = ("-", "+", "~", "--", "++") if self.python else ("-", "+", "~", "!", "*", "&")
        if reader.at(*signs) and token.kind == "sign":
            self.enter(reader.take())
            operand = self.unary(len(self.levels))
            self.nesting -= 1
            return syntax.Unary(token.span.to(operand.span), PLAIN.get(token.word, token.word), operand)
        if not self.python and reader.at("("):
            cast = self.cast()
            if cast is not None:
                return cast
        return self.postfix()

    def cast(self) -> Node | None:
        """`(type) operand`; None, and nothing taken, if the parenthesis holds no type."""
        reader = self.reader
        start = reader.position
        opening = self.enter(reader.take())
        target = self.type()
        if target is None or not reader.accept(")"):
            reader.position = start
            self.nesting -= 1
            return None
        operand = self.unary(len(self.levels))
        self.nesting -= 1
        return syntax.Cast(opening.span.to(operand.span), *target, operand)

    def type(self) -> tuple[Type, bool] | None:
        """A type name and whether a `*` follows it."""
        found = read_type(self.reader, self.types)
        if found is None:
            return None
        star = self.reader.accept("*")
        while self.reader.accept("const", "volatile", "__restrict__"):
            pass
        if self.reader.at("*"):
            raise self.reader.token.span.error("a pointer to a pointer has no meaning here")
        return found[0], star is not None

    def postfix(self) -> Node:
        node = self.primary()
        while True:
            reader = self.reader
            if reader.accept("["):
                indices = [self.expression()]
                while self.python and reader.accept(","):
                    indices.append(self.expression())
                closing = reader.expect("]")
                if len(indices) == 1 and isinstance(indices[0], syntax.Several):
                    indices = list(indices[0].items)
                node = syntax.Index(node.span.to(closing.span), node, tuple(indices))
            elif reader.at("(") and isinstance(node, (syntax.Name, syntax.Dot)):
                reader.take()
                arguments = self.arguments(")")
                closing = reader.expect(")")
                node = syntax.Call(node.span.to(closing.span), node, tuple(arguments))
            elif reader.accept("."):
                member = reader.name("a member's name")
                node = syntax.Dot(node.span.to(member.span), node, member.word, member.span)
            elif not self.python and reader.accept("->"):
                member = reader.name("a member's name")
                pointed = syntax.Unary(node.span, "*", node)
                node = syntax.Dot(node.span.to(member.span), pointed, member.word, member.span)
            else:
                return node

    def arguments(self, closing: str) -> list[Node]:
        found: list[Node] = []
        while not self.reader.at(closing):
            found.append(self.expression())
            if not self.reader.accept(","):
                break
        return found

    def primary(self) -> Node:
        reader = self.reader
        token = reader.token
        if token.kind == "number":
            return number(reader.take(), self.python)
        if token.kind == "string":
            return syntax.Opaque(reader.take().span, "a string")
        if reader.accept("("):
            items = [self.expression()]
            tuple_ = False
            while self.python and reader.accept(","):
                tuple_ = True
                if not reader.at(")"):
                    items.append(self.expression())
            span = token.span.to(reader.expect(")").span)
            return syntax.Several(span, tuple(items)) if tuple_ else items[0]._replace(span=span)
        if token.kind == "name" and token.word in CASTS:
            return self.named_cast()
        if token.kind == "name" and token.word == "sizeof":
            return self.sizeof()
        if token.kind == "name" and token.word in KEYWORDS:
            raise reader.surprise("a value")
        if token.kind == "name":
            return self.name()
        raise reader.surprise("a value")

    def name(self) -> Node:
        """A name, or a type used as a function: `int(x)`."""
        reader = self.reader
        if not self.python and reader.ahead(1).word == "(":
            start = reader.position
            target = read_type(reader, self.types)
            if target is not None and isinstance(target[0], Scalar) and reader.accept("("):
                operand = self.expression()
                return syntax.Cast(target[1].to(reader.expect(")").span), target[0], False, operand)
            reader.position = start
        token = reader.take()
        return syntax.Name(token.span, token.word)

    def named_cast(self) -> Node:
        """`static_cast<type>(operand)`."""
        reader = self.reader
        word = reader.take()
        reader.expect("<")
        target = self.type()
        if target is None:
            raise reader.surprise("a type")
        reader.expect(">")
        reader.expect("(")
        operand = self.expression()
        return syntax.Cast(word.span.to(reader.expect(")").span), *target, operand)

    def sizeof(self) -> Node:
        """`sizeof(type)`."""
        word = self.reader.take()
        self.reader.expect("(")
        target = self.type()
        if target is None:
            raise self.reader.surprise("a type (sizeof of a value is not supported)")
        closing = self.reader.expect(")")
        return syntax.Number(word.span.to(closing.span), 8 if target[1] else target[0].size, "u8")
