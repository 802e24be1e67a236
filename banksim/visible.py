"""Texts of others (sources, traces, names of files) where they are printed: shown, not sent.

A terminal obeys control characters, and turns the text around at some marks of Unicode. In their place stands a sign
of the same length, so that what was laid out stays so.
"""

from __future__ import annotations

import sys

PICTURES = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"} | {0x7F: "␡"}
"""Unicode's pictures of control characters: ␛ of Escape."""
OTHERS = [*range(0x80, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
"""Control characters without a picture, and what ends lines or changes the direction of writing."""
SURROGATES = range(0xD800, 0xE000)
"""Bytes of a file's name that are no text, as Python holds them; no encoding can write them."""
SIGNS = PICTURES | dict.fromkeys([*OTHERS, *SURROGATES], "�")
LINE = SIGNS | {ord("\n"): "␊", ord("\t"): " "}


def visible(text: str) -> str:
    """`text`, in lines, without what a terminal obeys."""
    return text if text.isascii() and text.isprintable() else text.translate(SIGNS)


def one_line(name: object) -> str:
    """A name without line breaks too."""
    return str(name).translate(LINE)


def say(message: object) -> None:
    """A message of banksim on standard error."""
    print(f"banksim: {visible(str(message))}", file=sys.stderr)
