"""What a launch accesses of DRAM, as the blocks tell of it that are timed.

Assumed: others access other lines, until they have all of an array; or where those that some blocks access have no
neighbours and lie as if by chance, all do so at random places of it."""

import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.architectures.time_figures import SECTOR, Dram, Figures, Traffic
from banksim.machine.addresses import layout_of
from banksim.machine.launch import Launch
from banksim.machine.program_memory import places, recent_of, since_each
from banksim.timing.cold_lines import ARRAY, ARRAYS, COLD_ARRAY, NEVER, SHARES, TOGETHER
from banksim.timing.global_memory import ADDS, STORES
from banksim.timing.l1_cache import ABSENT, LINE

BYTES = 1 << LINE
HALF = 64
"""Bytes that DRAM gives at least (tests/data/timing/h200_stored.json: strided)."""
MOST = 1 << 18
"""Lines that are looked at."""
WITNESSES = 4
"""Blocks that tell of a launch at least."""
LAST_COPIES = 3_500_000
"""Bytes: so much of what came from the host last the L2 has, of arrays of which it had nothing (one H200:
tests/data/timing/h200_merges.json, has)."""
SMALL = 1 << 16
"""Bytes of an array whose lines are so few that it is not asked whether the L2 has them."""
ALL_THERE = 5
"""More sectors than a line has."""
MOSTLY = 0.5
"""The L2 is taken to have no line of an array, at first, of which it lacks so much."""
REGULAR = 4
"""One in so many."""
TOGETHER_APART = 4
"""Lines lie together that are no more than so many times as far apart as most."""
NEAR = 24
"""So many multiprocessors are in both of the L2's halves."""
Lines = npt.NDArray[np.int64]


class Part(NamedTuple):
    """Of an array, its number and where it begins (in units of 4 GiB); in lines: how many it has, and are accessed, and
    by how many groups of blocks each, in all; how many of these times something of a line is accessed that was not
    before; which share of them has a neighbour that is accessed, how many sectors and halves of a line are, and which
    share of the sectors only in part; whether they are scattered over the array. Where they are not, other blocks
    access what some leave of a line, and its neighbours. Last: whether the L2 adds to them."""

    array: int
    begin: int
    size: int
    lines: float
    asked: float
    new: float
    near: float
    sectors: float
    halves: float
    parts: float
    scattered: bool
    added: bool

    def missing(self, share: float, room: float, cold: bool = False) -> float:
        """How many of `asked` the L2 lacks, which lacks such a share of what comes once in each launch, and has room
        for that of all: at random places it may have a line from any time before, unless it is `cold`."""
        if not self.scattered:
            return self.lines * (1 if cold else share)
        once = self.asked * math.exp(-self.asked / self.size)
        first = self.new if cold else once * share
        return first + (self.asked - (first if cold else once)) * max(1 - room, 0)

    def leave(self, dram: Dram, lack: float) -> float:
        """How many of `new` leave the L2 at once, which lacks such a share of the array's lines: each has a sector that
        is stored in part, and the L2 waits for the rest of only so many lines."""
        waits = self.added or lack * self.lines * BYTES <= dram.parts
        return 0 if waits else max(lack * self.new - dram.parts / BYTES, 0)

    def bytes_of(self, lines: float, alone: int) -> float:
        """As how many bytes so many of its lines count."""
        return lines * max(self.halves * HALF, (1 - self.near) * alone)


class FirstAsked(NamedTuple):
    """What multiprocessors ask for at first, where no cache has anything: array by array (COLD_ARRAY); in how many
    groups, at most, each of which asks for other lines; and for how many lines one does that do not come together."""

    arrays: npt.NDArray[np.void]
    groups: float
    lines: float


