"""Global memory behind a multiprocessor: its L1 cache, and its share of the L2 cache that all multiprocessors share.

Loads and stores read the tags of their lines first, a cycle for each in the busiest of four banks, then they take as
many transactions as the busiest of 32 banks of words. Atomics take one for each line of 128 bytes. The L1 has tags by
line and valid bits by sector of 32 bytes. What is stored, to local memory too, goes on to the L2; loads find its words
in the L1, which loses what is added to. Sectors that it lacks come from the L2 after its latency, one after the other
as fast as the L2 gives them: to one multiprocessor, or, if all ask at once, an equal share of what it gives in all.
Stores and atomics leave in the same way, stores with those to the same line that still wait. Assumed: the L2 has
everything, others do as this multiprocessor, and sets of the L1.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.architectures.time_figures import Figures, Numbers
from banksim.machine.state import Context
from banksim.requests.lane_intrinsics import lowest, ones
from banksim.system.bundles import bundle
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import inlined, inner
from banksim.timing.cold_lines import ColdLines, given_at, new_cold_lines
from banksim.timing.data_stage import DataStage, come, leave, new_stage, owe, place
from banksim.timing.held_ways import hold
from banksim.timing.l1_cache import (
    ABSENT,
    LINE,
    Sets,
    drop,
    keep,
    new_sets,
    sectors,
    set_of,
    spread,
    tag_passes,
    take_up,
    word_passes,
)
from banksim.timing.same_lines import SameLines, add, longest, new_same_lines
from banksim.timing.waiting_stores import WaitingStores, again_of, join, new_waiting_stores, wait_fewer

NEAR, CACHED, PAST, STORED, REDUCED, ATOMIC, REMOTE = range(7)
"""What a request does: nothing to global memory; it loads through the L1, or past it; stores; adds without an answer,
or with one; goes to other blocks' shared memory."""
IN, OUT, SHARE_IN, SHARE_OUT, ASKED = range(5)
"""What requests hold: the multiprocessor's own ways from and to the L2, its shares of what the L2 gives and takes; and
what asks for lines that the L1 lacks."""
LINES, SECTORS, PARTS, LANES, SEVERAL, BESIDE, LINE_BESIDE, AGAIN = range(8)
"""What holds them: a line at least; a sector; besides, a line of which some sectors are written in part; a lane of
those that add to one word of a line, and where others add to other words of the sector; a sector that is loaded, where
stores leave, and a line at least; a sector of which a word is written behind others."""
LOADED = {LINES: "load line", SECTORS: "load sector", BESIDE: "load beside", LINE_BESIDE: "load line beside"}
HELD = {
    CACHED: LOADED,
    PAST: LOADED,
    STORED: {LINES: "store line", SECTORS: "store sector", PARTS: "store parts", AGAIN: "store again"},
    REDUCED: {LINES: "add sector", SECTORS: "add sector", LANES: "add lane", SEVERAL: "add lanes"},
    ATOMIC: {LINES: "atom sector", SECTORS: "atom sector", LANES: "atom lane", SEVERAL: "atom lanes"},
}
"""By kind of request: the figures of LINES, SECTORS …"""
STORES, ADDS = 1 << 32, 1 << 33
"""Added to the words of a line that the L2 is given, or to which something is added there."""


@bundle
class GlobalMemory(NamedTuple):
    """Of each request of the path (its row): the lines that it touches, which words of them, and how many lanes share
    a word; the L1's tags; until when the ways to and from the L2 are held, and for how long a request holds them."""

    line: npt.NDArray[np.int64]  # (row, n)
    words: npt.NDArray[np.int64]  # (row, n): masks
    latest: npt.NDArray[np.int64]  # by some bits of a line: the last n with these, as far as the row has any,
    before: npt.NDArray[np.int64]  # … and by n: that before; -1: none
    lines: npt.NDArray[np.int64]  # by row: how many,
    passes: npt.NDArray[np.int64]  # … in how many transactions
    whole: npt.NDArray[np.bool_]  # … and whether all four bytes of the words are meant
    lanes: npt.NDArray[np.int64]  # (row, n, sector): of what adds, how many of one word, at most
    sets: Sets  # of the L1
    held: npt.NDArray[np.int64]  # (IN …): hundredths of a cycle
    busy: npt.NDArray[np.int64]  # … for how long they have been held in all
    came: npt.NDArray[np.int64]  # one: sectors that the L2 was asked for,
    given: npt.NDArray[np.int64]  # … and given
    asked: npt.NDArray[np.int64]  # (n, 2): the first lines that the L2 is asked for or given, and which words; STORES
    lines_asked: npt.NDArray[np.int64]  # one: how many lines it was, more than are remembered
    waiting: WaitingStores  # for their turn to leave
    same: SameLines
    cold: ColdLines
    stage: DataStage
    costs: npt.NDArray[np.int64]  # (own or share, kind of request, LINES …): hundredths of a cycle


