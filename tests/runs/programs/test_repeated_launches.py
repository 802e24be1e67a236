"""Launches that a program repeats on the same memory are not executed again, and nothing else changes by that."""

import sys
from collections.abc import Callable
from math import inf
from pathlib import Path

import pytest

from banksim.runs.programs import executable, repeated_launches
from banksim.runs.programs.memory_contents import Contents
from banksim.runs.programs.process import Process
from helpers.executed_launches import counted_run
from helpers.fixtures import Patch, Said
from helpers.places import written_to

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs run on Linux")
RANDOM, THREADS, LOOP, ALLOCATED, PRINTED, CLOCKS, BEYOND, HEAP, RESET, VARIABLES, HEAP_READ, CONSTANTS, PINNED = range(
    13
)
IN_PLACE, MANAGED, WRITTEN_CONSTANT, MANY, COPIED, COUNTED = range(13, 19)
"""What the program does, by its first argument."""
SOURCE = """\
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <unistd.h>
#define N 3000
typedef unsigned u;
__device__ u total[64];
__constant__ u factor[4];
__managed__ u seen[64];
#define AT u i = blockIdx.x * 64 + threadIdx.x
__global__ void set(u *y, const u *x, u a) { AT; if (i < N) y[i] = x[i] * a + factor[1]; }
__global__ void add(u *y, const u *x, u a) { AT; if (i < N) y[i] += x[i] * a; }
__global__ void swap(u *y, u *x, u a) {
    __shared__ u s[64];
    AT;
    s[threadIdx.x * a & 63] = i < N ? x[i] : 0;
    __syncthreads();
    if (i < N) { x[i] = y[i]; y[i] = s[threadIdx.x * a & 63]; }
}
__global__ void sum(u *y, const u *x, u a) { AT; if (x[i] > a) atomicAdd(&total[i], x[i]); }
__global__ void say(u *y) { printf("%u\\n", y[0]); }
__global__ void when(u *y) { y[0] = clock64() > 0; }
__global__ void far(u *y) { y[N + 8] = 5; }
__global__ void take(u **y) { *y = (u *)malloc(16); **y = 7; }
__global__ void give(u **y, u *x) { x[0] = **y; **y += 1; }
__global__ void both(u *y, u *x) { AT; if (i < N) { y[i] += i; x[N - 1 - i] = y[i] + x[i] * 0; } }
__global__ void totals(u *y) { y[threadIdx.x] = total[threadIdx.x]; }
__global__ void mark(u *y) { seen[threadIdx.x] += 7; }
__global__ void look(u **y, u *x) { x[0] = **y; }
__global__ void count(u *y) { AT; atomicAdd(&y[i & 7], 1); }
__global__ void spread(u *y) { AT; if (i < N) y[i * 7 % N] += 1; }

static u state;
static u next(u n) { return (state = state * 1664525u + 1013904223u) >> 8 & 0xffffff ? (state >> 8) % n : 0; }
static u h[N];
static void show(const char *name, const u *d) {
    u hash = 0;
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDefault);
    for (u i = 0; i < N; i++) hash = hash * 31 + h[i];
    printf("%s %u\\n", name, hash);
}
static void *idle(void *stop) { while (!*(volatile bool *)stop) usleep(1000); return NULL; }

static void random_program(u seed) {
    state = seed * 7919 + 1;
    u *d[4];
    for (u n = 0; n < 2; n++) cudaMalloc(&d[n], sizeof h);
    cudaMallocHost(&d[2], sizeof h);
    cudaMallocManaged(&d[3], sizeof h);
    for (u n = 0; n < 4; n++) {
        for (u i = 0; i < N; i++) h[i] = i * n;
        cudaMemcpy(d[n], h, sizeof h, cudaMemcpyDefault);
    }
    u mix = next(3), least = next(4);
    for (u step = 0; step < 60; step++) {
        u a = next(2), b = next(4), c = mix ? next(2) : next(4), k = next(3) + 1, what = next(24);
        for (u again = 0; again < 4; again++)
            switch (least + next(3)) {
            case 0: case 1: set<<<47, 64>>>(d[a], d[(a + 1) % 2], k); break;
            case 2: set<<<47, 64>>>(d[c], d[b], k); break;
            case 3: swap<<<47, 64>>>(d[a], d[(a + 1) % 2], k); break;
            case 4: sum<<<1, 64>>>(d[a], d[b], k); break;
            default: add<<<47, 64>>>(d[a], d[b], 0); break;
            }
        switch (what) {
        case 0: cudaMemset(d[a] + next(N), 3, 4); break;
        case 1: d[2][next(N)] ^= 1; break;
        case 2: d[3][next(N)] ^= 1; break;
        case 3: h[0] = next(9); cudaMemcpyToSymbol(factor, h, 16); break;
        case 4: h[0] = next(9); cudaMemcpyToSymbol(total, h, 4, 4 * next(64)); break;
        case 5: cudaFree(d[a]); cudaMalloc(&d[a], sizeof h); break;
        case 6: h[0] = next(9); cudaMemcpy(d[a] + next(N), h, 4, cudaMemcpyHostToDevice); break;
        case 7: { u *more; cudaMalloc(&more, 64); break; }
        case 8: case 9: show("", d[b]); break;
        }
    }
    for (u n = 0; n < 4; n++) show("end", d[n]);
    cudaMemcpyFromSymbol(h, total, sizeof total);
    for (u n = 0; n < 64; n++) printf("%u ", h[n]);
    printf("%s\\n", cudaGetErrorString(cudaDeviceSynchronize()));
}

int main(int argc, char **argv) {
    u *x, *y, **p, what = atoi(argv[1]);
    bool stop = false;
    pthread_t other;
    if (what == 0) return random_program(atoi(argv[2])), 0;
    cudaMalloc(&x, sizeof h); cudaMalloc(&y, sizeof h); cudaMalloc(&p, 8);
    if (what == 12) cudaMallocHost(&y, sizeof h);
    if (what == 1) pthread_create(&other, NULL, idle, &stop);
    for (int n = 0; what == 16 && n < 1001; n++) { u *more; cudaMalloc(&more, 4); }
    if (what == 13) { u *large; cudaMalloc(&large, 1 << 30); }
    if (what == 7 || what == 10) take<<<1, 1>>>(p);
    for (int n = 0; n < 10; n++) {
        if (what == 3) { cudaFree(x); cudaMalloc(&x, sizeof h); }
        if (what <= 3 || what == 16) set<<<47, 64>>>(y, x, 3);
        if (what == 4) say<<<1, 1>>>(y);
        if (what == 5) when<<<1, 1>>>(y);
        if (what == 6) far<<<1, 1>>>(y);
        if (what == 7) give<<<1, 1>>>(p, x);
        if (what == 8) { cudaMemset(x, n / 5, sizeof h); cudaMemset(y, 0, sizeof h); both<<<47, 64>>>(y, x); }
        h[0] = n / 5;
        if (what == 9) { cudaMemcpyToSymbol(total, h, 4, 40); totals<<<1, 64>>>(y); }
        if (what == 10) { if (n % 5 == 4) give<<<1, 1>>>(p, x); look<<<1, 1>>>(p, x); }
        if (what == 12) { h[0] = 7; cudaMemcpyToSymbol(total, h, 4); y[0] = 0; totals<<<1, 64>>>(y); }
        if (what == 13) { swap<<<47, 64>>>(y, x, 1); swap<<<1, 64>>>(x, y, 3); add<<<47, 64>>>(y, x, 0); }
        if (what == 14) {
            seen[3] = n / 5;
            mark<<<1, 64>>>(y);
            cudaDeviceSynchronize();
            printf("%u ", seen[3]);
            memset(seen, 0, sizeof seen);
        }
        if (what == 15) {
            u *f;
            cudaGetSymbolAddress((void **)&f, factor);
            set<<<1, 1>>>(f + 1, f, 1); set<<<47, 64>>>(y, x, 3); set<<<1, 1>>>(f + 1, f, 0); set<<<47, 64>>>(y, x, 3);
        }
        if (what == 17) { cudaMemcpy(x, h, sizeof h, cudaMemcpyDefault); set<<<47, 64>>>(y, x, 3); }
        if (what == 18 && n < 5) count<<<47, 64>>>(y);
        if (what == 18 && n >= 5) spread<<<47, 64>>>(y);
        if (what == 11) { cudaMemcpyToSymbol(factor, h, 4, 4); set<<<47, 64>>>(y, x, 3); }
        if (what >= 8 && what < 13) { show("x", x); show("y", y); }
    }
    stop = true;
    if (what == 1) pthread_join(other, NULL);
    show("x", x); show("y", y);
    return 0;
}
"""


