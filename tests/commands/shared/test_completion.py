"""What a shell completes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from banksim.commands.shared.completion import architectures, kernels

NUMBA = """\
from numba import cuda

def no_kernel(): ...

@cuda.jit(fastmath=True)
@other
def first(a):
    pass

@cuda.jit
def second(a): pass
"""
CUDA = """\
template <int n> __global__ void __launch_bounds__(256) third(float *a) {}
extern "C" __global__
void fourth(int n) {}
__device__ int no_kernel(int n) { return n; }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "kernels.py").write_text(NUMBA)
    (tmp_path / "kernels.cu").write_text(CUDA)
    (tmp_path / "notes.txt").touch()
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "deep.cubin").touch()
    (tmp_path / "banksim.toml").write_text("[[kernels]]\nname = 'an entry'\nkernel = 'kernels.py:first'\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_kernels_are_found_in_the_text_of_a_file(folder: Path) -> None:
    assert kernels("") == ["kernels.cu", "kernels.py", "more/"]
    assert kernels("kernels.py:") == ["kernels.py:first", "kernels.py:second"]
    assert kernels("kernels.cu") == ["kernels.cu:third", "kernels.cu:fourth"]
    assert kernels("more/") == ["more/deep.cubin"]
    assert kernels("none/") == kernels("none.py:") == []


def test_architectures_stand_behind_those_that_are_there() -> None:
    assert {"sm_90", "kepler-4", "H200", "RTX 4090"} <= set(architectures("sm"))
    assert {"kepler-4,sm_90", "kepler-4,H200"} <= set(architectures("kepler-4,"))


def completed(line: str) -> list[str]:
    """What argcomplete answers a shell for a line that is being typed."""
    target = Path("answer.txt").absolute()
    environment = {
        **os.environ, "_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9",
        "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_STDOUT_FILENAME": str(target), "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "_ARGCOMPLETE_COMP_WORDBREAKS": "", "COLUMNS": "80",
    }  # fmt: skip
    subprocess.run([sys.executable, "-m", "banksim"], env=environment, check=True, timeout=60)
    return target.read_text().split("\n")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("banksim ker", {"kernel"}),
        ("banksim kernel kernels.py:f", {"kernels.py:first"}),
        ("banksim kernel kernels.cu", {"kernels.cu:third", "kernels.cu:fourth"}),
        ("banksim advise kernel kernels.py:s", {"kernels.py:second"}),
        ("banksim kernel kernels.py:first --arch kepler-4,H2", {"kepler-4,H200"}),
        ("banksim arch kepl", {"kepler-4", "kepler-8"}),
        ("banksim check ", {"an entry"}),
        ("banksim check --upd", {"--update-baseline"}),
        ("banksim advise --wri", set()),
        ("banksim advise kernel --wri", {"--write"}),
        ("banksim cache w", {"warm"}),
    ],
)
def test_a_shell_is_answered(line: str, found: set[str], folder: Path) -> None:
    pytest.importorskip("argcomplete")
    answer = {word.replace("\\", "").strip() for word in completed(line)} - {""}
    assert found <= answer if found and line.endswith(" ") else found == answer
