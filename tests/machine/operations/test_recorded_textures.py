"""Fetches from textures as an H200 does them, with linear filters and without."""

from typing import Any

import numpy as np
import texture_fetches as recorder

from helpers import recordings
from helpers.texture_model import BORDER, Texture
from machine.operations.test_textures import run


def is_followed(kind: str, how: dict[str, Any]) -> bool:
    """Whether results are equal bit for bit: all. (A border's colour of integers is here in units of elements.)"""
    return kind.startswith("f") or kind == "corner" or how["modes"][0] != BORDER


def test_results_are_an_h200s() -> None:
    rows = recordings.arrays("texture_fetches")["rows"]
    compared = 0
    for number, (name, kind, channels, how, places) in enumerate(recorder.fetches()):
        if not is_followed(kind, how):
            continue
        given: Any = [
            Texture(recorder.content(shape, channels, kind), axes, layered=layered, **how)
            for shape, axes, layered in recorder.SHAPES.values()
        ]
        at = recorder.coordinates(bool(how.get("normalized")), places)
        out = np.zeros((7, recorder.LANES, 4), np.float32 if name == "floats" else np.int32)
        run(name, [out, given, at])
        same = recorder.digests(out[..., :channels] if places else out) == rows[number]
        assert same.all(), (number, kind, channels, how, same)
        compared += 1
    assert compared > 400


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
