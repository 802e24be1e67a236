"""What events tell of time: the simulated time of the launches between them, with --timing; not a number without."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from banksim.architectures.latencies import H200
from banksim.runs.programs.clock import Clock
from helpers.commands import out_of

Said = pytest.CaptureFixture[str]
CUDA = """
#include <cstdio>
__global__ void columns(int *a) {
    __shared__ int tile[1024];
    int x = threadIdx.x, sum = 0;
    tile[32 * x] = x;
    for (int i = 0; i < 50; ++i) {
        __syncthreads();
        sum += tile[32 * (31 - x)];
        __syncthreads();
        tile[32 * x] = sum;
    }
    a[x] = sum;
}
int main() {
    int *d; cudaMalloc(&d, 128);
    cudaEvent_t at[4];
    for (auto &event : at) cudaEventCreate(&event);
    columns<<<1, 32>>>(d);
    cudaEventRecord(at[0]);
    columns<<<1, 32>>>(d);
    columns<<<1, 32>>>(d);
    cudaEventRecord(at[1]);
    cudaMemset(d, 0, 128);
    cudaEventRecord(at[2]);
    cudaEventRecord(at[3]);
    cudaDeviceSynchronize();
    float both, none, bare;
    cudaEventElapsedTime(&both, at[0], at[1]);
    cudaEventElapsedTime(&none, at[1], at[2]);
    cudaEventElapsedTime(&bare, at[2], at[3]);
    printf("%.6f %.6f %.6f\\n", both, none, bare);
    cudaStream_t stream; cudaStreamCreate(&stream);
    cudaGraph_t graph; cudaGraphExec_t made;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    columns<<<1, 32, 0, stream>>>(d);
    columns<<<1, 32, 0, stream>>>(d);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&made, graph, 0);
    cudaEventRecord(at[0], stream);
    cudaGraphLaunch(made, stream);
    cudaEventRecord(at[1], stream);
    cudaEventElapsedTime(&both, at[0], at[1]);
    printf("%.6f\\n", both);
}
"""
PYTHON = """
import numpy as np
from numba import cuda

@cuda.jit
def columns(a):
    tile = cuda.shared.array(1024, np.int32)
    x = cuda.threadIdx.x
    tile[32 * x] = x
    total = 0
    for _ in range(50):
        cuda.syncthreads()
        total += tile[32 * (31 - x)]
        cuda.syncthreads()
        tile[32 * x] = total
    a[x] = total

