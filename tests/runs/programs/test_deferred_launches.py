"""Launches whose results nobody looks at are counted and not executed, and nothing else changes by that."""

import sys
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from banksim.__main__ import main
from banksim.runs.programs import deferred_launches, executable, repeated_launches
from banksim.runs.run import execute_launch
from helpers.executed_launches import counted_run
from helpers.fixtures import Patch, Said
from helpers.places import written_to

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs run on Linux")
CASES = (
    "nothing", "copy", "freed", "freed_and_read", "reset", "fill", "overwritten", "symbol", "data", "bounds", "pinned",
    "variable", "aside", "misaligned", "together", "twice", "unmapped", "async", "partly", "odd", "managed", "again",
    "between", "often", "in_turn", "freed_and_used", "addresses", "local", "local_of_a_block", "constant",
    "refused", "many_modules", "library", "strayed",
)  # fmt: skip
SMALL = "small"
"""An argument: each launch by itself is next to no work."""
SOURCE = """\
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cublas_v2.h>
#include <cuda.h>
#define N 5000
typedef unsigned u;
__constant__ u factor[2];
__device__ u total[N];
#define AT u i = blockIdx.x * 64 + threadIdx.x
__global__ void add(u *y, const u *x, u a) {
    __shared__ u s[64];
    AT;
    s[threadIdx.x * 2 & 63] = i;
    __syncthreads();
    if (i < N) y[i] += x[i] * a + s[threadIdx.x] + factor[0];
}
__global__ void set(u *y, const u *x) { AT; if (i < N) y[i] = x[i] * 3; }
__global__ void all(u *y, const u *x) { AT; y[i] = x[i] + 1; }
__global__ void gather(u *y, const u *x) { AT; if (i < N) y[x[i] % N] = i; }
__global__ void sum(const u *x) { AT; if (i < N) total[i] += x[i]; }
__global__ void wide(u *y, u slip) {
    AT;
    if (i < N / 2 - 1) *(uint2 *)(y + slip * (i == 2000) + 2 * i) = make_uint2(i, 1);
}
__global__ void odd(u *y, u step) { *(uint2 *)(y + blockIdx.x * step + 2 * threadIdx.x) = make_uint2(1, 2); }
__managed__ u seen[N];
__global__ void manage(u a) { AT; if (i < N) seen[i] += a; }
__global__ void either(u *y, u *x) { AT; if (i < N) (i & 1 ? x : y)[i] = i; }
__global__ void stack(u *y, const u *x, u last, u block) {
    u a[40];
    AT;
    for (u n = 0; n < 40; n++) a[n] = n;
    if (i >= N) return;
    a[(x[i] & last) + (blockIdx.x > block) * 1000] = 7;
    y[i] = a[i % 40];
}
__global__ void look(u *y, const u *x, u last) { AT; if (i < N) y[i] = factor[x[i] & last]; }
__global__ void refused(u *y) { AT; asm("mov.u32 %0, %%smid;" : "=r"(y[i % N])); }
static u h[N], state;
static const char module_with_constants[] =
    ".version 8.0\\n.target sm_75\\n.address_size 64\\n.const .align 4 .b8 c[20000];\\n"
    ".visible .entry copy(.param .u64 to) {.reg .u64 %r<4>; .reg .u32 %v, %t, %b; ld.param.u64 %r0, [to];"
    "mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mad.lo.u32 %t, %b, 50, %t; mul.wide.u32 %r1, %t, 4; mov.u64 %r2, c;"
    "add.u64 %r2, %r2, %r1; add.u64 %r0, %r0, %r1; ld.const.u32 %v, [%r2]; st.global.u32 [%r0], %v; ret;}";
static u next(u n) { return (state = state * 1664525u + 1013904223u) >> 8 & 0xffffff ? (state >> 8) % n : 0; }
static void show(const char *name, const u *d) {
    u hash = 0;
    cudaError_t failed = cudaMemcpy(h, d, sizeof h, cudaMemcpyDefault);
    for (u i = 0; i < N; i++) hash = hash * 31 + h[i];
    printf("%s %u %s\\n", name, hash, cudaGetErrorString(failed));
}
#define ADD(Y, X, A) add<<<80, 64>>>(Y, X, A)
static void random_program(u seed) {
    state = seed * 7919 + 1;
    u *d[4];
    for (u n = 0; n < 4; n++) { cudaMalloc(&d[n], sizeof h); cudaMemset(d[n], n, sizeof h); }
    for (u step = 0; step < 120; step++) {
        u a = next(4), b = next(4), c = next(4);
        switch (next(16)) {
        case 0: show("", d[a]); break;
        case 1: cudaFree(d[a]); cudaMalloc(&d[a], sizeof h); cudaMemset(d[a], step, sizeof h); break;
        case 2: cudaMemcpy(d[a] + next(N - 9), h, 36, cudaMemcpyHostToDevice); break;
        case 3: cudaMemcpyToSymbol(factor, &step, 4); break;
        case 4: gather<<<80, 64>>>(d[a], d[b]); break;
        case 5: cudaFree(d[a]); cudaFree(d[a]); cudaMalloc(&d[a], sizeof h); break;
        case 6: cudaMemcpy(d[a], d[c], sizeof h, cudaMemcpyDeviceToDevice); break;
        default: ADD(d[a], d[b], c);
        }
    }
    for (u n = 0; n < 4; n++) show("end", d[n]);
}
int main(int argc, char **argv) {
    const char *what = argv[1];
    u *x, *y, *z, one = 1;
    if (!strcmp(what, "random")) return random_program(atoi(argv[2])), 0;
    cudaMalloc(&x, sizeof h); cudaMalloc(&y, sizeof h); cudaMalloc(&z, sizeof h);
    if (!strcmp(what, "pinned")) cudaMallocHost(&y, sizeof h);
    for (u i = 0; i < N; i++) h[i] = i;
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    for (u n = 1; n < 7; n++) ADD(y, x, n);
    if (!strcmp(what, "copy")) show("y", y);
    if (!strcmp(what, "freed")) { cudaFree(x); cudaFree(y); show("z", z); cudaMalloc(&x, 64); }
    if (!strcmp(what, "freed_and_read")) { cudaFree(x); printf("%d\\n", cudaFree(x)); show("y", y); }
    if (!strcmp(what, "reset")) {
        cudaFree(x); cudaDeviceReset();
        cudaMalloc(&x, sizeof h); gather<<<1, 64>>>(x, x); show("x", x);
    }
    if (!strcmp(what, "fill")) { cudaMemset(y + 9, 1, 400); show("y", y); }
    if (!strcmp(what, "overwritten")) { cudaMemcpy(x, h + 1, 400, cudaMemcpyHostToDevice); show("y", y); }
    if (!strcmp(what, "symbol")) { cudaMemcpyToSymbol(factor, &one, 4); ADD(y, x, 1); show("y", y); }
    if (!strcmp(what, "data")) { gather<<<80, 64>>>(z, y); show("z", z); }
    if (!strcmp(what, "strayed")) { all<<<80, 64>>>(y, x); all<<<78, 64>>>(y, x); all<<<78, 64>>>(z, x); }
    if (!strcmp(what, "bounds")) { all<<<1 << 20, 64>>>(y, x); printf("%d\\n", cudaDeviceSynchronize()); }
    if (!strcmp(what, "pinned")) { cudaDeviceSynchronize(); printf("%u\\n", y[77]); }
    if (!strcmp(what, "variable")) {
        sum<<<80, 64>>>(y); cudaMemcpyFromSymbol(h, total, sizeof h); printf("%u\\n", h[9]);
    }
    if (!strcmp(what, "aside")) show("z", z);
    if (!strcmp(what, "misaligned")) { wide<<<80, 64>>>(y, 0); wide<<<80, 64>>>(y, 1); show("y", y); }
    if (!strcmp(what, "odd")) { odd<<<70, 64>>>(y, 62); show("y", y); odd<<<70, 64>>>(y, 61); show("y", y); }
    if (!strcmp(what, "managed")) { manage<<<80, 64>>>(5); cudaDeviceSynchronize(); printf("%u\\n", seen[77]); }
    for (u n = 0; n < 5 && !strcmp(what, "again"); n++) { set<<<80, 64>>>(z, y); ADD(y, y, 0 * n); }
    for (u n = 0; n < 5 && !strcmp(what, "again"); n++) set<<<80, 64>>>(z, x);
    for (u n = 0; n < 5 && !strcmp(what, "between"); n++) { set<<<80, 64>>>(z, x); ADD(y, z, 1); ADD(z, x, 1); }
    for (u n = 0; n < 2500 && !strcmp(what, "often"); n++) set<<<80, 64>>>(z, x);
    for (u n = 0; n < 5 && !strcmp(what, "in_turn"); n++) {
        set<<<80, 64>>>(z, x);
        set<<<9, 64>>>(z + n % 2, y);
        if (n == 1) ADD(y, z, 1);
    }
    if (!strcmp(what, "again") || !strcmp(what, "between") || !strcmp(what, "in_turn")) { show("y", y); show("z", z); }
    if (!strcmp(what, "together")) { either<<<80, 64>>>(x, y); show("x", x); show("y", y); }
    if (!strcmp(what, "twice")) { show("y", y); ADD(z, y, 2); show("y", y); show("z", z); }
    if (!strcmp(what, "async")) {
        cudaFreeAsync(x, 0);
        cudaMemcpyAsync(z, y, 9999, cudaMemcpyDefault, 0);
        show("z", z);
    }
    if (!strcmp(what, "freed_and_used")) { cudaFree(x); ADD(z, x, 1); show("z", z); }
    for (u n = 0; n < 300 && !strcmp(what, "addresses"); n++) {
        u *kept;
        cudaMalloc(&kept, sizeof h); cudaMalloc(&x, sizeof h);
        set<<<80, 64>>>(n % 3 ? kept : x, y);
        cudaFree(x); cudaFree(kept);
        printf("%p %p\\n", kept, x);
    }
    if (!strncmp(what, "local", 5) || !strcmp(what, "constant")) {
        bool of_block = what[5] == '_';
        for (u n = 0; n < 2; n++) {
            u last = n && !of_block ? 255 : 1;
            if (*what == 'l') stack<<<80, 64>>>(z, x, last, n && of_block ? 70 : 80);
            else look<<<80, 64>>>(z, x, last);
            printf("%d\\n", cudaDeviceSynchronize());
        }
    }
    if (!strcmp(what, "library")) {
        cublasHandle_t library;
        float two = 2;
        cublasCreate(&library);
        for (u n = 0; n < 2; n++) {
            ADD(z, x, 1);
            if (n) cudaFree(x);
            printf("%d\\n", cublasSaxpy(library, N, &two, (float *)x, 1, (float *)z, 1));
            show("z", z);
        }
    }
    if (!strcmp(what, "many_modules")) {
        CUmodule module;
        CUfunction copy;
        CUdeviceptr constants;
        for (u n = 0; n < 70; n++) cuModuleLoadData(&module, module_with_constants);
        cuModuleGetFunction(&copy, module, "copy");
        cuModuleGetGlobal(&constants, NULL, module, "c");
        set<<<80, 64>>>((u *)constants, x);
        void *arguments[] = {&z};
        printf("%d\\n", cuLaunchKernel(copy, 100, 1, 1, 50, 1, 1, 0, 0, arguments, NULL));
        show("z", z);
    }
    if (!strcmp(what, "refused")) { refused<<<80, 64>>>(z); printf("%d\\n", cudaDeviceSynchronize()); }
    if (!strcmp(what, "partly")) { ADD(z, y, 5); cudaFree(y); ADD(z, x, 1); cudaFree(x); show("z", z); }
    if (!strcmp(what, "unmapped")) {
        CUmemAllocationProp p = {CU_MEM_ALLOCATION_TYPE_PINNED};
        p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        CUmemGenericAllocationHandle handle, other;
        CUmemAccessDesc access = {p.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        CUdeviceptr to, size = 2 << 20;
        cuMemCreate(&handle, size, &p, 0);
        cuMemCreate(&other, size, &p, 0);
        cuMemAddressReserve(&to, size, 0, 0, 0);
        cuMemMap(to, size, 0, handle, 0);
        cuMemSetAccess(to, size, &access, 1);
        ADD((u *)to, x, 3);
        cuMemUnmap(to, size);
        cuMemMap(to, size, 0, other, 0);
        show("mapped", (u *)to);
    }
    return 0;
}
"""


