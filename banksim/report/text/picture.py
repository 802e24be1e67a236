"""One request as a picture: lanes down, banks across, in each place the pass that serves the lane there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rich.text import Text

from banksim.architectures.published_rates import rates
from banksim.banks.rule import Explanation, Pass
from banksim.report.text.style import CALM, HOT, QUIET
from banksim.report.text.table import fold
from banksim.requests.counts import Range, ends
from banksim.timing.block_cycles import transfers
from banksim.wording import number, plural, runs, ways

LABEL = 6
"""Columns of a row's label: `16–31` and a space."""
WIDEST = 4
"""The most columns for a bank; more would tear the picture apart."""
FOLD = 4
"""From so many neighbouring lanes with the same cells on, they are drawn as one row."""
TICK = 4
"""One in so many banks is numbered; every second number has a guide line under it."""


@dataclass(frozen=True)
class BankSpan:
    """A run of `banks` neighbouring banks that serve a lane in the same pass, `number` (from 1).

    `waits`: other lanes of its part (the lanes judged together) are served before. `mark` tells what else the
    pass serves there: `=` another lane with the same word, `+` another word.
    """

    bank: int
    banks: int
    number: int
    waits: bool
    mark: str


@dataclass(frozen=True)
class LaneRow:
    """What happens to one lane; `turn` is the first of `turns` that it is in, −1 if it accesses nothing."""

    lane: int
    turn: int
    cells: tuple[BankSpan, ...]


def turns(explanation: Explanation) -> list[list[Pass]]:
    """The passes, in a list for each part of the request."""
    return [list(passes) for _, passes in groupby(explanation.passes, key=lambda step: step.part)]


def rows(explanation: Explanation) -> list[LaneRow]:
    """One row for each of the 32 lanes."""
    banks, unit = explanation.arch.banks, explanation.arch.bank_width
    first: dict[int, int] = {}
    served: dict[int, dict[int, BankSpan]] = defaultdict(dict)
    at = 0
    for turn, passes in enumerate(turns(explanation)):
        begin = at + 1
        for step in passes:
            at += 1
            touched = {lane: words(explanation.address[lane], explanation.width, unit) for lane in step.lanes}
            lanes_of = Counter(word for found in touched.values() for word in found if word in step.words)
            words_of = Counter(word % banks for word in lanes_of)
            for lane, found in touched.items():
                first.setdefault(lane, turn)
                for word in found:
                    if word in lanes_of:
                        mark = "=" if lanes_of[word] > 1 else "+" if words_of[word % banks] > 1 else ""
                        served[lane].setdefault(word % banks, BankSpan(word % banks, 1, at, at > begin, mark))
    return [
        LaneRow(lane, first.get(lane, -1), tuple(drawn_together(sorted(served[lane].values(), key=lambda c: c.bank))))
        for lane in range(len(explanation.address))
    ]


