"""Kernels that wait at mbarriers, for threads and for copies, are counted by classes as executed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.runs.outcome import Run
from helpers.both_ways import each_alone, equal
from helpers.fixtures import Patch
from helpers.places import KERNELS, written_to

pytestmark = pytest.mark.usefixtures("by_classes")

HEAD = """
#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
__device__ void init(void* p, unsigned n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(AT(p)), "r"(n)); }
__device__ unsigned long long arrive(void* p, unsigned n) {
    unsigned long long state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1], %2;" : "=l"(state) : "r"(AT(p)), "r"(n) : "memory");
    return state;
}
__device__ void expect(void* p, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(AT(p)), "r"(bytes) : "memory");
}
__device__ unsigned over(void* p, unsigned parity, bool waits) {
    unsigned done;
    if (waits) asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                            : "=r"(done) : "r"(AT(p)), "r"(parity) : "memory");
    else asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                      : "=r"(done) : "r"(AT(p)), "r"(parity) : "memory");
    return done;
}
__device__ unsigned over(void* p, unsigned long long state) {
    unsigned done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(AT(p)), "l"(state) : "memory");
    return done;
}
__device__ void copy(void* to, const void* from, unsigned bytes, void* p) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(AT(to)), "l"(from), "r"(bytes), "r"(AT(p)) : "memory");
}
"""
BODIES = {
    "arrivals": """if (!tid) init(w, 8 + (bx & 3)); __syncthreads();
        if (tid < 8 + (bx & 3)) arrive(w, 1); while (!over(w, 0, true)); s[tid * (bx & 3) & 255] = 1;""",
    "spins": """if (!tid) init(w, 2); __syncthreads();
        if (tid < 32) { for (unsigned k = 0; k < (bx & 7) * 20; ++k) s[tid * 2] = k; if (!tid) arrive(w, 2); }
        else while (!over(w, 0, false)) s[tid] = 1;""",
    "states": """if (!tid) init(w, 64); __syncthreads(); for (unsigned k = 0; k < bx % 5; ++k) {
        unsigned long long state = arrive(w, 1); while (!over(w, state)); s[(tid * k + by) & 255] = 1; }""",
    "left_to_arrive": """if (!tid) init(w, 64); __syncthreads(); unsigned long long state = arrive(w, 1); unsigned left;
        asm("mbarrier.pending_count.b64 %0, %1;" : "=r"(left) : "l"(state)); s[left * (bx & 3) & 255] = 1;""",
    "parity": """if (!tid) { init(w, 1); if (bx & 1) arrive(w, 1); } __syncthreads();
        if (over(w, 0, false)) s[tid * 4] = 1; else s[tid] = 1; if (over(w, bx >> 1, false)) s[tid * 2] = 1;""",
    "places": """unsigned long long* own = w + by % 4; if (!tid) init(own, 64 * (bx % 3 + 1)); __syncthreads();
        for (unsigned k = 0; k <= bx % 3; ++k) arrive(own, 1); while (!over(own, 0, true)); s[tid * (by & 3)] = 1;""",
    "copied": """unsigned bytes = 16 * (bx % 4 + 1); if (!tid) { init(w, 1); expect(w, bytes);
        copy(s + by % 8 * 4, in, bytes, w); } __syncthreads(); while (!over(w, 0, true));
        s[tid * (bx & 1) * 3] += 1;""",
    "ring": """if (!tid) for (unsigned k = 0; k < 2; ++k) init(w + k, 1), init(w + 2 + k, 32);
        __syncthreads(); unsigned rounds = (bx * 3 + by) % 7;
        for (unsigned k = 0; k < rounds; ++k) { unsigned turn = k & 1, phase = k >> 1 & 1; if (tid < 32) {
            if (k > 1) while (!over(w + 2 + turn, phase ^ 1, true));
            if (!tid) { expect(w + turn, 256); copy(s + 64 * turn, in + k * 64, 256, w + turn); }
        } else { while (!over(w + turn, phase, true)); s[128 + (tid * k & 63)] = s[64 * turn + tid];
            arrive(w + 2 + turn, 1); } }""",
    "of_threads": """if (!tid) init(w, 64); __syncthreads(); unsigned to = AT(s + 4 * ((tid * (bx & 3)) & 63));
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(to), "l"(in + 4 * tid));
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(AT(w)));
        while (!over(w, 0, true)); s[tid] += 1;""",
    "outward": """s[tid * (bx & 1) * 2] = 1; __syncthreads(); if (!tid) { asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 64; cp.async.bulk.commit_group;"
        "cp.async.bulk.wait_group 0;" :: "l"(out + 64), "r"(AT(s + by % 4 * 4)) : "memory"); }""",
    "behind_other_use": """if (!tid) w[0] = bx; __syncthreads(); if (!tid) init(w, 64); __syncthreads(); arrive(w, 1);
        __syncthreads(); unsigned left = *(volatile unsigned*)w - bx; __syncthreads(); s[left * tid & 511] = 1;""",
    "stored_by_hand": """if (!tid) *(volatile unsigned long long*)w = (bx & 1ull) << 63; s[tid] = tid; __syncthreads();
        unsigned v = s[tid ^ 1] + (over(w, 0, false) ? tid * 4 : tid); __syncthreads(); s[v & 511] = 1;""",
}
DATA = {
    "copied_over": """s[tid] = bx; __syncthreads(); if (!tid) { init(w, 1); expect(w, 64); copy(s, in, 64, w); }
        __syncthreads(); while (!over(w, 0, true)); unsigned v = s[tid]; __syncthreads(); s[v & 511] = 1;""",
    "bytes_by_data": """if (!tid) { init(w, 1); expect(w, 16 * (in[0] + 1)); copy(s, in, 16 * (in[0] + 1), w); }
        __syncthreads(); while (!over(w, 0, true)); s[tid] += 1;""",
    "arrivals_by_data": """if (!tid) init(w, 64); __syncthreads(); arrive(w, 1 + (in[tid] > 5)); s[tid] = 1;""",
    "parity_by_data": """if (!tid) init(w, 64); __syncthreads(); arrive(w, 1); over(w, in[tid] > 5, true);
        s[tid] = 1;""",
}
SOURCE = HEAD + "".join(
    f'extern "C" __global__ void {name}(unsigned* out, const unsigned* in, unsigned n) {{\n'
    "    __shared__ __align__(128) unsigned s[512];\n    __shared__ __align__(8) unsigned long long w[4];\n"
    f"    unsigned tid = threadIdx.x, bx = blockIdx.x, by = blockIdx.y;\n    {body}\n"
    "    __syncthreads();\n    out[tid] = s[tid];\n}\n"
    for name, body in (BODIES | DATA).items()
)


@pytest.fixture(scope="module", name="kernels")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return banksim.load(written_to(tmp_path_factory.mktemp("mbarriers") / "bodies.cu", SOURCE))


def run(kernel: Any, values: bool, grid: tuple[int, ...] = (37, 11)) -> Run:
    given = [np.zeros(4096, np.uint32), np.zeros(4096, np.uint32), 3]
    return banksim.run(kernel, grid, 64, given, values=values)


@pytest.mark.parametrize("name", BODIES)
def test_every_number_is_that_of_executing_all_blocks(kernels: Any, name: str, monkeypatch: Patch) -> None:
    full, mine = run(kernels[name], True), run(kernels[name], False)
    assert mine.classes, mine.undecided
    equal(mine, full)
    each_alone(monkeypatch)
    equal(run(kernels[name], False), full)


@pytest.mark.parametrize("name", DATA)
def test_what_data_tell_an_mbarrier_is_executed(kernels: Any, name: str) -> None:
    mine = run(kernels[name], False)
    assert not mine.classes
    assert "depends on what LD" in mine.undecided
    equal(mine, run(kernels[name], True))


def test_copies_of_tensors_tell_as_many_bytes_as_their_maps(monkeypatch: Patch) -> None:
    kernel = banksim.load(KERNELS / "warp_specialised.cu", "sm_90a")["product"]
    a, b = np.zeros((64 * 9, 320), np.float16), np.zeros((32 * 7, 320), np.float16)

    def product(values: bool) -> Run:
        maps = [banksim.tensor_map(one, (rows, 64), swizzle=128) for one, rows in ((a, 64), (b, 32))]
        given = [*maps, np.zeros((64 * 9, 32 * 7), np.float32), 320]
        return banksim.run(kernel, (9, 7), 256, given, dynamic_shared=3 * 12288, values=values)

    full, mine = product(True), product(False)
    assert mine.classes == 1, mine.undecided
    equal(mine, full)
    each_alone(monkeypatch)
    equal(product(False), full)


def test_a_map_in_global_memory_is_data(tmp_path: Path) -> None:
    box = banksim.tensor_map(np.zeros((16, 16), np.float32), (4, 16))
    load = """struct alignas(64) Map { char bytes[128]; };
        extern "C" __global__ void load(const __grid_constant__ Map map, const char* other, unsigned n) {
            __shared__ __align__(128) unsigned s[64];
            __shared__ __align__(8) unsigned long long w;
            if (!threadIdx.x) { init(&w, 1); expect(&w, 256); asm volatile(
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}],"
                " [%2];" :: "r"(AT(s)), "l"(n ? other : map.bytes), "r"(AT(&w)), "r"(100), "r"(100) : "memory"); }
            __syncthreads();
            while (!over(&w, 0, true));
            s[threadIdx.x * 2] += 1;
        }"""
    kernel = banksim.load(written_to(tmp_path / "load.cu", HEAD + load))["load"]
    for n in (0, 1):

        def run(values: bool, n: int = n) -> Run:
            content = np.frombuffer(box.at(1 << 12), np.int8).copy()  # of an array that the copy is outside of
            return banksim.run(kernel, 5, 32, [box, content, n], values=values)

        assert run(False).classes == 1 - n
        equal(run(False), run(True))
