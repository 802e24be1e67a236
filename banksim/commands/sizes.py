"""Numbers on the command line."""

from __future__ import annotations

from banksim.errors import InputError


def sizes(text: str, option: str) -> tuple[int, ...]:
    """`32,16` as (32, 16)."""
    words = text.lower().replace("x", ",").split(",")
    if not all(word.strip().isdecimal() for word in words):
        raise InputError(f"{option} {text}: give one to three sizes such as 32,16")
    return tuple(int(word) for word in words)


def whole(text: str | None, option: str) -> int | None:
    """A whole number, or None where the option was not given."""
    if text is None:
        return None
    if not text.isdecimal():
        raise InputError(f"{option} {text}: give a whole number")
    return int(text)
