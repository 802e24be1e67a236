"""A timed launch: the first blocks of one multiprocessor are simulated cycle by cycle, all others are only
counted."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import Architecture
from banksim.architectures.other_generations import figures
from banksim.architectures.time_figures import Figures, Traffic
from banksim.errors import UntimedError
from banksim.machine.faults import raise_unless_interrupted
from banksim.machine.launch import Launch
from banksim.machine.llvm.compile import Compiled, compile_for
from banksim.machine.llvm.counts import Counts, merged
from banksim.machine.llvm.host_threads import in_threads
from banksim.machine.llvm.worker import settle
from banksim.machine.llvm.workers import execute
from banksim.machine.program_memory import places, recent_of
from banksim.machine.races.findings import first_hint
from banksim.timing.bank_conflicts import bank_conflicts, untold
from banksim.timing.blocks_elsewhere import Attempt, chosen_way, executed, looks_elsewhere
from banksim.timing.dram import (
    MOST,
    MOSTLY,
    WITNESSES,
    FirstAsked,
    accesses,
    coming,
    first_asked,
    lacking,
    may_lack,
    not_there,
    slowest,
    traffic,
    writes_back,
)
from banksim.timing.global_memory import ATOMIC, REDUCED
from banksim.timing.instruction_caches import LINE
from banksim.timing.issue_records import SPENT
from banksim.timing.issue_table import PIPES
from banksim.timing.multiprocessor import between_first, table_of
from banksim.timing.room import room_for, rounds
from banksim.timing.simulation import Simulated, Simulation
from banksim.timing.spent_cycles import Cycles, Spent, TimedBlock, TimedInstruction, names_printf
from banksim.timing.uneven_blocks import (
    MOST_WAITING,
    alike,
    at_work,
    pace_of,
    room_for_work,
    unequal,
    unequally_long,
    work_of,
)
from banksim.timing.whole_grid import resident

LONG = 1 << 18
"""Warp instructions."""
MUCH_CODE = 16
"""Lines: first launches of kernels of 2 to 4 lines take no longer than later ones but in the first launch of a program
(tests/data/timing/h200_once.json), of 32 lines and more they do (h200_code.json there); between: assumed."""
MUCH_TIMED, MOST_ROUNDS = 1 << 18, 12
"""Warp instructions: lines come from DRAM at random times, so that more rounds of blocks that are short are timed."""
MOST_COPIED = 1 << 28
"""Bytes: less than a tenth of a second."""
OnTimed = Callable[[int, int], None]
"""Called with the number of blocks that have ended and of thread instructions that have been executed."""


@dataclass(frozen=True)
class Timing:
    """How to time: cycles of global memory (None: by the model of the caches), how many blocks (None: those that are
    resident at first); whether more is wanted than their cycles: those without conflicts, the counts of the other
    blocks, and more rounds; how many warp instructions are timed `at_most`: what is not done then is left; and whether
    the caches are `cold`: without anything of global memory when the launch begins."""

    global_latency: int | None = None
    blocks: int | None = None
    more: bool = True
    at_most: int | None = None
    cold: bool = False


@dataclass
class Timed:
    """The time of some blocks, and what each part of the launch counted: (compiled code, its counts); what those that
    are timed did, unless this is their share of the work."""

    cycles: Cycles
    parts: list[tuple[Compiled, Counts]]
    timed: tuple[Compiled, Counts] | None


def run_timed(
    launch: Launch,
    rules: tuple[Architecture, ...],
    timing: Timing,
    *,
    workers: int | None = None,
    max_instructions: int | None = None,
    progress: OnTimed | None = None,
) -> Timed:
    """Time the blocks that the first multiprocessor gets, then count the others. The first of `rules` says how long
    requests take. Raises `InputError` where there is no time model."""
    known, has = figures(launch.kernel.arch), Traffic(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, False)
    size = launch.cluster_blocks
    known, code_kept = with_code(launch, known)
    at_once = known.at_once(size)
    if not at_once:
        raise UntimedError(f"{launch.kernel.plain_name}: how many clusters run at once on {known.name} is not known")
    on_first = range(0, launch.blocks // size, at_once)
    together = min(resident(launch).blocks, len(on_first))
    every = [launch.blocks_of_cluster(n) for n in on_first[: timing.blocks]]
    chosen = every[: timing.blocks or rounds(len(every), together)]
    elsewhere = size * len(chosen) < launch.blocks and timing.at_most is None and looks_elsewhere(launch.kernel)
    beyond = [] if elsewhere or timing.at_most is not None else every[len(chosen) :]
    stepwise = compile_for(launch, stepwise=True)
    alone = size * len(chosen) == launch.blocks
    modelled = timing.global_latency is None

    seen: list[npt.NDArray[np.void]] = []
    at_first: FirstAsked | None = None

    def simulate(
        way: Attempt,
        ideal: bool = False,
        clusters: Sequence[Sequence[int]] | None = None,
        noted: int = 0,
        active: int | None = None,
    ) -> Simulated:
        simulation = Simulation(
            way.launch, stepwise, rules, known, together, clusters or chosen, beyond=() if clusters else beyond,
            ideal=ideal, global_latency=timing.global_latency,
            max_instructions=way.allowed, at_most=way.share, seen=seen, noted=noted,
            cold=at_first.arrays if at_first else None, code_kept=code_kept, active=active,
        )  # fmt: skip

        def tick() -> None:
            if progress is not None:
                progress(0, 32 * simulation.issued)

        return in_threads([simulation.run], simulation.stop_word, tick)[0]

    def count(
        on: Launch,
        without: Collection[int] = (),
        executed: npt.NDArray[np.int64] | None = None,
        workers: int | None = workers,
    ) -> tuple[Compiled, Counts]:
        compiled = compile_for(on)
        found = execute(
            on, compiled, rules, workers=workers, max_instructions=max_instructions, progress=progress, without=without,
            executed=executed,
        )  # fmt: skip
        raise_unless_interrupted(on, found.stop)
        return compiled, found

    if len(chosen) == 1 and not alone and modelled and adds(launch):
        seen = others_lines(launch, stepwise, rules, known, together)
    way = Attempt(launch, max_instructions, timing.at_most)
    if elsewhere and not much(launch):
        behind = launch.copy()
        in_order = count(behind, workers=1)  # so that none waits: how often others look would depend on the host
        way = chosen_way(way, behind, in_order, (stepwise, simulate, size * len(chosen)))
    lacks, of_host = lacking(launch, known.dram, timing.cold), False
    if modelled and may_lack(launch, known, lacks):
        apart = replace(way, launch=on_its_own(way.launch))
        some = chosen if way.assumes else chosen[: max(together, WITNESSES)]
        first = simulate(apart, clusters=some, noted=MOST)
        asked, lines = first.asked
        times = launch.blocks / max(len(first.blocks), 1) * max(lines / len(asked), 1)
        at_a_time = len(first.blocks) * min(launch.blocks, known.multiprocessors) / launch.blocks
        all_of_it = accesses(launch, known.dram, asked, times, at_a_time)
        missing = (lacks >= MOSTLY).astype(float)
        if not timing.cold:
            missing *= np.isin(np.arange(len(missing)), list(all_of_it.bytes))
            for number, share in not_there(known.dram, all_of_it).items():
                missing[number] = max(missing[number], share)
        recent = recent_of(launch.buffers)
        unwritten = {} if timing.cold else recent.unwritten(known.dram.lost) if recent else None
        has = traffic(known.dram, all_of_it, lacks, missing, unwritten)
        known = known.behind_dram(has, bool(missing.any()))
        if missing.any():
            at_first = first_asked(launch, known, asked, missing, max(len(first.blocks), 1), together, timing.cold)
            if beyond and timing.more and not timing.blocks:
                full = MUCH_TIMED * max(len(first.blocks), 1) // (size * together * max(first.instructions, 1))
                chosen = every[: rounds(len(every), together, min(max(full, 3), MOST_ROUNDS))]
                beyond = every[len(chosen) :]
        of_host = any(launch.buffers[number].of_host for number in all_of_it.bytes)
        if recent:
            goes = writes_back(known.dram, all_of_it, lacks, unwritten or {}).share
            stay = {number: size * (1 - goes) for number, size in all_of_it.stored.items()}
            recent.use_all(all_of_it.bytes, coming(known.dram, all_of_it, lacks), stay)
    both = timing.more and stepwise.sites  # the ideal run too, where there can be conflicts
    again = timing.more and not (alone or way.assumes or much(launch))  # where few blocks turn out to have work
    before = way.anew() if both or again else way
    outcome = simulate(way.anew() if way.assumes else way)
    raise_unless_interrupted(launch, outcome.stop)
    chosen, beyond = every[: max(len(chosen), len(outcome.blocks) // size)], []
    counts = counted(outcome, stepwise, len(rules))
    conflicts = np.any(counts.tallies["low"][:, 0] != counts.tallies["ideal"][:, 0])

    def as_timed(outcome: Simulated, active: int | None = None) -> Cycles:
        best = outcome
        if both and counts.stop is None and conflicts:
            best = simulate(before.anew() if again else before, ideal=True, active=active)
        return replace(cycles(launch, known, timing, outcome, best, has, of_host), elsewhere=way.assumes)

    timed = as_timed(outcome)
    if at_first:
        timed = replace(timed, slowest=slowest(known.dram, later_by(first, outcome, together), at_first))
    if way.assumes:
        parts = [count(launch)]
        return Timed(of_all_blocks(timed, launch, outcome, parts), parts, None)
    parts = [(stepwise, counts)]
    if counts.stop is None and timing.more and not alone:
        noted = room_for_work(launch)
        parts.append(count(launch, [block for cluster in chosen for block in cluster], noted))
        if noted is not None and parts[-1][1].stop is None:
            work = work_of(launch, timed.blocks, noted)
            few = at_work(work, together, min(launch.blocks, known.multiprocessors))
            if again and few:
                outcome = simulate(before.anew(), active=few)
                timed = replace(as_timed(outcome, few), slowest=timed.slowest, active=few)

            def by_itself(block: int) -> list[TimedBlock]:
                return simulate(replace(way, launch=launch.copy()), clusters=[(block,)], active=few).blocks

            if timed.spent.memory < MOST_WAITING * timed.spent.total:
                timed = replace(timed, unequal=of_unequal(launch, timed, together, work, by_itself))
    if timing.more or alone:
        timed = of_all_blocks(timed, launch, outcome, parts)
    return Timed(timed, parts, parts[0])


def of_unequal(
    launch: Launch,
    timed: Cycles,
    held: int,
    work: npt.NDArray[np.float64],
    by_itself: Callable[[int], Sequence[TimedBlock]],
) -> int | None:
    """Cycles of a launch whose blocks do this work, if they take unequally long. Where the timed ones tell nothing of
    what warps take besides instructions, the block that executes most is timed, too, `by_itself`."""
    if not unequal(work):
        return None
    known = timed.figures
    numbers = known.numbers(timed.global_latency, known.multiprocessors)
    more = by_itself(int(work.sum(1).argmax())) if alike(timed.blocks) and not much(launch) else ()
    pace = pace_of(timed.blocks, more, timed.resources, numbers, between_first(numbers, launch.warps))
    room = room_for(launch, held, -(-launch.blocks // known.multiprocessors))
    return unequally_long(timed.blocks, work, timed.total, room, held, known.multiprocessors, pace)


def later_by(warm: Simulated, cold: Simulated, count: int) -> float:
    """By how much later the first blocks, so many, have ended with cold caches than with warm ones."""
    ends = [{block.number: block.end for block in one.blocks} for one in (warm, cold)]
    first = sorted(ends[0].keys() & ends[1].keys())[:count]
    return max(float(np.mean([ends[1][n] - ends[0][n] for n in first])), 0) if first else 0


def of_all_blocks(
    timed: Cycles, launch: Launch, outcome: Simulated, parts: Sequence[tuple[Compiled, Counts]]
) -> Cycles:
    """The same with the conflicts of the launch and whether it prints: `parts` are what all its blocks counted."""
    why = untold(launch, timed.figures, timed.global_latency is not None, bool(timed.elsewhere))
    conflicts = bank_conflicts(launch, timed.figures, outcome, parts, not why)
    calls = [n for n, i in enumerate(launch.kernel.instructions) if names_printf(i)]
    ran = [executed(code, [counts.counters]) for code, counts in parts] if calls else []
    prints = any(some[n] for some in ran for n in calls if n < len(some))  # what nothing reaches is not compiled
    return replace(timed, untold=why, bank_conflicts=conflicts, prints=prints)


def with_code(launch: Launch, known: Figures) -> tuple[Figures, bool]:
    """The figures of a launch whose code may be new to a program's GPU, and whether multiprocessors still have it."""
    recent = recent_of(launch.buffers)
    if recent is None:
        return known, True
    size, room = len(launch.kernel.instructions), LINE * known.figures["code_shared"].value
    active = min(launch.blocks, known.multiprocessors)
    first = not recent.code.sizes
    before, kept = recent.code.launch(launch.kernel, size, active, room)
    if first:
        return known.later_by(known.first_launch), kept
    return known if before or size < LINE * MUCH_CODE else known.later_by(known.new_code), kept


