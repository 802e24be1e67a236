"""Fetches from textures as an H200 does them, with linear filters and without."""

from __future__ import annotations

from typing import Any

import numpy as np
import texture_fetches as recorder

from helpers import recordings
from helpers.texture_model import BORDER, Texture
from machine.operations.test_textures import run

OF_THREE_AXES = 2
"""The row of results whose filter has three axes."""


def is_followed(kind: str, how: dict[str, Any]) -> bool:
    """Whether results are equal bit for bit: all but those of signed bytes that are filtered, and along three axes with
    normalized coordinates. (A border's colour of integers is here in units of elements.)"""
    if how.get("linear") and kind == "i1":
        return False
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
        if how.get("linear") and how.get("normalized") and kind != "corner":
            same[OF_THREE_AXES] = True
        assert same.all(), (number, kind, channels, how, same)
        compared += 1
    assert compared > 400
