"""One multiprocessor: the state of all that it has, and the blocks that are resident on it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache

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
from banksim.machine.llvm.worker import Worker
from banksim.timing import issue_records, path_records
from banksim.timing.asynchronous import forget, new_behind
from banksim.timing.between_blocks import new_between
from banksim.timing.constant_caches import new_constants
from banksim.timing.control_fields import SCOREBOARDS
from banksim.timing.global_memory import GlobalMemory
from banksim.timing.instruction_caches import SUB_CORES, new_caches
from banksim.timing.issue_table import PIPES, code_table
from banksim.timing.operand_collector import LATCHES, SOURCES
from banksim.timing.published_pipes import at_published_rates
from banksim.timing.register_reads import RECENT
from banksim.timing.room import Room, cores_of_warps, slots_for
from banksim.timing.scoreboards import Waiting, new_waiting
from banksim.timing.spent_cycles import TimedBlock

NOWHERE = -1
"""The place of a slot that no block has."""


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


class One:
    """One multiprocessor, for the blocks of one rank of their clusters (0 where there are none). Its places have
    workers once they are used. `others`: another of those for the same clusters. `memory`: `new_memory` but for the
    path's rows, the L1's bytes and whether blocks have shared memory. `code_kept` as for `Simulation`."""

    def __init__(
        self,
        figures: Figures,
        numbers: Numbers,
        room: Room,
        rank: int,
        others: One | None,
        memory: Callable[..., GlobalMemory],
        code_kept: bool,
    ) -> None:
        launch, places, slots = room
        self.launch, self.begins, self.first = launch, [0] * places, rank * places
        self.workers: list[Worker] = []
        self.exited = np.zeros((places, launch.warps), issue_records.RESIDENT_WARP)
        self.taken = 0  # of shared memory: where the next block's begins; those that follow others go on behind them
        self.given, self.between_warps = 0, numbers.begin
        between = new_between(figures, rank, launch.cluster_blocks, others.path.between if others else None)
        l1 = l1_bytes(launch, figures)
        behind_path = memory(path_records.REQUESTS, l1, shared=launch.shared_bytes > launch.kernel.shared_base)
        self.path: path_records.Path = path_records.new_path(behind_path, between)
        shared_by_all = others.waiting.behind if others else None
        behind = new_behind(slots, places, launch.shared_reach, launch.cluster_blocks, shared_by_all)
        self.waiting: Waiting = new_waiting(slots, SCOREBOARDS, behind)
        self.sm: issue_records.Multiprocessor = issue_records.Multiprocessor(
            code=table_of(launch.kernel),
            warps=np.zeros(slots, issue_records.RESIDENT_WARP),
            pipes=np.zeros((SUB_CORES, len(PIPES)), np.int64),
            ahead=np.zeros((slots, issue_records.BEHIND_BARRIER), np.int64),
            wide=np.full((SUB_CORES, 2), -100, np.int64),
            latest=np.full(SUB_CORES, -100, np.int64),
            turns=np.zeros((SUB_CORES, 3), np.int64),
            unseen=np.zeros((SUB_CORES, issue_records.RING, 3), np.int64),
            asked=np.full(SUB_CORES, -100, np.int64),
            reading=np.zeros(SUB_CORES, np.int64),
            held=np.zeros(SUB_CORES, np.int64),
            recent=np.full((slots, RECENT), -100, np.int64),
            collectors=np.zeros((SUB_CORES, LATCHES + 2 * SOURCES), np.int64),
            caches=new_caches(len(launch.kernel.instructions), numbers, code_kept),
            constants=new_constants(launch, numbers),
            busy=np.zeros((SUB_CORES, len(PIPES) + 1), np.int64),
            served=np.zeros(3, np.int64),
            spent=np.zeros(len(launch.kernel.instructions), issue_records.SPENT),
            classes=np.zeros((slots, SCOREBOARDS), np.int64),
            shared=np.array([0] * places + [max(figures.l1_and_shared - l1, 1)]),
            clock=np.array([0, 1_000_000 // figures.clock_mhz, 0, 1 << 60]),
            stop=np.zeros(1, np.uint32),
            ideal=np.zeros(1, np.bool_),
            constant=np.zeros(1, np.bool_),
        )
        self.sm.warps["state"], self.sm.warps["barrier"] = issue_records.DONE, -1
        self.sm.warps["place"] = NOWHERE
        self.sm.warps["core"] = np.arange(slots) % SUB_CORES

    def slots_for_next(self) -> npt.NDArray[np.int64] | None:
        """Slots for the warps of the next block, if there are enough."""
        free = self.sm.warps["state"] == issue_records.DONE
        return slots_for(cores_of_warps(self.launch.warps, self.given), free)

    def begin(self, compiled: Compiled, place: int, block: int, own: npt.NDArray[np.int64], now: int) -> None:
        """Put a block into a place, its warps into slots of `own`; they begin with the first instruction in cycle
        `now`."""
        self.leave(own)
        worker = self.workers[place]
        context = worker.context.ctypes.data
        compiled.begin(context, block)
        self.begins[place] = now
        step_warp = STEP(compiled.step)
        forget(self.waiting.behind, self.first + place, own)
        warps = self.sm.warps[own]
        warps["place"], warps["number"] = self.first + place, np.arange(len(own))
        warps["context"], warps["record"] = context, worker.warps.ctypes.data + warps["number"] * worker.warp_size
        for record in warps["record"].tolist():
            step_warp(context, record)  # this chooses the group of threads that runs
        warps["state"], warps["next"], warps["previous"] = issue_records.READY, 0, -1
        warps["ready"] = now + self.between_warps * warps["number"]
        warps["issued"], warps["age"] = now - 1, self.given
        self.given += 1
        warps["issues"], warps["seen"] = 0, 0
        warps["turn"], warps["released"], warps["barrier"], warps["refused"], warps["awaits"] = -1, -1, -1, 0, -1
        warps["executed"] = warps["crowded"] = warps["lacked"] = warps["accessed"] = 0
        self.sm.warps[own] = warps
        self.waiting.wake[own] = self.waiting.soon[:] = 0
        self.sm.shared[place], self.taken = self.taken, (self.taken + shared_bytes(self.launch)) % self.sm.shared[-1]

    def end(self, now: int) -> None:
        """Let all warps count as ended."""
        running = self.sm.warps["state"] != issue_records.DONE
        self.sm.warps["ended"][running], self.sm.warps["state"][running] = now, issue_records.DONE

    def ended(self, place: int) -> bool:
        rows = self.sm.warps["place"] == self.first + place
        return bool((self.sm.warps["state"][rows] == issue_records.DONE).all())

    def leave(self, slots: npt.NDArray[np.int64]) -> None:
        """Keep what is known of warps that have exited, and take their slots from them."""
        before = self.sm.warps[slots]
        before = before[before["place"] != NOWHERE]
        self.exited[before["place"] - self.first, before["number"]] = before
        self.sm.warps["place"][slots] = NOWHERE

    def timed(self, place: int) -> TimedBlock:
        self.leave(np.flatnonzero(self.sm.warps["place"] == self.first + place))
        rows = self.exited[place]
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
