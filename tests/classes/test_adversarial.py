"""Kernels made to fool the classes: whatever becomes of a block's index, counts are those of executing every block."""

from pathlib import Path
from typing import Any

import pytest

import banksim
from banksim.errors import Fault
from helpers.both_ways import arguments, both, each_alone, source
from helpers.places import written_to

pytestmark = pytest.mark.usefixtures("by_classes")

HEAD = """
__constant__ unsigned table[32] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4};
__device__ __noinline__ unsigned once(unsigned v) { return v + 1; }
__device__ __noinline__ unsigned twice(unsigned v) { return v * 2; }
"""
BODIES = {
    "bytes_wrap": "s[(unsigned char)(bx * 77 + tid)] = 1; s[(unsigned short)(bx * 4099 * tid) >> 7] = 1;",
    "address_wraps": "s[tid + bx * 0x40000000u] = 1; *(s + (int)(tid * 2 - bx * 0x80000000u)) = 1;",
    "product_of_indices": "if ((bx * by) % 7 == 3) s[tid * 2] = 1; if (bx * by > 40) s[tid * 4] = 1;",
    "parity_of_indices": "if ((bx ^ by) & 1) s[tid] = 1; if (__popc(bx & by) & 1) s[tid * 2] = 1;",
    "linear_number": "unsigned l = by * gridDim.x + bx; if (l % 13 == 5) s[tid * 2] = 1; if (l >= 200) s[tid] = 1;",
    "last_block": "if (bx == gridDim.x - 1 && blockIdx.y == gridDim.y - 1) s[tid * 8] = 1; if (!bx) s[tid] = 1;",
    "table_of_constants": "s[tid * table[(bx + 3) & 31] & 511] = 1; if (table[by & 15] > 4) s[tid] = 1;",
    "function_by_block": "unsigned (*f)(unsigned) = bx & 1 ? once : twice; s[f(tid + by) & 511] = 1;",
    "generator": """unsigned v = bx; for (int k = 0; k < 5; ++k) v = v * 1664525u + 1013904223u;
        s[v >> 23] = 1; s[v & 511] = 1;""",
    "hash": """unsigned v = bx + 1; v ^= v << 13; v ^= v >> 17; v ^= v << 5; s[(v + tid) & 511] = 1;
        if (v & 64) s[tid * 2] = 1;""",
    "gray_code": "unsigned g = bx ^ (bx >> 1); s[(g * 32 + tid) & 511] = 1; if (g & 2) s[tid * 4] = 1;",
    "interleaved_bits": """unsigned x = 0, y = 0; for (int k = 0; k < 4; ++k) { x |= (bx >> 2 * k & 1) << k;
        y |= (bx >> (2 * k + 1) & 1) << k; }
        s[(x * 16 + y + tid) & 511] = 1; if (x < y) s[tid * 2] = 1;""",
    "triangle": """int r = (int)((sqrtf(8.0f * bx + 1) - 1) / 2), c = bx - r * (r + 1) / 2;
        s[(r * 32 + tid * (c & 3)) & 511] = 1;""",
    "clamped_range": """int low = max(0, (int)bx * 16 - 100), high = min((int)(n & 255), (int)bx * 16 + 16);
        for (int k = low + (int)tid; k < high; k += 7) s[k & 511] = 1;""",
    "persistent": """for (unsigned t = bx; t < (n & 127); t += gridDim.x) { unsigned y = t / 10, x = t % 10;
        if (x * 64 + tid < 600) s[(tid * (y & 3)) & 511] = 1; }""",
    "break_by_square": "for (unsigned k = 0; k < 20; ++k) { if (k * k > bx) break; s[(tid * k) & 511] = 1; }",
    "two_loops": """for (unsigned a = bx & 3; a < 5; ++a) for (unsigned b = by; b > a;
        --b) s[(tid * a + b) & 511] = 1;""",
    "barrier_by_block": "if (bx & 1) __syncthreads(); s[tid] = 1; if (by < 4) { __syncthreads(); s[tid ^ 32] = 2; }",
    "jump_table": """switch (bx & 7) { case 0: s[tid] = 1; break; case 1: s[tid * 2] = 2; break;
        case 2: s[tid * 3] = 3; break;
        case 3: s[tid * 4] = 4; break; case 4: s[tid ^ 7] = 5; break; case 5: s[tid * 5] = 6; break;
        case 6: s[0] = 7; }""",
    "vote_of_sums": """if (__any_sync(~0u, tid + bx > 70)) s[tid * 2] = 1;
        if (__all_sync(~0u, tid * 3 < by * 9)) s[tid] = 1;""",
    "match": """unsigned m = __match_any_sync(~0u, (tid + bx) & 7); s[(tid * (m >> 24 & 3)) & 511] = 1;
        s[__popc(m)] = 1;""",
    "match_of_block": "unsigned m = __match_any_sync(~0u, bx * tid & 3); s[(__popc(m) * tid) & 511] = 1;",
    "reduction": """unsigned m = __reduce_max_sync(~0u, tid * bx & 63); s[(m + tid) & 511] = 1;
        s[__reduce_add_sync(~0u, bx) & 511] = 1;""",
    "lane_by_block": """unsigned v = __shfl_sync(~0u, tid * 3, bx & 31); s[(v + tid) & 511] = 1;
        s[__shfl_xor_sync(~0u, bx, 1)] = 1;""",
    "shuffle_of_products": "unsigned v = __shfl_up_sync(~0u, tid * bx, 3); s[(v + tid * 2) & 511] = 1;",
    "part_of_a_warp": """if ((tid & 3) < bx) { unsigned m = __activemask(); s[(tid * __popc(m)) & 511] = 1;
        __syncwarp(m); }""",
    "funnel": "s[__funnelshift_l(bx, by, tid & 31) & 511] = 1; s[__funnelshift_r(bx * 99, tid, bx & 7) & 511] = 1;",
    "bytes_in_words": """s[__vadd4(bx * 0x01010101u, 0x7f7f7f7fu) >> 24] = 1;
        s[__dp4a((int)bx * 0x01010101, 0x01020304, 0) & 511] = 1;""",
    "first_bits": "s[(__ffs(bx) * tid) & 511] = 1; s[__clz(bx * by + 1) * 2] = 1; s[(__brev(bx) >> 26) + tid] = 1;",
    "permuted": """s[__byte_perm(bx * 1000, by, tid & 7) & 511] = 1;
        s[__byte_perm(bx, by * 3, bx & 0x3321) & 511] = 1;""",
    "differences": """s[__usad(bx, by, tid) & 511] = 1; s[abs((int)bx - 2 * (int)by) * 2 & 511] = 1;
        s[__sad((int)bx, 7, tid)] = 1;""",
    "long_product": """unsigned long long p = (unsigned long long)bx * by * 0x123456789ull;
        s[(p >> 33) & 511] = 1; s[p >> 5 & 511] = 1;""",
    "long_negative": """long long d = (long long)bx * -3 + by; if (d < -20) s[tid * 2] = 1;
        s[(d >> 1) & 511] = 1; s[d / 3 & 63] = 1;""",
    "long_remainder": """unsigned long long l = by * 40000000000ull + bx; s[l % 11 * tid & 511] = 1;
        if (l / 7 > 9000000000ull) s[tid] = 1;""",
    "steep": """unsigned long long a = bx * 0x0fffffffffffffffull, b = bx * 0xf800000000000001ull;
        if (a < 0x7000000000000000ull + tid) s[tid * 2] = 1; if ((long long)(b + (1ull << 62) * by) < -5) s[tid] = 1;
        if (bx * 0x0100000000000001ull > by * 0x0200000000000000ull + tid) s[tid * 4] = 1;""",
    "wrap_at_powers": """if ((bx * 32 + tid) % 1024 == 37) s[tid * 2] = 1;
        if ((by * 33 + bx * 64) % 512 < tid) s[tid] = 1;
        if (bx % 16 * 3 + (bx * 128 + 1) % 4096 / 1024 == 3) s[tid * 8] = 1;""",
    "shift_by_argument": """unsigned k = n % 7 + 1, i = bx * 64 + tid; s[(i >> k << 2) & 511] = 1;
        s[(i & ((1u << k) - 1)) * 2 & 511] = 1; if ((i >> k) % 3 == by % 3) s[tid] = 1; s[i >> (n & 63) & 511] = 1;""",
    "upper_bits": """unsigned u = bx * 0x50000000u + 0x30000000u; int i = bx * 0x7fffffffu + 0x80000001u;
        if (u >> (n + 23 & 31) == 1) s[tid * 4] = 1; if ((i >> (n + 21 & 31)) + (int)tid < 64) s[tid * 2] = 1;""",
    "signed_shift_by_argument": """int k = n & 3, i = ((int)bx - 9) * 50; s[(i >> k) & 511] = 1;
        s[((long long)i << 20 >> (k + 18)) & 511] = 1; s[(i >> (tid & 31)) & 511] = 1;""",
    "masks_of_argument": """unsigned m = n * 8; s[(bx * 16 + tid & m) & 511] = 1; s[(bx * 16 | m) & 511] = 1;
        s[((bx * 33 ^ m) + tid) & 511] = 1; s[(bx * 64 & ~(m | 7)) & 511] = 1; s[(bx * 9 & ~(m << 4)) & 511] = 1;""",
    "masks_of_runs": """unsigned low = (1u << tid % 9) - 1, i = bx * 5 + by; s[i & low] = 1; s[(i & ~low) & 511] = 1;
        s[(i | low) & 511] = 1; s[(i ^ ~low) & 511] = 1; s[(i ^ low) & 511] = 1; s[(i | ~low) & 511] = 1;""",
    "put_together": """unsigned k = n % 5 + 2, low = (1u << k) - 1, i = bx * 8 + by;
        s[((i >> k << (k + 1)) | (i & low)) & 511] = 1; s[((bx << 3 | (by & 7)) + tid) & 511] = 1;
        s[((bx << 3) ^ (by & 15)) & 511] = 1; s[((bx * 4 & by * 2) + tid) & 511] = 1;
        s[((bx << (tid & 3)) | (by >> (tid & 7))) & 511] = 1;""",
    "groups": """unsigned w = n % 7 + 3, i = by * gridDim.x + bx, first = i / (w * 4) * 4, size = min(17 - first, 4u);
        unsigned row = first + i % (w * 4) % size, column = i % (w * 4) / size; s[tid * (row & 3) + column] = 1;
        if (row == column) s[tid] = 1; if (row * w + column + tid > 200) s[tid * 2] = 1;""",
    "float_of_block": """float f = bx / 3.0f; s[((int)f * tid) & 511] = 1;
        s[__float_as_uint((float)bx) >> 23] = 1; if (f * by > 11.5f) s[tid] = 1;""",
    "float_saturates": "int i = (int)(bx * 3e8f); s[(i >> 22) & 511] = 1; if (i == 0x7fffffff) s[tid * 2] = 1;",
    "double_of_block": """s[(unsigned)(sqrt((double)bx * by) * 3.5) & 511] = 1;
        if ((double)bx / (by + 1) > 1.25) s[tid] = 1;""",
    "predicated": "unsigned v = tid < bx * 3 ? in[tid] : 0; s[tid] = v; if (tid > by * 5) out[tid] = v;",
    "shift_by_block": """s[(tid << ((int)bx - 5 & 7)) & 511] = 1; s[((int)(bx - 9) >> (by & 3)) & 511] = 1;
        s[1u << (bx & 7)] = 1;""",
    "masks_of_lanes": """s[(bx & (tid * 3)) & 511] = 1; s[((bx * 8) | tid) & 511] = 1;
        s[(bx * 64 ^ tid * 5) & 511] = 1;""",
    "mask_of_block": "s[(tid * 7 & (bx * 16)) & 511] = 1; s[(by | bx * 4) & 511] = 1; s[(bx & by) ^ tid] = 1;",
    "select_between": "unsigned a = bx < by ? bx : by * 2, b = bx & 4 ? a : tid; s[(a + b * 2) & 511] = 1;",
    "sum_of_carries": """unsigned long long a = ((unsigned long long)bx << 31) + 0x7fffffffull * by;
        s[(a >> 32) * 2 & 511] = 1;""",
    "spilled_index": """volatile unsigned a[6]; for (int k = 0; k < 6; ++k) a[k] = k; a[bx % 6] = bx;
        a[by % 6] = tid; a[5] = a[0] + by;
        s[(a[5] * 2 + tid) & 511] = 1; if (a[bx % 6] > 10) s[tid] = 1;""",
    "half_word_spilled": """volatile unsigned short a[4]; a[1] = bx * 3; a[2] = tid; a[bx & 1] = by;
        s[(a[1] + a[2] * 2) & 511] = 1;""",
    "copies": """unsigned to = (unsigned)__cvta_generic_to_shared(s) + 16 * (tid & 31) * (bx % 3) + 16 * (by & 7);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(to), "l"(in + 4 * tid));
        asm volatile("cp.async.wait_all;");""",
    "matrix_load": """unsigned a, at = (unsigned)__cvta_generic_to_shared(s);
        at += 16 * ((tid & 7) * (bx % 4 + 1)) + 128 * (by & 3);
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(at)); out[tid] = a;""",
    "generic_address": """unsigned* p = bx % 5 == 2 ? out + 2048 : s; p[(tid * (by & 3)) & 511] = 1;
        atomicAdd(p + (tid & bx), 1u);""",
    "double_words": """((double*)s)[(tid * (bx & 3) + by) & 255] = 1;
        ((uint2*)s)[(tid ^ bx) & 255] = make_uint2(1, 2);""",
    "index_through_shared": "s[tid] = bx; __syncthreads(); if (s[(tid + 1) & 63] == 3) s[tid * 2] = 1;",
    "range_from_one_thread": """__shared__ unsigned first, last; if (!tid) first = bx * 3, last = min(bx * 3 + 7,
        n / 20); __syncthreads(); for (unsigned k = first; k < last; ++k) s[(k * tid) & 511] = 1;""",
    "bytes_through_shared": """unsigned char* b = (unsigned char*)s; b[tid] = bx + tid; b[tid + 64] = 3;
        __syncthreads(); unsigned v = b[tid ^ 1]; __syncthreads(); s[(v * 4 + b[64 + tid]) & 511] = 1;""",
    "halves_through_shared": """((unsigned short*)s)[tid] = by * tid; s[tid + 64] = bx; __syncthreads();
        s[(((short*)s)[tid ^ 3] + ((short*)s)[tid * 2 + 128]) & 511] = 1;""",
    "beside_data": """s[tid] = tid & 1 ? in[tid] : bx; __syncthreads(); if (!(tid & 1)) { unsigned v = s[tid ^ 2];
        s[(v * tid) & 511] = 1; }""",
    "over_data": """s[tid] = in[tid]; __syncthreads(); s[tid] = bx + tid; __syncthreads(); unsigned v = s[tid ^ 1];
        __syncthreads(); s[v & 511] = 2;""",
    "at_moving_places": """s[(tid + bx) & 63] = tid; __syncthreads(); unsigned v = s[tid]; __syncthreads();
        s[v * 2 & 511] = 1;""",
    "scan_of_indices": """s[tid] = tid * bx & 7; __syncthreads(); for (unsigned d = 1; d < 64; d *= 2) {
        unsigned v = tid >= d ? s[tid - d] : 0; __syncthreads(); s[tid] += v; __syncthreads(); }
        unsigned v = s[63 - tid]; __syncthreads(); s[v & 511] = 1;""",
    "one_place": """s[bx & 1] = tid * 3; __syncthreads(); unsigned v = s[bx & 1]; __syncthreads();
        s[(v + tid) & 511] = 1;""",
    "wide_through_shared": """((uint4*)s)[tid] = make_uint4(bx, tid, in[tid], by); __syncthreads();
        unsigned u = s[(tid ^ 1) * 4 + 1], v = s[(tid ^ 2) * 4], w = ((uint2*)s)[tid * 2 ^ 2].y; __syncthreads();
        s[(u * 2 + v + w) & 511] = 1;""",
    "generic_through_shared": """unsigned* p = n > 5 ? s : out; p[tid] = by * tid; __syncthreads();
        unsigned v = s[tid ^ 5]; __syncthreads(); s[(v + bx) & 511] = 1;""",
    "product_through_shared": """s[tid] = bx; __syncthreads(); if (s[tid ^ 1] * tid > 99) s[tid * 2] = 1;
        if (s[0] < n / 50) s[tid * 4] = 1;""",
    "added_in_shared": """s[tid] = bx; __syncthreads(); atomicAdd(s + (tid & 31), by); __syncthreads();
        unsigned v = s[tid]; __syncthreads(); s[v & 511] = 1;""",
    "places_by_turns": """__shared__ unsigned count; if (!tid) count = bx & 1; __syncthreads();
        if ((tid + bx) % 3 == 0) { unsigned at = atomicAdd(&count, 1u); s[at * 2 & 511] = tid; } __syncthreads();
        if (tid < count) s[tid * 4 & 511] = 1;""",
    "swapped_in_shared": """s[tid] = tid; __syncthreads(); unsigned v = atomicExch(s + (tid * 5 & 63), bx);
        unsigned w = atomicCAS(s + tid, bx, 7u); __syncthreads(); s[(v + w * 3) & 511] = 1;""",
    "long_in_shared": """unsigned long long* l = (unsigned long long*)s; l[tid] = bx; __syncthreads();
        unsigned long long v = atomicAdd(l + (tid & 3), 0x100000001ull); __syncthreads();
        s[(unsigned)(v >> 32) + (unsigned)v & 511] = 1;""",
    "generic_atomic": """unsigned* p = n > 5 ? s : out; p[tid] = by; __syncthreads();
        unsigned v = atomicAdd(p + (tid & 7), 2u); __syncthreads(); s[(v + tid) & 511] = 1;""",
    "table_of_keys": """s[tid] = ~0u; __syncthreads();
        unsigned key = (tid * 7 + bx % 5) % 40, h = key * 0x9e3779b1u >> 26;
        for (unsigned k = 0; k < 64; ++k, h = (h + 1) & 63) { unsigned old = atomicCAS(s + h, ~0u, key);
        if (old == ~0u || old == key) break; } s[h * 2 + 128] = 1;""",
    "sorted_by_digit": """unsigned key = tid * 37 + bx * n ^ by, lane = tid & 31, digit = key & 15, peers = ~0u;
        for (unsigned b = 0; b < 4; ++b) { unsigned o = __ballot_sync(~0u, digit >> b & 1);
        peers &= digit >> b & 1 ? o : ~o; } unsigned rank = __popc(peers & (1u << lane) - 1), before = 0;
        if (!rank) s[tid / 32 * 16 + digit] = __popc(peers); else if (tid < 32) s[tid + 64] = 0; __syncthreads();
        for (unsigned k = 0; k < digit; ++k) before += (peers >> k & 1) * 3 + k; s[before + rank & 511] = key;""",
    "matrix_through_shared": """s[tid] = tid * by; __syncthreads();
        unsigned a, at = (unsigned)__cvta_generic_to_shared(s) + 16 * (tid & 7);
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(at));
        __syncthreads(); s[a & 511] = 1;""",
}  # fmt: skip
DATA = {
    "clock": "if (clock() & 64) s[tid * 2] = 1;",
    "nothing_written": "s[s[tid + 64] & 511] = 1;",
    "nothing_left": "if (bx < 3) s[tid] = bx; __syncthreads(); s[s[tid] & 511] = 1;",
    "data_added_in_shared": """s[tid] = bx; __syncthreads(); atomicAdd(s + (tid & 31), tid == 9 ? in[bx] : 1u);
        __syncthreads(); unsigned v = s[tid]; __syncthreads(); s[v & 511] = 1;""",
    "added_to_data": """s[tid] = tid == 40 ? in[bx] : bx; __syncthreads(); unsigned v = atomicMax(s + (tid & 40), tid);
        __syncthreads(); s[v & 511] = 1;""",
    "byte_of_data": """s[tid] = bx; __syncthreads(); ((unsigned char*)s)[tid * 4 + 2] = in[tid]; __syncthreads();
        unsigned v = s[tid]; __syncthreads(); s[v & 511] = 1;""",
    "copied_over": """s[tid] = s[tid + 64] = bx; __syncthreads();
        unsigned to = (unsigned)__cvta_generic_to_shared(s + tid);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.wait_all;" :: "r"(to), "l"(in + tid));
        __syncthreads(); unsigned v = s[tid + (bx > 2 ? 0 : 64)]; __syncthreads(); s[v & 511] = 1;""",
    "stored_if_data": """s[tid] = bx; __syncthreads(); s[tid] = in[tid] ? s[tid] : 2; __syncthreads();
        unsigned v = s[tid]; __syncthreads(); s[v & 511] = 1;""",
    "index_from_global": "unsigned b = in[bx]; s[(b * tid) & 511] = 1;",
    "ticket": """__shared__ unsigned t; if (!tid) t = atomicAdd(out + 9, 0u) + bx; __syncthreads();
        s[(t * tid) & 511] = 1;""",
    "old_value": "s[(atomicMax(&s[tid & 7], tid) + bx) & 511] = 1;",
    "data_in_vote": "if (__popc(__ballot_sync(~0u, in[tid + bx] & 1)) > 9) s[tid] = 1;",
    "data_in_select": "unsigned j = in[tid] ? tid : tid * 2; s[j] = 1;",
    "data_in_mask": "s[(in[tid] & 1) ? 3 : (bx & 1)] = 1;",
    "data_in_lane": "s[__shfl_sync(~0u, tid, in[bx] + 3) & 511] = 1;",
    "data_in_stack": "volatile unsigned char a[16]; a[bx & 15] = in[bx]; a[3] = 2; s[(a[tid & 15] + tid) & 511] = 1;",
}


