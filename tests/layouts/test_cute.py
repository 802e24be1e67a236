"""Layouts in CuTe's notation: what they mean, what copies between them ask for, and what wrong ones are told."""

import json
from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import banksim
from banksim import layout, layout_pattern
from banksim.__main__ import main
from banksim.errors import InputError
from banksim.layouts.algebra import Called, Layout, Nested, Offset, Strided, Swizzle, leaves
from banksim.patterns import PatternError
from helpers.commands import err_of, out_of
from helpers.fixtures import Said

ROWS = "((8,4),8):((1,64),8)"
"""The rows of four 8 × 8 matrices side by side, one of each lane, in a tile of 8 × 64 elements."""


# ---- what a layout is
def like(shape: Nested, number: Callable[[], int]) -> Nested:
    """A stride for each size of a nested shape."""
    return number() if isinstance(shape, int) else tuple(like(mode, number) for mode in shape)


shapes = st.recursive(st.integers(1, 5), lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=5)


@st.composite
def strided(draw: st.DrawFn) -> Strided:
    shape = draw(shapes)
    return Strided(shape, like(shape, lambda: draw(st.integers(0, 70))))


@st.composite
def swizzles(draw: st.DrawFn) -> Swizzle:
    bits = draw(st.integers(0, 4))
    return Swizzle(bits, draw(st.integers(0, 4)), draw(st.sampled_from([-1, 1])) * draw(st.integers(bits, 6)))


@st.composite
def whole_layouts(draw: st.DrawFn) -> Layout:
    before = draw(st.lists(st.one_of(swizzles(), st.integers(0, 99).map(Offset)), max_size=2))
    return Layout((*before, draw(strided())))


@given(whole_layouts())
def test_the_text_of_a_layout_is_the_layout(one: Layout) -> None:
    assert layout(str(one)) == one
    loose = str(one).replace("S<", "Swizzle < ").replace(",", " , ").replace(":", " : ")
    assert layout(loose) == one
    assert layout(f"({str(one).replace(' o ', ' ∘ ')})") == one


@given(strided())
def test_places_are_numpys(one: Strided) -> None:
    """A view of numbers with the same sizes and strides; the first mode runs fastest, as in Fortran's order."""
    sizes, strides = tuple(leaves(one.shape)), tuple(leaves(one.stride))
    memory = np.arange(1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True)))
    view = np.lib.stride_tricks.as_strided(memory, sizes, [8 * stride for stride in strides])
    assert one.at(np.arange(prod(sizes))).tolist() == view.ravel(order="F").tolist()
    whole = Layout((one,))
    for coordinate in list(product(*map(range, whole.sizes)))[:20]:
        index = np.ravel_multi_index(coordinate, whole.sizes, order="F") if coordinate else 0
        assert whole(*coordinate) == whole.at(index)


@given(swizzles(), st.integers(0, 1 << 14))
def test_a_swizzle_xors_single_bits(one: Swizzle, place: int) -> None:
    expected = place
    for bit in range(one.bits):
        source, target = (one.base + bit + one.shift, one.base + bit)
        if one.shift < 0:
            source, target = one.base + bit, one.base + bit - one.shift
        expected ^= (place >> source & 1) << target
    assert one.at(np.array([place])).tolist() == [expected]


@given(whole_layouts(), strided())
def test_composition_applies_the_last_first(outer: Layout, inner: Strided) -> None:
    both = layout(f"{outer} o {inner}")
    index = np.arange(both.size)
    assert both.at(index).tolist() == outer.at(inner.at(index)).tolist()
    assert both.shape == inner.shape


def test_hierarchical_coordinates_and_cute_s_own_print() -> None:
    tiled = layout("((2,4),(8,8)):((8,64),(1,256))")
    assert tiled((1, 2), (3, 4)) == 8 + 128 + 3 + 1024
    assert tiled(5, 35) == tiled((1, 2), (3, 4)) == tiled(5 + 8 * 35)
    printed = layout("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)")
    assert [one // 2 for one in printed.at(np.arange(512))] == layout("S<3,3,3> o (8,64):(64,1)").at(
        np.arange(512)
    ).tolist()
    assert layout(str(printed)) == printed
    assert str(layout("S<3,4,3> o 0 o (8,64)")) == "S<3,4,3> o 0 o (8,64):(1,8)"