def lacking(launch: Launch, dram: Dram, cold: bool) -> npt.NDArray[np.float64]:
    """Which share of each buffer the L2 lacks when a launch begins: all if it is `cold`. In a program, of those that no
    launch has used since they were allocated or copied from the host, or so long ago that others took their place."""
    shares, recent = np.full(len(launch.buffers), float(cold)), recent_of(launch.buffers)
    if recent and not cold:
        for number, since in recent.since().items():
            shares[number] = beyond(dram, since)
        sizes = places(launch.buffers)[:, 1]
        for number, share in (dict.fromkeys(recent.new, 1.0) | not_kept(recent.copied)).items():
            if sizes[number] > SMALL or launch.buffers[number].of_host:
                shares[number] = share
    return shares


def not_kept(copied: dict[int, float]) -> dict[int, float]:
    """Which share of each buffer the L2 lacks that was copied from the host: it has the last of them. Where it lacks
    most of one, a launch waits as if it lacked all (h200_first.json)."""
    ends = ((number, LAST_COPIES - since + copied[number]) for number, since in since_each(copied).items())
    lacks = ((number, 1 - min(max(end, 0) / copied[number], 1)) for number, end in ends)
    return {number: share if share < MOSTLY else 1 for number, share in lacks}


def beyond(dram: Dram, size: float) -> float:
    """Which share of so many bytes the L2 lacks that go through it again and again."""
    return min(max(size - dram.all, 0) / (dram.none - dram.all), 1)


def may_lack(launch: Launch, known: Figures, lacks: npt.NDArray[np.float64]) -> bool:
    """Whether a launch has more memory than the L2, or some that this lacks."""
    return bool(lacks.any()) or int(places(launch.buffers)[:, 1].sum()) > known.dram.all


