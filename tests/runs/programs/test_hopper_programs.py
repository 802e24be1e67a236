"""Programs that launch clusters of blocks, and make tensor maps."""

import os
import sys

import pytest

from helpers.commands import out_of
from helpers.places import PROGRAMS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs run on Linux")


@pytest.mark.parametrize("program", ["clusters.cu", "tensor_maps.cu"])
def test_a_program_ends_well(program: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert out_of(capfd, ["run", "--output", os.devnull, str(PROGRAMS / "cuda" / program)]) == ""
