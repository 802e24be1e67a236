"""The rule of banks.py compiled by numba; tests/test_banks.py holds the two equal. Imported only where needed.

How a part is counted without a loop over words: an access of w bytes lies in one of (row of banks / w) groups
of banks, so each lane is one bit, at (part, group), and the lanes per group are the sum of 32 such words, done
bit by bit of the sum with full adders ("sliced"): some 160 operations whatever the addresses are. Only if
lanes share a group is it asked whether they also share a word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import carray, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from banksim.arch import Architecture
from banksim.errors import InputError
from banksim.trace import OPS, WIDTHS

SERVES = {"word": 0, "lane": 1, "broadcast": 2}
KEEP, HEADER = 0, 1
SHIFT, GROUPS, PART, MERGED, SERVED, PASSES, ROWS, FIELDS = range(8)
UNKNOWN = -1
RULE_WORDS = HEADER + len(OPS) * len(WIDTHS) * FIELDS
"""Length of what `rule_words` returns."""


def translation_period(arch: Architecture) -> int:
    """A power of two: moving every address of a request by a multiple of so many bytes changes no count."""
    return arch.bank_width if arch.pass_width == arch.bank_width else arch.row_bytes


def rule_words(arch: Architecture) -> npt.NDArray[np.int64]:
    """`arch` as the numbers that `judge` reads: which address bits tell words apart, then a record for each op
    and width."""
    rule = np.zeros(RULE_WORDS, np.int64)
    # With two words of a bank in a row, these differ in one address bit, and share a pass.
    rule[KEEP] = 0xFFFFFFFF & ~(0 if arch.pass_width == arch.bank_width else arch.banks * arch.bank_width)
    records = rule[HEADER:].reshape(len(OPS), len(WIDTHS), FIELDS)
    records[..., SERVED] = UNKNOWN
    for code, op in enumerate(OPS):
        for column, width in enumerate(WIDTHS):
            access = None if arch.missing(op, width) else arch.accesses.get((op, width))
            if access is None:
                continue
            unit = max(min(width, access.request_bytes), arch.bank_width)
            record = records[code, column]
            record[SHIFT] = unit.bit_length() - 1
            record[GROUPS] = arch.banks * arch.bank_width // unit
            record[PART] = access.lanes.bit_length() - 1
            record[MERGED] = max(access.merged.bit_length() - 1, 0)
            record[SERVED] = SERVES[access.serves]
            record[PASSES] = access.passes
            record[ROWS] = access.rows
            if record[GROUPS] * (32 // access.lanes) > 64 or 32 // access.lanes > unit // 2:
                raise InputError(
                    f"{arch.name}: {op} of {width} bytes has too many parts of {access.lanes} lanes"
                )
    return rule


def stack_array(bits: int, length: int) -> Any:
    """An intrinsic that gives the address of room on the stack: a request must not cost an allocation."""

    @intrinsic
    def room(typing_context: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = cgutils.alloca_once(builder, ir.ArrayType(ir.IntType(bits), length))
            place.align = 64
            return builder.bitcast(place, cgutils.voidptr_t)

        return types.voidptr(), generate

    return room


@intrinsic
def ones(typing_context: Any, word: Any) -> Any:
    """How many bits of a word are set."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return word(word), generate


_room_for_keys = stack_array(32, 32)
_room_for_bits = stack_array(64, 32)
_room_for_tagged = stack_array(32, 64)
_room_for_repeated = stack_array(32, 32)
_room_for_left = stack_array(32, 32)
_room_for_lanes = stack_array(32, 32)
_room_for_picked = stack_array(32, 32)
_room_for_banks = stack_array(32, 32)
_room_for_words = stack_array(32, 32)
_room_for_counts = stack_array(32, 32)


