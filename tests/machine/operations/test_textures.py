"""Textures and surfaces on both engines and of every architecture: which element is read or written, and what is told
of them. test_recorded_textures.py has formats, address modes and filters."""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from texture_fetches import LANES, coordinates, filled

import banksim
from banksim.architectures.bank_rules import architecture
from banksim.errors import Fault
from banksim.kernels.global_addresses import ARGUMENTS
from banksim.machine.launch import Buffer, prepare
from banksim.runs.options import Options
from banksim.runs.run import execute_launch
from helpers.operations import ENGINES
from helpers.places import KERNELS
from helpers.texture_model import BORDER, CLAMP, Texture

OTHER_ARCHITECTURES = pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_100", "sm_120"])
Array = npt.NDArray[Any]
Given = list["Texture"] | Texture | Array | int


@cache
def kernels(arch: str) -> Any:
    return banksim.load(KERNELS / "textures.cu", arch)


def run(name: str, given: list[Given], engine: str = "llvm", arch: str = "sm_90") -> None:
    """Launch a kernel on arrays, textures (by their objects), lists of these, and numbers."""
    buffers: list[Array] = []
    objects: dict[int, int] = {}

    def placed(array: Array) -> int:
        buffers.append(array)
        return ARGUMENTS.address_of(len(buffers))

    def object_of(texture: Texture) -> int:
        if id(texture) not in objects:
            placed(texture.data)
            objects[id(texture)] = placed(texture.descriptor(len(buffers))) >> 32
        return objects[id(texture)]

    words = []
    for one in given:
        if isinstance(one, list):
            one = np.array([object_of(texture) for texture in one], np.uint64)
        words.append(
            placed(one) if isinstance(one, np.ndarray) else object_of(one) if isinstance(one, Texture) else one
        )
    kernel = kernels(arch)[name]
    parameters = [word.to_bytes(p.size, "little") for word, p in zip(words, kernel.parameters, strict=True)]
    memory = [Buffer(a.reshape(-1).view(np.uint8), f"array {n}") for n, a in enumerate(buffers)]
    launch = prepare(kernel, 1, LANES, parameters, memory)
    execute_launch(launch, (architecture(arch),), Options(engine=engine))


def agree(out: Array, expected: Any) -> None:
    wanted = np.ascontiguousarray(np.array(expected).astype(out.dtype))
    np.testing.assert_array_equal(out.view(np.uint32), wanted.view(np.uint32))


def bound(engine: str, arch: str) -> None:
    one = Texture(filled((1, 6, 9), 4, "f4"), 2)
    others = [Texture(filled((1, 4 + n, 7), 1, "f4"), 2) for n in range(2)]
    deep = [Texture(filled((3, 4 + n, 7), 1, "f4"), 3) for n in range(2)]
    layers = [Texture(filled((3, 4 + n, 7), 1, "f4"), 2, layered=True) for n in range(2)]
    at, out = coordinates(False), np.zeros((7, LANES), np.float32)
    run("bound", [out, one, [*others, *deep, *layers], at], engine, arch)
    f4, lanes = np.float32, range(LANES)
    three = [np.array(one.read([at[1, n], at[0, n]]), f4) for n in lanes]
    expected = [
        [one.read([at[0, n], at[1, n]])[0] for n in lanes],
        [v[0] + v[1] + v[3] for v in three],
        [others[n % 2].read([at[0, n], at[1, n]])[0] for n in lanes],
        [deep[0].read([at[0, n], at[1, n], at[2, n]])[0] for n in lanes],
        [deep[n % 2].read([at[0, n], at[1, n], at[2, n]])[0] for n in lanes],
        [one.read([at[0, n], at[1, n]])[0] for n in lanes],
        [layers[n % 2].read([at[0, n], at[1, n]], 1)[0] for n in lanes],
    ]
    agree(out, expected)


@ENGINES
def test_objects_of_a_parameter_and_of_each_thread(engine: str) -> None:
    bound(engine, "sm_90")


def gradients(engine: str, arch: str) -> None:
    """A texture without levels is read alike whatever the gradients are."""
    shapes = ((4, 1, 9), 1), ((4, 6, 9), 2)
    given = [Texture(filled(shape, 4, "f4"), axes, layered=True) for shape, axes in shapes]
    out = np.zeros((4, LANES, 4), np.float32)
    run("gradients", [out, given, coordinates(False)], engine, arch)
    agree(out[1::2], out[::2])
    assert len(np.unique(out)) > LANES


