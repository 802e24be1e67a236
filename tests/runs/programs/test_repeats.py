"""Launches that repeat what was seen are not executed again, and nothing else changes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from banksim.__main__ import main
from banksim.kernels import global_addresses
from banksim.runs.programs import repeats

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs run on Linux")

PROGRAM = """
#include <cstdio>
#include <vector>
#define N (1 << 19)
__global__ void add(const float *a, const float *b, float *c) {
    __shared__ float tile[32][32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x % 32][threadIdx.x / 32] = a[i] + b[i];
    __syncthreads();
    c[i] = tile[threadIdx.x % 32][threadIdx.x / 32];
}
__global__ void more(float *a) { a[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
__global__ void sum(const float *a, float *to) { atomicAdd(to, a[blockIdx.x * blockDim.x + threadIdx.x]); }
__global__ void timed(float *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = clock64() < 0 ? 5 : 3; }
static float first(const float *a, int i) { float x; cudaMemcpy(&x, a + i, 4, cudaMemcpyDeviceToHost); return x; }
int main() {
    std::vector<float> ones(N, 1);
    float *a, *b, *c, *m;
    for (float **p : {&a, &b, &c}) cudaMalloc(p, 4 * N), cudaMemcpy(*p, ones.data(), 4 * N, cudaMemcpyHostToDevice);
    for (int k = 0; k < 6; k++) add<<<N / 1024, 1024>>>(a, b, c);
    for (int k = 0; k < 20; k++) {  // what the program frees it is given again
        float *to;
        cudaMalloc(&to, 4), cudaMemset(to, 0, 4);
        sum<<<N / 1024, 1024>>>(c, to);
        printf("%.9g ", first(to, 0)), cudaFree(to);
    }
    for (int k = 0; k < 6; k++) more<<<N / 1024, 1024>>>(a), printf("%.9g ", first(a, k));
    for (int k = 0; k < 6; k++) {  // the program changes what the kernel reads, and then what it wrote
        float y = k / 2;
        cudaMemcpy(k % 2 ? b : c, &y, 4, cudaMemcpyHostToDevice);
        add<<<N / 1024, 1024>>>(a, b, c);
        printf("%.9g ", first(c, 0));
    }
    cudaMallocManaged(&m, 4 * N);
    for (int k = 0; k < 6; k++) {  // with no call
        m[1] = k / 3;
        add<<<N / 1024, 1024>>>(m, b, c), cudaDeviceSynchronize();
        printf("%.9g ", first(c, 1));
    }
    for (int k = 0; k < 4; k++) cudaMemset(c, 0, 4 * N), timed<<<N / 1024, 1024>>>(c), printf("%.9g ", first(c, 0));
    printf("\\n");
}
"""
EXPECTED = [2.0 * (1 << 19)] * 20 + [2, 3, 4, 5, 6, 7] + [8, 7, 7, 8, 8, 9] + [1, 1, 1, 2, 2, 2] + [3] * 4


def test_repeated_launches_cost_and_give_the_same(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "program.cu").write_text(PROGRAM)
    reports = []
    executed = []
    monkeypatch.setattr(repeats, "SHARE", 1e9)  # however busy the machine is
    execute = repeats.execute_launch
    monkeypatch.setattr(repeats, "execute_launch", lambda *given: executed.append(1) or execute(*given))
    for worth in (0.0, float("inf")):
        monkeypatch.setattr(repeats, "WORTH", worth)
        executed.clear()
        report = tmp_path / "report.json"
        assert main(["run", "--json", "--output", str(report), str(tmp_path / "program.cu")]) == 0
        assert [float(word) for word in capfd.readouterr().out.split()] == EXPECTED
        reports.append((json.loads(report.read_text()), len(executed)))
    (repeated, few), (every, all_of_them) = reports
    assert all_of_them == 48
    assert few < 40
    assert repeated == every


class Seen(dict[int, tuple[int, int]]):
    def __iter__(self) -> Iterator[int]:
        raise AssertionError("a launch goes through all allocations")

    items = keys = values = __iter__  # type: ignore[assignment]


def test_a_state_that_is_known_is_found_without_going_through_all_allocations() -> None:
    start, count = 4 * global_addresses.PROGRAM.slots, 1000
    memory = np.zeros(start + 64 * count, np.uint8)
    known = repeats.Repeats(memory, -1)
    for slot in range(count):
        known.holds(slot, start + 64 * slot, 64, visible=slot == 3, pinned=False)
    before = known.state()
    places, known.places = known.places, Seen(known.places)

    def written(slot: int, value: int, told: bool) -> int:
        memory[start + 64 * slot + 5] = value
        known.changes[slot] += told
        return known.state()

    states = [before, written(7, 1, True), written(8, 1, True), written(3, 1, False)]
    assert len({*states}) == 4
    assert [written(3, 0, False), written(8, 0, True), written(7, 0, True)] == [*reversed(states[:3])]
    assert (written(9, 1, True), written(9, 0, True)) != (before, before)
    assert known.state() == before
    known.places = places
    known.forget()
    assert known.state() == before
    known.holds(5, 0, 0, visible=False, pinned=False)
    assert known.state() != before
