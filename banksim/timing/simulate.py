"""A launch, timed: blocks that are resident together on one multiprocessor, cycle by cycle."""

from __future__ import annotations

import ctypes
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from banksim.arch import Architecture
from banksim.sass import state
from banksim.sass.execute import Stop, Worker, bank_rules
from banksim.sass.launch import Launch
from banksim.sass.llvm.codegen import Compiled
from banksim.timing import core, memory
from banksim.timing.controls import SCOREBOARDS
from banksim.timing.cycles import TimedBlock
from banksim.timing.figures import Figures
from banksim.timing.front import PIPES, code_table


@dataclass
class Outcome:
    """What was simulated: `spent` by instruction (dtype core.SPENT), the blocks that finished, cycles in all, warp
    instructions; `busy` (sub-core, pipe, then one: instructions issued), cycles each; requests to shared memory and
    their transactions; the `workers` that hold what was counted; `stop` if it ended early."""

    spent: npt.NDArray[np.void]
    blocks: list[TimedBlock]
    cycles: int
    instructions: int
    busy: npt.NDArray[np.int64]
    requests: int
    transactions: int
    seconds: float
    workers: list[Worker]
    stop: Stop | None


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
        rules = bank_rules(architectures)
        self.launch, self.compiled = launch, compiled
        self.numbers = figures.numbers(global_latency)
        self.stop_word = np.zeros(1, np.uint32)
        self.workers = [Worker(launch, compiled, *rules, 1 << 60, self.stop_word) for _ in range(resident)]
        self.path = memory.new_path()
        count = resident * launch.warps
        self.waiting = memory.new_waiting(count, SCOREBOARDS)
        members = np.full((memory.SUB_CORES, -(-count // memory.SUB_CORES)), -1, np.int64)
        for w in range(count):
            members[w % memory.SUB_CORES, w // memory.SUB_CORES] = w
        self.sm = core.Multiprocessor(
            code=code_table(launch.kernel),
            warps=np.zeros(count, core.WARP),
            members=members,
            pipes=np.zeros((memory.SUB_CORES, len(PIPES)), np.int64),
            busy=np.zeros((memory.SUB_CORES, len(PIPES) + 1), np.int64),
            served=np.zeros(2, np.int64),
            spent=np.zeros(len(launch.kernel.instructions), core.SPENT),
            classes=np.zeros((count, SCOREBOARDS), np.int64),
            clock=np.array([0, 1_000_000 // figures.clock_mhz, 0, max_instructions or 1 << 60]),
            stop=self.stop_word,
            ideal=np.array([ideal]),
        )
        self.sm.warps["state"] = core.DONE
        self.sm.warps["place"] = np.arange(count) // launch.warps
        self.sm.warps["number"] = np.arange(count) % launch.warps
        self.sm.warps["core"] = np.arange(count) % memory.SUB_CORES
        self.begins = [0] * resident
        self.step_warp = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(compiled.step)

    @property
    def issued(self) -> int:
        """Warp instructions so far."""
        return int(self.sm.clock[core.ISSUED])

    def begin(self, place: int, block: int) -> None:
        """Put a block in a place: its warps find themselves at the first instruction, now."""
        worker, now = self.workers[place], int(self.sm.clock[core.CYCLE])
        context = worker.context.ctypes.data
        self.compiled.begin(context, block)
        self.begins[place] = now
        for w in range(place * self.launch.warps, (place + 1) * self.launch.warps):
            warp = self.sm.warps[w]
            warp["context"], warp["record"] = context, worker.warps.ctypes.data + int(warp["number"]) * worker.warp_size
            self.step_warp(context, int(warp["record"]))  # chooses the group that runs
            warp["state"], warp["next"], warp["previous"] = core.READY, 0, -1
            warp["issued"], warp["early"] = now - 1, -1
            warp["ready"], warp["blocked"], warp["released"], warp["refused"] = now, -1, -1, 0
            self.waiting.wake[w] = now

    def run(self, blocks: Sequence[int]) -> Outcome:
        """Simulate blocks, as many at a time as are resident; the next takes the place of one that has ended."""
        began = time.perf_counter()
        queue, done, stop = deque(blocks), [], None
        for place in range(min(len(self.workers), len(queue))):
            self.begin(place, queue.popleft())
        running = min(len(self.workers), len(blocks))
        while running:
            answer = core.run(self.sm, self.path, self.waiting, self.numbers, self.compiled.step)
            if answer >= state.FAULT:
                stop = self.stopped(answer - state.FAULT)
                break
            place = -1 - answer
            done.append(self.timed(place))
            if queue:
                self.begin(place, queue.popleft())
            else:
                running -= 1
        return Outcome(
            spent=self.sm.spent,
            blocks=done,
            cycles=max((b.end for b in done), default=0),
            instructions=int(self.sm.clock[core.ISSUED]),
            busy=self.sm.busy,
            requests=int(self.sm.served[0]),
            transactions=int(self.sm.served[1]),
            seconds=time.perf_counter() - began,
            workers=self.workers,
            stop=stop,
        )

    def timed(self, place: int) -> TimedBlock:
        rows = self.sm.warps[self.sm.warps["place"] == place]
        number = int(self.workers[place].context[0]["block"])
        self.workers[place].context[0]["blocks_done"] += 1
        return TimedBlock(number, self.begins[place], int(rows["ended"].max()), tuple(map(int, rows["ended"])))

    def stopped(self, code: int) -> Stop:
        bad = next((w for w in self.workers if w.error[0]["code"]), self.workers[0])
        return bad.stopped(code)
