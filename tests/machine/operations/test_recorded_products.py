"""Products of warp groups as an H200 computes and counts them: odd numbers, and descriptors that read anywhere."""

import os
from typing import Any

import numpy as np
import pytest
import warpgroup_products as recorder
from warpgroup_products import GROUPS, Form, layout_forms, layouts, operands, shape_forms, shapes, value_forms

import banksim
from banksim.kernels.compilers import assemble
from banksim.kernels.cubin import decode
from helpers import recordings

ALL = os.environ.get("BANKSIM_MATRIX") == "all"
"""Whether every product that was recorded is computed (some minutes)."""
VALUES = [form for form in value_forms() if ALL or form.registers or form.d == "f16" or (form.a == form.b != "u8")]
BY_NUMPY = [Form("f32", "f16", "f16", 8), Form("f32", "e4m3", "e5m2", 8), Form("f16", "e5m2", "e4m3", 8)]
SHAPES = [form for form in shape_forms() if ALL or (form.d, form.a, form.columns) == ("f32", "e4m3", 96)]
RECORDED, KERNELS = recordings.arrays("warpgroup_products"), recordings.kernels("warpgroup_products")


def check(group: str, form: Form, kernel: Any, given: tuple[Any, ...], engine: str = "llvm") -> None:
    """Results, bit for bit, and the count of every tile."""
    d, images, a, which = (array.copy() for array in given)
    args = [d, images, np.int32(images.shape[1]), a, which, np.int32(1)]
    done = banksim.run(kernel, len(d), 128, args, engine=engine)
    wanted = RECORDED[f"{group}/{form.name}"][: len(d)]
    np.testing.assert_array_equal(np.flatnonzero(recorder.digests(d) != wanted), [], "tiles that differ")
    [site] = [s for s in done.conflicts.sites if s.op == "wgmma"]
    counts = {*RECORDED[f"counts/{form.name}"].tolist()}
    assert (counts, site.status) == ({site.transactions / len(d)}, "measured")
    assert site.transactions == site.ideal


@pytest.mark.parametrize("form", VALUES, ids=lambda form: form.name)
def test_sums_of_odd_numbers(form: Form) -> None:
    check("values", form, KERNELS[form.name], operands(form))


@pytest.mark.parametrize("form", BY_NUMPY, ids=lambda form: form.name)
def test_sums_of_odd_numbers_on_the_other_engine(form: Form) -> None:
    given = tuple(array[:8] for array in operands(form))
    check("values", form, KERNELS[form.name], given, "numpy")


@pytest.mark.parametrize("form", layout_forms(), ids=lambda form: form.name)
def test_descriptors_that_read_anywhere(form: Form) -> None:
    check("layouts", form, KERNELS[form.name], layouts(form))


@pytest.mark.parametrize("form", SHAPES, ids=lambda form: form.name)
def test_numbers_of_columns(form: Form) -> None:
    text = f".version 8.4\n.target sm_90a\n.address_size 64\n{form.ptx}"
    check("shapes", form, decode(assemble(text, "sm_90a"))[form.name], shapes(form))


def test_what_is_counted_is_what_is_read() -> None:
    """32 bytes of each row of A, unless it is in registers, and of each column of B, in pieces of 128."""
    forms = dict.fromkeys(form for of_group, _ in GROUPS.values() for form in of_group())
    for form in forms:
        counts = {*RECORDED[f"counts/{form.name}"].tolist()}
        assert counts == {(0 if form.registers else 16) + form.columns // 4}, form.name
