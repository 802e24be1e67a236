"""Judging a Parquet trace, or simulating a kernel, on many workers; how many does not change what comes out.

Workers are processes of this machine (`banksim.system.processes`), or those of a Dask scheduler. Of a trace, a task is
some consecutive row groups, which its worker reads by itself: all need to see the file under the same name, in a
shared folder or by a URL. What tasks cost is added up as they end; the sum is the same in every order
(`banksim.banks.pieces.merge`). Of a launch, a task is some consecutive blocks, run on a copy of the memory as it was
at first; `banksim.machine.separate_blocks` puts together what they did. Tasks of a lost worker are given to others.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from banksim.architectures.bank_rules import Architecture, architecture, architectures
from banksim.banks.conflicts import Conflicts
from banksim.banks.pieces import OnJudged, Partial, judge_piece, merge
from banksim.errors import BanksimError, InputError
from banksim.storage import format_of
from banksim.system import processes
from banksim.system.extras import missing
from banksim.system.processes import ATTEMPTS, TaskResult, Work

if TYPE_CHECKING:
    from distributed import Client

    from banksim.machine.launch import Launch
    from banksim.machine.llvm.counts import Counts
    from banksim.machine.separate_blocks import Effect
    from banksim.runs.options import Call, Options
    from banksim.runs.outcome import Run

TASKS = 256
"""Tasks that are made of a trace with enough row groups: enough to share evenly, few enough to hand out at once."""
STRETCHES = 64
"""Tasks that the blocks of a launch are cut into, however many workers there are."""
SPREAD = ("arch", "dynamic_shared", "progress")
"""The options of `banksim.run` that a simulation on many workers knows."""
PATIENCE = 20
"""Seconds to wait for the scheduler, and for the first worker."""


def replay(
    path: str | os.PathLike[str],
    arch: str | Architecture | Sequence[str | Architecture] = "sm_90",
    *,
    scheduler: str | Client | None = None,
    workers: int | None = None,
    progress: OnJudged | None = None,
) -> tuple[Conflicts, ...]:
    """What the requests of a Parquet trace cost by each architecture, judged by several workers.

    `scheduler`: the address of a Dask scheduler, or a Dask client; without it `workers` processes of this machine are
    started (by default as many as it has cores). `progress` is told how many more requests have been judged.
    Raises `InputError` for a file or a row group that cannot be read, with its position.
    """
    path = os.fspath(path)
    path = path if "://" in path else os.path.abspath(path)
    if format_of(path) != "parquet":
        raise InputError(f"{path}: only Parquet traces are judged on several machines: their row groups are the unit")
    rules = architectures(arch)
    rows = row_groups(path)
    names = names_of(rules)
    found = Partial()
    outcomes = spread(judge_stretch, (path, names), stretches(rows), scheduler, workers, path)
    with closing(outcomes):
        for _, outcome in outcomes:
            part, count = outcome.result()
            found = merge(found, part)
            if progress:
                progress(count)
    return found.conflicts(rules)


def names_of(rules: Sequence[Architecture]) -> list[str]:
    names = [rule.name for rule in rules]
    if [architecture(name) for name in names] != [*rules]:
        raise InputError("variants of architectures cannot be sent to workers: give names")
    return names


def row_groups(path: str) -> list[int]:
    """How many requests each row group has."""
    from banksim.storage.parquet import describe

    return describe(path).rows


def stretches(rows: Sequence[int]) -> list[tuple[int, int, int]]:
    """(first row group, row group behind the last, first request) of each task."""
    groups = len(rows)
    cuts = sorted({groups * n // TASKS for n in range(TASKS + 1)})
    found = []
    first_request = 0
    for first, last in pairwise(cuts):
        found.append((first, last, first_request))
        first_request += sum(rows[first:last])
    return found


def judge_stretch(shared: tuple[str, Sequence[str]], first: int, last: int, first_request: int) -> tuple[Partial, int]:
    """On a worker: what the requests of these row groups cost, and how many they are."""
    from banksim.storage.parquet import describe

    path, names = shared
    described = describe(path)
    rules = [architecture(name) for name in names]
    found, at = Partial(), first_request
    for group in range(first, last):
        found = merge(found, judge_piece(described.piece(group, at), rules))
        at += described.rows[group]
    return found, at - first_request


def run(
    kernel: object,
    grid: int | Sequence[int],
    block: int | Sequence[int] | None,
    args: Sequence[object] = (),
    *,
    scheduler: str | Client | None = None,
    workers: int | None = None,
    **options: Any,
) -> Run:
    """`banksim.run` with the blocks spread over several workers, each task run on the memory as it was at first.

    The arrays of `args` hold afterwards what all blocks wrote, and the sums that all added to with integer atomics
    whose result they do not use. `InputError`, and no change, if tasks share global memory otherwise: one writes a
    byte that another reads or writes. Arguments are those of `banksim.run`, of its options `arch`, `dynamic_shared`
    and `progress`; `scheduler`, `workers` as for `replay`.
    """
    from banksim.runs.options import Call, Options

    return run_spread(Call(kernel, grid, block, args), Options(**options), scheduler=scheduler, workers=workers)


def run_spread(call: Call, options: Options, *, scheduler: str | Client | None, workers: int | None) -> Run:
    """`run` with its arguments as a `Call` and `Options`."""
    from banksim.runs.options import Options
    from banksim.runs.run import run_with

    for field in fields(Options):
        if field.name not in SPREAD and getattr(options, field.name) != field.default:
            raise InputError(f"{field.name}: for a simulation in one process, as banksim.run does it")

    def execute(launch: Launch, rules: tuple[Architecture, ...], options: Options) -> Run:
        return execute_launch(launch, rules, options.progress, scheduler, workers)

    return run_with(call, options, execute)


def execute_launch(
    launch: Launch,
    rules: tuple[Architecture, ...],
    progress: Callable[[int, int], None] | None,
    scheduler: str | Client | None,
    workers: int | None,
) -> Run:
    """A launch whose blocks are spread over workers."""
    from banksim.machine.llvm.compile import compile_for
    from banksim.machine.separate_blocks import Together
    from banksim.runs.counts_to_conflicts import run_of

    names = names_of(rules)
    compiled = compile_for(launch)
    together = Together(launch.buffers)
    done: list[Counts] = []
    began = time.perf_counter()
    cuts = sorted({launch.blocks * n // STRETCHES for n in range(STRETCHES + 1)})
    parts = [range(*pair) for pair in pairwise(cuts)]
    tasks = [(part,) for part in parts]
    outcomes = spread(simulate_stretch, (launch, names), tasks, scheduler, workers, launch.kernel.plain_name)
    with closing(outcomes):
        for part, outcome in zip(parts, in_order(outcomes), strict=True):
            counts, effects, printed = outcome.result()
            together.add(part, effects)
            for number, text in printed.items():
                launch.device.print(number, [text])
            done.append(counts)
            if progress:
                progress(part.stop, sum(int(one.counters[1]) for one in done))
    together.write()
    return replace(run_of(launch, rules, [(compiled, counts) for counts in done]), seconds=time.perf_counter() - began)


def simulate_stretch(
    shared: tuple[Launch, Sequence[str]], blocks: range
) -> tuple[Counts, list[Effect], dict[int, bytearray]]:
    """On a worker: run these blocks on a copy of the memory; returns what they counted, changed there, and printed."""
    from banksim.machine.faults import fault
    from banksim.machine.llvm.compile import compile_for
    from banksim.machine.llvm.workers import execute
    from banksim.machine.separate_blocks import effect, notebooks

    launch, names = shared
    copy = launch.copy()
    notes = notebooks(launch)
    rules = [architecture(name) for name in names]
    counts = execute(copy, compile_for(launch), rules, workers=1, blocks=blocks, notes=notes)
    if counts.stop is not None:
        raise fault(copy, counts.stop)
    if copy.device.used:
        raise InputError(f"{launch.kernel.plain_name}: blocks that call malloc share one heap: leave out workers")
    before_and_after = zip(notes, launch.buffers, copy.buffers, strict=True)
    effects = [effect(note, before.data, after.data) for note, before, after in before_and_after]
    return counts, effects, copy.device.printed


def spread(
    work: Work,
    shared: object,
    tasks: Sequence[tuple[object, ...]],
    scheduler: str | Client | None,
    workers: int | None,
    what: str,
) -> Generator[tuple[int, TaskResult], None, None]:
    """`work(shared, *task)` of every task, on Dask or here: the number of each and what became of it, as they end."""
    if scheduler is None:
        from banksim.system.processes import cores

        yield from processes.spread(work, shared, tasks, workers or cores(), what)
        return
    with client(scheduler) as connected:
        waiting = dict(enumerate(tasks))
        for _ in range(ATTEMPTS):
            for number, outcome in on_dask(connected, work, shared, waiting, what):
                del waiting[number]
                yield number, outcome
            if not waiting:
                return
        raise BanksimError(f"{what}: workers were lost {ATTEMPTS} times with all that they knew: look at their logs")


def on_dask(
    connected: Client, work: Work, shared: object, tasks: Mapping[int, tuple[object, ...]], what: str
) -> Iterator[tuple[int, TaskResult]]:
    """`spread` on a scheduler's workers. A task is left out if every worker that held what the tasks share was lost."""
    from distributed import CancelledError, as_completed
    from distributed.comm.core import CommClosedError

    futures: dict[Any, int] = {}
    try:
        wait_for_workers(connected)
        everywhere = connected.scatter(shared, broadcast=True, hash=False)
        for number, task in tasks.items():
            future = connected.submit(work, everywhere, *task, pure=False, key=f"banksim-{uuid4()}")
            futures[future] = number
        for future in as_completed(futures):
            with suppress(CancelledError):  # its result, or what it needs, is lost with a worker
                yield futures[future], outcome_of(future, what)
            future.release()
    except (CancelledError, CommClosedError, TimeoutError):
        pass
    finally:
        connected.cancel([*futures])


