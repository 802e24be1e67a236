"""The rule of rule.py for 32 requests at a time: as straight vector code, in which a vector holds a lane of each.

With lane i of all requests in vector i, what is a loop over lanes in rule.py is a sequence of vector operations here,
and as fast for all addresses. Sixteen bits are left of an address, its key: the part, the group of banks (`one_request`
tells what groups are) and the word of the group. A sorting network brings the lanes of a part, of a group, of a word
together; then one pass over them counts the different words of each group. The most of them are the part's count.

LLVM makes of thirty-two such keys one register of AVX-512, two of AVX2, four of SSE or NEON.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, reduce
from itertools import pairwise
from operator import or_

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils

from banksim.architectures.bank_rules import Architecture
from banksim.banks.compiled.rule_words import BROADCAST, FIELDS, HEADER, KEEP, LANE, WORD, rule_records
from banksim.banks.compiled.vectors import Variable, Words, in_order, some
from banksim.requests.columns import TOGETHER
from banksim.requests.kinds import OPS, WIDTHS
from banksim.system.jit import intrinsic

REQUESTS = TOGETHER
"""Requests that are judged together."""
LANES = 32
I16, I32, I64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)
ALL = 0xFFFFFFFF
KEYS, LONG, HALF = ir.VectorType(I16, REQUESTS), ir.VectorType(I32, REQUESTS), ir.VectorType(I32, LANES // 2)
SMALLEST, LARGEST = 2, 18
"""A key is made of these bits of an address, from the first to before the second: no word is smaller than 4 bytes, and
no shared memory larger than 256 KiB."""
ROW = 11
"""Bits of a key that tell a group's words apart; those above are the group and the part."""

Field = tuple[int, int]
SHIFT, GROUPS, PART, MERGED, ROWS, PASSES, SERVES = (0, 3), (3, 3), (6, 3), (9, 3), (12, 5), (17, 12), (29, 3)
"""First bit and number of bits of each field of a record, which is the rule of one op and width: log2 of the bytes that
share a group's word, log2 of the groups, log2 of the lanes of a part, the same if pairs merge (0: never), lanes that
give addresses − 1, passes of each, whom a pass serves."""
PLAIN = SMALLEST << SHIFT[0] | 5 << GROUPS[0] | 5 << PART[0] | (LANES - 1) << ROWS[0] | WORD << SERVES[0]
"""The record of words of 32 banks, whatever its passes."""
ELSEWHERE = BROADCAST << SERVES[0]
"""Records from this number on are not judged here: counts that are a range, of copies, of other blocks, or unknown; and
rows of banks so short that a key would be longer."""
WIDEST = 32
"""Records of an op in a table: that of each width at its number."""
COUNT, LOW, HIGH, IDEAL, SUMS = range(5)
"""What is added up of requests, side by side for each: itself, the transactions from the fewest to the most …"""
DEGREES = 2
"""… and its degree from the least to the most."""
FIGURES = SUMS + DEGREES + 1
"""After these the most transactions beyond the ideal; −1 where the count is not known."""


@lru_cache
def records(arch: Architecture) -> npt.NDArray[np.uint32]:
    """The record of every op and width, at `WIDEST` × op + width; last, which address bits tell words apart."""
    rule = rule_records(arch)
    shift, groups, part, merged, serves, passes, rows = np.moveaxis(rule[HEADER:].reshape(len(OPS), -1, FIELDS), 2, 0)
    groups = np.log2(np.maximum(groups, 1)).astype(np.int64)
    judged_here = (serves >= 0) & (serves < BROADCAST) & (shift + groups + ROW >= LARGEST)
    fields = {
        SHIFT: shift, GROUPS: groups, PART: part, MERGED: merged, ROWS: np.maximum(rows - 1, 0), PASSES: passes,
        SERVES: np.where(judged_here, serves, BROADCAST),
    }  # fmt: skip
    table = np.full((len(OPS), WIDEST), ELSEWHERE, np.uint32)
    table[:, WIDTHS] = sum(values << first for (first, _), values in fields.items())
    found = np.append(table, np.uint32(rule[KEEP]))
    found.flags.writeable = False
    return found


def field(record: Words, field: Field) -> Words:
    """A field of records, or of what lies as they do."""
    first, bits = field
    return ((record >> first) & ((1 << bits) - 1)).as_type(KEYS)


