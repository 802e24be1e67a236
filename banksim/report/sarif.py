"""Findings as SARIF 2.1.0, which code scanning reads."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path, PurePath

from banksim.banks.conflicts import Conflicts, SiteConflicts
from banksim.banks.limits import Findings
from banksim.machine.races.findings import CHECKS, Finding, Hint, accesses, hinted, in_words
from banksim.report.annotations import (
    HINT_RULE,
    HINT_TITLE,
    NOTHING,
    TITLE,
    TITLES,
    Plain,
    conflicting,
    level,
    message,
    remarks,
)
from banksim.requests.trace import Site
from banksim.system.paths import portable

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
BASE = "SRCROOT"
"""SARIF's name for the root of the project. Its place is not given, since every checkout has another."""
RULE = "bank-conflict"
RULES = {"races": "shared-memory-race", "uninitialized": "uninitialized-shared-memory"}


def sarif(
    judged: Sequence[Conflicts],
    findings: Findings,
    found: Sequence[Finding] = (),
    hints: Sequence[Hint] = (),
    plain: Plain = NOTHING,
) -> str:
    """A SARIF 2.1.0 log; what a comment excuses is there as suppressed. It holds the whole report too, as `plain`."""
    from banksim.version import VERSION

    excuses = {id(site): excuse for site, excuse in findings.excused}
    excused = [site for site, _ in findings.excused]
    results = [finding(one) for one in found] + [hint(one) for one in hints]
    for conflicts, site in conflicting(judged):
        one: dict[str, object] = {
            "ruleId": RULE,
            "ruleIndex": 0,
            "level": level(conflicts, site, findings),
            "message": {"text": message(conflicts, site)},
            "properties": {"arch": conflicts.arch.name, **figures(site)},
        }
        if site.file and site.line:
            one["locations"] = [location(site)]
        if site in excused:
            excuse = excuses[id(excused[excused.index(site)])]
            one["suppressions"] = [{"kind": "inSource", "justification": excuse.reason}]
        results.append(one)
    driver = {
        "name": "banksim",
        "version": VERSION,
        "rules": [
            {
                "id": RULE,
                "shortDescription": {"text": TITLE},
                "fullDescription": {
                    "text": "Lanes of a warp want different words of one bank, which serves them one after the other."
                },
                "help": {"text": "Another layout may cure it: banksim advise proposes one and proves it."},
            },
            *(
                {
                    "id": RULES[check],
                    "shortDescription": {"text": TITLES[check]},
                    "fullDescription": {"text": f"{what[0].upper()}{what[1:]}."},
                }
                for check, what in CHECKS.items()
            ),
            {
                "id": HINT_RULE,
                "shortDescription": {"text": HINT_TITLE},
                "fullDescription": {"text": "A look at some blocks of a run without checks: --check races tells more."},
            },
        ],
    }
    levels = {"warning": "warning", "notice": "note"}
    said = [{"level": levels[level], "message": {"text": text}} for level, text in remarks(plain)]
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {BASE: {"description": {"text": "The root of the project."}}},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": said}],
        "properties": {"report": plain},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def finding(one: Finding) -> dict[str, object]:
    """The result for a finding of a check: at the line before which a barrier is missing, or of the read. The other
    line is a related location."""
    *others, here = (access.site for access in accesses(one))
    result: dict[str, object] = {
        "ruleId": RULES[one.check],
        "ruleIndex": 1 + list(CHECKS).index(one.check),
        "level": "error",
        "message": {"text": in_words(one)},
        "properties": one.to_json(),
    }
    return result | located(here, others)


def hint(one: Hint) -> dict[str, object]:
    """The result for a hint at a race, from a run without checks."""
    result: dict[str, object] = {
        "ruleId": HINT_RULE,
        "ruleIndex": 1 + len(CHECKS),
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
