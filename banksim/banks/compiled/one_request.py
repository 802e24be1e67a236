"""The rule of rule.py compiled by numba; tests/banks/test_rule.py compares the two. Import only where needed.

The accesses of a request are all of one width w and aligned to it, so each lies in one of (row of banks / w) groups of
banks, and conflicts with those in its group that want another word. Most requests have no conflict: with a bit for each
lane, at (part, group), no two lanes have the same bit. Where lanes share one, the words of each group are counted.
"""

import numpy as np
from llvmlite import ir
from numba import types

from banksim.banks.compiled import rule_words
from banksim.banks.compiled.copies import by_lines, by_places, bypassing, copies, lane_word, reading
from banksim.banks.compiled.rule_words import GROUPS, KEEP, MERGED, PART, PASSES, ROWS, SERVES, SHIFT, UNKNOWN
from banksim.requests.copies import LINE
from banksim.requests.kinds import WIDTHS
from banksim.requests.lane_intrinsics import across, call_at, equal_to, ones, pointer, room, word
from banksim.system.compiled_types import Integer, Integers, Place
from banksim.system.jit import callback, carray, inlined, inner, intrinsic, outer

ALL = np.uint32(0xFFFFFFFF)
_room_for_keys, _room_for_numbers = room(32), room(32)
_room_for_left, _room_for_lanes, _room_for_picked = room(32), room(32), room(32)
_room_for_banks, _room_for_words, _room_for_counts, _room_for_found = room(32), room(32), room(32), room(10)
_equal_across_1, _equal_across_2 = (across("==", [lane ^ other for lane in range(32)]) for other in (1, 2))


@inlined
def record_of(op: Integer, width: Integer) -> Integer:
    """Where the record of an op and width begins in a rule."""
    column = np.int64(width > 1) + np.int64(width > 2) + np.int64(width > 4) + np.int64(width > 8)
    return rule_words.HEADER + (np.int64(op) * len(WIDTHS) + column) * rule_words.FIELDS


@inlined
def pairs_merge(address: Place, mask: Integer) -> bool:
    """Whether pairs merge, as rule.pairs_merge decides it."""
    both = word(mask & (mask >> word(1))) & word(0x55555555)
    if not word(both & ~_equal_across_1(address)):
        return True
    both = word(mask & (mask >> word(2))) & word(0x33333333)
    return not word(both & ~_equal_across_2(address))


@inlined
def part_field(part: Integer, groups: Integer) -> Integer:
    """The bits that a part's lanes may have."""
    return word(((1 << groups) - 1) << (part * groups))


@inner
def broadcasts(bank: Integers, count: Integers, words: Integer, sign: Integer) -> Integer:
    """The length of rule.broadcasts: `words` words, each with its bank and how many lanes want it; `sign`: −1 for the
    shortest, 1 for the longest."""
    left = carray(_room_for_left(), 32, np.int32)
    lanes = carray(_room_for_lanes(), 32, np.int32)
    picked = carray(_room_for_picked(), 32, np.int32)
    remaining = passes = np.int64(0)
    for w in range(words):
        left[w] = count[w]
        remaining += count[w]
    while remaining:
        for b in range(32):
            lanes[b] = 0
        for w in range(words):
            lanes[bank[w]] += left[w]
        chosen = -1
        for b in range(32):
            picked[b] = -1
            if lanes[b] and (chosen < 0 or sign * lanes[b] < sign * lanes[chosen]):
                chosen = b
        for w in range(words):
            b = bank[w]
            order = sign if b == chosen else -sign
            if left[w] and (picked[b] < 0 or order * left[w] < order * left[picked[b]]):
                picked[b] = w
        for b in range(32):
            if lanes[b]:
                served = left[picked[b]] if b == chosen else 1
                left[picked[b]] -= served
                remaining -= served
        passes += 1
    return passes


SPECIAL = types.void(*[types.voidptr] * 2, *[types.int64] * 6)
"""`judge_at` of requests that few kernels make, which others are spared the compilation of: addresses, where its five
numbers go, mask, width, groups, part, shift, whom a pass serves."""


