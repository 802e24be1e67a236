"""The rule itself, one request at a time: the living definition of banksim's counts. Read this first.

A request is cut into parts, the lanes that are judged together; `Architecture.access` says how. Each part
takes passes through the banks: in one pass a bank serves one word (`AccessRule.serves` says to whom).
Transactions are the passes of all parts; the ideal is what they would be without a conflict, one pass for
each part that has an active lane (for each 128 bytes, of a copy past the L1 cache and of an access to another block);
the degree is what the worst part needs for one of its ideal, the n of an n-way conflict.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import ceil
from typing import NamedTuple

from banksim.architectures.bank_rules import AccessRule, Architecture
from banksim.requests.copies import HASHES, LINE, PIECE, SECTOR, copiers, destinations, moves, source_banks, spread
from banksim.requests.counts import Count, Range, Status, largest, total
from banksim.requests.kinds import UNREAD


@dataclass(frozen=True)
class Pass:
    """One pass of one part: the `lanes` it serves, their `words` (address // bank width), their `banks`."""

    part: int
    lanes: tuple[int, ...]
    words: tuple[int, ...]
    banks: tuple[int, ...]


@dataclass(frozen=True)
class Explanation:
    """One request pass by pass: the most passes where the count is a range, none where it is unknown."""

    arch: Architecture
    op: str
    width: int
    mask: int
    address: tuple[int, ...]
    passes: tuple[Pass, ...]
    transactions: Count | None
    ideal: int | None
    degree: Count | None
    status: Status


UNITS = {"place": LINE, "half place": LINE // 2}
"""Bytes that a pass to places in other blocks may touch."""
Wanted = dict[int, dict[int, list[int]]]
"""By bank and row, the lanes that want the word there. Words of one bank in one row share a pass."""


def pairs_merge(address: Sequence[int], mask: int) -> bool:
    """Whether every active lane finds lane ^ 1 inactive or at its own address; or else every one lane ^ 2."""
    active = [lane for lane in range(32) if mask >> lane & 1]
    return any(
        all(not mask >> (lane ^ other) & 1 or address[lane] == address[lane ^ other] for lane in active)
        for other in (1, 2)
    )


def parts(address: Sequence[int], mask: int, access: AccessRule) -> dict[int, list[int]]:
    """The active lanes of each part that has some, by the part's number."""
    size = access.merged if access.merged and pairs_merge(address, mask) else access.lanes
    found: dict[int, list[int]] = {}
    for lane in range(access.rows):
        if mask >> lane & 1:
            found.setdefault(lane // size, []).append(lane)
    return found


def words(address: int, width: int, arch: Architecture) -> range:
    """The words, of a bank's width, that an access touches."""
    return range(address // arch.bank_width, (address + width - 1) // arch.bank_width + 1)


def wanted(address: Sequence[int], width: int, lanes: Sequence[int], arch: Architecture) -> Wanted:
    """What `lanes` want of each bank: word w lies in bank w % banks."""
    found: Wanted = {}
    for lane in lanes:
        for word in words(address[lane], width, arch):
            row = word * arch.bank_width // arch.row_bytes
            found.setdefault(word % arch.banks, {}).setdefault(row, []).append(lane)
    return found


def queues(want: Wanted, access: AccessRule, lucky: bool = False) -> list[list[list[int]]]:
    """For each bank, the lanes that it serves in its first pass, in its second, and so on."""
    if access.serves == "word":
        return [list(rows.values()) for rows in want.values()]
    if access.serves == "once":
        return [[[lane for lanes in rows.values() for lane in lanes]] for rows in want.values()]
    if access.serves == "lane":
        return [[[lane] for lanes in rows.values() for lane in lanes] for rows in want.values()]
    return [broadcasts(want, lucky)]


def copies(address: Sequence[int], size: int, lanes: Sequence[int], arch: Architecture) -> list[list[int]]:
    """The lanes of each pass of a copy: as many passes as the lane that meets most lanes needs, itself included; lanes
    meet that read from the same banks or write to them. Lanes that meet never share a pass. One that reads nothing has
    only a place to write to.

    So Nsight's source page counts. The hardware's own counter of conflicts agreed on each of 145 requests in which no
    two lanes of a part meet where they read, or none where they write; on 56 of 155 others (one H200).
    """
    unit = max(size, arch.bank_width)
    groups = arch.banks * arch.bank_width // unit
    banks = source_banks(address, size)
    ends = {
        lane: (None if address[lane] & UNREAD else 4 * banks[lane] // unit % groups, address[lane] // unit % groups)
        for lane in lanes
    }

    def met(lane: int) -> list[int]:
        source, target = ends[lane]
        return [other for other, (a, b) in ends.items() if b == target or (a is not None and a == source)]

    first = max((met(lane) for lane in lanes), key=len)
    passes = [[lane] for lane in first]
    for lane in lanes:
        if lane not in first:  # It meets fewer lanes than there are passes: one has none of them.
            next(served for served in passes if not {*served} & {*met(lane)}).append(lane)
    return passes


def bypassing(address: Sequence[int], lanes: Sequence[int]) -> list[list[int]]:
    """The lanes of each pass of a copy past the L1 cache.

    Of lanes that write the same 16 bytes the lowest copies. What goes from one sector to another moves together.
    Sectors share a pass that come from one line and go to one line, if the same halves of them go to the same halves,
    and if all or none go from an even sector to an odd one or back. So Nsight's source page counts, unless 16 bytes go
    to two places of one line (`spread`).
    """
    moved = moves(address)
    first = copiers(moved, lanes)
    half, line = SECTOR // PIECE, LINE // SECTOR
    sectors: dict[tuple[int, int, int], list[int]] = {}
    for lane in first.values():
        move = moved[lane]
        sectors.setdefault((move.line, move.source // half, move.target // half), []).append(lane)
    passes: dict[tuple[object, ...], list[int]] = {}
    for (source_line, source, target), together in sectors.items():
        halves = frozenset((moved[lane].source % half, moved[lane].target % half) for lane in together)
        alike = (source_line, target // line, halves, (source ^ target) % 2)
        passes.setdefault(alike, []).extend(lane for lane in lanes if first[moved[lane].target] in together)
    return list(passes.values())


def by_lines(address: Sequence[int], lanes: Sequence[int]) -> list[list[int]]:
    """The lanes of each pass to the shared memory of other blocks: those that touch one line of 128 bytes there."""
    found: dict[int, list[int]] = {}
    for lane in lanes:
        found.setdefault(address[lane] // LINE, []).append(lane)
    return list(found.values())


def by_places(address: Sequence[int], size: int, lanes: Sequence[int], unit: int) -> list[list[int]]:
    """The lanes of each pass of atomics, and of stores that an mbarrier counts, to the shared memory of other blocks.

    A pass serves lanes in the `unit` of bytes that the lowest lane left touches. Put off is who meets a lower lane that
    was left too, in whatever line: one with the same place in its line, and the same two bits of a hash of the line and
    the block (`HASHES`).
    """
    meeting = {
        lane: (address[lane] % LINE // size, *((address[lane] & mask).bit_count() % 2 for mask in HASHES))
        for lane in lanes
    }
    passes, left = [], list(lanes)
    while left:
        near = [lane for lane in left if address[lane] // unit == address[left[0]] // unit]
        served = [one for one in near if not any(meeting[o] == meeting[one] for o in left[: left.index(one)])]
        passes.append(served)
        left = [lane for lane in left if lane not in served]
    return passes


def broadcasts(want: Wanted, lucky: bool) -> list[list[int]]:
    """The lanes of each pass if it serves one word to all who want it, and one lane of every other bank.

    So do the banks of compute capability 1.x, and nobody has specified which word and lanes they choose: here
    those that make the passes as few as can be (`lucky`) or as many. tests/banks/test_rule.py tries every
    choice in every situation, and none is better, or worse.
    """
    banks = [[list(lanes) for lanes in rows.values()] for rows in want.values()]
    passes = []
    while banks:
        left = [sum(map(len, bank)) for bank in banks]
        chosen = left.index(max(left) if lucky else min(left))
        served = []
        for number, bank in enumerate(banks):
            bank.sort(key=len)
            if number == chosen:
                served += bank.pop(-1 if lucky else 0)
            else:
                served.append(bank[0 if lucky else -1].pop())
        banks = [[word for word in bank if word] for bank in banks]
        banks = [bank for bank in banks if bank]
        passes.append(served)
    return passes


class Part(NamedTuple):
    """What is judged by itself: its number, the rule that it goes by, addresses, bytes of each lane, active lanes."""

    number: int
    access: AccessRule
    address: list[int]
    size: int
    lanes: list[int]

    def turns(self, arch: Architecture, lucky: bool = False) -> list[list[list[int]]]:
        """For each bank, or for all that work together, the lanes of each pass."""
        if self.access.serves == "copy":
            return [copies(self.address, self.size, self.lanes, arch)]
        if self.access.serves == "bypass":
            return [bypassing(self.address, self.reading)]
        if self.access.serves == "line":
            return [by_lines(self.address, self.lanes)]
        if self.access.serves in UNITS:
            return [by_places(self.address, self.size, self.lanes, UNITS[self.access.serves])]
        return queues(wanted(self.address, self.size, self.lanes, arch), self.access, lucky)

    @property
    def reading(self) -> list[int]:
        """Of a copy, the lanes that are not told to write zeros only (`UNREAD`)."""
        return [lane for lane in self.lanes if not self.address[lane] & UNREAD]

    @property
    def ideal(self) -> int:
        """Its passes without a conflict."""
        if self.access.serves == "bypass":
            return ceil(len(copiers(moves(self.address), self.reading)) * PIECE / LINE)
        if self.access.serves == "line":
            return ceil(len({self.address[lane] for lane in self.lanes}) * self.size / LINE)
        if self.access.serves in UNITS:
            return ceil(len(self.lanes) * self.size / UNITS[self.access.serves])
        return 1


def cut(address: Sequence[int], width: int, mask: int, access: AccessRule) -> list[Part]:
    """The parts of a request. An access wider than `access.request_bytes` becomes several, each with its parts."""
    size = min(width, access.request_bytes)
    found = [
        Part(offset // size * (32 // access.lanes) + part, access, [a + offset for a in address], size, lanes)
        for offset in range(0, width, size)
        for part, lanes in parts(address, mask, access).items()
    ]
    return found + (cut(address, width, mask, access.also) if access.also else [])


def judge(
    address: Sequence[int], op: str, width: int, mask: int, arch: Architecture
) -> tuple[Count, int, Count] | None:
    """Transactions, ideal and degree of a request; None where nobody knows them.

    `address` holds 32 byte offsets, multiples of `width` (of copies: `banksim.requests.copies`); bit i of `mask` says
    that lane i is active; `op` is one of `banksim.requests.kinds.OPS`. Raises `InputError` for an access that `arch`
    has no instruction for.
    """
    access = arch.access(op, width)
    if access is None:
        return None
    ranged = access.serves == "broadcast"
    counts: list[Count] = []
    ways: list[Count] = []
    least = 0
    for part in cut(address, width, mask, access):
        if part.access.serves == "bypass" and spread(moves(address), part.reading):
            return None
        if part.access.serves == "bypass" and not part.reading:
            continue
        most = max(map(len, part.turns(arch)))
        counts.append(Range(max(map(len, part.turns(arch, lucky=True))), most) if ranged else most)
        fewest = part.ideal
        ways.append(counts[-1] if fewest == 1 else ceil(most / fewest))
        least += fewest * access.passes
    none: Count = Range(0, 0) if ranged else 0
    return total([none, *counts * access.passes]), least, largest([none, *ways])


def transactions(address: Sequence[int], op: str, width: int, mask: int, arch: Architecture) -> Count | None:
    """Passes that the request takes; arguments, errors and None as for `judge`."""
    known = judge(address, op, width, mask, arch)
    return known and known[0]


def ideal(address: Sequence[int], op: str, width: int, mask: int, arch: Architecture) -> int | None:
    """Passes that it would take without a conflict; arguments, errors and None as for `judge`."""
    known = judge(address, op, width, mask, arch)
    return known and known[1]


def explain(address: Sequence[int], op: str, width: int, mask: int, arch: Architecture) -> Explanation:
    """The request pass by pass; arguments and errors as for `judge`."""
    places = destinations(op, address)
    request = (arch, op, width, mask, places)
    access, counts = arch.access(op, width), judge(address, op, width, mask, arch)
    if access is None or counts is None:
        return Explanation(*request, (), None, None, None, "unknown")
    passes: list[Pass] = []
    for part in cut(address, width, mask, access):
        written = destinations(op, part.address)
        for turn in zip_longest(*part.turns(arch), fillvalue=[]):
            served = sorted({lane for lanes in turn for lane in lanes})
            touched = sorted({word for lane in served for word in words(written[lane], part.size, arch)})
            used = sorted({word % arch.banks for word in touched})
            passes += [Pass(part.number, tuple(served), tuple(touched), tuple(used))] * access.passes
    return Explanation(*request, tuple(passes), *counts, arch.status(op, width))
