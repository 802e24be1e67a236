"""Copies of tensors by descriptors and bulk copies on both engines, against plain NumPy."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.errors import Fault, InputError
from banksim.kernels.kernel import Parameter, Preset
from banksim.machine.bulk_calls import reduced
from banksim.machine.parameters import tensor_arguments
from banksim.machine.tensor_maps import MappedArray, TensorMap, decoded
from helpers import assembler
from helpers.operations import ENGINES
from helpers.places import KERNELS, loaded

kernels = partial(loaded, KERNELS / "tensor_copies.cu")


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy that begins at a multiple of 64 bytes."""
    raw = np.zeros(array.nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    out = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    out[...] = array
    return out


def numbers(shape: tuple[int, ...], kind: str) -> np.ndarray:
    random = np.random.default_rng(len(shape))
    return aligned(random.integers(1, 120, shape).astype(kind))


def swizzled(place: int, swizzle: int) -> int:
    return place ^ ((place % (8 * swizzle)) >> 7) << 4 if swizzle else place


def in_shared_memory(m: MappedArray, start: tuple[int, ...]) -> tuple[np.ndarray, dict[tuple[int, ...], int]]:
    """The bytes that a copy of a box puts into shared memory, and the place of each element that is in bounds."""
    steps = (*m.steps[:-1], 1)
    counts = [-(-n // step) for n, step in zip(m.box, steps, strict=True)]
    size = m.array.itemsize
    out, places = np.zeros(int(np.prod(counts)) * size, np.uint8), {}
    for number, index in enumerate(np.ndindex(*counts)):
        at = tuple(s + n * step for s, n, step in zip(start, index, steps, strict=True))
        if all(0 <= n < limit for n, limit in zip(at, m.array.shape, strict=True)):
            places[at] = swizzled(number * size, m.swizzle)
            out[places[at] : places[at] + size] = np.frombuffer(m.array[at].tobytes(), np.uint8)
    return out, places


BOXES = [
    ((100,), "u1", (32,), {}, (80,)),
    ((100,), "f8", (20,), {}, (-6,)),
    ((64, 64), "f2", (16, 64), {"swizzle": 128}, (8, 0)),
    ((64, 64), "f2", (24, 64), {"swizzle": 128}, (50, 32)),
    ((40, 32), "f4", (16, 16), {"swizzle": 64}, (-3, -4)),
    ((40, 32), "i4", (12, 8), {"swizzle": 32}, (3, 28)),
    ((40, 32), "u2", (9, 8), {"steps": (3, 1)}, (20, 8)),
    ((6, 10, 16), "f4", (4, 5, 8), {}, (4, -2, 12)),
    ((3, 4, 5, 16), "u8", (2, 3, 4, 2), {"steps": (1, 2, 1, 1)}, (1, 1, 3, -2)),
    ((3, 4, 5, 6, 8), "f2", (2, 2, 3, 2, 8), {}, (2, 3, -1, 5, 0)),
    ((16, 16), "f4", (4, 4), {}, (16, 0)),
]


@ENGINES
@pytest.mark.parametrize(("shape", "kind", "box", "how", "start"), BOXES)
def test_a_box_comes_as_its_map_says(
    shape: tuple[int, ...], kind: str, box: tuple[int, ...], how: dict[str, Any], start: tuple[int, ...], engine: str
) -> None:
    m = banksim.tensor_map(numbers(shape, kind), box, **how)
    wanted, _ = in_shared_memory(m, start)
    out, at = np.zeros(len(wanted), np.uint8), np.array(start[::-1], np.int32)
    args = [m, len(shape), at, out, len(wanted)]
    run = banksim.run(kernels()["load"], 1, 64, args, dynamic_shared=8192, engine=engine)
    np.testing.assert_array_equal(out, wanted)
    bulk = [s for s in run.conflicts.sites if s.op == "bulk"]
    assert [(s.requests, s.transactions, s.status) for s in bulk] == [(1, None, "unknown")]


@ENGINES
@pytest.mark.parametrize(("how", "kind"), [(0, "f2"), (0, "u4"), (1, "f4"), (1, "i8"), (1, "f2"), (2, "f4"), (2, "i4")])
def test_a_box_is_stored_and_reduced(how: int, kind: str, engine: str) -> None:
    before = numbers((40, 32), kind)
    swizzle = 8 * before.itemsize
    m = banksim.tensor_map(aligned(before), (16, 8), swizzle=swizzle if swizzle > 16 else 0)
    given = np.random.default_rng(9).integers(1, 120, 128).astype(kind)
    start, wanted = (31, 24), before.copy()
    _, places = in_shared_memory(m, start)
    for at, place in places.items():
        v = given[place // before.itemsize]
        wanted[at] = [v, before[at] + v, max(before[at], v)][how]
    args = [m, given.view(np.uint8), given.nbytes, start[1], start[0], how]
    banksim.run(kernels()["store"], 1, 64, args, dynamic_shared=4096, engine=engine)
    np.testing.assert_array_equal(m.array, wanted)


def test_a_view_with_gaps_is_copied_as_it_lies() -> None:
    m = banksim.tensor_map(numbers((12, 48), "f4")[:, 16:32], (4, 16))
    wanted, _ = in_shared_memory(m, (3, -4))
    out = np.zeros(len(wanted), np.uint8)
    banksim.run(kernels()["load"], 1, 64, [m, 2, np.array([-4, 3], np.int32), out, len(wanted)], dynamic_shared=8192)
    np.testing.assert_array_equal(out, wanted)


def test_each_architecture_begins_with_the_same_memory_behind_maps() -> None:
    """A sum stored through a map is added once, not for each architecture; counting alone changes nothing."""
    before = numbers((40, 32), "u4")
    m, given = banksim.tensor_map(aligned(before), (16, 8)), np.ones(128, np.uint32)
    args = [m, given.view(np.uint8), given.nbytes, 0, 0, 1]
    banksim.run(kernels()["store"], 1, 64, args, dynamic_shared=4096, values=False)
    np.testing.assert_array_equal(m.array, before)
    banksim.run(kernels()["store"], 1, 64, args, dynamic_shared=4096, arch=["sm_90", "sm_100"])
    before[:16, :8] += 1
    np.testing.assert_array_equal(m.array, before)


@ENGINES
@pytest.mark.parametrize("blocks", [0b0010, 0b1101, 0b1111])
def test_one_block_loads_for_others(blocks: int, engine: str) -> None:
    m = banksim.tensor_map(numbers((9, 16), "f4"), (4, 16))
    out = np.zeros((8, 64), np.float32)
    banksim.run(kernels()["multicast"], 8, 32, [m, out, np.uint16(blocks)], engine=engine)
    for block in range(8):
        wanted = m.array[1:5].ravel() if blocks >> block % 4 & 1 else np.full(64, -1)
        np.testing.assert_array_equal(out[block], wanted)


def brain(v: Any) -> Any:
    bits = np.asarray(v, np.float32).view(np.uint32)
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


@ENGINES
def test_bulk_copies_between_blocks_and_reductions(engine: str) -> None:
    random = np.random.default_rng(4)
    lane, out = np.arange(32), np.zeros((2, 64), np.uint32)
    sent = (1000 + lane).astype(np.uint32)  # of block 1
    counts = random.integers(0, 2000, 32).astype(np.uint32)
    halves, brains = random.random(32).astype("f2"), brain(random.random(32)).astype("u2")
    floats, doubles = random.random(32).astype("f4"), random.random(16)
    given = [counts.copy(), halves.view("u2").copy(), brains.copy(), floats.copy(), doubles.copy()]
    banksim.run(kernels()["bulk"], 2, 32, [out, *given], engine=engine)
    for block in range(2):
        other = 1000 * (1 - block) + lane
        np.testing.assert_array_equal(out[block], np.concatenate([other, 2 * lane + other]))
    np.testing.assert_array_equal(given[0], np.maximum(counts, sent))
    np.testing.assert_array_equal(given[1], (halves + sent[:16].view("f2")).astype("f2").view("u2"))
    wide = [(v.astype(np.uint32) << 16).view("f4") for v in (brains, sent[:16].view("u2"))]
    np.testing.assert_array_equal(given[2], brain(wide[0] + wide[1]))
    np.testing.assert_array_equal(given[3], floats + sent.view("f4"))
    np.testing.assert_array_equal(given[4], doubles + sent.view("f8"))


def test_the_larger_of_a_number_and_no_number_is_the_number() -> None:
    """As an H200 has it, in every format."""
    for kind, nan, one in (("bf16", 0xFFC9, 0xBED3), ("f2", 0x7E01, 0x3C00)):
        old, given = np.array([nan, one], "u2").view("u1"), np.array([one, nan], "u2").view("u1")
        for name in ("MIN", "MAX"):
            assert reduced(name, kind, old, given).view("u2").tolist() == [one, one]


def test_a_map_is_read_as_it_is_written() -> None:
    sizes, strides, box = (64, 7, 1 << 32, 9, 1), (128, 1 << 38, 16, 32), (64, 256, 1, 2, 3)
    one = TensorMap(0x7F0000001230, 6, sizes, strides, box, (1, 2, 8, 1, 4), 128)
    assert decoded(one.encoded()) == one
    assert len(one.encoded()) == 128


@ENGINES
def test_faults(engine: str) -> None:
    array = numbers((8, 16), "f4")
    m = banksim.tensor_map(array, (4, 16), swizzle=64)
    out, at = np.zeros(256, np.uint8), np.zeros(2, np.int32)

    def run(content: object) -> None:
        args = [content, 2, at, out, 256]
        banksim.run(kernels()["load"], 1, 32, args, dynamic_shared=1024, engine=engine)

    outside = TensorMap(0x1234560, 7, (16, 8), (64,), (16, 4), (1, 1)).encoded()
    with pytest.raises(Fault, match=r"tensor copy: 256 bytes out of bounds of global memory.*tensor_copies\.cu:"):
        run(outside)
    with pytest.raises(Fault, match="an interleaved tensor map of 2 axes with a swizzle of 0 bytes, which is not"):
        run(TensorMap(0, 7, (16, 8), (64,), (16, 4), (1, 1), flags=1 << 11).encoded())
    slices = TensorMap(0, 7, (4, 8, 2), (64, 512), (4, 4, 1), (1, 1, 1), flags=1 << 11).encoded()
    with pytest.raises(Fault, match="a store by an interleaved tensor map, which is not simulated"):
        banksim.run(kernels()["store"], 1, 32, [slices, out, 256, 0, 0, 0], dynamic_shared=1024, engine=engine)
    at[0] = 3
    with pytest.raises(Fault, match="from byte 12 of a row on, which is no multiple of 16: an illegal instruction"):
        run(m)
    at[0] = 0
    with pytest.raises(Fault, match="asynchronous copy of 16 bytes out of bounds in shared memory"):
        banksim.run(kernels()["load"], 1, 32, [m, 2, at, out, 0], dynamic_shared=0, engine=engine)


@pytest.mark.parametrize(
    ("shape", "kind", "box", "how", "said"),
    [
        ((4, 5), "f4", (2, 4), {}, "strides"),
        ((4, 16), "f4", (2, 3), {}, "rows of 12 bytes"),
        ((4, 16), "f4", (2, 16), {"swizzle": 32}, "multiples of 16 and at most 32"),
        ((4, 16), "f4", (2, 16), {"swizzle": 48}, "swizzle 48"),
        ((4, 16), "f4", (2,), {}, "one number for each of 2 axes"),
        ((4, 16), "f4", (2, 512), {}, "1 to 256"),
        ((4, 16), "c8", (2, 16), {}, "elements of complex64"),
        ((1, 1, 1, 1, 1, 16), "f4", (1,) * 6, {}, "6 axes"),
    ],
)
def test_maps_that_cannot_be(shape: Any, kind: str, box: Any, how: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        banksim.tensor_map(np.zeros(shape, kind), box, **how)


def test_a_tensor_descriptor_of_triton_is_taken_apart() -> None:
    """The kernel gets its map, its sizes and its strides, as from Triton's launcher."""
    sizes = (4, 128, 4, 4, 8, 8, 8)
    preset = Preset((32, 1, 1), 0, (), (((4, 16), 64),))
    parameters = tuple(Parameter(n, 128 * n, size) for n, size in enumerate(sizes))
    kernel = replace(assembler.kernel(["EXIT"]), parameters=parameters, preset=preset)
    array, other = numbers((8, 32), "f4"), np.zeros(4)
    first, m, *shape, last = tensor_arguments(kernel, [7, array, other])
    assert (first, last is other) == (7, True)
    assert (m.box, m.swizzle, m.array is array) == ((4, 16), 64, True)
    assert [int(n) for n in shape] == [8, 32, 32, 1]
    assert [n.itemsize for n in shape] == [4, 4, 8, 8]
    assert tensor_arguments(replace(kernel, preset=None), [array]) == [array]
    assert tensor_arguments(kernel, [7, banksim.tensor_map(array, (4, 16), 64), other])[0] == 7
    for box, swizzle in (((4, 8), 64), ((4, 16), 0)):
        with pytest.raises(InputError, match="the kernel was compiled for boxes of"):
            tensor_arguments(kernel, [7, banksim.tensor_map(array, box, swizzle), other])
