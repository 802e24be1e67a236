"""The entries of a project as JUnit's XML, which servers for continuous integration show as tests.

Of the two schemas in use, Ant's and that of Jenkins, Ant's is the strict one: it wants a date and a host, takes no
totals over suites, and puts what was printed after all cases.
"""

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from banksim.banks.limits import cost, place
from banksim.project.file import Project
from banksim.project.verdicts import Verdict
from banksim.report.annotations import conflicting
from banksim.system.dates import date
from banksim.system.paths import portable
from banksim.system.visible import visible

NO_XML = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold."""


def project(project: Project, verdicts: Sequence[Verdict]) -> str:
    """A test suite with a test case for each entry, and behind them the lines of each that conflict."""
    suites = ElementTree.Element("testsuites")
    told = {
        "name": portable(str(project.file)),
        "package": "banksim",
        "id": "0",
        "timestamp": f"{date():%Y-%m-%dT%H:%M:%S}",
        "hostname": "localhost",
        "tests": str(len(verdicts)),
        "failures": str(sum(one.outcome == "failed" for one in verdicts)),
        "errors": str(sum(one.outcome == "error" for one in verdicts)),
        "skipped": "0",
        "time": f"{sum(one.seconds for one in verdicts):.3f}",
    }
    suite = ElementTree.SubElement(suites, "testsuite", {name: held(text) for name, text in told.items()})
    ElementTree.SubElement(suite, "properties")
    printed = []
    for one in verdicts:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {"name": held(one.entry.name), "classname": f"banksim.{one.entry.kind}", "time": f"{one.seconds:.3f}"},
        )
        if one.outcome != "passed":
            said = held("\n".join(one.reasons) or one.error)
            reason = {"message": said.split("\n")[0], "type": "limit" if one.reasons else "error"}
            ElementTree.SubElement(case, "failure" if one.reasons else "error", reason).text = said
        if lines := [f"  {place(site)}: {cost(site)} on {on.arch.name}" for on, site in conflicting(one.judged)]:
            printed += [one.entry.name, *lines]
    ElementTree.SubElement(suite, "system-out").text = held("\n".join(printed))
    ElementTree.SubElement(suite, "system-err")
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, "unicode")


def held(text: str) -> str:
    """`text`, with a mark for what XML or a terminal cannot hold."""
    return NO_XML.sub("�", visible(text))
