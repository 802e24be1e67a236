"""The report on two analyses: which source line got better or worse."""

from collections.abc import Callable, Sequence

from rich.text import Text

from banksim.banks.comparison import Change, Comparison
from banksim.report.text.style import CALM, HOT, QUIET, STRONG
from banksim.report.text.table import Column, fitted, fold
from banksim.requests.counts import Count
from banksim.wording import number, plural


def report(compared: Sequence[Comparison], width: int, all_lines: bool = False) -> Text:
    """For each architecture the lines that changed, worst first, and the totals."""
    return Text("\n\n").join(part(one, width, all_lines) for one in compared)


def part(one: Comparison, width: int, all_lines: bool) -> Text:
    heading = fold(Text(f"Shared-memory transactions on {one.arch}, before and after", STRONG), width)
    shown = [change for change in one.changes if all_lines or change.verdict != "same"]
    lines = [*heading, Text()]
    if shown:
        rows = [*shown, one.total]
        labels = [Text(change.label, STRONG) for change in rows]
        columns = [
            Column(("", head), [Text(cell(change), colour(change)) for change in rows], left=head == "verdict")
            for head, cell in COLUMNS.items()
        ]
        lines += fitted(labels, columns, width)
    same = len(one.changes) - len(shown)
    if same:
        lines.append(Text(f"{plural(same, 'line')} with no change", QUIET))
    return Text("\n").join([*lines, Text(), *fold(Text(summary(one), colour(one.total)), width)])


COLUMNS: dict[str, Callable[[Change], str]] = {
    "before": lambda change: shown(change, change.before),
    "after": lambda change: shown(change, change.after),
    "change": lambda change: "" if change.difference is None else f"{change.difference:+,}",
    "verdict": lambda change: change.verdict,
}


def shown(change: Change, value: Count | None) -> str:
    return "–" if value is None and change.verdict in ("new", "gone") else number(value)


def colour(change: Change) -> str:
    return {"worse": HOT, "new": HOT, "unknown": HOT, "better": CALM, "gone": CALM}.get(change.verdict, "")


def summary(one: Comparison) -> str:
    worse = sum(change.is_regression and change.verdict != "unknown" for change in one.changes)
    unknown = sum(change.verdict == "unknown" for change in one.changes)
    if worse or unknown:
        found = [f"{plural(worse, 'line')} got worse"] if worse else []
        found += [f"the count of {plural(unknown, 'line')} is unknown, before or after"] if unknown else []
        return ", ".join(found)
    if any(change.verdict in ("better", "gone") for change in one.changes):
        return "Nothing got worse."
    return "No change."
