"""Numbers on the command line."""

from banksim.errors import InputError

MOST_DIGITS = 20
"""The most digits of a whole number of 64 bits."""
SHOWN = 60


def short(text: str) -> str:
    """What the user wrote, cut to what a message can repeat."""
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def natural(text: str) -> int | None:
    """A whole number, or None if `text` is none of 64 bits."""
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else None


def sizes(text: str, option: str) -> tuple[int, ...]:
    """`32,16` as (32, 16)."""
    found = [natural(word.strip()) for word in text.lower().replace("x", ",").split(",")]
    known = tuple(size for size in found if size is not None)
    if len(known) < len(found):
        raise InputError(f"{option} {short(text)}: give one to three sizes such as 32,16")
    return known


def whole(text: str | None, option: str) -> int | None:
    """A whole number, or None where the option was not given."""
    if text is None:
        return None
    found = natural(text)
    if found is None:
        raise InputError(f"{option} {short(text)}: give a whole number")
    return found
