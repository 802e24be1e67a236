"""Layouts of Triton's Gluon, without Triton: what they mean, and what copies between them ask for.

tests/languages/test_gluon.py holds the same against Triton itself, where that is installed.
"""

import json
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import banksim
from banksim import layout, layout_pattern
from banksim.errors import BanksimError
from banksim.layouts import gluon, gluon_text
from banksim.layouts.gluon import (
    BlockedLayout,
    DistributedLinearLayout,
    NVMMASharedLayout,
    PaddedSharedLayout,
    SharedLinearLayout,
    SliceLayout,
    SwizzledSharedLayout,
)
from banksim.patterns import PatternError
from helpers.commands import one_line, out_of

ROWS = BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
COLUMNS = BlockedLayout([8, 1], [8, 4], [1, 4], [0, 1])
powers = st.integers(0, 4).map(lambda bits: 1 << bits)


@st.composite
def blocked(draw: st.DrawFn, rank: int = 2) -> BlockedLayout:
    def split(bits: int) -> list[int]:
        sizes = [1] * rank
        for _ in range(bits):
            sizes[draw(st.integers(0, rank - 1))] *= 2
        return sizes

    order = draw(st.permutations(range(rank)))
    return BlockedLayout(split(draw(st.integers(0, 3))), split(5), split(draw(st.integers(0, 2))), order)


