"""Some inputs of every target of the harness, the same in every run; `python tests/fuzz/harness.py` runs more."""

from __future__ import annotations

import pytest
from harness import harm
from targets import TARGETS

INPUTS = {"expression": 150, "launch": 40, "cubin": 15, "ptx": 4, "cuda": 2, "trace": 150, "bomb": 6}


@pytest.mark.parametrize("target", TARGETS)
def test_any_input_works_or_is_refused_in_a_line(target: str) -> None:
    assert [problem for number in range(INPUTS[target]) if (problem := harm(target, number))] == []
