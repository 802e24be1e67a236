"""Many requests: the measured ones, arrays and traces of every shape, what is refused, what is withheld."""

import importlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import banksim
from banksim.architectures.bank_rules import WIDTHS_OF, Architecture, architecture
from banksim.banks import rule
from banksim.banks.compiled import one_request
from banksim.banks.compiled.rule_words import rule_words
from banksim.banks.conflicts import Conflicts, Request, SiteConflicts
from banksim.errors import InputError, UnknownCountError
from banksim.requests.copies import of_known_cost, with_source
from banksim.requests.counts import Range, ends
from banksim.requests.kinds import BYPASSING, FULL_MASK, OPS, REMOTE, SMALL
from banksim.requests.trace import Site, Trace
from helpers.places import DATA
from helpers.strategies import RULES, Case, cases, kinds

REQUESTS = DATA / "h200_requests.npz"
COPIES = DATA / "h200_copies.npz"
BYPASS = DATA / "h200_bypass.npz"
LANE = np.arange(32)
HOPPER = architecture("hopper")


@pytest.fixture(params=["scalar", "compiled"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Judge whatever comes in plain Python, or by the compiled rule."""
    module = importlib.import_module("banksim.banks.replay")
    monkeypatch.setattr(module, "_is_small", lambda requests: request.param == "scalar")
    return str(request.param)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in several threads even on few requests."""
    from banksim.banks.compiled import site_sums
    from banksim.requests import columns

    for module, name in ((columns, "CHUNK"), (site_sums, "SOME")):
        monkeypatch.setattr(module, name, 34)  # of which the rule takes 32 at a time
    monkeypatch.setattr(columns, "cores", lambda: 3)


def trace_of(requests: list[Case], **columns: Any) -> Trace:
    address, op, width, mask = zip(*requests, strict=True)
    return Trace.from_arrays(list(op), list(width), list(mask), np.array(address), **columns)


# The measured requests


@pytest.mark.usefixtures("way")
def test_every_measured_request() -> None:
    data = np.load(REQUESTS)
    found = banksim.transactions(data["address"], op=data["op"], width=data["width"], mask=data["mask"])
    assert len(data["transactions"]) == 8752
    assert (found == data["transactions"]).sum() == 8752
    assert (banksim.ideal(data["address"], op=data["op"], width=data["width"], mask=data["mask"]) <= found).all()
    for kind in set(zip(data["op"].tolist(), data["width"].tolist(), strict=True)):
        assert HOPPER.status(*kind) == "measured"
    assert HOPPER.status("cp_async_bypass", 16) == "Nsight's"


def test_every_copy_recorded_on_the_h200(way: str) -> None:
    """tests/hardware/requests_of_copies.cu tells how they were recorded."""
    data = np.load(COPIES)
    address = with_source(data["address"], data["source"], data["width"])
    found = banksim.transactions(address, op="cp_async", width=data["width"], mask=data["mask"])
    assert len(found) == 4608
    assert (found == data["transactions"]).sum() == 4608
    assert (
        banksim.nsight_ideal(address, op="cp_async", width=data["width"], mask=data["mask"]) == data["nsight_ideal"]
    ).all()


def bypassing(op: str, data: Any) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]:
    """The addresses of the recorded copies of that op, and which they are."""
    rows = data["op"] == op
    source, target = (4 * data[name][rows].astype(np.int64) for name in ("source", "address"))
    reads = data["reads"][rows] > 0 if op == "cp_async" else True
    return with_source(target, source, data["width"][rows], op, reads), rows


@pytest.mark.parametrize(
    ("op", "known", "of"),
    [("cp_async_bypass", 2543, 4572), ("cp_async_bypass_zfill", 173, 254), ("cp_async", 762, 762)],
)
def test_every_copy_past_the_cache_or_with_zeros_recorded_on_the_h200(way: str, op: str, known: int, of: int) -> None:
    """tests/hardware/requests_past_the_cache.cu tells how they were recorded. Many of them were made to be odd: they
    write 16 bytes to two places of a line."""
    data = np.load(BYPASS)
    address, rows = bypassing(op, data)
    columns = {name: data[name][rows] for name in ("width", "mask")}
    code = np.full(rows.sum(), OPS.index(op), np.uint8)
    counted = of_known_cost(code, columns["mask"], address) == code
    assert (counted.sum(), len(counted)) == (known, of)
    columns = {name: column[counted] for name, column in columns.items()}
    assert (banksim.transactions(address[counted], op=op, **columns) == data["transactions"][rows][counted]).all()
    least = banksim.ideal(address[counted], op=op, **columns)
    if op != "cp_async":
        assert (least == data["nsight_ideal"][rows][counted]).all()
        odd = int(np.flatnonzero(~counted)[0])
        message = f"request {odd}: this {op} writes 16 bytes to two places of one 128-byte line"
        with pytest.raises(UnknownCountError, match=message):
            banksim.transactions(address[: odd + 1], op=op, width=16, mask=data["mask"][rows][: odd + 1])


def test_each_way_to_judge_a_copy_past_the_cache_is_the_same() -> None:
    data = np.load(BYPASS)
    for op in BYPASSING:
        address, rows = bypassing(op, data)
        for places, mask in zip(address[::20], data["mask"][rows][::20].tolist(), strict=True):
            known = rule.judge(places.tolist(), op, 16, mask, HOPPER)
            words = rule_words(HOPPER)
            low, *rest = one_request.judge(places, np.uint32(mask), OPS.index(op), 16, words)
            assert known == ((low, rest[1], rest[3]) if low >= 0 else None)
            found = rule.explain(places.tolist(), op, 16, mask, HOPPER)
            if known is None:
                assert not found.passes
                continue
            assert len(found.passes) == known[0]
            times = Counter(lane for step in found.passes for lane in step.lanes)
            assert {*times.values()} == {1 if op == "cp_async_bypass" else 2}
            assert sum(1 << lane for lane in times) == mask


def test_copies_past_the_cache_of_one_site_have_no_count_where_one_is_unknown() -> None:
    run = 16 * LANE
    known, odd = (with_source(target, source, 16, "cp_async_bypass") for target, source in ((run, run), (run, 0 * run)))
    for rows in ([known, odd], [known, odd] * 10_000):
        found = banksim.replay(Trace.from_arrays("cp_async_bypass", 16, FULL_MASK, rows))
        assert [(site.op, site.status, site.transactions) for site in found.sites] == [
            ("cp_async_gather", "unknown", None),
            ("cp_async_bypass", "Nsight's", 4 * len(rows) // 2),
        ]


def test_both_sides_of_a_copy_count() -> None:
    run, rows = 16 * LANE, 128 * LANE
    for width, source, target, count in (
        (16, run, run, 4), (16, run, 2 * run, 8), (16, rows, run, 32), (16, rows, rows, 32),
        (4, 4 * LANE, [0] * 32, 32), (4, 4 * (LANE ^ 5), 4 * LANE, 1), (4, 4 * (LANE // 2), 4 * ((LANE + 1) // 2), 3),
    ):  # fmt: skip
        address = with_source(target, source, width)
        assert banksim.transactions(address, op="cp_async", width=width) == count
        found = banksim.explain(address, op="cp_async", width=width)
        assert (len(found.passes), found.address) == (count, tuple(map(int, target)))
        assert sorted(lane for step in found.passes for lane in step.lanes) == [*LANE]


def test_what_nsight_calls_ideal() -> None:
    """Equal on every recorded request but for 16-byte loads that the source page counts otherwise than the counters."""
    data = np.load(REQUESTS)
    arrays = {name: data[name] for name in ("op", "width", "mask")}
    found = banksim.nsight_ideal(data["address"], **arrays)
    other = found != data["nsight_ideal"]
    assert other.sum() == 30
    assert {*zip(data["op"][other].tolist(), data["width"][other].tolist(), strict=True)} == {("ld", 16)}
    assert (data["transactions"] != data["nsight_source_page"])[other].all()
    assert banksim.nsight_ideal([0] * 32, op="cas", mask=1) == 2
    assert banksim.nsight_ideal([0] * 32, width=8, mask=3) == 1


def test_all_that_is_called_measured_was_measured() -> None:
    data = np.load(REQUESTS)
    measured = {*zip(data["op"].tolist(), data["width"].tolist(), strict=True)}
    measured |= {("cp_async", width) for width in np.load(COPIES)["width"].tolist()}
    claimed = {kind for kind in kinds() if HOPPER.status(*kind) == "measured"}
    measured |= {(op, width) for op in REMOTE.values() for width in (1, 2, 4, 8, 16)}  # test_remote_requests.py
    measured |= {("exch", 16), ("cas", 16)}  # test_wide_atomics.py
    # exch.b64 is what the data calls atom of 8 bytes; the others were measured in whole kernels: test_hardware.py, and
    # test_recorded_products.py of wgmma
    in_kernels = {("popc_inc", 4), ("cas", 8), ("cas_spin", 4), ("cas_spin", 8), ("wgmma", 16)}
    assert claimed - measured == {("exch", 8), *in_kernels}


# Arrays


@given(data=st.data())
@pytest.mark.parametrize("arch", RULES, ids=lambda arch: arch.name)
def test_arrays_are_judged_request_by_request(arch: Architecture, data: st.DataObject) -> None:
    requests = data.draw(st.lists(cases(kinds(arch=arch)), min_size=1, max_size=20))
    address, op, width, mask = zip(*requests, strict=True)
    expected = [rule.judge(*case, arch) for case in requests]
    known = [found for found in expected if found is not None]
    arrays: dict[str, Any] = {"op": list(op), "width": list(width), "mask": list(mask), "arch": arch}
    found = banksim.transactions(address, **arrays)
    low, high = found if isinstance(found, Range) else (found, found)
    assert isinstance(found, Range) == arch.is_range
    assert np.asarray(low).tolist() == [ends(count).low for count, _, _ in known]
    assert np.asarray(high).tolist() == [ends(count).high for count, _, _ in known]
    assert np.asarray(banksim.ideal(address, **arrays)).tolist() == [ideal for _, ideal, _ in known]
    one = banksim.transactions(address[0], op=op[0], width=width[0], mask=mask[0], arch=arch)
    assert one == known[0][0]
    assert type(one) is type(known[0][0])


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("arch", RULES, ids=lambda arch: arch.name)
@given(data=st.data())
def test_small_and_large_traces_give_the_same(arch: Architecture, data: st.DataObject) -> None:
    """Sites, blocks and warps in any order, unknown counts and requests of no lane among them."""
    requests = data.draw(st.lists(cases(kinds()), min_size=1, max_size=40))
    numbers = st.integers(0, 3)
    columns = {
        name: data.draw(st.lists(numbers, min_size=len(requests), max_size=len(requests)))
        for name in ("site", "block", "warp")
    }
    if data.draw(st.booleans()):
        columns["block"].sort()
    if data.draw(st.booleans()):
        columns["warp"] = [60 * warp for warp in columns["warp"]]
    trace = trace_of(requests, sites=[Site(text=f"site {k}") for k in range(4)], **columns)
    assert by_both(trace, arch) == [plainly(trace, arch)] * 2


def by_both(trace: Trace, arch: Architecture) -> list[Conflicts]:
    with pytest.MonkeyPatch.context() as patch:
        found = []
        for small in (True, False):
            patch.setattr(
                importlib.import_module("banksim.banks.replay"), "_is_small", lambda requests, small=small: small
            )
            found.append(banksim.replay(trace, arch))
        return found


def plainly(trace: Trace, arch: Architecture) -> Conflicts:
    """The analysis of a trace, straight from its definition."""

    def sites() -> Iterator[SiteConflicts]:
        columns = (trace.site, trace.op, trace.width)
        keys = list(zip(*(column.tolist() for column in columns), strict=True))
        for site, code, width in sorted({key for key, mask in zip(keys, trace.mask, strict=True) if mask}):
            rows = [row for row, key in enumerate(keys) if key == (site, code, width) and trace.mask[row]]
            op, status = OPS[code], arch.status(OPS[code], width)
            head = trace.sites[site], op, width, len(rows)
            if status == "unknown":
                yield SiteConflicts(*head, None, None, None, None, status)
                continue
            found = [rule.judge(trace.address[r].tolist(), op, width, int(trace.mask[r]), arch) for r in rows]
            judged = [one for one in found if one is not None]
            totals, degrees = [ends(t) for t, _, _ in judged], [ends(d) for _, _, d in judged]
            transactions = Range(sum(t.low for t in totals), sum(t.high for t in totals))
            degree = Range(max(d.low for d in degrees), max(d.high for d in degrees))
            excess = [ends(t).high - ideal for t, ideal, _ in judged]
            worst = min(range(len(rows)), key=lambda k: (-excess[k], trace.block[rows[k]], k))
            row = rows[worst]
            place = int(trace.block[row]), int(trace.warp[row])
            yield SiteConflicts(
                *head,
                transactions if arch.is_range else transactions.low,
                sum(ideal for _, ideal, _ in judged),
                degree if arch.is_range else degree.low,
                Request(op, width, int(trace.mask[row]), tuple(trace.address[row].tolist()), *place, excess[worst]),
                status,
            )

    return Conflicts(arch, tuple(sites()))


@pytest.mark.usefixtures("small_chunks")
def test_more_sites_than_were_thought_of(way: str) -> None:
    n = 500
    address = np.zeros((n, 32), np.uint32)
    ops = np.tile(np.array(["ld", "st", "atom", "red", "popc_inc"]), n // 5)
    found = banksim.replay(Trace.from_arrays(ops, 4, 1, address, site=np.arange(n) // 250))
    assert [(s.op, s.requests) for s in found.sites] == [
        (op, 50) for _ in range(2) for op in ("ld", "st", "atom", "red", "popc_inc")
    ]
    every_site = banksim.replay(Trace.from_arrays("ld", 4, 1, address, site=np.arange(n)))
    assert len(every_site.sites) == n
    first, last = ([WIDTHS_OF[op.partition("_x")[0]][end] for op in OPS] for end in (0, -1))
    every_kind = Trace.from_arrays([*OPS] * 25, first + last * 24, 1, np.zeros((25 * len(OPS), 32), np.uint32))
    assert sum(site.requests for site in banksim.replay(every_kind).sites) == len(every_kind)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "shape",
    [
        lambda a: a.astype(np.int64), lambda a: a.astype(np.float64), lambda a: a.astype(np.uint16),
        lambda a: np.asfortranarray(a), lambda a: np.repeat(a, 2, axis=0)[::2],
        lambda a: np.repeat(a, 2, axis=1)[:, ::2], lambda a: a.astype(">u4"), lambda a: a.tolist(),
    ],
)  # fmt: skip
def test_addresses_of_any_layout(shape: Callable[[Any], Any]) -> None:
    address = np.random.default_rng(3).integers(0, 4096, (50, 32), np.uint32) * 4
    expected = [rule.transactions(row, "ld", 4, FULL_MASK, HOPPER) for row in address.tolist()]
    assert np.asarray(banksim.transactions(shape(address))).tolist() == expected


@pytest.mark.usefixtures("way")
def test_op_width_and_mask_of_any_type() -> None:
    address = np.zeros((3, 32), int)
    for op in (["ld", "st", "atom"], np.array(["ld", "st", "atom"]), np.array([b"ld", b"st", b"atom"]), [0, 1, 2]):
        for width in (4, [4], [4, 4, 4], np.array([4, 4, 4], np.uint8), 4.0):
            for mask in (3, [3], np.array([3, 3, 3], np.int64)):
                found = banksim.transactions(address, op=op, width=width, mask=mask)
                assert np.asarray(found).tolist() == [1, 1, 2]


@pytest.mark.usefixtures("way")
def test_nothing_costs_nothing() -> None:
    assert np.asarray(banksim.transactions(np.empty((0, 32), np.uint32))).tolist() == []
    assert np.asarray(banksim.transactions(np.zeros((2, 32), int), mask=[0, 1])).tolist() == [0, 1]
    assert banksim.transactions(LANE, mask=0, width=1) == 0
    nothing = banksim.replay(Trace.from_arrays("ld", 4, 0, np.zeros((5, 32), int)))
    assert (nothing.sites, nothing.requests, nothing.transactions, nothing.ideal) == ((), 0, 0, 0)
    assert nothing.transactions_per_request is None
    assert banksim.replay(Trace.from_arrays("ld", 4, 0, np.empty((0, 32), int))).sites == ()


def test_names_of_many_ops() -> None:
    names = np.array(OPS)[np.random.default_rng(5).integers(0, len(OPS), SMALL + 100)]
    for array in (names, names.astype("U40"), names.astype("S"), names.astype(names.dtype.newbyteorder(">"))):
        trace = Trace.from_arrays(array, 16, 0, np.zeros((len(names), 32), np.uint32))
        assert [OPS[code] for code in trace.op] == names.tolist()
    for wrong in ("lds", "l", "", "ldmatrix_x1_transposed", "stmatrix_x3", "é"):
        names = np.array(["ld"] * SMALL + [wrong])
        with pytest.raises(InputError, match=f"unknown op '{wrong}': give one of ld, st"):
            Trace.from_arrays(names, 4, 1, np.zeros((len(names), 32), np.uint32))


# What is refused

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"address": LANE + 1}, "request 0, lane 0: address 1 is not a multiple of 4, the width of this ld in bytes"),
    ({"address": 4 * LANE, "width": 8}, "request 0, lane 1: address 4 is not a multiple of 8"),
    ({"address": -4 * LANE}, "address -124 is outside 0 to 0xffffffff"),
    ({"address": LANE + 2**32}, "address .* is outside 0 to 0xffffffff"),
    ({"address": [float("nan")] * 32}, "address must be whole numbers"),
    ({"address": LANE + 0.5}, "address must be whole numbers"),
    ({"address": ["4"] * 32}, "address must be whole numbers"),
    ({"address": [2**70] * 32}, "address must be whole numbers"),
    ({"address": LANE[:31]}, r"address has shape \(31,\): give \(n, 32\)"),
    ({"address": np.zeros((2, 2, 32), int)}, r"address has shape \(2, 2, 32\)"),
    ({"address": 4}, r"address has shape \(\)"),
    ({"address": [[0] * 32, [0] * 31]}, "address: "),
    ({"address": 4 * LANE, "width": 3}, "width 3: an access is 1, 2, 4, 8 or 16 bytes wide"),
    ({"address": 4 * LANE, "width": 0}, "width 0"),
    ({"address": 4 * LANE, "width": [4, 4]}, r"width has shape \(2,\): give one value or 1"),
    ({"address": 4 * LANE, "mask": 2**32}, "mask 4294967296 is outside 0 to 0xffffffff"),
    ({"address": 4 * LANE, "mask": -1}, "mask -1 is outside"),
    ({"address": 4 * LANE, "op": "load"}, "unknown op 'load': give one of ld, st"),
    ({"address": 4 * LANE, "op": len(OPS)}, f"op {len(OPS)} is outside 0 to {len(OPS) - 1:#x}"),
    ({"address": 4 * LANE, "arch": "sm_1"}, "unknown architecture 'sm_1'"),
]


@pytest.mark.parametrize(("request_", "message"), WRONG)
def test_wrong_input_gets_one_line(request_: dict[str, Any], message: str) -> None:
    for judge in (banksim.transactions, banksim.ideal, banksim.explain):
        with pytest.raises(InputError, match=message) as caught:
            judge(**request_)
        assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("way", "small_chunks")
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"address": 6}, "request 40, lane 0: address 6 is not a multiple of 4, the width of this ld"),
        ({"address": 4 * LANE + 2}, "request 40, lane 0: address 2 is not a multiple of 4"),
        ({"width": 3}, "width 3: an access is"),
        ({"width": 16}, "request 40, lane 1: address 4 is not a multiple of 16"),
        ({"mask": 2**32}, "mask 4294967296 is outside"),
        ({"mask": -1}, "mask -1 is outside"),
        (
            {"op": "cp_async_gather", "width": 16, "address": 0},
            "cp_async_gather of 16 bytes on sm_90: nobody has measured",
        ),
        ({"op": "atom", "width": 1}, "there is no atom of 1 bytes"),
        ({"op": "stmatrix_x2"}, "there is no stmatrix_x2 of 4 bytes"),
        ({"op": "nop"}, "unknown op 'nop'"),
    ],
)
def test_one_wrong_request_among_many_is_found(wrong: dict[str, Any], message: str) -> None:
    n, bad = 100, 40
    address = np.tile(4 * LANE, (n, 1)).astype(np.int64)
    columns: dict[str, Any] = {"op": ["ld"] * n, "width": [4] * n, "mask": [FULL_MASK] * n}
    for name, value in wrong.items():
        if name == "address":
            address[bad] = value
        else:
            columns[name][bad] = value
    with pytest.raises((InputError, UnknownCountError), match=message):
        banksim.transactions(address, **columns)


