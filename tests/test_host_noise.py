"""`banksim run` is as quiet as the program is on a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import banksim

ROOT = Path(banksim.__file__).parent.parent


def run(folder: Path, program: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a program does in a process of its own."""
    (folder / "program.py").write_text(program)
    return subprocess.run(
        [sys.executable, *options, "-m", "banksim", "run", "--json", "--output", os.devnull, "program.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
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
import os
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
from numba import cuda
print(cuda.is_available())
"""


def test_line_information_that_nobody_asked_for_warns_of_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, UFUNC)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_kernels_are_collected_in_silence(tmp_path: Path) -> None:
    done = run(tmp_path, COLLECTED, "-W", "ignore")
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_a_simulator_that_is_not_used_is_named(tmp_path: Path) -> None:
    line = "banksim: NUMBA_ENABLE_CUDASIM has no effect here: kernels are compiled and their machine code executed\n"
    for environment in ({}, {"NUMBA_ENABLE_CUDASIM": "1"}):
        done = run(tmp_path, SIMULATED, **environment)
        assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", line)
    assert run(tmp_path, "print(5)", NUMBA_ENABLE_CUDASIM="0").stderr == ""
