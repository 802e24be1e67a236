"""Running a launch on the LLVM engine: its workers, on several threads of the host."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import Architecture
from banksim.errors import UnsupportedError
from banksim.kernels.kernel import BYTES
from banksim.machine import codes, state
from banksim.machine.faults import Stop, told
from banksim.machine.launch import Launch
from banksim.machine.llvm.chunks import growing, in_chunks
from banksim.machine.llvm.compile import Compiled
from banksim.machine.llvm.counts import Counts, merged
from banksim.machine.llvm.host_threads import in_threads
from banksim.machine.llvm.joining import may_join
from banksim.machine.llvm.trace_callbacks import Collector, Sink
from banksim.machine.llvm.worker import ClusterMemory, Worker, bank_rules, settle
from banksim.machine.races.findings import by_lines, first_hint
from banksim.system.processes import cores

if TYPE_CHECKING:
    from banksim.machine.races.watcher import Watcher

SMALL = 1 << 15
"""Threads of a launch below which a second worker costs more than it brings, unless it lasts: others then join."""
SHORT = 2e-3
"""Seconds of a launch on one worker, by the last launch of its kernel, up to which that runs all of its blocks at once:
to wake another takes longer than that saves."""


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
    executed: npt.NDArray[np.int64] | None = None,
    prepare: Callable[[Worker], None] = nothing,
) -> Counts:
    """Run the blocks of a launch, all or those given (in ascending order; of clusters whole ones, one after the other),
    but those of the numbers `without`.
    `progress(blocks done, thread instructions)` is called about ten times a second; `trace` gets every request, in
    chunks, in no fixed order of blocks. `notes`: of each buffer, a byte for each of its own, in which is noted how it
    was used (`banksim.machine.separate_blocks`). `checks` are for code that was compiled `watched`. In `executed`
    (blocks of the launch, warps) is noted how many instructions each warp executes. With no
    architecture nothing is judged, nor looked at for races. `prepare` makes ready what a worker's code needs besides.

    A KeyboardInterrupt ends the launch early; what finished is counted and `stop.code` is INTERRUPTED.
    """
    plain = launch.apart and not (notes or trace or checks or max_instructions is not None)
    idle = idle_workers(launch, compiled, architectures) if plain and prepare is nothing else None
    rules, period = (idle[0].rules, idle[0].period) if idle else bank_rules(architectures, compiled)
    blocks = range(launch.blocks) if blocks is None else blocks
    if launch.cooperative and (len(blocks) < launch.blocks or without):
        raise UnsupportedError(f"{launch.kernel.plain_name}: a cooperative launch cannot be run in parts")
    size = launch.cluster_blocks
    pieces: Iterable[Sequence[int]] = (launch.blocks_of_cluster(n) for n in range(launch.blocks // size))
    if len(blocks) < launch.blocks and size > 1:
        pieces = ([*blocks[n : n + size]] for n in range(0, len(blocks), size))
    if size > 1 and without:
        pieces = [cluster for cluster in pieces if cluster[0] not in without]
    if launch.cooperative:
        workers, pieces = 1, [[block for cluster in pieces for block in cluster]]
        size = launch.blocks
    spare = 0
    if workers is None:
        workers = most = min(cores(), len(blocks) // size)
        pace = idle[-1].pace if idle else math.inf
        if launch.threads * len(blocks) < SMALL or pace * len(blocks) < SHORT:
            workers = 1
            spare = most - 1 if launch.apart and may_join(launch.kernel, max_instructions, trace, checks) else 0
    budget = (max_instructions or 2**62) // (workers * size)
    stop_words = np.zeros(workers + spare, np.uint32)
    lengths = np.array([(end - start) // BYTES for start, end in compiled.spans if executed is not None], np.int64)

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
        worker.context[0]["work"] = executed.ctypes.data if executed is not None else 0
        worker.context[0]["lengths"], worker.context[0]["length_count"] = lengths.ctypes.data, len(lengths)
        return worker

    team = [member(n // size) for n in range(workers * size)]
    for n, worker in enumerate(team if launch.cluster_blocks > 1 else ()):
        if n % launch.cluster_blocks == 0:
            cluster = ClusterMemory(launch, launch.cluster_blocks)
        worker.join(cluster, n % launch.cluster_blocks)
    for worker in team:
        prepare(worker)
    if launch.apart:
        chunk = max(1, len(blocks) // (16 * workers))
        short = workers == 1 and team[0].pace * len(blocks) < SHORT
        sizes = growing(chunk, len(blocks) // 4) if workers == 1 else chunk
        pieces = in_chunks(blocks, len(blocks) if short else sizes, without)
    lock = threading.Lock()
    collectors = [Collector(launch, compiled.sites, w.context, trace, lock) for w in team] if trace else []
    watchers = watch(launch, team, checks) if checks else []
    stops: list[tuple[int, Stop]] = []
    waiting, at = enumerate(pieces), [0] * len(stop_words)
    queue = threading.Lock()
    spent: list[float] = []

    def work(n: int, own: Sequence[Worker]) -> None:
        began = time.thread_time()
        run_pieces(n, own)
        spent.append(time.thread_time() - began)

    def run_pieces(n: int, own: Sequence[Worker]) -> None:
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
        worker.pace = sum(spent) / max(len(blocks), 1)
        settle(worker)
    tell_stray(team)
    for collector in collectors:
        collector.close()
    for worker in team:
        worker.server.check()
    if idle is not None and not stops:
        idle += (worker for worker in team if worker.at_start)
    return Counts(
        counters=np.sum([w.counters for w in team], axis=0) if len(team) > 1 else team[0].counters.copy(),
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


def tell_stray(team: Sequence[Worker]) -> None:
    """Tell where a launch strayed first: each worker knows where its own blocks did, which it ran in their order."""
    launch, strayed = team[0].launch, [worker for worker in team if worker.stray[0]["code"]]
    if launch.pages and strayed:
        first = min(strayed, key=lambda worker: int(worker.stray[0]["block"]))
        stray = first.stray[0]
        stop = Stop(int(stray["code"]), int(stray["block"]), stray, first.warp_records(), "")
        launch.pages.strays.setdefault((launch.kernel.name, int(stray["pc"])), told(launch, stop))
