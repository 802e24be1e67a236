"""`banksim run` of programs with CUDA arrays, textures and surfaces: against NumPy."""

import os
import sys

import numpy as np
import pytest

from banksim.__main__ import main
from helpers.commands import out_of
from helpers.places import DATA, PROGRAMS

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="programs run on Linux"),
    pytest.mark.usefixtures("by_nvcc_for_cpp_14"),
]
PROGRAM = str(PROGRAMS / "cuda" / "textures.cu")
W, H, D = 8, 4, 3


def test_hard_sums_and_layers_with_gradients_are_an_h200s(capfd: pytest.CaptureFixture[str]) -> None:
    """Digests of 160,000 filters at zeros of both signs and denormals, and of 2,560 fetches with gradients."""
    said = out_of(capfd, ["run", "--output", os.devnull, str(PROGRAMS / "cuda" / "filters.cu")])
    assert said == (DATA / "programs" / "filters.txt").read_text()


def test_what_programs_do_with_textures(capfd: pytest.CaptureFixture[str]) -> None:
    lines = out_of(capfd, ["run", "--output", os.devnull, PROGRAM]).splitlines()
    assert lines.pop() == "8 8 1 1, 2 0"
    numbers = {}
    for line in lines:
        words = line.split()
        first = next(n for n, word in enumerate(words) if word.lstrip("-")[:1].isdigit())
        numbers[" ".join(words[:first])] = np.array(words[first:], float)
    data = np.arange(W * H * D, dtype=np.float64).reshape(D, H, W) ** 2
    page = data[0]
    shifted = np.zeros_like(page)
    shifted[1:, 1:] = 2 * page[:-1, :-1]
    box = data
    for axis in range(3):  # a quarter of the way from each element to the next
        behind = np.concatenate([box.take(range(1, box.shape[axis]), axis), box.take([-1], axis)], axis)
        box = 0.75 * box + 0.25 * behind
    edged = np.pad(page, 1, mode="edge")
    bordered = np.pad(page[:, :-1], ((0, 0), (1, 0)), constant_values=-7)
    expected = {
        "points": page,
        "between": (edged[1:-1, 1:-1] + edged[1:-1, 2:] + edged[2:, 1:-1] + edged[2:, 2:]) / 4,
        "twice, shifted": shifted,
        "box": box,
        "sheets": np.pad(data[:, :, 1:], ((0, 0), (0, 0), (0, 1))),
        "pitch, border": bordered,
        "linear memory": [0, *page[0], 0],
        "faces": [(4 * face + element) ** 2 for face, element in enumerate((0, 1, 3, 1, 1, 0))],
        "colours": [0, 0.2, 0.4, 1, 1, 0.8, 0.6, 0],
    }
    assert list(numbers) == list(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(numbers[name], np.ravel(values), rtol=1e-5, err_msg=name)


def test_what_textures_lack_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--output", os.devnull, PROGRAM, "refused"]) == 2
    assert capfd.readouterr() == (
        "",
        "banksim: a mipmapped array of several levels: not provided: it returned cudaErrorNotSupported\n",
    )