@pytest.fixture(scope="module", name="kernels")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = written_to(tmp_path_factory.mktemp("adversarial") / "bodies.cu", HEAD + source(BODIES | DATA))
    module = banksim.load(path)
    return {name: module[f"in_{name}"] for name in BODIES | DATA}


@pytest.mark.parametrize("name", BODIES)
def test_no_kernel_fools_the_classes(kernels: dict[str, Any], name: str) -> None:
    found = both(kernels[name], (19, 13))
    assert found.classes, found.undecided


@pytest.mark.parametrize("name", list(BODIES)[::6])
def test_each_block_alone_counts_the_same(kernels: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    each_alone(monkeypatch)
    found = both(kernels[name], (19, 13))
    assert found.classes == 19 * 13, found.undecided


@pytest.mark.parametrize("name", DATA)
def test_what_hides_data_is_found(kernels: dict[str, Any], name: str) -> None:
    found = both(kernels[name], (6, 2))
    assert not found.classes
    assert "depends on" in found.undecided


def test_a_fault_of_some_blocks_is_that_of_executing_all(tmp_path: Path) -> None:
    path = tmp_path / "beyond.cu"
    bodies = {
        "one": "s[tid + (bx == 7 ? 4096 : 0)] = 1;",
        "later": "s[tid + 32 * bx] = 1;",
        "several": "s[tid + ((bx & 7) == 7 || bx == 30 || bx == 20 ? 4096 : 0)] = 1;",
        "of_little_boxes": "if (bx % 3 == 1) s[tid] = 2; s[tid + (bx % 9 == 7 || bx == 14 ? 4096 : 0)] = 1;",
    }
    path.write_text(source(bodies))
    module = banksim.load(path)
    for name in bodies:
        told = []
        for values in (False, True):
            with pytest.raises(Fault, match="out of bounds in shared memory") as found:
                banksim.run(module[f"in_{name}"], 40, 64, arguments(), values=values)
            told.append(str(found.value))
        assert told[0] == told[1]