# A block: a register's 128 bits, keys of eight requests. Eight requests make eight registers of four blocks. The lanes
# that block t has in these registers one after the other:
BLOCKS = 4
GROUP = REQUESTS // BLOCKS
OF_BLOCK = [[16 * half + 4 * block + lane for half in range(2) for lane in range(4)] for block in range(BLOCKS)]


def loaded(builder: ir.IRBuilder, place: ir.Value, kind: ir.Type) -> Words:
    return Words(builder, builder.load(builder.bitcast(place, kind.as_pointer()), align=4))


def keys_of_eight(builder: ir.IRBuilder, rows: ir.Value, union: Variable) -> list[Words]:
    """Keys of eight requests in registers as above, from the addresses of their words; and the union of all these."""
    found = []
    for half in range(2):
        pairs = []
        for pair in range(4):
            two = []
            for request in range(2):
                place = builder.load(builder.gep(rows, [ir.Constant(I32, 2 * pair + request)]))
                place = builder.inttoptr(builder.add(place, ir.Constant(I64, 64 * half)), cgutils.voidptr_t)
                two.append(loaded(builder, place, HALF))
            union.set(union.get() | two[0] | two[1])
            low, high = (two[0] >> SMALLEST) & 0xFFFF, (two[1] << (16 - SMALLEST)) & 0xFFFF0000
            pairs.append(low | high)
        for order in ([0, 16, 1, 17], [2, 18, 3, 19]):
            low, high = (pairs[k].picked(pairs[k + 1], in_each_block(order)) for k in (0, 2))
            for last in ([0, 1, 16, 17], [2, 3, 18, 19]):
                keys = low.picked(high, in_each_block(last))
                found.append(Words(builder, builder.bitcast(keys.value, KEYS)))
    return found


def in_each_block(order: Sequence[int]) -> list[int]:
    """The same 32-bit words of each block of two registers: those of the second from 16 on."""
    return [4 * block + word for block in range(BLOCKS) for word in order]


def of_blocks(blocks: Sequence[int]) -> list[int]:
    """The keys of these blocks of two registers: those of the second from `BLOCKS` on."""
    return [GROUP * block + k for block in blocks for k in range(GROUP)]


def by_lane(groups: Sequence[Sequence[Words]]) -> list[Words]:
    """Four groups of eight requests: the first block of all four, register by register, the second …"""
    found: list[list[Words]] = [[] for _ in range(BLOCKS)]
    for a, b, c, d in zip(*groups, strict=True):
        for first in range(2):
            low, high = (x.picked(y, of_blocks(range(first, 8, 2))) for x, y in ((a, b), (c, d)))
            found[first].append(low.picked(high, of_blocks(range(0, 8, 2))))
            found[first + 2].append(low.picked(high, of_blocks(range(1, 8, 2))))
    return [key for block in found for key in block]


def pairs_merge(lanes: Sequence[Words], active: Sequence[ir.Value], other: int) -> ir.Value:
    """For which requests every active lane finds lane ^ `other` inactive or at its own address."""
    builder = lanes[0].builder
    differ = lanes[0].like(0)
    for lane in range(len(lanes)):
        if not lane & other:
            both = builder.and_(active[lane], active[lane | other])
            differ = differ.like(1).where(builder.and_(both, lanes[lane].which("!=", lanes[lane | other])), differ)
    return over_blocks(differ, or_).which("==", 0)


def over_blocks(words: Words, both: Callable[[Words, Words], Words]) -> Words:
    """What all blocks have together, in each."""
    for order in ([2, 3, 0, 1], [1, 0, 3, 2]):
        words = both(words, words.picked(words, of_blocks(order)))
    return words


def given(record: Words) -> Words:
    """The lanes that give addresses."""
    return record.like(ALL) >> (record.like(LANES - 1) - field(record, ROWS).as_type(LONG))


