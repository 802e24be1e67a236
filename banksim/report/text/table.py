"""Tables that never cut a number: labels fold, or stand above their figures, or the figures become prose."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rich.text import Text

from banksim.report.text.style import QUIET

LEAST_LABEL = 28
"""Characters that a long label gets beside its figures, at least."""
HANG = 4
"""Spaces before what follows of a label that is folded, so that it looks like no row of its own."""
PLACE = re.compile(r"\S+:\d+(?=\s|$)")
"""A file and line, which is never broken."""


@dataclass(frozen=True)
class Column:
    """One column: its head (two pieces, one above the other if room is short), a cell a row, its group."""

    head: tuple[str, str]
    cells: Sequence[Text]
    group: str = ""
    left: bool = False

    @property
    def narrow(self) -> "Column":
        """With sizes as `16×16`, and not `16 × 16`."""
        return replace(self, cells=[Text(cell.plain.replace(" × ", "×"), cell.style) for cell in self.cells])

    @property
    def name(self) -> str:
        """The head in one piece: `trans-` and `actions` are one word."""
        first, second = self.head
        return first[:-1] + second if first.endswith("-") else f"{first} {second}".strip()


def beside(labels: Sequence[Text], columns: Sequence[Column], width: int) -> list[Text] | None:
    """A table with labels left of their figures, folded if need be; None if `width` has no room for it."""
    longest = max((len(label.plain) for label in labels), default=0)
    least = max([LEAST_LABEL, *(len(place) for label in labels for place in PLACE.findall(label.plain))])
    for short in (False, True):
        grid = Grid(columns, short, 2)
        room = min(longest, width - grid.width)
        if room >= min(longest, least):
            lines = [Text.assemble(" " * room, head) for head in grid.heads()]
            for row, label in enumerate(labels):
                first, *rest = fold(label, room, HANG)
                lines.append(Text.assemble(first, " " * (room - len(first.plain)), grid.row(row)))
                lines += rest
            for line in lines:
                line.rstrip()
            return lines
    return None


def above(labels: Sequence[Text], columns: Sequence[Column], width: int) -> list[Text] | None:
    """A table with each label over its figures (an empty one takes no line); None if it does not fit."""
    for short, gap in ((False, 2), (True, 2), (True, 1)):
        grid = Grid(columns, short, gap)
        if grid.width <= width:
            lines = list(grid.heads())
            for row, label in enumerate(labels):
                lines += fold(label, width, HANG) if label else ()
                figures = grid.row(row)
                lines += [figures] if figures or not label else ()
            return lines
    return None


def prose(labels: Sequence[Text], columns: Sequence[Column], width: int) -> list[Text]:
    """Each row as a label and a list of names and figures, for any width."""
    lines: list[Text] = []
    for row, label in enumerate(labels):
        lines += fold(label, width, HANG) if label else ()
        for group, members in groupby(columns, key=lambda column: column.group):
            figures = [Text.assemble((f"{c.name} ", QUIET), c.cells[row]) for c in members if c.cells[row]]
            line = Text.assemble((f"{group}: " if group else "", QUIET), Text(", ").join(figures))
            lines += (Text.assemble("  ", part) for part in fold(line, max(width - 2, 8)))
    return lines


def fitted(labels: Sequence[Text], columns: Sequence[Column], width: int) -> list[Text]:
    """The first of these forms for which there is room."""
    whole = beside(labels, columns, width) or above(labels, columns, width)
    return whole or above(labels, [one.narrow for one in columns], width) or prose(labels, columns, width)


class Grid:
    """Columns with the widths that they take, `gap` spaces before each; `short`: heads over two lines."""

    def __init__(self, columns: Sequence[Column], short: bool, gap: int) -> None:
        self.columns, self.gap = columns, gap
        self.names = [column.head if short else ("", column.name) for column in columns]
        self.widths = [
            max(len(text) for text in (*names, *(cell.plain for cell in column.cells)))
            for column, names in zip(columns, self.names, strict=True)
        ]
        numbered = groupby(range(len(columns)), key=lambda i: columns[i].group)
        self.groups = [(name, list(members)) for name, members in numbered]
        for name, members in self.groups:
            if name:
                self.widths[members[0]] += max(0, len(name) + 4 - self.span(members))

    def span(self, members: Sequence[int]) -> int:
        """Characters that neighbouring columns take, without the gap before them."""
        return sum(self.widths[i] + self.gap for i in members) - self.gap

    @property
    def width(self) -> int:
        return sum(self.widths) + self.gap * len(self.widths)

    def heads(self) -> Iterator[Text]:
        """The names of the groups over rules, if there are any, then those of the columns."""
        groups = ""
        for name, members in self.groups:
            span = self.span(members)
            groups += " " * self.gap + (f" {name} ".center(span, "─") if name else " " * span)
        lines = [groups, *(self.line([Text(names[i]) for names in self.names]).plain for i in (0, 1))]
        yield from (Text(line.rstrip(), QUIET) for line in lines if line.strip())

    def row(self, number: int) -> Text:
        return self.line([column.cells[number] for column in self.columns])

    def line(self, cells: Sequence[Text]) -> Text:
        line = Text()
        for column, cell, width in zip(self.columns, cells, self.widths, strict=True):
            pad = " " * (width - len(cell.plain))
            line.append(" " * self.gap)
            line.append_text(Text.assemble(cell, pad) if column.left else Text.assemble(pad, cell))
        line.rstrip()
        return line


def fold(label: Text, width: int, hang: int = 0) -> list[Text]:
    """`label` in lines of `width`, broken behind a space, a comma or a bracket if there is one. All lines but the first
    begin with as many spaces as that does, and `hang` more."""
    lines = []
    indent = ""
    further = " " * min(hang + len(label.plain) - len(label.plain.lstrip(" ")), width // 2)
    while len(label.plain) > width - len(indent):
        first, label = label.divide([break_of(label.plain, width - len(indent))])
        first.rstrip()
        lines.append(Text.assemble(indent, first))
        indent = further
    return [*lines, Text.assemble(indent, label)]


def break_of(text: str, width: int) -> int:
    """Where to break `text` so that its first line has at most `width` characters; never within a number."""
    for ends in (" ,;", "])", "[(+"):
        for i in range(width, width // 3, -1):
            if text[i - 1] in ends and text[i] not in " ,:;])" and not (text[i - 1] == "," and text[i].isdigit()):
                return i
    return width
