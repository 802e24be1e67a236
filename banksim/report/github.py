"""Findings as annotations of a pull request's lines, as GitHub Actions reads them."""

from collections.abc import Iterator, Mapping, Sequence

from banksim.banks.conflicts import Conflicts, SiteConflicts
from banksim.banks.limits import Excuse, Findings
from banksim.machine.races.findings import Finding, Hint, accesses, hinted, in_words
from banksim.project.file import Project
from banksim.project.verdicts import Verdict, unused_excuses
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
    lines = [*told(judged, findings, found, hints, plain), *map(unused, findings.unused)]
    return visible("\n".join(lines)) or "No conflicts."


def project(project: Project, verdicts: Sequence[Verdict]) -> str:
    """The annotations of all entries, each once; an entry that could not be judged has one where it stands."""
    lines: list[str] = []
    for one in verdicts:
        lines += told(one.judged, one.limits, one.found, one.hints, one.report)
        if one.error:
            where = {"title": "banksim check", "file": portable(str(project.file)), "line": str(one.entry.line or 1)}
            lines.append(command("error", where, f"{one.entry.name}: {one.error}"))
    lines += map(unused, unused_excuses(verdicts))
    return visible("\n".join(dict.fromkeys(lines))) or "No conflicts."


def told(
    judged: Sequence[Conflicts], findings: Findings, found: Sequence[Finding], hints: Sequence[Hint], plain: Plain
) -> Iterator[str]:
    """The annotations of one report, but for those of unused excuses."""
    yield from (annotation("error", accesses(one)[-1].site, TITLES[one.check], in_words(one)) for one in found)
    yield from (annotation("notice", one.second.site, HINT_TITLE, hinted(one)) for one in hints)
    for conflicts, site in conflicting(judged):
        excuse = findings.excuse_of(site)
        if excuse is None:
            yield annotation(level(conflicts, site, findings), site, TITLE, message(conflicts, site))
        else:
            text = f"{message(conflicts, site)}; excused: {excuse.reason}"
            yield annotation("notice", site, f"{TITLE}, excused", text)
    yield from (command(level, {"title": "banksim"}, text) for level, text in remarks(plain))


def unused(excuse: Excuse) -> str:
    where = {"file": portable(excuse.file), "line": str(excuse.line), "title": "Unused excuse"}
    return command("notice", where, str(excuse))


def annotation(level: str, site: SiteConflicts | Site, title: str, text: str) -> str:
    where = {"title": title}
    if site.file and site.line:
        where = {"file": portable(site.file), "line": str(site.line), **where}
    return command(level, where, text)


def command(level: str, where: Mapping[str, str], text: str) -> str:
    """A workflow command with its properties."""
    properties = ",".join(f"{name}={escaped(value, ':,')}" for name, value in where.items())
    return f"::{level} {properties}::{escaped(text)}"


def escaped(text: str, also: str = "") -> str:
    """`text` as workflow commands want it: nothing in it can end a line or begin a command."""
    for character in "%\r\n" + also:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
