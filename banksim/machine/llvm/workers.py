"""Running a launch on the LLVM engine: workers, their memory, and what they counted."""

from __future__ import annotations

import ctypes
import mmap
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import Architecture
from banksim.errors import UnsupportedError
from banksim.kernels.kernel import BYTES
from banksim.machine import codes, state
from banksim.machine.doubts import add
from banksim.machine.faults import Stop, told
from banksim.machine.launch import Dim3, Launch
from banksim.machine.launch_constants import written
from banksim.machine.llvm.chunks import in_chunks
from banksim.machine.llvm.compile import Compiled
from banksim.machine.llvm.counts import Array, Counts, merged
from banksim.machine.llvm.driver_callbacks import Server
from banksim.machine.llvm.host_threads import in_threads
from banksim.machine.llvm.joining import may_join
from banksim.machine.llvm.scratch import MET, SCRATCH_BYTES
from banksim.machine.llvm.trace_callbacks import Collector, Sink
from banksim.machine.program_memory import places
from banksim.machine.races.findings import by_lines, first_hint
from banksim.machine.races.probe import Probe
from banksim.machine.state import CLUSTER, CONTEXT, ERROR, MEMO, REGISTERS, TALLY, WARP, aligned
from banksim.requests.kinds import LANES, OP_CODES
from banksim.system.processes import cores

if TYPE_CHECKING:
    from banksim.machine.races.watcher import Watcher

SMALL = 1 << 15
"""Threads of a launch below which a second worker costs more than it brings, unless it lasts: others then join."""
KEPT = 1 << 20
"""Bytes of a worker that is kept for another launch, at most."""


def bank_rules(architectures: Sequence[Architecture], compiled: Compiled) -> tuple[npt.NDArray[np.int64], int]:
    """What a `Worker` judges a kernel's requests by: `rule_words` of each architecture, and a period that suits all."""
    from banksim.banks.compiled.rule_words import rule_words

    if not architectures:
        return np.zeros((0, 0), np.int64), 1
    ops = tuple(sorted({op for _, op, _ in compiled.sites}))
    rules = np.ascontiguousarray([rule_words(a, ops) for a in architectures], np.int64)
    return rules, period_of(architectures)


def period_of(architectures: Sequence[Architecture]) -> int:
    return max((a.period for a in architectures), default=1)


class ClusterMemory:
    """What the workers share that run the blocks of one cluster: shared memory, which lies apart by rank, and the
    cluster's barrier."""

    def __init__(self, launch: Launch, size: int) -> None:
        self.size = size
        self.barrier = aligned(CLUSTER, 1)
        self.barrier[0]["threads"] = launch.threads * self.size
        if self.size == 1:
            self.shared = aligned(np.dtype(np.uint8), launch.shared_reach).view(np.uint8)
            return
        # Pages that are never touched take no memory.
        self.shared = np.frombuffer(mmap.mmap(-1, self.size << codes.RANK_BIT), np.uint8)

    def of(self, rank: int, size: int) -> npt.NDArray[np.uint8]:
        """The first `size` bytes of a block's shared memory."""
        return self.shared[rank << codes.RANK_BIT :][:size]


