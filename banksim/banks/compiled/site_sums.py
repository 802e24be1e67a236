"""What the requests of a trace cost by site, op and width: one pass over them, on all cores. Needs numba.

Every thread adds up the requests that it takes in a table of its own, so that nothing is shared; then the tables are
added up, which is the same in whatever order.
"""

from threading import get_ident

import numpy as np

from banksim.architectures.bank_rules import Architecture
from banksim.banks.compiled.arrays import AHEAD, are_alike, fetch_ahead, judge_rows, kind_of, moves_of, room_for_many
from banksim.banks.compiled.many_requests import REQUESTS, SUMS, WIDEST, records
from banksim.banks.compiled.rule_words import rule_words
from banksim.banks.conflicts import Tally
from banksim.requests.columns import (  # fmt: skip
    ADDRESS,
    BLOCK,
    MASK,
    OP,
    READ,
    SITE,
    WIDTH,
    Ints,
    places,
    row_of,
    spread,
    unpacked,
)
from banksim.requests.lane_intrinsics import pointer, word
from banksim.requests.trace import Trace
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import carray, inlined, inner, outer

Key = tuple[int, int, int]
"""Number of the site, code of the op, width."""
REQUEST, LOW, HIGH, IDEALS, DEGREE_LOW, DEGREE_HIGH, EXCESS, FIRST, WORST, KEY = range(10)
"""The fields of an entry: the figures of a key; excess, block and row of its worst request; and the key (0: the entry
is free). A hash of op and width tells where their entries begin, which follow in the order of their sites, and how far
on to look where another entry stands."""
KNOWN, MASK_OF, AGAIN, ONE = range(10, 14)
ENTRY = ONE + SUMS
"""Its other fields, of one request of the key, the known one: where its addresses lie, its mask (0: there is none), how
many like it have come since, which the figures do not hold yet, and what one of them costs."""
ORDER = ((1, WORST), (1, FIRST), (-1, EXCESS), (1, KEY))
"""By what entries are sorted, the last field first; keys are in the order of sites, then ops, then widths."""
SITE_BIT = 32
"""From this bit of a key on, the site."""
SPARE = 2
"""How many times as many entries a table has as are used: in a fuller one, more would not be at their first place."""
LARGEST_AT_FIRST = 14
"""log2 of the entries that a table begins with at most: a trace may name far more sites than it has."""
SOME = 1 << 15
"""Requests that a thread takes at a time: so few that all threads end together."""
NO_EXCESS = -2
"""Below that of an unknown count, which is −1."""


@inlined
def words_from(column: tuple[Integer, Integer], row: Integer) -> Integers:
    """The words of a column from a row on that are read together."""
    return carray(row_of(column, row), REQUESTS, np.uint32)


@inlined
def at(entries: Integers, n: Integer) -> Integers:
    """Entry n."""
    return carray(pointer(np.uint64(entries.ctypes.data) + np.uint64(n) * np.uint64(8 * ENTRY)), ENTRY, np.int64)


@inlined
def key_of(site: Integer, kind: Integer) -> Integer:
    return np.int64(site) << np.int64(SITE_BIT) | np.int64(kind)


@inlined
def entry_of(key: Integer, entries: Integers) -> Integers:
    """The entry of a key, or the free one that would be its own."""
    last, mixed = np.int64(len(entries) - 1), np.int64(word(word(key) * word(0x9E3779B1)))
    n = ((key >> np.int64(SITE_BIT)) + (mixed >> np.int64(12))) & last
    while at(entries, n)[KEY] != key and at(entries, n)[KEY]:
        n = (n + (mixed | np.int64(1))) & last
    return at(entries, n)


@inner
def add_known(
    columns: Integers, first: Integer, count: Integer, read: Integers, keep: Integers, entries: Integers
) -> Integer:
    """Add up requests from `first` on, `count` at most, as long as each is like the known one of its key. Returns how
    many they were."""
    addresses, masks = unpacked(columns, ADDRESS), words_from(unpacked(columns, MASK), first)
    sites, blocks = words_from(unpacked(columns, SITE), first), words_from(unpacked(columns, BLOCK), first)
    ops = carray(row_of(unpacked(columns, OP), first), REQUESTS, np.uint8)
    widths = carray(row_of(unpacked(columns, WIDTH), first), REQUESTS, np.uint8)
    address = addresses[0] + first * addresses[1]
    for k in range(count):
        fetch_ahead(address, AHEAD * addresses[1])
        entry = entry_of(key_of(sites[k], kind_of(ops[k], widths[k])), entries)
        active, block = word(masks[k] & read[ops[k]]), np.int64(blocks[k])
        if not masks[k] or entry[MASK_OF] != masks[k]:
            return k
        if not are_alike(pointer(np.uint64(address)), pointer(np.uint64(entry[KNOWN])), active, keep[ops[k]]):
            return k
        entry[AGAIN] += 1
        if block < entry[FIRST] and entry[ONE + HIGH] - entry[ONE + IDEALS] == entry[EXCESS]:
            entry[FIRST], entry[WORST] = block, first + k
        address += addresses[1]
    return count


@inlined
def make_known(entry: Integers, address: Integer, mask: Integer, sums: Integers) -> None:
    """Let a request that has been added up be the known one of its key."""
    for k in range(SUMS):
        entry[k] += entry[ONE + k] * entry[AGAIN]
        entry[ONE + k] = sums[k]
    entry[KNOWN], entry[MASK_OF], entry[AGAIN] = address, mask, 0


