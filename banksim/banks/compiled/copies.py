"""What copies and accesses to other blocks cost: rule.copies, rule.bypassing, rule.by_lines and
rule.by_places compiled."""

import numpy as np

from banksim.requests.copies import BANK_BYTES, HASHES, LINE, PIECE, SECTOR
from banksim.requests.kinds import DESTINATION, LINE_BIT, SOURCE_BIT, UNREAD
from banksim.requests.lane_intrinsics import equal_to, lowest, ones, room, word
from banksim.system.compiled_types import Integer, Place
from banksim.system.jit import carray, inlined, inner

UNREAD_BIT = UNREAD.bit_length() - 1
PIECES, HALVES = LINE // PIECE, SECTOR // PIECE
"""Pieces in a line; in a sector."""
_room_for_sources, _room_for_targets, _room_for_ends, _room_for_moves = room(32), room(32), room(32), room(32)


@inlined
def lane_word(mask: Integer, lane: Integer) -> Integer:
    """All bits set if the lane is active, else none. (Every step is cut to 32 bits: numba would widen it.)"""
    return word(word(0) - word(word(mask >> word(lane)) & word(1)))


@inner
def copies(
    address: Place, mask: Integer, width: Integer, groups: Integer, part: Integer, shift: Integer
) -> tuple[Integer, Integer, Integer]:
    """Passes of a copy, as rule.copies has them: of all parts, how many parts have a lane, of the longest part."""
    addresses = carray(address, 32, np.uint32)
    froms, tos = _room_for_sources(), _room_for_targets()
    source, target = carray(froms, 32, np.uint32), carray(tos, 32, np.uint32)
    for lane in range(32):
        first = np.int64(lane >> part) * groups
        bank = np.int64(addresses[lane] >> word(SOURCE_BIT)) * BANK_BYTES + lane * width
        active = lane_word(mask, lane)
        reads = active & ~lane_word(addresses[lane] >> word(UNREAD_BIT), 0)
        source[lane] = word(word(1) << word(first + ((bank >> shift) & (groups - 1)))) & reads
        target[lane] = word(word(1) << word(first + ((np.int64(addresses[lane]) >> shift) & (groups - 1)))) & active
    total = ideal = worst = 0
    for start in range(0, 32, 1 << part):
        most = 0
        for lane in range(start, start + (1 << part)):
            if lane_word(mask, lane):
                of_source = equal_to(froms, source[lane]) if source[lane] else word(0)
                most = max(most, int(ones(word(equal_to(tos, target[lane]) | of_source))))
        total += most
        ideal += int(most > 0)
        worst = max(worst, most)
    return total, ideal, worst


@inner
def reading(address: Place, mask: Integer) -> Integer:
    """The lanes of a copy that are not told to write zeros only."""
    addresses = carray(address, 32, np.uint32)
    found: Integer = word(mask)
    for lane in range(32):
        found &= word(~word((addresses[lane] >> word(UNREAD_BIT) & word(1)) << word(lane)))
    return found


@inner
def bypassing(address: Place, mask: Integer) -> tuple[Integer, Integer]:
    """How many passes rule.bypassing has, and how few they could be; −1 and 0 where rule.spread holds."""
    addresses = carray(address, 32, np.uint32)
    targets, ends, together = _room_for_targets(), _room_for_ends(), _room_for_moves()
    target, end, move = carray(targets, 32, np.uint32), carray(ends, 32, np.uint32), carray(together, 32, np.uint32)
    line = carray(_room_for_sources(), 32, np.uint32)
    for lane in range(32):
        other = word(1 << 31 | lane)  # a lane that copies nothing is like no other
        place = word(addresses[lane] & word(DESTINATION)) // word(PIECE)
        active = lane_word(mask, lane)
        target[lane] = word(place & active) | word(other & ~active)
        first = word(addresses[lane] >> word(LINE_BIT)) + word(lane // PIECES * PIECES)
        line[lane] = word(first & word(31))
    copying: Integer = word(0)
    for lane in range(32):
        alone = word(lane) == lowest(equal_to(targets, target[lane]))
        copying |= word(int(alone) << lane) & mask
        bank = word(addresses[lane] >> word(SOURCE_BIT))
        source = word(bank * word(BANK_BYTES) // word(PIECE) + word(lane)) & word(PIECES - 1)
        if copying >> word(lane) & word(1):
            to_line, to_sector = target[lane] // word(PIECES), target[lane] // word(HALVES)
            end[lane] = word(line[lane] | word(source << word(5))) | word(to_line << word(8))
            move[lane] = word(line[lane] | word(source // word(HALVES) << word(5))) | word(to_sector << word(8))
        else:
            end[lane] = move[lane] = word(1 << 31 | lane)
    for lane in range(32):
        if ones(equal_to(ends, end[lane])) > 1:
            return np.int64(-1), np.int64(0)
    for lane in range(32):
        if copying >> word(lane) & word(1):
            piece, at = word(end[lane] >> word(5)) & word(PIECES - 1), target[lane]
            halves = word(2) if ones(equal_to(together, move[lane])) > 1 else word(at & word(HALVES - 1))
            crossed = word(piece ^ at) & word(HALVES - 1)
            odd = word(word(piece // word(HALVES)) ^ word(at // word(HALVES))) & word(1)
            alike = word(halves << word(6)) | word(crossed << word(5)) | line[lane]
            target[lane] = word(alike | word(odd << word(8))) | word(at // word(PIECES) << word(9))
        else:
            target[lane] = word(1 << 31 | lane)
    passes = 0
    for lane in range(32):
        passes += int(bool(copying >> word(lane) & word(1)) and word(lane) == lowest(equal_to(targets, target[lane])))
    return passes, (int(ones(copying)) + PIECES - 1) // PIECES


@inner
def by_lines(address: Place, mask: Integer, width: Integer) -> tuple[Integer, Integer]:
    """How many passes rule.by_lines has, and how few they could be."""
    addresses, lines = carray(address, 32, np.uint32), _room_for_ends()
    line = carray(lines, 32, np.uint32)
    for lane in range(32):
        line[lane] = addresses[lane] // word(LINE)
    passes = accesses = 0
    for lane in range(32):
        before = word(mask & word((1 << lane) - 1))
        if mask >> word(lane) & word(1):
            passes += int(not equal_to(lines, line[lane]) & before)
            accesses += int(not equal_to(address, addresses[lane]) & before)
    return passes, (accesses * width + LINE - 1) // LINE


@inner
def by_places(address: Place, mask: Integer, width: Integer, unit: Integer) -> tuple[Integer, Integer]:
    """How many passes rule.by_places has, and how few they could be."""
    addresses, units, meetings = carray(address, 32, np.uint32), _room_for_ends(), _room_for_moves()
    touched, meeting = carray(units, 32, np.uint32), carray(meetings, 32, np.uint32)
    for lane in range(32):
        touched[lane] = addresses[lane] // word(unit)
        place = word(addresses[lane] & word(LINE - 1)) // word(width)
        for mask_of_hash in HASHES:
            place = word(place << word(1)) | word(ones(word(addresses[lane] & word(mask_of_hash)))) & word(1)
        meeting[lane] = place
    left, passes = word(mask), 0
    while left:
        near = word(equal_to(units, touched[lowest(left)]) & left)
        served = word(0)
        for lane in range(32):
            before = word(left & word((1 << lane) - 1))
            if near >> word(lane) & word(1) and not equal_to(meetings, meeting[lane]) & before:
                served |= word(1 << lane)
        left = word(left & ~served)
        passes += 1
    return passes, (int(ones(word(mask))) * width + unit - 1) // unit