@pytest.fixture(scope="module", name="program")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("repeats")
    return executable.command([str(written_to(folder / "program.cu", SOURCE))], "sm_90", "-std=c++14")[0]


Outcome = tuple[int, int, str, dict[str, object]]


@pytest.fixture(name="outcome")
def run_both_ways(program: str, tmp_path: Path, monkeypatch: Patch, capfd: Said) -> Callable[..., tuple[int, int]]:
    """Runs the program with and without repeats, compares all that is seen, and tells how many launches there were and
    how many of them were executed."""

    run_once = counted_run(tmp_path, monkeypatch, capfd)

    def run(*arguments: object) -> tuple[int, int]:
        found = []
        for least in (0.0, inf):
            monkeypatch.setattr(repeated_launches, "LEAST", least)
            if arguments[0] != IN_PLACE:
                monkeypatch.setattr(repeated_launches, "BYTES_PER_SECOND", inf)
            found.append(run_once(program, arguments))
        (some, with_repeats), (launches, without) = found
        assert with_repeats == without
        return launches, some

    return run


def test_a_loop_is_executed_until_it_is_known(outcome: Callable[..., tuple[int, int]]) -> None:
    assert outcome(LOOP) == (10, 2)


def test_a_loop_that_allocates_anew_is_known(outcome: Callable[..., tuple[int, int]]) -> None:
    """As on a GPU, an allocation of the size of one that was freed comes to lie there."""
    assert outcome(ALLOCATED) == (10, 2)


