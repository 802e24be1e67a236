"""The text that a user wrote: its tokens, and errors that point into it."""

from __future__ import annotations

import re
from typing import NamedTuple

from banksim.errors import InputError

LONGEST_TEXT = 10_000
"""The most characters of one expression or declaration: far above any real one, to bound the time spent."""

TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<number>0[xX][0-9a-fA-F]+\w*|\.?[0-9](?:[eE][+-]?[0-9]|[\w.])*)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<string>'[^'\n]*'|\"[^\"\n]*\")"
    r"|(?P<sign><<=|>>=|//=|<<|>>|//|[-+*/%&|^<>=!]=|&&|\|\||\+\+|--|->|[-+*/%&|^~!<>=?:.,()\[\]{};])"
    r"|(?P<end>\Z))",
    re.ASCII,
)


class PatternError(InputError):
    """Something wrong in an expression or a declaration, with its place.

    `message` is one line; `text` what the user wrote; the fault is `text[start:end]`. The exception's own
    text is the message, the line of `text` that holds the fault, and a line of carets under it.
    """

    def __init__(self, message: str, text: str, start: int, end: int) -> None:
        self.message = message
        self.text = text
        self.start = start
        self.end = max(end, start + 1)
        super().__init__(f"{message}\n{self.excerpt()}")

    def excerpt(self) -> str:
        """Two lines: the line of `text` with the fault, at most 100 columns of it, and carets under it."""
        first = self.text.rfind("\n", 0, self.start) + 1
        if self.start - first > 60:
            first = self.start - 60
        line = self.text[first : first + 100].split("\n", 1)[0]
        line = "".join(letter if letter.isprintable() else " " for letter in line)
        carets = "^" * max(1, min(self.end - first, len(line)) - (self.start - first))
        return f"  {line}\n  {' ' * (self.start - first)}{carets}"


class Span(NamedTuple):
    """A piece of a text: `text[start:end]`."""

    text: str
    start: int
    end: int

    @property
    def written(self) -> str:
        """The piece itself, on one line."""
        return " ".join(self.text[self.start : self.end].split())

    def to(self, last: Span) -> Span:
        """From the beginning of this piece to the end of `last`."""
        return Span(self.text, self.start, last.end)

    def error(self, message: str) -> PatternError:
        """The error that points here."""
        return PatternError(message, self.text, self.start, self.end)


class Token(NamedTuple):
    """A word of the text; `kind` is number, name, string, sign or end."""

    kind: str
    word: str
    span: Span


def tokens(text: str, start: int = 0, stop: int | None = None) -> list[Token]:
    """The tokens of `text[start:stop]`, the last of kind `end`."""
    stop = len(text) if stop is None else stop
    if stop - start > LONGEST_TEXT:
        message = f"this is {stop - start} characters long; the limit is {LONGEST_TEXT}"
        raise PatternError(message, text, start, start + 1)
    found: list[Token] = []
    while not found or found[-1].kind != "end":
        match = TOKEN.match(text, start, stop)
        if match is None:
            while text[start] in " \t\n\r\f\v":
                start += 1
            raise PatternError(f"{text[start]!r} has no meaning here", text, start, start + 1)
        kind = str(match.lastgroup)
        found.append(Token(kind, match[kind], Span(text, *match.span(kind))))
        start = match.end()
    return found


class TokenReader:
    """Goes through tokens from left to right."""

    def __init__(self, found: list[Token]) -> None:
        self.tokens = found
        self.position = 0

    @property
    def token(self) -> Token:
        """The next token, not yet taken."""
        return self.tokens[self.position]

    def ahead(self, count: int) -> Token:
        """The token `count` places behind the next one."""
        return self.tokens[min(self.position + count, len(self.tokens) - 1)]

    def take(self) -> Token:
        """The next token, and go on."""
        token = self.token
        if token.kind != "end":
            self.position += 1
        return token

    def at(self, *words: str) -> bool:
        """Whether the next token is one of these signs or names."""
        return self.token.word in words and self.token.kind in ("sign", "name")

    def accept(self, *words: str) -> Token | None:
        """The next token if it is one of `words`."""
        return self.take() if self.at(*words) else None

    def expect(self, word: str, why: str = "") -> Token:
        """The next token, which must be `word`."""
        if not self.at(word):
            raise self.surprise(f"`{word}`{' ' + why if why else ''}")
        return self.take()

    def name(self, what: str) -> Token:
        """The next token, which must be a name."""
        if self.token.kind != "name":
            raise self.surprise(what)
        return self.take()

    def surprise(self, wanted: str) -> PatternError:
        """The error for a token that is not `wanted`."""
        token = self.token
        found = f"`{token.word}`" if token.kind != "end" else "the end"
        return token.span.error(f"syntax error: expected {wanted}, found {found}")
