"""The records that compiled code works on have, for the type checker, the fields that their layouts have."""

import numpy as np
import pytest

from banksim.machine import compiled_records as machine
from banksim.machine import state
from banksim.machine.races import compiled_records as races
from banksim.machine.races import records
from banksim.system.compiled_types import Integer, Integers
from banksim.timing import issue_records, issue_table

PAIRS = [
    (machine.Context, state.CONTEXT),
    (machine.Warp, state.WARP),
    (machine.Memo, state.MEMO),
    (machine.Tally, state.TALLY),
    (races.Watch, records.WATCH),
    (races.Member, records.MEMBER),
    (races.Finding, records.FINDING),
    (issue_records.IssueRow, issue_table.CODE),
    (issue_records.ResidentWarp, issue_records.RESIDENT_WARP),
]


@pytest.mark.parametrize(("seen", "layout"), PAIRS, ids=[seen.__name__ for seen, _ in PAIRS])
def test_a_record_is_seen_as_it_lies(seen: type, layout: np.dtype) -> None:
    fields = layout.fields
    assert fields is not None
    named = {"Integer": Integer, "Integers": Integers}  # as annotations that are postponed say it
    assert {name: named.get(kind, kind) for name, kind in seen.__annotations__.items()} == {
        name: Integers if kind[0].shape else Integer for name, kind in fields.items()
    }
