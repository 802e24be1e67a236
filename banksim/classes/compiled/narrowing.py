"""How bounds narrow the region of the block that is executed.

Everything here is exact: room is at most 2⁶², and what a slope takes of it is divided before it is multiplied."""

import numpy as np
from numba import types

from banksim.classes.compiled.records import DIRECTIONS, LONGEST, REGION, Region
from banksim.kernels.kernel import BYTES
from banksim.machine import codes
from banksim.machine.record_types import CONTEXT
from banksim.machine.state import ERROR
from banksim.requests.kinds import LANES
from banksim.requests.lane_intrinsics import pointer
from banksim.system.compiled_types import Integer, Integers, Place
from banksim.system.jit import callback, carray, inner

_REGION, _ERROR = REGION, ERROR
BELOW, ABOVE, SLOPES = 0, 1, 2
SHORT = 16
"""How many times as long steps may become: by powers of two, or by what brings a slope near to 0. Each start of the
longer steps then has a box of its own; or, as blocks with different starts may be alike, another direction leads from
start to start, if there is one."""
POWERS = 8
NEARLY = 0.5
"""Of two steps, the longer one is taken if it leaves so many of the blocks: what is left of its slope is less."""


@inner
def size_of(slope: Integer) -> Integer:
    return np.uint64(-slope) if slope < 0 else np.uint64(slope)


@inner
def falling(row: Integers, side: Integer, d: Integer) -> Integer:
    """A slope as it uses up the room on one side."""
    slope = np.int64(row[SLOPES + d])
    return slope if side == BELOW else -slope


@inner
def left_over(row: Integers, side: Integer, count: Integers, without: Integer) -> Integer:
    """What is left of the room at the far corner of a box, one direction left out; −1 if there is too little."""
    left: Integer = max(row[side], 0)
    for d in range(DIRECTIONS):
        slope = falling(row, side, d)
        if d != without and slope < 0 and count[d] > 0:
            if size_of(slope) > np.uint64(left) // np.uint64(count[d]):
                return -1
            left -= np.int64(size_of(slope) * np.uint64(count[d]))
    return left


@inner
def blocks_in(count: Integers) -> float:
    blocks = 1.0
    for d in range(DIRECTIONS):
        blocks *= np.float64(count[d] + 1)
    return blocks


