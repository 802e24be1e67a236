"""Blocks that are resident together on one multiprocessor, simulated cycle by cycle."""

from __future__ import annotations

import ctypes
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import Architecture
from banksim.architectures.occupancy import limits, occupancy, shared_of_block
from banksim.architectures.time_figures import Figures, Numbers
from banksim.kernels.kernel import Kernel
from banksim.machine import codes
from banksim.machine.faults import Stop
from banksim.machine.launch import Launch
from banksim.machine.llvm.compile import Compiled
from banksim.machine.llvm.worker import ClusterMemory, Worker, bank_rules
from banksim.system.bundles import Words
from banksim.timing import data_stage, issue_loop, issue_records, shared_memory_path
from banksim.timing.asynchronous import forget, new_behind
from banksim.timing.between_blocks import new_between
from banksim.timing.constant_caches import new_constants
from banksim.timing.control_fields import SCOREBOARDS
from banksim.timing.global_memory import GlobalMemory, busy, new_memory, sent_by
from banksim.timing.instruction_caches import SUB_CORES, new_caches
from banksim.timing.issue_table import PIPES, code_table
from banksim.timing.published_pipes import at_published_rates
from banksim.timing.same_lines import NEVER, remember
from banksim.timing.scoreboards import Waiting, new_waiting
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


@lru_cache(maxsize=256)
def table_of(kernel: Kernel) -> npt.NDArray[np.void]:
    """Nobody writes to it: a kernel has it for all its launches."""
    return at_published_rates(code_table(kernel), kernel)


STEP = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


def shared_bytes(launch: Launch) -> int:
    """What a block takes of the shared memory of its multiprocessor."""
    return shared_of_block(launch.shared_bytes - launch.kernel.shared_base, limits(launch.kernel.arch))


MOST_FREELY = 132 << 10
"""Bytes of shared memory that a multiprocessor is set to have for more blocks than are resident, at most."""
DOUBLED = 512
"""Threads of a block, up to which it is set to hold twice as many of them as are resident."""


def shared_size(arch: str | Architecture, threads: int, registers: int, shared: int) -> int:
    """Bytes of shared memory that the driver sets a multiprocessor to, for blocks with so many bytes each, where the
    program does not say: the smallest size that holds the resident blocks or, if 132 KB or less do, twice as many, up
    to 32. So it was for all but one of 154 kinds of blocks that were tried on one H200 (h200_meetings.json: 128 threads
    with 1,056 bytes got 32 KB, not 64; between 512 and 1,024 threads it is assumed, and for other GPUs)."""
    known, held = limits(arch), occupancy(arch, threads, registers, shared)
    others = min(count for what, count in held.by.items() if what != "shared memory")
    freely = min(2 * others, known.blocks) if threads <= DOUBLED else others

    def size(blocks: int) -> int:
        needed = blocks * shared_of_block(shared, known)
        return next((size for size in known.carveouts if size >= needed), known.shared)

    return max(size(held.blocks), min(size(freely), MOST_FREELY))


def l1_bytes(launch: Launch, figures: Figures) -> int:
    """What the L1 cache has of the memory that it shares with the shared memory."""
    kernel = launch.kernel
    shared = launch.shared_bytes - kernel.shared_base
    return figures.l1_and_shared - shared_size(kernel.arch, launch.threads, kernel.registers, shared)


def between_first(numbers: Numbers, warps: int) -> int:
    """Cycles between the begins of blocks that a multiprocessor is given at first."""
    return max(numbers.first, warps * numbers.first_warp)


def numbers_of_warps(warps: int, given: int) -> npt.NDArray[np.int64]:
    """Which warps of a block are in its places, each fourth of one sub-core, if so many blocks were given before: the
    first is on the sub-core behind that of the block before where it were on the same (h200_cores.json: slots)."""
    places = np.arange(warps)
    if warps % SUB_CORES:
        return places
    within = places % SUB_CORES
    return places - within + (within - given) % SUB_CORES


