"""What the code of a kernel, the loop over classes and Python share.

A region is a box of blocks on a lattice: from its first block, along each of some directions so many further ones
(`count`), each `step` away from the one before, along one axis of the grid. Several directions may go along the same
axis; the steps of one are then longer than all of the other, so that no block is named twice. The first block is
executed; what it did holds for the whole region as long as bounds hold that are linear in the numbers of steps. Those
that do not hold everywhere narrow the region.
"""

from typing import Annotated, Protocol

from banksim.machine.state import layout
from banksim.requests.kinds import LANES
from banksim.system.compiled_types import I8, U8, Integers

AXES = 3
DIRECTIONS = 5
"""The most of a region."""
COUNT = AXES + DIRECTIONS
ROW = COUNT + DIRECTIONS
"""A waiting box is so many words: its first block, steps, counts."""


class Region(Protocol):
    """What the code of `follower` knows of the region."""

    count: Annotated[Integers, "i8", DIRECTIONS]  # how many further blocks it has along each direction
    step: Annotated[Integers, "i8", DIRECTIONS]  # 0 where its box has no further blocks
    axis: Annotated[Integers, "i8", DIRECTIONS]  # of the grid, along which a direction goes; −1: there is none
    # contexts for the copies of local memory: a slope for each direction, and what is unknown
    local: Annotated[Integers, "u8", DIRECTIONS + 1]
    below: Annotated[Integers, "i8", LANES]  # the bound that is to narrow it
    above: Annotated[Integers, "i8", LANES]
    slopes: Annotated[Integers, "i8", (DIRECTIONS, LANES)]
    longer: I8  # if a step should be longer: how many times,
    along: I8  # in which direction,
    onto: I8  # and in which direction the longer steps go: in another one, or in the same
    halvings: U8  # for each instruction an i8: how often what it reads halved a region
    rows: Annotated[Integers, "i8", (LANES, 2 + DIRECTIONS)]  # bounds that differ (below, above, slopes …)
    turned: Annotated[Integers, "i8", (LANES, 2 + DIRECTIONS)]  # the same with other steps
    trial: Annotated[Integers, "i8", DIRECTIONS]  # counts that are tried


class Work(Protocol):
    """What is left to count, and what was."""

    context: U8  # of the worker
    region: U8
    run: U8  # address of the kernel's `blocks`
    stack: U8  # boxes that wait, the next one last
    waiting: I8
    room: I8  # for how many there is
    box: Annotated[Integers, "i8", ROW]  # the one whose first block was executed last, narrowed to its class
    before: I8  # boxes of higher numbers need not be executed
    counters: I8  # how many the worker has
    memos: U8  # as they are at the start of each block
    cluster: Annotated[Integers, "i8", AXES]  # how many blocks of the grid it takes along each axis
    blocks: I8
    classes: I8
    most: I8  # no sum of counts is larger; −1: it may be beyond LARGEST
    total: U8  # counters of all blocks so far,
    once: U8  # of one block of each class,
    tallies: U8  # and the tallies of all blocks


REGION, WORK = layout(Region), layout(Work)
LARGEST = 1 << 62
"""Up to here counts and their sums are exact."""
MARGIN = 1 << 13
"""For so many more boxes there is room before a block is executed."""
LONGEST = MARGIN >> 1
"""A step becomes at most so many times as long where that makes a box of each of its starts."""
