"""The records of who watches a block as a type checker sees them in compiled code.

Compiled code reads and writes the fields of a record as attributes. The layouts, and what each field means, are in
`banksim.machine.races.records`; tests/machine/test_compiled_records.py holds both to the same names.
"""

from typing import NamedTuple, Protocol

from banksim.machine.compiled_records import Context
from banksim.system.compiled_types import Integer, Integers, Place


class Watch(Protocol):
    """`records.WATCH`: everything that is remembered of a block."""

    checks: Integer
    now: Integer
    floor: Integer
    epoch: Integer
    began: Integer
    block: Integer
    blocks: Integer
    stride: Integer
    span: Integer
    shift: Integer
    pieces: Integer
    warps: Integer
    block_warps: Integer
    sites: Integer
    partial: Integer
    copies: Integer
    proxies: Integer
    entries: Integer
    atomics: Integer
    acquires: Integer
    instructions: Integer
    kinds: Integer
    site_of: Integer
    last_write: Integer
    writer: Integer
    readers: Integer
    writers: Integer
    copiers: Integer
    updaters: Integer
    pullers: Integer
    reads: Integer
    earlier_reads: Integer
    updates: Integer
    earlier_updates: Integer
    pulls: Integer
    factors: Integer
    issuers: Integer
    written: Integer
    executed: Integer
    members: Integer
    known: Integer
    parities: Integer
    published: Integer
    passed: Integer
    found: Integer
    lost: Integer
    copied: Integer
    gathered: Integer
    inside: Integer
    sealed: Integer


class Member(Protocol):
    """`records.MEMBER`: a warp of the block, and what its lanes know."""

    whole: Integer
    position: Integer
    seen: Integer
    latest: Integer
    arrived: Integer
    commits: Integer
    products: Integer
    row_of: Integers
    row_mask: Integers
    lanes: Integers
    committed: Integers


class Finding(Protocol):
    """`records.FINDING`: two accesses that nothing orders."""

    count: Integer
    how: Integer
    first_site: Integer
    second_site: Integer
    first_warp: Integer
    second_warp: Integer
    first_lane: Integer
    second_lane: Integer
    address: Integer
    block: Integer
    unequal: Integer


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
