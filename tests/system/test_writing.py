"""Files are whole or what they were before; every failure names its file."""

import os
import resource
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from banksim.__main__ import main
from banksim.errors import InputError
from banksim.system.writing import replaced, write
from cuda_kernels import __main__ as companion
from cuda_kernels import evidence_records
from helpers.commands import err_of
from helpers.fixtures import Patch, Said
from helpers.places import KERNELS, written_to

pytestmark = pytest.mark.usefixtures("by_nvrtc")

PATTERN = ["pattern", "tile[threadIdx.x][threadIdx.y]", "--declare", "int tile[32][32]", "--block", "32,32"]
KERNEL = ["kernel", f"{KERNELS / 'cures.cu'}:transposeTile", "--block", "32,32"]
KERNEL += ["--arg", "float32[32,32]", "--arg", "float32[32,32]=random"]


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Within, no file that this process writes grows beyond so many bytes, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


WRITERS = {
    "--html": [*PATTERN, "--html", "{file}"],
    "--html of a kernel": [*KERNEL, "--html", "{file}"],
    "--html of advice": ["advise", *PATTERN[1:], "--html", "{file}"],
    "--html of advice on a kernel": ["advise", *KERNEL, "--html", "{file}"],
    "--output": ["run", "--output", "{file}", "examples/transpose.py"],
    "--trace, Parquet": [*PATTERN, "--trace", "{file}.parquet"],
    "--trace, Arrow": [*PATTERN, "--trace", "{file}.arrow"],
    "--save-args": [*KERNEL, "--save-args", "{folder}"],
}


@pytest.mark.parametrize("what", WRITERS)
def test_on_a_full_disk_the_old_file_stays(what: str, tmp_path: Path, capsys: Said) -> None:
    words = [word.format(file=tmp_path / "0", folder=tmp_path) for word in WRITERS[what]]
    assert main(words) == 0  # what it needs is in the cache then, which a full disk leaves
    made = sorted(tmp_path.iterdir())
    for file in made:
        file.write_bytes(b"old")
    capsys.readouterr()
    with room_for(20):
        assert main(words) == 2
    assert f"{made[0]}: File too large: nothing was written" in capsys.readouterr().err.splitlines()[-1]
    assert sorted(tmp_path.iterdir()) == made
    assert {file.read_bytes() for file in made} == {b"old"}


def test_a_picture_on_a_full_disk_stays(tmp_path: Path, monkeypatch: Patch, capsys: Said) -> None:
    """There is room for compiling the kernel, which Numba does anew each time."""
    file, write = tmp_path / "0", evidence_records.write
    file.write_bytes(b"old")

    def write_on_a_full_disk(path: Path, content: str) -> None:
        with room_for(20):
            write(path, content)

    monkeypatch.setattr(evidence_records, "write", write_on_a_full_disk)
    assert companion.main(["validate", "setRowReadCol", "--no-gpu", "--picture", str(file)]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == f"cuda_kernels: {file}: File too large: nothing was written"
    assert [(path, path.read_bytes()) for path in tmp_path.iterdir()] == [(file, b"old")]


def test_evidence_on_a_full_disk_stays(tmp_path: Path) -> None:
    evidence = evidence_records.load(evidence_records.EVIDENCE)
    evidence_records.save(evidence, tmp_path / "copy.json")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with room_for(100), pytest.raises(InputError, match=r"copy-code\.npz: File too large"):
        evidence_records.save(evidence, tmp_path / "copy.json")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_cure_on_a_full_disk_leaves_the_source(tmp_path: Path, capsys: Said) -> None:
    source = tmp_path / "cures.cu"
    source.write_bytes((KERNELS / "cures.cu").read_bytes())
    words = ["advise", "kernel", f"{source}:transposeTile", *KERNEL[2:]]
    assert main(words) == 0
    before = source.read_bytes()
    capsys.readouterr()
    with room_for(20):
        assert main([*words, "--write"]) == 2
    assert capsys.readouterr().err == f"banksim: {source}: File too large: nothing was written\n"
    assert source.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["cures.cu"]


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
def test_what_cannot_be_written_is_one_line(name: str, reason: str, tmp_path: Path, capsys: Said) -> None:
    (tmp_path / "folder").mkdir()
    (written_to(tmp_path / "read-only", "old")).chmod(0o440)
    assert err_of(capsys, [*PATTERN, "--html", str(tmp_path / name)]) == f"banksim: {tmp_path / name}: {reason}\n"


def test_a_full_standard_output_is_named() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "banksim", *PATTERN, "--json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "banksim: standard output: No space left on device\n")
