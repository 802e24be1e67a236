"""cuFFT's stand-in: a program's transforms against their definition, and what it says of wrong calls."""

import numpy as np
import pytest

from banksim.__main__ import main
from banksim.errors import UnsupportedError
from helpers.library_calls import called
from helpers.places import PROGRAMS

pytestmark = pytest.mark.usefixtures("by_nvcc_for_cpp_14")
FOURIER = str(PROGRAMS / "cuda" / "fourier.cu")
Said = pytest.CaptureFixture[str]


def test_a_program_finds_the_transforms_that_it_computes_itself(capfd: Said) -> None:
    """fourier.cu compares each kind of transform and of layout with the definition, and says where they differ; with an
    H200's own cuFFT nothing did."""
    assert main(["run", "--output", "-", FOURIER]) == 0
    said = capfd.readouterr()
    assert said.out.startswith("done\n")
    assert "39 calls by NumPy, not counted: cuFFT C2C (8)" in said.out
    assert not said.err


def test_values_beyond_an_allocation_are_told(capfd: Said) -> None:
    assert main(["run", "--output", "/dev/null", FOURIER, "outside"]) == 2
    said = capfd.readouterr()
    assert said.out == "6\n"  # CUFFT_EXEC_FAILED
    assert said.err == "banksim: cuFFT C2C: 64 bytes at byte 0 of allocation 1 (56 bytes) are not all in it\n"


def test_a_function_that_is_missing_is_named(capfd: Said) -> None:
    assert main(["run", "--output", "/dev/null", FOURIER, "missing"]) == 2
    said = capfd.readouterr()
    assert said.out == "16\n16\n"  # CUFFT_NOT_SUPPORTED
    missing = "cufftXtSetGPUs", "cufftXtMakePlanMany of half precision"
    assert said.err == "".join(f"banksim: {name}: not provided: it returned CUFFT_NOT_SUPPORTED\n" for name in missing)


def test_distances_below_zero_are_refused() -> None:
    """They would read what lies before an allocation."""
    values, layout = np.zeros(64, np.uint8), (8, 0, 0, -1, 8)
    with pytest.raises(UnsupportedError, match="cuFFT C2C: distances below 0 between values"):
        called("cuFFT", "C2C", values, values, -1, 1, 1, 8, 0, 0, *layout, *layout)
