"""Counting by classes of blocks gives, number by number, what executing every block gives."""

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import banksim
from banksim.classes.needed import footprints, may_part
from banksim.errors import AbsentError, Fault, InputError
from banksim.machine.basic_blocks import basic_blocks
from banksim.report.text.kernel import report
from helpers.both_ways import arguments, both, each_alone, source
from helpers.places import KERNELS, written_to
from helpers.random_kernels import source as random_source

pytestmark = pytest.mark.usefixtures("by_classes")

BODIES = {
    "plain": "s[tid] = 1;",
    "guard": "if (bx * 64 + tid < n) s[tid * 2] = 1;",
    "early_exit": "if (bx * 64 + tid >= n) return; s[tid * 3 & 511] = 1;",
    "rows_and_columns": "if (by * 8 + tid / 8 < n / 50 && bx * 8 + tid % 8 < n / 40) s[tid * 4] = 1;",
    "stride_by_block": "s[tid * (bx % 4 + 1)] = 1;",
    "stride_by_every_block": "s[tid * bx & 511] = 1;",
    "swizzle": "s[tid ^ (bx & 7)] = 1; s[(tid * 8) ^ (by & 3)] = 2;",
    "swizzle_by_rows": "unsigned row = tid & 15; s[row * 4 + ((tid / 16 ^ bx + row) & 3)] = 1;",
    "shift_by_period": "s[tid + 32 * (bx % 8)] = 1;",
    "shift_by_less": "s[(tid + bx) & 511] = 1; s[tid * 2 + by % 3] = 1;",
    "shift_by_lanes": "s[tid * 4 + (tid & 1) * 32 * (bx % 3)] = 1;",
    "wrap_unsigned": "unsigned i = bx * 0x10000001u + tid; if (i < 0x40000000u) s[tid * 2] = 1;",
    "wrap_signed": "int i = (int)(bx * 1000003u * 2311u); if (i > (int)tid) s[tid * 8] = 1;",
    "wrap_at_end": "unsigned i = 0xffffffffu - bx + tid; if (i < 64) s[tid * 4] = 1; else s[tid] = 1;",
    "loop_over_block": "for (unsigned k = 0; k < bx; ++k) s[(tid * (k + 1)) & 511] = k;",
    "loop_to_n": "for (unsigned k = bx; k < n; k += gridDim.x * 32) s[(tid * 2 + k % 3) & 511] = k;",
    "loop_by_thread": "for (unsigned k = tid % 5; k < by + tid % 3; ++k) s[tid * 2] = k;",
    "shifts": "s[tid << (bx & 3) & 511] = 1; s[(tid * 64 >> (by & 7)) & 511] = 1; s[bx >> 3] = 1;",
    "division": "s[tid * (bx / 3 % 4)] = 1; s[(tid * (bx % 3) + by / 5) & 511] = 1;",
    "division_by_n": "unsigned d = n % 11 + 2; s[(tid * (bx / d) + bx % d) & 511] = 1;",
    "signed_division": "int i = (int)bx - 5; s[(tid * (i / 3 + 8) + i % 3) & 511] = 1;",
    "causal": "if (by <= bx) s[tid * 2] = 1; if (by * 8 + tid / 8 < bx * 8) s[tid] = 1;",
    "minimum": "s[min(tid + bx * 16, 500u)] = 1; s[max((int)tid - (int)by * 8, 0)] = 1;",
    "select": "unsigned j = bx & 1 ? tid * 2 : tid; s[j] = 1; if (bx == 7) s[tid * 8] = 1;",
    "congruence": "if (bx * 5 % 16 == 3) s[tid * 8] = 1; if ((bx + by) % 3 == 1) s[tid * 4] = 1;",
    "bits": "s[(tid * __popc(bx)) & 511] = 1; s[(tid * __clz(by)) & 511] = 1; s[__brev(bx) >> 25] = 1;",
    "shuffle": "unsigned v = __shfl_sync(~0u, bx * tid, 3); s[(v + tid) & 511] = 1;",
    "ballot": "unsigned v = __ballot_sync(~0u, tid % 32 < bx); s[__popc(v) * (tid & 7)] = 1;",
    "voted": "if (__syncthreads_count(tid < bx * 3) > 20) s[tid * 4] = 1;",
    "local_array": """unsigned a[8]; for (int k = 0; k < 8; ++k) a[k] = bx * k; a[(tid + bx) & 7] = 5;
        s[(a[tid & 7] + a[by & 7] + tid * 2) & 511] = 1;""",
    "local_bytes": """unsigned char a[16]; for (int k = 0; k < 16; ++k) a[k] = bx + k * tid;
        a[by & 15] = 3; s[a[tid & 15] & 511] = 1; s[a[bx & 15]] = 1;""",
    "floats": "s[(tid * (unsigned)(bx * 0.3f)) & 511] = 1; if (sqrtf(bx) > 3.5f) s[tid * 2] = 1;",
    "factor_that_stays": "unsigned v = tid > n ? by : 3; if (v * bx < 1000) s[tid * 2] = 1;",
    "moving_factors": """unsigned v = tid & 1 ? bx : 3, w = tid & 2 ? by : 5; s[v * w & 511] = 1;
        if (v * w > 40) s[tid] = 1;""",
    "long": "long long i = (long long)bx * 40000000000LL + tid; if (i < 400000000000LL + n) s[tid * 2] = 1;",
    "long_wrap": "unsigned long long i = bx * 0x1000000000000001ull; if (i > tid * 77ull) s[tid * 2] = 1;",
    "high_product": "s[(tid * __umulhi(bx, 0x30000000u)) & 511] = 1; s[__mulhi((int)bx - 9, 1 << 30) & 63] = 1;",
    "squares": "if (bx * bx < n % 300) s[tid * 2] = 1; s[(tid * bx * by) & 511] = 1;",
    "atomics": "atomicAdd(&s[(tid * bx) & 15], 1u); atomicMax(&s[tid & bx & 3], tid);",
    "wide": "((double*)s)[(tid * (by & 3)) & 255] = 1; ((float4*)s)[tid] = make_float4(1, 2, 3, bx);",
    "nested": """if (bx * 64 + tid < n) { if (tid & by) s[tid] = 1; else { s[tid * 2] = 1; if (bx > 3) return; } }
        __syncwarp(__activemask()); s[tid * 4] = 1;""",
    "byte_of_block": "unsigned b = __byte_perm(bx * 77, by, 0x4140); s[b & 511] = 1; s[(bx * 77 & 0x3c) + tid] = 1;",
    "switch": "switch (bx % 5) { case 0: s[tid] = 1; break; case 1: s[tid * 2] = 1; break; case 3: s[tid * 8] = 1; }",
    "order_of_blocks": "unsigned t = (bx + by) % gridDim.x; s[(t * 32 + tid) & 511] = 1; s[tid * (t & 1)] = 1;",
    "carry": "unsigned long long a = 0xfffffff0ull + bx; if ((unsigned)(a >> 32)) s[tid * 2] = 1; s[a & 255] = 1;",
    "call": "if (tid < thrice(bx, n)) s[thrice(tid, bx) & 511] = 1; s[thrice(tid, 100) & 511] = 1;",
    "recursion": "s[folded(tid, bx & 3) & 511] = 1; if (folded(bx, 2) & 1) s[tid] = 1;",
    "short_division": "unsigned short d = blockDim.x; s[tid / (unsigned short)(d / 2) * bx & 511] = 1;",
    "far_wrap": "if ((bx * 32 + tid) % 4096 != 7) s[tid * 2] = 1;",
    "any_sign": """int x = (int)bx * 8 + tid % 8 - 3, y = (int)by * 8 + tid / 8 - 2; if ((x | y) < 0) s[tid * 2] = 1;
        if ((x | y | (int)(n - x) | (int)(n / 9 - y)) >= 0) s[tid * 4] = 1;""",
    "signs_of_logic": """int x = (int)bx * 7 - tid, y = (int)by * 5 - 20, v = x ^ y, w = x & ~y; if (v < 0) s[tid] = 1;
        if (v > 0) s[tid * 2] = 1; if ((w ^ -(int)bx) > -1) s[tid * 8] = 1; s[(v + w) & 511] = 1;
        if (w < 0) s[tid * 4] = 1;""",
    "signed_quotients": """int i = (int)bx * 8 + tid - 9, w = n % 31 + 3, h = n % 7 + 2;
        s[(i / w * 32 + i % w) & 511] = 1; s[(i / w % h * tid) & 511] = 1; s[(i / w / h * tid) & 511] = 1;""",
    "guards_of_what_nobody_needs": """unsigned a[8]; for (int k = 0; k < 8; ++k) a[k] = k * n; a[2] = bx; a[5] = by;
        out[tid + 64] = a[tid & 7];""",
    "sign": "int i = (int)bx - (int)by; s[(tid * (i >> 1 & 3)) & 511] = 1; if (abs(i) < 3) s[tid * 2] = 1;",
}
"""What threads do with `s`, an array of 512 words."""
DATA = {
    "data_in_address": "s[in[bx * 64 + tid] & 511] = 1;",
    "data_in_guard": "if (in[tid]) s[tid] = 1;",
    "data_in_loop": "for (unsigned k = 0; k < in[bx]; ++k) s[tid] = k;",
    "data_through_shared": "s[tid] = in[tid]; __syncthreads(); s[s[tid ^ 1] & 511] = 2;",
    "data_of_atomic": "s[atomicAdd(&s[0], 1u) & 511] = 1;",
    "data_of_call": "if (thrice(in[tid], n) > 7) s[tid] = 1; s[thrice(tid, bx) & 511] = 1;",
    "data_of_group": "if (tid & in[0]) s[__shfl_down_sync(__activemask(), tid, 1) & 511] = 1;",
    "data_in_local": "unsigned a[8]; for (int k = 0; k < 8; ++k) a[k] = in[k]; s[a[tid & 7] & 511] = 1;",
}
GRIDS = [(19, 13), (37,)]