def accessed(launch: Launch, asked: Lines, times: float) -> Iterator[Part]:
    """What a launch accesses that does `times` what asked for these lines (GlobalMemory.asked), array by array: all of
    them are loaded, stored, or added to. DRAM gives halves of a line, and takes sectors."""
    stored, added = ((asked[:, 1] >= least).any() for least in (STORES, ADDS))
    line, inverse = np.unique(asked[:, 0], return_inverse=True)
    words = np.zeros(len(line), np.int64)
    np.bitwise_or.at(words, inverse, asked[:, 1] & STORES - 1)
    sizes, layout = places(launch.buffers)[:, 1], layout_of(launch.kernel)
    begins, array = np.unique(line >> 32 - LINE, return_inverse=True)
    near = np.isin(line - 1, line) | np.isin(line + 1, line)
    halves, used = halves_of(words), sectors_of(words)
    halves = (halves & 1) + (halves >> 1)
    whole = np.count_nonzero((words[:, None] >> np.arange(0, 32, 8) & 255) == 255, axis=1)
    parts = (used - whole) / np.maximum(used, 1)
    for n, begin in enumerate(begins.tolist()):
        number, of = layout.place_of(begin << 32)[0], array == n
        if number >= len(sizes):  # local memory
            continue
        size = max(-(-int(sizes[number]) // BYTES), 1)
        count, neighbours = times * int(of.sum()), float(near[of].mean())
        scattered = neighbours < 0.5 and not regular(line[of])
        lines = size * -math.expm1(-count / size) if scattered else min(count, size)
        more = 1 if scattered else count / lines
        pieces, each = (4, float(used[of].mean())) if stored else (2, float(halves[of].mean()))
        new = pieces * size / each * -math.expm1(-count * each / (pieces * size)) if scattered else lines
        touched = min(float(used[of].mean()) * more, 4), min(float(halves[of].mean()) * more, 2)
        neighbours = neighbours if scattered else max(neighbours, 2 * lines / size - 1)
        partial = float(parts[of].mean())
        yield Part(number, begin, size, lines, count, new, neighbours, *touched, partial, scattered, bool(added))


def first_asked(
    launch: Launch,
    known: Figures,
    asked: Lines,
    missing: npt.NDArray[np.float64],
    blocks: int,
    together: int,
    cold: bool,
) -> FirstAsked:
    """Of a launch on multiprocessors that have room for so many blocks `together`, where the first `blocks` of one ask
    for these lines, in this order. The L2 lacks such a share of the arrays as is `missing`, known line by line; if all
    is `cold`, all of each."""
    dram, active = known.dram, min(launch.blocks, known.multiprocessors)
    found = np.zeros(ARRAYS, COLD_ARRAY)
    found["alone"], rounds, groups = NEVER, launch.blocks / (active * together), 1.0
    asked = asked[(asked[:, 0] != ABSENT) & (asked[:, 1] < STORES)]
    found["whole"] = 0 if missing.all() else ALL_THERE
    share, halves = min(together / blocks, 1), halves_of(asked[:, 1])
    for part in accessed(launch, asked, launch.blocks / blocks):
        if not missing[part.array]:
            asked[asked[:, 0] >> ARRAY == part.begin, 0] = ABSENT
            continue
        of, each = asked[:, 0] >> ARRAY == part.begin, found[part.begin & ARRAYS - 1]
        line, count = asked[of, 0], sectors_of(asked[of, 1])
        each["whole"] = 0 if part.scattered else math.ceil(count.mean() / 2)
        first = len(np.unique((4 * line + halves[of])[count >= each["whole"]])) * share
        begun = min(part.size, active * first)  # lines that all ask for at first
        if cold:  # blocks side by side ask for the same
            begun = min(begun, max(spread(line), part.lines / max(rounds, 1)))
        by_chance = part.scattered or (not regular(line) and count.mean() < 1.5)  # others choose at random, too
        apart = min(part.size / first, active) if by_chance else begun / first  # groups that ask for other lines
        groups, each["near"] = max(groups, apart), active >= NEAR * apart
        each["half"] = round(part.bytes_of(1, dram.alone) / part.halves * dram.read / 10_000 * apart)
        if missing[part.array] < 1:
            each["alone"], each["missing"] = 0, SHARES * missing[part.array]
        elif by_chance:
            each["alone"] = max(part.size * 2 / (1 + (halves[of] == 3).mean()) / active, 1)
            each["chance"] = not own_lines(line, part.size)
        elif rounds > 1:
            each["alone"] = first
            each["missing"] = SHARES * min(max(part.lines - begun, 0) / (begun * (rounds - 1)), 1)
    return FirstAsked(found, groups, len(np.unique(asked[asked[:, 0] != ABSENT, 0] >> TOGETHER)) * share)


def spread(line: Lines) -> float:
    """Over how many lines these are spread, less what they leave out between those that lie together."""
    apart = np.diff(np.unique(line))
    return 1 + float(np.minimum(apart, TOGETHER_APART * np.median(apart)).sum()) if len(apart) else 1


def own_lines(line: Lines, size: int) -> bool:
    """Whether a multiprocessor asks for these lines of an array of so many one after the other, or for most sectors of
    few of them: then they are its own, and others ask for others."""
    few = len(np.unique(line))
    return bool(np.mean(np.abs(np.diff(line)) < 2) >= 1 / REGULAR or (len(line) > 2 * few and 2 * few < size))


def slowest(dram: Dram, later: float, first: FirstAsked) -> int:
    """How much later than another the slowest multiprocessor ends, each of which has waited so long for lines from
    DRAM: each time for the latest of those that it asks for together."""
    mean, deviation, at_a_time = float(np.mean(dram.later)), float(np.std(dram.later)), 1.0
    for _ in range(8):  # the fewer times it has waited, the more lines it has waited for at a time
        at_a_time = max(first.lines * (mean + deviation * largest(at_a_time)) / max(later, mean), 1)
    times = later / (mean + deviation * largest(at_a_time))
    return round((largest(first.groups * at_a_time) - largest(at_a_time)) * deviation * math.sqrt(times))


def largest(count: float) -> float:
    """By how many standard deviations the largest of so many numbers exceeds their mean, if they are normal (Blom)."""
    return NormalDist().inv_cdf((count - 0.375) / (count + 0.25))


def regular(line: Lines) -> bool:
    """Whether many of these lines lie as far apart as others, as the rows of a tile do."""
    apart = np.unique(np.diff(line), return_counts=True)[1]
    return len(line) < 2 or int(apart.max()) * REGULAR >= len(line)


class Accesses(NamedTuple):
    """What a launch reads and writes, array by array; how many bytes the L2 is asked for and given in all; and how
    many of those that it is asked for it has lost since the same multiprocessor asked for them before."""

    reads: list[Part]
    writes: list[Part]
    asked: float
    given: float
    lost: float

    @property
    def bytes(self) -> dict[int, float]:
        """How many it accesses of each array."""
        most: dict[int, float] = {}
        for part in (*self.reads, *self.writes):
            most[part.array] = max(most.get(part.array, 0.0), part.lines * BYTES)
        return most

    @property
    def stored(self) -> dict[int, float]:
        """To how many of them it stores."""
        return {part.array: part.lines * BYTES for part in self.writes}


def accesses(launch: Launch, dram: Dram, asked: Lines, times: float, together: float) -> Accesses:
    """Of a launch that does `times` what asked for these lines, which such a share of its blocks do at a time."""
    asked = asked[asked[:, 0] != ABSENT]
    stored, added = asked[:, 1] >= STORES, asked[:, 1] >= ADDS
    reads, stores, adds = (list(accessed(launch, asked[which], times)) for which in (~stored, stored & ~added, added))
    read, given = (times * int(sectors_of(asked[which, 1] & STORES - 1).sum()) * SECTOR for which in (~stored, stored))
    found = Accesses(reads, stores + adds, read, given, 0)
    size = min(together, 1) * sum(found.bytes.values())
    return found if size <= dram.kept else found._replace(lost=times * lost(dram, asked, size))


def lost(dram: Dram, asked: Lines, size: float) -> float:
    """How many of the bytes that these lines are asked for the L2 had and has lost since: all multiprocessors ask for
    other lines meanwhile. All of theirs, and these, are so many bytes."""
    lines, shares = len(np.unique(asked[:, 0])), 0.0
    for sector in range(4):
        when = np.flatnonzero(asked[:, 1] >> 8 * sector & 255)
        when = when[np.argsort(asked[when, 0], kind="stable")]
        line, words = asked[when].T
        between = np.diff(when)[(line[1:] == line[:-1]) & (words[1:] < STORES)] / lines
        shares += float(np.sum(np.clip((np.minimum(between, 1) * size - dram.kept) / (dram.lost - dram.kept), 0, 1)))
    return SECTOR * shares


def coming(dram: Dram, found: Accesses, lacks: npt.NDArray[np.float64]) -> dict[int, float]:
    """How many bytes of each array come, or are of lines that are stored anew, in a launch with these accesses before
    which the L2 lacks such a share of them."""
    share = beyond(dram, sum(found.bytes.values()))
    return {number: size * max(share, float(lacks[number])) for number, size in found.bytes.items()}


class WritesBack(NamedTuple):
    """Which `share` of what a launch stores goes to DRAM before it ends, and how many bytes that others have stored."""

    share: float
    others: float


def writes_back(dram: Dram, found: Accesses, lacks: npt.NDArray[np.float64], unwritten: dict[int, float]) -> WritesBack:
    """Of a launch with these accesses, before which the L2 alone has so many bytes of each array, and of which it lacks
    such a share: what comes takes the place of what has been there by chance, and only so much stays unwritten. Of what
    it stores to again, half of what does not stay till it ends is there when its turn comes."""
    come, stored = coming(dram, found, lacks), found.stored
    old, new = sum(unwritten.values()), sum(stored.values())
    lost = {number: (come[number] / found.bytes[number] + float(lacks[number])) / 2 for number in stored}
    again = sum(unwritten.get(number, 0) * (1 - lost[number]) for number in stored)
    old = (old - again) * min(dram.stays / max(old, 1), 1)
    stay = min(new, dram.stays, dram.none * new / max(sum(found.bytes.values()), 1))
    still = min(old * max(1 - sum(come.values()) / dram.lost, 0), dram.stays - stay)
    return WritesBack(1 - stay / max(new, 1), old - still)


def traffic(
    dram: Dram,
    found: Accesses,
    lacks: npt.NDArray[np.float64],
    missing: npt.NDArray[np.float64],
    unwritten: dict[int, float] | None = None,
) -> Traffic:
    """Of a launch with these accesses. The L2 has what it has room for, but when the launch begins, it `lacks` such a
    share of each array; of those that are `missing` it is known line by line. `unwritten`: as for `writes_back`; None:
    as much is so when the launch ends."""
    size = max(sum(found.bytes.values()), 1)
    share, room = beyond(dram, size), dram.all / size
    back = WritesBack(1, 0) if unwritten is None else writes_back(dram, found, lacks, unwritten)
    come, read, written, known, rest, gone = found.lost, found.lost, 0.0, 0.0, 0.0, 0.0
    for part in found.reads:
        lack = float(lacks[part.array])
        lines = part.missing(max(share, lack), room, lack >= 1)
        each = part.bytes_of(lines, dram.alone)
        come, read = come + lines * part.sectors * SECTOR, read + each
        known += each * bool(missing[part.array])
    loaded = {part.array: part.lines for part in found.reads}
    for part in found.writes:
        lines = part.missing(share, room)
        goes = back.share * (lines if unwritten is None else part.missing(1, room))
        lack = float(lacks[part.array]) * (loaded.get(part.array, 0) < part.lines)  # what was loaded is there
        leave = part.leave(dram, lack)
        rest += part.parts * part.bytes_of(max(lines, lack * part.new if part.added else leave), dram.alone)
        written += (1 - part.parts) * part.bytes_of(goes, dram.alone_written)
        gone += part.parts * part.bytes_of(max(goes, leave), dram.alone_written)
    asked, given, times = max(found.asked, 1), max(found.given, 1), max(sum(part.asked for part in found.writes), 1)
    apart = sum(part.asked for part in found.writes if part.scattered) / times
    return Traffic(
        read=read + rest, written=written + gone + back.others, share_read=read / asked, share_known=known / asked,
        share_written=written / given, share_back=(written + gone) / given,
        share_others=back.others / max(found.asked + found.given, 1), of_parts=(rest + gone) / times,
        at_a_time=given / SECTOR / times - apart, lacks=min(come / asked, 1), beyond=share > 0,
    )  # fmt: skip


def not_there(dram: Dram, found: Accesses) -> dict[int, float]:
    """Of which arrays a launch does not find such a share in the L2, though the one before it went over them, too: of
    all that it reads, where this is much. Not at random places: of those the L2 may have any."""
    share = beyond(dram, sum(found.bytes.values()))
    much = share >= MOSTLY and not any(part.scattered for part in found.reads)
    return {part.array: share for part in found.reads} if much else {}


def halves_of(words: Lines) -> Lines:
    """Which halves of a line each of these masks of words touches: bits 0 and 1."""
    halves: Lines = ((words & 0xFFFF) != 0) + 2 * ((words >> 16 & 0xFFFF) != 0)
    return halves


def sectors_of(words: Lines) -> Lines:
    """How many sectors of a line each of these masks of words touches."""
    sectors: Lines = np.count_nonzero(words[:, None] >> np.arange(0, 32, 8) & 255, axis=1)
    return sectors


def cycles_of(dram: Dram, has: Traffic, at_once: bool) -> float:
    """That DRAM takes for it; `at_once`: if the launch follows another at once."""
    first = dram.first_at_once if at_once else dram.first
    held = has.read * dram.read + has.written * dram.write + min(has.read, has.written) * dram.turn
    return first * has.beyond + held / 1_000_000