a = cuda.to_device(np.zeros(32, np.int32))
at = [cuda.event() for _ in range(4)]
columns[1, 32](a)
at[0].record()
columns[1, 32](a)
columns[1, 32](a)
at[1].record()
cuda.to_device(np.zeros(32, np.int32), to=a)
at[2].record()
at[3].record()
print(*(f"{at[n].elapsed_time(at[n + 1]):.6f}" for n in range(3)))
"""


def test_launches_without_a_time_between_two_readings_leave_none() -> None:
    start = Clock().after(None)
    one = start.after(2000.0)
    assert start.until(one) == 2.0
    assert start.until(one.after(500.0)) == 2.5
    assert start.until(start) == 0
    assert math.isnan(start.until(replace(start, copies=1)))
    assert start.until(replace(one, copies=1)) == 2.0
    assert math.isnan(start.until(one.after(None)))
    assert math.isnan(Clock().until(one))


@pytest.mark.parametrize(("name", "source"), [("program.cu", CUDA), ("program.py", PYTHON)])
def test_events_tell_what_the_report_does(tmp_path: Path, capfd: Said, name: str, source: str) -> None:
    program, report = tmp_path / name, tmp_path / "report.json"
    program.write_text(source)
    said = out_of(capfd, ["run", "--timing", "--json", "--output", str(report), str(program)])
    both, none, bare, *of_graph = map(float, said.split())
    found: dict[str, Any] = json.loads(report.read_text())
    (kernel,) = found["kernels"]
    later, event = 2 + 2 * len(of_graph), H200.event.value / 1000
    assert kernel["launches"] == 1 + later
    each = (1000 * both - event) / 2
    more_of_first = kernel["time"]["microseconds"] - kernel["launches"] * each
    new = H200.first_launch.value / 1000 if source == CUDA else 0  # Numba's launches leave nothing to each other
    assert more_of_first == pytest.approx(new, abs=0.01)
    assert math.isnan(none)  # nothing but a copy
    assert bare == pytest.approx(event / 1000, abs=2e-6)  # 1.3 to 1.35 us on an H200 as well
    for time in of_graph:
        less, more = H200.in_graph.value / 1000, H200.graph.value / 1000
        assert time == pytest.approx((2 * (each - less) + more + event) / 1000, abs=2e-6)
    assert set(out_of(capfd, ["run", "--output", str(report), str(program)]).split()) == {"nan"}
    assert "answered by nan: --timing simulates" in " ".join(report.read_text().split())


MEET = """
#include <cooperative_groups.h>
#include <cstdio>
__global__ void meet(int *a) { a[blockIdx.x] = 1; cooperative_groups::this_grid().sync(); a[blockIdx.x] += a[0]; }
__global__ void plain(int *a) { a[blockIdx.x] += 1; }
int main() {
    int *d, got; cudaMalloc(&d, 128);
    cudaEvent_t at[3];
    for (auto &event : at) cudaEventCreate(&event);
    void *given[] = {&d};
    cudaEventRecord(at[0]);
    cudaLaunchCooperativeKernel((void *)meet, 8, 32, given, 0, 0);
    cudaEventRecord(at[1]);
    plain<<<1, 1>>>(d);
    cudaEventRecord(at[2]);
    cudaMemcpy(&got, d, 4, cudaMemcpyDeviceToHost);
    float met, time;
    cudaEventElapsedTime(&met, at[0], at[1]);
    cudaEventElapsedTime(&time, at[1], at[2]);
    printf("%d %f %f\\n", got, met, time);
}
"""


def test_a_launch_without_a_time_is_counted_and_its_program_goes_on(tmp_path: Path, capfd: Said) -> None:
    program, report = tmp_path / "program.cu", tmp_path / "report.json"
    program.write_text(MEET)
    got, met, time = out_of(capfd, ["run", "--timing", "--json", "--output", str(report), str(program)]).split()
    assert got == "3"
    assert math.isnan(float(met))
    assert float(time) > 0
    meet, plain = json.loads(report.read_text())["kernels"]
    assert meet["time"]["launches_without_estimate"] == meet["launches"] == 1
    assert meet["time"]["refused"] == ["meet: the time of blocks that wait for each other is not simulated"]
    assert plain["time"]["refused"] == []
    out_of(capfd, ["run", "--timing", "--output", str(report), str(program)])
    assert "Not timed: meet: the time of blocks that wait for each other is not simulated" in report.read_text()


def test_a_program_is_told_the_time_of_a_gpu_that_is_published(tmp_path: Path, capfd: Said) -> None:
    program, report = tmp_path / "program.cu", tmp_path / "report.json"
    program.write_text("""
#include <cstdio>
__global__ void k(int *a) { a[threadIdx.x] += 1; }
int main() {
    int *d; cudaMalloc(&d, 128);
    cudaEvent_t from, to; cudaEventCreate(&from); cudaEventCreate(&to);
    cudaEventRecord(from); k<<<1, 32>>>(d); cudaEventRecord(to);
    float time; cudaEventElapsedTime(&time, from, to);
    cudaDeviceProp is; cudaGetDeviceProperties(&is, 0);
    printf("%f %d", time, is.multiProcessorCount);
}
""")
    words = ["run", "--timing", "--arch", "sm_86", "--json", "--output", str(report), str(program)]
    time, count = out_of(capfd, words).split()
    assert 0.001 < float(time) < 0.01
    assert count == "82"
    (kernel,) = json.loads(report.read_text())["kernels"]
    assert any("RTX 3090" in one for one in kernel["time"]["assumptions"])
