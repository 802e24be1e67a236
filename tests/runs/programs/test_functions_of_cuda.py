"""Programs that call functions of CUDA, and say themselves which of their expectations fail."""

import re
import sys
from pathlib import Path

import pytest

from helpers.commands import reported
from helpers.fixtures import Patch, Said
from helpers.places import DATA, PROGRAMS

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="programs run on Linux"),
    pytest.mark.usefixtures("by_nvcc_for_cpp_14"),
]


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("clusters.cu", ""),
        ("compiled_at_run_time.cpp", "0 0 62\n"),
        ("conditional_graphs.cu", "304 turns\n304 turns\ndone\n"),  # a condition's default is assigned once a launch
        ("graphs.cu", "done\n"),
        ("queries.cu", "done\n"),
        ("unnamed_lanes.cu", "496 248 7\n3 603 803\naaaaaaaa 1\n"),
        ("tensor_maps.cu", ""),
        ("virtual_memory.cu", "1 2097152 7 8\n8 7\n1 1\n"),
    ],
)
def test_a_program_ends_well(program: str, said: str, tmp_path: Path, monkeypatch: Patch, capfd: Said) -> None:
    monkeypatch.chdir(tmp_path)
    status, report = reported(tmp_path, "--nvcc=-lcuda", PROGRAMS / "cuda" / program)
    assert (status, capfd.readouterr()) == (0, (said, ""))
    if program == "graphs.cu":
        assert {kernel["kernel"]: kernel["launches"] for kernel in report["kernels"]} == {"add": 9, "multiply": 9}


@pytest.mark.parametrize(
    ("use", "out", "complaint"),
    [
        (
            "outside",
            "cudaErrorIllegalAddress\n",
            r".*out of bounds, at byte 4194304 of allocation 1 \(2097152 bytes\).*",
        ),
        (
            "ipc",
            ".*cudaErrorNotSupported\n",
            "banksim: cudaIpcGetMemHandle: not provided: it returned .*NotSupported\n",
        ),
    ],
)
def test_memory_that_is_not_mapped_or_of_another_process_is_refused(
    use: str, out: str, complaint: str, tmp_path: Path, capfd: Said
) -> None:
    status, _ = reported(tmp_path, "--nvcc=-lcuda", PROGRAMS / "cuda" / "virtual_memory.cu", use)
    said = capfd.readouterr()
    assert status == 2
    assert re.fullmatch(out, said.out, re.DOTALL)
    assert re.fullmatch(complaint, said.err, re.DOTALL)


def test_rarer_calls_answer_as_an_h200_did(tmp_path: Path, capfd: Said) -> None:
    status, _ = reported(tmp_path, "--nvcc=-lcuda", PROGRAMS / "cuda" / "rarer_calls.cu")
    refused = "banksim: a stream that waits for a value which is not there yet: not provided: "
    assert (status, capfd.readouterr()) == (2, ("done\n", f"{refused}it returned cudaErrorNotSupported\n"))


def test_memory_answers_as_an_h200s_did(tmp_path: Path, capfd: Said) -> None:
    """At last a kernel reads memory of malloc, which that GPU's machine does not let it."""
    status, _ = reported(tmp_path, PROGRAMS / "cuda" / "memory_queries.cu")
    said = capfd.readouterr()
    assert (status, said.out) == (2, (DATA / "programs" / "memory_queries.txt").read_text())
    assert re.fullmatch(r"banksim: put: global load of 4 bytes at 0x\w+, which lies in no buffer, .*\n", said.err)


@pytest.mark.parametrize("pool", ["0", "1"])
def test_kernels_access_memory_of_a_hosts_pool_where_they_may(pool: str, tmp_path: Path, capfd: Said) -> None:
    status, _ = reported(tmp_path, PROGRAMS / "cuda" / "pools_of_other_memory.cu", pool)
    said = capfd.readouterr()
    assert (status, said.out) == (2, "done\n")
    assert "pinned allocation 2, whose pool gives kernels no access (cudaMemPoolSetAccess)" in said.err


def test_how_many_clusters_run_at_once_is_not_known_of_other_gpus(tmp_path: Path, capfd: Said) -> None:
    source = tmp_path / "clusters.cu"
    source.write_text(
        "__global__ void __cluster_dims__(2, 1, 1) k() {}\n"
        "int main() { cudaLaunchConfig_t c = {}; c.gridDim = c.blockDim = 32; int n;"
        " return cudaOccupancyMaxActiveClusters(&n, k, &c) - cudaErrorNotSupported; }\n"
    )
    assert reported(tmp_path, "--arch", "sm_100", source)[0] == 2
    assert capfd.readouterr().err == "banksim: how many clusters run at once on sm_100 is not known\n"
