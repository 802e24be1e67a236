"""What timing a launch gives: cycles by instruction and source line, by block and warp, and what limits them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING

from banksim.kernels.kernel import Instruction

if TYPE_CHECKING:
    from banksim.architectures.time_figures import Figures, Traffic


@dataclass(frozen=True)
class Spent:
    """Cycles of warps, summed over the warps: where their time went.

    issue        the cycles in which they issued an instruction
    fixed        stall counts, and fetching behind taken branches
    shared       waiting for requests to shared memory: for their data, or for a place in the queue
    conflict     of these, what is not spent if every request takes its ideal transactions
    memory       waiting for global and local memory
    barrier      waiting at barriers of the block
    other        waiting for other instructions of variable latency (MUFU, conversions, constants …)
    contention   could have issued, but another warp of the sub-core did
    """

    issue: int = 0
    fixed: int = 0
    shared: int = 0
    conflict: int = 0
    memory: int = 0
    barrier: int = 0
    other: int = 0
    contention: int = 0

    @property
    def total(self) -> int:
        """All of a warp's time; `conflict` is part of `shared`."""
        return int(sum(getattr(self, f.name) for f in fields(self))) - self.conflict

    def __add__(self, other: Spent) -> Spent:
        return Spent(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True)
class TimedInstruction:
    """An instruction and its cycles. Waiting for a result counts at the instruction that gives the result, other
    waiting at the instruction that waits."""

    instruction: Instruction
    spent: Spent


@dataclass(frozen=True)
class TimedBlock:
    """A block: the cycles at which it began and ended, and of each warp the cycle at which it ended, the instructions
    that it executed, and the cycles in which it waited for nothing but other warps."""

    number: int
    start: int
    end: int
    warps: tuple[int, ...]
    executed: tuple[int, ...]
    crowded: tuple[int, ...]

    @property
    def cycles(self) -> int:
        return self.end - self.start


OF_HOST = (
    "managed and pinned memory is taken to lie on the GPU (on an H200 managed pages that the host has seen come in "
    "60 µs and more, 1 MB in 200 µs; 1 MB of pinned memory in 20 µs)"
)
PRINTS = "printf takes no time (some 20 µs for each call of a warp on an H200)"
"""Said where it applies (tests/data/timing/h200_first.json)."""


def names_printf(i: Instruction) -> bool:
    return i.name == "SERVICE" and i.operands[0].text == "vprintf"


@dataclass(frozen=True)
class BankConflicts:
    """Conflicts of loads, of stores or of atomics of a launch, as the hardware counts them: by `address`, exactly
    (None: not all are known), and by `arbitration`, as an estimate (None: none is made)."""

    address: int | None
    arbitration: int | None