class OfAnotherLibrary:
    """A layout as tensor-layouts' are: with a shape, and called with an index."""

    shape = (4, (2, 3))

    def __call__(self, index: int) -> int:
        return 7 * index

    def __str__(self) -> str:
        return "sevens"


def test_an_object_with_a_shape_is_called() -> None:
    found = layout(OfAnotherLibrary())
    assert isinstance(found.parts[0], Called)
    assert found.at([0, 5, 23]).tolist() == [0, 35, 161]
    assert found(1, (1, 2)) == 7 * (1 + 4 * 5)
    with pytest.raises(InputError, match=r"sevens: an index of 24 is beyond its shape \(4,\(2,3\)\)"):
        found.at([24])


# ---- copies
@st.composite
def copies(draw: st.DrawFn) -> tuple[str, str, int]:
    """A layout of a tile, a layout of (thread, value) over it whose values are neighbours, and bytes of an element."""
    values = draw(st.sampled_from([1, 2, 4, 8]))
    stride = draw(st.sampled_from([values, 2 * values, 64, 96]))
    swizzle = draw(st.sampled_from(["", "S<3,3,3> o ", "S<2,4,3> o ", "S<1,3,5> o "]))
    row = draw(st.sampled_from([64, 72, 80]))
    return f"{swizzle}(64,64):(1,{row})", f"(32,{values}):({stride},1)", draw(st.sampled_from([1, 2, 4]))


@given(copies(), st.sampled_from(["ld", "st"]), st.sampled_from(["sm_90", "kepler-8", "fermi"]))
def test_counts_are_those_of_the_addresses(copy: tuple[str, str, int], op: str, arch: str) -> None:
    """`banksim.transactions` of the addresses that NumPy makes of the same layouts."""
    tile, held, size = copy
    index = layout(held).at(np.arange(layout(held).size)).reshape(-1, 32)
    place = layout(tile).at(index) * size
    for width in (1, 2, 4, 8, 16):
        count = width // size
        if not count or len(place) % count:
            continue
        atoms = place.reshape(-1, count, 32)
        fits = (atoms == atoms[:, :1] + size * np.arange(count)[:, None]).all() and not (atoms[:, 0] % width).any()
        if not fits:
            with pytest.raises(InputError, match=f"an atom of {width} bytes does not fit"):
                layout_pattern(tile, held, dtype=f"uint{8 * size}", op=op, atom=width)
            continue
        trace = layout_pattern(tile, held, dtype=f"uint{8 * size}", op=op, atom=width)
        known = banksim.transactions(atoms[:, 0], op=op, width=width, arch=arch)
        assert banksim.replay(trace, arch).transactions == np.sum(known)
        widest = width
    found = layout_pattern(tile, held, dtype=f"uint{8 * size}", op=op)
    assert set(found.width.tolist()) == {widest}


@given(
    st.tuples(st.sampled_from([1, 2, 4]), st.sampled_from([1, 3, 8])),
    st.tuples(st.sampled_from([1, 2]), st.sampled_from([1, 2, 4])),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.booleans(),
)
def test_a_tiled_copy_lays_values_side_by_side(
    threads: tuple[int, int], values: tuple[int, int], repeats: tuple[int, int], rows: bool
) -> None:
    """Held against a loop over the tile: who takes the element at each coordinate."""
    shape = tuple(t * v * r for t, v, r in zip(threads, values, repeats, strict=True))
    order = f"({threads[1]},1)" if rows else f"(1,{threads[0]})"
    trace = layout_pattern(
        f"({shape[0]},{shape[1]}):({shape[1]},1)",
        f"({threads[0]},{threads[1]}):{order}",
        values=f"({values[0]},{values[1]})",
        dtype="int8_t",
        atom=1,
    )
    taken: dict[int, list[int]] = {}
    for m, n in product(range(shape[0]), range(shape[1])):
        at = m // values[0] % threads[0], n // values[1] % threads[1]
        thread = at[0] * threads[1] + at[1] if rows else at[0] + at[1] * threads[0]
        taken.setdefault(thread, []).append(m * shape[1] + n)
    found: dict[int, list[int]] = {}
    for mask, warp, address in zip(trace.mask, trace.warp, trace.address, strict=True):
        for lane in range(32):
            if mask >> lane & 1:
                found.setdefault(32 * warp + lane, []).append(int(address[lane]))
    assert {thread: sorted(places) for thread, places in found.items()} == taken


