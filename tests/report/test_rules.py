"""Rules of findings: each has a name and a page."""

import re
from urllib.parse import urlsplit

import pytest

from banksim.report import rules
from banksim.report.rules import RULES, Rule, rule_of
from banksim.report.sarif import described
from banksim.requests.kinds import OPS
from helpers.places import EXAMPLES

PAGES = EXAMPLES / "guide" / "rules"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_has_a_name_and_a_page_that_says_what_helps(rule: Rule) -> None:
    page = (PAGES / f"{rule.id}.md").read_text(encoding="utf-8")
    assert rule.page == page
    assert page.startswith(f"# {rule.id}\n")
    assert re.search(r"^\*\*(Cures|What to do)\*\*$", page, re.MULTILINE)
    plain = described(rule)
    assert re.fullmatch("([A-Z][a-z]+)+", str(plain["name"]))
    assert plain["help"] == {"text": rule.cure, "markdown": page}


def test_every_page_is_a_rule_s() -> None:
    assert {file.stem for file in PAGES.glob("*.md")} == {rule.id for rule in RULES}


def test_the_uri_leads_to_where_banksim_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    came = {"url": "https://example.org/someone/banksim.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}
    monkeypatch.setattr(rules, "origin", lambda: came)
    assert RULES[0].uri == "https://example.org/someone/banksim/blob/abc/examples/guide/rules/bank-conflict.md"
    monkeypatch.setattr(rules, "origin", dict)
    monkeypatch.setattr(rules, "HERE", EXAMPLES.parent)
    assert [urlsplit(str(rule.uri)).scheme for rule in RULES] == ["file"] * len(RULES)
    monkeypatch.setattr(rules, "HERE", EXAMPLES)
    monkeypatch.setattr(rules, "INSTALLED", EXAMPLES / "nowhere")
    assert RULES[0].uri is None
    monkeypatch.setattr(rules, "INSTALLED", PAGES)  # as in a wheel, which has the pages beside the package
    assert [rule.uri for rule in RULES] == [(PAGES / f"{rule.id}.md").as_uri() for rule in RULES]


def test_every_op_has_the_rule_of_its_kind() -> None:
    assert {op: rule_of(op, True).id for op in ("ld", "st", "cas_spin", "popc_inc")} == {
        "ld": "bank-conflict", "st": "bank-conflict", "cas_spin": "atomic-conflict", "popc_inc": "atomic-conflict",
    }  # fmt: skip
    kinds = {
        "matrix": "matrix-conflict",
        "cp_async": "copy-conflict",
        "bulk": "copy-conflict",
        "remote": "remote-conflict",
    }
    for op in OPS:
        expected = next((rule for part, rule in kinds.items() if part in op), None)
        assert expected is None or rule_of(op, True).id == expected
    assert rule_of("ld", False).id == "unknown-cost"
