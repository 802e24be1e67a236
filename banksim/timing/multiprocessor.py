"""Blocks that are resident together on one multiprocessor, simulated cycle by cycle."""

from __future__ import annotations

import ctypes
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import Architecture
from banksim.architectures.latencies import Figures, Numbers
from banksim.architectures.occupancy import limits
from banksim.machine import codes
from banksim.machine.faults import Stop
from banksim.machine.launch import Launch
from banksim.machine.llvm.compile import Compiled
from banksim.machine.llvm.workers import Worker, bank_rules
from banksim.timing import issue_loop, issue_records, shared_memory_path
from banksim.timing.asynchronous import forget
from banksim.timing.control_fields import SCOREBOARDS
from banksim.timing.global_memory import costs_of
from banksim.timing.instruction_caches import new_caches
from banksim.timing.issue_table import PIPES, code_table
from banksim.timing.spent_cycles import TimedBlock


@dataclass
class Simulated:
    """What was simulated: `spent` by instruction (dtype issue_records.SPENT), the blocks that finished, cycles in all,
    warp instructions; `busy` (sub-core, pipe, then one: instructions issued), cycles each; requests to shared memory
    and their transactions; cycles that global memory `beyond` the L1 was busy; cycles of warps that rest
    on `assumed` latencies; the `workers` that hold what was counted; `stop` if it ended early."""

    spent: npt.NDArray[np.void]
    blocks: list[TimedBlock]
    cycles: int
    instructions: int
    busy: npt.NDArray[np.int64]
    requests: int
    transactions: int
    beyond: int
    assumed: int
    seconds: float
    workers: list[Worker]
    stop: Stop | None


L1_AND_SHARED = 256 << 10
"""Bytes of the memory of a multiprocessor that is both, of compute capability 9.0 (CUDA programming guide)."""
ALLOWANCE = 1 << 25
"""Without a limit of the user's: if no block has ended after so many warp instructions for each sub-core that has a
warp, they are taken for an endless loop. That takes less than a minute."""


def l1_bytes(launch: Launch, resident: int) -> int:
    """What the L1 cache has of the memory that it shares with the shared memory of the resident blocks."""
    known = limits(launch.kernel.arch)
    needed = resident * (launch.shared_bytes - launch.kernel.shared_base + known.reserved)
    taken = next((size for size in known.carveouts if size >= needed), known.shared)
    return L1_AND_SHARED - taken


def between_first(numbers: Numbers, warps: int) -> int:
    """Cycles between the begins of blocks that a multiprocessor is given at first."""
    return max(numbers.first, warps * numbers.first_warp)


