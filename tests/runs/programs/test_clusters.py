"""Programs that launch clusters of blocks."""

from __future__ import annotations

import os
import sys

import pytest

from banksim.__main__ import main
from helpers.places import PROGRAMS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs run on Linux")


def test_launches_by_attributes(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--output", os.devnull, str(PROGRAMS / "cuda" / "clusters.cu")]) == 0
    assert capfd.readouterr().out == ""