def words(address: int, width: int, unit: int) -> range:
    """The words of `unit` bytes that an access touches."""
    return range(address // unit, (address + width - 1) // unit + 1)


def drawn_together(cells: Sequence[BankSpan]) -> Iterator[BankSpan]:
    """Cells of one lane, neighbours that differ in the bank only as one."""
    last: BankSpan | None = None
    for cell in cells:
        if last and replace(cell, bank=last.bank, banks=last.banks) == last and cell.bank == last.bank + last.banks:
            last = replace(last, banks=last.banks + 1)
            continue
        if last:
            yield last
        last = cell
    if last:
        yield last


def picture(explanation: Explanation, width: int) -> Text:
    """The request over at most `width` columns, with a legend of the marks that occur."""
    table = rows(explanation)
    canvas = canvas_for(explanation, width)
    passes = turns(explanation)
    if canvas is None:
        lines = list(pass_by_pass(explanation, width))
    else:
        lines = list(canvas.ruler())
        ruled: set[int] = set()
        for row in folded(table):
            turn = row[0].turn
            if len(passes) > 1 and turn >= 0 and turn not in ruled:
                ruled.add(turn)
                lines.append(canvas.rule(purpose(passes, {r.lane for r in table if r.turn == turn})))
            lines.append(canvas.row(row, explanation.address))
    for note in legend(explanation, {cell.mark for row in table for cell in row.cells}):
        lines += fold(Text(note, QUIET), width)
    return Text("\n").join(lines)


def canvas_for(explanation: Explanation, width: int) -> Canvas | None:
    """The widest grid that fits, with the addresses beside it if they fit as well; None if nothing does."""
    least = max(2, len(str(len(explanation.passes))))
    tail = max(len(str(address)) for address in (*explanation.address, "byte")) + 3
    for room in (tail, 0):
        step = min(WIDEST, (width - LABEL - 3 - room) // explanation.arch.banks)
        if step >= least:
            return Canvas(explanation.arch.banks, step, room)
    return None


def folded(table: Sequence[LaneRow]) -> Iterator[list[LaneRow]]:
    """Neighbouring rows that look alike, together if there are enough of them."""
    for _, group in groupby(table, key=lambda row: (row.turn, row.cells)):
        alike = list(group)
        if len(alike) >= FOLD or not alike[0].cells:
            yield alike
        else:
            yield from ([row] for row in alike)


def purpose(passes: list[list[Pass]], lanes: set[int]) -> str:
    """Which passes serve these lanes, and how many would do without conflicts."""
    numbers: list[int] = []
    least = at = 0
    for turn in passes:
        if lanes & {lane for step in turn for lane in step.lanes}:
            numbers += range(at + 1, at + len(turn) + 1)
            least += turn.count(turn[0])
        at += len(turn)
    text = f"pass{'es' if len(numbers) > 1 else ''} {runs(numbers)}"
    return text if len(numbers) == least else f"{text} where {least} would do"


def pass_by_pass(explanation: Explanation, width: int) -> Iterator[Text]:
    """What each pass serves, in words: for screens too narrow for a picture."""
    for at, step in enumerate(explanation.passes, 1):
        lanes, banks = (plural(len(s), n, runs(s)) for s, n in ((step.lanes, "lane"), (step.banks, "bank")))
        yield from fold(Text(f"pass {at}: {lanes} in {banks}"), width)


@dataclass(frozen=True)
class Canvas:
    """The grid: `banks` columns of `step` characters each, `tail` characters for the address (0: none)."""

    banks: int
    step: int
    tail: int

    def framed(self, label: str, inside: Text, end: str) -> Text:
        line = Text.assemble((f"{label:>{LABEL - 1}} ", QUIET if label == "lane" else ""), ("│", QUIET), inside)
        if self.tail:
            line.append(" " * (self.banks * self.step + 1 - len(inside.plain)) + f"│{end:>{self.tail - 2}}", QUIET)
        line.rstrip()
        return line

    def ruler(self) -> Iterator[Text]:
        numbers = "".join(f"{bank:>{self.step}}".ljust(self.step * TICK) for bank in range(0, self.banks, TICK))
        yield self.framed("", Text(" " * (self.step - 1) + "bank", QUIET), "")
        yield self.framed("lane", Text(numbers, QUIET), "byte")

    def rule(self, text: str) -> Text:
        bar = f"{'─' * (self.step - 1)} {text} ".ljust(self.banks * self.step + 1, "─")
        return Text("─" * LABEL + "┼" + bar + ("┼" + "─" * (self.tail - 2) if self.tail else ""), QUIET)

    def row(self, alike: Sequence[LaneRow], address: Sequence[int]) -> Text:
        """One line for rows that look alike."""
        lanes = [row.lane for row in alike]
        if not alike[0].cells:
            return self.framed(runs(lanes), Text(" " * (self.step - 1) + "no access", QUIET), "")
        marks: list[tuple[str, str]] = []
        for bank in range(self.banks):
            marks += [(" ", QUIET)] * (self.step - 1) + [("·" if bank % (2 * TICK) else "┊", QUIET)]
        marks.append((" ", QUIET))
        for cell in alike[0].cells:
            text = f"{cell.number:>{self.step}}{cell.mark}"
            text = text.ljust(cell.banks * self.step, "─") if cell.banks > 1 else text
            start = cell.bank * self.step
            marks[start : start + len(text)] = [(char, HOT if cell.waits else CALM) for char in text]
        at = [address[lane] for lane in lanes]
        runs_of_style = groupby(marks, key=lambda mark: mark[1])
        inside = Text.assemble(*(("".join(char for char, _ in run), style) for style, run in runs_of_style))
        return self.framed(runs(lanes), inside, str(at[0]) if len({*at}) == 1 else f"{at[0]}…")


def legend(explanation: Explanation, marks: set[str]) -> Iterator[str]:
    """A line for each kind of mark in the picture."""
    rule = explanation.arch.access(explanation.op, explanation.width)
    which = f"first of {rule.passes} passes" if rule and rule.passes > 1 else "pass"
    yield f"A number is the {which} in which the bank serves the lane."
    if "=" in marks:
        yield "= the same word as another lane in that pass: served together, at no cost."
    if "+" in marks:
        yield "+ the bank serves another word in that pass as well, at no cost."
    if isinstance(explanation.transactions, Range) and len({*explanation.transactions}) > 1:
        yield (
            "Which word is broadcast is unspecified: drawn is the unluckiest choice, "
            f"{len(explanation.passes)} passes of {number(explanation.transactions)}."
        )


def diagnosis(explanation: Explanation) -> str:
    """What the request costs, what it would cost without conflicts, and which banks make the difference."""
    if explanation.transactions is None or explanation.ideal is None:
        return "Nobody knows how many transactions this takes."
    cost = f"{number(explanation.transactions)} transaction{'s' if len(explanation.passes) != 1 else ''}"
    if ends(explanation.transactions).high == explanation.ideal:
        return f"{cost}, no conflict."
    access = explanation.arch.access(explanation.op, explanation.width)
    if access is not None and access.serves == "copy" and not access.also:
        return (
            f"{cost}, {explanation.ideal} without conflicts: {explanation.degree} lanes need the banks that one of "
            "them reads or writes, one lane a pass."
        )
    if access is not None and (access.also or access.serves == "bypass"):
        return (
            f"{cost}, {explanation.ideal} without conflicts: sectors of 32 bytes share a pass only within a line of "
            "128, on either side, and if they move alike."
        )
    if access is not None and access.serves == "line":
        return f"{cost}, {explanation.ideal} without conflicts: each line of 128 bytes of another block is an access."
    if access is not None and access.serves in ("place", "half place"):
        part = "a line" if access.serves == "place" else "half a line"
        return f"{cost}, {explanation.ideal} without conflicts: a pass serves {part} of a block, one lane a place."
    needs = [Counter(bank for step in turn for bank in step.banks) for turn in turns(explanation)]
    most = max(max(need.values()) for need in needs)
    banks = {bank for need in needs for bank, passes in need.items() if passes == most}
    which = runs(banks)
    busy = plural(len(banks), "bank", which if which.count(",") < 4 else "")
    part = " for one part of the warp" if len(needs) > 1 else ""
    return (
        f"{cost}, {explanation.ideal} without conflicts: {busy} need{'s' if len(banks) == 1 else ''} "
        f"{most} passes{part}, {limit(explanation)}."
    )


def duration(explanation: Explanation) -> str:
    """What the request takes in cycles, alone and on a busy SM; "" where nobody knows."""
    known, cost = rates(explanation.arch), transfers(explanation)
    if known is None or cost is None:
        return ""
    what = "" if explanation.degree == 1 else f"{ways(explanation.degree)}: "
    return (
        f"{what}{plural(known.alone * cost, 'cycle')} for one warp, {known.busy * cost:,} when the SM is busy "
        f"({known.status})."
    )


def limit(explanation: Explanation) -> str:
    """What a bank can do in one pass."""
    access = explanation.arch.access(explanation.op, explanation.width)
    if access is not None and access.serves == "lane":
        return "one lane a pass" if access.passes == 1 else f"{access.passes} passes a lane"
    if access is not None and access.serves == "broadcast":
        return "one lane a pass, or all lanes of the broadcast word"
    if explanation.arch.pass_width > explanation.arch.bank_width:
        return f"one {explanation.arch.row_bytes}-byte row a pass"
    return "one word a pass"
