"""tests/data/README.md names every file of recorded data, and its size; no file names a folder of a machine."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cuda_kernels.evidence_records import EVIDENCE, code_beside, with_neutral_folders
from helpers.places import DATA, ROOT

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


FOLDERS = re.compile(rb"(?<![ -~])(/[\w.-]+)/[\w./+-]{12,}\0")
"""What line tables begin with."""
NEUTRAL = {b"/banksim", b"/banksim-sources", b"/env", b"/src", b"/user", b"/usr"}


def contents(path: Path) -> list[bytes]:
    if path.suffix != ".npz":
        return [path.read_bytes()]
    with np.load(path) as arrays:
        return [array.tobytes() for array in arrays.values() if array.dtype.itemsize == 1 or array.dtype.kind in "SU"]


def test_recorded_code_names_no_folder_of_the_machine_that_made_it() -> None:
    recorded = [*DATA.rglob("*.cubin"), *DATA.rglob("*.npz"), code_beside(EVIDENCE)]
    found = {path: {name for one in contents(path) for name in FOLDERS.findall(one)} for path in recorded}
    assert NEUTRAL >= set.union(*found.values()) >= {b"/banksim", b"/env"}
    assert {path.name: names - NEUTRAL for path, names in found.items() if names - NEUTRAL} == {}


def test_no_file_names_the_checkout_or_the_home_folder() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True)
    if listed.returncode:
        pytest.skip("no checkout: git does not list its files")
    names = [bytes(ROOT) + b"/", bytes(Path.home()) + b"/"]
    for file in listed.stdout.decode().split("\0")[:-1]:
        path = ROOT / file
        assert not any(name in content for content in contents(path) for name in names if path.is_file()), file


def test_recorders_write_neutral_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # as the recorders are run
    code = f"\1{ROOT}/tests/a.cu\0{sys.prefix}/lib/b.h\0/usr/include/c.h\0".encode()
    neutral = with_neutral_folders(code)
    assert len(neutral) == len(code)
    assert re.sub(rb"/+", b"/", neutral) == b"\1/banksim/tests/a.cu\0/env/lib/b.h\0/usr/include/c.h\0"