@pytest.fixture(scope="module", name="kernels")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = written_to(tmp_path_factory.mktemp("classes") / "bodies.cu", source(BODIES | DATA))
    module = banksim.load(path)
    return {name: module[f"in_{name}"] for name in BODIES | DATA}


@pytest.mark.parametrize("name", BODIES)
def test_every_number_is_that_of_executing_all_blocks(kernels: dict[str, Any], name: str) -> None:
    grids = [*GRIDS, (1,), (5, 7, 3)] if name in ("rows_and_columns", "swizzle", "division") else GRIDS
    for grid in grids:
        found = both(kernels[name], grid)
        assert found.classes, found.undecided
        assert found.classes <= found.blocks


@pytest.mark.parametrize("name", DATA)
def test_what_depends_on_data_is_executed_and_said(kernels: dict[str, Any], name: str) -> None:
    found = both(kernels[name], (5,))
    assert not found.classes
    assert "depends on" in found.undecided
    assert "each executed: " in report(found, 200).plain
    with pytest.raises(AbsentError, match="absent"):
        banksim.run(kernels[name], 5, 64, [banksim.absent(64, np.uint32)] * 2 + [np.uint32(1)], values=False)


def test_classes_are_few_where_blocks_are_alike(kernels: dict[str, Any]) -> None:
    """A grid of millions of blocks takes no longer: its blocks are not executed one by one."""
    classes = {"plain": 1, "guard": 3, "early_exit": 3, "rows_and_columns": 3, "swizzle": 40, "swizzle_by_rows": 4,
               "shift_by_period": 8, "stride_by_block": 4, "wrap_at_end": 64, "any_sign": 12, "factor_that_stays": 8,
               "division": 60, "minimum": 54, "switch": 5, "far_wrap": 128}  # fmt: skip
    nothing = banksim.absent(1 << 34, np.uint32)
    for name, count in classes.items():
        found = banksim.run(kernels[name], (100_000, 30), 64, [nothing, nothing, np.uint32(12345)], values=False)
        assert found.blocks == 3_000_000
        assert 0 < found.classes <= count, name


