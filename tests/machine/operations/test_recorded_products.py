"""Products of warp groups as an H200 computes and counts them: odd numbers, and descriptors that read anywhere."""

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import warpgroup_products as recorder
from warpgroup_products import GROUPS, Form, layout_forms, layouts, operands, shape_forms, shapes, value_forms

import banksim
from banksim.kernels.compilers import assemble
from banksim.kernels.cubin import decode, decode_ahead
from helpers import recordings
from helpers.operations import ENGINES

ALL = os.environ.get("BANKSIM_MATRIX") == "all"
"""Whether every product that was recorded is computed (some minutes)."""
VALUES = [form for form in value_forms() if ALL or form.registers or form.d != "f32" or form.a == form.b]
BY_NUMPY = [Form("f32", "f16", "f16", 8), Form("f32", "e4m3", "e5m2", 8), Form("f16", "e5m2", "e4m3", 8)]
SHAPES = [form for form in shape_forms() if ALL or (form.a, form.columns) in (("e4m3", 96), ("f16", 256), ("b1", 24))]
FEW = 8
"""Tiles of those recorded that are computed on both engines: by their numbers, descriptors of every kind."""
DENSE = 128 >> 4 << 16 | 256 >> 4 << 32
"""A descriptor of core matrices side by side, from the beginning of shared memory on."""
RECORDED, KERNELS = recordings.arrays("warpgroup_products"), recordings.kernels("warpgroup_products")


def launched(kernel: Any, given: tuple[Any, ...], engine: str, add: bool = True) -> tuple[Any, banksim.Conflicts]:
    """D after a launch; and its conflicts. `add`: whether D is added to the product."""
    d, images, a, which = (array.copy() for array in given)
    args = [d, images, np.int32(images.shape[1]), a, which, np.int32(add)]
    return d, banksim.run(kernel, len(d), 128, args, engine=engine).conflicts


def check(group: str, form: Form, kernel: Any, given: tuple[Any, ...], engine: str = "llvm", add: bool = True) -> None:
    """Results, bit for bit, and the count of every tile."""
    d, conflicts = launched(kernel, given, engine, add)
    wanted = RECORDED[f"{group}/{form.name}"][: len(d)]
    np.testing.assert_array_equal(np.flatnonzero(recorder.digests(d) != wanted), [], "tiles that differ")
    [site] = [s for s in conflicts.sites if s.op == "wgmma"]
    counts = {*RECORDED[f"counts/{form.name}"].tolist()}
    assert (counts, site.status) == ({site.transactions / len(d)}, "measured")
    assert site.transactions == site.ideal


def made(*forms: Form) -> list[Any]:
    """The kernels of forms of which none was recorded."""
    cubins = [assemble(f".version 8.4\n.target sm_90a\n.address_size 64\n{form.ptx}", "sm_90a") for form in forms]
    decode_ahead(cubins)
    return [decode(cubin)[form.name] for cubin, form in zip(cubins, forms, strict=True)]


@pytest.mark.parametrize("form", VALUES, ids=lambda form: form.name)
def test_sums_of_odd_numbers(form: Form) -> None:
    check("values", form, KERNELS[form.name], operands(form))


@pytest.mark.parametrize("form", BY_NUMPY, ids=lambda form: form.name)
def test_sums_of_odd_numbers_on_the_other_engine(form: Form) -> None:
    given = tuple(array[:FEW] for array in operands(form))
    check("values", form, KERNELS[form.name], given, "numpy")


@pytest.mark.parametrize("form", layout_forms(), ids=lambda form: form.name)
def test_descriptors_that_read_anywhere(form: Form) -> None:
    check("layouts", form, KERNELS[form.name], layouts(form))
    some = tuple(array[:FEW] for array in layouts(form))
    check("layouts", form, KERNELS[form.name], some, "numpy")


@ENGINES
def test_nothing_is_added_where_the_scale_is_0(engine: str) -> None:
    """Those that were recorded added zeros."""
    form = layout_forms()[0]
    d, *others = (array[:FEW] for array in layouts(form))
    check("layouts", form, KERNELS[form.name], (np.full_like(d, 0x3F800000), *others), engine, add=False)


@ENGINES
def test_signs_and_registers_of_which_none_was_recorded(engine: str) -> None:
    """Where nothing is added, two negated operands give what two plain ones do, and one what its bits negated give.
    A in registers, with B across, gives what A in shared memory does, which has been recorded."""
    across = next(form for form in layout_forms() if form.across == (0, 1))
    both, one = (replace(across, signs=signs) for signs in ((-1, -1), (1, -1)))
    registers = replace(across, registers=True)
    given = tuple(array[:FEW] for array in layouts(across))
    kernels = made(both, one, registers)
    wanted, _ = launched(KERNELS[across.name], given, engine)
    assert wanted.any()
    check("layouts", across, kernels[0], given, engine)
    np.testing.assert_array_equal(-launched(kernels[1], given, engine)[0].view("f4"), wanted.view("f4"))
    d, images, _, which = given
    which = np.stack([np.full(len(d), DENSE, np.uint64), which[:, 1]], axis=1)
    rows = images[:, :2048].reshape(-1, 8, 2, 8, 16).transpose(0, 1, 3, 2, 4).reshape(-1, 64, 32)  # of core matrices
    words, thread = np.ascontiguousarray(rows).view(np.uint32), np.arange(128)
    row, four = thread // 32 * 16 + thread % 32 // 4, thread % 4
    a = np.stack([words[:, row + 8 * (n & 1), four + 4 * (n >> 1)] for n in range(4)], axis=1)
    shared, _ = launched(KERNELS[across.name], (d, images, a, which), engine)
    np.testing.assert_array_equal(launched(kernels[2], (d, images, a, which), engine)[0], shared)


@pytest.mark.parametrize("form", SHAPES, ids=lambda form: form.name)
def test_numbers_of_columns(form: Form) -> None:
    check("shapes", form, *made(form), shapes(form))


def test_what_is_counted_is_what_is_read() -> None:
    """32 bytes of each row of A, unless it is in registers, and of each column of B, in pieces of 128."""
    forms = dict.fromkeys(form for of_group, _ in GROUPS.values() for form in of_group())
    for form in forms:
        counts = {*RECORDED[f"counts/{form.name}"].tolist()}
        assert counts == {(0 if form.registers else 16) + form.columns // 4}, form.name