@pytest.fixture(scope="module", name="program")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("unseen")
    return executable.command([str(written_to(folder / "program.cu", SOURCE))], "sm_90", "-std=c++14 -lcublas")[0]


@pytest.fixture(name="outcome")
def run_both_ways(program: str, tmp_path: Path, monkeypatch: Patch, capfd: Said) -> Callable[..., tuple[int, int]]:
    """Runs the program with launches that wait and without, compares all that is seen, and tells how many launches
    there were and how many of them were executed."""

    run_once = counted_run(tmp_path, monkeypatch, capfd)

    def run(*arguments: object) -> tuple[int, int]:
        found = []
        for least in (1, 1 << 40):
            monkeypatch.setattr(deferred_launches, "LEAST_BLOCKS", least)
            monkeypatch.setattr(deferred_launches, "is_small", lambda launch: SMALL in arguments)
            monkeypatch.setattr(deferred_launches, "SLOW", 0.0)
            monkeypatch.setattr(repeated_launches, "LEAST", inf)
            found.append(run_once(program, arguments))
        (some, waiting), (launches, at_once) = found
        assert waiting == at_once
        return launches, some

    return run


@pytest.mark.parametrize("what", CASES)
def test_what_a_program_sees(outcome: Callable[..., tuple[int, int]], what: str) -> None:
    """Memory is looked at, changed and freed in every way; some launches cannot wait."""
    launches, executed = outcome(what)
    never = {
        "nothing": 6, "freed": 6, "reset": 6, "partly": 0, "again": 4, "often": 2506, "in_turn": 4, "addresses": 300,
        "refused": 7, "strayed": 2,
    }  # fmt: skip
    assert launches - executed == never.get(what, 0)


@pytest.mark.parametrize("seed", range(6))
def test_a_random_program(outcome: Callable[..., tuple[int, int]], seed: int) -> None:
    launches, executed = outcome("random", seed)
    assert executed < launches


def test_small_launches_wait_once_they_took_too_long_together(outcome: Callable[..., tuple[int, int]]) -> None:
    assert outcome("nothing", SMALL) == (6, 1)


def test_nobody_sees_what_an_interrupted_launch_left(program: str, monkeypatch: Patch, capfd: Said) -> None:
    monkeypatch.setattr(deferred_launches, "is_small", lambda launch: False)
    monkeypatch.setattr(
        repeated_launches, "execute_launch", lambda *launch: replace(execute_launch(*launch), partial=True)
    )
    main(["run", program, "copy"])
    assert capfd.readouterr().out == "y 1826922948 unknown error\n"  # what the host had
