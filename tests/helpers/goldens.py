"""Goldens: what a report must say, as literal text in files of tests/goldens."""

from __future__ import annotations

import os

from helpers.places import GOLDENS


def assert_golden(text: str, name: str) -> None:
    """`text` is what tests/goldens/`name`.txt holds; BANKSIM_WRITE_GOLDENS=1 writes it there first."""
    path = GOLDENS / f"{name}.txt"
    if "BANKSIM_WRITE_GOLDENS" in os.environ:
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
