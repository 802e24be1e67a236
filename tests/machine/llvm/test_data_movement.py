"""Loads give each lane its own word, whichever way they move: as one vector, a broadcast, half by half, or a gather."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

import banksim
from banksim.errors import Fault
from banksim.kernels.kernel import Kernel
from banksim.machine.llvm.emit import AVX512, chosen_lanes, loaded_half
from banksim.system import llvm_compiler
from banksim.system.native_code import WELL, linked

SOURCE = """
extern "C" __global__ void moved(int* from_shared, int* from_global, int4* wide, const int* words, const int* index,
                                 const unsigned* masks) {
    __shared__ int4 s[128];
    int t = threadIdx.x, at = blockIdx.x * 32 + t, i = index[at];
    for (int k = t; k < 512; k += 32) ((int*)s)[k] = words[k];
    __syncwarp();
    if (masks[blockIdx.x] >> t & 1) {
        from_shared[at] = ((int*)s)[i];
        from_global[at] = words[i];
        wide[at] = s[i / 4];
    }
}
extern "C" __global__ void apart(int* word, int2* pair, int4* four, int* mine, const int* words, const int* index,
                                 const unsigned* masks) {
    int t = threadIdx.x, at = blockIdx.x * 32 + t, i = index[at];
    if (masks[blockIdx.x] >> t & 1) {
        int4 own[8];
        for (int k = 0; k < 8; k++) own[k] = make_int4(t * 32 + 4 * k, t * 32 + 4 * k + 1, i, t * 32 + 4 * k + 3);
        own[(i >> 2) + 1 & 7].z = 5;
        word[at] = words[i];
        pair[at] = ((const int2*)words)[i & 255];
        four[at] = ((const int4*)words)[i & 127];
        mine[at] = own[i >> 2 & 7].x + ((int*)own)[i & 31] + own[i >> 2 & 7].z;
    }
}
extern "C" __global__ void narrow(int2* found, signed char* bytes, short* halves, const int* words, const int* index,
                                  const unsigned* masks) {
    int t = threadIdx.x, at = blockIdx.x * 32 + t, i = index[at];
    if (masks[blockIdx.x] >> t & 1) {
        found[at] = make_int2(((const signed char*)(words + 384))[i], ((const unsigned short*)(words + 256))[i]);
        bytes[at + blockIdx.x] = t + 1;
        halves[at] = -t - 1;
    }
}
extern "C" __global__ void stored(char* one, short* two, int* four, int2* eight, int4* sixteen, const int* index,
                                  const unsigned* masks) {
    int t = threadIdx.x, i = index[blockIdx.x * 32 + t], at = blockIdx.x * 512 + i;
    if (masks[blockIdx.x] >> t & 1) {
        one[at] = two[at] = four[at] = ++t;
        eight[at] = make_int2(t, t + 1);
        sixteen[at] = make_int4(t, t + 1, t + 2, t + 3);
    }
}
extern "C" __global__ void constant(int4* found, const int* index, const unsigned* masks) {
    int t = threadIdx.x, at = blockIdx.x * 32 + t, i = index[at];
    if (masks[blockIdx.x] >> t & 1)
        found[at] = make_int4(table[i], ((const signed char*)(table + 384))[i],
                              ((const unsigned short*)(table + 256))[i], ((const int2*)table)[i >> 1].y);
}
extern "C" __global__ void put(char* one, char* four, const int* index) {
    int t = threadIdx.x;
    *(int*)(one + index[t]) = t;
    *(int4*)(four + 4 * index[t]) = make_int4(t, t, t, t);
}
"""
LANE = np.arange(32)
LOWER = LANE < 16
PLACES = {
    "neighbours": LANE + 5,
    "one word": 0 * LANE + 77,
    "two rows": LANE % 16 + 100 * (LANE // 16),
    "one row twice": LANE % 16 + 496,
    "a word for each half": np.where(LOWER, 9, 511),
    "a row and a word": np.where(LOWER, LANE, 300),
    "a word and a row": np.where(LOWER, 300, LANE),
    "rows, but for the last lane": np.where(LANE == 31, 3, LANE % 16 + 40 * (LANE // 16)),
    "words, but for a lane": np.where(LANE == 4, 3, np.where(LOWER, 50, 90)),
    "rows from the end": 511 - LANE % 16,
    "lower row ends the array": np.where(LOWER, LANE + 496, 0),
    "four rows": LANE % 8 + 100 * (LANE // 8),
    "four rows, but for the last lane": np.where(LANE == 31, 0, LANE % 8 + 120 * (LANE // 8)),
    "a word for each of four rows": 96 * (LANE // 8) + 12,
    "every other word of four rows from the end": 511 - LANE % 8 * 2 - 100 * (LANE // 8),
    "vectors of two places": np.where(LOWER, 128, 260),
    "every second word": LANE * 2 + 33,
    "every third word": LANE * 3 + 417,
    "every fourth word": LANE * 4 + 2,
    "every fourth word to the end": LANE * 4 + 387,
    "every fourth word from the beginning, where the lower lanes access nothing": np.maximum(LANE * 4 - 64, 0),
    "every fourth word, but for a lane": np.where(LANE == 23, 95, LANE * 4 + 4),
    "every fifth word": LANE * 5,
    "backwards": 200 - LANE * 4,
}
MASKS = (0xFFFFFFFF, 0x0000FFFF, 0xFFFF0000, 0x00010001, 0x80008000, 0x7FFFFFFF, 0xAAAA5555, 1 << 20, 1 << 3)


@pytest.fixture(scope="module", name="kernels")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Kernel]:
    path: Path = tmp_path_factory.mktemp("moved") / "moved.cu"
    path.write_text(f"__constant__ int table[] = {{{', '.join(map(str, NUMBERS))}}};{SOURCE}")
    return dict(banksim.load(path))


MASK = np.tile(np.array(MASKS, np.uint32), len(PLACES))
ACTIVE = (MASK[:, None] >> LANE & 1).astype(bool)
PLACE = np.repeat([*PLACES.values()], len(MASKS), axis=0)
INDEX = np.where(ACTIVE, PLACE, 1 << 28).astype(np.int32)
"""Where a lane is not active its address may be anything: that of no memory as well."""
KINDS = [(np.int8, 1), (np.int16, 1), (np.int32, 1), (np.int32, 2), (np.int32, 4)]
"""What lanes store: words of a type."""
NUMBERS = np.random.default_rng(3).integers(1, 1 << 30, 512).astype(np.int32)


def test_every_lane_gets_its_word(kernels: dict[str, Kernel]) -> None:
    shared, far, wide = (np.zeros((len(MASK), 32 * n), np.int32) for n in (1, 1, 4))
    banksim.run(kernels["moved"], len(MASK), 32, (shared, far, wide, NUMBERS, INDEX, MASK))
    expected = np.where(ACTIVE, NUMBERS[PLACE], 0)
    np.testing.assert_array_equal(shared, expected)
    np.testing.assert_array_equal(far, expected)
    vectors = NUMBERS.reshape(-1, 4)[PLACE // 4] * ACTIVE[..., None]
    np.testing.assert_array_equal(wide.reshape(vectors.shape), vectors)


def test_every_lane_gets_its_words_of_global_and_local_memory(kernels: dict[str, Kernel]) -> None:
    word, pair, four, mine = (np.zeros((len(MASK), 32, n), np.int32) for n in (1, 2, 4, 1))
    banksim.run(kernels["apart"], len(MASK), 32, (word, pair, four, mine, NUMBERS, INDEX, MASK))
    for got in (word, pair, four):
        vectors = NUMBERS.reshape(-1, got.shape[2])
        np.testing.assert_array_equal(got, vectors[PLACE % len(vectors)] * ACTIVE[..., None])
    own = LANE[:, None] * 32 + np.arange(32) + 0 * PLACE[..., None]
    own[..., 2::4] = PLACE[..., None]
    block, lane, row = *np.indices(PLACE.shape), PLACE // 4 % 8
    own[block, lane, (row + 1) % 8 * 4 + 2] = 5
    sums = own[block, lane, row * 4] + own[block, lane, PLACE % 32] + own[block, lane, row * 4 + 2]
    np.testing.assert_array_equal(mine[..., 0], np.where(ACTIVE, sums, 0))


def test_every_lane_gets_its_words_of_constant_memory(kernels: dict[str, Kernel]) -> None:
    found = np.zeros((*PLACE.shape, 4), np.int32)
    banksim.run(kernels["constant"], len(MASK), 32, (found, INDEX, MASK))
    tables = NUMBERS, NUMBERS[384:].view(np.int8), NUMBERS[256:].view(np.uint16), np.repeat(NUMBERS[1::2], 2)
    expected = np.stack([one[PLACE] for one in tables], axis=-1)
    np.testing.assert_array_equal(found, expected * ACTIVE[..., None])


def test_bytes_and_halves_of_every_lane(kernels: dict[str, Kernel]) -> None:
    found = np.zeros((*PLACE.shape, 2), np.int32)
    bytes_, halves = np.zeros(33 * len(MASK), np.int8), np.zeros(PLACE.shape, np.int16)
    banksim.run(kernels["narrow"], len(MASK), 32, (found, bytes_, halves, NUMBERS, INDEX, MASK))
    np.testing.assert_array_equal(found[..., 0], NUMBERS[384:].view(np.int8)[PLACE] * ACTIVE)
    np.testing.assert_array_equal(found[..., 1], NUMBERS[256:].view(np.uint16)[PLACE] * ACTIVE)
    np.testing.assert_array_equal(halves, np.where(ACTIVE, -LANE - 1, 0))
    block, lane = np.nonzero(ACTIVE)
    expected = np.zeros_like(bytes_)
    expected[block * 33 + lane] = lane + 1
    np.testing.assert_array_equal(bytes_, expected)


@pytest.mark.parametrize(("distance", "last"), [(0, 512), (1, 512), (2, 513), (3, 512), (4, 515), (5, 512), (-4, -1)])
def test_the_lane_that_is_beyond_the_array_is_told(kernels: dict[str, Kernel], distance: int, last: int) -> None:
    index = (last - (31 - LANE) * distance).astype(np.int32)
    results = [np.zeros(32 * n, np.int32) for n in (1, 2, 4, 1)]
    narrow = np.zeros(64, np.int32), np.zeros(32, np.int8), np.zeros(32, np.int16)
    for kernel, written in (("apart", results), ("narrow", narrow))[: 2 if last > 0 else 1]:
        with pytest.raises(Fault, match=f"lane {31 if distance else 0}$"):
            banksim.run(kernels[kernel], 1, 32, (*written, NUMBERS, index, np.array([0xFFFFFFFF], np.uint32)))


def test_every_lane_stores_where_it_should(kernels: dict[str, Kernel]) -> None:
    """Of lanes that store to one place the lowest of the last part of the request wins: 128 bytes are a part."""
    results = [np.zeros((len(MASK), 512, words), kind) for kind, words in KINDS]
    banksim.run(kernels["stored"], len(MASK), 32, (*results, INDEX, MASK))
    for got in results:
        part = 32 // got.shape[2]
        expected = np.zeros_like(got)
        for lane in LANE // part * part + part - 1 - LANE % part:
            block = np.flatnonzero(ACTIVE[:, lane])
            expected[block, PLACE[block, lane]] = lane + 1 + np.arange(got.shape[2])
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("lanes", [0xFFFFFFFF, 0x80FF00F0])
@pytest.mark.parametrize("last", [512, 511, 1 << 28])
def test_a_store_beyond_the_array_is_told(kernels: dict[str, Kernel], lanes: int, last: int) -> None:
    index = np.where(LANE == 31, last, LANE * LANE % 127).astype(np.int32)
    for short in range(5):
        results = [np.zeros((511 if n == short else 512, words), kind) for n, (kind, words) in enumerate(KINDS)]
        with pytest.raises(Fault, match=r"lane 31$"):
            banksim.run(kernels["stored"], 1, 32, (*results, index, np.array([lanes], np.uint32)))


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_the_lane_that_accesses_an_array_smaller_than_its_access_is_told(
    kernels: dict[str, Kernel], engine: str
) -> None:
    results = [np.zeros(32 * n, np.int32) for n in (1, 2, 4, 1)]
    mask = np.array([1 << 31], np.uint32)
    with pytest.raises(Fault, match=r"load of 16 bytes .* lane 31$"):
        banksim.run(kernels["apart"], 1, 32, (*results, NUMBERS[:3].copy(), 0 * INDEX[0], mask), engine=engine)


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_of_lanes_that_store_to_one_place_one_wins_and_each_must_be_aligned(
    kernels: dict[str, Kernel], engine: str
) -> None:
    """The lowest of the last part of the request, which is eight lanes of 16 bytes."""
    index = (LANE % 5 * 4).astype(np.int32)
    one, four = np.zeros(5, np.int32), np.zeros((5, 4), np.int32)
    banksim.run(kernels["put"], 1, 32, (one, four, index), engine=engine)
    assert one.tolist() == [0, 1, 2, 3, 4]
    assert four.tolist() == [[lane] * 4 for lane in (25, 26, 27, 28, 24)]
    index[7] += 2
    with pytest.raises(Fault, match=r"lane 7$"):
        banksim.run(kernels["put"], 1, 32, (one, four, index), engine=engine)


@pytest.mark.parametrize("at_once", [pytest.param(True, marks=pytest.mark.skipif(not AVX512, reason="AVX-512")), False])
def test_lanes_are_chosen_with_and_without_avx512(at_once: bool) -> None:
    text = f"""{chosen_lanes(at_once)}
{loaded_half(at_once)}
define void @half(ptr %v, ptr %lanes) {{
  %l = load <16 x i32>, ptr %lanes, align 4
  %r = call <16 x i32> @loaded_half(ptr %v, <16 x i32> %l)
  store <16 x i32> %r, ptr %v, align 4
  ret void
}}
define void @f(ptr %v, ptr %lanes) {{
  %w = load <32 x i32>, ptr %v, align 4
  %l = load <32 x i32>, ptr %lanes, align 4
  %r = call <32 x i32> @chosen(<32 x i32> %w, <32 x i32> %l)
  store <32 x i32> %r, ptr %v, align 4
  ret void
}}"""
    engine = linked([llvm_compiler.compiled(llvm_compiler.Code(text, WELL))])
    random = np.random.default_rng(1)
    words, lanes = random.integers(0, 1 << 32, 32, np.uint32), random.integers(0, 1 << 32, 32, np.uint32)
    expected = words[lanes % 32]
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(engine.get_function_address("f"))
    call(words.ctypes.data, lanes.ctypes.data)
    assert (words == expected).all()
    lanes %= 16
    expected[:16] = words[lanes[:16]]
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(engine.get_function_address("half"))(
        words.ctypes.data, lanes.ctypes.data
    )
    assert (words == expected).all()
