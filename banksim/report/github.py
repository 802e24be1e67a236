"""Findings as annotations of a pull request's lines, as GitHub Actions reads them."""

from __future__ import annotations

from collections.abc import Sequence

from banksim.banks.conflicts import Conflicts, SiteConflicts
from banksim.banks.limits import Findings
from banksim.machine.races.findings import Finding, Hint, accesses, hinted, in_words
from banksim.report.annotations import HINT_TITLE, NOTHING, TITLE, TITLES, Plain, conflicting, level, message, remarks
from banksim.requests.trace import Site
from banksim.system.paths import portable
from banksim.system.visible import visible


def github(
    judged: Sequence[Conflicts],
    findings: Findings,
    found: Sequence[Finding] = (),
    hints: Sequence[Hint] = (),
    plain: Plain = NOTHING,
) -> str:
    """Workflow commands: an annotation for each finding of a check, each hint, and each line with a conflict.
    The annotation of a line that a comment excuses is a notice with the reason."""
    lines = [annotation("error", accesses(one)[-1].site, TITLES[one.check], in_words(one)) for one in found]
    lines += [annotation("notice", one.second.site, HINT_TITLE, hinted(one)) for one in hints]
    for conflicts, site in conflicting(judged):
        reason = next((excuse.reason for one, excuse in findings.excused if one == site), None)
        if reason is None:
            lines.append(annotation(level(conflicts, site, findings), site, TITLE, message(conflicts, site)))
        else:
            text = f"{message(conflicts, site)}; excused: {reason}"
            lines.append(annotation("notice", site, f"{TITLE}, excused", text))
    lines += [f"::{level} title=banksim::{escaped(text)}" for level, text in remarks(plain)]
    for excuse in findings.unused:
        properties = f"file={escaped(portable(excuse.file), ':,')},line={excuse.line},title=Unused excuse"
        lines.append(f"::notice {properties}::{escaped(str(excuse))}")
    return visible("\n".join(lines)) or "No conflicts."


def annotation(level: str, site: SiteConflicts | Site, title: str, text: str) -> str:
    where = {"title": title}
    if site.file and site.line:
        where = {"file": portable(site.file), "line": str(site.line), **where}
    properties = ",".join(f"{name}={escaped(value, ':,')}" for name, value in where.items())
    return f"::{level} {properties}::{escaped(text)}"


def escaped(text: str, also: str = "") -> str:
    """`text` as workflow commands want it: nothing in it can end a line or begin a command."""
    for character in "%\r\n" + also:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