UNIFORM = """extern "C" __global__ void together(unsigned* out, const unsigned* in, unsigned n) {
    __shared__ unsigned s[64];
    unsigned v = 0;
    for (unsigned k = 0; k < n; ++k) {
        s[threadIdx.x * 2 & 63] = in[k * 64 + threadIdx.x];
        __syncthreads();
        v += s[threadIdx.x];
        __syncthreads();
    }
    atomicAdd(out + (blockIdx.x & 0x555), v);
}
extern "C" __global__ void parted(unsigned* out, const unsigned* in, unsigned n) {
    __shared__ unsigned s[64];
    unsigned v = 0;
    if (threadIdx.x & 1) for (unsigned k = 0; k < n; ++k) { s[threadIdx.x * 2 & 63] = in[k]; v += s[threadIdx.x]; }
    __syncthreads();
    atomicAdd(out + (blockIdx.x & 0x555), v);
}
extern "C" __global__ void asked(unsigned* out, const unsigned* in, unsigned n) {
    __shared__ unsigned s[64];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    atomicAdd(out + s[(blockIdx.x & 5) * threadIdx.x & 63], n);
}
"""


def test_a_uniform_register_is_needed_only_where_what_it_holds_there_is_read(tmp_path: Path) -> None:
    """The one of the block's index holds a shared address elsewhere. Where branches part the threads of a warp, others
    may read it in between."""
    path = written_to(tmp_path / "uniform.cu", UNIFORM)
    module = banksim.load(path)
    found = {name: both(module[name], (1500,), n=5) for name in ("together", "parted", "asked")}
    assert found["together"].classes == 1
    assert 1 < found["asked"].classes < 10
    parts = {}
    for name in found:
        blocks = basic_blocks(module[name])
        parts[name] = may_part(module[name], blocks, footprints(module[name], blocks))
    assert parts == {"together": False, "parted": True, "asked": False}


