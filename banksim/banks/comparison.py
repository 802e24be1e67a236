"""Two analyses side by side: what each source line cost before and costs after."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Literal

from banksim.banks.conflicts import Conflicts
from banksim.errors import InputError
from banksim.requests.counts import Count, Range, ends, plain, total_if_known
from banksim.system.paths import portable

Verdict = Literal["worse", "better", "same", "new", "gone", "unknown"]
"""Of transactions before and after; "new": a line that was not there before, "gone": one that is not there after."""


@dataclass(frozen=True)
class Line:
    """All requests of one source line, or of one access of a pattern. None: a count is unknown."""

    file: str | None
    line: int | None
    text: str
    transactions: Count | None
    excess: Count | None


@dataclass(frozen=True)
class Change:
    """What became of a line; `before` and `after` are transactions."""

    label: str
    before: Count | None
    after: Count | None
    verdict: Verdict
    is_regression: bool

    @property
    def difference(self) -> int | None:
        """Transactions more than before, at most."""
        if self.verdict == "unknown":
            return None
        return ends(self.after or 0).high - ends(self.before or 0).high

    def to_json(self) -> dict[str, object]:
        return {
            "line": self.label,
            "before": plain(self.before),
            "after": plain(self.after),
            "difference": self.difference,
            "verdict": self.verdict,
            "regression": self.is_regression,
        }


@dataclass(frozen=True)
class Comparison:
    """What changed by one architecture, worst first, and the totals."""

    arch: str
    changes: tuple[Change, ...]
    total: Change

    @property
    def is_regression(self) -> bool:
        return any(change.is_regression for change in self.changes)

    def to_json(self) -> dict[str, object]:
        return {
            "arch": self.arch,
            "regression": self.is_regression,
            "total": self.total.to_json(),
            "lines": [change.to_json() for change in self.changes],
        }


def lines_of(sites: Iterable[Mapping[str, Any]]) -> list[Line]:
    """The lines of what `Conflicts.to_json` gives for its sites. Plain Python errors for what is none."""
    groups: dict[tuple[str | None, int | None, str], list[Mapping[str, Any]]] = {}
    for site in sites:
        file, line, text = site["file"], site["line"], str(site["text"]).strip()
        where = text if line else f"{site['function']}: {text}" if site["function"] else text
        file = portable(file) if file else file
        groups.setdefault((file, line, where or f"{site['op']} {site['width']} B"), []).append(site)
    return [
        Line(file, line, text, summed(group, "transactions"), summed(group, "excess"))
        for (file, line, text), group in groups.items()
    ]


def summed(sites: Iterable[Mapping[str, object]], name: str) -> Count | None:
    return total_if_known(count(site[name]) for site in sites)


def count(value: Any) -> Count | None:
    """A count as JSON has it."""
    if value is None:
        return None
    found = Range(value["low"], value["high"]) if isinstance(value, dict) else value
    if not all(type(end) is int for end in ends(found)):
        raise ValueError(value)
    return found


def compare(arch: str, before: Sequence[Line], after: Sequence[Line]) -> Comparison:
    """Which lines changed. A line goes with that of the same file and text, else with that of the same number."""
    pairs = [
        change(label(b or a), b, a)  # type: ignore[arg-type]
        for b, a in matched(before, after)
    ]
    order: list[Verdict] = ["unknown", "worse", "new", "better", "gone", "same"]
    pairs.sort(key=lambda one: (order.index(one.verdict), -abs(one.difference or 0)))
    whole = change("total", whole_of(before), whole_of(after))
    return Comparison(arch, tuple(pairs), whole)


def matched(before: Sequence[Line], after: Sequence[Line]) -> list[tuple[Line | None, Line | None]]:
    """Each line with itself: that of the same file and text, else that of the same number."""
    pairs: list[tuple[Line | None, Line | None]] = []
    old, new = renamed(before, after), list(after)
    keys: list[Callable[[Line], object]] = [
        lambda line: line,
        lambda line: (line.file, line.line, line.text),
        lambda line: (line.file, line.text),
        lambda line: (line.file, line.line) if line.line else line,
    ]
    for key in keys:
        for one in list(new):
            same = next((other for other in old if key(other) == key(one)), None)
            if same is not None:
                pairs.append((same, one))
                old.remove(same)
                new.remove(one)
    return pairs + [(one, None) for one in old] + [(None, one) for one in new]


def renamed(lines: Sequence[Line], others: Sequence[Line]) -> list[Line]:
    """Lines whose paths are of another machine, as older reports have them, under the paths of the others that end
    them, where only one does."""
    known = {line.file for line in others if line.file}
    names = {}
    for file in {line.file for line in lines if line.file and line.file not in known}:
        ends = [one for one in known if PurePath(file).is_absolute() and file.endswith(f"/{one}")]
        names[file] = ends[0] if len(ends) == 1 else file
    return [replace(line, file=names.get(line.file or "", line.file)) for line in lines]


def whole_of(lines: Sequence[Line]) -> Line:
    excess = total_if_known(line.excess for line in lines)
    return Line(None, None, "total", total_if_known(line.transactions for line in lines), excess)


def label(line: Line) -> str:
    return f"{line.file}:{line.line}  {line.text}" if line.line else line.text


def change(label: str, before: Line | None, after: Line | None) -> Change:
    """What became of a line, of which one at least is there."""
    verdict: Verdict
    old, new = (None if one is None else one.transactions for one in (before, after))
    if (before is not None and old is None) or (after is not None and new is None):
        return Change(label, old, new, "unknown", True)
    if before is None:
        assert after is not None
        return Change(label, None, new, "new", ends(after.excess or 0).high > 0)
    if after is None:
        return Change(label, old, None, "gone", False)
    low, high = ends(old or 0)
    new_low, new_high = ends(new or 0)
    if (new_high, new_low) == (high, low):
        verdict = "same"
    else:
        verdict = "worse" if (new_high, new_low) > (high, low) else "better"
    return Change(label, old, new, verdict, verdict == "worse")


def from_conflicts(judged: Sequence[Conflicts]) -> dict[str, list[Line]]:
    """The lines of an analysis by the name of each architecture."""
    return {one.arch.name: lines_of(site.to_json() for site in one.sites) for one in judged}


def from_json(text: str, path: str) -> dict[str, list[Line]]:
    """The same of what a command printed with `--json`. `InputError` for anything else."""
    try:
        found = json.loads(text)
        return {str(one["arch"]): lines_of(one["sites"]) for one in found["conflicts"]}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise InputError(f"{path}: no report of banksim: give what a command prints with --json, or a trace") from None
