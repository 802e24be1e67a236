"""Goldens: what a report must say, as literal text in files of tests/goldens, and what pages show."""

from pathlib import Path

from helpers.places import GOLDENS, ROOT

rewriting = False
"""Whether what is said now is written into the goldens first: pytest --rewrite-goldens."""


def assert_golden(text: str, name: str) -> None:
    """`text` is what tests/goldens/`name`.txt holds."""
    path = GOLDENS / f"{name}.txt"
    if rewriting:
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def contents() -> dict[Path, bytes]:
    """The goldens, the pages and their pictures, as they are."""
    shown = [path for ending in ("md", "svg") for path in (ROOT / "examples").rglob(f"*.{ending}")]
    return {path: path.read_bytes() for path in [*GOLDENS.glob("*.txt"), ROOT / "README.md", *shown]}


def changed(before: dict[Path, bytes]) -> list[str]:
    """The goldens that are not what they were, or new, from the root of the checkout."""
    return sorted(path.relative_to(ROOT).as_posix() for path, text in contents().items() if before.get(path) != text)