@dataclass(frozen=True)
class Cycles:
    """The time of the blocks that were timed, which were resident together on one multiprocessor, or those of each
    cluster on one each.

    total            cycles from the first block's begin to the last one's end
    left             … and from there until what they store has left, their additions to the lines of others have been
                     made, and the GPU has taken note of their end
    slowest          … and how much later the slowest of all multiprocessors ends, whose lines come latest from DRAM
    each             cycles from one block's begin to the next's, once they take the places of others; None where too
                     few were timed
    dram             what the launch has of DRAM, and gives it
    additions        whether some were made to global memory, to which other blocks may add as well
    accesses         whether global memory was accessed
    l2_has           what the L2 cache was taken to have of global memory when the launch began
    of_host          whether the blocks accessed memory that the host has, too: managed or pinned
    prints           whether any block that was counted calls printf
    ideal            the same if every request to shared memory took its ideal transactions
    resources        cycles that each resource was busy (of a sub-core: of the busiest): what the time would be if it
                     were the only limit
    requests         to shared memory, by the timed blocks
    global_latency   what a load from global memory was assumed to take beyond one from shared memory; None: what the
                     model of the caches says
    waited_assumed   cycles that warps waited for memory whose latency is assumed
    bank_conflicts   of the whole launch, by "loads", "stores" and "atomics"; empty where not all blocks were
                     counted; `untold`: why of these nothing is known of arbitration, if so
    elsewhere        what is assumed of blocks of other multiprocessors, for which these would wait, or which take of
                     the same work; empty: nothing
    unequal          cycles of the launch, where its blocks take unequally long; None: they take the same, or nobody
                     counted the others
    active           multiprocessors that have work, where others get none but blocks that end at once; None: all
    work             warp instructions of a block of the launch by those of one that was timed, in the mean (1 where
                     nobody counted the others)
    """

    figures: Figures
    instructions: tuple[TimedInstruction, ...]
    blocks: tuple[TimedBlock, ...]
    total: int
    left: int
    slowest: int
    each: float | None
    dram: Traffic
    l2_has: str
    of_host: bool
    prints: bool
    additions: bool
    accesses: bool
    ideal: int
    resources: Mapping[str, int]
    requests: int
    warp_instructions: int
    global_latency: int | None
    waited_assumed: int
    elsewhere: str = ""
    bank_conflicts: Mapping[str, BankConflicts] = field(default_factory=dict)
    untold: str = ""
    unequal: int | None = None
    active: int | None = None
    work: float = 1.0

    @property
    def conflict(self) -> int:
        """Cycles that conflicts cost."""
        return self.total - self.ideal

    @cached_property
    def spent(self) -> Spent:
        return sum((i.spent for i in self.instructions), Spent())

    @cached_property
    def lines(self) -> dict[tuple[str, int], Spent]:
        """By (file, line), in the order of the code; ("", 0) where no line is known."""
        out: dict[tuple[str, int], Spent] = {}
        for i in self.instructions:
            site = i.instruction.site
            key = (site.file or "", site.line or 0)
            out[key] = out.get(key, Spent()) + i.spent
        return out

    @property
    def bottleneck(self) -> str:
        """What limits the time, in one sentence."""
        name, busy = max(self.resources.items(), key=lambda item: item[1])
        if busy > self.total:  # stores go on behind the last warp's end
            return f"Limited by {name}, which takes {busy:,} cycles for what the warps leave it in {self.total:,}."
        if 2 * busy >= self.total:
            return f"Limited by {name}, which is busy in {busy:,} of {self.total:,} cycles."
        waits = {
            "shared memory": self.spent.shared, "global memory": self.spent.memory, "barriers": self.spent.barrier,
            "fixed latencies and branches": self.spent.fixed, "other results": self.spent.other,
        }  # fmt: skip
        what, cycles = max(waits.items(), key=lambda item: item[1])
        return (
            f"Limited by latency: no resource is busy half of the {self.total:,} cycles; the warps wait most for "
            f"{what}, {cycles / max(self.spent.total, 1):.0%} of their time."
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was assumed, and not measured: of global memory, and of the ways between blocks."""
        found = [self.figures.assumption] if self.figures.assumption else []
        if self.spent.memory and self.global_latency is not None:
            found.append(f"global memory answers {self.global_latency:,} cycles later than shared (--global-latency)")
        elif self.spent.memory:
            every = "every SM" if self.active is None else f"each of the {self.active} SMs that have work"
            found.append(f"{self.l2_has}, and {every} does as this one")
            if self.waited_assumed:
                constant = self.figures.figures["global_latency"].value
                found.append(f"textures answer {constant:,} cycles later than shared memory")
        if self.of_host:
            found.append(OF_HOST)
        if self.prints:
            found.append(PRINTS)
        if self.additions:
            found.append("all SMs add to the lines of global memory to which two blocks do")
        if self.elsewhere:
            found.append(self.elsewhere)
        if self.resources["other blocks"]:
            found.append("clusters do not slow each other's ways to other blocks' shared memory")
        return tuple(found)

    @property
    def assumed(self) -> float:
        """The share of the warps' time that was waiting for memory whose latency is assumed."""
        return self.waited_assumed / max(self.spent.total, 1)
