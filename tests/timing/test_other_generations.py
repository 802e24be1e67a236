"""Time on GPUs that were not measured: at the rates that are published, and said to be assumed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.errors import UntimedError
from banksim.runs.outcome import Run
from helpers.commands import out_of
from helpers.fixtures import Said, source_file

SOURCE = """
template <class T> __device__ void chains(T *a) {
    T x[8];
    for (int i = 0; i < 8; ++i) x[i] = a[threadIdx.x] + i;
    #pragma unroll
    for (int n = 0; n < ROUNDS; ++n)
        for (int i = 0; i < 8; ++i) x[i] = x[i] * x[i] + T(1);
    for (int i = 1; i < 8; ++i) x[0] += x[i];
    a[threadIdx.x] = x[0];
}
extern "C" __global__ void floats(float *a) { chains(a); }
extern "C" __global__ void doubles(double *a) { chains(a); }
extern "C" __global__ void columns(int *a) {
    __shared__ int tile[1024];
    int x = threadIdx.x, sum = 0;
    for (int n = 0; n < ROUNDS; ++n) {
        tile[32 * (x % 32) + x / 32] = sum + n;
        __syncthreads();
        sum += tile[32 * (x % 32) + (x / 32 + n) % 32];
        __syncthreads();
    }
    a[x] = sum;
}
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2) pairs(int *a) { a[threadIdx.x] = blockIdx.x; }
#endif
"""
ROUNDS = 16
ISSUED = 8 * 8 * ROUNDS
"""Multiply-adds that each of the four sub-cores issues for 32 warps."""
source = source_file("rates.cu", SOURCE)
pytestmark = pytest.mark.usefixtures("by_nvrtc")


def timed(source: Path, arch: str, name: str, dtype: Any = np.int32, blocks: int = 1, threads: int = 1024) -> Run:
    kernel = banksim.load(source, defines=[f"ROUNDS={ROUNDS}"], arch=arch)[name]
    return banksim.run(kernel, blocks, threads, [np.ones(threads, dtype)], arch=arch, timing=True)


@pytest.mark.parametrize(("arch", "each"), [("sm_75", 2), ("sm_80", 2), ("sm_86", 1), ("sm_90", 1), ("sm_120", 1)])
def test_floats_take_their_published_rate(source: Path, arch: str, each: int) -> None:
    cycles = timed(source, arch, "floats", np.float32).cycles
    assert cycles is not None
    assert each * ISSUED <= cycles.total <= each * ISSUED + 900  # which is as long as memory and the code take


@pytest.mark.parametrize(("arch", "each"), [("sm_80", 4), ("sm_86", 64), ("sm_90", 2)])
def test_doubles_take_their_published_rate(source: Path, arch: str, each: int) -> None:
    cycles = timed(source, arch, "doubles", np.float64).cycles
    assert cycles is not None
    assert cycles.resources["double"] >= each * ISSUED
    assert cycles.total == pytest.approx(cycles.resources["double"], rel=0.05, abs=900)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89", "sm_100"])
def test_what_conflicts_cost_is_told_and_assumed(source: Path, arch: str) -> None:
    run = timed(source, arch, "columns")
    assert run.cycles is not None
    assert run.conflicts.transactions == 2 * ROUNDS * 32 * 32
    assert run.cycles.conflict > 0.8 * (run.cycles.total - run.cycles.ideal) > 0.5 * 2 * ROUNDS * 32 * 31
    first, *_ = run.cycles.assumptions
    assert first.startswith("the multiprocessor is an H200's, at the rates that are published of the ")


def test_reports_say_so(source: Path, capsys: Said) -> None:
    words = ["kernel", f"{source}:columns", "--block", "1024", "--arg", "int32[1024]", "--arch", "A100", "--timing"]
    words += ["--define", f"ROUNDS={ROUNDS}"]
    text = " ".join(out_of(capsys, words).split())
    assert "on one SM of sm_80" in text
    assert "at 1,410 MHz, assumed); without conflicts" in text
    assert "assumed: the multiprocessor is an H200's, at the rates that are published of the A100" in text
    told = json.loads(out_of(capsys, [*words, "--json"]))["cycles"]
    assert {figure["status"] for part in ("figures", "held") for figure in told[part].values()} == {"assumed"}
    assert told["launch"]["multiprocessors"] == 108
    assert told["clock_mhz"] == 1410


def test_a_launch_of_clusters_has_no_time_there(source: Path) -> None:
    with pytest.raises(UntimedError, match="pairs: how many clusters run at once on sm_120 is not known"):
        timed(source, "sm_120", "pairs", blocks=2, threads=32)
