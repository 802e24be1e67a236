"""Where C puts things: sizes and offsets as g++ gives them for the same text, with CUDA's vector_types.h."""

import pytest

from banksim import pattern
from helpers.pattern_requests import addresses, requests

SIZES = {
    "char": (1, 1), "short int": (2, 2), "unsigned": (4, 4), "long": (8, 8), "int unsigned long": (8, 8),
    "long long unsigned": (8, 8), "signed char": (1, 1), "double": (8, 8), "float": (4, 4), "bool": (1, 1),
    "size_t": (8, 8), "uint16_t": (2, 2), "int64_t": (8, 8), "half": (2, 2), "__half2": (4, 4),
    "__nv_bfloat16": (2, 2), "char1": (1, 1), "char2": (2, 2), "uchar3": (3, 1), "char4": (4, 4),
    "short2": (4, 4), "short3": (6, 2), "ushort4": (8, 8), "int1": (4, 4), "int2": (8, 8), "int3": (12, 4),
    "uint4": (16, 16), "float2": (8, 8), "float3": (12, 4), "float4": (16, 16), "long3": (24, 8),
    "ulong4": (32, 16), "longlong1": (8, 8), "longlong2": (16, 16), "double1": (8, 8), "double2": (16, 16),
    "double3": (24, 8), "double4": (32, 16), "double4_32a": (32, 32),
}  # fmt: skip


@pytest.mark.parametrize("name", SIZES)
def test_sizes_and_alignments(name: str) -> None:
    size, align = SIZES[name]
    # behind one byte stands the alignment, and behind the alignment the size
    declare = f"char a; {name} b[2]; char c"
    assert addresses("*(char*)&b[0]", declare=declare)[0] == align
    assert addresses(f"*((char*)b + sizeof({name}))", declare=declare)[0] == align + size
    assert addresses("c", declare=declare)[0] == align + 2 * size


STRUCTS = [
    ("struct A {char c; int i;};", "A", 8, {"c": 0, "i": 4}),
    ("struct A {int i; char c;};", "A", 8, {"i": 0, "c": 4}),
    ("struct A {char a; double d; char b;};", "A", 24, {"a": 0, "d": 8, "b": 16}),
    ("struct A {float x, y, z;};", "A", 12, {"x": 0, "y": 4, "z": 8}),
    ("struct A {short s; char c[3]; int i;};", "A", 12, {"s": 0, "c[0]": 2, "c[2]": 4, "i": 8}),
    ("struct A {float3 p; float m;};", "A", 16, {"p.x": 0, "p.z": 8, "m": 12}),
    ("struct A {char t; float4 v; char u;};", "A", 48, {"t": 0, "v.w": 28, "u": 32}),
    ("struct A {struct {char a; short b;} in[3]; char z;};", "A", 14, {"in[0].b": 2, "in[2].a": 8, "z": 12}),
    ("struct __align__(16) A {float x; char c;};", "A", 16, {"x": 0, "c": 4}),
    ("struct alignas(8) A {char a[5];};", "A", 8, {"a[4]": 4}),
    ("struct A {char2 a; char3 b; uchar4 c; short d;};", "A", 16, {"a.y": 1, "b.z": 4, "c.x": 8, "d": 12}),
    ("struct B {int m[2][3]; char c;}; struct A {B s[2]; double d;};", "A", 64,
     {"s[1].m[1][2]": 48, "s[1].c": 52, "d": 56}),
    ("typedef struct {char c; size_t n; int16_t s; uint8_t u;} A;", "A", 24, {"n": 8, "s": 16, "u": 18}),
    ("typedef float row[3]; struct A {char c; row r[2];};", "A", 28, {"r[0][0]": 4, "r[1][2]": 24}),
]  # fmt: skip


@pytest.mark.parametrize(("definition", "name", "size", "offsets"), STRUCTS)
def test_structs(definition: str, name: str, size: int, offsets: dict[str, int]) -> None:
    declare = f"{definition} {name} s[40]"
    for member, offset in offsets.items():
        assert addresses(f"s[tid].{member}", declare=declare)[:3] == [offset, size + offset, 2 * size + offset]
        assert addresses(f"(&s[tid])->{member}", declare=declare)[1] == size + offset


