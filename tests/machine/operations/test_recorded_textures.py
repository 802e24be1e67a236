"""Fetches from textures as an H200 does them: those without a filter, and those with linear filters of one and two
axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import texture_fetches as recorder

from helpers import recordings
from helpers.texture_model import BORDER, CLAMP, Texture
from machine.operations.test_textures import run

OF_THREE_AXES = 2
"""The row of results whose filter has three axes."""


def is_followed(kind: str, how: dict[str, Any]) -> bool:
    """Whether results are equal bit for bit. (A border's colour of integers is the one exception among those without a
    filter: here it is in units of elements.)"""
    if not how.get("linear"):
        return kind.startswith("f") or how["modes"][0] != BORDER
    return kind in ("u1", "u2", "i2", "corner") and how["modes"][0] == CLAMP


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
        if how.get("linear"):
            same[OF_THREE_AXES] = True
        assert same.all(), (number, kind, channels, how, same)
        compared += 1
    assert compared > 100
