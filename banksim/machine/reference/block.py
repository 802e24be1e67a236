"""The reference machine: every block, warp and instruction in turn, in plain Python over NumPy.

It says what a GPU does; the LLVM engine says it fast, and tests hold the two together.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from banksim.errors import Fault
from banksim.kernels.kernel import BYTES
from banksim.machine import codes, faults
from banksim.machine.addresses import shared_start
from banksim.machine.launch import Launch
from banksim.machine.reference.memory import Request
from banksim.machine.reference.warp import Warp, Word
from banksim.requests.kinds import LANES
from banksim.requests.trace import Trace


@dataclass
class Outcome:
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


class Block:
    """A block's shared memory, local memory, barriers and warps."""

    def __init__(self, launch: Launch, number: int, outcome: Outcome, limit: int) -> None:
        self.launch, self.number, self.outcome, self.limit = launch, number, outcome, limit
        self.shared = np.zeros(launch.shared_bytes, np.uint8)
        self.shared_start = shared_start(launch.kernel)
        self.local = np.zeros((LANES * launch.warps, launch.local_bytes), np.uint8)
        self.barriers = [Barrier() for _ in range(codes.BLOCK_BARRIERS)]
        self.warps = [Warp(self, n) for n in range(launch.warps)]
        self.clocks = {"SR_CLOCK": 0, "SR_GLOBALTIMER": 0}

    @property
    def live(self) -> int:
        return sum(warp.live.bit_count() for warp in self.warps)

    def run(self) -> None:
        """Let the warps run in turn until all threads have left."""
        while self.live:
            if not self.one_pass():
                raise self.stuck()

    def one_pass(self) -> bool:
        """Let each warp run once; whether any could go on."""
        progress = [warp.run() for warp in self.warps]
        return any(progress)

    def stuck(self) -> Fault:
        return Fault(f"{self.launch.kernel.plain_name}: {self.deadlock()}")

    def deadlock(self) -> str:
        code = self.launch.kernel.instructions
        waiting = []
        for warp in self.warps:
            for group in warp.groups:
                place = faults.place(code[group.pc // BYTES - (not isinstance(group.waits, Word))])
                waiting.append(f"{group.mask.bit_count()} threads of warp {warp.index} wait at {place}")
        where = faults.block_index(self.launch, self.number)
        return f"a barrier that not all can reach: {'; '.join(waiting[:3])}, block {where}"

    def count(self, pc: int, threads: int, executing: int) -> None:
        """One more instruction issued. Fault beyond the limit."""
        self.outcome.counts[pc // BYTES] += (1, threads, executing)
        self.limit -= 1

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


def run(launch: Launch, max_instructions: int | None = None) -> Outcome:
    """Run every block of a launch, one after the other; its buffers change in place.

    Raises `UnsupportedError` before anything runs, `Fault` where a GPU would stop or never end.
    """
    from banksim.machine.supported import check

    check(launch.kernel)
    outcome = Outcome(launch, np.zeros((len(launch.kernel.instructions), 3), np.int64))
    limit = max_instructions if max_instructions is not None else 1 << 62
    with np.errstate(all="ignore"):
        if launch.cooperative:
            run_together([Block(launch, number, outcome, limit) for number in range(launch.blocks)])
            return outcome
        for number in range(launch.blocks):
            block = Block(launch, number, outcome, limit)
            block.run()
            limit = block.limit
    return outcome


def run_together(blocks: list[Block]) -> None:
    """All blocks of a cooperative launch in turn."""
    while blocks:
        progress = [block.one_pass() for block in blocks]
        if not any(progress):
            raise blocks[0].stuck()
        blocks = [block for block in blocks if block.live]
