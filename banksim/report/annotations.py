"""What all reviews of a pull request share: titles, levels and messages of findings."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from banksim.banks.conflicts import Conflicts, SiteConflicts
from banksim.banks.limits import Findings, cost, has_conflict, what
from banksim.banks.source_lines import by_line
from banksim.kernels.unfilled_variables import in_words as unfilled
from banksim.report.rules import BY_ID, CHECK_RULES, HINT_RULE
from banksim.system.paths import portable

Plain = Mapping[str, Any]
"""A report as plain data."""
NOTHING: Plain = {}
TITLE = BY_ID["bank-conflict"].title
TITLES = {check: BY_ID[rule].title for check, rule in CHECK_RULES.items()}
"""Titles of findings by the name of the check."""
HINT_TITLE = BY_ID[HINT_RULE].title


def conflicting(judged: Sequence[Conflicts]) -> Iterator[tuple[Conflicts, SiteConflicts]]:
    """Every line with a conflict or of unknown cost, by each architecture."""
    for conflicts in judged:
        lines = by_line(conflicts)
        yield from ((lines, site) for site in lines.sites if has_conflict(site))


def level(conflicts: Conflicts, site: SiteConflicts, findings: Findings) -> str:
    """`error` above a limit, else `warning`."""
    above = any(one.arch == conflicts.arch and one.site == site for one in findings.above)
    return "error" if above else "warning"


def message(conflicts: Conflicts, site: SiteConflicts) -> str:
    return f"{what(site)}: {cost(site)} on {conflicts.arch.name} ({site.status})"


def remarks(plain: Plain) -> Iterator[tuple[str, str]]:
    """Level and text of what holds for the report as a whole: that it is partial, what it rests on, and its notes."""
    yield from (("warning", text) for text in plain.get("out_of_bounds", ()))
    for one in (plain, *plain.get("kernels", ())):
        name = f"{one['kernel']}: " if "kernel" in one else ""
        if one.get("partial"):
            yield "warning", f"{name}PARTIAL: interrupted before the end"
        if one.get("findings_lost"):
            yield "warning", f"{name}{one['findings_lost']} more findings found no room in this report"
        for variable in one.get("unfilled", ()):
            where = f"{portable(variable['file'])}:{variable['line']}" if variable["file"] else ""
            yield "warning", f"{name}{unfilled(variable['name'], variable['bytes'], where)}"
        if one.get("judged_on_others_code"):
            yield "notice", f"{name}{', '.join(one['judged_on_others_code'])}: judged on code of {one['code']}"
        others = (note for note in one.get("notes", ()) if note not in plain.get("out_of_bounds", ()))
        yield from (("notice", f"{name}{note}") for note in others)
