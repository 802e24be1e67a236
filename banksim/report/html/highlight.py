"""Source lines in colours: pygments tells what each token is, the page's style gives the colours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from banksim.system.notebooks import CELL, LIVE

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType

LEXERS = {
    "py": "python", "cu": "cuda", "cuh": "cuda", "h": "cuda", "hpp": "cuda", "cpp": "cuda", "cc": "cuda", "cxx": "cuda",
    "c": "cuda", "ptx": "ptx",
}  # fmt: skip
"""The lexer of a file, by the end of its name."""
CLASSES = (
    ("Comment.Preproc", "hp"), ("Comment", "hc"), ("Keyword.Type", "ht"), ("Keyword", "hk"), ("Operator.Word", "hk"),
    ("Literal.String", "hs"), ("Literal.Number", "hn"), ("Name.Function", "hf"), ("Name.Decorator", "hp"),
    ("Name.Builtin", "hb"),
)  # fmt: skip
"""Kinds of tokens and their classes in the style; the first that fits counts."""
LARGEST = 2_000_000
"""Characters of the largest file that is coloured."""


def highlighted(file: str, lines: Sequence[str]) -> list[Markup]:
    """The lines of a file as markup; plain where no lexer is known for it."""
    text = "\n".join(lines)
    lexer = lexer_of(file) if len(text) <= LARGEST else None
    if lexer is None:
        return [escape(line) for line in lines]
    out = [Markup()]
    for kind, value in tokens(lexer, text):
        head, *rest = value.split("\n")
        out[-1] += marked(kind, head)
        out += [marked(kind, part) for part in rest]
    return out


def tokens(lexer: Lexer, text: str) -> Iterator[tuple[_TokenType, str]]:
    """The tokens of a text as it is: pygments would end lines at carriage returns too, where compilers do not."""
    for _, kind, value in lexer.get_tokens_unprocessed(text):
        yield kind, value


def marked(kind: _TokenType, text: str) -> Markup:
    name = class_of(kind)
    return Markup('<span class="{}">{}</span>').format(name, text) if name and text.strip() else escape(text)


@lru_cache(256)
def class_of(kind: _TokenType) -> str:
    path = ".".join(kind)
    return next((name for known, name in CLASSES if path == known or path.startswith(f"{known}.")), "")


@lru_cache(8)
def lexer_of(file: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name

    name = "python" if CELL.fullmatch(file) or LIVE.fullmatch(file) else LEXERS.get(file.rpartition(".")[2].lower())
    return get_lexer_by_name(name) if name else None
