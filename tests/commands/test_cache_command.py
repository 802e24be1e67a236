"""`banksim cache`: what is kept, emptied, filled."""

import json
from pathlib import Path

import pytest

from banksim.__main__ import main
from banksim.system import cache, jit
from helpers.commands import out_of
from helpers.fixtures import Patch, Said


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: Patch) -> tuple[Path, Path]:
    """A cache of banksim's and a folder of numba's, with something of others in each."""
    own, loops = tmp_path / "cache", tmp_path / "package" / "__pycache__"
    monkeypatch.setenv("BANKSIM_CACHE", str(own))
    monkeypatch.setattr(jit, "folders_of_loops", lambda: {loops})
    loops.mkdir(parents=True)
    cache.put(cache.key("something"), bytes(1000))
    (cache.keep(b"int x;", "x.cu").parent / "library.so").symlink_to(__file__)
    for file in (own / "notes.txt", loops / "module.pyc", loops / "f-1.py311.nbi", loops / "f-1.py311.1.nbc"):
        file.write_bytes(bytes(10))
    return own, loops


def test_it_is_told_where_and_how_large(folders: tuple[Path, Path], capsys: Said) -> None:
    assert out_of(capsys, ["cache", "path"]) == f"{folders[0]}\n"
    own, loops = json.loads(out_of(capsys, ["cache", "--json"]))["contents"]
    assert (own["folder"], own["files"], loops["files"], loops["bytes"]) == (str(folders[0]), 2, 2, 20)
    assert 1006 < own["bytes"] < 1100
    assert int(out_of(capsys, ["cache", "size"])) == own["bytes"] + loops["bytes"]
    assert f"kernels and reports: 2 files, 0.0 MB\n  {folders[0]}\n" in out_of(capsys, ["cache"])


def test_clearing_takes_what_is_banksim_s_and_nothing_else(folders: tuple[Path, Path], capsys: Said) -> None:
    own, loops = folders
    assert main(["cache", "clear"]) == 0
    assert [file.name for file in own.iterdir()] == ["notes.txt"]
    assert [file.name for file in loops.iterdir()] == ["module.pyc"]
    assert "kernels and reports: 0 files" in capsys.readouterr().out
    assert main(["cache", "clear"]) == 0


def test_a_cache_that_is_not_there_is_empty(tmp_path: Path, monkeypatch: Patch, capsys: Said) -> None:
    monkeypatch.setenv("BANKSIM_CACHE", str(tmp_path / "none"))
    monkeypatch.setattr(jit, "folders_of_loops", lambda: set())
    for action in ("size", "clear"):
        assert main(["cache", action]) == 0
    assert capsys.readouterr().out.startswith("0\n")


def test_a_warm_cache_has_the_kernel_and_the_loops(tmp_path: Path, monkeypatch: Patch, capsys: Said) -> None:
    monkeypatch.setenv("BANKSIM_CACHE", str(tmp_path / "cache"))
    own, loops = json.loads(out_of(capsys, ["cache", "warm", "--json"]))["contents"]
    assert own["files"] >= 3  # the cubin, the decoded kernel, its machine code
    assert loops["files"] > 0


def test_numba_s_folders_are_found() -> None:
    """Among them is the folder with the code of a loop that was compiled."""
    from numba.core.caching import FunctionCache

    from banksim.banks.compiled.many_requests import __file__ as file

    def here() -> None: ...

    where = {Path(jit.OfOneVersion.from_function(here, file).get_cache_path())}  # type: ignore[union-attr]
    assert where <= jit.folders_of_loops()
    assert FunctionCache(jit.tell_once.__wrapped__).cache_path in map(str, jit.folders_of_loops())  # type: ignore[no-untyped-call]
