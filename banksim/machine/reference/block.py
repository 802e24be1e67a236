"""A block of the reference machine: what its warps share. What a launch did is recorded here too."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from banksim.kernels.kernel import BYTES
from banksim.machine import codes
from banksim.machine.addresses import shared_start
from banksim.machine.launch import Launch
from banksim.requests.kinds import LANES
from banksim.requests.trace import Trace


@dataclass(frozen=True)
class Request:
    """One request to shared memory. `address` is of shape (32,), 0 where the mask has no bit."""

    pc: int
    op: str
    width: int
    mask: int
    address: npt.NDArray[np.uint32]
    block: int
    warp: int


@dataclass
class Executed:
    """What a launch did: `counts[pc // 16]` = (warps, threads, threads predicated on), and its requests."""

    launch: Launch
    counts: npt.NDArray[np.int64]
    requests: list[Request] = field(default_factory=list)

    def trace(self) -> Trace:
        """The requests as a trace with one site per instruction that made any."""
        pcs = sorted({r.pc for r in self.requests})
        code = self.launch.kernel.instructions
        return Trace.from_arrays(
            op=np.array([r.op for r in self.requests]) if self.requests else np.zeros(0, np.uint8),
            width=np.array([r.width for r in self.requests], np.uint8),
            mask=np.array([r.mask for r in self.requests], np.uint32),
            address=np.array([r.address for r in self.requests], np.uint32).reshape(-1, LANES),
            warp=np.array([r.warp for r in self.requests], np.int32),
            block=np.array([r.block for r in self.requests], np.int32),
            site=np.array([pcs.index(r.pc) for r in self.requests], np.int32),
            sites=[code[pc // BYTES].site for pc in pcs],
        )


@dataclass
class Barrier:
    """One of a block's barriers. A phase ends when `expected` threads (0: all that live) have arrived."""

    arrived: int = 0
    expected: int = 0
    votes: int = 0
    reduction: str = ""
    phase: int = 0
    result: int = 0
    """The result of the reduction of the phase that ended last."""


class Cluster:
    """Blocks that reach into each other's shared memory, in the order of their ranks, and their barrier."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.arrived = 0
        self.phase = 0

    def arrive(self, threads: int) -> None:
        """Threads arrive at the barrier; the last of all that live ends its phase."""
        self.arrived += threads
        if self.arrived and self.arrived >= sum(block.live for block in self.blocks):
            self.arrived = 0
            self.phase += 1


class Block:
    """A block's shared memory, local memory and barriers, and which of its threads live."""

    def __init__(self, launch: Launch, number: int, outcome: Executed, limit: int, cluster: Cluster) -> None:
        self.cluster, self.rank = cluster, len(cluster.blocks)
        cluster.blocks.append(self)
        self.launch, self.number, self.outcome, self.limit = launch, number, outcome, limit
        self.shared = np.zeros(launch.shared_reach, np.uint8)
        self.shared_start = shared_start(launch.kernel)
        self.local = np.zeros((LANES * launch.warps, launch.local_bytes), np.uint8)
        self.barriers = [Barrier() for _ in range(codes.BLOCK_BARRIERS)]
        threads = [min(launch.threads - LANES * warp, LANES) for warp in range(launch.warps)]
        self.live_lanes = [(1 << count) - 1 for count in threads]
        """Of each warp the lanes whose threads have not left, as a mask."""
        self.clocks = {"SR_CLOCK": 0, "SR_GLOBALTIMER": 0}

    @property
    def live(self) -> int:
        """How many threads have not left."""
        return sum(mask.bit_count() for mask in self.live_lanes)

    def count(self, pc: int, threads: int, executing: int) -> None:
        """One more instruction issued. Fault beyond the limit."""
        self.outcome.counts[pc // BYTES] += (1, threads, executing)
        self.limit -= 1

    def leave(self, warp: int, lanes: int) -> None:
        """Threads of a warp end; barriers wait for them no more."""
        self.live_lanes[warp] &= ~lanes
        self.cluster.arrive(0)
        for barrier in self.barriers:
            if not barrier.expected:
                self.complete(barrier)

    def arrive(self, number: int, threads: int, expected: int, reduction: str, votes: int) -> None:
        """Threads arrive at a barrier; the last one to arrive ends its phase."""
        barrier = self.barriers[number]
        barrier.arrived += threads
        barrier.votes += votes
        barrier.expected, barrier.reduction = expected, reduction
        self.complete(barrier)

    def complete(self, barrier: Barrier) -> None:
        """End a barrier's phase if all have come."""
        if not barrier.arrived or barrier.arrived < (barrier.expected or self.live):
            return
        votes = barrier.votes
        results = {"POPC": votes, "AND": int(votes == barrier.arrived), "OR": int(votes > 0)}
        barrier.result = results.get(barrier.reduction, barrier.result)
        barrier.arrived = barrier.votes = 0
        barrier.phase += 1
