"""Uniform instructions, those that read uniform registers, pairs of halves, doubles and products of 64 bits, over and
over, beside what one H200 took."""

from functools import cache

import numpy as np
import pytest

import banksim
from banksim.kernels.cubin import decode
from helpers.recordings import clocked, decode_variants, variant

FILE = "timing/h200_uniform"
TAKEN = [
    ("all_uiadd3", 1), ("all_uiadd3", 16), ("all_uimad", 8), ("all_ulea", 8), ("all_umov", 8),
    ("first_mixed", 12), ("first_two", 12), ("first_third", 8), ("u_lop3_u", 8), ("l_lop3_u", 8), ("l_mov_u", 8),
    ("fresh_uni_0", 8), ("carry_3", 8), ("old_3", 8), ("wide_u_u", 16), ("all_hmma2", 8), ("hmma2_hmul2", 8),
    ("hmul2_ffma", 8), ("hmul2_ffma2", 8), ("dfma2_lop3", 8), ("dadd_dfma3", 8), ("all_vimnmx3", 8),
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def decoded() -> None:
    """The kernels of all tests, with one start of nvdisasm."""
    decode_variants(FILE, [name for name, _ in TAKEN])


@cache
def taken(name: str, warps: int) -> tuple[int, int]:
    """Cycles of so many warps, simulated and measured."""
    arrays, _ = clocked(FILE)
    clocks, out = np.zeros((32, 2), np.uint32), np.zeros(1024, np.uint32)
    given = [clocks, out, *map(np.uint32, (8, 1, 2, 3, 4))]
    banksim.run(decode(variant(FILE, name))["uniform6"], 1, 32 * warps, given, timing=True)
    rows = {(row[0], row[1]): row[2] for row in arrays["cycles"].tolist()}
    n = arrays["names"].tolist().index(name)
    return int(clocks[:warps, 1].max() - clocks[:warps, 0].min()), rows[n, warps]


@pytest.mark.parametrize(("name", "warps"), TAKEN)
def test_they_take_what_they_took(name: str, warps: int) -> None:
    simulated, measured = taken(name, warps)
    assert simulated == pytest.approx(measured, rel=0.025)
