"""Texts of others (sources, traces, names of files) where they are printed: shown, not sent.

A terminal obeys control characters, and turns the text around at some marks of Unicode. In their place stands a sign
of the same length, so that what was laid out stays so. So it does where an encoding lacks the marks of reports.
"""

import codecs
import io
import os
import sys
from contextlib import suppress
from typing import TextIO

PICTURES = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"} | {0x7F: "␡"}
"""Unicode's pictures of control characters: ␛ of Escape."""
OTHERS = [*range(0x80, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
"""Control characters without a picture, and what ends lines or changes the direction of writing."""
SURROGATES = range(0xD800, 0xE000)
"""Bytes of a file's name that are no text, as Python holds them; no encoding can write them."""
SIGNS = PICTURES | dict.fromkeys([*OTHERS, *SURROGATES], "�")
LINE = SIGNS | {ord("\n"): "␊", ord("\t"): " "}

PLAIN_MARKS = str.maketrans("·│─┼┊–×…→∙’“”⌈⌉␊", '.|-+:-x~>.\'""[]/')
"""What stands for each mark where an encoding has no such character."""


def visible(text: str) -> str:
    """`text` with its line breaks, but without any character that a terminal obeys."""
    return text if text.isascii() and text.isprintable() else text.translate(SIGNS)


def one_line(name: object) -> str:
    """The same without line breaks, for a name."""
    return str(name).translate(LINE)


def say(message: object) -> None:
    """A message of banksim on standard error."""
    with suppress(OSError, ValueError):  # told when the command ends
        sys.stdout.flush()  # what was printed before comes before it, in a log of both streams too
    print(f"banksim: {visible(str(message))}", file=sys.stderr)


def open_streams() -> None:
    """Let standard streams that whoever started this process closed lead nowhere. Left closed, the next files that are
    opened would take their numbers, and what a program of ours prints would go there."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, mode))


def write_in_any_encoding(stream: TextIO | None) -> None:
    """Let a stream whose encoding lacks a character write what comes closest to it."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=closest.__name__)


def closest(error: UnicodeError) -> tuple[str, int]:
    """What stands for characters that cannot be encoded, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    marks = error.object[error.start : error.end].translate(PLAIN_MARKS)
    return marks.encode("ascii", "backslashreplace").decode(), error.end


codecs.register_error(closest.__name__, closest)
