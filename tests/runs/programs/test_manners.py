"""`banksim run` is as quiet as the program is on a GPU, and says in one line what it cannot run."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from banksim.__main__ import main
from helpers.commands import err_of, refused
from helpers.fixtures import Patch, Said
from helpers.places import PACKAGES
from helpers.warm import starter


def run(folder: Path, program: str, *python: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a program does in a process of its own."""
    (folder / "program.py").write_text(program)
    return subprocess.run(
        [*(python or shlex.split(starter())), "-m", "banksim", "run", "--json", "--output", os.devnull, "program.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PACKAGES), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


UFUNC = """
import warnings; warnings.simplefilter("error")
import numpy as np
from numba import vectorize
@vectorize(["float32(float32, float32)"], target="cuda")
def add(a, b):
    return a + b
x = np.ones(1 << 18, np.float32)
print((add(x, x) == 2).all())
"""
"""Numba makes the kernel of a ufunc from a text that is no file."""
COLLECTED = """
import gc
import numpy as np
from numba import cuda
from numba.cuda.dispatcher import CUDADispatcher
def make():
    @cuda.jit
    def k(o):
        o[0] = 7
    k[1, 1](np.zeros(1))
make()
CUDADispatcher.configure.cache_clear()
gc.collect()
print("end")
"""
SIMULATED = """
import os, sys
print(*{"numba", "numba.cuda", "cuda.bindings"} & {*sys.modules})
import numba
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
numba.core.config.reload_config()  # as numba does before it compiles
from numba import cuda
print(cuda.is_available())
"""


KERNEL = """
import sys
import numpy as np
from numba import cuda
@cuda.jit
def k(out):
    out[cuda.threadIdx.x] = 1
out = np.zeros(32)
k[1, 32](out)
print(out.sum(), sys.argv, __file__, sys.path[0] == "")
"""


def test_a_program_from_standard_input(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "banksim", "run", "-", "--its", "own"]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, input=KERNEL, capture_output=True, text=True, check=True
    )
    assert done.stdout == "32.0 ['-', '--its', 'own'] <stdin> True\n"
    assert "-: bank conflicts on sm_90\n1 launch of 1 kernel" in done.stderr


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("program", b"\x7fELF\x02\x01", "program is a program, and its mode does not let it be executed: chmod +x"),
        (
            "run.sh",
            b"#!/bin/sh\nfi\n",
            "run.sh is a program, and its mode does not let it be executed: chmod +x run.sh",
        ),
        ("program.exe", b"MZ\x90\0", "program.exe is a program for another operating system"),
        ("k.cuh", b"", "k.cuh is no Python program: banksim kernel k.cuh:NAME executes"),
        ("k.ptx", b"", "k.ptx is no Python program: banksim kernel"),
        ("k.cubin", b"\x7fELF", "k.cubin is no Python program: banksim kernel"),
        ("program.py", b"x = 1\0", "program.py is no Python program: it is no text"),
        ("archive.pyz", b"PK\x03\x04\0", "archive.pyz is no Python program: it is no text"),
        ("notes.md", b"# Notes\n\nIt is so.\n", "notes.md is no Python program: line 3: invalid syntax"),
        ("", b"", "an empty name: give a Python file"),
    ],
)
def test_what_is_no_python_program_is_refused_in_one_line(
    name: str, content: bytes, said: str, tmp_path: Path, monkeypatch: Patch, capsys: Said
) -> None:
    monkeypatch.chdir(tmp_path)
    if name:
        Path(name).write_bytes(content)
    assert refused(capsys, ["run", name]).startswith(f"banksim: {said}")


def test_line_information_that_nobody_asked_for_warns_of_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, UFUNC)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_kernels_are_collected_in_silence(tmp_path: Path) -> None:
    """Nor is anything said of a simulator that is switched off."""
    done = run(tmp_path, COLLECTED, sys.executable, "-W", "ignore", NUMBA_ENABLE_CUDASIM="0")
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_a_simulator_that_is_not_used_is_named(tmp_path: Path) -> None:
    """And the program finds numba where it imports it: one that does not need not wait for that."""
    line = "banksim: NUMBA_ENABLE_CUDASIM has no effect here: kernels are compiled and their machine code executed\n"
    for environment in ({}, {"NUMBA_ENABLE_CUDASIM": "1"}):
        done = run(tmp_path, SIMULATED, sys.executable, **environment)
        assert (done.returncode, done.stdout, done.stderr) == (0, "\nTrue\n", line)


def test_options_behind_the_program_are_its_own_and_said_to_be(
    tmp_path: Path, capsys: Said, monkeypatch: Patch
) -> None:
    """Who meant banksim's option learns where it belongs; other words of the program are nobody's concern."""
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text("import sys; print(sys.argv[1:])")
    assert main(["run", "--output", os.devnull, "program.py", "--timing", "--html=x.html", "--own", "-k"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "['--timing', '--html=x.html', '--own', '-k']\n"
    said = "--timing and --html=x.html went to program.py: options of banksim stand before the program\n"
    assert printed.err == f"banksim: {said}"
    assert not Path("x.html").exists()
    for meant in (["program.py", "--own", "--help"], ["--", "program.py", "--timing"]):
        assert err_of(capsys, ["run", "--output", os.devnull, *meant], status=0) == ""
