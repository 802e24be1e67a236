"""Where reports go: a terminal of some width, with colours or not, or a pipe of some encoding."""

from typing import IO

from rich.console import Console
from rich.text import Text

from banksim.system.visible import visible


def console(file: IO[str] | None = None) -> Console:
    """Standard output or `file`. Plain text in a pipe, no colour under NO_COLOR, as wide as COLUMNS or the terminal."""
    return Console(file=file, highlight=False, markup=False, emoji=False, soft_wrap=True)


def show(text: Text, on: Console) -> None:
    """Print a report as it is laid out."""
    text = Text(visible(text.plain), spans=text.spans)
    if on.color_system is None:
        print(text.plain, file=on.file)
    else:
        on.print(text)
