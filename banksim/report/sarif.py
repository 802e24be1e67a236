"""Findings as SARIF 2.1.0, which code scanning reads."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from banksim.banks.conflicts import Conflicts, SiteConflicts
from banksim.banks.limits import Findings
from banksim.machine.races.findings import Finding, Hint, accesses, hinted, in_words
from banksim.project.file import Project
from banksim.project.verdicts import Verdict
from banksim.report.annotations import NOTHING, Plain, conflicting, level, message, remarks
from banksim.report.rules import CHECK_RULES, HINT_RULE, RULES, Rule, rule_of
from banksim.requests.trace import Site
from banksim.system.paths import portable

Result = dict[str, object]
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
BASE = "SRCROOT"
"""SARIF's name for the root of the project. Its place is not given, since every checkout has another."""
LEVELS = {"error": "error", "warning": "warning", "notice": "note"}
"""SARIF's names of levels."""


def sarif(
    judged: Sequence[Conflicts],
    findings: Findings,
    found: Sequence[Finding] = (),
    hints: Sequence[Hint] = (),
    plain: Plain = NOTHING,
) -> str:
    """A SARIF 2.1.0 log; what a comment excuses is there as suppressed. It holds the whole report too, as `plain`."""
    return log([*results(judged, findings, found, hints)], [*remarks(plain)], plain)


def project(project: Project, verdicts: Sequence[Verdict]) -> str:
    """One log of all entries, which the properties of each result name."""
    found: list[Result] = []
    said: list[tuple[str, str]] = []
    for one in verdicts:
        for result in results(one.judged, one.limits, one.found, one.hints):
            properties = result["properties"]
            assert isinstance(properties, dict)
            found.append({**result, "properties": {"entry": one.entry.name, **properties}})
        said += ((level, f"{one.entry.name}: {text}") for level, text in remarks(one.report))
        said += [("error", f"{project.file.name}: {one.entry.name}: {one.error}")] if one.error else []
    return log(found, said, {"entries": {one.entry.name: one.report for one in verdicts}})


def log(found: Sequence[Result], said: Sequence[tuple[str, str]], plain: Plain) -> str:
    """The log of these results and notices; `plain` is the whole report."""
    from banksim.version import VERSION

    notices = [{"level": LEVELS[level], "message": {"text": text}} for level, text in said]
    run = {
        "tool": {"driver": {"name": "banksim", "version": VERSION, "rules": [*map(described, RULES)]}},
        "originalUriBaseIds": {BASE: {"description": {"text": "The root of the project."}}},
        "columnKind": "unicodeCodePoints",
        "results": found,
        "invocations": [
            {"executionSuccessful": all(level != "error" for level, _ in said), "toolExecutionNotifications": notices}
        ],
        "properties": {"report": plain},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def described(rule: Rule) -> dict[str, object]:
    """A rule as SARIF has it, with its page."""
    found: dict[str, object] = {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.text},
        "help": {"text": rule.cure, **({"markdown": rule.page} if rule.page else {})},
    }
    return found | ({"helpUri": rule.uri} if rule.uri else {})


def named(rule: str) -> Result:
    """How a result names its rule."""
    return {"ruleId": rule, "ruleIndex": [one.id for one in RULES].index(rule)}


def results(
    judged: Sequence[Conflicts], findings: Findings, found: Sequence[Finding], hints: Sequence[Hint]
) -> Iterator[Result]:
    yield from map(finding, found)
    yield from map(hint, hints)
    for conflicts, site in conflicting(judged):
        one: Result = {
            **named(rule_of(site.op, site.excess is not None).id),
            "level": level(conflicts, site, findings),
            "message": {"text": message(conflicts, site)},
            "properties": {"arch": conflicts.arch.name, **figures(site)},
        }
        if site.file and site.line:
            one["locations"] = [location(site)]
        if excuse := findings.excuse_of(site):
            one["suppressions"] = [{"kind": "inSource", "justification": excuse.reason}]
        yield one


def finding(one: Finding) -> dict[str, object]:
    """The result for a finding of a check: at the line before which a barrier is missing, or of the read. The other
    line is a related location."""
    *others, here = (access.site for access in accesses(one))
    result: Result = {
        **named(CHECK_RULES[one.check]),
        "level": "error",
        "message": {"text": in_words(one)},
        "properties": one.to_json(),
    }
    return result | located(here, others)


def hint(one: Hint) -> dict[str, object]:
    """The result for a hint at a race, from a run without checks."""
    result: Result = {
        **named(HINT_RULE),
        "level": "note",
        "message": {"text": hinted(one)},
        "properties": one.to_json(),
    }
    return result | located(one.second.site, [one.first.site])


def located(here: Site, others: Sequence[Site]) -> dict[str, object]:
    """The locations of a result, and those related to it."""
    if not (here.file and here.line):
        return {}
    related = [location(site) for site in others if site.file and site.line]
    return {"locations": [location(here)], "relatedLocations": related}


def location(site: SiteConflicts | Site) -> dict[str, object]:
    """A line of a file: of one in a project the path from its root, of another the whole path."""
    from urllib.parse import quote

    assert site.file is not None
    file = portable(site.file)
    whole = PurePath(file).is_absolute()
    place = {"uri": Path(file).as_uri()} if whole else {"uri": quote(os.fsencode(file)), "uriBaseId": BASE}
    region: dict[str, object] = {"startLine": site.line}
    if site.text.strip():
        region["snippet"] = {"text": site.text.strip()}
    return {"physicalLocation": {"artifactLocation": place, "region": region}}


def figures(site: SiteConflicts) -> dict[str, object]:
    found = site.to_json()
    return {name: found[name] for name in ("op", "width", "requests", "transactions", "ideal", "excess", "degree")}
