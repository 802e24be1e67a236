"""A look at some blocks of a launch for what `--check races` would follow up: words of shared memory that warps touch
with no barrier between, one of them writing.

The blocks looked at are few, and of each no more than its first requests, so it takes next to no time; requests of the
others only meet a flag that is not set. What else may order two warps (an atomic whose result is used, a flag) counts
as a barrier here: what is found is a race for the check too. Kernels with mbarriers are not looked at.
"""

from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Kernel
from banksim.machine.codes import LANES
from banksim.machine.launch import Launch
from banksim.machine.races.access_kinds import Kinds, kinds
from banksim.machine.races.findings import Access, Hint
from banksim.machine.races.records import COPY, READ, REDUCE, STARTING, WRITE
from banksim.machine.state import aligned, layout
from banksim.system.compiled_types import I8, U8

MOST_BLOCKS = 8
"""How many blocks of a launch are looked at, at most."""
OF_BLOCKS = 512
"""One block of so many is looked at, and always one."""
WARP_BITS, LANE_BITS, EPOCH = 6, 5, 32
"""An access as 63 bits: warp, lane, number of the instruction, and, from this bit on, its epoch."""
ACCESSES = ("writes", "reads", "others")
INSTRUCTIONS = 1 << EPOCH - WARP_BITS - LANE_BITS


class Probed(Protocol):
    """What is remembered of the block that is looked at."""

    kinds: U8  # of each instruction, u1: races.records
    instructions: I8
    shift: I8  # a piece of memory has 1 << shift bytes, the fewest that an instruction of the kernel accesses
    pieces: I8
    writes: U8  # for each piece the last write
    reads: U8  # for each piece the first read of an epoch
    others: U8  # for each piece the last read of that epoch by another warp
    block: I8  # the block that is looked at
    base: I8  # its first epoch
    acquired: I8  # how often one of its warps may have learnt of others by an atomic
    latest: I8  # the latest epoch so far
    found: I8
    found_block: I8
    address: I8
    first: I8  # accesses
    second: I8


PROBE = layout(Probed)


class Probe:
    """The look of one worker, whose record points to it; no block is looked at where nothing could be told."""

    def __init__(self, launch: Launch, context: Any) -> None:
        self.launch = launch
        self.record = aligned(PROBE, 1)
        self.kept: dict[str, np.ndarray] = {}
        if launch.warps == 1:
            return
        known = suitable(launch.kernel)
        if known is None:
            return
        shift = known.piece.bit_length() - 1
        pieces = launch.shared_reach >> shift
        self.kept = {"kinds": known.kind, **{name: np.zeros(pieces, np.int64) for name in ACCESSES}}
        r = self.record[0]
        for name, array in self.kept.items():
            r[name] = array.ctypes.data
        r["instructions"], r["shift"], r["pieces"], r["block"] = len(known.kind), shift, pieces, -1
        context["probe"] = self.record.ctypes.data

    def begin(self, launch: Launch, context: Any) -> None:
        """Look at blocks of this launch."""
        self.launch = launch
        context["probed"] = every(launch.blocks) if self.kept else 0

    @property
    def accesses(self) -> list[np.ndarray]:
        """What is remembered of accesses, at first zeros."""
        return [self.kept[name] for name in ACCESSES if self.kept]

    def found(self) -> Hint | None:
        """What the block of the lowest number showed."""
        r = self.record[0]
        if not r["found"]:
            return None
        x, y, _ = self.launch.grid
        block = int(r["found_block"])
        return Hint(
            first=self.access(int(r["first"])),
            second=self.access(int(r["second"])),
            address=int(r["address"]) - self.launch.kernel.shared_base,
            block=(block % x, block // x % y, block // x // y),
        )

    def access(self, entry: int) -> Access:
        kernel = self.launch.kernel
        number = entry >> (WARP_BITS + LANE_BITS) & (INSTRUCTIONS - 1)
        word = {READ: "read", WRITE: "write", COPY: "asynchronous write"}[int(kinds(kernel).kind[number])]
        return Access(
            word, kernel.instructions[number].site, entry & ((1 << WARP_BITS) - 1), entry >> WARP_BITS & (LANES - 1)
        )


@lru_cache(maxsize=256)
def suitable(kernel: Kernel) -> Kinds | None:
    """What a kernel's instructions do, if only barriers and atomics order its accesses."""
    if len(kernel.instructions) > INSTRUCTIONS:
        return None
    try:
        known = kinds(kernel)
    except UnsupportedError:
        return None
    by_mbarriers_or_proxy = range(STARTING, REDUCE + 1)
    return known if known.has(WRITE, COPY) and not known.has(*by_mbarriers_or_proxy) else None


def every(blocks: int) -> int:
    """Of how many blocks one is looked at."""
    return -(-blocks // min(1 + blocks // OF_BLOCKS, MOST_BLOCKS))