def test_misaligned_among_many_is_found_in_a_trace() -> None:
    address = np.zeros((SMALL + 10, 32), np.uint32)
    address[SMALL + 3, 5] = 2
    with pytest.raises(InputError, match=f"request {SMALL + 3}, lane 5: address 2 is not a multiple of 4"):
        Trace.from_arrays("ld", 4, FULL_MASK, address)
    Trace.from_arrays("ld", 4, ~(1 << 5) & FULL_MASK, address)
    Trace.from_arrays("ld", 2, FULL_MASK, address)


@pytest.mark.parametrize("op", ["ldmatrix_x1", "stmatrix_x2", "ldmatrix_x2_trans"])
def test_lanes_that_give_no_row_may_point_anywhere(op: str) -> None:
    rows = 8 * int(op.partition("_x")[2][0])
    address = np.where(rows > LANE, 16 * LANE, 3)
    assert banksim.transactions(address, op=op, width=16) == rows // 8
    with pytest.raises(InputError, match=f"lane {rows - 1}: address 3 is not a multiple of 16"):
        banksim.transactions(np.where(rows - 1 > LANE, 16 * LANE, 3), op=op, width=16)


# Traces


def test_a_site_of_several_widths_is_several_sites() -> None:
    sites = [Site("LDS", 0x40, "a.cu", 7, "x = tile[i];"), Site("STS", 0x80, "a.cu", 9, "tile[i] = x;")]
    address = np.array([4 * LANE, 128 * LANE, 8 * LANE, 0 * LANE])
    trace = Trace.from_arrays(
        ["st", "ld", "ld", "ld"], [4, 4, 8, 4], FULL_MASK, address, site=[1, 0, 0, 0], warp=[0, 5, 5, 6], sites=sites
    )
    found = banksim.replay(trace)
    assert [(s.op, s.width, s.requests, s.transactions, s.ideal, s.excess) for s in found.sites] == [
        ("ld", 4, 2, 33, 2, 31),
        ("ld", 8, 1, 2, 2, 0),
        ("st", 4, 1, 1, 1, 0),
    ]
    wide = found.sites[0]
    assert (wide.degree, wide.transactions_per_request, wide.status) == (32, 16.5, "measured")
    assert (wide.opcode, wide.offset, wide.file, wide.line, wide.text) == ("LDS", 0x40, "a.cu", 7, "x = tile[i];")
    assert wide.worst == Request("ld", 4, FULL_MASK, tuple(128 * lane for lane in range(32)), 0, 5, 31)
    assert (found.requests, found.transactions, found.ideal, found.excess) == (4, 36, 4 + 1, 31)
    assert found.transactions_per_request == 9