def test_several_rules_and_codes_at_once(kernels: dict[str, Any]) -> None:
    for name in ("shift_by_period", "guard", "swizzle"):
        both(kernels[name], (19, 13), arch=["sm_90", "kepler-8", "fermi", "sm_75"])
        both(kernels[name], (7,), block=(16, 3), n=100)


def test_nothing_is_counted_by_classes_where_more_is_asked_for(kernels: dict[str, Any]) -> None:
    traced: list[Any] = []
    for more in ({"trace": traced.append}, {"check": "races"}, {"timing": True}, {"engine": "numpy"}):
        assert not banksim.run(kernels["plain"], 3, 64, arguments(), values=False, **more).classes
    assert traced


def test_places_of_other_blocks_that_data_decide_are_all_executed() -> None:
    kernel = banksim.load(KERNELS / "clusters.cu")["histogram"]
    given = [np.zeros(128, np.uint32), np.arange(500, dtype=np.uint32) % 128, 500]
    runs = [banksim.run(kernel, 4, 32, given, dynamic_shared=128, cluster=4, values=v) for v in (False, True)]
    assert runs[0].judged == runs[1].judged
    assert not runs[0].classes


def test_an_absent_array_has_no_contents(kernels: dict[str, Any]) -> None:
    nothing = banksim.absent((1 << 16, 1 << 16), np.uint32)
    assert nothing.nbytes == 1 << 34
    with pytest.raises(InputError, match="argument 1 is absent"):
        banksim.run(kernels["plain"], 3, 64, [nothing, nothing, np.uint32(1)])
    with pytest.raises(InputError, match=r"of shape \(3, -1\): sizes are 0 or more"):
        banksim.absent((3, -1))
    found = banksim.run(kernels["plain"], 3, 64, [nothing, nothing, np.uint32(1)], values=False)
    assert "3 blocks in 1 class; global memory was not touched, and so not checked" in report(found, 200).plain


# ---- random kernels


@cache
def random_kernels(folder: Path, seed: int) -> list[Any]:
    """A few random kernels, compiled together."""
    path = written_to(folder / f"random{seed}.cu", random_source(seed, 6))
    module = banksim.load(path)
    return [module[f"k{number}"] for number in range(6)]


def check_random(folder: Path, seed: int, pick: Callable[[int], int]) -> None:
    """Each kernel by classes, and with each block alone, on the same launch."""
    for number, kernel in enumerate(random_kernels(folder, seed)):
        grid = [(pick(40) + 1,), (pick(12) + 1, pick(9) + 1), (pick(5) + 1, pick(4) + 1, pick(3) + 1)][number % 3]
        n, block = pick(2000), [64, 33, (16, 3)][pick(3)]
        for way in (lambda patch: None, each_alone):
            with pytest.MonkeyPatch.context() as patch:
                way(patch)
                try:
                    both(kernel, grid, block, n)
                except Fault:  # a barrier that not all reach: both ways say so
                    with pytest.raises(Fault):
                        banksim.run(kernel, grid, block, arguments(n), values=False)


@settings(max_examples=2, deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 10**9), places=st.integers(0, 10**9))
def test_random_kernels(seed: int, places: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    check_random(tmp_path_factory.mktemp("random"), seed, random.Random(places).randrange)
