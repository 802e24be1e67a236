"""The rule of rule.py compiled by numba; tests/banks/test_rule.py compares the two. Import only where needed.

How a part is counted without a loop over its words: the accesses of a request are all of one width w and
aligned to it, so each lies in one of (row of banks / w) groups of banks, and conflicts with those in its
group that want another word. Each lane is one bit, at (part, group); the lanes of every group are the sum of
these 32 words, done bit by bit of the sum with full adders: some 100 operations whatever the addresses are.
Only where lanes share a group is it asked whether they share a word too.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils

from banksim.architectures.bank_rules import Architecture
from banksim.requests.kinds import OPS, SOURCE_BIT, WIDTHS
from banksim.requests.lane_intrinsics import across, equal, equal_to, lowest, ones, pointer, room, word
from banksim.system.compiled_types import (
    Code,
    Integer,
    Integers,
    NumbaType,
    Place,
    Signature,
    TargetContext,
    TypingContext,
)
from banksim.system.jit import callback, carray, inlined, inner, intrinsic, outer

WORD, LANE, ONCE, BROADCAST, COPY = range(5)
UNKNOWN = -1
SHIFT, GROUPS, PART, MERGED, SERVES, PASSES, ROWS, FIELDS = range(8)
"""Fields of the record of an op and width. SHIFT: log2 of the bytes of a word that lanes share without a conflict.
GROUPS: groups of banks. PART: log2 of the lanes of a part; MERGED: the same where pairs merge (0: they never do).
SERVES: whom a pass serves (WORD, LANE, ONCE, BROADCAST). PASSES: how many each of those takes. ROWS: lanes that give
addresses."""
KEEP, BROADCASTS, HEADER = 0, 1, 2
"""A rule begins with the address bits that tell words apart (KEEP) and the address of `judge_broadcast` (BROADCASTS);
from HEADER on follow the records."""
RULE_WORDS = HEADER + len(OPS) * len(WIDTHS) * FIELDS
"""Length of what `rule_words` returns."""


def translation_period(arch: Architecture) -> int:
    """A power of two: moving every address of a request by a multiple of so many bytes changes no count."""
    return arch.period


@lru_cache
def rule_words(arch: Architecture) -> npt.NDArray[np.int64]:
    """`arch` as the numbers that `judge` reads: which address bits tell words apart, the address of `judge_broadcast`
    where a record needs it (so they are of this process only), then the records."""
    rule = np.zeros(RULE_WORDS, np.int64)
    # Where a row has two words of a bank, they share a pass: the address bit that parts them is dropped.
    rule[KEEP] = 0xFFFFFFFF & ~(0 if arch.pass_width == arch.bank_width else arch.banks * arch.bank_width)
    records = rule[HEADER:].reshape(len(OPS), len(WIDTHS), FIELDS)
    records[..., SERVES] = UNKNOWN
    for code, op in enumerate(OPS):
        for column, width in enumerate(WIDTHS):
            access = None if arch.missing(op, width) else arch.accesses.get((op, width))
            if access is not None:
                unit = max(min(width, access.request_bytes), arch.bank_width)
                records[code, column] = (
                    unit.bit_length() - 1,
                    arch.banks * arch.bank_width // unit,
                    access.lanes.bit_length() - 1,
                    max(access.merged.bit_length() - 1, 0),
                    ("word", "lane", "once", "broadcast", "copy").index(access.serves),
                    access.passes,
                    access.rows,
                )
    if (records[..., SERVES] == BROADCAST).any():
        rule[BROADCASTS] = judge_broadcast.address
    rule.flags.writeable = False
    return rule


pair = np.uint64
Bits = TypeVar("Bits", np.uint32, np.uint64)
Sums: TypeAlias = tuple[Integer, Integer, Integer, Integer, Integer, Integer]
"""Of each group how many lanes: bit by bit, a word each."""
ALL = np.uint32(0xFFFFFFFF)
_room_for_keys, _room_for_bits, _room_for_tags = room(33), room(32), room(64)
_room_for_left, _room_for_lanes, _room_for_picked = room(32), room(32), room(32)
_room_for_banks, _room_for_words, _room_for_counts, _room_for_found = room(32), room(32), room(32), room(10)
_equal_across_1, _equal_across_2 = (across("==", [lane ^ other for lane in range(32)]) for other in (1, 2))
_below_next, _above_next = (across(relation, [*range(1, 32), 31]) for relation in "<>")


@inlined
def lane_word(mask: Integer, lane: Integer) -> Integer:
    """All bits set if the lane is active, else none. (Every step is cut to 32 bits: numba would widen it.)"""
    return word(word(0) - word(word(mask >> word(lane)) & word(1)))


@inlined
def full_adder(a: Bits, b: Bits, c: Bits) -> tuple[Bits, Bits]:
    half = a ^ b
    return half ^ c, (a & b) | (half & c)


@inlined
def lanes_of_groups(bits: Place) -> Sums:
    """The sum of 32 words bit by bit of the sum: word k holds bit k of the number of lanes of each group."""
    pairs = carray(bits, 16, np.uint64)  # two lanes at a time, until the last step
    s0 = s1 = s2 = s3 = s4 = pair(0)
    for first in range(0, 16, 8):
        s0, twos_a = full_adder(s0, pairs[first], pairs[first + 1])
        s0, twos_b = full_adder(s0, pairs[first + 2], pairs[first + 3])
        s1, fours_a = full_adder(s1, twos_a, twos_b)
        s0, twos_a = full_adder(s0, pairs[first + 4], pairs[first + 5])
        s0, twos_b = full_adder(s0, pairs[first + 6], pairs[first + 7])
        s1, fours_b = full_adder(s1, twos_a, twos_b)
        s2, eights = full_adder(s2, fours_a, fours_b)
        s3, s4 = s3 ^ eights, s4 | (s3 & eights)
    half = pair(32)
    n0, carry = full_adder(word(s0), word(s0 >> half), word(0))
    n1, carry = full_adder(word(s1), word(s1 >> half), carry)
    n2, carry = full_adder(word(s2), word(s2 >> half), carry)
    n3, carry = full_adder(word(s3), word(s3 >> half), carry)
    n4, carry = full_adder(word(s4), word(s4 >> half), carry)
    return word(n0), word(n1), word(n2), word(n3), word(n4), word(carry)


@inlined
def most_lanes(sums: Sums, field: Integer) -> tuple[Integer, Integer]:
    """The most lanes in any of the groups of `field`, and the groups that have so many."""
    n0, n1, n2, n3, n4, n5 = sums
    most = 0
    for k, bit in enumerate((n5, n4, n3, n2, n1, n0)):
        if field & bit:
            field = word(field & bit)
            most += 32 >> k
    return most, field


@inlined
def pairs_merge(address: Place, mask: Integer) -> bool:
    """As rule.pairs_merge."""
    both = word(mask & (mask >> word(1))) & word(0x55555555)
    if not word(both & ~_equal_across_1(address)):
        return True
    both = word(mask & (mask >> word(2))) & word(0x33333333)
    return not word(both & ~_equal_across_2(address))


@inlined
def all_differ(keys: Place, lanes: Integer, count: Integer) -> bool:
    """Whether no two of `lanes`, which are `count`, hold the same key."""
    held = carray(keys, 33, np.uint32)
    if count <= 4:  # Mostly so, hence without branches. For want of a lane, `lowest` is 32; no key is held[32].
        a = held[lowest(lanes)]
        lanes = word(lanes & word(lanes - word(1)))
        b = held[lowest(lanes)]
        lanes = word(lanes & word(lanes - word(1)))
        c = held[lowest(lanes)]
        lanes = word(lanes & word(lanes - word(1)))
        d = held[lowest(lanes)]
        return not ((a == b) | (a == c) | (b == c) | (a == d) | (b == d) | ((c == d) & (lanes != 0)))
    while lanes:
        same = equal_to(keys, held[lowest(lanes)])
        lanes = word(lanes & word(lanes - word(1)))
        if same & lanes:
            return False
    return True


@inlined
def monotonic(keys: Place) -> bool:
    """Whether keys only rise, or only fall, from lane to lane: then no two are equal."""
    neighbours = word(ALL >> word(1))
    return not neighbours & ~_below_next(keys) or not neighbours & ~_above_next(keys)


@inner
def drop_repeats(keys: Place, bits: Place, mask: Integer, part: Integer, shift: Integer) -> None:
    """Clear the bit of every lane that wants what an earlier lane of its part wants."""
    held, tags = carray(keys, 33, np.uint32), _room_for_tags()
    tag = carray(tags, 64, np.uint32)
    for lane in range(32):
        # The top bits of a key are free: they take the part. Lanes that are not active differ from all.
        tagged = word(held[lane] | word(word(word(lane) >> part) << word(word(32) - shift)))
        active = lane_word(mask, lane)
        tag[lane] = ALL
        tag[32 + lane] = word(tagged & active) | word(word(1 << 31 | lane) & ~active)
    repeats = word(0)
    for back in range(1, 32):
        repeats |= equal(tags, 32, 32 - back)
    bit = carray(bits, 32, np.uint32)
    for lane in range(32):
        bit[lane] = word(bit[lane] & ~lane_word(repeats, lane))


@inlined
def most_of_parts(sums: Sums, parts: Integer, groups: Integer) -> tuple[Integer, Integer, Integer]:
    """Over the parts: sum of the most lanes in one group, parts that have a lane, most of all."""
    total: Integer = 0
    worst: Integer = 0
    ideal = 0
    for part in range(parts):
        most, _ = most_lanes(sums, part_field(part, groups))
        total += most
        ideal += int(most > 0)
        worst = max(worst, most)
    return total, ideal, worst


@inlined
def part_field(part: Integer, groups: Integer) -> Integer:
    """The bits that a part's lanes may have."""
    return word(((1 << groups) - 1) << (part * groups))