@outer
def _tally(
    columns: Integers,
    first: Integer,
    last: Integer,
    table: Integers,
    rule: Integers,
    read: Integers,
    keep: Integers,
    used: Integer,
    entries: Integers,
) -> tuple[Integer, Integer]:
    """Add the rows to the entries of their keys. Returns where it came to and the entries used: it stops early when
    `entries` is nearly full."""
    addresses, sites, blocks = unpacked(columns, ADDRESS), unpacked(columns, SITE), unpacked(columns, BLOCK)
    rules, room = pointer(rule.ctypes.data), room_for_many()
    # Making requests known costs as much as adding them up: the less it helps, the less often it is done.
    row, wait, pause, hopeful = first, 0, 1, False
    while row < last and SPARE * (used + REQUESTS) <= len(entries):
        count = min(REQUESTS, last - row)
        if hopeful:
            known = add_known(columns, row, count, read, keep, entries)
            row, hopeful, pause = row + known, bool(known), 1 if known else 2 * pause
            if known == count:
                continue
            count = min(REQUESTS, last - row)
        rows_at, sums, degrees, excesses, mask, kinds, _ = judge_rows(columns, row, last, table, rules, room)
        site_at, block_at = words_from(sites, row), words_from(blocks, row)
        for k in range(count):
            fetch_ahead(rows_at[k], AHEAD * addresses[1])
            if not mask[k]:
                continue
            key = key_of(site_at[k], kinds[k])
            entry = entry_of(key, entries)
            if not entry[KEY]:
                entry[KEY], entry[EXCESS], used = key, NO_EXCESS, used + 1
            # All is read before anything is written, so that LLVM makes vectors of it.
            one, low, high, ideal = sums[k, 0], sums[k, 1], sums[k, 2], sums[k, 3]
            a, b, c, d = entry[REQUEST], entry[LOW], entry[HIGH], entry[IDEALS]
            entry[REQUEST], entry[LOW] = a + np.int64(one), b + np.int64(low)
            entry[HIGH], entry[IDEALS] = c + np.int64(high), d + np.int64(ideal)
            least, most = np.int64(degrees[k, 0]), np.int64(degrees[k, 1])
            least, most = max(least, entry[DEGREE_LOW]), max(most, entry[DEGREE_HIGH])
            entry[DEGREE_LOW], entry[DEGREE_HIGH] = least, most
            excess = np.int64(excesses[k])
            if excess >= entry[EXCESS]:
                block = np.int64(block_at[k])
                if excess > entry[EXCESS] or block < entry[FIRST]:
                    entry[EXCESS], entry[FIRST], entry[WORST] = excess, block, row + k
        wait -= 1
        if wait < 0:
            wait, hopeful = pause, True
            for k in range(count):
                if mask[k]:
                    entry = entry_of(key_of(site_at[k], kinds[k]), entries)
                    make_known(entry, addresses[0] + (row + k) * addresses[1], mask[k], sums[k])
        row += count
    return row, used


def tally(trace: Trace, arch: Architecture, workers: int = 0) -> dict[Key, Tally]:
    """By (site, op, width), in this order, what the requests of a trace cost. `workers`: threads, 0 for all cores."""
    table, rule, n = records(arch), rule_words(arch), len(trace)
    columns, _held = places((trace.address, trace.mask, trace.op, trace.width, trace.site, trace.block))

    keep = moves_of(arch.period)
    size = 1 << min((SPARE * (len(trace.sites) + REQUESTS)).bit_length(), LARGEST_AT_FIRST)
    tables: dict[int, list[tuple[Ints, Integer]]] = {}

    def work(first: int, last: int) -> None:
        mine = tables.setdefault(get_ident(), [(np.zeros((size, ENTRY), np.int64), 0)])
        while first < last:
            entries, used = mine.pop()
            reached, used = _tally(columns, first, last, table, rule, READ, keep, used, entries)
            mine.append((entries, used))
            if (first := int(reached)) < last:
                mine.append((np.zeros((2 * len(entries), ENTRY), np.int64), 0))

    spread(work, n, workers=workers, chunk=SOME)
    every = [entries for mine in tables.values() for entries, _ in mine] or [np.zeros((0, ENTRY), np.int64)]
    found = np.concatenate([entries[entries[:, KEY] > 0] for entries in every])
    found[:, REQUEST : IDEALS + 1] += found[:, ONE:] * found[:, AGAIN, None]
    # Entries of a key stand together, the one with its worst request first.
    found = found[np.lexsort([sign * found[:, field] for sign, field in ORDER])]
    first = np.flatnonzero(np.diff(found[:, KEY], prepend=-1))
    sums = np.add.reduceat(found[:, REQUEST : IDEALS + 1], first)
    degrees = np.maximum.reduceat(found[:, DEGREE_LOW : DEGREE_HIGH + 1], first)
    figures = np.hstack([sums, degrees, found[first][:, (WORST, EXCESS)]])
    both = zip(found[first, KEY].tolist(), figures.tolist(), strict=True)
    return {(key >> SITE_BIT, *divmod(key & (1 << SITE_BIT) - 1, WIDEST)): Tally(*figure) for key, figure in both}
