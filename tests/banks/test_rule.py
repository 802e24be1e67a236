"""The rule: its compiled twin, its properties over the whole domain, and the ends of the cc 1.x range."""

import math
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from banksim.architectures.bank_rules import Architecture, architecture
from banksim.banks.rule import Explanation, broadcasts, explain, judge, pairs_merge
from banksim.requests.copies import period_of, with_source
from banksim.requests.counts import Range, ends
from banksim.requests.kinds import BY_PLACES, BYPASSING, FULL_MASK, OP_CODES
from helpers.strategies import FAMILIES, LANES, RULES, Case, active, cases, kinds, masks, orders, permuted, places

WARPWIDE = [arch for arch in RULES if arch.name not in ("tesla", "kepler-4", "kepler-8")]
TESLA, FERMI, KEPLER_4, HOPPER = (architecture(name) for name in ("tesla", "fermi", "kepler-4", "hopper"))
PLAIN = ("ld", "st")
every_family = pytest.mark.parametrize("arch", FAMILIES, ids=lambda arch: arch.name)
every_rule = pytest.mark.parametrize("arch", RULES, ids=lambda arch: arch.name)
every_warpwide = pytest.mark.parametrize("arch", WARPWIDE, ids=lambda arch: arch.name)


def counts(case: Case, arch: Architecture) -> tuple[Range[int], int, Range[int]]:
    """Both ends of the transactions, the ideal, both ends of the degree."""
    found = judge(*case, arch)
    assert found is not None
    return ends(found[0]), found[1], ends(found[2])


def total(case: Case, arch: Architecture) -> Range[int]:
    """Both ends of the transactions."""
    return counts(case, arch)[0]


def one(address: Iterable[int], op: str = "ld", width: int = 4, arch: Architecture = HOPPER) -> int:
    """Transactions of a whole warp, where both ends are the same."""
    low, high = total(Case(tuple(address), op, width, FULL_MASK), arch)
    assert low == high
    return low


def merges(case: Case, arch: Architecture) -> bool:
    """Whether the access is of a kind whose pairs may merge."""
    access = arch.access(case.op, case.width)
    return access is not None and access.merged > 0


# The compiled twin


@every_family
@given(case=cases(kinds()))
def test_the_compiled_rule_is_the_scalar_rule(arch: Architecture, case: Case) -> None:
    from banksim.banks.compiled.one_request import judge as compiled_judge

    address, mask = np.array(case.address, np.uint32), np.uint32(case.mask)
    request = address, mask, OP_CODES[case.op], case.width, rule(arch.name)
    low, high, ideal, degree_low, degree_high = compiled_judge(*request)
    if (case.op, case.width) in kinds(arch=arch):
        assert (Range(low, high), ideal, Range(degree_low, degree_high)) == counts(case, arch)
    else:
        assert low == -1