@intrinsic
def lowest(typing_context: Any, word: Any) -> Any:
    """The number of the lowest bit that is set."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return word(word), generate


NONE = np.uint64(0)
ALL = np.uint32(0xFFFFFFFF)


@njit(cache=True, inline="always")
def full_adder(a: Any, b: Any, c: Any) -> Any:
    half = a ^ b
    return half ^ c, (a & b) | (half & c)


@njit(cache=True)
def lanes_of_groups(bits: Any) -> Any:
    """The sum of 32 words bit by bit of the sum: word k holds bit k of the number of lanes of each group."""
    s0 = s1 = s2 = s3 = s4 = s5 = NONE
    for first in range(0, 32, 8):
        s0, twos_a = full_adder(s0, bits[first], bits[first + 1])
        s0, twos_b = full_adder(s0, bits[first + 2], bits[first + 3])
        s1, fours_a = full_adder(s1, twos_a, twos_b)
        s0, twos_a = full_adder(s0, bits[first + 4], bits[first + 5])
        s0, twos_b = full_adder(s0, bits[first + 6], bits[first + 7])
        s1, fours_b = full_adder(s1, twos_a, twos_b)
        s2, eights = full_adder(s2, fours_a, fours_b)
        s3, sixteens = s3 ^ eights, s3 & eights
        s4, s5 = s4 ^ sixteens, s5 | (s4 & sixteens)
    return s0, s1, s2, s3, s4, s5


@njit(cache=True)
def most_lanes(sums: Any, field: Any) -> Any:
    """The most lanes in any of the groups of `field`, and the groups that have so many."""
    s0, s1, s2, s3, s4, s5 = sums
    most = 0
    for k, word in enumerate((s5, s4, s3, s2, s1, s0)):
        if field & word:
            field &= word
            most += 32 >> k
    return most, field


@njit(cache=True)
def pairs_merge(address: Any, mask: Any) -> Any:
    """As banks.pairs_merge."""
    differ = np.uint32(0)
    both = mask & (mask >> np.uint32(1))
    for i in range(0, 32, 2):
        differ |= (address[i] ^ address[i + 1]) & (np.uint32(0) - ((both >> np.uint32(i)) & np.uint32(1)))
    if not differ:
        return True
    differ = np.uint32(0)
    both = mask & (mask >> np.uint32(2))
    for i in range(0, 32, 4):
        differ |= (address[i] ^ address[i + 2]) & (np.uint32(0) - ((both >> np.uint32(i)) & np.uint32(1)))
        differ |= (address[i + 1] ^ address[i + 3]) & (
            np.uint32(0) - ((both >> np.uint32(i + 1)) & np.uint32(1))
        )
    return not differ


@njit(cache=True)
def all_differ(keys: Any, bits: Any, group: Any) -> Any:
    """Whether no two lanes of one group want the same word."""
    lanes = np.uint32(0)
    for lane in range(32):
        lanes |= np.uint32(bits[lane] == group) << np.uint32(lane)
    while lanes:
        key = keys[lowest(lanes)]
        lanes &= lanes - np.uint32(1)
        others = lanes
        while others:
            if keys[lowest(others)] == key:
                return False
            others &= others - np.uint32(1)
    return True


@njit(cache=True)
def monotonic(keys: Any) -> Any:
    """Whether keys only rise, or only fall, from lane to lane: then no two are equal."""
    up = down = np.uint32(0)
    for lane in range(31):
        up |= np.uint32(keys[lane] <= keys[lane + 1])
        down |= np.uint32(keys[lane] >= keys[lane + 1])
    return not up or not down


@njit(cache=True)
def uniform(keys: Any, mask: Any) -> Any:
    """Whether all active lanes want one word."""
    key, differ = keys[lowest(mask)], np.uint32(0)
    for lane in range(32):
        differ |= (keys[lane] ^ key) & (np.uint32(0) - ((mask >> np.uint32(lane)) & np.uint32(1)))
    return not differ


@njit(cache=True)
def drop_repeats(keys: Any, bits: Any, mask: Any, size: Any, shift: Any) -> None:
    """Clear the bit of every lane that wants what an earlier lane of its part wants."""
    tagged = carray(_room_for_tagged(), 64, np.uint32)
    for lane in range(32):
        tagged[lane] = ALL
        # The top bits of a key are free: there stand the part, and a number of its own for a lane that is inactive.
        part = np.uint32(lane) >> size << (np.uint32(32) - shift)
        active = (mask >> np.uint32(lane)) & np.uint32(1)
        tagged[32 + lane] = keys[lane] | part if active else np.uint32(1 << 31 | lane)
    repeated = carray(_room_for_repeated(), 32, np.uint32)
    for lane in range(32):
        repeated[lane] = 0
    for back in range(1, 32):
        for lane in range(32):
            repeated[lane] |= np.uint32(tagged[32 + lane] == tagged[32 + lane - back])
    for lane in range(32):
        bits[lane] = NONE if repeated[lane] else bits[lane]


@njit(cache=True)
def broadcasts(bank: Any, count: Any, words: Any, lucky: Any) -> Any:
    """The length of banks.broadcasts for `words` words, each with its bank and the number of lanes in want of it."""
    left = carray(_room_for_left(), 32, np.int32)
    lanes = carray(_room_for_lanes(), 32, np.int32)
    picked = carray(_room_for_picked(), 32, np.int32)
    sign = -1 if lucky else 1  # so that smallest and largest stand for both
    remaining = passes = 0
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


@njit(cache=True)
def judge_broadcast(address: Any, mask: Any, width: Any, groups: Any, size: Any, shift: Any) -> Any:
    """`judge_both` where a pass serves one word to all and one lane of every other bank."""
    bank = carray(_room_for_banks(), 32, np.int32)
    key = carray(_room_for_words(), 32, np.uint32)
    count = carray(_room_for_counts(), 32, np.int32)
    low = high = ideal = worst_low = worst_high = 0
    for offset in range(0, width, 1 << shift):
        for first in range(0, 32, 1 << size):
            words = 0
            for lane in range(first, first + (1 << size)):
                if not (mask >> np.uint32(lane)) & np.uint32(1):
                    continue
                wants = (address[lane] + np.uint32(offset)) >> shift
                w = 0
                while w < words and key[w] != wants:
                    w += 1
                if w == words:
                    key[w], bank[w], count[w] = wants, wants & np.uint32(groups - np.uint64(1)), 0
                    words += 1
                count[w] += 1
            if words:
                fewest, most = broadcasts(bank, count, words, True), broadcasts(bank, count, words, False)
                low, high, ideal = low + fewest, high + most, ideal + 1
                worst_low, worst_high = max(worst_low, fewest), max(worst_high, most)
    return low, high, ideal, worst_low, worst_high


@njit(cache=True)
def judge_both(address: Any, mask: Any, op: Any, width: Any, rule: Any) -> Any:
    """`judge`, with both ends of the degree: (low, high, ideal, lowest degree, highest degree)."""
    column = np.int64(width > 1) + np.int64(width > 2) + np.int64(width > 4) + np.int64(width > 8)
    record = HEADER + (np.int64(op) * 5 + column) * FIELDS
    served, rows = rule[record + SERVED], rule[record + ROWS]
    if served < 0:
        return UNKNOWN, UNKNOWN, 0, 0, 0
    mask = np.uint32(mask)
    if rows < 32:
        mask &= np.uint32((1 << rows) - 1)
    if not mask:
        return 0, 0, 0, 0, 0
    size = np.uint32(rule[record + PART])
    if rule[record + MERGED] and pairs_merge(address, mask):
        size = np.uint32(rule[record + MERGED])
    shift, keep = np.uint32(rule[record + SHIFT]), np.uint32(rule[KEEP])
    groups = np.uint64(rule[record + GROUPS])
    if served == 2:
        return judge_broadcast(address, mask, width, groups, size, shift)
    keys = carray(_room_for_keys(), 32, np.uint32)
    bits = carray(_room_for_bits(), 32, np.uint64)
    used = NONE
    for lane in range(32):
        key = (address[lane] & keep) >> shift
        active = np.uint64((mask >> np.uint32(lane)) & np.uint32(1))
        part = np.uint64(np.uint32(lane) >> size)
        bit = active << (part * groups + (np.uint64(key) & (groups - np.uint64(1))))
        keys[lane] = key
        bits[lane] = bit
        used |= bit
    parts = 32 >> size
    passes = rule[record + PASSES]
    field = (np.uint64(1) << groups) - np.uint64(1)
    free = ones(used) == ones(mask) or (served == 0 and ones(used) <= parts and uniform(keys, mask))
    if free:
        ideal = 0
        for part in range(parts):
            ideal += np.int64((used >> (np.uint64(part) * groups)) & field != 0)
        return ideal * passes, ideal * passes, ideal * passes, 1, 1
    sums = lanes_of_groups(bits)
    if served == 0:
        sure = True
        for part in range(parts):
            most, busiest = most_lanes(sums, field << (np.uint64(part) * groups))
            if most > 8 or (most > 1 and not all_differ(keys, bits, busiest & (~busiest + np.uint64(1)))):
                sure = False
                break
        if not sure and not (mask == ALL and monotonic(keys)):
            drop_repeats(keys, bits, mask, size, shift)
            sums = lanes_of_groups(bits)
    total = ideal = worst = 0
    for part in range(parts):
        most, _ = most_lanes(sums, field << (np.uint64(part) * groups))
        total += most
        ideal += np.int64(most > 0)
        worst = max(worst, most)
    return total * passes, total * passes, ideal * passes, worst, worst


@njit(cache=True)
def judge(address: Any, mask: Any, op: Any, width: Any, rule: Any) -> Any:
    """(low, high, ideal, degree) of one request; low is −1 where the count is unknown.

    `address` is uint32[32], `mask` a word of bits, `op` an index into `banksim.trace.OPS`, `width` in bytes,
    `rule` what `rule_words` returns.
    """
    low, high, ideal, _, degree = judge_both(address, mask, op, width, rule)
    return low, high, ideal, degree
