"""Some inputs of every target of the harness, the same in every run; `python tests/fuzz/harness.py` runs more."""

import pytest

from fuzz.harness import harm
from fuzz.targets import TARGETS

INPUTS = {"expression": 150, "launch": 40, "cubin": 15, "ptx": 4, "cuda": 2, "trace": 150, "bomb": 6}
FAILED = [("cubin", 50004), ("cubin", 50020), ("cubin", 50075)]
"""Inputs of longer runs that did harm once: complaints of nvdisasm in several lines, without the name of the file."""


@pytest.mark.parametrize("target", TARGETS)
def test_any_input_works_or_is_refused_in_a_line(target: str) -> None:
    assert [problem for number in range(INPUTS[target]) if (problem := harm(target, number))] == []


@pytest.mark.parametrize(("target", "number"), FAILED)
def test_what_once_did_harm_does_none(target: str, number: int) -> None:
    assert harm(target, number) is None
