"""What takes long: long kernels, and small launches that last."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.errors import Fault
from banksim.kernels.kernel import BYTES
from banksim.kernels.load import load
from banksim.machine.basic_blocks import basic_blocks
from banksim.machine.llvm import compile, host_threads, sections, workers
from banksim.machine.llvm.sections import LONGEST_SECTION
from banksim.machine.llvm.translate import LONGEST, translate
from banksim.system import progress
from helpers.fixtures import Patch, Said
from helpers.known_sources import kept, list_ahead

pytestmark = pytest.mark.usefixtures("listed")

STATEMENTS = 300
LONG = "\n".join(
    [
        "__global__ void k(int* out, const int* in) {",
        "    volatile __shared__ int s[64]; int t = threadIdx.x, a = in[t];",
        *(
            f"    s[(t * {n % 5 + 1}) & 63] = a + {n}; a = a * {2 * n + 3} + s[(t * {n % 5 + 1}) & 63];"
            for n in range(STATEMENTS)
        ),
        "    out[t] = a;",
        "}",
    ]
)


LOOP = """__global__ void k(int* out, int n) {
    int x = 0;
    for (int i = 0; i < n; i++) x = x * 3 ^ out[i & 31];
    out[threadIdx.x] = x;
}
"""
LATE = """__global__ void k(int* out, int n) {
    int x = 0;
    if (blockIdx.x < 2) for (int i = 0; i < n; i++) x = x * 3 ^ out[i & 31];
    out[threadIdx.x - 4096] = x;
}
"""
PARTING = """
if (t & 1 << {n} % 5) {{ x += s[t * {n} & 63]; __syncwarp(__activemask()); s[x & 63] = x; }}
if (x >> {n} % 5 & 1) x += __shfl_xor_sync(__activemask(), x, {n} % 31 + 1); else x ^= o[x & 31];
x = f(x, {n} + o[x & 31]);
"""
"""Statements at which threads diverge. With many of them, a collective region may end, and a call return, at any."""
AROUND = """__shared__ volatile int s[64];
__noinline__ __device__ int f(int x, int n) { return x * n ^ s[x + n & 63]; }
__global__ void k(int* o) { int t = threadIdx.x, x = t; s[t] = t; __syncthreads(); %s o[t] = x; }
"""
LASTING = """__global__ void k(unsigned* out, unsigned n) {
    unsigned x = blockIdx.x;
    for (unsigned i = 0; i < n; i++) x = x * 3 ^ out[i & 31];
    out[32 + blockIdx.x * 32 + threadIdx.x] = x;
}
__global__ void ordered(unsigned* out, unsigned n) {
    for (unsigned i = 0; i < n; i++) atomicExch(out + (threadIdx.x & 31), blockIdx.x * n + i);
}
__global__ void chain(volatile unsigned* out, unsigned n) {
    unsigned x = threadIdx.x;
    while (blockIdx.x && !out[31 + blockIdx.x]) {}
    for (unsigned i = 0; i < n; i++) x = x * 3 ^ x >> 5;
    out[64 + blockIdx.x] = x;
    out[32 + blockIdx.x] = 1;
}
__global__ void fenced(unsigned* out, unsigned n) {
    unsigned x = threadIdx.x;
    do __threadfence(); while (blockIdx.x && out[31 + blockIdx.x] != 1);
    for (unsigned i = 0; i < n; i++) x = x * 3 ^ x >> 5;
    out[64 + blockIdx.x] = x;
    __threadfence();
    out[32 + blockIdx.x] = 1;
}
"""


def matching(count: int) -> str:
    """A kernel with so many `__match_any_sync`, which compare every lane with every other: that takes long code."""
    calls = "".join(f"o[{n} + t] = __match_any_sync(~0u, o[{n} + t]);" for n in range(0, 32 * count, 32))
    return f"__global__ void k(volatile int* o) {{ int t = threadIdx.x; {calls} }}"


def parting(count: int) -> str:
    return AROUND % "".join(PARTING.format(n=n) for n in range(count))


@pytest.fixture(scope="module")
def listed(by_nvrtc: None) -> None:
    """With one start of nvdisasm."""
    list_ahead([LONG, LOOP, LATE, LASTING, *map(matching, (1, 33)), *map(parting, (4, 16, 64))])


def test_no_basic_block_is_long_and_a_cut_one_gives_the_same() -> None:
    kernel = banksim.load(kept(LONG))["k"]
    out, given = np.zeros(1, np.int32), np.array([7], np.int32)
    done = banksim.run(kernel, 1, 1, [out, given])
    expected = 7
    for n in range(STATEMENTS):
        expected = (expected * (2 * n + 3) + expected + n) & 0xFFFFFFFF
    assert int(out.view(np.uint32)[0]) == expected
    reference = banksim.run(kernel, 1, 1, [out.copy(), given], engine="numpy")
    assert done.instructions == reference.instructions
    assert sum(site.requests for site in done.conflicts.sites) == 2 * STATEMENTS
    cut = basic_blocks(kernel, LONGEST)
    assert max((block.end - block.start) // BYTES for block in cut.values()) == LONGEST < len(kernel.instructions)


def test_the_translation_of_a_long_kernel_is_shown(monkeypatch: Patch, capsys: Said) -> None:
    kernel = banksim.load(kept(LONG))["k"]
    monkeypatch.setattr(progress, "AFTER", 0.0)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    compile.build(kernel, traced=False, stepwise=False, watched=False, clustered=False)
    assert not capsys.readouterr().err, "only on a terminal"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    compile.build(kernel, traced=False, stepwise=False, watched=False, clustered=False)
    lines = [line.removesuffix("\x1b[K") for line in capsys.readouterr().err.split("\r")]
    of = f"{len(kernel.instructions):,} instructions"
    told = [line for line in lines if re.fullmatch(rf"translating k: [\d,]+ of {of}", line)]
    assert len(told) == len(basic_blocks(kernel, LONGEST)) > 1
    assert lines[-2:] == [f"compiling k: {of}", ""]


def test_the_progress_of_a_launch_counts_the_instructions_of_its_loops_too(monkeypatch: Patch) -> None:
    calls: list[Callable[[], None]] = []
    told: list[tuple[int, ...]] = []
    in_threads = workers.in_threads

    def remembered(works: Any, stop: Any, tell: Callable[[], None], later: Any) -> Any:
        calls.append(tell)
        return in_threads(works, stop, tell, later)

    monkeypatch.setattr(workers, "in_threads", remembered)
    kernel = banksim.load(kept(LOOP))["k"]
    found = banksim.run(kernel, 2, 32, [np.zeros(32, np.int32), 1000], progress=lambda *done: told.append(done))
    calls[-1]()
    assert told[-1] == (2, found.thread_instructions)


@pytest.mark.parametrize("cluster", [1, 2])
def test_the_fault_that_is_told_is_the_first_in_order_however_many_blocks_run_at_once(
    cluster: int,
) -> None:
    kernel = banksim.load(kept(LATE))["k"]
    with pytest.raises(Fault, match=r"block \(0, 0, 0\), warp 0, lane 0"):
        banksim.run(kernel, 8, 32, [np.zeros(32, np.int32), 300_000], cluster=cluster, workers=4)


def test_what_takes_long_code_has_it_once() -> None:
    sizes = {}
    for count in (1, 33):
        kernel = banksim.load(kept(matching(count)))["k"]
        sizes[len(kernel.instructions)] = len(str(translate(kernel).module))
    (short, small), (long, large) = sizes.items()
    assert (large - small) / (long - short) < 4000


def test_the_translation_of_a_kernel_is_as_long_as_the_kernel() -> None:
    sizes = {}
    for count in (16, 64):
        kernel = banksim.load(kept(parting(count)))["k"]
        module = translate(kernel).module
        sizes[len(kernel.instructions)] = len(str(module))
        functions = module.functions.values()
        longest = max(sum(len(block.lines) for block in function.blocks) for function in functions)
        assert longest < 40 * LONGEST_SECTION, "the functions that LLVM sees do not grow with the kernel"
        blocks = basic_blocks(kernel, LONGEST)
        assert sum(len(block.successors) for block in blocks.values()) < 3 * len(blocks)
    (short, small), (long, large) = sizes.items()
    assert long > 2.5 * short
    assert large / small < 1.1 * long / short


@pytest.mark.parametrize("mode", [{}, {"timing": True}, {"check": "races"}])
def test_a_kernel_cut_into_sections_does_the_same(
    tmp_path: Path, monkeypatch: Patch, mode: dict[str, bool | str]
) -> None:
    kernel = banksim.load(kept(parting(4)))["k"]
    done = []
    for longest in (LONGEST_SECTION, 4):
        monkeypatch.setattr(sections, "LONGEST_SECTION", longest)
        monkeypatch.setenv("BANKSIM_CACHE", str(tmp_path / f"cache{longest}"))
        compile.compile_kernel.cache_clear()
        out = np.arange(32, dtype=np.int32)
        run = banksim.run(kernel, 2, 32, [out], **mode)
        done.append((out.tolist(), run.instructions, run.conflicts.sites, run.cycles))
    compile.compile_kernel.cache_clear()
    assert len(basic_blocks(kernel, LONGEST)) > 20
    assert done[0] == done[1]


def test_another_worker_joins_where_a_small_launch_lasts(monkeypatch: Patch) -> None:
    """But not where the order of blocks may be seen."""
    kernels, made = load(kept(LASTING)), []

    class Counted(workers.Worker):
        def __init__(self, *words: Any) -> None:
            super().__init__(*words)
            made.append(self)

    monkeypatch.setattr(workers, "Worker", Counted)
    monkeypatch.setattr(workers, "cores", lambda: 2)
    monkeypatch.setattr(host_threads, "JOINED", 0.001)
    for name, most in (("k", 2), ("ordered", 1), ("chain", 1), ("fenced", 1)):
        outs, instructions = [], []
        for count in (1, None):
            outs.append(np.arange(32 + 12 * 32, dtype=np.uint32))
            if name in ("chain", "fenced"):
                outs[-1][32:] = 0
            made.clear()
            found = banksim.run(kernels[name], 12, 32, [outs[-1], np.uint32(300_000)], workers=count)
            instructions.append((found.counts.tolist(), found.blocks))
        assert len(made) == most
        assert (outs[0] == outs[1]).all()
        assert instructions[0] == instructions[1]
