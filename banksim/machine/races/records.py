"""What a worker remembers of a block's accesses: the records that compiled code works on.

Time is a counter of the block's requests. A clock gives for each warp a time: the accesses of that warp before it are
ordered before whatever the owner of the clock does next. Asynchronous copies run beside the warp that starts them, so
they have a clock entry of their own, that of an agent: agent 32 + w copies for warp w. The accesses of an agent are
ordered before the warp's next ones only when the warp has waited for the copies.
"""

from __future__ import annotations

from banksim.machine.codes import LANES, OF_CLUSTER
from banksim.machine.state import layout

AGENTS = 2 * LANES
"""Entries of a clock: the warps of a block, and the agents that copy for them."""
COMMITS = 16
"""For so many groups of copies (cp.async.commit_group) a warp remembers when they were committed."""
WORDS = 1024
"""How many words that synchronise (atomics, mbarriers) have clocks. Words 4 KiB apart share one, so that more accesses
count as ordered than are."""
FOUND = 1024
"""How many different findings a worker keeps; further ones are only counted."""

NOTHING, READ, WRITE, COPY, TENTATIVE_READ, FLAG_READ, FLAG_WRITE, UPDATE, EXCHANGE = range(9)
"""Kinds of access. READ and WRITE are plain, COPY is an asynchronous write. The others are atomic: UPDATE and
FLAG_WRITE publish at their word what their warp did so far (a release), FLAG_READ takes over what was published there
(an acquire), EXCHANGE does both, TENTATIVE_READ neither."""
STARTING, ARRIVE, WAIT, COPIES_ARRIVE, BULK = range(9, 14)
"""Kinds of access of mbarriers: STARTING initialises one, ARRIVE arrives, WAIT waits for a phase, COPIES_ARRIVE arrives
when the warp's copies have been done; BULK is a bulk copy (watched_requests.watch_bulk)."""
ENTRY_LANE, ENTRY_SITE, ENTRY_POSITION, ENTRY_STRONG, ENTRY_TIME = 0, 5, 18, 31, 32
"""The first bit of each field of an entry, which describes an access in 63 bits: lane; site; position among the
requests of its warp since the last barrier; whether it was atomic; time."""
SITES, POSITIONS = 1 << ENTRY_POSITION - ENTRY_SITE, 1 << ENTRY_STRONG - ENTRY_POSITION
"""How many sites and positions an entry can tell apart."""
LATEST = 1 << 30
"""If the time is beyond this when a block begins, it starts again from 0."""
LINE = 5
PIECES = 1 << LINE
"""Pieces of shared memory in a line, which has one summary of 64 bits."""
LOWER = 0xFFFFFFFF
"""The lower half of a summary."""
NO_LINE = 0xFFFFFFFF
"""The number of no line, and of no piece."""
RACES, UNINITIALIZED = 1, 2
"""Bits of `checks`."""
SAME_WARP, COPYING, UNWRITTEN = 1, 2, 4
"""Bits of a finding's `how`: a race between lanes of one warp; a race with a copy that was not waited for; a read of a
place that nothing wrote."""

WATCH = layout(
    ("checks", "i8"),
    ("now", "i8"),
    ("floor", "i8"),  # accesses before this time are ordered before all that come: a barrier of the whole block
    ("began", "i8"),  # when the block did
    ("shift", "i8"),  # a piece of memory has 1 << shift bytes, the fewest that an instruction of the kernel accesses
    ("pieces", "i8"),
    ("warps", "i8"),
    ("sites", "i8"),
    ("partial", "i8"),  # whether the kernel has anything that orders less than the whole block
    ("copies", "i8"),  # whether it copies asynchronously
    ("atomics", "i8"),  # whether it has atomics
    ("acquires", "i8"),  # whether an atomic's result is used
    ("instructions", "i8"),
    ("kinds", "u8"),  # of each instruction, u1
    ("site_of", "u8"),  # of each instruction, u2
    ("last_write", "u8"),  # of each piece, an entry
    ("writer", "u8"),  # of each piece, u1
    ("readers", "u8"),  # of each line a summary: when it was last read, and (lower half) by which warps since the floor
    ("writers", "u8"),  # the same of writes,
    ("copiers", "u8"),  # of copies (and by which agents since the block began),
    ("updaters", "u8"),  # of atomics
    ("reads", "u8"),  # (warps, pieces) entries
    ("earlier_reads", "u8"),  # (warps, pieces) entries, of lanes that had parted from the last reader
    ("updates", "u8"),  # as reads and earlier_reads, of atomics
    ("earlier_updates", "u8"),
    ("written", "u8"),  # of each line: a block's number plus 1, and (lower half) which pieces it has written
    ("executed", "u8"),  # (warps, sites) i4: the floor at which a warp executed an instruction last
    ("members", "u8"),  # the warps' records
    ("words", "u8"),  # (WORDS) records
    ("found", "u8"),  # (FOUND) records
    ("lost", "i8"),  # findings that found no room
    ("copied", "i4", AGENTS),  # of agents: what the whole block has waited for
    ("gathered", "i4", (OF_CLUSTER + 1, AGENTS)),  # clocks of those who have arrived at a barrier
)

MEMBER = layout(
    # a warp of the block. Its lanes are divided into rows of lanes that know the same
    ("whole", "i8"),  # its threads
    ("position", "i8"),  # requests since the floor `seen`
    ("seen", "i8"),
    ("commits", "i8"),  # groups of copies committed
    ("row_of", "i4", LANES),
    ("row_mask", "i8", LANES),
    ("lanes", "i4", (LANES, LANES)),  # of each row: clock of the lanes of its own warp
    ("known", "i4", (LANES, AGENTS)),  # of each row: clock of the other warps, and of agents
    ("committed", "i4", COMMITS),  # when a group of copies was committed
)

WORD = layout(
    ("parity", "i8"),
    ("gathered", "i4", AGENTS),  # clocks published since the phase began
    ("passed", "i4", AGENTS),  # clocks published in the last phase
)

FINDING = layout(
    ("count", "i8"),
    ("how", "i8"),
    ("first_site", "i4"),
    ("second_site", "i4"),
    ("first_warp", "i4"),
    ("second_warp", "i4"),
    ("first_lane", "i4"),
    ("second_lane", "i4"),
    ("address", "i8"),
    ("block", "i8"),
    ("unequal", "i8"),  # writes of different values
)