def test_the_worst_request_is_the_first_of_the_largest_excess(way: str) -> None:
    address = np.array([4 * LANE, 256 * LANE, 128 * LANE, 384 * LANE, 128 * LANE])
    trace = Trace.from_arrays("ld", 4, FULL_MASK, address, block=[0, 3, 2, 2, 2], warp=[0, 0, 5, 4, 4])
    [site] = banksim.replay(trace).sites
    assert site.worst is not None
    assert (site.worst.block, site.worst.warp, site.worst.address[1]) == (2, 5, 128)


def test_totals_are_withheld_where_one_count_is_unknown(way: str) -> None:
    address = np.array([16 * LANE, 16 * LANE])
    found = banksim.replay(Trace.from_arrays(["ld", "cp_async_gather"], 16, FULL_MASK, address))
    known, unknown = found.sites
    assert (known.transactions, known.status) == (4, "measured")
    assert (unknown.requests, unknown.status) == (1, "unknown")
    for figure in ("transactions", "ideal", "degree", "worst", "excess", "transactions_per_request"):
        assert getattr(unknown, figure) is None
    assert found.requests == 2
    assert [found.transactions, found.ideal, found.excess, found.transactions_per_request] == [None] * 4


def test_a_range_stays_one_in_sums_and_in_json(way: str) -> None:
    address = [20 if lane in (3, 4, 6, 7, 9) else 4 * lane for lane in range(32)]
    found = banksim.replay(Trace.from_arrays("ld", 4, 0xFFFF, [address] * 2), "tesla")
    [site] = found.sites
    assert site.transactions == found.transactions == Range(2, 4)
    assert site.excess == found.excess == Range(0, 2)
    assert site.degree == Range(1, 2)
    assert found.transactions_per_request == Range(1.0, 2.0)
    plain = json.loads(json.dumps(found.to_json()))
    assert plain["transactions"] == plain["sites"][0]["transactions"] == {"low": 2, "high": 4}
    assert plain["sites"][0]["worst"]["address"] == address


def test_json_of_what_is_unknown() -> None:
    plain = banksim.replay(Trace.from_arrays("red", 8, 1, np.zeros(32, int))).to_json()
    assert (plain["arch"], plain["requests"], plain["transactions"]) == ("sm_90", 1, None)
    assert (plain["sites"][0]["status"], plain["sites"][0]["worst"]) == ("unknown", None)


# Imports


def test_few_requests_need_no_numba() -> None:
    program = """
import sys
import banksim
trace = banksim.Trace.from_arrays("ld", 4, 1, [[4 * lane for lane in range(32)]] * 1000)
banksim.replay(trace), banksim.transactions(trace.address), banksim.explain(trace.address[0])
import banksim.banks.replay, banksim.banks.rule, banksim.architectures.bank_rules
assert banksim.replay(trace).requests == 1000
print(sorted({"numba", "rich", "numba_cuda", "llvmlite", "elftools"} & set(sys.modules)))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_every_public_name_is_there() -> None:
    for name in banksim.__all__:
        assert getattr(banksim, name) is not None
    assert set(banksim.__all__) <= set(dir(banksim))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = banksim.nothing