def test_matrices_are_read_by_rows() -> None:
    addresses = [2 * (64 * (lane % 8) + 8 * (lane // 8)) for lane in range(32)]
    for tile, expected in (("(8,64):(64,1)", 32), ("S<3,3,3> o (8,64):(64,1)", 4), ("(8,64):(72,1)", 4)):
        trace = layout_pattern(tile, ROWS, dtype="half", atom="ldmatrix_x4")
        assert banksim.replay(trace).transactions == expected
    plain = layout_pattern("(8,64):(64,1)", ROWS, dtype="half", atom="SM75_U32x4_LDSM_N")
    assert plain.address.tolist() == [addresses]
    assert banksim.transactions(addresses, op="ldmatrix_x4", width=16) == 32
    two = layout_pattern("(8,64):(64,1)", ROWS, dtype="half", op="st", atom="stmatrix_x2_trans")
    assert banksim.replay(two).transactions == banksim.transactions(addresses, op="stmatrix_x2_trans", width=16)


def test_threads_fill_warps_and_the_rest_of_the_last_takes_no_part() -> None:
    trace = layout_pattern("256:1", "(40,2):(2,1)", dtype="float")
    assert trace.warp.tolist() == [0, 1]
    assert trace.mask.tolist() == [0xFFFFFFFF, 0xFF]
    assert trace.width.tolist() == [8, 8]


# ---- bad input
@pytest.mark.parametrize(
    ("text", "message", "marked"),
    [
        ("", "this is empty: give a layout such as (8,64):(64,1) or S<3,3,3> o (8,64):(64,1)", ""),
        ("S<3,3> o 8:1", "syntax error: expected `,` and the shift of the swizzle, found `>`", ">"),
        ("S<3,3,2> o 8", "a shift of 2 is shorter than the 3 bits: they would be xored with themselves", "S<3,3,2>"),
        ("S 8", "syntax error: expected `<` and bits, base and shift, as in S<3,3,3>, found `8`", "8"),
        ("(8,64):(64)", "the stride (64) has not the form of the shape (8,64)", "(64)"),
        ("(8,(2,4)):(1,8)", "the stride (1,8) has not the form of the shape (8,(2,4))", "(1,8)"),
        ("S<3,3,3>", None, "S<3,3,3>"),
        ("8:1 o S<0,0,0>", None, "S<0,0,0>"),
        ("(8,,4)", "syntax error: expected a whole number, found `,`", ","),
        ("(8,4", "syntax error: expected `)` or `,` in a tuple, found the end", ""),
        ("(8,4):(1,x)", "syntax error: expected a whole number, found `x`", "x"),
        ("8:1 8", "syntax error: expected `:`, `o` or the end, found `8`", "8"),
        ("(8,0):(1,1)", "a mode of 0 has no elements: give sizes from 1 on", "(8,0)"),
        ("(99999,99999)", "this has 9999800001 elements; the limit is 16777216", "(99999,99999)"),
        ("8:1.5", "'1.5' is no whole number below 1099511627776", "1.5"),
        ("8:-1", "syntax error: expected a whole number, found `-`", "-"),
        ("8 @ 4", "'@' has no meaning here", "@"),
        ("smem_ptr[3b] o 8:1", "give 8, 16, 32, 64 or 128 bits, as in smem_ptr[16b]", "3b"),
        ("8:1 o smem_ptr[16b] o 8:1", "a pointer stands once, left of every shape", "smem_ptr[16b]"),
        ("(" * 40, "more than 32 tuples are inside each other", "("),
    ],
)
def test_what_is_wrong_is_pointed_at(text: str, message: str | None, marked: str) -> None:
    with pytest.raises(PatternError) as caught:
        layout(text)
    if message is not None:
        assert caught.value.message == message
    assert caught.value.text[caught.value.start : caught.value.end] == marked
    assert str(caught.value).endswith("^")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"shared": "(8,64):(64,1)", "threads": "(32,32):(32,1)"},
            "(32,32):(32,1): value 0 of thread 16 is element 512, and (8,64):(64,1) has 512",
        ),
        (
            {"shared": "(8,64):(64,1)", "threads": "(3,8):(8,1)", "values": "(1,8)"},
            "(3,8):(8,1) threads with (1,8):(1,1) values take 3 elements of mode 0, which has 8: 8 is no multiple of 3",
        ),
        (
            {"shared": "(8,64):(64,1)", "threads": "(4,8):(8,2)", "values": "(1,8)"},
            "(4,8):(8,2): each thread from 0 to 31 has to stand once in the shape (4,8)",
        ),
        (
            {"shared": "(8,64):(64,1)", "threads": "32:1", "values": "8"},
            "32:1 has 1 modes, and (8,64):(64,1) has 2: give as many",
        ),
        ({"shared": "(2,4096)", "threads": "(2048,1)"}, "(2048,1):(1,2048) has 2048 threads: a block has at most 1024"),
        (
            {"shared": "(8,64):(64,1)", "threads": "(32,8):(8,1)", "dtype": "half", "atom": 16},
            "ld (32,8):(8,1): bytes 0, 128, 256, 384, … are the places of values 0 to 7 of thread 0: "
            "an atom of 16 bytes does not fit",
        ),
        (
            {"shared": "(64,8)", "threads": "(32,8):(8,1)", "dtype": "half", "atom": "ldmatrix_x8"},
            "ld (32,8):(8,1): 'ldmatrix_x8' is no atom: give ldmatrix_x1, ldmatrix_x2, ldmatrix_x4, "
            "ldmatrix_x1_trans, ldmatrix_x2_trans, ldmatrix_x4_trans, stmatrix_x1, stmatrix_x2, stmatrix_x4, "
            "stmatrix_x1_trans, stmatrix_x2_trans, stmatrix_x4_trans",
        ),
        (
            {"shared": "(64,8)", "threads": "(32,8):(8,1)", "dtype": "half", "op": "st", "atom": "ldmatrix_x4"},
            "st (32,8):(8,1): ldmatrix_x4: ldmatrix loads and stmatrix stores, and the copy is st",
        ),
        (
            {"shared": "64", "threads": "32:1", "dtype": "float", "atom": 2},
            "ld 32:1: an atom of 2 bytes holds no whole element of 4",
        ),
        (
            {"shared": "64", "threads": "32:1", "dtype": "quarter"},
            "'quarter' is no type of 1, 2, 4, 8 or 16 bytes: give one such as half, float or int8_t",
        ),
        (
            {"shared": "Sw<3,4,3> o smem_ptr[16b] o 64", "threads": "32:1"},
            "Sw<3,4,3> o smem_ptr[16b](unset) o 64:1: elements have 16 bits, and those of float 32".replace("Sw", "S"),
        ),
    ],
)
def test_copies_that_cannot_be_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        layout_pattern(**given)
    assert str(caught.value) == message