class Simulation:
    """One multiprocessor with room for `resident` blocks of a launch."""

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
    ) -> None:
        rules = bank_rules(architectures, compiled)
        self.launch, self.compiled = launch, compiled
        active = min(launch.blocks, figures.multiprocessors)
        self.numbers = figures.numbers(global_latency, active)
        self.stop_word = np.zeros(1, np.uint32)
        self.workers = [Worker(launch, compiled, *rules, 1 << 60, self.stop_word) for _ in range(resident)]
        self.path = shared_memory_path.new_path(l1_bytes(launch, resident), costs_of(figures, active))
        count = resident * launch.warps
        self.waiting = shared_memory_path.new_waiting(count, SCOREBOARDS, resident, launch.shared_reach)
        members = np.full((shared_memory_path.SUB_CORES, -(-count // shared_memory_path.SUB_CORES)), -1, np.int64)
        for w in range(count):
            members[w % shared_memory_path.SUB_CORES, w // shared_memory_path.SUB_CORES] = w
        self.sm = issue_records.Multiprocessor(
            code=code_table(launch.kernel),
            warps=np.zeros(count, issue_records.RESIDENT_WARP),
            members=members,
            pipes=np.zeros((shared_memory_path.SUB_CORES, len(PIPES)), np.int64),
            banks=np.zeros((shared_memory_path.SUB_CORES, 2), np.int64),
            caches=new_caches(len(launch.kernel.instructions), self.numbers),
            busy=np.zeros((shared_memory_path.SUB_CORES, len(PIPES) + 1), np.int64),
            served=np.zeros(3, np.int64),
            spent=np.zeros(len(launch.kernel.instructions), issue_records.SPENT),
            classes=np.zeros((count, SCOREBOARDS), np.int64),
            clock=np.array([0, 1_000_000 // figures.clock_mhz, 0, max_instructions or 1 << 60]),
            stop=self.stop_word,
            ideal=np.array([ideal]),
            constant=np.array([global_latency is not None]),
        )
        self.sm.warps["state"] = issue_records.DONE
        self.sm.warps["place"] = np.arange(count) // launch.warps
        self.sm.warps["number"] = np.arange(count) % launch.warps
        self.sm.warps["core"] = np.arange(count) % shared_memory_path.SUB_CORES
        self.allowance = ALLOWANCE * min(count, shared_memory_path.SUB_CORES) if max_instructions is None else None
        self.begins = [0] * resident
        self.step_warp = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(compiled.step)

    @property
    def issued(self) -> int:
        """Warp instructions issued so far."""
        return int(self.sm.clock[issue_records.ISSUED])

    def begin(self, place: int, block: int, now: int) -> None:
        """Put a block into a place; its warps begin with the first instruction in cycle `now`."""
        worker = self.workers[place]
        context = worker.context.ctypes.data
        self.compiled.begin(context, block)
        self.begins[place] = now
        forget(self.waiting.behind, place, slice(place * self.launch.warps, (place + 1) * self.launch.warps))
        for w in range(place * self.launch.warps, (place + 1) * self.launch.warps):
            warp = self.sm.warps[w]
            warp["context"], warp["record"] = context, worker.warps.ctypes.data + int(warp["number"]) * worker.warp_size
            self.step_warp(context, int(warp["record"]))  # this chooses the group of threads that runs
            warp["state"], warp["next"], warp["previous"] = issue_records.READY, 0, -1
            warp["issued"], warp["arrived"] = now - 1, now
            warp["ready"], warp["blocked"], warp["released"], warp["refused"] = now, -1, -1, 0
            warp["awaits"] = -1
            self.waiting.wake[w] = now

    def run(self, blocks: Sequence[int]) -> Simulated:
        """Simulate blocks, as many at a time as are resident; the next takes the place of one that has ended."""
        began = time.perf_counter()
        queue, done, stop = deque(blocks), [], None
        running = set(range(min(len(self.workers), len(blocks))))
        for place in running:
            self.begin(place, queue.popleft(), place * between_first(self.numbers, self.launch.warps))
        numbers, figures, given = self.numbers, self.numbers.record(), 0
        while running:
            if self.allowance is not None:
                self.sm.clock[issue_records.ALLOWED] = self.issued + self.allowance
            answer = issue_loop.run(self.sm, self.path, self.waiting, figures, self.compiled.step)
            if answer >= codes.FAULT:
                stop = self.stopped(answer - codes.FAULT)
                break
            for place in [place for place in running if self.ended(place)]:  # some may have ended in the same cycle
                done.append(self.timed(place))
                if queue:
                    given = max(int(self.sm.clock[issue_records.CYCLE]) + numbers.replace, given + numbers.apart_blocks)
                    self.begin(place, queue.popleft(), given)
                else:
                    running.remove(place)
        return Simulated(
            spent=self.sm.spent,
            blocks=done,
            cycles=max((b.end for b in done), default=0),
            instructions=int(self.sm.clock[issue_records.ISSUED]),
            busy=self.sm.busy,
            requests=int(self.sm.served[0]),
            transactions=int(self.sm.served[1]),
            assumed=int(self.sm.served[2]),
            beyond=int(self.path.memory.busy.max()) // 100,
            seconds=time.perf_counter() - began,
            workers=self.workers,
            stop=stop,
        )

    def ended(self, place: int) -> bool:
        rows = self.sm.warps["place"] == place
        return bool((self.sm.warps["state"][rows] == issue_records.DONE).all())

    def timed(self, place: int) -> TimedBlock:
        rows = self.sm.warps[self.sm.warps["place"] == place]
        number = int(self.workers[place].context[0]["block"])
        self.workers[place].context[0]["blocks_done"] += 1
        return TimedBlock(number, self.begins[place], int(rows["ended"].max()), tuple(map(int, rows["ended"])))

    def stopped(self, code: int) -> Stop:
        if code == codes.LIMIT:
            running = np.flatnonzero(self.sm.warps["state"] != issue_records.DONE)
            last = self.sm.warps[running[np.argmax(self.sm.warps["issued"][running])]]
            worker = self.workers[int(last["place"])]
            worker.error[0]["warp"] = last["number"]
            return worker.stopped(code)
        bad = next((w for w in self.workers if w.error[0]["code"]), self.workers[0])
        return bad.stopped(code)
