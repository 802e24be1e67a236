"""Advice on tiles that tensor maps copy: places are those of the copies, counts those of the requests, and descriptors
of wgmma read the tile."""

import json
from typing import Any

import numpy as np
import pytest
from warpgroup_products import IMAGE, Form

import banksim
from banksim.__main__ import main
from banksim.advise.layouts.tiles import WHAT, TileAdvice, TileLayout, advise_tile, layouts
from banksim.errors import InputError
from helpers import recordings
from helpers.commands import err_of, out_of


def by_swizzle(advice: TileAdvice, way: str) -> dict[tuple[int, int], Any]:
    """Transactions of a way of reading, by swizzle and bytes of a box's row."""
    found = {}
    for one in advice.judged:
        [reading] = [r for r in one.readings if r.way == way]
        found[one.layout.swizzle, one.layout.columns * advice.element] = reading.transactions
    return found


def test_what_each_swizzle_costs() -> None:
    advice = advise_tile(128, 64, 2)
    assert by_swizzle(advice, "ldmatrix") == {
        (128, 128): 128, (64, 64): 128, (32, 32): 128, (0, 16): 128, (0, 128): 1024,
    }  # fmt: skip
    assert by_swizzle(advice, "rows") == {(128, 128): 128, (64, 64): 256, (32, 32): 512, (0, 16): 1024, (0, 128): 128}
    assert by_swizzle(advice, "wgmma") == {(128, 128): 128, (64, 64): 128, (32, 32): 128, (0, 16): 128, (0, 128): None}
    assert advice.best.layout.name == "128 B"


def test_a_narrow_tile_takes_the_swizzle_that_fits_it() -> None:
    assert (
        advise_tile(64, 32, 2, ("ldmatrix",)).verdict
        == "Take a swizzle of 64 B, boxes of 64 × 32: no conflict is left."
    )
    assert advise_tile(64, 8, 2, ("ldmatrix", "columns")).judged[0].misfits == 1
    assert advise_tile(600, 64, 2, ("rows",)).best.layout.copies == 3  # of 200 rows


@pytest.mark.parametrize(
    ("rows", "columns", "element"), [(600, 64, 2), (4, 64, 2), (514, 32, 4), (2, 512, 1), (48, 8, 8)]
)
def test_boxes_make_the_tile_and_begin_where_tensor_maps_may(rows: int, columns: int, element: int) -> None:
    for one in advise_tile(rows, columns, element).judged:
        box = one.layout.rows * one.layout.columns
        assert one.layout.copies * box == rows * columns
        assert one.layout.copies == 1 or box * element % 128 == 0
        assert sorted(one.layout.places.ravel()) == list(range(0, rows * columns * element, element))