def no_costs() -> npt.NDArray[np.int64]:
    return np.zeros((2, ATOMIC + 1, AGAIN + 1), np.int64)


def costs_of(known: Figures, active: int) -> npt.NDArray[np.int64]:
    """Hundredths of a cycle for which requests hold their own way (0), and their share of the L2 (1) beside others."""
    table = no_costs()
    for kind, names in HELD.items():
        for what, name in names.items():
            table[:, kind, what] = known.held[name].alone, known.held[name].all * active // known.multiprocessors
    return table


def new_memory(
    rows: int,
    l1_bytes: int = 0,
    known: Figures | None = None,
    active: int = 0,
    noted: int = 0,
    shared: bool = False,
    cold: npt.NDArray[np.void] | None = None,
) -> GlobalMemory:
    """Behind a path of so many rows, with an L1 cache of so many bytes; figures as for `costs_of`. `noted`: how many of
    the lines that the L2 is asked for are remembered. `shared`: whether blocks have shared memory. `cold`: arrays of
    which no cache has anything (COLD_ARRAY)."""
    per_line = rows, 32
    return GlobalMemory(
        line=np.zeros(per_line, np.int64),
        words=np.zeros(per_line, np.int64),
        latest=np.zeros(64, np.int64),
        before=np.zeros(32, np.int64),
        lines=np.zeros(rows, np.int64),
        passes=np.zeros(rows, np.int64),
        whole=np.zeros(rows, np.bool_),
        lanes=np.zeros((*per_line, 4), np.int64),
        sets=new_sets(l1_bytes),
        held=np.zeros(ASKED + 1, np.int64),
        busy=np.zeros(ASKED + 1, np.int64),
        came=np.zeros(1, np.int64),
        given=np.zeros(1, np.int64),
        asked=np.full((noted, 2), ABSENT),
        lines_asked=np.zeros(1, np.int64),
        waiting=new_waiting_stores(),
        same=new_same_lines(known, active),
        cold=new_cold_lines(cold, known.dram.later if known else (0,)),
        stage=new_stage(l1_bytes, active == 1, shared),
        costs=costs_of(known, active) if known else no_costs(),
    )


def busy(memory: GlobalMemory) -> int:
    """For how many hundredths of a cycle that was held which was held longest."""
    return max(int(memory.busy.max()), longest(memory.same))


def sent_by(memory: GlobalMemory) -> int:
    """Until when what has left is on its way to the L2, in hundredths of a cycle."""
    together = longest(memory.same)
    return max(int(memory.held[[OUT, SHARE_OUT]].max()), together and 100 * int(memory.same.first[0]) + together)


@inlined
def leaves(far: Integer) -> bool:
    """Whether a request goes on to the L2 whatever the L1 has."""
    return far in (STORED, REDUCED, ATOMIC)


@inlined
def tags_of(memory: GlobalMemory, row: Integer, kind: Integer) -> Integer:
    """How many passes through the tags a request takes whose lines have been noted."""
    return 0 if kind in (REDUCED, ATOMIC) else tag_passes(memory.line[row], memory.lines[row])


@inlined
def words_of(memory: GlobalMemory, row: Integer, kind: Integer) -> Integer:
    """… and how many transactions behind them, which is noted, too."""
    n = memory.lines[row]
    passes: Integer = n if kind in (REDUCED, ATOMIC) else word_passes(memory.words[row], n)
    memory.passes[row] = passes
    return passes