def adds(launch: Launch) -> bool:
    """Whether a kernel adds to global memory."""
    return bool(np.isin(table_of(launch.kernel)["far"], (REDUCED, ATOMIC)).any())


def much(launch: Launch) -> bool:
    """Whether its memory is too much to be copied, or absent."""
    sizes = places(launch.buffers)[:, 1]
    return int(sizes.sum()) > MOST_COPIED or any(buffer.absent is not None for buffer in launch.buffers)


def on_its_own(launch: Launch) -> Launch:
    """A launch like this one, on memory of its own: zeros where that is much or absent."""
    return launch.stand_in() if much(launch) else launch.copy()


def others_lines(
    launch: Launch, stepwise: Compiled, rules: tuple[Architecture, ...], known: Figures, together: int
) -> list[npt.NDArray[np.void]]:
    """To which lines the blocks of the last multiprocessor add, of which each holds a single block: by rank in the
    cluster, what `SameLines.added` remembers. They have memory of their own, and are left where they go on for long:
    they may wait for blocks that are not there. None where memory is much or absent."""
    if much(launch):
        return []
    last = min(launch.blocks // launch.cluster_blocks, known.at_once(launch.cluster_blocks)) - 1
    cluster = launch.blocks_of_cluster(last)
    witness = Simulation(launch.copy(), stepwise, rules, known, together, [cluster], max_instructions=LONG)
    in_threads([witness.run], witness.stop_word, lambda: None)
    return [one.path.memory.same.added for one in witness.each]


def counted(outcome: Simulated, compiled: Compiled, architectures: int) -> Counts:
    """What the timed blocks counted, as `execute` gives it."""
    for worker in outcome.workers:
        settle(worker)
    tallies = merged([w.tallies for w in outcome.workers]).reshape(len(compiled.sites), architectures)
    counters = np.sum([w.counters for w in outcome.workers], axis=0)
    hint = first_hint(w.probe.found() for w in outcome.workers)
    return Counts(counters, tallies, len(outcome.blocks), outcome.seconds, outcome.stop, hint=hint)


def l2_has(launch: Launch, cold: bool) -> str:
    """What the L2 is taken to have when a launch begins."""
    if cold:
        return "no cache has anything of global memory at first"
    if recent_of(launch.buffers):
        return "the L2 cache has what the last launches and fills used, not what was copied from the host since"
    return "the L2 cache has all of global memory"


def cycles(
    launch: Launch, known: Figures, timing: Timing, outcome: Simulated, best: Simulated, dram: Traffic, of_host: bool
) -> Cycles:
    instructions = []
    names, ideal = SPENT.names or (), best.spent["shared"].tolist()
    for i, row, unavoidable in zip(launch.kernel.instructions, outcome.spent.tolist(), ideal, strict=True):
        each = dict(zip(names, row, strict=True))
        spent = Spent(**each, conflict=max(each["shared"] - unavoidable, 0))
        instructions.append(TimedInstruction(i, spent))
    busy = outcome.busy.max(axis=0)
    resources = dict(zip((*PIPES, "issue"), map(int, busy), strict=True)) | {
        "shared memory": outcome.transactions, "L2 cache": outcome.beyond, "other blocks": outcome.across,
    }  # fmt: skip
    return Cycles(
        figures=known,
        global_latency=timing.global_latency,
        waited_assumed=outcome.assumed,
        instructions=tuple(instructions),
        blocks=tuple(sorted(outcome.blocks, key=lambda b: (b.start, b.number))),
        total=outcome.cycles,
        left=outcome.left,
        slowest=0,
        each=outcome.each,
        dram=dram,
        l2_has=l2_has(launch, timing.cold),
        of_host=of_host,
        prints=any(i.spent.issue and names_printf(i.instruction) for i in instructions),
        additions=outcome.additions,
        accesses=bool(outcome.spent["issue"][table_of(launch.kernel)["far"] > 0].any()),
        ideal=best.cycles,
        resources=resources,
        requests=outcome.requests,
        warp_instructions=outcome.instructions,
    )
