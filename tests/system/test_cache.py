"""Whatever happens to the files of the cache, kernels run as if there were none."""

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from numba.core.caching import FunctionCache

from banksim.system import cache, jit
from helpers.cached_run import forget, run
from helpers.fixtures import Patch, Said
from helpers.places import PACKAGES, TESTS


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, listed_once: None) -> Iterator[tuple[Path, Any]]:
    """A cache that holds every kind of file, cubins, decoded kernels, object code; and what `run` gave."""
    folder = tmp_path_factory.mktemp("cache")
    run()  # banksim's own loops are compiled, and kept elsewhere, once in a process
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BANKSIM_CACHE", str(folder))
        yield folder, run()
    forget()


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def flip(place: int) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        content = bytearray(file.read_bytes())
        content[place % len(content)] ^= 4
        file.write_bytes(content)

    return damage


def swap(file: Path) -> None:
    """Put the content of another file in its place."""
    others = files(file.parents[1])
    shutil.copy(others[others.index(file) - 1], file)


def become_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda file: file.write_bytes(b""),
    "cut": lambda file: file.write_bytes(file.read_bytes()[:-100]),
    "a bit in the middle": flip(777),
    "swapped": swap,
    "a folder": become_folder,
    "a link to nowhere": lambda file: (file.unlink(), file.symlink_to(f"{file.name}.nowhere")),
    "not readable": lambda file: file.chmod(0),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_of_every_kind_are_as_good_as_none(filled: tuple[Path, Any], damage: str) -> None:
    folder, before = filled
    names = files(folder)
    contents = [file.read_bytes() for file in names]
    assert len(names) >= 4, "a cubin of ptxas, two decoded ones, object code"
    for file in reversed(names):  # so that a swap gives each another's content, also the last
        DAMAGES[damage](file)
    assert run() == before
    for file in names:
        if file.is_dir():
            file.rmdir()
    run()
    assert [file.read_bytes() for file in names] == contents, "made anew"


def test_no_file_is_a_pickle(filled: tuple[Path, Any]) -> None:
    for file in files(filled[0]):
        content = file.read_bytes()
        assert content.startswith(cache.MAGIC)
        assert content[len(cache.MAGIC) + cache.DIGEST] != 0x80, "the first byte of a pickle"


def program(lines: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(TESTS), str(PACKAGES)])
    return subprocess.run(
        [sys.executable, "-c", "\n".join(["from banksim.system import cache", *lines])],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_a_full_disk_costs_nothing_but_time(tmp_path: Path) -> None:
    """No file can grow beyond 512 bytes; temporary files of the tools go elsewhere."""
    limit = f"import resource, signal; resource.setrlimit(resource.RLIMIT_FSIZE, (512, {resource.RLIM_INFINITY}))"
    lines = ["cache.put('ab' + 'c' * 62, b'x' * 10_000)", "print(cache.get('ab' + 'c' * 62))"]
    done = program([limit, *lines], BANKSIM_CACHE=str(tmp_path / "cache"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "None\n", "")
    assert files(tmp_path) == []


@pytest.mark.parametrize("folder", ["/proc/nowhere", "/dev/full"])
def test_a_folder_that_cannot_be_written(folder: str, monkeypatch: Patch) -> None:
    monkeypatch.setenv("BANKSIM_CACHE", folder)
    assert run()[3] > 1000
    forget()


def test_processes_at_once_on_an_empty_cache(tmp_path: Path) -> None:
    """Both compile and write the same files, while the files are cut again and again."""
    path = os.pathsep.join([str(TESTS), str(PACKAGES)])
    environment = {**os.environ, "PYTHONPATH": path, "BANKSIM_CACHE": str(tmp_path)}
    code = "from helpers import cached_run; print(cached_run.run())"
    command = [sys.executable, "-c", code]
    workers = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    while any(worker.poll() is None for worker in workers):
        time.sleep(0.03)
        for file in files(tmp_path):
            if file.suffix != ".part" and file.exists():
                os.truncate(file, 100)
    printed = {worker.communicate()[0] for worker in workers}
    assert [worker.returncode for worker in workers] == [0, 0]
    assert len(printed) == 1


# ---- others
KEY = cache.key("x")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Patch) -> Iterator[Path]:
    """A cache with one file, in a folder that was made for it."""
    monkeypatch.setenv("BANKSIM_CACHE", str(tmp_path / "new" / "cache"))
    cache.refuse.cache_clear()
    cache.put(KEY, b"payload")
    assert cache.get(KEY) == b"payload"
    return tmp_path / "new" / "cache"


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used(mode: int, folder: Path, capsys: Said) -> None:
    assert folder.stat().st_mode & 0o777 == 0o700, "as it was made"
    folder.chmod(mode)
    for _ in range(3):
        assert cache.get(KEY) is None
        cache.put(cache.key("y"), b"new")
    assert len(files(folder)) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{folder}" in said
    assert "others can write to it" in said
    kept = cache.keep(b"source", "kernel.cu")
    assert not kept.is_relative_to(folder)
    assert kept.parents[2].stat().st_mode & 0o777 == 0o700
    shutil.rmtree(kept.parents[2])
    folder.chmod(0o755)
    assert cache.get(KEY) == b"payload"


@pytest.mark.parametrize("of", ["the folder", "the file"])
def test_what_belongs_to_another_user_is_not_used(of: str, folder: Path, monkeypatch: Patch, capsys: Said) -> None:
    if os.geteuid() == 0:
        os.chown(folder if of == "the folder" else cache.path(KEY), 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert cache.get(KEY) is None
    assert ("it belongs to another user" in capsys.readouterr().err) == (of == "the folder" or os.geteuid() != 0)


def test_what_is_in_the_place_of_a_file_is_not_taken_for_it(folder: Path) -> None:
    """Whatever it is, it does not hold up the reader."""
    file = cache.path(KEY)
    content = file.read_bytes()
    file.chmod(0o666)
    assert cache.get(KEY) is None, "anybody may have written it"
    file.unlink()
    (folder / "other").write_bytes(content)
    file.symlink_to(folder / "other")
    assert cache.get(KEY) is None
    file.unlink()
    os.mkfifo(file)
    assert cache.get(KEY) is None
    file.unlink()
    assert cache.get(KEY) is None
    cache.put(KEY, b"payload")
    assert cache.get(KEY) == b"payload"


def test_a_link_to_a_folder_of_ones_own_is_used(tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "cache").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("BANKSIM_CACHE", str(tmp_path / "cache"))
    cache.put(KEY, b"payload")
    assert cache.get(KEY) == b"payload"
    assert files(tmp_path / "elsewhere")


@pytest.mark.parametrize("mode", [0o777, 0o700])
def test_numba_s_cache_is_trusted_no_more_than_ours(
    mode: int, tmp_path: Path, monkeypatch: Patch, capsys: Said
) -> None:
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jit, "FOLDERS", {})
    cache.refuse.cache_clear()
    place = Path(FunctionCache(flip).cache_path)
    place.chmod(mode)
    asked: list[dict[str, bool]] = []
    jit.kept(flip, lambda **how: asked.append(how))
    assert asked == ([{"cache": True}] if mode == 0o700 else [{}])
    assert ("NUMBA_CACHE_DIR names another" in capsys.readouterr().err) == (mode == 0o777)