class One:
    """One multiprocessor, for the blocks of one rank of their clusters (0 where there are none), with a place for each
    of its workers. `others`: another of those for the same clusters. `memory`: `new_memory`
    but for the path's rows, the L1's bytes and whether blocks have shared memory. `code_kept` as for `Simulation`."""

    def __init__(
        self,
        figures: Figures,
        numbers: Numbers,
        workers: Sequence[Worker],
        rank: int,
        others: One | None,
        memory: Callable[..., GlobalMemory],
        code_kept: bool,
    ) -> None:
        launch, places = workers[0].launch, len(workers)
        self.launch, self.workers, self.begins, self.first = launch, workers, [0] * places, rank * places
        self.taken = 0  # of shared memory: where the next block's begins; those that follow others go on behind them
        self.given, self.between_warps = 0, numbers.begin
        between = new_between(figures, rank, launch.cluster_blocks, others.path.between if others else None)
        l1 = l1_bytes(launch, figures)
        behind_path = memory(shared_memory_path.REQUESTS, l1, shared=launch.shared_bytes > launch.kernel.shared_base)
        self.path: shared_memory_path.Path = shared_memory_path.new_path(behind_path, between)
        count = places * launch.warps
        shared_by_all = others.waiting.behind if others else None
        behind = new_behind(count, places, launch.shared_reach, launch.cluster_blocks, shared_by_all)
        self.waiting: Waiting = new_waiting(count, SCOREBOARDS, behind)
        self.sm: issue_records.Multiprocessor = issue_records.Multiprocessor(
            code=table_of(launch.kernel),
            warps=np.zeros(count, issue_records.RESIDENT_WARP),
            pipes=np.zeros((SUB_CORES, len(PIPES)), np.int64),
            ahead=np.zeros((count, issue_records.BEHIND_BARRIER), np.int64),
            halves=np.zeros(SUB_CORES, np.int64),
            latest=np.full(SUB_CORES, -100, np.int64),
            asked=np.full(SUB_CORES, -100, np.int64),
            reading=np.zeros(SUB_CORES, np.int64),
            held=np.zeros(SUB_CORES, np.int64),
            banks=np.zeros((SUB_CORES, 2), np.int64),
            caches=new_caches(len(launch.kernel.instructions), numbers, code_kept),
            constants=new_constants(launch, numbers),
            busy=np.zeros((SUB_CORES, len(PIPES) + 1), np.int64),
            served=np.zeros(3, np.int64),
            spent=np.zeros(len(launch.kernel.instructions), issue_records.SPENT),
            classes=np.zeros((count, SCOREBOARDS), np.int64),
            shared=np.array([0] * places + [max(figures.l1_and_shared - l1, 1)]),
            clock=np.array([0, 1_000_000 // figures.clock_mhz, 0, 1 << 60]),
            stop=np.zeros(1, np.uint32),
            ideal=np.zeros(1, np.bool_),
            constant=np.zeros(1, np.bool_),
        )
        self.sm.warps["state"], self.sm.warps["barrier"] = issue_records.DONE, -1
        self.sm.warps["place"] = self.first + np.arange(count) // launch.warps
        self.sm.warps["core"] = np.arange(count) % SUB_CORES

    def begin(self, compiled: Compiled, place: int, block: int, now: int) -> None:
        """Put a block into a place; its warps begin with the first instruction in cycle `now`."""
        worker = self.workers[place]
        context = worker.context.ctypes.data
        compiled.begin(context, block)
        self.begins[place] = now
        step_warp = STEP(compiled.step)
        own = slice(place * self.launch.warps, (place + 1) * self.launch.warps)
        forget(self.waiting.behind, self.first + place, own)
        warps = self.sm.warps[own]
        warps["number"] = numbers_of_warps(self.launch.warps, self.given)
        warps["context"], warps["record"] = context, worker.warps.ctypes.data + warps["number"] * worker.warp_size
        for record in warps["record"].tolist():
            step_warp(context, record)  # this chooses the group of threads that runs
        warps["state"], warps["next"], warps["previous"] = issue_records.READY, 0, -1
        warps["ready"] = now + self.between_warps * warps["number"]
        warps["issued"], warps["age"] = now - 1, self.given
        self.given += 1
        warps["turn"], warps["released"], warps["barrier"], warps["refused"], warps["awaits"] = -1, -1, -1, 0, -1
        warps["executed"] = warps["crowded"] = warps["lacked"] = warps["accessed"] = 0
        self.waiting.wake[own] = self.waiting.soon[:] = 0
        self.sm.shared[place], self.taken = self.taken, (self.taken + shared_bytes(self.launch)) % self.sm.shared[-1]

    def end(self, now: int) -> None:
        """Let all warps count as ended."""
        running = self.sm.warps["state"] != issue_records.DONE
        self.sm.warps["ended"][running], self.sm.warps["state"][running] = now, issue_records.DONE

    def ended(self, place: int) -> bool:
        rows = self.sm.warps["place"] == self.first + place
        return bool((self.sm.warps["state"][rows] == issue_records.DONE).all())

    def timed(self, place: int) -> TimedBlock:
        rows = np.sort(self.sm.warps[self.sm.warps["place"] == self.first + place], order="number")
        number = int(self.workers[place].context[0]["block"])
        self.workers[place].context[0]["blocks_done"] += 1
        ended, executed, crowded = (tuple(map(int, rows[name])) for name in ("ended", "executed", "crowded"))
        return TimedBlock(number, self.begins[place], max(ended), ended, executed, crowded)

    def stopped(self, code: int) -> Stop:
        if code == codes.LIMIT:
            running = np.flatnonzero(self.sm.warps["state"] != issue_records.DONE)
            last = self.sm.warps[running[np.argmax(self.sm.warps["issued"][running])]]
            worker = self.workers[int(last["place"]) - self.first]
            worker.error[0]["warp"] = last["number"]
            return worker.stopped(code)
        bad = next((w for w in self.workers if w.error[0]["code"]), self.workers[0])
        return bad.stopped(code)


class Simulation:
    """One multiprocessor with room for `resident` blocks of a launch; of a launch of clusters, one for each block of a
    cluster. `seen`: of each, to which lines another has added (`SameLines.added`). `at_most`: warp instructions after
    which the blocks count as ended. `noted`: how many lines that the L2 is asked for are remembered. `cold`: arrays of
    which no cache has anything (COLD_ARRAY). `code_kept`: whether the instruction caches have what the last launch of
    the kernel left there. `active`: how many multiprocessors have work; all that have a block, unless it is told."""

    def __init__(
        self,
        launch: Launch,
        compiled: Compiled,
        architectures: Sequence[Architecture],
        figures: Figures,
        resident: int,
        *,
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
        rules = bank_rules(architectures, compiled)
        self.launch, self.compiled = launch, compiled
        self.active = active = active or min(launch.blocks, figures.multiprocessors)
        self.multiprocessors = figures.multiprocessors
        self.numbers = figures.numbers(global_latency, active)
        self.stop_word = np.zeros(1, np.uint32)
        clusters = [ClusterMemory(launch, launch.cluster_blocks) for _ in range(resident)]
        self.each: list[One] = []
        memory = partial(new_memory, known=figures, active=active, noted=noted, cold=cold)
        for rank in range(launch.cluster_blocks):
            workers = [Worker(launch, compiled, *rules, 1 << 60, self.stop_word) for _ in range(resident)]
            for worker, cluster in zip(workers, clusters, strict=True):
                worker.join(cluster, rank)
            others = self.each[0] if self.each else None
            one = One(figures, self.numbers, workers, rank, others, memory, code_kept)
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

    def run(self, clusters: Sequence[Sequence[int]]) -> Simulated:
        """Simulate blocks, by clusters, as many at a time as are resident; the next takes the place of one that has
        ended."""
        began = time.perf_counter()
        queue, done, stop = deque(clusters), [], None
        running = set(range(min(len(self.each[0].workers), len(clusters))))
        for place in running:
            self.begin(place, queue.popleft(), place * between_first(self.numbers, self.launch.warps))
        numbers, given = self.numbers, 0
        while running:
            stop = self.until_one_ends()
            if stop and stop.code == codes.LIMIT and self.at_most is not None:
                stop = None
                queue.clear()
                for one in self.each:
                    one.end(self.now())
            if stop:
                break
            for place in [p for p in running if all(one.ended(p) for one in self.each)]:  # several may in one cycle
                done += [one.timed(place) for one in self.each]
                if queue:
                    given = max(self.now() + numbers.replace, given + numbers.apart_blocks)
                    self.begin(place, queue.popleft(), given)
                else:
                    running.remove(place)
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
            held=len(self.each[0].workers),
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
        held = len(self.each[0].workers)
        last, before = begins[3 * held :], begins[2 * held : len(begins) - held]
        return float(np.mean(last) - np.mean(before)) / held if last else None

    def begin(self, place: int, cluster: Sequence[int], now: int) -> None:
        for one, block in zip(self.each, cluster, strict=True):
            one.begin(self.compiled, place, block, now)

    def now(self) -> int:
        return max(int(one.sm.clock[issue_records.CYCLE]) for one in self.each)

    def until_one_ends(self) -> Stop | None:
        """Simulate until a block has ended."""
        for one in self.each if self.allowance is not None else ():
            one.sm.clock[issue_records.ALLOWED] = one.sm.clock[issue_records.ISSUED] + self.allowance
        which, answer = divmod(int(issue_loop.run(self.places, self.compiled.step)), 256)
        return self.each[which].stopped(answer - codes.FAULT) if answer >= codes.FAULT else None


def summed(records: Sequence[npt.NDArray[np.void]]) -> npt.NDArray[np.void]:
    """The sums of records of numbers, field by field."""
    total = records[0].copy()
    for name in total.dtype.names or ():
        total[name] = np.sum([one[name] for one in records], axis=0)
    return total
