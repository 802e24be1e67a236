"""Files are whole or what they were before; every failure names its file."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from banksim.__main__ import main
from banksim.errors import InputError
from banksim.system.writing import replaced, write
from cuda_kernels import evidence_records

PATTERN = ["pattern", "tile[threadIdx.x][threadIdx.y]", "--declare", "int tile[32][32]", "--block", "32,32"]
KERNEL = ["kernel", "examples/transpose.py:transpose", "--grid", "4,4", "--block", "32,32"]
KERNEL += ["--arg", "float32[128,128]", "--arg", "float32[128,128]=random"]


FULL = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
module = sys.argv[2]
del sys.argv[:2]
runpy.run_module(module, run_name="__main__")
"""
"""Runs a module in a process of which no file grows beyond so many bytes, as on a full disk."""


def on_a_disk(room: int, module: str, *words: str) -> tuple[int, str]:
    """Exit status and standard error of a module that can write files of `room` bytes."""
    command = [sys.executable, "-c", FULL, str(room), module, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


WRITERS = {
    "--html": [*PATTERN, "--html", "{file}"],
    "--html of a kernel": [*KERNEL, "--html", "{file}"],
    "--html of advice": ["advise", *PATTERN[1:], "--html", "{file}"],
    "--html of advice on a kernel": ["advise", *KERNEL, "--html", "{file}"],
    "--output": ["run", "--output", "{file}", "examples/transpose.py"],
    "--trace, Parquet": [*PATTERN, "--trace", "{file}.parquet"],
    "--trace, Arrow": [*PATTERN, "--trace", "{file}.arrow"],
    "--save-args": [*KERNEL, "--save-args", "{folder}"],
    "--picture": ["validate", "setRowReadCol", "--no-gpu", "--picture", "{file}"],
}


@pytest.mark.parametrize("what", WRITERS)
def test_on_a_full_disk_the_old_file_stays(what: str, tmp_path: Path) -> None:
    words = [word.format(file=tmp_path / "0", folder=tmp_path) for word in WRITERS[what]]
    module = "cuda_kernels" if words[0] == "validate" else "banksim"
    status, error = on_a_disk(1 << 30, module, *words)  # what it needs is in the cache then, which a full disk leaves
    assert status == 0, error
    made = sorted(tmp_path.iterdir())
    for file in made:
        file.write_bytes(b"old")
    status, error = on_a_disk(20, module, *words)
    assert status == 2
    assert f"{made[0]}: File too large: nothing was written" in error.splitlines()[-1]
    assert sorted(tmp_path.iterdir()) == made
    assert {file.read_bytes() for file in made} == {b"old"}


def test_evidence_on_a_full_disk_stays(tmp_path: Path) -> None:
    evidence = evidence_records.load(evidence_records.EVIDENCE)
    evidence_records.save(evidence, tmp_path / "copy.json")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(InputError, match=r"copy-code\.npz: File too large"):
            evidence_records.save(evidence, tmp_path / "copy.json")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_cure_on_a_full_disk_leaves_the_source(tmp_path: Path) -> None:
    source = tmp_path / "transpose.py"
    source.write_bytes(Path("examples/transpose.py").read_bytes())
    words = ["advise", "kernel", f"{source}:transpose", *KERNEL[2:]]
    assert on_a_disk(1 << 30, "banksim", *words)[0] == 0
    before = source.read_bytes()
    status, error = on_a_disk(20, "banksim", *words, "--write")
    assert (status, error) == (2, f"banksim: {source}: File too large: nothing was written\n")
    assert source.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["transpose.py"]


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_nothing_is_left_of_what_ended_early(tmp_path: Path, error: type[BaseException]) -> None:
    def half() -> None:
        with replaced(tmp_path / "file") as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        half()
    assert list(tmp_path.iterdir()) == []


def test_a_file_keeps_its_mode_and_a_link_its_target(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to("file")
    write(link, "new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "file", "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_a_device_is_written_and_stays_one() -> None:
    write(os.devnull, "new")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    with pytest.raises(InputError, match=r"^/dev/full: No space left on device"):
        write("/dev/full", "new")


def test_a_name_as_long_as_names_can_be_is_written(tmp_path: Path) -> None:
    write(tmp_path / ("n" * 255), np.arange(3).tobytes())
    assert len((tmp_path / ("n" * 255)).read_bytes()) == 24


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("folder", "Is a directory: nothing was written"),
        ("none/file", "there is no such folder: nothing was written, choose a folder that exists"),
        ("read-only", "it is read-only: nothing was written"),
    ],
)
def test_what_cannot_be_written_is_one_line(
    name: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "read-only").write_text("old")
    (tmp_path / "read-only").chmod(0o440)
    assert main([*PATTERN, "--html", str(tmp_path / name)]) == 2
    assert capsys.readouterr().err == f"banksim: {tmp_path / name}: {reason}\n"


def test_a_full_standard_output_is_named() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "banksim", *PATTERN, "--json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "banksim: standard output: No space left on device\n")