def test_a_loop_that_comes_back_to_a_state_of_memory_is_known(outcome: Callable[..., tuple[int, int]]) -> None:
    """Its launches change in turn what all of them read. Memory that nobody writes to is no work."""
    launches, executed = outcome(IN_PLACE)
    assert launches == 30
    assert executed <= 15


def test_what_the_program_sees_without_a_call_is_there(outcome: Callable[..., tuple[int, int]]) -> None:
    """Managed variables, and constants that a kernel writes."""
    launches, executed = outcome(MANAGED)
    assert executed < launches == 10
    launches, executed = outcome(WRITTEN_CONSTANT)
    assert executed < launches == 40


def test_input_that_is_copied_again_is_known_to_be_there(
    outcome: Callable[..., tuple[int, int]], monkeypatch: Patch
) -> None:
    """Nothing is written, nor looked at, where the same bytes are there already. They change once in the middle. What
    is followed is executed once for each of both: it reads nothing that it writes."""
    changes = []
    change = Process.change
    monkeypatch.setattr(Process, "change", lambda p, slot: changes.append(slot) or change(p, slot))
    assert outcome(COPIED) == (10, 3)
    assert len(changes) == 2  # once in each of both runs


def test_launches_of_a_program_with_many_allocations_are_not_followed(outcome: Callable[..., tuple[int, int]]) -> None:
    assert outcome(MANY) == (10, 10)


def test_memory_too_large_to_be_kept_is_not_copied(outcome: Callable[..., tuple[int, int]], monkeypatch: Patch) -> None:
    copied = []
    look = Contents.number_of
    monkeypatch.setattr(
        Contents, "number_of", lambda c, slot: copied.append(c.memory[slot].data.nbytes) or look(c, slot)
    )
    monkeypatch.setattr(repeated_launches, "AT_LEAST", 1)
    monkeypatch.setattr(repeated_launches, "KEPT", 10_000)
    assert outcome(LOOP) == (10, 10)
    assert 0 < max(copied) <= 10_000
    monkeypatch.setattr(repeated_launches, "KEPT", 30_000)
    assert outcome(LOOP) == (10, 2)


@pytest.mark.parametrize("seed", range(5))
def test_a_random_program(outcome: Callable[..., tuple[int, int]], seed: int) -> None:
    launches, executed = outcome(RANDOM, seed)
    assert launches == 240
    assert executed < launches


@pytest.mark.parametrize("what", [RESET, VARIABLES, HEAP_READ, CONSTANTS])
def test_it_is_executed_again_where_something_is_different(outcome: Callable[..., tuple[int, int]], what: int) -> None:
    """Arrays, variables, malloc's heap and constants change in the middle."""
    launches, executed = outcome(what)
    assert launches >= 10
    assert 3 <= executed < launches


@pytest.mark.parametrize("what", [THREADS, PRINTED, CLOCKS, BEYOND, HEAP, PINNED, COUNTED])
def test_what_may_be_different_is_executed(outcome: Callable[..., tuple[int, int]], what: int) -> None:
    launches, executed = outcome(what)
    assert launches == executed == 10 + (what == HEAP)
