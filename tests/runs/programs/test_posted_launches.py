"""A program goes on while its launches are executed, and finds nothing else by that."""

import math
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from banksim.runs.options import Options
from banksim.runs.programs import deferred_launches, executable, process, repeated_launches
from banksim.runs.programs.process import Process
from helpers.commands import reported

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs run on Linux")
SOURCE = """\
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
__global__ void add(int *p, int i, int n) { p[i + threadIdx.x] += n; }
__global__ void say(int *p) { printf("kernel %d\\n", p[0]); }
__global__ void serve(volatile int *order, volatile int *answer) {
    __shared__ int given;
    for (int last = 0;;) {
        if (!threadIdx.x) do given = *order; while (given == last);
        __syncthreads();
        last = given;
        if (last < 0) return;
        if (!threadIdx.x) *answer = last * last;
        __syncthreads();
    }
}
__global__ void pure(int *to, const int *from) {
    __shared__ int s[64];
    for (int k = 0; k < 40; k++) s[threadIdx.x ^ 1] = from[threadIdx.x] + k;
    __syncthreads();
    to[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
}
__global__ void wait_and_say(volatile int *order) { while (!*order); printf("first\\n"); }
int main(int argc, char **argv) {
    int *p, *seen, n;
    const char *how = argv[1];
    cudaMalloc(&p, 1 << 15);
    if (!strcmp(how, "pinned")) cudaMallocHost(&seen, 4096);
    cudaEvent_t event;
    cudaEventCreate(&event);
    cudaEventRecord(event);
    for (n = 1; n < 4; n++) add<<<1, 32>>>(p, !strcmp(how, "fault") && n == 2 ? 1 << 29 : 0, n);
    if (!strcmp(how, "file")) cudaEventRecord(event);
    if (!strcmp(how, "file")) fclose(fopen(argv[2], "w"));
    if (!strcmp(how, "pinned")) { add<<<1, 32>>>(seen, 0, 7); printf("%d\\n", seen[0]); }
    for (int k = 0; !strcmp(how, "same") && k < 400; k++) add<<<1, 32>>>(p, 0, k % 200 == 150);
    if (!strcmp(how, "same")) { cudaMemcpy(&n, p, 4, cudaMemcpyDeviceToHost); printf("%d\\n", n); }
    if (!strcmp(how, "orders")) {
        volatile int *order;
        cudaHostAlloc((void **)&order, 8, cudaHostAllocMapped);
        serve<<<1, 64>>>((int *)order, (int *)order + 1);
        for (n = 1; n < 6; n++) { order[0] = n; while (order[1] != n * n) usleep(1000); }
        order[0] = argc > 2 ? n : -1;
        if (argc > 2) _exit(3);
        printf("%d %d\\n", order[1], cudaDeviceSynchronize());
    }
    for (int k = 0; !strcmp(how, "two") && k < 30; k++) {
        add<<<1, 32>>>(p, 0, 0);
        for (n = 0; n < 3; n++) pure<<<64, 64>>>(p + 64, p);
    }
    if (!strcmp(how, "later")) {
        cudaMallocHost(&seen, 4096);
        cudaMalloc(&seen, 64 * 64 * 4);
        pure<<<64, 64>>>(seen, p);
        usleep(200000);
        printf("%d ", cudaMemcpy(&n, seen, 4, cudaMemcpyDeviceToHost));
        printf("%d %d\\n", n, cudaDeviceSynchronize());
    }
    if (!strcmp(how, "query")) {
        cudaMallocHost(&seen, 4096);
        cudaEvent_t before, behind;
        cudaEventCreate(&before);
        cudaEventCreate(&behind);
        cudaEventRecord(before);
        wait_and_say<<<1, 1>>>(seen);
        cudaEventRecord(behind);
        int reached = cudaEventQuery(before), busy = cudaEventQuery(behind);
        for (n = 0; cudaStreamQuery(0) == cudaErrorNotReady; n++) seen[0] = n;
        printf("%d %d %d %d %d\\n", reached, busy, n > 1, cudaStreamQuery(0), cudaEventQuery(behind));
    }
    if (!strcmp(how, "two print")) {
        cudaMallocHost(&seen, 4096);
        wait_and_say<<<1, 1>>>(seen);
        *(volatile int *)seen = 1;
        say<<<1, 1>>>(p);
        cudaDeviceSynchronize();
    }
    if (!strcmp(how, "child")) { if (!fork()) exit(0); wait(NULL); }
    if (!strcmp(how, "print")) { say<<<1, 1>>>(p); add<<<1, 32>>>(p, 0, 5); printf("host\\n"); say<<<1, 1>>>(p); }
    if (!strcmp(how, "fault")) {
        printf("%d ", cudaGetLastError());
        printf("%d ", cudaDeviceSynchronize());
        printf("%d\\n", cudaMemcpy(&n, p, 4, cudaMemcpyDeviceToHost));
    }
    if (!strcmp(how, "at once")) _exit(0);
    if (!strcmp(how, "abort")) { fflush(stdout); abort(); }
    return 0;
}
"""
Run = Callable[..., tuple[str, int, int]]