class Worker:
    """The memory with which one thread of the host runs blocks, one after the other."""

    def __init__(
        self,
        launch: Launch,
        compiled: Compiled,
        rules: npt.NDArray[np.int64],
        period: int,
        budget: int,
        stop: npt.NDArray[np.uint32],
        notes: Sequence[npt.NDArray[np.uint8]] = (),
    ) -> None:
        self.launch = launch
        self.warp_size = REGISTERS + 4 * LANES * launch.kernel.register_limit + compiled.spare
        sites, architectures = len(compiled.sites), len(rules)
        self.context = aligned(CONTEXT, 1)
        self.address = self.context.ctypes.data
        self.counters = np.zeros(max(compiled.counters, 1), np.int64)
        self.memos = aligned(MEMO, sites)
        self.tallies = aligned(TALLY, sites * architectures)
        self.error, self.stray = aligned(ERROR, 1), aligned(ERROR, 1)
        self.doubts = np.zeros(len(launch.kernel.instructions) + 1, np.uint8)
        byte = np.dtype(np.uint8)
        self.warps = aligned(byte, self.warp_size * launch.warps)
        self.template = warps_at_start(launch.block)
        at_start = self.template.view(np.uint8).reshape(launch.warps, -1)
        self.warps.reshape(-1, self.warp_size)[:, : WARP.itemsize] = at_start
        self.local = aligned(byte, launch.local_bytes * 32 * launch.warps)
        self.scratch = aligned(byte, SCRATCH_BYTES)
        self.rules, self.period = rules, period
        self.notes = np.array([one.ctypes.data for one in notes], np.uint64)
        for number, (_, op, width) in enumerate(compiled.sites):
            self.memos[number]["site"] = number
            self.memos[number]["op"], self.memos[number]["width"] = OP_CODES[op], width
        c = self.context[0]
        self.written = written(launch.kernel)
        c["written"] = self.written.ctypes.data
        for name in ("local", "counters", "memos", "tallies", "rules", "warps", "template", "doubts"):
            c[name] = getattr(self, name).ctypes.data
        c["scratch"] = self.scratch.ctypes.data
        c["error"], c["stray"] = self.error.ctypes.data, self.stray.ctypes.data
        if launch.pages:
            c["mapped"], c["mapped_start"] = launch.pages.mapped.ctypes.data, launch.pages.start
            c["mapped_pages"] = len(launch.pages.mapped)
        c["shared_size"], c["local_size"] = launch.shared_bytes, launch.local_bytes
        c["shared_reach"], c["shared_allocated"] = launch.shared_reach, launch.shared_allocated
        c["memo_count"], c["architectures"], c["period"] = sites, architectures, period
        c["rule_words"] = rules.shape[1]
        c["warp_count"], c["warp_size"], c["threads"] = launch.warps, self.warp_size, launch.threads
        c["notes"] = self.notes.ctypes.data if notes else 0
        c["turn_length"] = codes.TURN if launch.apart else codes.SHORT_TURN
        self.probe = Probe(launch, c)
        self.server = Server(launch, self.context, self.local, self.scratch, self.error, notes)
        self.join(ClusterMemory(launch, 1), 0)
        self.kept: object = None
        """What its code needs besides."""
        self.at_start: list[tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8] | int]] = []
        """What its blocks change, and its bytes before the first, where it is kept for another launch."""
        self.begin(launch, budget, stop)

    def begin(self, launch: Launch, budget: int, stop: npt.NDArray[np.uint32]) -> None:
        """From now on its blocks are of this launch, which differs from the one that it was made for in nothing but its
        grid, its constants and the contents and the places of its buffers."""
        for memory, content in self.at_start:
            memory[:] = content
        self.launch = launch
        c = self.context[0]
        for bank, content in launch.constants.items():
            c["constants"][bank], c["constant_sizes"][bank] = content.ctypes.data, content.nbytes
        self.scratch[MET:] = 0  # buffers may lie elsewhere
        self.buffers = places(launch.buffers)
        c["buffers"], c["buffer_count"] = self.buffers.ctypes.data, len(launch.buffers)
        self.touched = np.zeros(len(launch.buffers), np.uint8) if launch.touched is None else launch.touched
        c["touched"], c["stop"] = self.touched.ctypes.data, stop.ctypes.data
        c["grid"], c["budget"] = launch.grid, budget
        self.probe.begin(launch, c)
        if not len(self.rules):
            c["probed"] = 0
        self.server.begin(launch)

    def keep(self) -> None:
        """Remember how it is now, before its first block, so that it can begin another launch, unless that is much to
        keep. Of shared memory and the warps' registers each block makes its own."""
        zeros = [self.counters, self.tallies, self.error, self.stray, self.doubts, self.local, *self.probe.accesses]
        if sum(memory.nbytes for memory in (*zeros, self.warps, self.cluster.shared)) <= KEPT:
            others = (self.context, self.memos, self.probe.record, self.cluster.barrier)
            self.at_start = [(memory.view(np.uint8), 0) for memory in zeros]
            self.at_start += [(memory.view(np.uint8), memory.view(np.uint8).copy()) for memory in others]

    def join(self, cluster: ClusterMemory, rank: int) -> None:
        """From now on its blocks are of this rank in a cluster."""
        c, self.cluster = self.context[0], cluster
        c["shared"], c["own_shared"] = cluster.shared.ctypes.data, rank << codes.RANK_BIT
        c["cluster_blocks"], c["cluster"] = cluster.size, cluster.barrier.ctypes.data
        self.server.cluster = cluster.barrier
        self.server.shared = [cluster.of(n, self.launch.shared_bytes) for n in range(cluster.size)]

    def run(self, compiled: Compiled, first: int, last: int) -> int:
        return compiled.blocks(self.address, first, last)

    def stopped(self, code: int) -> Stop:
        error, warps = self.error[0].copy(), self.warp_records().copy()
        return Stop(code, int(self.context[0]["block"]), error, warps, self.server.message)

    def warp_records(self) -> Array:
        rows = self.warps.reshape(-1, self.warp_size)[:, : WARP.itemsize]
        return np.ascontiguousarray(rows).view(WARP).reshape(-1)


