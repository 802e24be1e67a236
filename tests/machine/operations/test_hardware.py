"""Operations on odd operands come out of both engines as an H200 computed them, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import operations as recorder
import pytest

import banksim
from helpers import recordings

LAST_BITS, LOGARITHM = 4096, 2.0**-21
"""How far results that depend on MUFU's tables may be off: in units of the last place, after the operations that
follow; and a logarithm, absolutely."""
GROUPS = recorder.groups()


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
@pytest.mark.parametrize("group", GROUPS)
def test_operations_equal_the_h200(group: str, engine: str) -> None:
    expressions, expected = GROUPS[group], recordings.arrays("operations")[group]
    operands = recorder.operands(expressions[0].kind)
    out = np.zeros_like(expected)
    grid = recorder.COUNT // recorder.BLOCK if engine == "llvm" else 1
    banksim.run(recordings.kernels("operations")[group], grid, recorder.BLOCK, [operands, out], engine=engine)
    some = slice(grid * recorder.BLOCK)
    wrong = []
    for expression, got, want in zip(expressions, out[:, some], expected[:, some], strict=True):
        if not expression.table:
            bad = got != want
        elif expression.kind.endswith("x2"):
            bad = far_halves(got, want)
        else:
            bad = far(got, want, "lg2" in expression.text or "log" in expression.text)
        if bad.any():
            n = int(np.argmax(bad))
            values = ", ".join(f"{name} = {v:#x}" for name, v in zip("abc", operands[:, n], strict=True))
            wrong.append(f"{expression.text}: {got[n]:#x}, not {want[n]:#x}, of {values} ({bad.sum()} of {len(bad)})")
    assert not wrong, "\n".join(wrong)


def far(got: Any, want: Any, logarithm: bool) -> Any:
    """Where two float32 (in the lower halves of 64-bit slots) differ by more than their last bits."""
    a, b = (v.astype(np.uint32).view(np.float32) for v in (got, want))
    near = np.abs(got.astype(np.int64) - want.astype(np.int64)) <= LAST_BITS
    with np.errstate(invalid="ignore"):
        near |= logarithm & (np.abs(a - b) <= LOGARITHM)
    return ~(near | (np.isnan(a) & np.isnan(b)))


def far_halves(got: Any, want: Any) -> Any:
    """Where pairs of halves differ by more than one unit in the last place."""
    halves = (v.astype(np.uint32)[:, None].view(np.uint16).astype(np.int64) for v in (got, want))
    return (np.abs(np.subtract(*halves)) > 1).any(axis=1)
