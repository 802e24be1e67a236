"""Records that compiled code works on: each field lies where C would put it."""

from typing import Annotated, Protocol

import numpy as np

from banksim.machine.state import layout
from banksim.system.compiled_types import I4, U8, Integers, fields


class Example(Protocol):
    count: I4
    address: U8
    few: Annotated[Integers, "u4", 3]
    lanes: Annotated[Integers, "u4", (2, 32)]


def test_a_record_lies_as_its_fields_say() -> None:
    lies = layout(Example)
    assert fields(Example) == [(name, lies[name]) for name in lies.names or ()]
    places = {name: kind[1] for name, kind in (lies.fields or {}).items()}
    assert places == {"count": 0, "address": 8, "few": 16, "lanes": 64}
    assert lies.itemsize == 64 + 2 * 32 * 4
    assert lies["lanes"] == np.dtype(("u4", (2, 32)))
