"""Uniform instructions and those that read uniform registers, over and over, beside what one H200 took."""

from functools import cache

import numpy as np
import pytest

import banksim
from banksim.kernels.cubin import decode
from helpers.recordings import clocked


@cache
def taken(name: str, warps: int) -> tuple[int, int]:
    """Cycles of so many warps, simulated and measured. The loop's body was written into one kernel's code."""
    arrays, _ = clocked("timing/h200_uniform")
    n = arrays["names"].tolist().index(name)
    code, begin, body = bytearray(arrays["cubin"].tobytes()), int(arrays["begin"]), arrays["bodies"][n].tobytes()
    code[begin : begin + len(body)] = body
    clocks, out = np.zeros((32, 2), np.uint32), np.zeros(1024, np.uint32)
    given = [clocks, out, *map(np.uint32, (8, 1, 2, 3, 4))]
    banksim.run(decode(bytes(code))["uniform6"], 1, 32 * warps, given, timing=True)
    rows = {(row[0], row[1]): row[2] for row in arrays["cycles"].tolist()}
    return int(clocks[:warps, 1].max() - clocks[:warps, 0].min()), rows[n, warps]


@pytest.mark.parametrize(
    ("name", "warps"),
    [
        ("all_uiadd3", 1), ("all_uiadd3", 16), ("all_uimad", 8), ("all_ulea", 8), ("all_umov", 8),
        ("first_mixed", 12), ("first_two", 12), ("first_third", 8), ("u_lop3_u", 8), ("l_lop3_u", 8), ("l_mov_u", 8),
        ("fresh_uni_0", 8), ("carry_3", 8), ("old_3", 8),
    ],
)  # fmt: skip
def test_they_take_what_they_took(name: str, warps: int) -> None:
    simulated, measured = taken(name, warps)
    assert simulated == pytest.approx(measured, rel=0.025)
