"""What one process makes and keeps, others wait for; and none waits for ever."""

import os
import subprocess
import sys
import time
import zlib
from pathlib import Path

from banksim.system import folder_locks
from helpers.fixtures import Patch
from helpers.places import PACKAGES

COMPILES = """
import sys, time
from banksim.storage import crc32
from banksim.system.compiler import Passes

extra = Passes.compile_extra
Passes.compile_extra = lambda passes, function: print(function.__name__) or time.sleep(1) or extra(passes, function)
print("ready", flush=True)
sys.stdin.readline()
print(crc32.crc32(b"banksim" * 1000))
"""
HOLDS = (
    "import sys; from banksim.system.folder_locks import begin; begin(sys.argv[1]); print('ready', flush=True); input()"
)


def ready(code: str, *words: object, **environment: str) -> subprocess.Popen[str]:
    """A process of Python that has come so far, and waits for a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(PACKAGES), **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    return process


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()


def test_processes_that_need_the_same_loops_compile_them_once(tmp_path: Path) -> None:
    processes = [ready(COMPILES, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    for process in processes:
        go_on(process)
    said = [process.communicate()[0].split() for process in processes]
    assert {lines.pop() for lines in said} == {str(zlib.crc32(b"banksim" * 1000))}
    assert sum("_fold" in lines for lines in said) == 1


def test_nobody_waits_for_ever(tmp_path: Path, monkeypatch: Patch) -> None:
    """Once the patience is used up, a process waits for nobody any more."""
    monkeypatch.setattr(folder_locks.Patience, "seconds", 0.3)
    holder = ready(HOLDS, tmp_path)
    for waits in (True, False):
        began = time.monotonic()
        folder_locks.begin(str(tmp_path))
        assert (time.monotonic() - began > 0.2) == waits
        folder_locks.end(str(tmp_path))
    go_on(holder)
    assert holder.wait() == 0


def test_a_turn_ends_with_its_process(tmp_path: Path) -> None:
    holder = ready(HOLDS, tmp_path)
    holder.kill()
    folder_locks.begin(str(tmp_path))
    assert folder_locks.HELD[str(tmp_path)] >= 0
    folder_locks.end(str(tmp_path))
    assert folder_locks.HELD == {}
    holder.communicate()


def test_where_nothing_can_be_locked_nobody_waits(tmp_path: Path) -> None:
    folder_locks.begin(str(tmp_path / "none"))
    folder_locks.end(str(tmp_path / "none"))
    folder_locks.end(str(tmp_path))
