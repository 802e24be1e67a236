"""Recordings are found by the name of their recorder, and read once."""

import numpy as np
import pytest
from launches import LAUNCHES

from helpers import recordings


def test_a_recording_is_what_its_files_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    found = recordings.arrays("warpgroup_products")
    assert found.keys() >= {"counts/f32_f16_f16_n8_s_pp00"}
    launches = {launch.name: launch.kernel for launch in LAUNCHES if launch.source == "order"}
    recorded = {one["name"]: one["kernel"] for one in recordings.text("order")["launches"]}
    assert recorded == launches
    assert {*recorded.values()} <= recordings.kernels("order").keys()
    monkeypatch.setattr(np, "load", lambda *args: pytest.fail("read again"))
    assert recordings.arrays("warpgroup_products") is found


def test_a_recorder_without_a_file_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        recordings.arrays("nothing")