@inlined
def shared_words(keys: Place, bits: Place, sums: Sums, parts: Integer, groups: Integer) -> bool:
    """Whether lanes may share a word so that a part takes less: seen in one of its busiest groups."""
    for part in range(parts):
        most, busiest = most_lanes(sums, part_field(part, groups))
        if most > 8 or (most > 1 and not all_differ(keys, equal_to(bits, word(busiest & -busiest)), most)):
            return True
    return False


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


@callback(types.void(*[types.voidptr] * 2, *[types.int64] * 5))
def judge_broadcast(
    address: Place, found: Place, mask: Integer, width: Integer, groups: Integer, part: Integer, shift: Integer
) -> None:
    """`judge_at` where a pass serves one word to all who want it and one lane of every other bank; to `found`, five
    numbers. Only GPUs of compute capability 1.x have such passes: others are spared its compilation."""
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


@intrinsic(object)
def call_broadcast(
    typing_context: TypingContext,
    function: NumbaType,
    address: NumbaType,
    found: NumbaType,
    mask: NumbaType,
    width: NumbaType,
    groups: NumbaType,
    part: NumbaType,
    shift: NumbaType,
) -> Code:
    """Call `judge_broadcast`, at an address."""

    def generate(context: TargetContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]) -> ir.Value:
        long = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t] * 2 + [long] * 5)
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])
        return context.get_dummy_value()  # type: ignore[no-untyped-call]

    return types.void(types.int64, *[types.voidptr] * 2, *[types.int64] * 5), generate


