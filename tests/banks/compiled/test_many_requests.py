"""Requests that are judged together are judged as each by itself."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from banksim.architectures.bank_rules import AccessRule, Architecture, Serves, architecture
from banksim.banks.compiled.many_requests import LARGEST, REQUESTS
from banksim.banks.compiled.site_sums import tally
from banksim.banks.rule import judge
from banksim.requests.counts import ends
from banksim.requests.kinds import COPIES, FULL_MASK, OP_CODES
from banksim.requests.trace import Trace
from helpers.strategies import FAMILIES, RULES, cases, kinds

END = 1 << LARGEST


@pytest.mark.parametrize("whole", [True, False], ids=["whole warps", "any lanes"])
@pytest.mark.parametrize("arch", FAMILIES, ids=lambda arch: arch.name)
@settings(max_examples=15)
@given(data=st.data())
def test_requests_of_one_kind_have_the_counts_of_the_scalar_rule(
    arch: Architecture, whole: bool, data: st.DataObject
) -> None:
    """Wherever they lie: within what a key holds of an address, at its end, and beyond."""
    op, width = data.draw(st.sampled_from([kind for kind in kinds(arch=arch) if kind[0] not in COPIES]))
    some = data.draw(st.lists(cases(((op, width),)), min_size=1, max_size=5))
    last = max(max(case.address) for case in some) + width
    far = data.draw(st.sampled_from([0, (END - last) // 256 * 256, END - 256, END]))
    rows = [some[k % len(some)] for k in range(REQUESTS + 9)]
    masks = [FULL_MASK if whole else case.mask for case in rows]
    address = np.array([case.address for case in rows], np.uint32) + np.uint32(far)
    found = tally(Trace.from_arrays(op, width, masks, address, site=np.arange(len(rows))), arch, 1)
    for site, (mask, row) in enumerate(zip(masks, address.tolist(), strict=True)):
        if mask:
            known = judge(row, op, width, mask, arch)
            assert known is not None
            counts, ideal, degrees = ends(known[0]), known[1], ends(known[2])
            figures = found[site, OP_CODES[op], width]
            assert figures[:6] == (1, *counts, ideal, *degrees)


@pytest.mark.parametrize("request_bytes", [4, 8])
@pytest.mark.parametrize("serves", ["word", "lane", "once"])
def test_wide_accesses_that_are_sent_as_several_requests_cost_all_of_them(serves: Serves, request_bytes: int) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 1 << 10, (REQUESTS, 32), np.uint32) * np.uint32(16)
    known = AccessRule(32, "assumed", "a variant", serves=serves, request_bytes=request_bytes)
    for name in ("kepler-4", "sm_90"):
        arch = replace(architecture(name), accesses={("ld", 16): known})
        found = tally(Trace.from_arrays("ld", 16, FULL_MASK, rows, site=np.arange(REQUESTS)), arch, 1)
        for site, row in enumerate(rows.tolist()):
            judged = judge(row, "ld", 16, FULL_MASK, arch)
            assert judged is not None
            assert found[site, OP_CODES["ld"], 16][:6] == (1, *ends(judged[0]), judged[1], *ends(judged[2]))


def test_columns_may_be_slices_or_one_value_for_all() -> None:
    rng, n = np.random.default_rng(1), 3 * REQUESTS + 5
    address = rng.integers(0, 4096, (n, 32), np.uint32) * np.uint32(16)
    columns = {"op": rng.choice(["ld", "st"], n), "width": rng.choice([4, 16], n), "mask": rng.integers(0, 1 << 32, n)}
    columns |= {name: rng.integers(0, 4, n) for name in ("site", "block", "warp")}
    whole = Trace.from_arrays(address=address, **columns)
    known = tally(whole, architecture("sm_90"), 1)
    sliced = {name: np.repeat(getattr(whole, name), 3, axis=0)[1::3] for name in (*columns, "address")}
    assert tally(replace(whole, **sliced), architecture("sm_90"), 1) == known
    for name in columns:
        first = np.broadcast_to(getattr(whole, name)[0], n)
        one, copied = (replace(whole, **{name: column}) for column in (first, first.copy()))
        assert tally(one, architecture("sm_90"), 1) == tally(copied, architecture("sm_90"), 1)


@pytest.mark.parametrize("arch", RULES, ids=lambda arch: arch.name)
def test_requests_without_conflicts_and_one_among_them(arch: Architecture) -> None:
    """In each eighth batch one is odd: it leaves out a bank of a part (each once), or lanes, or is of another kind."""
    rng, rounds = np.random.default_rng(2), 48
    known = [kind for kind in kinds(arch=arch) if kind[0] not in COPIES and not re.match("remote|.*matrix", kind[0])]
    which = rng.integers(0, len(known), (rounds, 8))
    which[40:, 2] = known.index(("ld", 16))
    which = np.repeat(which, REQUESTS)[: -REQUESTS // 2]
    rules = [arch.access(*kind) for kind in known]
    unit = np.array([max(kind[1], arch.bank_width) for kind in known])[which, None]
    width = np.array([kind[1] for kind in known])[which]
    op, mask, turn = [known[k][0] for k in which], np.full(len(which), FULL_MASK), rng.integers(0, 32, len(which))
    address = unit * (np.arange(32) ^ turn[:, None]) + 4096 * rng.integers(0, 8, (len(which), 32))
    address += rng.integers(0, 16, address.shape) * width[:, None] % unit
    odd = REQUESTS * (8 * np.arange(rounds) + 2) + rng.integers(0, REQUESTS, rounds)
    for bit, row in enumerate(odd[:32].tolist()):
        rule = rules[which[row]]
        assert rule is not None
        lane = bit ^ turn[row] & (rule.lanes - 1)
        address[row, lane] = address[row, lane ^ 1] ^ 4096
    mask[odd[32:40]] ^= 0xFF << 8 * (np.arange(8) % 4)
    width[odd[40:]] = 1
    trace = Trace.from_arrays(op, width, mask, address, site=np.arange(len(which)))
    found = tally(trace, arch, 1)
    plain: dict[int, tuple[int, ...]] = {}
    for row in range(len(trace)):
        figures = found[row, trace.op[row], width[row]][:6]
        if row in odd or which[row] not in plain:
            judged = judge(address[row].tolist(), op[row], int(width[row]), int(mask[row]), arch)
            assert judged is not None
            expected = (1, *ends(judged[0]), judged[1], *ends(judged[2]))
            if row not in odd:
                plain[which[row]] = expected
        else:
            expected = plain[which[row]]
        assert figures == expected, (op[row], width[row], hex(mask[row]), address[row])