@inlined
def note_lines(memory: GlobalMemory, row: Integer, context: Context, together: bool) -> None:
    """Note which lines and words the instruction that was executed last touches; if `together`, also how many lanes
    have the same word, at most."""
    n = 0
    seen: Integer = 0  # a bit for some lines each, so that a new one is seldom looked for
    span: Integer = max(np.int64(context.far_width) // 4, np.int64(1))
    for lane in range(32):
        if not context.far_mask >> np.uint32(lane) & np.uint32(1):
            continue
        place = np.int64(context.far_places[lane])
        line, word = place >> LINE, place >> 2 & 31
        bits = (line ^ line >> 6) & 63
        at: Integer = memory.latest[bits] if seen >> bits & 1 else -1
        last = at
        while at >= 0 and memory.line[row, at] != line:
            at = memory.before[at]
        if at < 0:
            at = n
            memory.line[row, at], memory.words[row, at] = line, 0
            memory.latest[bits], memory.before[at] = at, last
            seen |= 1 << bits
            n += 1
        memory.words[row, at] |= ((1 << span) - 1) << word
    memory.lines[row], memory.whole[row] = n, context.far_width >= 4
    if together:
        note_lanes(memory, row, context)


@inner
def note_lanes(memory: GlobalMemory, row: Integer, context: Context) -> None:
    """Note of each sector how many lanes have one address, at most."""
    memory.lanes[row, : memory.lines[row]] = 0
    for lane in range(32):
        if context.far_mask >> np.uint32(lane) & np.uint32(1):
            place, same, n = np.int64(context.far_places[lane]), 1, 0
            for other in range(lane):
                if context.far_mask >> np.uint32(other) & np.uint32(1):
                    same += context.far_places[other] == context.far_places[lane]
            while memory.line[row, n] != place >> LINE:
                n += 1
            lanes = memory.lanes[row, n]
            lanes[place >> 5 & 3] = max(lanes[place >> 5 & 3], same)


@inlined
def passes_of(memory: GlobalMemory, costs: Integers, row: Integer, n: Integer, kind: Integer) -> Integer:
    """For how long lanes that add to one word hold a way to the L2, at most, of a line of a request. 0: none meet."""
    most: Integer = 0
    if kind != STORED:
        for s in range(4):
            lanes = memory.lanes[row, n, s]
            part = memory.words[row, n] >> 8 * s & 255
            if lanes > 1:
                most = max(most, lanes * costs[SEVERAL if part & (part - 1) else LANES])
    return most


@inlined
def note_asked(memory: GlobalMemory, line: Integer, words: Integer) -> None:
    """Note that the L2 is asked for words of a line, or given some."""
    n = memory.lines_asked[0]
    if n < len(memory.asked):
        memory.asked[n, 0], memory.asked[n, 1] = line, words
    memory.lines_asked[0] = n + 1


@inlined
def fetch(memory: GlobalMemory, f: Numbers, kind: Integer, sectors: Integer, t: Integer, least: Integer = 0) -> Integer:
    """Have sectors of one line come from the L2, which hold the way from there for so many cycles at the `least`.
    Returns the cycle in which they have come."""
    last = t
    memory.came[0] += sectors
    for share in range(2):
        costs = memory.costs[share, kind]
        cost = max(costs[LINES], sectors * costs[SECTORS], 100 * least if share == 0 else 0)
        way = IN + 2 * share
        memory.busy[way] += cost
        last = max(last, hold(memory.held, way, cost, t))
    beside = max(costs[LINE_BESIDE], sectors * costs[BESIDE])
    memory.busy[SHARE_OUT] += beside
    hold(memory.held, SHARE_OUT, beside, t)
    return last + f.l2


@inlined
def drained(memory: GlobalMemory, f: Numbers, t: Integer) -> Integer:
    """By how many hundredths later data come from DRAM since it is written to."""
    if f.written + f.others == 0:
        return np.int64(0)
    came, given, after = memory.came[0], memory.given[0], max(t, 1)
    written: Integer = min((f.written * given + f.others * (came + given)) // after, 100)
    busy: Integer = min(written + f.fetched * came // after, 100)
    return f.drain * written * busy // 10_000


@inlined
def sent(memory: GlobalMemory, share: Integer, kind: Integer, words: Integer, least: Integer) -> Integer:
    """What sending words of one line to the L2 takes of the multiprocessor's way (0) or share (1), at the `least`."""
    costs, parts = memory.costs[share, kind], False
    cost: Integer = 0
    for s in range(4):
        part = words >> (8 * s) & 255
        if part:
            cost += costs[SECTORS]
            parts |= part != 255
    whole: Integer = max(cost + (costs[PARTS] if parts else 0), max(costs[LINES], least))
    return whole


@inlined
def sent_of(memory: GlobalMemory, share: Integer, kind: Integer, row: Integer, n: Integer) -> Integer:
    """The same of a line of a request."""
    lanes = passes_of(memory, memory.costs[share, kind], row, n, kind)
    return sent(memory, share, kind, memory.words[row, n], lanes)


@inlined
def send(memory: GlobalMemory, f: Numbers, kind: Integer, row: Integer, n: Integer, t: Integer) -> Integer:
    """Send words of a line of a request to the L2. Returns the cycle in which its answer has come."""
    last = t
    for share in range(2):
        last = max(last, hold(memory.held, OUT + 2 * share, sent_of(memory, share, kind, row, n), t))
    return last + f.l2_atomic


@inlined
def store(
    memory: GlobalMemory, f: Numbers, line: Integer, words: Integer, stored: Integer, upper: Integer, t: Integer
) -> None:
    """Send what is stored to a line to the L2, with what waits to leave for it. `stored`: which of its words have been
    before; `upper`: in which half it lies."""
    leaves = max(memory.held[OUT], memory.held[SHARE_OUT] - 100 * f.l2_under_way, 100 * t)
    before = join(memory.waiting, f.l2_places, line, words, leaves, t)
    leave(memory.stage, line, sectors(words) & ~sectors(before), upper, leaves // 100)
    again = again_of(words, stored & ~before)
    for share in range(2):
        more = again * memory.costs[share, STORED, AGAIN]
        cost = sent(memory, share, STORED, words | before, 0) + more
        memory.busy[OUT + 2 * share] += more
        if before:
            cost -= sent(memory, share, STORED, before, 0)
            memory.busy[OUT + 2 * share] += cost - more - sent(memory, share, STORED, words, 0)
        hold(memory.held, OUT + 2 * share, cost, t)


@inner
def issued(memory: GlobalMemory, row: Integer, kind: Integer, floats: Integer, block: Integer, t: Integer) -> None:
    """Count what a request of a block will take of the ways to the L2: the block may end before it has left."""
    for n in range(memory.lines[row]):
        if kind != STORED:
            add(memory.same, memory.line[row, n], memory.words[row, n], memory.lanes[row, n], floats, block)
            memory.same.first[0] = min(memory.same.first[0], t)
        note_asked(memory, memory.line[row, n], memory.words[row, n] | (STORES if kind == STORED else ADDS))
        memory.given[0] += ones(sectors(memory.words[row, n]))
        for share in range(2):
            memory.busy[OUT + 2 * share] += sent_of(memory, share, kind, row, n)


@inlined
def look_up(memory: GlobalMemory, f: Numbers, line: Integer, words: Integer, early: Integer, t: Integer) -> Integer:
    """Load words of a line through the L1, which has their sectors from then on, and may have asked for the line so
    much `early`. Returns the cycle in which they have come."""
    here, way = memory.sets[set_of(memory.sets, line)], take_up(memory.sets, memory.stage, line, t)
    last: Integer = t
    there = sectors(words) & here.has[way]
    missing = sectors(words & ~here.stored[way]) & ~here.has[way]
    while there:
        last = max(last, here.comes[4 * way + lowest(there)])
        there &= there - 1
    if missing:
        here.has[way] |= missing
        note_asked(memory, line, spread(missing))
        asked = max(hold(memory.held, ASKED, 100 * f.l1_lacks, t - early) - f.l1_lacks, t)
        at = fetch(memory, f, CACHED, ones(missing), asked)
        at = given_at(memory.cold, line, missing, t, at, f, drained(memory, f, t))
        come(memory.stage, line, missing, here.upper[way], at)
        last = max(last, at)
        while missing:
            here.comes[4 * way + lowest(missing)] = at
            missing &= missing - 1
    return last


@inner
def reach(memory: GlobalMemory, f: Numbers, row: Integer, kind: Integer, copied: Integer, t: Integer) -> Integer:
    """Let a served request reach the caches at cycle t. Returns the cycle in which all that the L2 answers has come."""
    last, before = t, memory.lines_asked[0] + memory.waiting.lines[0]
    early = f.service * (memory.passes[row] - 1) if kind == CACHED else 0  # tags are read before words
    for n in range(memory.lines[row]):
        line, words = memory.line[row, n], memory.words[row, n]
        if kind == CACHED:
            at = look_up(memory, f, line, words, early, t)
        elif kind == PAST:
            note_asked(memory, line, words)
            asked = sectors(words)
            at = fetch(memory, f, kind, ones(asked), t)
            at = given_at(memory.cold, line, asked, t, at, f, drained(memory, f, t))
            upper = place(memory.stage) if copied < 0 else copied
            come(memory.stage, line, asked, upper, at)
        else:
            if kind == STORED:
                stored, upper = keep(memory.sets, memory.stage, line, words if memory.whole[row] else 0, t)
                store(memory, f, line, words, stored, upper, t)
                at = t
            else:
                drop(memory.sets, line, words)
                upper = place(memory.stage)
                leave(memory.stage, line, sectors(words), upper, max(memory.held[OUT] // 100, t))
                at = send(memory, f, kind, row, n, t)
            if kind == ATOMIC:  # which comes no later from DRAM than a load (h200_cold.json)
                at = max(at, given_at(memory.cold, line, sectors(words), t, at - f.l2_atomic + f.l2, f, 0))
                come(memory.stage, line, sectors(words), upper, at)
        last = max(last, at)
    if memory.lines_asked[0] + memory.waiting.lines[0] > before:  # a line is asked for, or waits to leave
        owe(memory.stage, kind == STORED, f.stored if kind == STORED else f.missed)
    return last


@inlined
def has_room(memory: GlobalMemory, f: Numbers, far: Integer, t: Integer) -> bool:
    """Whether what goes on to the L2 may leave: what has left before it and is still on its way is not too much."""
    if far == STORED and not wait_fewer(memory.waiting, f.l2_places + 1, t):
        return False
    own, share = memory.held[OUT], memory.held[SHARE_OUT]
    return bool((far == STORED or own <= 100 * (t + f.l2_ahead)) and share <= 100 * (t + f.l2_buffer))
