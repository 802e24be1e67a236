"""The machine's records as a type checker sees them in compiled code.

Compiled code reads and writes the fields of a record as attributes. The layouts, and what each field means, are in
`banksim.machine.state`; tests/machine/test_compiled_records.py holds both to the same names.
"""

from typing import Protocol

from banksim.system.compiled_types import Integer, Integers


class Context(Protocol):
    """`state.CONTEXT`: one worker's view of a launch."""

    constants: Integers
    constant_sizes: Integers
    written: Integer
    shared: Integer
    own_shared: Integer
    cluster: Integer
    cluster_blocks: Integer
    shared_size: Integer
    shared_reach: Integer
    shared_allocated: Integer
    local: Integer
    local_size: Integer
    buffers: Integer
    buffer_count: Integer
    counters: Integer
    memos: Integer
    memo_count: Integer
    tallies: Integer
    architectures: Integer
    rules: Integer
    rule_words: Integer
    period: Integer
    warps: Integer
    template: Integer
    warp_count: Integer
    warp_size: Integer
    grid: Integers
    block: Integer
    scratch: Integer
    turn_length: Integer
    turn: Integer
    allowance: Integer
    budget: Integer
    stop: Integer
    error: Integer
    doubts: Integer
    stray: Integer
    mapped: Integer
    mapped_start: Integer
    mapped_pages: Integer
    threads: Integer
    live: Integer
    resumed: Integer
    blocks_done: Integer
    now: Integer
    nanoseconds: Integer
    asked: Integer
    far_mask: Integer
    far_width: Integer
    far_places: Integers
    copied: Integer
    copied_rows: Integer
    trace: Integer
    traced: Integer
    notes: Integer
    touched: Integer
    watch: Integer
    follow: Integer
    probe: Integer
    probed: Integer
    probing: Integer
    region: Integer
    arrived: Integers
    expected: Integers
    phase: Integers
    votes: Integers
    reduction: Integers
    result: Integers


class Warp(Protocol):
    """`state.WARP`, without the registers that follow it."""

    live: Integer
    active: Integer
    pc: Integer
    running: Integer
    groups: Integer
    index: Integer
    block: Integers
    slot: Integer
    collected: Integer
    again: Integer
    cluster_phase: Integer
    cluster_arrived: Integer
    reduced: Integer
    group_mask: Integers
    group_pc: Integers
    group_wait: Integers
    group_phase: Integers
    predicates: Integers
    uniform_predicates: Integers
    uniform: Integers
    barriers: Integers
    named: Integers
    resume: Integers
    thread: Integers


class Cluster(Protocol):
    """`state.CLUSTER`: the barrier of a cluster of blocks."""

    threads: Integer
    live: Integer
    arrived: Integer
    phase: Integer
    ended: Integer


class Memo(Protocol):
    """`state.MEMO`: what a site saw last."""

    mask: Integer
    phase: Integer
    hits: Integer
    site: Integer
    op: Integer
    width: Integer
    parts: Integer
    relative: Integers


class Tally(Protocol):
    """`state.TALLY`: what a site's requests took under one architecture."""

    requests: Integer
    low: Integer
    high: Integer
    ideal: Integer
    unknown: Integer
    last_low: Integer
    last_high: Integer
    last_ideal: Integer
    degree: Integer
    worst_excess: Integer
    worst_mask: Integer
    worst_block: Integer
    worst_warp: Integer
    worst_address: Integers
