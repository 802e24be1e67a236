"""Numbers as C and Python write them."""

import re

from banksim.patterns.source import Span, Token
from banksim.patterns.syntax import Node, Number, Opaque

LONGEST_NUMBER = 100
"""The most digits: a number of 64 bits has at most 66, and Python refuses to read one of thousands."""
INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|[0-9]+)([uU]?(?:l|L|ll|LL)?|(?:l|L|ll|LL)[uU])")
FLOAT = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFlLhH]?")


def number(token: Token, python: bool) -> Node:
    """An integer literal with the type that C gives it, or a floating-point one, which has no value here."""
    match = INTEGER.fullmatch(token.word)
    if match is not None:
        return Number(token.span, *literal(match[1], match[2].lower(), python, token.span))
    if FLOAT.fullmatch(token.word):
        return Opaque(token.span, "a floating-point number")
    raise token.span.error(f"`{token.word}` is no number")


def literal(digits: str, suffix: str, python: bool, span: Span) -> tuple[int, str]:
    """Value and type of an integer literal: the first type of C's list that holds the value."""
    octal = digits[0] == "0" and digits.isdigit() and digits.strip("0") != ""
    if (octal or suffix) and python:
        raise span.error(f"`{span.written}` is C, but the rest is in Numba's spelling")
    if digits[:2] in ("0o", "0O") and not python:
        raise span.error(f"`{span.written}` is Python's octal: in C it is 0{digits[2:]}")
    if octal and ("8" in digits or "9" in digits):
        raise span.error(f"`{span.written}` starts with 0 and so is octal, which has no digit 8 or 9")
    if len(digits) > LONGEST_NUMBER:
        raise span.error("this number does not fit in 64 bits")
    value = int(digits, 8) if octal else int(digits, 10 if digits.isdigit() else 0)
    candidates = ["i4", "u4", "i8", "u8"]
    if "u" in suffix:
        candidates = ["u4", "u8"]
    elif digits.isdigit() and not octal:
        candidates = ["i4", "i8"]
    if "l" in suffix or python:
        candidates = [name for name in candidates if name[1] == "8"]
    if python:
        candidates = ["i8"]
    for name in candidates:
        if value < 1 << (8 * int(name[1]) - (name[0] == "i")):
            return value, name
    raise span.error("this number does not fit in 64 bits")