@cache
def rule(name: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    from banksim.banks.compiled.rule_words import rule_words

    return rule_words(architecture(name))


# What holds for every request


@every_rule
@given(data=st.data())
def test_bounds(arch: Architecture, data: st.DataObject) -> None:
    case = data.draw(cases(kinds(arch=arch)))
    (low, high), ideal, (degree_low, degree_high) = counts(case, arch)
    access = arch.access(case.op, case.width)
    assert access is not None
    requests = access.requests(case.width)
    assert (ideal == 0) == (not active(case))
    rules = [access, access.also] if access.also else [access]
    assert ideal <= low <= high <= sum(len(active(case)) * rule.passes * requests for rule in rules)
    by_bytes = {"bypass": 4, "line": 4, "place": 4, "half place": 8}
    parts = [by_bytes.get(rule.serves, 32 // rule.lanes) for rule in rules]
    assert ideal <= sum(parts) * access.passes * requests
    assert degree_low * access.passes <= low <= degree_low * ideal
    assert degree_high * access.passes <= high <= degree_high * ideal


@every_rule
@given(data=st.data())
def test_the_order_of_lanes_within_a_part_does_not_matter(arch: Architecture, data: st.DataObject) -> None:
    case = data.draw(cases(kinds(arch=arch)))
    assume(case.op not in BY_PLACES)  # the lowest lane goes first
    access = arch.access(case.op, case.width)
    assert access is not None
    order = data.draw(orders(access.lanes, keep_pairs=access.merged > 0))
    assert counts(permuted(case, order), arch) == counts(case, arch)


@every_rule
@given(data=st.data(), steps=st.integers(0, 1000))
def test_moving_all_addresses_by_periods_changes_nothing(arch: Architecture, data: st.DataObject, steps: int) -> None:
    case = data.draw(cases(kinds(arch=arch)))
    period = arch.period
    assert period & (period - 1) == 0
    assert period <= arch.row_bytes
    by = steps * max(period_of(case.op, period), case.width) % (FULL_MASK + 1)
    assert counts(case._replace(address=tuple(a + by for a in case.address)), arch) == counts(case, arch)


@every_rule
@given(data=st.data(), garbage=st.integers(0, 1 << 16))
def test_what_inactive_lanes_hold_does_not_matter(arch: Architecture, data: st.DataObject, garbage: int) -> None:
    case = data.draw(cases(kinds(arch=arch)))
    lanes = active(case)
    address = tuple(a if lane in lanes else garbage for lane, a in enumerate(case.address))
    assert counts(case._replace(address=address), arch) == counts(case, arch)


@given(case=cases(kinds(arch=HOPPER)))
def test_families_since_maxwell_share_a_rule(case: Case) -> None:
    for arch in FAMILIES:
        if arch.capability >= (5, 0) and (case.op, case.width) in kinds(arch=arch):
            assert counts(case, arch) == counts(case, HOPPER)


@every_rule
@given(data=st.data(), lane=st.sampled_from(LANES))
def test_adding_a_lane_lowers_no_count(arch: Architecture, data: st.DataObject, lane: int) -> None:
    """Not even that of a load whose pairs merge: each lane adds conditions on its neighbours, so more lanes can
    only end the merging, never begin it, and the parts that merge cost at most what their halves cost apart."""
    case = data.draw(cases(kinds(arch=arch)))
    assume(case.op not in (*BYPASSING, *BY_PLACES))
    fewer, more = (total(case._replace(mask=mask), arch) for mask in (case.mask & ~(1 << lane), case.mask | 1 << lane))
    assert fewer.low <= more.low
    assert fewer.high <= more.high


def test_adding_a_lane_may_lower_the_count_of_a_copy_past_the_l1() -> None:
    """Sectors share a pass only if the same halves of them move: here both sectors of a line, once both are whole."""
    places = 16 * np.arange(32)
    case = Case(tuple(map(int, with_source(places, places, 16))), "cp_async_bypass", 16, 0b0111)
    assert total(case, HOPPER) == Range(2, 2)
    assert total(case._replace(mask=0b1111), HOPPER) == Range(1, 1)


def test_adding_a_lane_may_lower_the_excess_of_a_load_whose_pairs_merge() -> None:
    """Lanes 0, 2 and 16 merge into one part, where 0 and 16 conflict; with lane 1 each half is a part again."""
    address = (0, 16, 8, *[0] * 13, 128, *[0] * 15)
    merged, apart = (Case(address, "ld", 8, 1 << 16 | lanes) for lanes in (0b101, 0b111))
    assert counts(merged, HOPPER)[:2] == (Range(2, 2), 1)
    assert counts(apart, HOPPER)[:2] == (Range(2, 2), 2)


@every_rule
@given(data=st.data(), mask=masks)
def test_splitting_a_request_never_lowers_the_sum(arch: Architecture, data: st.DataObject, mask: int) -> None:
    case = data.draw(cases(kinds(arch=arch)))
    assume(not merges(case, arch))
    whole = total(case, arch)
    one, other = (total(case._replace(mask=case.mask & part), arch) for part in (mask, ~mask))
    assert whole.low <= one.low + other.low
    assert whole.high <= one.high + other.high


def test_splitting_a_load_may_lower_the_sum_if_its_pairs_merge_then() -> None:
    """One half conflicts in bank 0, the other in bank 16. The even lanes alone merge: both halves in one part."""
    case = Case(tuple(128 * lane + 64 * (lane // 16) for lane in LANES), "ld", 8, FULL_MASK)
    assert total(case, HOPPER).low == 16 + 16
    for mask in (0x55555555, 0xAAAAAAAA):
        assert total(case._replace(mask=mask), HOPPER).low == 8


@given(case=cases(kinds(PLAIN)))
def test_kepler_in_4_byte_mode_is_never_above_fermi(case: Case) -> None:
    assert total(case, KEPLER_4).low <= total(case, FERMI).low


@given(address=places(), mask=masks, data=st.data())
def test_pairs_that_merge_stay_merged_with_fewer_lanes(address: list[int], mask: int, data: st.DataObject) -> None:
    if pairs_merge(address, mask):
        assert pairs_merge(address, mask & data.draw(masks))


# Explanations


def check_explanation(found: Explanation, case: Case, arch: Architecture) -> None:
    access = arch.access(case.op, case.width)
    assert access is not None
    (_, high), ideal, degree = counts(case, arch)
    assert len(found.passes) == high
    assert (ends(found.transactions or 0).high, found.ideal, ends(found.degree or 0)) == (high, ideal, degree)
    size = min(case.width, access.request_bytes)
    times = case.width // size * access.passes + (access.also.passes if access.also else 0)
    assert sorted(lane for p in found.passes for lane in p.lanes) == sorted(active(case) * times)
    for p in found.passes:
        assert p.lanes
        assert p.banks == tuple(sorted({word % arch.banks for word in p.words}))
        if access.serves == "word":
            rows = {(word % arch.banks, word * arch.bank_width // arch.row_bytes) for word in p.words}
            assert len(rows) == len(p.banks)
        elif access.serves == "lane":
            assert len(p.lanes) * max(1, size // arch.bank_width) == len(p.banks)
        elif access.serves == "broadcast":
            assert len(p.words) == len(p.banks)


@every_rule
@given(data=st.data())
def test_passes_serve_every_lane_and_every_bank_one_word(arch: Architecture, data: st.DataObject) -> None:
    case = data.draw(cases(kinds(arch=arch)))
    check_explanation(explain(*case, arch), case, arch)


# Patterns that everyone meets


def test_one_address_for_all() -> None:
    for width, load, store in ((1, 1, 1), (2, 1, 1), (4, 1, 1), (8, 1, 2), (16, 2, 4)):
        assert one([48] * 32, "ld", width) == load
        assert one([48] * 32, "st", width) == store
    assert [one([48] * 32, op) for op in ("atom", "red", "exch", "cas", "popc_inc")] == [32, 32, 32, 64, 1]
    for arch in RULES:
        assert one([48] * 32, arch=arch) == (2 if arch is TESLA else 1)


@every_warpwide
def test_a_stride_of_words_is_as_many_ways_as_it_shares_factors_with_32(arch: Architecture) -> None:
    for stride, base in product(range(1, 257), (0, 1, 31)):
        assert one((4 * (base + stride * lane) for lane in LANES), arch=arch) == math.gcd(stride, 32)
        assert one((4 * (base + stride * lane) for lane in LANES), "st", arch=arch) == math.gcd(stride, 32)
    assert one([4] * 32, arch=arch) == 1


@every_warpwide
def test_a_pitch_is_free_of_conflicts_in_columns_if_and_only_if_it_is_odd(arch: Architecture) -> None:
    for pitch in range(32, 100):
        columns = [one((4 * (pitch * lane + x) for lane in LANES), arch=arch) for x in range(32)]
        assert (columns == [1] * 32) == (math.gcd(pitch, 32) == 1)


@every_warpwide
def test_a_swizzled_tile_is_free_in_rows_and_columns(arch: Architecture) -> None:
    for fixed in LANES:
        assert one((4 * (32 * fixed + (x ^ fixed)) for x in LANES), arch=arch) == 1
        assert one((4 * (32 * y + (fixed ^ y)) for y in LANES), arch=arch) == 1


@pytest.mark.parametrize("span", [128, 64, 32])
def test_the_swizzles_of_tma_free_ldmatrix(span: int) -> None:
    """Eight rows of `span` bytes, one column of 16-byte pieces: span / 16 rows lie on one row of the banks."""
    for column in range(span // 16):
        rows = [span * (lane % 8) + 16 * column for lane in LANES]
        swizzled = [a ^ ((a % (8 * span)) >> 7 << 4) for a in rows]
        assert one(rows, "ldmatrix_x1", 16) == span // 16
        assert one(swizzled, "ldmatrix_x1", 16) == 1


@given(base=st.integers(0, 500), op=st.sampled_from(PLAIN))
@every_rule
def test_elements_side_by_side_are_free(arch: Architecture, base: int, op: str) -> None:
    for width in (4, 8, 16) if arch is not TESLA else (4,):
        address = tuple(width * (32 // width * 8 * base + lane) for lane in LANES)
        (low, high), ideal, _ = counts(Case(address, op, width, FULL_MASK), arch)
        assert low == high == ideal


# Compute capability 1.x: one broadcast word a pass


Bank = tuple[int, ...]
Situation = tuple[Bank, ...]
"""For every bank that is wanted, in order, how many lanes want each of its words, in order."""


def partitions(lanes: int, largest: int) -> Iterator[Bank]:
    """The ways to spread lanes over words."""
    if not lanes:
        yield ()
    for first in range(min(lanes, largest), 0, -1):
        for rest in partitions(lanes - first, first):
            yield (*rest, first)


BANKS: list[Bank] = [bank for lanes in range(1, 17) for bank in partitions(lanes, lanes)]


def situations(lanes: int, first: int = 0) -> Iterator[Situation]:
    """All that so many lanes may want, up to the order of banks and words."""
    if not lanes:
        yield ()
    for number in range(first, len(BANKS)):
        if sum(BANKS[number]) > lanes:
            return
        for rest in situations(lanes - sum(BANKS[number]), number):
            yield (BANKS[number], *rest)


@cache
def one_lane_less(bank: Bank) -> set[Bank]:
    fewer = ((*bank[:i], bank[i] - 1, *bank[i + 1 :]) for i in range(len(bank)))
    return {tuple(sorted(lanes for lanes in bank if lanes)) for bank in fewer}


@cache
def one_word_less(bank: Bank) -> set[Bank]:
    return {bank[:i] + bank[i + 1 :] for i in range(len(bank))}


@cache
def every_choice(situation: Situation) -> tuple[int, int]:
    """The fewest and the most passes over all choices of broadcast word and of one lane in each other bank."""
    if not situation:
        return 0, 0
    after = {
        tuple(sorted(bank for bank in rest if bank))
        for chosen in range(len(situation))
        for rest in product(*(one_word_less(b) if i == chosen else one_lane_less(b) for i, b in enumerate(situation)))
    }
    ends = [every_choice(rest) for rest in after]
    return 1 + min(low for low, _ in ends), 1 + max(high for _, high in ends)


def by_greed(situation: Situation) -> tuple[int, int]:
    """What `banks.broadcasts` finds."""
    want = {b: {w: list(range(lanes)) for w, lanes in enumerate(bank)} for b, bank in enumerate(situation)}
    return len(broadcasts(want, lucky=True)), len(broadcasts(want, lucky=False))


def test_both_ends_of_the_range_are_those_of_every_choice_in_every_situation() -> None:
    tried = 0
    for lanes in range(1, 17):
        for situation in situations(lanes):
            found = by_greed(situation)
            assert found == every_choice(tuple(sorted(situation))), situation
            assert max(map(len, situation)) <= found[0] <= found[1] <= max(map(sum, situation))
            tried += 1
    assert tried == 70_569


def test_the_guide_s_broadcast_example_is_free_or_2_way() -> None:
    """Several lanes of a half-warp read one word of bank 5, the others a bank each."""
    address = [20 if lane in (3, 4, 6, 7, 9) else 4 * lane for lane in LANES]
    assert counts(Case(tuple(address), "ld", 4, 0xFFFF), TESLA) == (Range(1, 2), 1, Range(1, 2))
