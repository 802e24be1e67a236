"""The NumPy engine against an H200: recorded launches whose threads diverge."""

import pytest

from helpers.recorded_launches import launched
from machine.test_reconvergence import SMALL, recorded_rows, rows_of


@pytest.mark.parametrize("name", SMALL)
def test_the_numpy_engine_executes_what_the_h200_did(name: str) -> None:
    assert rows_of(launched(name, engine="numpy")[0]) == recorded_rows(name)
