"""Goldens are compared letter by letter, and rewritten only when asked."""

from pathlib import Path

import pytest

from helpers import goldens
from helpers.goldens import assert_golden


def test_a_golden_is_rewritten_only_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goldens, "ROOT", tmp_path)
    monkeypatch.setattr(goldens, "GOLDENS", tmp_path)
    (tmp_path / "examples" / "guide").mkdir(parents=True)
    for name in ("README.md", "kept.txt", "other.txt", "examples/kept.svg", "examples/guide/page.md"):
        (tmp_path / name).write_text("old\n")
    before = goldens.contents()
    assert_golden("old\n", "kept")
    monkeypatch.setattr(goldens, "rewriting", False)
    with pytest.raises(AssertionError):
        assert_golden("new\n", "other")
    assert goldens.changed(before) == []
    monkeypatch.setattr(goldens, "rewriting", True)
    for name in ("kept", "other", "another"):
        assert_golden("old\n" if name == "kept" else "new\n", name)
    (tmp_path / "examples" / "guide" / "page.md").write_text("new\n")
    assert goldens.changed(before) == ["another.txt", "examples/guide/page.md", "other.txt"]