@lru_cache(maxsize=16)
def warps_at_start(block: Dim3) -> Array:
    """The records of a block's warps: one group at pc 0, of the threads that exist."""
    x, y, z = block
    thread = np.arange(-(-x * y * z // LANES) * LANES).reshape(-1, LANES)
    warps = aligned(WARP, len(thread))
    warps["live"] = warps["group_mask"][:, 0] = (thread < x * y * z) @ (1 << np.arange(LANES))
    warps["groups"], warps["group_wait"][:, 0], warps["index"] = 1, codes.READY, np.arange(len(warps))
    warps["thread"] = np.stack([thread % x, thread // x % y, thread // x // y], axis=1)
    warps["uniform_predicates"][:, 7], warps["predicates"][:, 7] = 1, 0xFFFFFFFF
    warps.flags.writeable = False
    return warps


def nothing(worker: Worker) -> None:
    """What makes ready no more than every worker has."""


def idle_workers(launch: Launch, compiled: Compiled, architectures: Sequence[Architecture]) -> list[Worker] | None:
    """The workers of an earlier launch of a program that can run this one's blocks too. None where none are kept."""
    if launch.kept is None:
        return None
    key = (id(compiled), launch.block, launch.dynamic_shared, launch.local_bytes, id(launch.pages), *architectures)
    kept: tuple[Compiled, list[Worker]] = launch.kept.setdefault(key, (compiled, []))
    return kept[1]


def execute(
    launch: Launch,
    compiled: Compiled,
    architectures: Sequence[Architecture],
    *,
    workers: int | None = None,
    max_instructions: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    trace: Sink | None = None,
    blocks: Sequence[int] | npt.NDArray[np.int64] | None = None,
    without: Collection[int] = (),
    notes: Sequence[npt.NDArray[np.uint8]] = (),
    checks: Collection[str] = (),
    prepare: Callable[[Worker], None] = nothing,
) -> Counts:
    """Run the blocks of a launch, all or those given (in ascending order), but those of the numbers `without`.
    `progress(blocks done, thread instructions)` is called about ten times a second; `trace` gets every request, in
    chunks, in no fixed order of blocks. `notes`: of each buffer, a byte for each of its own, in which is noted how it
    was used (`banksim.machine.separate_blocks`). `checks` are for code that was compiled `watched`. With no
    architecture nothing is judged, nor looked at for races. `prepare` makes ready what a worker's code needs besides.

    A KeyboardInterrupt ends the launch early; what finished is counted and `stop.code` is INTERRUPTED.
    """
    plain = launch.apart and not (notes or trace or checks or max_instructions is not None)
    idle = idle_workers(launch, compiled, architectures) if plain and prepare is nothing else None
    rules, period = (idle[0].rules, idle[0].period) if idle else bank_rules(architectures, compiled)
    blocks = range(launch.blocks) if blocks is None else blocks
    if not launch.apart and (len(blocks) < launch.blocks or (without and launch.cooperative)):
        kind = "cooperative launch" if launch.cooperative else "launch of clusters"
        raise UnsupportedError(f"{launch.kernel.plain_name}: a {kind} cannot be run in parts")
    size = launch.cluster_blocks
    pieces: Iterable[Sequence[int]] = (launch.blocks_of_cluster(n) for n in range(launch.blocks // size))
    if size > 1 and without:
        pieces = [cluster for cluster in pieces if cluster[0] not in without]
    if launch.cooperative:
        workers, pieces = 1, [[block for cluster in pieces for block in cluster]]
        size = launch.blocks
    spare = 0
    if workers is None:
        workers = most = min(cores(), len(blocks) // size)
        if launch.threads * len(blocks) < SMALL:
            workers = 1
            spare = most - 1 if launch.apart and may_join(launch.kernel, max_instructions, trace, checks) else 0
    if launch.apart:
        pieces = in_chunks(blocks, max(1, len(blocks) // (16 * workers)), without)
    budget = (max_instructions or 2**62) // (workers * size)
    stop_words = np.zeros(workers + spare, np.uint32)

    def member(n: int) -> Worker:
        try:
            worker = idle.pop() if idle else None
        except IndexError:  # another thread took it
            worker = None
        if worker:
            worker.begin(launch, budget, stop_words[n:])
        else:
            worker = Worker(launch, compiled, rules, period, budget, stop_words[n:], notes)
            if idle is not None:
                worker.keep()
        if max_instructions is None:
            worker.context[0]["allowance"] = state.OBSERVED_ALLOWANCE if trace or checks else state.ALLOWANCE
        return worker

    team = [member(n // size) for n in range(workers * size)]
    for n, worker in enumerate(team if launch.cluster_blocks > 1 else ()):
        if n % launch.cluster_blocks == 0:
            cluster = ClusterMemory(launch, launch.cluster_blocks)
        worker.join(cluster, n % launch.cluster_blocks)
    for worker in team:
        prepare(worker)
    lock = threading.Lock()
    collectors = [Collector(launch, compiled.sites, w.context, trace, lock) for w in team] if trace else []
    watchers = watch(launch, team, checks) if checks else []
    stops: list[tuple[int, Stop]] = []
    waiting, at = enumerate(pieces), [0] * len(stop_words)
    queue = threading.Lock()

    def work(n: int, own: Sequence[Worker]) -> None:
        """Run one piece after the other. At a fault those end that run later ones, and none is begun: the fault that is
        told is the first in order, however many run at once."""
        while True:
            with queue:
                at[n], piece = next(waiting, (0, ()))
                if not piece or stops:
                    return
            stop = own[0].stopped(codes.INTERRUPTED) if stop_words[n] else run_piece(own, piece, compiled)
            if stop:
                with queue:
                    stops.append((at[n], stop))
                    stop_words[np.array(at) > at[n]] = 1
                return

    def join(n: int) -> None:
        worker = member(n)
        prepare(worker)
        team.append(worker)
        work(n, [worker])

    began = time.perf_counter()
    works = [partial(work, n, team[n * size :][:size]) for n in range(workers)]
    later = [partial(join, n) for n in range(workers, workers + spare)]
    in_threads(works, stop_words, lambda: progress and progress(*progress_of(team, compiled)), later)
    seconds = time.perf_counter() - began
    real = [one for one in stops if one[1].code != codes.INTERRUPTED] or stops
    for worker in team:
        settle(worker)
    tell_stray(team)
    for collector in collectors:
        collector.close()
    for worker in team:
        worker.server.check()
    if idle is not None and not stops:
        idle += (worker for worker in team if worker.at_start)
    return Counts(
        counters=np.sum([w.counters for w in team], axis=0),
        tallies=merged([w.tallies for w in team]).reshape(len(compiled.sites), len(architectures)),
        blocks=sum(int(w.context[0]["blocks_done"]) for w in team),
        seconds=seconds,
        stop=min(real, key=lambda one: one[0], default=(0, None))[1],
        found=by_lines(one for watcher in watchers for one in watcher.found()) if watchers else (),
        lost=sum(watcher.lost for watcher in watchers),
        hint=first_hint(worker.probe.found() for worker in team),
        doubts=launch.doubts,
    )


def run_piece(team: Sequence[Worker], blocks: Sequence[int], compiled: Compiled) -> Stop | None:
    """Run blocks: on one worker one after the other; on several, those that wait for each other, each on its own."""
    if len(team) > 1:
        return run_together(team, blocks, compiled)
    code = team[0].run(compiled, blocks[0], blocks[-1] + 1)
    return team[0].stopped(code - codes.FAULT) if code else None


def run_together(team: Sequence[Worker], blocks: Sequence[int], compiled: Compiled) -> Stop | None:
    """Blocks that wait for each other in turn, each on a worker of its own."""
    for block, worker in zip(blocks, team, strict=True):
        compiled.begin(worker.context.ctypes.data, block)
    waiting = list(team)
    while waiting:
        answers = []
        for worker in waiting:
            answers.append(compiled.one_pass(worker.context.ctypes.data))
            if answers[-1] >= codes.FAULT:
                return worker.stopped(answers[-1] - codes.FAULT)
        if all(answer == codes.BLOCKED for answer in answers):
            return waiting[0].stopped(codes.BLOCK_DEADLOCK)
        waiting = [w for w, answer in zip(waiting, answers, strict=True) if answer != codes.DONE]
    return None


def watch(launch: Launch, team: Sequence[Worker], checks: Collection[str]) -> list[Watcher]:
    """Give the workers that run the blocks of a cluster, or each, a watcher, which checks their accesses."""
    from banksim.machine.races.access_kinds import kinds
    from banksim.machine.races.watcher import Watcher

    size = launch.cluster_blocks
    return [
        Watcher(launch, kinds(launch.kernel), checks, [worker.context[0] for worker in team[n : n + size]])
        for n in range(0, len(team), size)
    ]


def progress_of(team: list[Worker], compiled: Compiled) -> tuple[int, int]:
    """How many blocks are done, and how many thread instructions."""
    done = sum(int(w.context[0]["blocks_done"]) for w in team)
    return done, sum(compiled.thread_instructions(w.counters) for w in team)


def settle(worker: Worker) -> None:
    """Sum up what a worker counted, and where its blocks met what is not established."""
    from banksim.machine.llvm.native_symbols import address

    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address("settle"))(worker.address)
    if worker.doubts.any():
        add(worker.launch.doubts, ((int(n) * BYTES, int(worker.doubts[n])) for n in np.flatnonzero(worker.doubts)))


def tell_stray(team: Sequence[Worker]) -> None:
    """Tell where a launch strayed first: each worker knows where its own blocks did, which it ran in their order."""
    launch, strayed = team[0].launch, [worker for worker in team if worker.stray[0]["code"]]
    if launch.pages and strayed:
        first = min(strayed, key=lambda worker: int(worker.stray[0]["block"]))
        stray = first.stray[0]
        stop = Stop(int(stray["code"]), int(stray["block"]), stray, first.warp_records(), "")
        launch.pages.strays.setdefault((launch.kernel.name, int(stray["pc"])), told(launch, stop))
