"""Programs that launch clusters of blocks, and make tensor maps."""

import os
import sys

import pytest

from banksim.__main__ import main
from helpers.places import PROGRAMS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs run on Linux")


@pytest.mark.parametrize("program", ["clusters.cu", "tensor_maps.cu"])
def test_a_program_ends_well(program: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--output", os.devnull, str(PROGRAMS / "cuda" / program)]) == 0
    assert capfd.readouterr().out == ""
