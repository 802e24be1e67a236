"""Warp's kernels: compiled by its own compiler with no GPU, held against NumPy; lines are those of Python."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warp as wp

import banksim
from banksim.errors import CompileError
from helpers.commands import one_line, out_of
from languages import warp_kernels as kernels
from languages import warp_products

ARCHS = ("sm_80", "sm_90")
random = np.random.default_rng(0)
SOURCE = Path(kernels.__file__).read_text().splitlines()


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(SOURCE, 1) if text in line)


@pytest.mark.parametrize("arch", ARCHS)
def test_transpose_and_its_lines(arch: str) -> None:
    x, y = random.random((64, 96), np.float32), np.zeros((96, 64), np.float32)
    done = banksim.run(kernels.transpose, (2, 3), 64, [x, y], arch=arch)
    assert (y == x.T).all()
    assert done.kernel.plain_name == "transpose"
    sites = done.conflicts.sites
    assert {Path(site.file or "").name for site in sites} == {"warp_kernels.py"}
    assert {site.line for site in sites} <= set(range(line_of("def transpose"), line_of("def total")))
    assert line_of("tile = wp.tile_load(x, shape=(TILE") in {site.line for site in sites}
    assert any(Path(file).name == "tile.h" for site in sites for file, _ in site.site.inside)


@pytest.mark.parametrize("arch", ARCHS)
def test_a_reduction(arch: str) -> None:
    x, out = np.arange(512, dtype=np.float32), np.zeros(1, np.float32)
    banksim.run(kernels.total, 4, 128, [x, out], arch=arch)
    assert out[0] == x.sum()


@pytest.mark.parametrize("arch", ARCHS)
def test_softmax(arch: str) -> None:
    x = random.random((3, 128), np.float32)
    out = np.zeros_like(x)
    banksim.run(kernels.softmax, 3, 64, [x, out], arch=arch)
    expected = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, expected / expected.sum(axis=1, keepdims=True), rtol=1e-5)


def test_a_plain_launch_has_dimensions() -> None:
    x, y = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    done = banksim.run(kernels.scale, 1, None, [x, y, 2.5], const={"dim": 1000})
    assert (y == x * 2.5).all()
    assert (done.launch.grid, done.launch.block) == ((4, 1, 1), (256, 1, 1))


def test_vectors_are_elements_and_arguments() -> None:
    points, out = random.random((100, 3), np.float32), np.zeros((100, 3), np.float32)
    banksim.run(kernels.moved, 1, 32, [points, (1.0, 2.0, 3.0), out, 90], const={"dim": (100,)})
    assert (out[:90] == points[:90] + np.array([1, 2, 3], np.float32)).all()
    assert not out[90:].any()


@pytest.mark.parametrize(("kind", "factor"), [(np.float32, 2.5), (np.int32, 3), (np.float64, np.float64(0.5))])
def test_generic_kernels_take_the_types_of_their_arguments(kind: type, factor: Any) -> None:
    x = np.arange(300).astype(kind)
    banksim.run(kernels.generic, 1, None, [x, factor], const={"dim": 300})
    assert (x == np.arange(300).astype(kind) * factor).all()


def test_structs_and_arrays_of_warp() -> None:
    """By an instance of Warp's, by names, and as banksim has structs."""
    x, expected = np.arange(64, dtype=np.float32), np.arange(64, dtype=np.float32) * 2 + 5
    line = kernels.Line()
    line.x, line.slope, line.start = wp.array(x, device="cpu"), 2.0, wp.vec3(4.0, 5.0, 6.0)
    fields = {"start": (4, 5, 6), "slope": 2, "x": x}
    for given in (
        line,
        fields,
        banksim.Struct(x=x, slope=np.float32(2), start=(np.float32(4), np.float32(5), np.float32(6))),
    ):
        out = wp.zeros(64, dtype=float, device="cpu")
        banksim.run(kernels.on_line, 1, None, [given, out], const={"dim": 64})
        assert (out.numpy() == expected).all()


def test_a_tiled_product() -> None:
    a, b = (random.integers(-4, 5, shape).astype(np.float32) for shape in ((32, 16), (16, 32)))
    c = np.zeros((32, 32), np.float32)
    done = banksim.run(warp_products.product, (2, 2), 64, [a, b, c], arch="sm_80")
    assert (c == a @ b).all()
    assert done.conflicts.requests > 0
    assert {Path(site.file or "").name for site in done.conflicts.sites} >= {"warp_products.py"}


def test_what_is_missing_or_odd_is_one_line() -> None:
    x = np.zeros(128, np.float32)
    cases: list[tuple[Any, list[Any], dict[str, Any], str]] = [
        (kernels.scale, [x, x], {"dim": 128}, "scale takes 3 arguments (x, y, factor), 2 were given"),
        (kernels.scale, [x, x, 1], {"dim": "many"}, "give one to 4 sizes"),
        (kernels.scale, [x, x, 1], {"BLOCK": 4}, "Warp's kernels have no constant BLOCK: give dim alone"),
        (kernels.scale, [x, x.astype(np.int32), 1], {"dim": 128}, "argument y holds int32[128], and its elements are"),
        (kernels.scale, [x, x.reshape(2, 64), 1], {"dim": 1}, "argument y has 2 dimensions, and the kernel takes 1"),
        (kernels.scale, [x, 3, 1], {"dim": 1}, "argument y is a int: give a NumPy array"),
        (kernels.scale, [x, x, x], {"dim": 1}, "argument factor is an array, and the kernel takes a float"),
        (kernels.generic, [x], {"dim": 1}, "generic takes 2 arguments (x, factor), 1 were given"),
        (kernels.on_line, [{"x": x, "slope": 2}, x], {"dim": 1}, "argument line: field start of Line is missing"),
    ]
    for kernel, args, const, told in cases:
        with one_line(told):
            banksim.run(kernel, 1, 32, args, const=const)


def test_a_compiler_that_ends_its_process_is_survived(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wp, "compile_aot_module", lambda *_, **__: os.abort())
    x = np.zeros(96, np.float32)
    with pytest.raises(CompileError, match=r"scale: its compiler gave up on code for sm_90 \(SIGABRT\)$"):
        banksim.run(kernels.scale, 1, 96, [x, x.copy(), 1.5], const={"dim": 96})


def test_the_command(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["kernel", f"{here / 'warp_kernels.py'}:transpose", "--grid", "1,1", "--block", "64", "--json"]
    found = json.loads(out_of(capsys, [*words, "--arg", "float32[32,32]=random", "--arg", "float32[32,32]"]))
    assert found["kernel"] == "transpose"
    assert found["conflicts"][0]["transactions"] > 0
