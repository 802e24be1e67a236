"""A layout as a grid: rows and columns of elements, in each its place, coloured by its bank."""

from dataclasses import dataclass

import numpy as np
from rich.text import Text

from banksim.architectures.bank_rules import Architecture
from banksim.errors import InputError
from banksim.layouts.algebra import Numbers
from banksim.report.text.style import QUIET

MOST_CELLS = 1 << 16
"""The most elements of a picture."""


@dataclass(frozen=True)
class Grid:
    """The places of elements, counted in elements of `element` bytes, by row and column."""

    text: str
    places: Numbers
    element: int
    arch: Architecture

    @property
    def banks(self) -> Numbers:
        """The bank that holds the first byte of each element."""
        found: Numbers = self.places * self.element // self.arch.bank_width % self.arch.banks
        return found


def grid(text: str, places: Numbers, element: int, arch: Architecture) -> Grid:
    """The grid of a layout with one or two modes, of which the first counts rows."""
    shown = places[None, :] if places.ndim == 1 else places
    if shown.ndim != 2:
        raise InputError(f"{text} has {places.ndim} modes: one or two can be drawn")
    if shown.size > MOST_CELLS:
        raise InputError(f"{text} has {shown.size} elements: up to {MOST_CELLS} can be drawn")
    return Grid(text, shown, element, arch)


def hue(bank: int, banks: int) -> tuple[int, int, int]:
    """A light colour of each bank, all round the circle."""
    angle = 2 * np.pi * bank / banks
    red, green, blue = (int(205 + 45 * np.cos(angle - shift)) for shift in (0, 2.0944, 4.1888))
    return red, green, blue


def picture(found: Grid, width: int) -> Text:
    """The banks of the elements, as many columns as fit."""
    rows, columns = found.places.shape
    label = len(str(rows - 1)) + 1
    cell = len(str(found.arch.banks - 1)) + 1
    shown = min(columns, (width - label - 1) // cell)
    lines = [Text(f"{found.text}, banks on {found.arch.name}", QUIET)]
    head = "".join(f"{column:>{cell}}" if column % 4 == 0 else " " * cell for column in range(shown))
    lines.append(Text(f"{'':{label}}│{head}".rstrip(), QUIET))
    for row in range(rows):
        line = Text.assemble((f"{row:>{label - 1}} │", QUIET))
        for bank in found.banks[row, :shown].tolist():
            red, green, blue = hue(bank, found.arch.banks)
            line.append(f"{bank:>{cell}}", f"black on rgb({red},{green},{blue})")
        lines.append(line)
    if shown < columns:
        lines.append(Text(f"{columns - shown} more columns: --draw FILE.svg has room for all", QUIET))
    return Text("\n").join(lines)
