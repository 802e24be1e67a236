"""Help as wide as the terminal: paragraphs wrap, and commands go on behind a backslash, so that they can be copied."""

import shutil
import textwrap
from argparse import RawDescriptionHelpFormatter
from collections.abc import Iterator
from itertools import groupby

WIDEST = 120
"""Letters of a line at most, however wide the terminal."""
FURTHER = "      "
"""What a command's further lines begin with."""


def width() -> int:
    """Letters of a line of help."""
    return min(shutil.get_terminal_size().columns, WIDEST)


class Help(RawDescriptionHelpFormatter):
    """Lays the texts of a parser out."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=width())

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return fitted(text, width)


def fitted(text: str, width: int) -> str:
    """Paragraphs and, indented, commands."""
    lines: list[str] = []
    for is_command, group in groupby(text.strip("\n").split("\n"), key=lambda line: line.startswith(" ")):
        if is_command:
            lines += [part for line in group for part in command(line, width)]
        else:
            paragraphs = "\n".join(group).split("\n\n")
            lines += "\n\n".join(textwrap.fill(one, width, break_on_hyphens=False) for one in paragraphs).split("\n")
    return "\n".join(lines)


def command(line: str, width: int) -> Iterator[str]:
    """A line of a command, broken before options, or at any blank outside quotes, where it is too long."""
    while len(line) > width:
        breaks = [at for at in unquoted_blanks(line) if len(FURTHER) < at <= width - len(" \\")]
        if not breaks:
            break
        last = max(breaks, key=lambda at: (line[at + 1] == "-", at))
        yield f"{line[:last]} \\"
        line = FURTHER + line[last + 1 :]
    yield line


def unquoted_blanks(line: str) -> Iterator[int]:
    quote = ""
    for at, letter in enumerate(line):
        if letter in "\"'" and quote in ("", letter):
            quote = "" if quote else letter
        elif letter == " " and not quote:
            yield at