def wait_for_workers(connected: Client) -> None:
    try:
        connected.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise InputError(f"{connected.scheduler.address}: no worker came within {PATIENCE} s") from None  # type: ignore[union-attr]


def outcome_of(future: Any, what: str) -> TaskResult:
    """What became of a task, its error as one of banksim's. `CancelledError` if Dask no longer knows it."""
    from distributed import CancelledError
    from distributed.scheduler import KilledWorker

    try:
        return TaskResult(future.result())
    except KilledWorker as error:
        lost = f"{what}: {error.task}: every worker that took it was lost: give them more memory or look at their logs"
        return TaskResult(error=BanksimError(lost))
    except ImportError as error:
        lack = f"a worker lacks {error.name}; do there what was done here"
        return TaskResult(error=missing(lack, "distributed"))
    except CancelledError:
        raise
    except Exception as error:
        return TaskResult(error=error)


def in_order(outcomes: Iterator[tuple[int, TaskResult]]) -> Iterator[TaskResult]:
    """What became of the tasks in the order of their numbers."""
    early: dict[int, TaskResult] = {}
    wanted = 0
    for number, outcome in outcomes:
        early[number] = outcome
        while wanted in early:
            yield early.pop(wanted)
            wanted += 1


@contextmanager
def client(scheduler: str | Client) -> Iterator[Client]:
    """A client of the scheduler."""
    try:
        from distributed import Client
    except ImportError:
        raise missing("a scheduler needs Dask", "distributed") from None
    if isinstance(scheduler, Client):
        yield scheduler
        return
    try:
        connected = Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"no scheduler at {scheduler}: {reason}") from None
    with connected:
        yield connected
