"""Accesses beyond allocations, directions of copies, and when an error is told: what one H200 did."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from banksim.__main__ import main
from banksim.machine.llvm import workers
from helpers.commands import err_of, reported
from helpers.fixtures import source_file
from helpers.places import PROGRAMS

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="programs run on Linux"),
    pytest.mark.usefixtures("by_nvcc_for_cpp_14"),
]
ANY, NONE, FROM, TO = "c" * 16, "iiii", "iccc", "cccc"
H200 = f"""\
40 at 40: cudaSuccess, 0
40 at 4096: cudaSuccess, 0
40 at 2097152: cudaSuccess, 0
40 at 33554432: cudaSuccess, 0
40 at -4: cudaSuccess, 0
40 at -2097152: cudaSuccess, 0
1048576 at 1048576: cudaSuccess, 0
3145728 at 3145728: cudaSuccess, 0
3145728 at 4194300: cudaSuccess, 0
3145728 at -4: cudaSuccess, 0
3145728 at 8388608: cudaErrorIllegalAddress
104857600 at 106954752: cudaErrorIllegalAddress
10 18 5 31 0 0 5
{ANY}{NONE}{3 * TO}{4 * FROM}{NONE}{3 * FROM}{ANY}
cudaSuccess cudaSuccess cudaErrorIllegalAddress cudaErrorIllegalAddress cudaErrorIllegalAddress
cudaSuccess 6,6 6,7 6,206 6,261 1,0
"""


def test_a_program_goes_on_where_a_gpu_lets_it_and_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, report = reported(tmp_path, PROGRAMS / "cuda" / "beyond.cu")
    assert status == 2  # of the accesses that a GPU stops
    said = capfd.readouterr()
    assert said.out == H200
    passed = [
        line for line in said.err.splitlines() if line.endswith("a GPU does not notice it, and the program goes on")
    ]
    assert [line.split()[1] for line in passed] == ["load:", "store:", "add:", "around:"]  # each instruction once
    assert "load of 4 bytes out of bounds, at byte 40 of allocation 3 (40 bytes), at " in passed[0]
    assert "beyond.cu:6 " in passed[0]
    assert len(said.err.splitlines()) == len(passed) + 4
    told = [line.removeprefix("banksim: ").partition(": a GPU")[0] for line in passed]
    assert report["out_of_bounds"] == told


one = source_file(
    "one.cu",
    "__global__ void k(int *p) { p[10] = 1; }\n"
    "int main() { int *p; cudaMalloc(&p, 40); k<<<1, 1>>>(p); return cudaDeviceSynchronize(); }\n",
)


@pytest.mark.parametrize(("options", "status"), [((), 0), (("--check", "races"), 1)])
def test_a_check_makes_it_the_exit_status(options: tuple[str, ...], status: int, one: Path, tmp_path: Path) -> None:
    assert main(["run", *options, "--output", str(tmp_path / "report"), str(one)]) == status


def test_the_first_block_that_strayed_is_told_whichever_ran_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The second worker runs the first blocks here, and the first worker all others."""
    (tmp_path / "all.cu").write_text(
        "#include <stdio.h>\n"
        "__global__ void k(int *p, int *q) { if (blockIdx.x > 2) p[blockIdx.x] = q[blockIdx.x]; }\n"
        "int main() { int *p, *q, n; cudaMalloc(&p, 4096); cudaMalloc(&q, 4);\n"
        '  k<<<1024, 64>>>(p, q); cudaMemcpy(&n, p, 4, cudaMemcpyDefault); return printf("%d", n) < 0; }\n'
    )
    run_piece, others = workers.run_piece, list[Callable[[], Any]]()

    def piece(*what: Any) -> Any:
        done = run_piece(*what)
        while others:
            others.pop()()
        return done

    def in_turn(works: Sequence[Callable[[], Any]], *_: object) -> None:
        others[:] = works[:-1]
        works[-1]()

    monkeypatch.setattr(workers, "cores", lambda: 2)
    monkeypatch.setattr(workers, "run_piece", piece)
    monkeypatch.setattr(workers, "in_threads", in_turn)
    (said,) = err_of(capfd, ["run", "--output", str(tmp_path / "report"), str(tmp_path / "all.cu")], 0).splitlines()
    assert "block (3, 0, 0)" in said