@inner
def copies(
    address: Place, mask: Integer, width: Integer, groups: Integer, part: Integer, shift: Integer
) -> tuple[Integer, Integer, Integer]:
    """The lengths of banks.copies: the sum over the parts, parts that have a lane, the longest."""
    addresses = carray(address, 32, np.uint32)
    froms, tos = _room_for_keys(), _room_for_bits()
    source, target = carray(froms, 33, np.uint32), carray(tos, 32, np.uint32)
    for lane in range(32):
        first = np.int64(lane >> part) * groups
        bank = np.int64(addresses[lane] >> word(SOURCE_BIT)) * 4 + lane * width
        active = lane_word(mask, lane)
        source[lane] = word(word(1) << word(first + ((bank >> shift) & (groups - 1)))) & active
        target[lane] = word(word(1) << word(first + ((np.int64(addresses[lane]) >> shift) & (groups - 1)))) & active
    total = ideal = worst = 0
    for start in range(0, 32, 1 << part):
        most = 0
        for lane in range(start, start + (1 << part)):
            if lane_word(mask, lane):
                met = word(equal_to(froms, source[lane]) | equal_to(tos, target[lane]))
                most = max(most, int(ones(met)))
        total += most
        ideal += int(most > 0)
        worst = max(worst, most)
    return total, ideal, worst


