"""The entries of a project as JUnit's XML, which servers for continuous integration show as tests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from banksim.banks.limits import cost, place
from banksim.project.file import Project
from banksim.project.verdicts import Verdict
from banksim.report.annotations import conflicting
from banksim.system.paths import portable
from banksim.system.visible import visible

NO_XML = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold."""


def project(project: Project, verdicts: Sequence[Verdict]) -> str:
    """A test suite with a test case for each entry, and in it the lines that conflict."""
    counts = {
        "tests": str(len(verdicts)),
        "failures": str(sum(one.outcome == "failed" for one in verdicts)),
        "errors": str(sum(one.outcome == "error" for one in verdicts)),
        "time": f"{sum(one.seconds for one in verdicts):.3f}",
    }
    suites = ElementTree.Element("testsuites", {"name": "banksim check", **counts})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": portable(str(project.file)), "skipped": "0", **counts})
    for one in verdicts:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {"name": held(one.entry.name), "classname": f"banksim.{one.entry.kind}", "time": f"{one.seconds:.3f}"},
        )
        if one.outcome != "passed":
            said = held("\n".join(one.reasons) or one.error)
            told = {"message": said.split("\n")[0], "type": "limit" if one.reasons else "error"}
            ElementTree.SubElement(case, "failure" if one.reasons else "error", told).text = said
        if lines := [f"{place(site)}: {cost(site)} on {on.arch.name}" for on, site in conflicting(one.judged)]:
            ElementTree.SubElement(case, "system-out").text = held("\n".join(lines))
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, "unicode")


def held(text: str) -> str:
    """`text` as XML and a terminal can hold it."""
    return NO_XML.sub("�", visible(text))
