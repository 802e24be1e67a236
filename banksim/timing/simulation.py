"""The blocks that one multiprocessor is given, simulated cycle by cycle: as many at a time as it has room for."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import Architecture
from banksim.architectures.time_figures import Figures
from banksim.machine import codes
from banksim.machine.faults import Stop
from banksim.machine.launch import Launch
from banksim.machine.llvm.compile import Compiled
from banksim.machine.llvm.worker import ClusterMemory, Worker, bank_rules
from banksim.system.bundles import Words
from banksim.timing import data_stage, issue_loop, issue_records, shared_memory_path
from banksim.timing.global_memory import busy, new_memory, sent_by
from banksim.timing.instruction_caches import SUB_CORES
from banksim.timing.multiprocessor import One, between_first
from banksim.timing.room import SEEN, Beside, room_for, rounds
from banksim.timing.same_lines import NEVER, remember
from banksim.timing.spent_cycles import TimedBlock


@dataclass
class Simulated:
    """What was simulated; of several multiprocessors what the busiest was, or sums of all.

    spent         by instruction (dtype issue_records.SPENT)
    blocks        those that finished
    cycles        in all
    instructions  of warps
    busy          cycles of each (sub-core, pipe; the last column: instructions issued)
    requests      to shared memory, with their `transactions`
    beyond        cycles that global memory beyond the L1 was busy
    left          cycles behind the last block until what is stored and added has left, and that block is taken back
    each          cycles from a block's begin to the next one's
    across        cycles that the way to other blocks of the cluster was busy
    asked         the first lines that the L2 was asked for (GlobalMemory.asked), and of how many
    additions     whether some were made to global memory, beside other blocks
    assumed       cycles of warps that rest on assumed latencies
    seconds       that the simulation took
    stages        of each multiprocessor, what met data of global memory
    held          blocks at a time
    workers       they hold what was counted
    stop          why it ended early, if it did
    """

    spent: npt.NDArray[np.void]
    blocks: list[TimedBlock]
    cycles: int
    instructions: int
    busy: npt.NDArray[np.int64]
    requests: int
    transactions: int
    beyond: int
    left: int
    each: float | None
    across: int
    asked: tuple[npt.NDArray[np.int64], int]
    additions: bool
    assumed: int
    seconds: float
    stages: list[data_stage.DataStage]
    held: int
    workers: list[Worker]
    stop: Stop | None


ALLOWANCE = 1 << 25
"""Without a limit of the user's: if no block has ended after so many warp instructions for each sub-core that has a
warp, they are taken for an endless loop. That takes less than a minute."""


class Simulation:
    """One multiprocessor with room for `resident` whole blocks of a launch, which is given some, by clusters; of a
    launch of clusters, one for each block of a cluster. `beyond`: which are given behind these, if it holds more at a
    time, until there were three rounds. `seen`: of each, to which lines another has added (`SameLines.added`).
    `at_most`: warp instructions after which the blocks count as ended. `noted`: how many lines that the L2 is asked for
    are remembered. `cold`: arrays of which no cache has anything (COLD_ARRAY). `code_kept`: whether the instruction
    caches have what the last launch of the kernel left there. `active`: how many multiprocessors have work; all that
    have a block, unless it is told."""

    def __init__(
        self,
        launch: Launch,
        compiled: Compiled,
        architectures: Sequence[Architecture],
        figures: Figures,
        resident: int,
        clusters: Sequence[Sequence[int]],
        *,
        beyond: Sequence[Sequence[int]] = (),
        ideal: bool = False,
        max_instructions: int | None = None,
        global_latency: int | None = None,
        at_most: int | None = None,
        seen: Sequence[npt.NDArray[np.void]] = (),
        noted: int = 0,
        cold: npt.NDArray[np.void] | None = None,
        code_kept: bool = True,
        active: int | None = None,
    ) -> None:
        self.launch, self.compiled, self.clusters, self.beyond = launch, compiled, clusters, beyond
        self.rules, self.held = bank_rules(architectures, compiled), min(resident, len(clusters))
        self.active = active = active or min(launch.blocks, figures.multiprocessors)
        self.multiprocessors = figures.multiprocessors
        self.numbers = figures.numbers(global_latency, active)
        self.stop_word = np.zeros(1, np.uint32)
        self.room = room_for(launch, resident, len(clusters) + len(beyond))
        self.running: set[int] = set()
        self.beside = Beside()
        self.each: list[One] = []
        memory = partial(new_memory, known=figures, active=active, noted=noted, cold=cold)
        for rank in range(launch.cluster_blocks):
            others = self.each[0] if self.each else None
            one = One(figures, self.numbers, self.room, rank, others, memory, code_kept)
            one.sm = one.sm._replace(stop=self.stop_word)
            one.sm.ideal[0], one.sm.constant[0] = ideal, global_latency is not None
            one.sm.clock[issue_records.ALLOWED] = at_most or max_instructions or 1 << 60
            one.path.memory.same.together[0] = min(launch.blocks, active * resident)
            if seen:
                remember(one.path.memory.same, seen[rank])
            self.each.append(one)
        self.figures = self.numbers.record()
        self.words = [[Words(part) for part in (one.sm, one.path, one.waiting)] for one in self.each]
        self.places = np.array([[*(one.address for one in own), self.figures.ctypes.data] for own in self.words])
        warps = min(resident * launch.warps, SUB_CORES)
        self.at_most = at_most
        self.allowance = ALLOWANCE * warps if (at_most or max_instructions) is None else None

    @property
    def issued(self) -> int:
        """Warp instructions issued so far."""
        return sum(int(one.sm.clock[issue_records.ISSUED]) for one in self.each)

    def run(self) -> Simulated:
        """Simulate the blocks: as many as are resident at first, the next ones, if there is room, once one has ended,
        or one of the multiprocessor beside this one."""
        began = time.perf_counter()
        queue, done, stop = deque([*self.clusters, *self.beyond]), [], None
        numbers, given, count = self.numbers, 0, len(queue)
        for n in range(self.held):
            self.begin(queue.popleft(), n * between_first(numbers, self.launch.warps))

        def more() -> bool:
            """Whether blocks are to follow."""
            return bool(queue) and count - len(queue) < max(len(self.clusters), rounds(count, self.held))

        while self.running:
            stop = self.until_one_ends(self.beside.next if more() else NEVER)
            if stop and stop.code == codes.LIMIT and self.at_most is not None:
                stop = None
                queue.clear()
                for one in self.each:
                    one.end(self.now())
            if stop:
                break
            over = [p for p in self.running if all(one.ended(p) for one in self.each)]  # several may in one cycle
            for place in over:
                done += [one.timed(place) for one in self.each]
                self.beside.end(done[-1].cycles + SEEN)
                self.running.remove(place)
            looks = self.beside.ended(self.now()) or over
            following = max(self.now() + numbers.replace - (0 if over else SEEN), given + numbers.apart_blocks)
            while looks and more() and self.begin(queue[0], following):
                queue.popleft()
                given, following = following, following + numbers.apart_blocks
        every = [one.sm for one in self.each]
        for row in self.places:
            shared_memory_path.drain(row[1:], self.now())
        end = max((b.end for b in done), default=0)
        ended = sorted(b.end for b in done)[:: self.launch.cluster_blocks]
        return Simulated(
            spent=summed([sm.spent for sm in every]),
            blocks=done,
            cycles=end,
            instructions=self.issued,
            busy=np.max([sm.busy for sm in every], axis=0),
            requests=sum(int(sm.served[0]) for sm in every),
            transactions=max(int(sm.served[1]) for sm in every),
            assumed=sum(int(sm.served[2]) for sm in every),
            beyond=max(busy(one.path.memory) for one in self.each) // 100,
            left=max(self.taken_back(ended), *(sent_by(one.path.memory) // 100 for one in self.each)) - end,
            each=self.each_follows(sorted(b.start for b in done)[:: self.launch.cluster_blocks]),
            across=max(int(one.path.between.busy[0]) for one in self.each) // 100,
            asked=(
                np.concatenate([one.path.memory.asked for one in self.each]),
                sum(int(one.path.memory.lines_asked[0]) for one in self.each),
            ),
            additions=self.launch.blocks > 1 and any(one.path.memory.same.first[0] < NEVER for one in self.each),
            seconds=time.perf_counter() - began,
            stages=[one.path.memory.stage for one in self.each],
            held=self.held,
            workers=[worker for one in self.each for worker in one.workers],
            stop=stop,
        )

    def taken_back(self, ends: Sequence[int]) -> int:
        """The cycle in which the last block has been taken back: they are so one after the other, of all
        multiprocessors."""
        last = 0
        for n, end in enumerate(ends):
            last = max(end, last + self.numbers.apart_blocks * self.active // self.multiprocessors * (n > 1))
        return last

    def each_follows(self, begins: Sequence[int]) -> float | None:
        """How many cycles after a block the next one begins: in the third round and what follows it, since blocks of
        the first two begin and end together. None where there are fewer."""
        held = self.held
        last, before = begins[3 * held :], begins[2 * held : len(begins) - held]
        return float(np.mean(last) - np.mean(before)) / held if last else None

    def begin(self, cluster: Sequence[int], now: int) -> bool:
        """Let a cluster begin in cycle `now`, if there is room for it."""
        slots = [own for one in self.each if (own := one.slots_for_next()) is not None]
        if len(self.running) == self.room.places or len(slots) < len(self.each):
            return False
        place = min(set(range(self.room.places)) - self.running)
        if place == len(self.each[0].workers):
            memory = ClusterMemory(self.launch, self.launch.cluster_blocks)
            for rank, one in enumerate(self.each):
                one.workers.append(Worker(self.launch, self.compiled, *self.rules, 1 << 60, self.stop_word))
                one.workers[-1].join(memory, rank)
        for one, block, own in zip(self.each, cluster, slots, strict=True):
            one.begin(self.compiled, place, block, own, now)
        self.running.add(place)
        self.held = max(self.held, len(self.running))
        if len(self.each) == 1:
            self.beside.begin(now)
        return True

    def now(self) -> int:
        return max(int(one.sm.clock[issue_records.CYCLE]) for one in self.each)

    def until_one_ends(self, until: int) -> Stop | None:
        """Simulate until a block has ended, or until a cycle."""
        for one in self.each if self.allowance is not None else ():
            one.sm.clock[issue_records.ALLOWED] = one.sm.clock[issue_records.ISSUED] + self.allowance
        which, answer = divmod(int(issue_loop.run(self.places, self.compiled.step, until)), 256)
        return self.each[which].stopped(answer - codes.FAULT) if answer >= codes.FAULT else None


def summed(records: Sequence[npt.NDArray[np.void]]) -> npt.NDArray[np.void]:
    """The sums of records of numbers, field by field."""
    total = records[0].copy()
    for name in total.dtype.names or ():
        total[name] = np.sum([one[name] for one in records], axis=0)
    return total