@inlined
def judge_at(
    address: Place, mask: Integer, op: Integer, width: Integer, rule: Place
) -> tuple[Integer, Integer, Integer, Integer, Integer]:
    """`judge_both` of pointers."""
    column = np.int64(width > 1) + np.int64(width > 2) + np.int64(width > 4) + np.int64(width > 8)
    rules = carray(rule, RULE_WORDS, np.int64)
    record = HEADER + (np.int64(op) * len(WIDTHS) + column) * FIELDS
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
    groups, shift = rules[record + GROUPS], rules[record + SHIFT]
    if serves == BROADCAST:
        place = _room_for_found()
        call_broadcast(rules[BROADCASTS], address, place, mask, width, groups, part, shift)
        found = carray(place, 5, np.int64)
        return found[0], found[1], found[2], found[3], found[4]
    parts, passes = 32 >> part, rules[record + PASSES]
    if serves == COPY:
        total, ideal, worst = copies(address, mask, np.int64(width), groups, part, shift)
        return total * passes, total * passes, ideal * passes, worst, worst
    if serves == ONCE:
        taken = 0
        for p in range(parts):
            lanes = (1 << (1 << part)) - 1
            taken += int((np.int64(mask) >> (p << part)) & lanes != 0)
        return taken * passes, taken * passes, taken * passes, 1, 1
    # From here on the types and the "& 31" let LLVM keep to 32 bits, which halves the vectors.
    log_part, log_unit, keep = word(part & 31), word(shift & 31), word(rules[KEEP])
    keys, bits = _room_for_keys(), _room_for_bits()
    addresses = carray(address, 32, np.uint32)
    key, bit = carray(keys, 33, np.uint32), carray(bits, 32, np.uint32)
    used = word(0)
    for lane in range(32):
        wants = word(word(addresses[lane] & keep) >> log_unit)
        group = word(word(word(lane) >> log_part) * word(groups)) + word(wants & word(groups - 1))
        key[lane] = wants
        bit[lane] = word(word(word(mask >> word(lane)) & word(1)) << word(group & word(31)))
        used |= bit[lane]
    key[32] = ALL
    free = ones(used) == ones(mask)  # each lane alone in its group
    if not free and serves == WORD and ones(used) <= parts:
        free = not mask & ~equal_to(keys, key[lowest(mask)])  # all in one word
    if free:
        busy = 0
        for p in range(parts):
            busy += int(word(used & part_field(p, groups)) != 0)
        return busy * passes, busy * passes, busy * passes, 1, 1
    sums = lanes_of_groups(bits)
    if serves == WORD and shared_words(keys, bits, sums, parts, groups) and not (mask == ALL and monotonic(keys)):
        drop_repeats(keys, bits, mask, log_part, log_unit)
        sums = lanes_of_groups(bits)
    total, ideal, worst = most_of_parts(sums, parts, groups)
    return total * passes, total * passes, ideal * passes, worst, worst


@inner
def parts(address: Place, mask: Integer, op: Integer, width: Integer, rule: Integers) -> Integer:
    """Parts of one request, with or without an active lane; 1 where the rule is not known. Arguments: as `judge`, but
    `address` a pointer."""
    column = np.int64(width > 1) + np.int64(width > 2) + np.int64(width > 4) + np.int64(width > 8)
    record = HEADER + (np.int64(op) * len(WIDTHS) + column) * FIELDS
    if rule[record + SERVES] == UNKNOWN:
        return 1
    part = rule[record + PART]
    if rule[record + MERGED] and pairs_merge(address, word(mask)):
        part = rule[record + MERGED]
    return max(rule[record + ROWS] >> part, 1)


@outer
def judge_both(
    address: Integers, mask: Integer, op: Integer, width: Integer, rule: Integers
) -> tuple[Integer, Integer, Integer, Integer, Integer]:
    """`judge` with both ends of the degree: (low, high, ideal, degree low, degree high)."""
    return judge_at(pointer(address.ctypes.data), mask, op, width, pointer(rule.ctypes.data))


@outer
def judge(
    address: Integers, mask: Integer, op: Integer, width: Integer, rule: Integers
) -> tuple[Integer, Integer, Integer, Integer]:
    """(low, high, ideal, degree) of one request; low is −1 where the count is unknown.

    `address` is uint32[32], contiguous, and holds multiples of `width`; `mask` has a bit for each lane, `op`
    is an index into `banksim.requests.kinds.OPS`, `width` in bytes, `rule` what `rule_words` returns.
    """
    low, high, ideal, _, degree = judge_both(address, mask, op, width, rule)
    return low, high, ideal, degree