@callback(SPECIAL)
def judge_copy(
    address: Place,
    found: Place,
    mask: Integer,
    width: Integer,
    groups: Integer,
    part: Integer,
    shift: Integer,
    serves: Integer,
) -> None:
    """`judge_at` of a copy from global memory, or of an access to another block, but for how many passes each of its
    passes takes."""
    lanes, result = word(mask), carray(found, 5, np.int64)
    total: Integer
    ideal: Integer
    worst: Integer
    total = ideal = worst = np.int64(0)
    if serves == rule_words.BY_LINE:
        total, ideal = by_lines(address, lanes, width)
        worst = (total + ideal - 1) // ideal
    if serves in (rule_words.BY_PLACE, rule_words.BY_HALF_PLACE):
        total, ideal = by_places(address, lanes, width, LINE if serves == rule_words.BY_PLACE else LINE // 2)
        worst = (total + ideal - 1) // ideal
    if serves in (rule_words.COPY, rule_words.COPY_AND_BYPASS):
        total, ideal, worst = copies(address, lanes, width, groups, part, shift)
    if serves in (rule_words.BYPASS, rule_words.COPY_AND_BYPASS):
        more, least = bypassing(address, reading(address, lanes))
        if more < 0:
            total, ideal, worst = np.int64(UNKNOWN), np.int64(0), np.int64(0)
        elif least:
            total, ideal, worst = total + more, ideal + least, max(worst, (more + least - 1) // least)
    result[0], result[1], result[2], result[3], result[4] = total, total, ideal, worst, worst


@callback(SPECIAL)
def judge_broadcast(
    address: Place,
    found: Place,
    mask: Integer,
    width: Integer,
    groups: Integer,
    part: Integer,
    shift: Integer,
    serves: Integer,
) -> None:
    """`judge_at` where a pass serves one word to all who want it and one lane of every other bank: on GPUs of compute
    capability 1.x only."""
    addresses = carray(address, 32, np.uint32)
    bank = carray(_room_for_banks(), 32, np.int32)
    key = carray(_room_for_words(), 32, np.uint32)
    count = carray(_room_for_counts(), 32, np.int32)
    ideal = 0
    low: Integer
    high: Integer
    worst_low: Integer
    worst_high: Integer
    low = high = worst_low = worst_high = 0
    for offset in range(0, width, 1 << shift):
        for first in range(0, 32, 1 << part):
            words = np.int64(0)
            for lane in range(first, first + (1 << part)):
                if not lane_word(mask, lane):
                    continue
                wants = word((addresses[lane] + offset) >> shift)
                w = 0
                while w < words and key[w] != wants:
                    w += 1
                if w == words:
                    key[w], bank[w], count[w] = wants, wants & (groups - 1), 0
                    words += 1
                count[w] += 1
            if words:
                fewest = broadcasts(bank, count, words, np.int64(-1))
                most = broadcasts(bank, count, words, np.int64(1))
                low, high, ideal = low + fewest, high + most, ideal + 1
                worst_low, worst_high = max(worst_low, fewest), max(worst_high, most)
    result = carray(found, 5, np.int64)
    result[0], result[1], result[2], result[3], result[4] = low, high, ideal, worst_low, worst_high


@intrinsic(type(None), types.void(types.int64, *SPECIAL.args))
def call_special(
    builder: ir.IRBuilder,
    function: ir.Value,
    address: ir.Value,
    found: ir.Value,
    mask: ir.Value,
    width: ir.Value,
    groups: ir.Value,
    part: ir.Value,
    shift: ir.Value,
    serves: ir.Value,
) -> None:
    """Call a function of the type `SPECIAL`, at an address."""
    call_at(builder, function, [address, found, mask, width, groups, part, shift, serves], ir.VoidType())


@inlined
def words(
    address: Place, mask: Integer, each_lane: bool, keep: Integer, groups: Integer, part: Integer, shift: Integer
) -> tuple[Integer, Integer, Integer]:
    """The most words that a part wants of one group: the sum over the parts, parts that have a lane, the most of all.
    `each_lane`: lanes do not share a word."""
    # The types and the "& 31" let LLVM keep to 32 bits, which halves the vectors.
    log_part, log_unit = word(part & 31), word(shift & 31)
    keys, numbers = _room_for_keys(), _room_for_numbers()
    addresses, key = carray(address, 32, np.uint32), carray(keys, 32, np.uint32)
    number = carray(numbers, 32, np.uint8)  # of words, by (part, group)
    used = word(0)
    for lane in range(32):
        wants = word(word(addresses[lane] & keep) >> log_unit)
        group = word(word(word(lane) >> log_part) * word(groups)) + word(wants & word(groups - 1))
        used |= word(word(word(mask >> word(lane)) & word(1)) << word(group & word(31)))
        key[lane], number[lane] = wants, 0
    free = ones(used) == ones(mask)
    total: Integer
    ideal: Integer
    worst: Integer
    total = ideal = worst = np.int64(0)
    for p in range(32 >> part):
        some = np.int64(word(used & part_field(p, groups)) != 0)
        most: Integer = some
        if not free:
            start = np.int64(p) << part
            for lane in range(start, start + (1 << part)):
                # Each lane by itself looks for an earlier one with its word: from word to word, each step would wait
                # for the one before.
                others: Integer = word(0)
                if not each_lane:
                    others = equal_to(keys, key[lane]) & mask & word((1 << lane) - (1 << start))
                at = p * groups + np.int64(key[lane] & word(groups - 1))
                number[at] += (mask >> word(lane)) & word(others == word(0))
                most = max(most, np.int64(number[at]))
        total, ideal, worst = total + most, ideal + some, max(worst, most)
    return total, ideal, worst


@inlined
def judge_at(
    address: Place, mask: Integer, op: Integer, width: Integer, rule: Place
) -> tuple[Integer, Integer, Integer, Integer, Integer]:
    """Judge one request as `judge` does, given pointers."""
    rules, record = carray(rule, rule_words.RULE_WORDS, np.int64), record_of(op, width)
    serves = rules[record + SERVES]
    if serves == UNKNOWN:
        return UNKNOWN, UNKNOWN, 0, 0, 0
    mask = word(mask)
    if rules[record + ROWS] < 32:
        mask = word(mask & word((1 << rules[record + ROWS]) - 1))
    if not mask:
        return 0, 0, 0, 0, 0
    part = rules[record + PART]
    if rules[record + MERGED] and pairs_merge(address, mask):
        part = rules[record + MERGED]
    groups, shift, passes = rules[record + GROUPS], rules[record + SHIFT], rules[record + PASSES]
    if serves >= rule_words.BROADCAST:
        place = _room_for_found()
        function = rules[rule_words.BROADCASTS] if serves == rule_words.BROADCAST else rules[rule_words.COPIES]
        call_special(function, address, place, mask, width, groups, part, shift, serves)
        found = carray(place, 5, np.int64)
        low, high, ideal = found[0], found[1], found[2]
        if low != UNKNOWN:
            low, high, ideal = low * passes, high * passes, ideal * passes
        return low, high, ideal, found[3], found[4]
    total, ideal, worst = words(address, mask, serves == rule_words.LANE, word(rules[KEEP]), groups, part, shift)
    if serves == rule_words.ONCE:
        total, worst = ideal, np.int64(1)
    return total * passes, total * passes, ideal * passes, worst, worst


@inner
def parts(address: Place, mask: Integer, op: Integer, width: Integer, rule: Integers) -> Integer:
    """Parts of one request, with or without an active lane; 1 where the rule is not known. Arguments: as `judge`, but
    `address` a pointer."""
    record = int(record_of(op, width))
    if rule[record + SERVES] == UNKNOWN:
        return 1
    part = rule[record + PART]
    if rule[record + MERGED] and pairs_merge(address, word(mask)):
        part = rule[record + MERGED]
    return max(rule[record + ROWS] >> part, 1)


@outer
def judge(
    address: Integers, mask: Integer, op: Integer, width: Integer, rule: Integers
) -> tuple[Integer, Integer, Integer, Integer, Integer]:
    """(low, high, ideal, degree low, degree high) of one request; low is −1 where the count is unknown.

    `address` is uint32[32], contiguous, and holds multiples of `width`; `mask` has a bit for each lane, `op`
    is an index into `banksim.requests.kinds.OPS`, `width` in bytes, `rule` what `rule_words` returns.
    """
    return judge_at(pointer(address.ctypes.data), mask, op, width, pointer(rule.ctypes.data))
