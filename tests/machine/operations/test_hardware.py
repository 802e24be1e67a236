"""Operations on odd operands come out of both engines as an H200 computed them, bit for bit."""

import numpy as np
import operations as recorder
import pytest

import banksim
from helpers import recordings

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
        bad = got != want
        if bad.any():
            n = int(np.argmax(bad))
            values = ", ".join(f"{name} = {v:#x}" for name, v in zip("abc", operands[:, n], strict=True))
            wrong.append(f"{expression.text}: {got[n]:#x}, not {want[n]:#x}, of {values} ({bad.sum()} of {len(bad)})")
    assert not wrong, "\n".join(wrong)
