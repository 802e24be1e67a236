"""Requests that are alike by meaning: judged once, counted as often as they come. Needs numba.

Two requests are alike if site, op, width and mask are the same, and the addresses of the active lanes differ
by one distance that is a multiple of the architecture's period, which no count depends on. Requests of blocks
that do the same are alike, so such blocks are judged once too. Hashes only say where to look: what is taken
to be alike was compared lane by lane.
"""

import numpy as np

from banksim.banks.compiled.arrays import are_alike, kind_of, moves_of
from banksim.requests.columns import (
    ADDRESS,
    BLOCK,
    MASK,
    OP,
    READ,
    SITE,
    WIDTH,
    Ints,
    byte_at,
    places,
    row_of,
    unpacked,
    word_at,
)
from banksim.requests.kinds import LANES
from banksim.requests.lane_intrinsics import lowest, word
from banksim.requests.trace import Trace
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import carray, inlined, outer

FACTORS = np.random.default_rng(1).integers(1 << 31, 1 << 32, LANES, np.uint32) | np.uint32(1)
"""Of the hash: an odd number for each lane."""
TRIAL = 4096
"""Requests after which it is given up if few of them are alike."""
MOST = 1 << 15
"""Different requests of a chunk beyond which it is given up: more do not fit the caches."""


@inlined
def _hash(address: Integers, active: Integer, base: Integer, factors: Integers) -> Integer:
    """Of the distances of the active lanes' addresses from `base`."""
    total = word(0)
    for lane in range(LANES):
        taken = word(0) - word(active >> word(lane) & word(1))
        total = word(total + word(word(word(address[lane] - base) * factors[lane]) & taken))
    return total


@outer
def _alike(
    columns: Integers,
    rows: Integer,
    read: Integers,
    factors: Integers,
    keep: Integers,
    slots: Integers,
    firsts: Integers,
    times: Integers,
    hashes: Integers,
) -> Integer:
    """The first request by block and order of all that are alike, and how many they are, to `firsts` and `times`;
    the number of these.

    0 where too few requests are alike. Room: `slots`, twice as many and all −1; `hashes`.
    """
    addresses, masks = unpacked(columns, ADDRESS), unpacked(columns, MASK)
    ops, widths, sites = unpacked(columns, OP), unpacked(columns, WIDTH), unpacked(columns, SITE)
    blocks = unpacked(columns, BLOCK)
    size = len(slots)
    used = tried = 0
    for row in range(rows):
        mask, op = word_at(masks, row), byte_at(ops, row)
        if not mask:
            continue
        tried += 1
        if used == MOST or (tried == TRIAL and used > TRIAL // 2):
            return 0
        site, kind, active = word_at(sites, row), kind_of(op, byte_at(widths, row)), word(mask & read[op])
        address = carray(row_of(addresses, row), LANES, np.uint32)
        base = word(address[lowest(active)] & keep[op]) if active else word(0)  # the period of the first lane
        total = _hash(address, active, base, factors)
        total = word(total + word(mask * word(0x9E3779B1)) + word(word(site ^ word(kind << 16)) * word(0x85EBCA77)))
        total = word(word(total ^ (total >> word(15))) * word(0x2C1B3C6D))
        slot = np.int64(total ^ (total >> word(13))) & (size - 1)
        while True:
            entry = slots[slot]
            if entry < 0:
                slots[slot] = used
                firsts[used], times[used], hashes[used] = row, 1, total
                used += 1
                break
            other = firsts[entry]
            same = hashes[entry] == total and word_at(masks, other) == mask and word_at(sites, other) == site
            same &= kind_of(byte_at(ops, other), byte_at(widths, other)) == kind
            if same and are_alike(row_of(addresses, row), row_of(addresses, other), active, keep[op]):
                times[entry] += 1
                if word_at(blocks, row) < word_at(blocks, other):
                    firsts[entry] = row
                break
            slot = (slot + 1) & (size - 1)
    return used


def alike(trace: Trace, period: int) -> tuple[Ints, Ints] | None:
    """Of requests that are alike the first by block and order, and how many they are; in the order of the first.

    None where so few are alike that it would gain nothing. `period`: see `Architecture.period`.
    """
    slots, hashes = np.full(2 * MOST, -1, np.int32), np.empty(MOST, np.uint32)
    firsts, times = np.empty(MOST, np.int64), np.empty(MOST, np.int64)
    columns, _held = places((trace.address, trace.mask, trace.op, trace.width, trace.site, trace.block))
    used: Integer = _alike(columns, len(trace), READ, FACTORS, moves_of(period), slots, firsts, times, hashes)
    order = np.argsort(firsts[:used])
    return (firsts[order], times[order]) if used else None