@pytest.fixture(scope="module", name="program")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("posted")
    (folder / "program.cu").write_text(SOURCE)
    return executable.command([str(folder / "program.cu")], "sm_90", "-std=c++14")[0]


@pytest.fixture(name="run")
def run_once(program: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    """(what the program printed, its status, its launches)"""

    def run(*arguments: str, options: Sequence[str] = (), kernel: str = "") -> tuple[str, int, int]:
        status, found = reported(tmp_path, *options, program, *arguments)
        launches = sum(one["launches"] for one in found["kernels"] if kernel in one["kernel"])
        return capfd.readouterr().out, status, launches

    return run


@pytest.mark.parametrize(
    ("how", "printed", "status", "launches"),
    [
        ("return", "", 0, 3),
        ("at once", "", 0, 3),
        ("abort", "", 134, 3),
        ("child", "", 0, 3),
        ("print", "kernel 6\nhost\n", 0, 6),
        ("pinned", "7\n", 0, 4),
        ("fault", "0 700 700\n", 2, 1),
    ],
)
def test_every_launch_is_executed_in_order(how: str, printed: str, status: int, launches: int, run: Run) -> None:
    assert run(how) == (printed, status, launches)


def test_the_program_goes_on_meanwhile(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No launch is executed here before the program has written a file behind it, and recorded an event: without
    --timing an event has no time to ask for."""
    executed, pause, launched = list[bool](), threading.Event(), Process.launched

    def late(process: Process, content: bytes) -> bytes:
        for _ in range(1000):
            if not (tmp_path / "written").exists():
                pause.wait(0.01)
        executed.append((tmp_path / "written").exists())
        return launched(process, content)

    monkeypatch.setattr(Process, "launched", late)
    assert run("file", str(tmp_path / "written")) == ("", 0, 3)
    assert executed == [True] * 3


def test_a_kernel_may_wait_for_the_program(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """By flags in memory of the host that it sees too."""
    monkeypatch.setattr(process, "PATIENCE", 0.05)
    assert run("orders") == ("25 0\n", 0, 4)
    assert run("orders", "and leave")[1] == 3
    assert run("query") == ("first\n0 600 1 0 0\n", 0, 4)
    assert run("two print") == ("first\nkernel 6\n", 0, 5)


def test_the_program_waits_for_what_it_asks_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long launches take that were not executed before."""
    settle = deferred_launches.DeferredLaunches.settle

    def slowly(waiting: deferred_launches.DeferredLaunches, options: Options) -> None:
        if options.progress:
            options.progress(0, 0)
        settle(waiting, options)

    monkeypatch.setattr(process, "PATIENCE", 0.1)
    monkeypatch.setattr(deferred_launches, "is_small", lambda launch: False)
    monkeypatch.setattr(deferred_launches.DeferredLaunches, "settle", slowly)
    assert run("later") == ("0 45 0\n", 0, 4)


def test_the_same_launch_right_behind_one_that_changed_nothing_is_known(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated_launches, "LEAST", 0.0)
    monkeypatch.setattr(repeated_launches, "BYTES_PER_SECOND", math.inf)
    looked_at, launched = list[bytes](), Process.launched

    def noted(process: Process, content: bytes) -> bytes:
        looked_at.append(content)
        return launched(process, content)

    monkeypatch.setattr(Process, "launched", noted)
    assert run("same") == ("8\n", 0, 403)
    assert len(looked_at) < 40
    assert run("same", options=["-s", "200"]) == ("8\n", 0, 203)
    monkeypatch.setattr(deferred_launches, "is_small", lambda launch: False)
    assert run("two", kernel="pure") == ("", 0, 90)
