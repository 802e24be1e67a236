"""tests/data/README.md names every file of recorded data, and its size."""

import re
from pathlib import Path

from helpers.places import DATA

README = (DATA / "README.md").read_text(encoding="utf-8")
TABLES = [
    re.findall(r"^\| `([^`]+)` \| (\d+|–) \|", text, re.MULTILINE)
    for text in README.partition("## The recordings in `hardware`")[::2]
]
ROWS, RECORDINGS = TABLES


def files(pattern: str) -> list[Path]:
    found = DATA.glob(f"{pattern}/*" if pattern.endswith("**") else pattern)
    return [path for path in found if path.is_file() and "__pycache__" not in path.parts]


def test_every_file_stands_in_one_row() -> None:
    listed = sorted(path for pattern, _ in ROWS for path in files(pattern))
    assert listed == [path for path in sorted(files("**")) if path != DATA / "README.md"]


def test_sizes_are_so() -> None:
    recorded = {pattern: int(size) for pattern, size in ROWS if size != "–"}
    sizes = {pattern: -(-sum(path.stat().st_size for path in files(pattern)) // 1024) for pattern in recorded}
    assert sizes == recorded


def test_every_recording_is_described_by_its_name() -> None:
    named = {name for name, _ in RECORDINGS} | set(re.findall(r"`(\w+)\.\w+`", README))
    assert {path.name.partition(".")[0] for path in files("hardware/*")} <= named
    sizes = {
        name: -(-sum(path.stat().st_size for path in files(f"hardware/{name}.*")) // 1024) for name, _ in RECORDINGS
    }
    assert sizes == {name: int(size) for name, size in RECORDINGS}
