"""Requests that are judged together are judged as each by itself."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from banksim.architectures.bank_rules import AccessRule, Architecture, Serves, architecture
from banksim.banks.compiled.many_requests import LARGEST, REQUESTS
from banksim.banks.compiled.site_sums import tally
from banksim.banks.replay import _tally as by_the_scalar_rule
from banksim.banks.rule import judge
from banksim.requests.copies import of_known_cost, period_of
from banksim.requests.counts import ends
from banksim.requests.kinds import COPIES, FULL_MASK, OP_CODES, OPS, SOURCE_BIT
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
def test_requests_that_are_alike_but_for_a_move_and_some_that_almost_are(arch: Architecture) -> None:
    """Each site sends one request again and again, of one kind or two; in each tenth one thing is otherwise."""
    rng, rounds = np.random.default_rng(2), 40
    ours = [kind for kind in kinds(arch=arch) if kind[0] != "bulk"]
    sites = len(ours)
    row = np.arange(rounds * sites)
    site = row % sites
    op, width = (np.array(column)[site] for column in zip(*ours, strict=True))
    base = rng.integers(0, 256, (sites, 32))
    base[::2] = np.arange(32)
    period = np.array([min(period_of(name, arch.period), 1 << 20) for name, _ in ours])[site]
    moves = rng.integers(0, 16, len(row)) * np.maximum(period, width) * (period < 1 << 20)
    mask = rng.choice([FULL_MASK, FULL_MASK, 0x0FF0F0F3], sites)[site]
    odd = np.flatnonzero(rng.random(len(row)) < 0.1)
    what, lane = rng.integers(0, 6, len(row)), rng.integers(0, 32, len(row))
    address = base[site] * width[:, None] + moves[:, None]
    for k in odd.tolist():
        if what[k] == 0:  # a lane elsewhere, active or not
            address[k, lane[k]] ^= width[k] << rng.integers(0, 7)
        elif what[k] == 1:  # by less than whole words, rows or lines
            address[k] += width[k]
        elif what[k] == 2:
            mask[k] ^= 1 << int(lane[k])
        elif what[k] == 3:
            mask[k] = 0
        elif what[k] == 4 and op[k] in COPIES:
            address[k, lane[k]] |= 1 << SOURCE_BIT
        else:  # the kind of the site before, too
            op[k], width[k] = ours[site[k] - 1]
            address[k] = (address[k] & 0xFFF) * 16
    places = {"block": (len(row) - row) // 100, "warp": rng.integers(0, 3, len(row))}
    columns = {"op": op, "width": width, "mask": mask.astype(np.uint32), "address": address, "site": site}
    trace = Trace.from_arrays(**columns, **places)
    trace = replace(trace, op=of_known_cost(trace.op, trace.mask, trace.address))
    expected = by_the_scalar_rule(trace, arch)
    found = tally(trace, arch, 1)
    assert found.keys() == expected.keys()
    for key, figures in expected.items():
        if arch.status(OPS[key[1]], key[2]) != "unknown":
            assert found[key] == figures, (OPS[key[1]], key)


@pytest.mark.parametrize("batches", range(2, 9))
def test_a_request_with_no_active_lane_is_none_where_none_of_its_site_is_known(batches: int) -> None:
    n = batches * REQUESTS
    site = np.ones(n + 1, np.int32)
    site[:REQUESTS] = site[-REQUESTS - 1 : -1] = 0  # after some such last batch it is looked for what is known
    last = 1 * (np.arange(n + 1) == n)
    address = np.tile(4 * np.arange(32), (n + 1, 1))
    trace = Trace.from_arrays("ld", 4, np.where(last, 0, FULL_MASK), address, site=site, block=1 - last)
    arch = architecture("sm_90")
    assert tally(trace, arch, 1) == by_the_scalar_rule(trace, arch)