# ---- the command
def test_the_command_judges_a_copy(capsys: Said) -> None:
    words = ["pattern", "--layout", "S<3,3,3> o (8,64):(64,1)", "--dtype", "half", "--json"]
    [found] = json.loads(out_of(capsys, [*words, "--threads", "(32,8):(8,1)"]))["conflicts"]
    assert (found["requests"], found["transactions"]) == (8, 8)
    more = ["--threads", ROWS, "--op", "st", "--op", "ld", "--atom", "16", "--atom", "ldmatrix_x4"]
    assert main([*words, "--threads", "(4,8):(8,1)", "--values", "(1,8)", "--values", "", *more]) == 2
    assert capsys.readouterr().err.startswith("banksim: this is empty")
    assert "an atom of 16 bytes does not fit" in err_of(capsys, [*words, "--threads", "(256,2):(2,1)", *more])
    [found] = json.loads(out_of(capsys, [*words, "--threads", "((8,4),8):((1,64),8)", *more]))["conflicts"]
    assert [(site["op"], site["transactions"]) for site in found["sites"]] == [("st", 4), ("ldmatrix_x4", 4)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--threads", "32"], "--threads: give the layout of shared memory too, as --layout '(8,64):(64,1)'"),
        (["--layout", "32"], "--layout: give the threads of each copy too, as --threads '(32,8):(8,1)'"),
        (["s[tid]", "--layout", "32", "--threads", "32"], "--layout and an access: give one of them"),
        (["--layout", "32", "--threads", "32", "--block", "64"], "--layout and --block: give one of them"),
        (
            ["--layout", "32", "--threads", "32", "--op", "ld", "--op", "st"],
            "--op is given 2 times, and --threads 1 times: give as many, or one",
        ),
    ],
)
def test_options_that_do_not_fit_are_one_line(words: list[str], message: str, capsys: Said) -> None:
    assert err_of(capsys, ["pattern", *words]) == f"banksim: {message}\n"