def active_lanes(record: Words, mask: Words) -> list[ir.Value]:
    """Of which requests the lanes of each register are active."""
    nibbles = Words(record.builder, ir.Constant(LONG, [4 * (k // 8) for k in range(REQUESTS)]))
    mask = ((mask & given(record)) >> nibbles) & 0x000F000F
    bits = (mask | (mask >> 12)).as_type(KEYS)
    return [(bits & (1 << r)).which("!=", 0) for r in range(GROUP)]


def special_keys(lanes: Sequence[Words], record: Words, mask: Words, keep: Words) -> list[Words]:
    """The keys of lanes by any record."""
    builder, active = record.builder, active_lanes(record, mask)
    number = [Words(builder, ir.Constant(KEYS, [OF_BLOCK[k // 8][r] for k in range(REQUESTS)])) for r in range(GROUP)]
    shift, groups, part, merged, serves = (field(record, f) for f in (SHIFT, GROUPS, PART, MERGED, SERVES))
    pairs = builder.or_(*[pairs_merge(lanes, active, other) for other in (1, 2)])
    part = merged.where(builder.and_(pairs, merged.which("!=", 0)), part)
    row = part.like((1 << ROW) - 1).where(serves.which("==", WORD))
    each = part.like(LANES - 1).where(serves.which("==", LANE))
    group = ((part.like(1) << groups) - 1) << ROW
    keys = []
    for lane, address in zip(number, lanes, strict=True):
        word = (address & keep) >> (shift - SMALLEST)
        where = ((lane >> part) << groups) << ROW
        keys.append(((word >> groups) & row) | (each & lane) | ((word << ROW) & group) | where)
    return keys


def of_active(keys: Sequence[Words], active: Sequence[ir.Value]) -> list[Words]:
    """These keys, but each inactive lane has the key of an active one: a lane more in a word costs nothing."""
    other = reduce(Words.larger, [key.where(here) for key, here in zip(keys, active, strict=True)])
    other = over_blocks(other, Words.larger)
    return [key.where(here, other) for key, here in zip(keys, active, strict=True)]


def following(here: Words, before: Words, key: Words) -> Words:
    """Which word of its group a key is, counted from 1. `here`: the same of the key `before`, in whatever group."""
    differ = before ^ key
    another = differ.saturated(0xFFFE) + 2  # 1 if they differ
    return here.less(differ & (0xFFFF ^ ((1 << ROW) - 1))) + another


def of_parts(keys: Sequence[Words], border: Words) -> tuple[Words, Words]:
    """The most words that a part wants of one group, summed over the parts; and how many parts there are. The keys
    ascend, and from one part to the next they differ by more than `border`."""
    builder, one = border.builder, border.like(1)
    with builder.goto_entry_block():
        room = builder.alloca(KEYS, LANES)
    for lane, key in enumerate(keys):
        builder.store(key.value, builder.gep(room, [ir.Constant(I64, lane)]))
    here, most, total, parts = (Variable(first) for first in (one, one, one ^ one, one))
    with cgutils.for_range(builder, ir.Constant(I64, LANES - 1)) as loop:
        second = builder.add(loop.index, ir.Constant(I64, 1))
        before, key = (loaded(builder, builder.gep(room, [lane]), KEYS) for lane in (loop.index, second))
        new = (before ^ key).which(">", border)
        here.set(following(here.get(), before, key))
        total.set(total.get() + most.get().where(new))
        parts.set(parts.get() + one.where(new))
        most.set(most.get().where(builder.not_(new)).larger(here.get()))
    return total.get() + most.get(), parts.get()


def sorted_by_lane(
    builder: ir.IRBuilder, rows: ir.Value, masks: ir.Value, records: ir.Value, keep: ir.Value, union: Variable
) -> list[Words]:
    """The keys of each request in ascending order, from places of what `judge_together` is given."""

    def of_group(place: ir.Value, group: ir.Value) -> Words:
        eight = ir.VectorType(I32, GROUP)
        place = builder.gep(builder.bitcast(place, eight.as_pointer()), [group])
        words = Words(builder, builder.load(place, align=4))
        return words.picked(words, [*range(GROUP)] * BLOCKS)

    mask, record = (loaded(builder, place, LONG) for place in (masks, records))
    plain = (record ^ PLAIN) & ~(((1 << PASSES[1]) - 1) << PASSES[0])
    keep = builder.trunc(builder.lshr(keep, ir.Constant(I32, SMALLEST)), I16)
    whole = builder.icmp_unsigned("==", keep, ir.Constant(I16, 0xFFFF))
    special = builder.or_(some(builder, plain.which("!=", 0)), builder.not_(whole))
    masked = some(builder, (mask & given(record)).which("!=", ALL))
    single = Words(builder, builder.insert_element(ir.Constant(KEYS, ir.Undefined), keep, ir.Constant(I32, 0)))
    with builder.goto_entry_block():
        room = builder.alloca(KEYS, LANES)
        room.align = 64
    with cgutils.for_range(builder, ir.Constant(I64, BLOCKS)) as loop:
        first = builder.mul(loop.index, ir.Constant(I64, GROUP))
        lanes = keys_of_eight(builder, builder.gep(rows, [first]), union)
        # Of 32 banks and whole warps: the last bits of an address go to the front.
        variables = [Variable((lane >> 5) | (lane << ROW)) for lane in lanes]
        of_records, of_masks = of_group(records, loop.index), of_group(masks, loop.index)

        def put(keys: Sequence[Words], variables: Sequence[Variable] = variables) -> None:
            for variable, key in zip(variables, keys, strict=True):
                variable.set(key)

        with builder.if_then(special):
            put(special_keys(lanes, of_records, of_masks, single.picked(single, [0] * REQUESTS)))
        with builder.if_then(masked):
            put(of_active([key.get() for key in variables], active_lanes(of_records, of_masks)))
        for register, key in enumerate(in_order([key.get() for key in variables])):
            builder.store(key.value, builder.gep(room, [builder.add(first, ir.Constant(I64, register))]))
    places = [builder.gep(room, [ir.Constant(I64, n)]) for n in range(LANES)]
    keys = [loaded(builder, place, KEYS) for place in places]
    return in_order(by_lane([keys[first : first + GROUP] for first in range(0, LANES, GROUP)]), GROUP)


def judged(keys: Sequence[Words], record: Words, mask: Words) -> Iterator[Words]:
    """`SUMS`, `DEGREES` and the excess of requests, from their keys in ascending order."""
    builder, border = record.builder, (mask.like(1).as_type(KEYS) << field(record, GROUPS) << ROW) - 1
    here = most = border.like(1)
    for before, key in pairwise(keys):
        here = following(here, before, key)
        most = most.larger(here)
    total, parts = Variable(most), Variable(border.like(1))
    with builder.if_then(some(builder, field(record, PART).which("!=", 5))):
        for variable, figure in zip((total, parts), of_parts(keys, border), strict=True):
            variable.set(figure)
    some_lane = (mask & given(record)).which("!=", 0)
    transactions, ideal, degree = (w.get().as_type(LONG).where(some_lane) for w in (total, parts, Variable(most)))
    passes = field(record, PASSES).as_type(LONG)
    counts, least = transactions * passes, ideal * passes
    yield beside(beside(counts.like(1), counts), beside(counts, least))
    yield beside(degree, degree)
    yield counts - least


def beside(a: Words, b: Words) -> Words:
    """Of two vectors with as many words for each request: the words of both for the first request, of both for the
    second …"""
    count = a.value.type.count
    each = count // REQUESTS
    return a.picked(b, [of + r * each + k for r in range(REQUESTS) for of in (0, count) for k in range(each)])


@intrinsic(int, types.uint32(types.voidptr, types.voidptr, types.voidptr, types.uint32, types.voidptr))
def judge_together(
    builder: ir.IRBuilder, rows: ir.Value, masks: ir.Value, records: ir.Value, keep: ir.Value, figures: ir.Value
) -> ir.Value:
    """Judge `REQUESTS` requests: addresses of their words, uint64; uint32 masks and records; the address bits that tell
    words apart; and where `FIGURES` × `REQUESTS` uint32 go. All are places, but `keep` is a word.

    Returns the union of all addresses, inactive lanes' too. They mean nothing unless it is below `1 << LARGEST`.
    """
    union = Variable(Words(builder, ir.Constant(HALF, None)))
    rows = builder.bitcast(rows, I64.as_pointer())
    keys = sorted_by_lane(builder, rows, masks, records, keep, union)
    for words in judged(keys, loaded(builder, records, LONG), loaded(builder, masks, LONG)):
        builder.store(words.value, builder.bitcast(figures, words.value.type.as_pointer()), align=4)
        figures = builder.gep(figures, [ir.Constant(I64, 4 * words.value.type.count)])
    return union.get().union()
