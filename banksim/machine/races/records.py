"""What a worker remembers of a block's accesses: the records that compiled code works on.

Time is a counter of the block's requests. A clock gives for each warp a time: the accesses of that warp before it are
ordered before whatever the owner of the clock does next. What runs beside the warp that starts it has a clock entry of
its own, that of an agent. Its accesses are ordered before a warp's next ones only when somebody has waited for it:

COPIES, w    copies in groups of warp w: cp.async, and what bulk and tensor copies read
LOADS, n     bulk and tensor copies into shared memory, and st.async, whose bytes an mbarrier counts: n by the mbarrier
PRODUCTS, w  what the products of warp w's group (wgmma) read; instead of time it counts groups of products

Bulk copies, tensor copies and products use the asynchronous proxy. They see what warps and cp.async wrote only behind a
fence: FENCED, n gives the time before which the accesses of warp or agent n are ordered with such a fence between.

Blocks of a cluster are watched together, as they reach into each other's shared memory: their warps are numbered one
block after the other, and so lie the bytes of their shared memory.
"""

from typing import Annotated, NamedTuple, Protocol

from banksim.machine.codes import LANES
from banksim.machine.state import Context, layout
from banksim.system.compiled_types import I4, I8, U8, Integer, Integers, Place

COPIES, LOADS, PRODUCTS, FENCED, ENTRIES = 1, 2, 3, 4, 6
"""The first entry of each kind in a clock, and how many there are, in `span`s: LANES, as many as a block has warps, for
each block of the cluster. Of a kernel that does not use the asynchronous proxy those from LOADS on stay 0."""
GROUP = 4
"""Warps that multiply together."""
COMMITS = 16
"""For so many groups of copies (cp.async.commit_group) a warp remembers when they were committed."""
WORDS = 1024
"""How many words of a block that synchronise (atomics, mbarriers) have clocks. Words 4 KiB apart share one, so that
more accesses count as ordered than are."""
FOUND = 1024
"""How many different findings a worker keeps; further ones are only counted."""

NOTHING, READ, WRITE, COPY, TENTATIVE_READ, FLAG_READ, FLAG_WRITE, UPDATE, EXCHANGE = range(9)
"""Kinds of access. READ and WRITE are plain, COPY is an asynchronous write. The others are atomic: UPDATE and
FLAG_WRITE publish at their word what their warp did so far (a release), FLAG_READ takes over what was published there
(an acquire), EXCHANGE does both, TENTATIVE_READ neither."""
STARTING, ARRIVE, WAIT, COPIES_ARRIVE = range(9, 13)
"""Kinds of access of mbarriers: STARTING initialises one, ARRIVE arrives, WAIT waits for a phase, COPIES_ARRIVE arrives
when the warp's copies have been done."""
BULK, PULL, MULTIPLY = range(13, 16)
"""Kinds of access by the asynchronous proxy: BULK is what a bulk or tensor copy writes, PULL what one reads, MULTIPLY
what a product of a group of warps reads."""
SEND, REDUCE = 16, 17
"""Kinds of access whose bytes an mbarrier counts: SEND is an asynchronous write (st.async), REDUCE red.async."""
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
SAME_WARP, COPYING, UNWRITTEN, UNFENCED, ACROSS = 1, 2, 4, 8, 16
"""Bits of a finding's `how`: a race between lanes of one warp; a race with a copy or product that was not waited for; a
read of a place that nothing wrote; accesses in order, but through two proxies with no fence between; a race between
threads of two blocks of a cluster."""