@inner
def narrow_side(row: Integers, side: Integer, count: Integers) -> None:
    """Narrow a box along one direction, or if that is not enough along several, so that room + Σ slope·k ≥ 0."""
    while left_over(row, side, count, -1) < 0:
        best, shorter, most = -1, np.int64(0), 0.0
        steepest, fall = 0, -1.0
        for d in range(DIRECTIONS):
            slope = falling(row, side, d)
            if slope < 0 and count[d] > 0:
                left = left_over(row, side, count, d)
                if left >= 0:
                    n = np.int64(np.uint64(left) // size_of(slope))
                    blocks = blocks_in(count) / np.float64(count[d] + 1) * np.float64(n + 1)
                    if blocks > most:
                        best, shorter, most = d, n, blocks
                if np.float64(size_of(slope)) * np.float64(count[d]) > fall:
                    steepest, fall = d, np.float64(size_of(slope)) * np.float64(count[d])
        if best >= 0:
            count[best] = shorter
        else:
            count[steepest] = 0


@inner
def narrow_all(rows: Integers, used: Integer, count: Integers) -> None:
    """The largest box that was found in which all bounds hold. They hold at its first block."""
    for n in range(used):
        narrow_side(rows[n], BELOW, count)
        narrow_side(rows[n], ABOVE, count)


@inner
def gather(r: Region, mask: Integer) -> Integer:
    """The lanes' bounds, one for each combination of slopes: the tightest. Returns how many."""
    used = 0
    for lane in range(LANES):
        if not mask >> np.uint32(lane) & np.uint32(1):
            continue
        same = -1
        for n in range(used):
            equal = True
            for d in range(DIRECTIONS):
                equal &= r.rows[n, SLOPES + d] == r.slopes[d, lane]
            if equal:
                same = n
                break
        if same < 0:
            same, used = used, used + 1
            r.rows[same, BELOW], r.rows[same, ABOVE] = r.below[lane], r.above[lane]
            for d in range(DIRECTIONS):
                r.rows[same, SLOPES + d] = r.slopes[d, lane]
        r.rows[same, BELOW] = min(r.rows[same, BELOW], r.below[lane])
        r.rows[same, ABOVE] = min(r.rows[same, ABOVE], r.above[lane])
    return used


@inner
def wrapped(slope: Integer, times: Integer, bits: Integer) -> Integer:
    """A multiple of a slope that matters modulo 2^bits, as the number nearest to 0."""
    unused = np.int64(64 - bits)
    return (slope * times) << unused >> unused


@inner
def vanish(r: Region, used: Integer, along: Integer, longer: Integer, bits: Integer) -> bool:
    """Whether steps so many times as long change nothing."""
    whole = True
    for n in range(used):
        whole &= wrapped(r.rows[n, SLOPES + along], longer, bits) == 0
    return whole


@inner
def gain(r: Region, used: Integer, along: Integer, onto: Integer, longer: Integer, bits: Integer, most: float) -> float:
    """How many blocks the bounds would leave if the steps in a direction were so many times as long, in that or, beside
    the short ones, in another direction. Where they are not more than `most`, any number below."""
    for d in range(DIRECTIONS):
        r.trial[d] = r.count[d]
    if onto == along:
        r.trial[along] = r.count[along] // longer
    else:
        r.trial[along], r.trial[onto] = longer - 1, (r.count[along] + 1) // longer - 1
    for n in range(used):
        for k in range(SLOPES + DIRECTIONS):
            r.turned[n, k] = r.rows[n, k]
        r.turned[n, SLOPES + onto] = wrapped(r.rows[n, SLOPES + along], longer, bits)
        narrow_side(r.turned[n], BELOW, r.trial)
        narrow_side(r.turned[n], ABOVE, r.trial)
        if blocks_in(r.trial) <= most:
            return 0.0
    return blocks_in(r.trial)


@inner
def free_direction(r: Region, along: Integer) -> Integer:
    """Another direction along the same axis in which the box has no extent; if there is none, the same."""
    for d in range(DIRECTIONS):
        if d != along and r.axis[d] == r.axis[along] and r.step[d] == 0:
            return d
    return along


@inner
def try_longer(r: Region, used: Integer, along: Integer, longer: Integer, bits: Integer, most: float) -> float:
    """Note a longer step if more than `most` blocks are then left; returns how many are left by the best."""
    if longer < 2 or longer > r.count[along]:
        return most
    onto = along if longer <= SHORT else free_direction(r, along)
    if onto == along and longer > LONGEST:
        return most
    blocks = gain(r, used, along, onto, longer, bits, most)
    if blocks > most:
        r.longer, r.along, r.onto = longer, along, onto
        return blocks
    return most


@inner
def find_longer(r: Region, used: Integer, bits: Integer) -> None:
    """Look for a step by which far more blocks are left: slopes count modulo 2^bits, so that a multiple of one may be
    next to 0. The multiples that come the nearest are the denominators of the convergents of slope / 2^bits."""
    for d in range(DIRECTIONS):
        r.trial[d] = r.count[d]
    narrow_all(r.rows, used, r.trial)
    least = most = 2 * blocks_in(r.trial)
    for along in range(DIRECTIONS):
        if r.count[along] < 2 or r.axis[along] < 0:
            continue
        whole = False  # beyond a step that brings all slopes to 0, others bring nothing
        for n in range(2, SHORT + POWERS + 1):
            longer = n if n <= SHORT else SHORT << n - SHORT
            most = try_longer(r, used, along, longer, bits, most)
            whole = vanish(r, used, along, longer, bits)
            if whole or longer > r.count[along]:
                break
        for n in range(0 if whole else min(used, 2)):
            slope = r.rows[n, SLOPES + along]
            if slope == 0:
                continue
            above, none = size_of(slope), np.uint64(0)
            modulus = none if bits == 64 else np.uint64(1) << np.uint64(bits)  # 2⁶⁴ wraps around
            quotient = (modulus - above) // above + np.uint64(1)
            rest = modulus - quotient * above
            before: Integer = np.int64(1)
            stretch: Integer = np.int64(quotient)
            while stretch <= r.count[along] and stretch > 0:
                nearly = most if r.longer == 0 else max(least, NEARLY * most)
                most = max(most, try_longer(r, used, along, stretch, bits, nearly))
                if rest == none:
                    break
                quotient, above, rest = above // rest, rest, above % rest
                if quotient > np.uint64(r.count[along]):
                    break
                before, stretch = stretch, np.int64(quotient) * stretch + before


@callback(types.void(CONTEXT, types.uint32, types.uint32, types.uint32))
def narrow(context: Place, pc: Integer, mask: Integer, bits: Integer) -> None:
    """A kernel's code calls it, with the bound in the record of the region. `bits`: 0, or slopes matter modulo
    2^bits."""
    c = carray(context, 1)[0]
    r = carray(pointer(c.region), 1, _REGION)[0]
    error = carray(pointer(c.error), 1, _ERROR)[0]
    if error.code:
        return
    used = gather(r, mask)
    if bits:
        r.longer = 0
        find_longer(r, used, np.int64(bits))
        if r.longer:
            error.code, error.pc = codes.LONGER_STEP, pc
            return
    before = blocks_in(r.count)
    narrow_all(r.rows, used, r.count)
    after, halvings = blocks_in(r.count), carray(pointer(r.halvings), pc // BYTES + 1, np.int64)
    while 2 * after <= before:
        after *= 2
        halvings[pc // BYTES] += 1