def test_variables_lie_one_behind_the_other() -> None:
    # the same kernel compiled by nvcc 13.4 has c at 0, f at 8, d at 24, e at 40 and dyn at 48
    declare = ["__shared__ char c[5]; extern __shared__ float dyn[];", "__shared__ float f[3]; double d[2]; char e[3]"]
    trace = pattern("c[0]; f[0]; d[0]; e[0]; dyn[0]", declare=declare)
    assert trace.address[:, 0].tolist() == [0, 8, 24, 40, 48]


def test_dynamic_arrays_share_their_beginning() -> None:
    declare = "extern __shared__ float f[]; extern __shared__ double d[]; int s"
    assert pattern("f[3]; d[3]; s", declare=declare).address[:, 0].tolist() == [28, 40, 0]
    assert addresses("f[1]", declare="char c[5]; extern __shared__ __align__(128) float f[]")[0] == 132


def test_declared_alignment_of_a_variable() -> None:
    assert addresses("s[1]", declare="char c; __shared__ __align__(16) char s[4]")[0] == 17
    assert (
        addresses("s[1]", declare="c = cuda.shared.array(1, int8); s = cuda.shared.array(4, int8, alignment=64)")[0]
        == 65
    )


@pytest.mark.parametrize(
    ("declare", "access", "widths", "last"),
    [
        ("float2 s[32]", "s[tid]", [8], 0),
        ("int4 s[32]", "s[tid]", [16], 0),
        ("double2 s[32]", "s[tid]", [16], 0),
        ("char4 s[32]", "s[tid]", [4], 0),
        ("half2 s[32]", "s[tid]", [4], 0),
        ("half2 s[32]", "s[tid].y", [2], 2),
        ("float4 s[32]", "s[tid].z", [4], 8),
        ("float3 s[32]", "s[tid]", [4, 4, 4], 8),
        ("double3 s[32]", "s[tid]", [8, 8, 8], 16),
        ("double4 s[32]", "s[tid]", [16, 16], 16),
        ("short3 s[32]", "s[tid]", [2, 2, 2], 4),
        ("struct {int a; char b;} s[32]", "s[tid]", [4, 1], 4),
        ("struct {float2 p; float m[2];} s[32]", "s[tid]", [8, 4, 4], 12),
        ("struct __align__(8) {float x, y;} s[32]", "s[tid]", [8], 0),
        ("struct __align__(16) {float x, y, z;} s[32]", "s[tid]", [16], 0),
        ("struct __align__(16) {double a, b, c;} s[32]", "s[tid]", [16, 16], 16),
    ],
)
def test_a_whole_value_is_read_in_the_accesses_of_its_parts(
    declare: str, access: str, widths: list[int], last: int
) -> None:
    trace = pattern(access, declare=declare)
    assert [width for _, _, width in requests(trace)] == widths
    assert trace.address[-1, 0] == last


def test_parts_are_named() -> None:
    declare = "struct {float2 p; struct {char c; int i[2];} in;} s[8]; double4 d[2]"
    trace = pattern("s[3]; d[1]", declare=declare)
    assert [site.text for site in trace.sites] == [
        "s[3].p", "s[3].in.c", "s[3].in.i[0]", "s[3].in.i[1]", "d[1] (bytes 0 to 15)", "d[1] (bytes 16 to 31)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("declare", "size"),
    [
        ("s = cuda.shared.array((4, 3), float32); e = cuda.shared.array(1, int8)", 48),
        ("s = cuda.shared.array(shape=(4, 3), dtype=np.float64); e = cuda.shared.array(1, 'int8')", 96),
        ("s = cuda.shared.array(dtype=types.int16, shape=(N, N - 1)); e = cuda.shared.array(1, int8)", 24),
        ("s = cuda.shared.array((4, 3,), nb.boolean)\ne = cuda.shared.array((1,), int8)", 12),
    ],
)
def test_numba_declarations(declare: str, size: int) -> None:
    assert addresses("e[0]", declare=declare, let={"N": 4})[0] == size
    assert addresses("s[3, 2]", declare=declare, let={"N": 4})[0] == size - size // 12


def test_numba_dynamic_array() -> None:
    declare = "a = cuda.shared.array(5, int8); s = cuda.shared.array(0, dtype=float32)"
    assert addresses("s[tx]", declare=declare)[:2] == [16, 20]