class Watch(Protocol):
    """Everything that is remembered of a block, or of a cluster."""

    checks: I8
    now: I8
    floor: I8  # accesses before this time are ordered before all that come: a barrier of the whole block
    epoch: I8  # when the last barrier of the block, or of a cluster of several, was passed
    began: I8  # when the block did
    block: I8  # its number; of a cluster that of the first
    blocks: I8  # of the cluster
    stride: I8  # bytes from one block's shared memory to the next one's
    span: I8
    shift: I8  # a piece of memory has 1 << shift bytes, the fewest that an instruction of the kernel accesses
    pieces: I8
    warps: I8  # of all blocks
    block_warps: I8  # from one block's first warp to the next one's
    sites: I8
    partial: I8  # whether the kernel has anything that orders less than the whole block
    copies: I8  # whether it copies asynchronously
    proxies: I8  # whether it uses the asynchronous proxy
    entries: I8  # those of a clock that it uses
    atomics: I8  # whether it has atomics
    acquires: I8  # whether an atomic's result is used
    instructions: I8
    kinds: U8  # of each instruction, u1
    site_of: U8  # of each instruction, u2
    last_write: U8  # of each piece, an entry
    writer: U8  # of each piece, u2
    readers: U8  # of each line a summary: when it was last read, and (lower half) by which warps since the floor
    writers: U8  # the same of writes,
    copiers: U8  # of copies (and by which agents since the block began),
    updaters: U8  # of atomics
    pullers: U8  # of reads by copies and products (and by which warps' since the block began)
    reads: U8  # (warps, pieces) entries
    earlier_reads: U8  # (warps, pieces) entries, of lanes that had parted from the last reader
    updates: U8  # as reads and earlier_reads, of atomics
    earlier_updates: U8
    pulls: U8  # (warps, pieces) entries: what the warp's bulk and tensor copies read last
    factors: U8  # the same of its products; in place of the time is the number of their group
    issuers: U8  # u2: of each agent from LOADS on the warp that started its last copy
    written: U8  # of each line: a block's number plus 1, and (lower half) which pieces it has written
    executed: U8  # (warps, sites) i4: the epoch in which a warp executed an instruction last
    members: U8  # the warps' records
    known: U8  # (warps, LANES, ENTRIES) i4: of each row of a warp's lanes the clock of other warps and agents
    parities: U8  # of each word that synchronises, i8
    published: U8  # (words, ENTRIES) i4: clocks published there since the phase began
    passed: U8  # the same of those published in the last phase
    found: U8  # (FOUND) records
    lost: I8  # findings that found no room
    copied: U8  # i4: of agents: what all blocks have waited for; and what they have fenced
    gathered: U8  # (barriers, ENTRIES) i4: clocks of those who have arrived at a barrier, block by block,
    # then of those at the cluster's, and of those who had arrived there when its last phase ended
    inside: I8  # threads that have not left the last phase of the cluster's barrier
    sealed: I8  # when that phase ended, if no thread accessed memory between its arrival and then; else 0


WATCH = layout(Watch)


class Member(Protocol):
    """A warp of the block. Its lanes are divided into rows of lanes that know the same."""

    whole: I8  # its threads
    position: I8  # requests since the epoch `seen`
    seen: I8
    latest: I8  # when its last request was
    arrived: I8  # when it arrived at the cluster's barrier
    commits: I8  # groups of copies committed
    products: I8  # the number of the group of products that comes next
    row_of: Annotated[Integers, "i4", LANES]
    row_mask: Annotated[Integers, "i8", LANES]
    lanes: Annotated[Integers, "i4", (LANES, LANES)]  # of each row: clock of the lanes of its own warp
    committed: Annotated[Integers, "i4", COMMITS]  # when a group of copies was committed


MEMBER = layout(Member)


class Finding(Protocol):
    """Two accesses that nothing orders."""

    count: I8
    how: I8
    first_site: I4
    second_site: I4
    first_warp: I4
    second_warp: I4
    first_lane: I4
    second_lane: I4
    address: I8
    block: I8
    unequal: I8  # writes of different values


FINDING = layout(Finding)


class WatchedRequest(NamedTuple):
    """A request of a warp, as it is compared with those before it.

    `row`: that of `member` for the `active` lanes, which run together; `mask`: those of them that access memory, each
    `width` bytes at its address. `entry`: how the request is remembered, but for the lane (`records.ENTRY_LANE` …).
    `values`: what is stored, by words, all lanes of one after the other. `barrier`: the mbarrier for a copy's bytes.
    """

    watch: Watch
    context: Context
    member: Member
    warp: Integer
    row: Integer
    active: Integer
    mask: Integer
    entry: Integer
    kind: Integer
    width: Integer
    addresses: Integers
    values: Place
    barrier: Integer