# ---- shared memory
@settings(max_examples=30)
@given(powers, powers, powers, st.permutations(range(3)), st.tuples(powers, powers, powers))
def test_a_swizzle_moves_vectors_within_a_row(
    vec: int, per_phase: int, max_phase: int, order: list[int], shape: tuple[int, ...]
) -> None:
    found = SwizzledSharedLayout(vec, per_phase, max_phase, order).places(shape).reshape(shape)
    columns, rows = shape[order[0]], shape[order[1]]
    for element in list(product(*map(range, shape)))[:: max(1, prod(shape) // 200)]:
        column, row, rest = (element[axis] for axis in order)
        moved = column ^ (row // per_phase % max_phase * vec % columns)
        assert found[element] == (rest * rows + row) * columns + moved


@pytest.mark.parametrize(
    ("bytes_", "swizzle"), [(128, "S<3,4,3>"), (64, "S<2,4,3>"), (32, "S<1,4,3>")], ids=["128", "64", "32"]
)
@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("shape", [(64, 256), (8, 128), (512, 128)])
def test_panels_of_tma_are_cutes(bytes_: int, swizzle: str, bits: int, shape: tuple[int, int]) -> None:
    """CuTe's layout of the same panels: rows of so many bytes, panels one behind the other, of 256 rows at most."""
    rows, columns = shape
    panel = 8 * bytes_ // bits
    high = min(rows, 256)
    expected = layout(
        f"{swizzle} o smem_ptr[{bits}b] o (({high},{rows // high}),({panel},{columns // panel})):"
        f"(({panel},{high * panel}),(1,{rows * panel}))"
    )
    places = expected.at(np.arange(expected.size)).reshape(columns, rows).T * 8 // bits
    assert (NVMMASharedLayout(bytes_, bits).places(shape) == places.ravel()).all()
    transposed = NVMMASharedLayout(bytes_, bits, transposed=True)
    if rows <= 256:
        assert (transposed.places((columns, rows)).reshape(columns, rows) == places.T).all()


def test_padding_is_as_tritons_documentation_shows_it() -> None:
    plain = PaddedSharedLayout.with_identity_for([[2, 1], [4, 2]], [8], [0])
    assert plain.places((8,)).tolist() == [0, 1, 3, 4, 8, 9, 11, 12]
    assert PaddedSharedLayout([[2, 2]], [[2], [1]], [], [4]).places((4,)).tolist() == [0, 4, 1, 5]
    turned = PaddedSharedLayout([[8, 1]], [[0, 1], [0, 2], [2, 0], [4, 0], [1, 0]], [], [8, 4]).places((8, 4))
    rows = [0, 2, 4, 6, 1, 3, 5, 7]
    assert [turned.reshape(8, 4)[row, 0] for row in rows] == [0, 4, 9, 13, 18, 22, 27, 31]


@given(st.permutations(range(6)))
def test_bases_of_places_are_inverted(order: list[int]) -> None:
    bases = [[1 << bit, 0] if bit < 3 else [0, 1 << bit - 3] for bit in order]
    found = SharedLinearLayout(bases).places((8, 8)).reshape(8, 8)
    for place in range(64):
        coordinate = np.zeros(2, int)
        for bit, basis in enumerate(bases):
            coordinate ^= np.array(basis) * (place >> bit & 1)
        assert found[tuple(coordinate)] == place


# ---- threads
@given(blocked(), st.tuples(powers, powers))
def test_blocks_of_threads_cover_the_tensor(held: BlockedLayout, shape: tuple[int, int]) -> None:
    """Thread by thread: where its first element is, and which neighbours it holds."""
    found = held.held(shape)
    tile = np.array(held.size_per_thread) * held.threads_per_warp * held.warps_per_cta
    for thread in (0, 1, 7, 31, len(found) - 1):
        lane, warp = np.zeros(2, int), np.zeros(2, int)
        rest_lane, rest_warp = thread % 32, thread // 32
        for axis in held.order:
            rest_lane, lane[axis] = divmod(rest_lane, held.threads_per_warp[axis])
            rest_warp, warp[axis] = divmod(rest_warp, held.warps_per_cta[axis])
        first = (lane + warp * held.threads_per_warp) * held.size_per_thread
        expected = {
            tuple(((first + within + again * tile) % shape).tolist())
            for within in np.ndindex(*held.size_per_thread)
            for again in np.ndindex(*(-(-size // one) for size, one in zip(shape, tile, strict=True)))
        }
        assert set(map(tuple, found[thread].tolist())) == expected
    assert len({tuple(one) for one in found.reshape(-1, 2).tolist()}) == prod(shape)


@given(blocked(), st.tuples(powers, powers))
def test_a_linear_layout_with_the_same_bases_is_the_same(held: BlockedLayout, shape: tuple[int, int]) -> None:
    found = held.held(shape)

    def bases(numbers: np.ndarray) -> list[list[int]]:
        return [numbers[1 << bit].tolist() for bit in range(len(numbers).bit_length() - 1)]

    linear = DistributedLinearLayout(bases(found[0]), bases(found[:32, 0]), bases(found[::32, 0]), [], shape)
    assert (linear.held(shape) == found).all()


def test_a_slice_holds_what_its_parent_does() -> None:
    rows = SliceLayout(1, ROWS).held((64,))
    assert rows[::8, 0, 0].tolist() == [*range(16)]
    assert SliceLayout(0, ROWS).held((64,))[:8, 0, 0].tolist() == [0, 8, 16, 24, 32, 40, 48, 56]


# ---- copies
@settings(max_examples=20)
@given(blocked(), st.sampled_from([(32, 32), (16, 64), (16, 16)]), st.sampled_from([1, 2, 4]), powers, powers, powers)
def test_counts_are_those_of_the_addresses(
    held: BlockedLayout, shape: tuple[int, int], size: int, vec: int, per_phase: int, max_phase: int
) -> None:
    """`banksim.transactions` on the addresses of single elements; wider atoms hold the same bytes."""
    shared = SwizzledSharedLayout(vec, per_phase, max_phase, [1, 0])
    index, places = gluon.elements_of_threads(shared, held, shape)
    place = places[index] * size
    single = layout_pattern(shared, held, shape=shape, dtype=f"uint{8 * size}", atom=size)
    warps = place.reshape(-1, 32, place.shape[1]).transpose(0, 2, 1).reshape(-1, 32)
    assert banksim.replay(single).transactions == np.sum(banksim.transactions(warps, width=size))
    widest = layout_pattern(shared, held, shape=shape, dtype=f"uint{8 * size}")
    assert len(widest) * int(widest.width[0]) == len(single) * size
    covered = widest.address[:, :, None] + np.arange(0, widest.width[0], size)
    for warp in range(len(place) // 32):
        for lane in range(32):
            mine = covered[widest.warp == warp][:, lane].ravel()
            assert sorted(mine.tolist()) == sorted(place[32 * warp + lane].tolist())


def test_a_swizzle_cures_columns() -> None:
    """A tile of 64 × 64 halves is written by rows and read by columns: 8 lanes are 8 rows apart."""
    plain = SwizzledSharedLayout(1, 1, 1, [1, 0])
    for shared, rows, columns in (
        (plain, 64, 1024),
        (SwizzledSharedLayout(8, 8, 8, [1, 0]), 64, 128),
        (PaddedSharedLayout.with_identity_for([[512, 8]], [64, 64], [1, 0]), 64, 128),
    ):
        stored = layout_pattern(shared, ROWS, shape=(64, 64), dtype="half", op="st")
        loaded = layout_pattern(shared, COLUMNS, shape=(64, 64), dtype="half")
        found = [banksim.replay(trace).transactions for trace in (stored, loaded)]
        assert (found[0], found[1]) == (rows, columns)


@pytest.mark.parametrize(
    ("held", "pairs", "shape", "dtype", "expected"),
    [
        # eight columns of a thread lie side by side, though its registers have its two rows first
        (BlockedLayout([2, 8], [2, 16], [1, 2], [0, 1]), [[16, 4]], (32, 32), "float", ("ld", 16, 64, 256)),
        (BlockedLayout([8, 2], [4, 8], [2, 4], [0, 1]), [[16, 16]], (64, 32), "half", ("ld", 4, 64, 256)),
        # a padding of one element: every second pair of bytes is aligned, and LLVM makes one access of each of these
        (BlockedLayout([8, 2], [4, 8], [2, 4], [0, 1]), [[32, 1]], (64, 32), "int8_t", "which of them Triton's"),
        # Triton takes four floats at once, of which the padding moves some to multiples of 4 bytes
        (BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0]), [[32, 1]], (32, 32), "float", "pad by multiples of 16 bytes"),
    ],
)
def test_padding_and_the_width_of_an_access(
    held: BlockedLayout, pairs: list[list[int]], shape: tuple[int, int], dtype: str, expected: Any
) -> None:
    """As the code does that Triton 3.9 makes (languages/test_gluon.py)."""
    shared = PaddedSharedLayout.with_identity_for(pairs, shape, [1, 0])
    if isinstance(expected, str):
        with pytest.raises(BanksimError, match=expected):
            layout_pattern(shared, held, shape=shape, dtype=dtype)
        return
    [site] = banksim.replay(layout_pattern(shared, held, shape=shape, dtype=dtype)).sites
    assert (site.op, site.width, site.requests, site.transactions) == expected


# ---- as they are printed
@pytest.mark.parametrize(
    ("ir", "python"),
    [
        (
            "#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], "
            "order = [1, 0], CTAsPerCGA = [1, 1], CTAOrder = [1, 0]}>",
            ROWS,
        ),
        (
            "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 4, order = [0, 1]}>",
            SwizzledSharedLayout(8, 1, 4, [0, 1]),
        ),
        (
            "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 16}>",
            NVMMASharedLayout(64, 16, transposed=True),
        ),
        (
            "#ttg.linear<{register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], "
            "block = []}>",
            DistributedLinearLayout([[0, 1]], [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], [], [], (8, 8)),
        ),
    ],
    ids=["blocked", "swizzled", "nvmma", "linear"],
)
def test_both_printed_forms_are_read(ir: str, python: object) -> None:
    assert gluon_text.parse(ir, (8, 8)) == python
    found = gluon_text.parse(f"ttgl.{python}", (8, 8))
    assert str(found).replace("(", "[").replace(")", "]") == str(python).replace("(", "[").replace(")", "]")


@pytest.mark.parametrize(
    ("text", "message", "marked"),
    [
        ("FooLayout(3)", None, "FooLayout"),
        ("SwizzledSharedLayout(vec=1, foo=3)", None, "foo"),
        ("SwizzledSharedLayout(1, 1, 1, [1, 0], [], 7)", None, "7"),
        ("SwizzledSharedLayout(1, 1)", "SwizzledSharedLayout lacks max_phase, order", "SwizzledSharedLayout(1, 1)"),
        ("SwizzledSharedLayout(1, 1", "syntax error: expected `)` or `,`, found the end", ""),
        ("SwizzledSharedLayout(1, 1.5, 1, [1])", None, "1.5"),
        ("SwizzledSharedLayout(1, 1, 1, [1, 0]) + 1", "syntax error: expected the end, found `+`", "+"),
        ("#ttg.amd_mfma<{}>", None, "amd_mfma"),
        ("#ttg.swizzled_shared<{vex = 1}>", None, "vex"),
        (
            "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0], CTAsPerCGA = [2]}>",
            "clusters of blocks are not known",
            "[",
        ),
        ("SwizzledSharedLayout(" + "[" * 30, "more than 16 lists are inside each other", "["),
    ],
)
def test_what_is_wrong_is_pointed_at(text: str, message: str | None, marked: str) -> None:
    with pytest.raises(PatternError) as caught:
        layout_pattern(text, ROWS, shape=(64, 64))
    assert message in (None, caught.value.message)
    assert caught.value.text[caught.value.start : caught.value.end] == marked


@pytest.mark.parametrize(
    ("shared", "held", "options", "told"),
    [
        (SwizzledSharedLayout(1, 1, 1, [1, 0]), ROWS, {}, "give the shape of the tensor too"),
        (SwizzledSharedLayout(1, 1, 1, [1, 0]), ROWS, {"shape": (48, 64)}, "Triton's sizes are powers of two"),
        (SwizzledSharedLayout(3, 1, 1, [1, 0]), ROWS, {"shape": (64, 64)}, "3 is no power of two"),
        (SwizzledSharedLayout(1, 1, 1, [1, 1]), ROWS, {"shape": (64, 64)}, "does not name each axis once"),
        (SwizzledSharedLayout([1], 1, 1, [1, 0]), ROWS, {"shape": (64, 64)}, "vec has to be a whole number"),  # type: ignore[arg-type]
        (SwizzledSharedLayout(1, 1, 1, [0]), ROWS, {"shape": (64, 64)}, "does not fit the shape"),
        (SwizzledSharedLayout(1, 1, 1, [1, 0], [[0, 1]]), ROWS, {"shape": (64, 64)}, "clusters of blocks"),
        (NVMMASharedLayout(128, 16), ROWS, {"shape": (64, 32), "dtype": "half"}, "is smaller than 8 rows of 64"),
        (NVMMASharedLayout(128, 16), ROWS, {"shape": (64, 64)}, "elements have 16 bits, and those of float 32"),
        (SharedLinearLayout([[1, 0], [1, 0]]), ROWS, {"shape": (2, 2)}, "do not lay each element"),
        (ROWS, ROWS, {"shape": (64, 64)}, "give a layout of shared memory, and one of threads"),
        ("(8,64)", ROWS, {}, "with a distributed layout of Gluon, give one of Gluon's of shared memory"),
        ("(8,64)", "32", {"shape": (8, 64)}, "a shape is for layouts of Gluon"),
        (
            SwizzledSharedLayout(1, 1, 1, [1, 0]),
            BlockedLayout([1, 1], [4, 4], [1, 1], [1, 0]),
            {"shape": (64, 64)},
            "gives a warp 16 threads: it has 32",
        ),
        (SwizzledSharedLayout(1, 1, 1, [1, 0]), ROWS, {"shape": (64, 64), "atom": "ldmatrix_x4"}, "banksim kernel"),
    ],
)
def test_what_cannot_be_is_refused(shared: object, held: object, options: dict[str, object], told: str) -> None:
    with one_line(told):
        layout_pattern(shared, held, **options)  # type: ignore[arg-type]


def test_the_command_takes_printed_layouts(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--layout", "SwizzledSharedLayout(vec=8, per_phase=1, max_phase=8, order=[1, 0])", "--shape", "64,64"]
    words += ["--dtype", "float16", "--threads", f"gl.{ROWS}", "--threads", f"gl.{COLUMNS}", "--op", "st", "--op", "ld"]
    found = json.loads(out_of(capsys, ["pattern", *words, "--json", "--arch", "sm_80,sm_90"]))["conflicts"]
    for one in found:
        assert [(site["width"], site["transactions"]) for site in one["sites"]] == [(16, 64), (2, 1024)]
