"""Fetches from textures as an H200 does them, with linear filters and without."""

from typing import Any

import numpy as np
import texture_fetches as recorder

from helpers import recordings
from helpers.texture_model import Texture
from machine.operations.test_textures import OTHER_ARCHITECTURES, run

FETCHES = recorder.fetches()
ROWS = recordings.arrays("texture_fetches")["rows"]


def as_stored(name: str, kind: str, how: dict[str, Any]) -> dict[str, Any]:
    """How a texture is read, with its border's colour in units of elements. Of integers that are read as such, the
    driver takes the lowest of the colour's bits."""
    if "border" not in how or kind not in ("u1", "i1", "u2", "i2", "u4", "i4"):
        return how
    colour = np.array(how["border"], np.float32)
    stored = colour.view(np.uint32).astype(kind) if name == "integers" else colour * np.iinfo(kind).max
    return {**how, "border": stored.tolist()}


def compare(number: int, engine: str = "llvm", arch: str = "sm_90") -> None:
    """A fetch by its number among those recorded, bit for bit."""
    name, kind, channels, how, places = FETCHES[number]
    given: Any = [
        Texture(recorder.content(shape, channels, kind), axes, layered=layered, **as_stored(name, kind, how))
        for shape, axes, layered in recorder.SHAPES.values()
    ]
    at = recorder.coordinates(bool(how.get("normalized")), places)
    out = np.zeros((7, recorder.LANES, 4), np.float32 if name == "floats" else np.int32)
    run(name, [out, given, at], engine, arch)
    same = recorder.digests(out[..., :channels] if places else out) == ROWS[number]
    assert same.all(), (number, kind, channels, how, same)


def test_results_are_an_h200s() -> None:
    """Every format, address mode and filter."""
    for number in range(len(FETCHES)):
        compare(number)


def test_results_on_the_other_engine() -> None:
    for number in range(3, len(FETCHES), 7):
        compare(number, "numpy")


@OTHER_ARCHITECTURES
def test_results_of_the_code_of_other_architectures(arch: str) -> None:
    for number in range(5, len(FETCHES), 60):
        compare(number, arch=arch)


def test_cube_maps_are_seen_as_by_an_h200() -> None:
    """In 2,048 directions, among them such as meet edges and corners, or are no numbers."""
    found = recordings.arrays("cube_maps")
    for (side, layered, linear, mode), wanted in zip(found["how"].tolist(), found["results"], strict=True):
        numbers = np.arange(side * side * 6 * (1 + layered), dtype=np.uint32)
        texels = (numbers * np.uint32(2654435761) >> 20).astype(np.float32).reshape(-1, side, side, 1)
        seen = Texture(texels, 2, True, True, bool(linear), modes=(mode, mode, mode))
        out = np.zeros_like(wanted)
        run("cubes", [out, seen, found["directions"], found["layers"], len(out), layered])
        np.testing.assert_array_equal(out.view(np.uint32), wanted.view(np.uint32))