@pytest.mark.parametrize("swizzle", [32, 64, 128])
def test_swizzles_are_the_copies(swizzle: int) -> None:
    """As the design has TMA's: a ^ (((a % (8·S)) >> 7) << 4)."""
    [found] = [one for one in layouts(64, 64, 2) if one.swizzle == swizzle]
    width = swizzle // 2
    slabs = [
        np.arange(64)[:, None] * swizzle + np.arange(swizzle)[None, ::2] + 64 * swizzle * n for n in range(64 // width)
    ]
    plain = np.concatenate(slabs, axis=1)
    np.testing.assert_array_equal(found.places, plain ^ (plain % (8 * swizzle) >> 7) << 4)


def test_counts_are_those_of_a_replay() -> None:
    advice = advise_tile(64, 64, 4, ("transposed",))
    for one in advice.judged:
        address = one.layout.places.reshape(2, 32, 64).transpose(0, 2, 1).reshape(-1, 32)
        assert one.readings[0].transactions == int(np.sum(banksim.transactions(address)))


def image(layout: TileLayout, tile: Any) -> Any:
    """The bytes of shared memory that hold a tile of halves."""
    out = np.zeros(IMAGE // 4, np.uint16)
    out[layout.places // 2] = tile.view(np.uint16)
    return out.view(np.uint8)


@pytest.mark.parametrize("way", ["wgmma", "wgmma_mn"])
def test_descriptors_read_the_tile(way: str) -> None:
    """16 of K of A and of B, whose tiles lie in every layout that fits, multiplied as the descriptors say."""
    across = int(way == "wgmma_mn")
    form = Form("f32", "f16", "f16", 16, across=(across, across))
    rng = np.random.default_rng(across)
    shapes = [(16, 64), (16, 64)] if across else [(64, 64), (16, 64)]
    tiles = [rng.integers(-8, 9, shape).astype(np.float16) for shape in shapes]
    judged = [[one for one in advise_tile(*shape, 2, (way,)).judged if not one.misfits] for shape in shapes]
    assert len(judged[0]) == 4
    images, which = [], []
    for a, b in zip(*judged, strict=True):
        images.append(
            np.concatenate([image(a.layout, tiles[0])[: IMAGE // 2], image(b.layout, tiles[1])[: IMAGE // 2]])
        )
        which.append([descriptor(a.readings[0].descriptor), descriptor(b.readings[0].descriptor) | IMAGE // 2 >> 4])
    d = np.zeros((len(images), 8, 128), np.uint32)
    kernel = recordings.kernels("warpgroup_products")[form.name]
    args = [
        d, np.array(images), np.int32(IMAGE), np.zeros((len(d), 4, 128), np.uint32), np.array(which, np.uint64),
        np.int32(0),
    ]  # fmt: skip
    done = banksim.run(kernel, len(d), 128, args)
    left, right = (tiles[0].T, tiles[1][:, :16].T) if across else (tiles[0][:, :16], tiles[1][:, :16])
    wanted = left.astype(np.float32) @ right.astype(np.float32).T
    for one in d.view(np.float32):
        np.testing.assert_array_equal(matrix(one), wanted)
    [site] = [s for s in done.conflicts.sites if s.op == "wgmma"]
    assert site.transactions == len(d) * (64 + 16) * 32 // 128


def descriptor(found: Any) -> int:
    return found.leading >> 4 << 16 | found.stride >> 4 << 32 | found.swizzle << 62


def matrix(words: Any) -> Any:
    """D of 64 × 16 from its registers (word, thread)."""
    out = np.zeros((64, 16), np.float32)
    thread = np.arange(128)
    for word in range(8):
        row = thread // 32 * 16 + thread % 32 // 4 + word // 2 % 2 * 8
        out[row, word // 4 * 8 + thread % 4 * 2 + word % 2] = words[word]
    return out


def test_what_no_tensor_map_copies_is_refused() -> None:
    for given, message in [
        ((64, 31, 4), "a tile's rows of 124 bytes: a tensor map copies multiples of 16"),
        ((0, 32, 4), "a tile of 0 × 32 elements of 4 bytes: give sizes from 1 on, and 1, 2, 4 or 8 bytes"),
        ((64, 32, 4, ("lines",)), f"'lines' is no way of reading: give {', '.join(WHAT)}"),
        (
            (1000, 64, 4),
            "a tile of 1,000 × 64 elements of 4 bytes: a block of sm_90 has 232,448 bytes of shared memory",
        ),
        (
            (10**18, 64, 4),
            f"a tile of {10**18:,} × 64 elements of 4 bytes: a block of sm_90 has 232,448 bytes of shared memory",
        ),
        ((257, 8, 2), "a tile of 257 × 8: boxes of up to 256 rows cannot all begin at multiples of 128 bytes"),
        ((64, 32, 4, (), "sm_80"), "sm_80 has no tensor maps: they begin with sm_90"),
    ]:
        with pytest.raises(InputError) as caught:
            advise_tile(*given)
        assert str(caught.value) == message


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    shown = out_of(capsys, ["advise", "tile", "128,64", "--dtype", "half", "--read", "ldmatrix,wgmma_mn"])
    assert "Take a swizzle of 128 B, boxes of 128 × 64: no conflict is left." in shown
    assert main(["advise", "tile", "128,64", "--dtype", "half", "--read", "ldmatrix", "--json"]) == 0
    tile = json.loads(capsys.readouterr().out)["tile"]
    assert tile["layouts"][0] == {
        "swizzle": 128, "box": [128, 64], "copies": 1,
        "readings": [{"way": "ldmatrix", "transactions": 128, "ideal": 128}],
    }  # fmt: skip
    assert err_of(capsys, ["advise", "tile", "128"]) == "banksim: tile 128: give its rows and columns, as 128,64\n"