@ENGINES
def test_layers_with_gradients(engine: str) -> None:
    gradients(engine, "sm_90")


@OTHER_ARCHITECTURES
def test_code_of_other_architectures(arch: str) -> None:
    gradients("llvm", arch)
    bound("llvm", arch)
    gathers("llvm", arch)
    moves("llvm", arch)
    numbers("llvm", arch)


def gathers(engine: str, arch: str) -> None:
    one, other = (Texture(filled((1, 6, 9), 4, kind), 2, as_float=kind == "u1") for kind in ("f4", "u1"))
    at, out = coordinates(False), np.zeros((3, LANES, 4), np.float32)
    run("gathered", [out, one, [other, one], at], engine, arch)
    both = (other, one)
    expected = [
        [one.gathered(list(at[:2, n]), 0) for n in range(LANES)],
        [one.gathered(list(at[:2, n]), 2) for n in range(LANES)],
        [both[n % 2].gathered(list(at[:2, n]), 3) for n in range(LANES)],
    ]
    agree(out, expected)


@ENGINES
def test_gathers(engine: str) -> None:
    gathers(engine, "sm_90")


def numbers(engine: str, arch: str) -> None:
    """Check sizes, and elements of linear memory by number, which are 0 beyond its end."""
    out, deep = np.zeros(3, np.int32), Texture(filled((5, 6, 9), 1, "f4"), 3)
    run("sizes", [out, deep], engine, arch)
    assert out.tolist() == [9, 6, 5]
    line = Texture(filled((1, 1, 20), 2, "u2"), 1, as_float=True, modes=(BORDER, CLAMP, CLAMP))
    at, found = np.arange(-3, LANES - 3, dtype=np.int32), np.zeros((LANES, 4), np.float32)
    run("elements", [found, line, at], engine, arch)
    agree(found, [line.result(line.element([int(n)], 0)) for n in at])


@ENGINES
def test_sizes_and_elements_by_number(engine: str) -> None:
    numbers(engine, "sm_90")


def moves(engine: str, arch: str) -> None:
    kinds = (("u1", 1), ("i2", 1), ("f4", 1), ("i4", 2), ("f4", 4))
    flat = [Texture(filled((1, 4, 8), channels, kind), 2) for kind, channels in kinds]
    deep, sheets = (Texture(filled((3, 4, 8), 1, "f4"), axes, layered=axes == 2) for axes in (3, 2))
    lines = Texture(filled((4, 1, 8), 1, "f4"), 1, layered=True)
    source = [*flat, deep, sheets, lines]
    to = [Texture(np.zeros_like(t.data), t.axes, t.layered) for t in source]
    run("surfaces", [source, to], engine, arch)
    shifts = (0, 0, True), (2, -1, True), (-2, 1, False), (-1, 0, True), (1, 0, False)
    for t, done, (dx, dy, clamped) in zip(flat, to, shifts, strict=False):
        y, x = np.meshgrid(np.arange(4) + dy, np.arange(8) + dx, indexing="ij")
        inside = (x >= 0) & (x < 8) & (y >= 0) & (y < 4) | clamped
        expected = np.where(inside[..., None], t.data[0, y.clip(0, 3), x.clip(0, 7)], 0)
        np.testing.assert_array_equal(done.data[0], expected)
    np.testing.assert_array_equal(to[5].data[2], deep.data[1])
    np.testing.assert_array_equal(to[6].data[0], sheets.data[2])
    np.testing.assert_array_equal(to[7].data, lines.data[::-1])


@ENGINES
def test_surfaces(engine: str) -> None:
    moves(engine, "sm_90")
    surface = Texture(np.zeros((1, 4, 8, 1), np.int32), 2)
    at = np.array([[0] * 16 + [3] * 16, [1] * LANES, [5] * LANES], np.int32)
    run("sums", [surface, at], engine)
    assert surface.data[0, 1, [0, 3], 0].tolist() == [80, 80]
    run("outside", [surface, 7], engine)
    with pytest.raises(Fault, match="store of 4 bytes out of bounds of its surface"):
        run("outside", [surface, 8], engine)
