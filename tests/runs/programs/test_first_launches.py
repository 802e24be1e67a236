"""What launches of a program find in the L2 cache: what launches, copies and fills before them left there."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from banksim.architectures.latencies import H200
from banksim.machine.program_memory import Recent, since_each
from banksim.timing.dram import LAST_COPIES, not_kept
from helpers.commands import out_of
from helpers.places import DATA
from helpers.recordings import timing

Said = pytest.CaptureFixture[str]
CUDA = """
template <int> __global__ void load(const float4 *a, float4 *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && a[i].x == 1.5f) o[0] = a[i];
}
__global__ void store(float4 *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = make_float4(1, 2, 3, i);
}
int main() {
    const int size = SIZE << 20, n = size / 16, blocks = n / 256, much = 64 << 20;
    float4 *a, *b, *out, *others, *host = new float4[n]();
    cudaMalloc(&a, size); cudaMalloc(&b, size); cudaMalloc(&out, 16); cudaMalloc(&others, much);
    cudaMemcpy(a, host, size, cudaMemcpyHostToDevice);
    load<0><<<blocks, 256>>>(a, out, n);  // copied
    load<1><<<blocks, 256>>>(a, out, n);  // again
    cudaMemcpy(host, a, size, cudaMemcpyDeviceToHost);
    load<2><<<blocks, 256>>>(a, out, n);  // back
    cudaMemcpy(a, host, size, cudaMemcpyHostToDevice);
    load<3><<<blocks, 256>>>(a, out, n);  // copied to what the L2 has
    cudaMemset(b, 0, size);
    load<4><<<blocks, 256>>>(b, out, n);  // filled
    store<<<blocks, 256>>>(a, n);
    load<5><<<blocks, 256>>>(a, out, n);  // stored
    load<8><<<much / 4096, 256>>>(others, out, much / 16);
    load<6><<<blocks, 256>>>(a, out, n);  // others took its place
    cudaMemcpy(b, a, size, cudaMemcpyDeviceToDevice);
    load<7><<<blocks, 256>>>(b, out, n);  // to
    cudaDeviceSynchronize();
}
"""
STATES = "copied", "again", "again", "again", "filled", "stored", "cold", "to"
"""What the loads are called in the record, by their number."""
BY_ITSELF = 0.43
"""Microseconds that launches take longer in the record than by the clock of their stream (h200_code.json)."""
NEW = H200.first_launch.value / 1000
"""Those that the first launch of a program takes longer; in the record it is another one."""


def microseconds(found: dict[str, Any]) -> dict[str, float]:
    return {kernel["kernel"]: kernel["time"]["microseconds"] for kernel in found["kernels"]}


@pytest.mark.parametrize("size", [8, 16])
def test_what_was_copied_from_the_host_comes_from_dram_once(tmp_path: Path, capfd: Said, size: int) -> None:
    program, report = tmp_path / "program.cu", tmp_path / "report.json"
    program.write_text(CUDA.replace("SIZE", str(size)))
    out_of(capfd, ["run", "--timing", "--json", "--output", str(report), str(program)])
    found = json.loads(report.read_text())
    took = microseconds(found)
    recorded = json.loads((DATA / "timing" / "h200_first.json").read_text())["states"]
    states = {state: time for kernel, state, bytes_, time in recorded if kernel == "load" and bytes_ == size << 20}
    for n, state in enumerate(STATES):
        assert took[f"load<{n}>"] - NEW * (n == 0) == pytest.approx(states[state] - BY_ITSELF, rel=0.1), n
    for n in (0, 6):
        assert took[f"load<{n}>"] - NEW * (n == 0) - took["load<1>"] > 0.8 * (states["copied"] - states["again"]), n
    (said,) = {said for kernel in found["kernels"] for said in kernel["time"]["assumptions"]}
    assert said == (
        "the L2 cache has what the last launches and fills used, not what was copied from the host since, "
        "and every SM does as this one"
    )


def test_only_the_first_launch_of_a_program_takes_longer_where_code_is_short(tmp_path: Path, capfd: Said) -> None:
    """Of each kernel it took 0.16 us longer."""
    program, report = DATA / "timing" / "once.cu", tmp_path / "report.json"
    for kernel in ("none", "fill"):
        out_of(capfd, ["run", "--timing", "--json", "--output", str(report), str(program), kernel, "50000"])
        found = {
            k["kernel"]: k["time"]["microseconds"] / k["launches"] for k in json.loads(report.read_text())["kernels"]
        }
        (times,) = (row[2] for row in once()["rows"] if row[:2] == [kernel, 50000])
        by_state = dict(zip(once()["columns"], times, strict=True))
        assert found[f"{kernel}<0>"] - found[f"{kernel}<1>"] == pytest.approx(NEW, abs=1e-6)
        for n in (1, 2, 3, 4):
            assert found[f"{kernel}<{n}>"] == pytest.approx(by_state["new code"] - BY_ITSELF, rel=0.06), (kernel, n)


def once() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / "timing" / "h200_once.json").read_text())
    return found


def test_by_how_much_first_launches_took_longer() -> None:
    """Of the program in the median of all of up to 50,000 words; of a kernel hardly."""
    first, code = [], []
    for _, words, times in once()["rows"]:
        states = list(zip(once()["columns"], times, strict=True))
        again = np.median([time for state, time in states if state == "again"])
        first += [times[0] - again] * (words <= 50000)
        code += [time - again for state, time in states if state == "new code" and words <= 50000]
    assert np.median(first) == pytest.approx(NEW, abs=0.01)
    assert np.median(code) < 0.02


PRINTS = """
#include <cstdio>
__global__ void prints(int *a) { printf("%d\\n", a[0]); }
__global__ void last_prints(int *a) { if (blockIdx.x == gridDim.x - 1) printf("%d\\n", a[0]); }
__global__ void reads(int *a) { a[1] = a[0]; }
int main() {
    int *managed, *plain;
    cudaMallocManaged(&managed, 8); cudaMalloc(&plain, 8);
    managed[0] = 7;
    prints<<<1, 1>>>(plain);
    last_prints<<<600, 32>>>(plain);
    reads<<<1, 1>>>(managed);
    cudaDeviceSynchronize();
}
"""


def test_what_the_time_does_not_have_is_said(tmp_path: Path, capfd: Said) -> None:
    program, report = tmp_path / "program.cu", tmp_path / "report.json"
    program.write_text(PRINTS)
    out_of(capfd, ["run", "--timing", "--json", "--output", str(report), str(program)])
    said = {k["kernel"]: " ".join(k["time"]["assumptions"]) for k in json.loads(report.read_text())["kernels"]}
    assert "printf takes no time" in said["prints"]
    assert "printf takes no time" in said["last_prints"]
    assert "managed" not in said["prints"]
    assert "printf" not in said["reads"]
    assert "managed and pinned memory is taken to lie on the GPU" in said["reads"]


def test_the_record_has_what_is_said() -> None:
    recorded = json.loads((DATA / "timing" / "h200_first.json").read_text())
    calls = [
        time / each
        for blocks, threads, each, times in recorded["prints"]
        if threads < 33 and blocks == 1
        for time in times
    ]
    assert min(calls) > 19
    assert max(calls) < 30
    host = {(kernel, where, size): times for kernel, where, size, times in recorded["host"]}
    assert min(min(host["load", "managed", size]) for size in (4096, 65536)) > 60
    assert min(host["load", "managed", 1 << 20]) > 180
    assert max(host["load", "managed", 1 << 20]) < 220
    assert all(20 < time < 25 for kernel in ("load", "store") for time in host[kernel, "pinned", 1 << 20])


def test_what_was_used_and_copied_last() -> None:
    recent = Recent()
    recent.copy(3, 9)
    recent.use(1, 10)
    recent.use(2, 5)
    recent.copy(4, 7)
    recent.begin(5)
    assert since_each(recent.used) == {1: 15, 2: 5}
    assert since_each(recent.copied) == {3: 16, 4: 7}
    assert recent.new == {5}
    recent.use(1, 20)
    recent.copy(2, 3)  # stays where it is
    recent.copy(3, 2)
    recent.use(5, 1)
    assert since_each(recent.used) == {2: 26, 1: 21, 5: 1}
    assert since_each(recent.copied) == {4: 9, 3: 2}
    recent.forget(4)
    assert since_each(recent.copied) == {3: 2}
    assert not recent.new


def left(state: str, size: int) -> float:
    """How many MB of an array of so many the L2 has behind what was done."""
    recorded = json.loads((DATA / "timing" / "h200_merges.json").read_text())["has"]
    (missing,) = (row[3:] for row in recorded if row[:3] == [state, size, "A"])
    return sum(max(1 - percent / OF_NOTHING, 0) for percent in missing) * size / len(missing)


OF_NOTHING = 79
"""Percent of the loads that take more than 560 cycles where the L2 has nothing of an array."""


@pytest.mark.parametrize("how", ["pageable", "pinned"])
def test_of_what_was_copied_from_the_host_the_l2_has_the_last_and_what_it_had(how: str) -> None:
    for size in (4, 8, 16, 24, 32, 40, 48, 64):
        assert left(how, size) == pytest.approx(LAST_COPIES / (1 << 20), rel=0.09)
    for size in (16, 32):
        assert left(f"read, {how}", size) > 0.98 * size
    assert left("filled, pageable", 32) > 0.98 * 32
    assert left("pageable, B too", 8) < 0.5
    assert left("read, B pageable", 16) == 16


def test_a_launch_waits_for_what_was_copied_before_the_last() -> None:
    small, large = 4 << 20, 16 << 20
    assert not_kept({1: small, 2: small}) == {1: 1, 2: pytest.approx(1 - LAST_COPIES / small)}
    assert not_kept({1: 1 << 20, 2: 1 << 20}) == {1: 0, 2: 0}
    assert not_kept({1: large}) == {1: 1}


BEHIND_FILLS = """
template <int> __global__ void load(const float4 *a, float4 *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && a[i].x == 1.5f) o[0] = a[i];
}
int main() {
    const int size = 32 << 20, n = size / 16, much = 64 << 20;
    float4 *a, *b, *c, *out, *host = new float4[n]();
    cudaMalloc(&a, size); cudaMalloc(&b, size); cudaMalloc(&c, much); cudaMalloc(&out, 16);
    cudaMemcpy(a, host, size, cudaMemcpyHostToDevice);
    load<0><<<n / 256, 256>>>(a, out, n);
    cudaMemset(c, 0, much);
    cudaMemcpy(b, host, size, cudaMemcpyHostToDevice);
    load<1><<<n / 256, 256>>>(b, out, n);
    cudaDeviceSynchronize();
}
"""


def test_what_was_filled_is_written_to_dram_while_a_launch_reads_others(tmp_path: Path, capfd: Said) -> None:
    """Behind a fill it took as long as behind none."""
    program, report = tmp_path / "program.cu", tmp_path / "report.json"
    program.write_text(BEHIND_FILLS)
    out_of(capfd, ["run", "--timing", "--json", "--output", str(report), str(program)])
    took = microseconds(json.loads(report.read_text()))
    times = {tuple(row[:5]): row[5] for row in timing("unwritten")["times"]}
    clean, filled = (times[state, 16, "read1", 0, 32] for state in "CD")
    assert took["load<1>"] - (took["load<0>"] - NEW) == pytest.approx(filled - clean, rel=0.25)


def test_what_a_launch_uses_side_by_side_has_half_of_it_behind() -> None:
    recent = Recent()
    recent.use(1, 10)
    recent.use_all({2: 6, 3: 4}, {2: 6, 3: 0}, {3: 4})
    recent.use(4, 1, 1)
    assert recent.since() == {4: 1, 3: 1 + (10 + 4) / 2, 2: 1 + (10 + 6) / 2, 1: 21}
    assert recent.unwritten(100) == {3: 4 * (1 - 1 / 100), 4: 1}
    recent.use_all({3: 4}, {3: 0}, {})  # it was there
    assert recent.unwritten(100) == {3: 4 * (1 - 1 / 100), 4: 1}
    assert recent.unwritten(1) == {4: 1}
    recent.begin(4)
    assert recent.unwritten(1) == {}
