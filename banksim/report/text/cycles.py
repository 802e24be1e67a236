"""The time of a launch: what limits it, where the warps' cycles go by source line, an estimate for the whole grid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from banksim.banks.source_lines import label
from banksim.report.text.style import CALM, HOT, QUIET, STRONG
from banksim.report.text.table import Column, fitted, fold
from banksim.timing.spent_cycles import Cycles, Spent
from banksim.timing.whole_grid import MOST_ASSUMED, Estimate, estimate
from banksim.wording import listed, plural

if TYPE_CHECKING:
    from banksim.machine.launch import Launch
    from banksim.requests.trace import Site
    from banksim.runs.outcome import Run

MOST_RESOURCES = 4
"""How many of the busiest resources are named, at most."""
HEADS: tuple[tuple[tuple[str, str], Callable[[Spent], int]], ...] = (
    (("", "issue"), lambda s: s.issue + s.contention),
    (("", "stalls"), lambda s: s.fixed),
    (("shared", "memory"), lambda s: s.shared),
    (("of these", "conflicts"), lambda s: s.conflict),
    (("", "barriers"), lambda s: s.barrier),
    (("global", "memory"), lambda s: s.memory),
    (("", "other"), lambda s: s.other),
)
"""Columns of the table by lines: cycles of warps."""


def timing(run: Run, width: int) -> Text:
    """The section of a report on a launch that was timed."""
    cycles = run.cycles
    assert cycles is not None
    paragraphs = [heading(cycles, run.launch, width), Text("\n").join(table(cycles, width))]
    paragraphs.append(Text("\n").join(fold(Text(launch(estimate(run.launch, cycles))), width)))
    paragraphs += [Text("\n").join(fold(Text(said), width)) for said in bank_conflicts(cycles)]
    return Text("\n\n").join(paragraphs)


def heading(cycles: Cycles, launch: Launch, width: int) -> Text:
    figures = cycles.figures
    what = f"Time of {plural(len(cycles.blocks), 'block')} {where(launch)} of {figures.name}"
    if len(cycles.blocks) < launch.blocks:
        what += f"; the other {launch.blocks - len(cycles.blocks):,} were counted, not timed"
    lines = [*fold(Text(what, STRONG), width), *fold(Text(total(cycles)), width)]
    return Text("\n").join([*lines, *fold(Text(limits(cycles), HOT if cycles.conflict else CALM), width)])


def where(launch: Launch) -> str:
    """Where the blocks of a launch were timed."""
    return "of clusters, each block of one on an SM of its own" if launch.cluster_blocks > 1 else "on one SM"


def total(cycles: Cycles) -> str:
    """How many cycles the blocks took, and how many of these conflicts cost."""
    if cycles.conflict <= 0:
        return f"{taken(cycles)}; conflicts cost nothing."
    share = cycles.conflict / cycles.total
    return f"{taken(cycles)}; without conflicts {cycles.ideal:,}: they cost {cycles.conflict:,} cycles, {share:.0%}."


def taken(cycles: Cycles) -> str:
    """`2,025 cycles (1.02 µs at 1,980 MHz)`, and whether the model of this GPU is assumed."""
    mhz, assumed = cycles.figures.clock_mhz, ", assumed" if cycles.figures.assumption else ""
    return f"{plural(cycles.total, 'cycle')} ({cycles.total / mhz:,.2f} µs at {mhz:,} MHz{assumed})"


def limits(cycles: Cycles) -> str:
    """The limit in one sentence, and what the time would be if each resource were the only one."""
    busiest = sorted(cycles.resources.items(), key=lambda item: -item[1])
    alone = listed([f"{name} {busy:,}" for name, busy in busiest if busy][:MOST_RESOURCES])
    return f"{cycles.bottleneck} Cycles if each were the only limit: {alone}." if alone else cycles.bottleneck


def table(cycles: Cycles, width: int) -> list[Text]:
    """Warp cycles by source line, most first; lines without any are left out."""
    found = ranked(cycles)
    labels = [Text(label(site), STRONG) for site, _ in found] + [Text("all lines", STRONG)]
    rows = [spent for _, spent in found] + [cycles.spent]
    whole = max(cycles.spent.total, 1)
    columns = [Column(("", "share"), [Text(f"{spent.total / whole:.0%}") for spent in rows])]
    for head, figure in HEADS:
        if figure(cycles.spent):
            style = HOT if head[1] == "conflicts" else ""
            columns.append(Column(head, [Text(f"{figure(spent):,}", style) for spent in rows], "cycles of all warps"))
    lines = fitted(labels, columns, width)
    for said in rests_on(cycles.assumptions):
        lines += fold(Text(said, QUIET), width)
    return lines


def rests_on(assumptions: Iterable[str]) -> list[str]:
    """What was assumed as one sentence; none where nothing was."""
    found = "; ".join(assumptions)
    return [f"assumed: {found}"] if found else []


def ranked(cycles: Cycles) -> list[tuple[Site, Spent]]:
    """The lines that took time, most first."""
    return sorted(by_line(cycles), key=lambda pair: -pair[1].total)


def by_line(cycles: Cycles) -> Iterator[tuple[Site, Spent]]:
    """Of each source line its first instruction's site, and what all its instructions took."""
    found: dict[tuple[object, ...], tuple[Site, Spent]] = {}
    for timed in cycles.instructions:
        site = timed.instruction.site
        key = (site.file, site.line) if site.line else ("", 0)
        first, spent = found.get(key, (replace(site, inside=()), Spent()))
        found[key] = first, spent + timed.spent
    return ((site, spent) for site, spent in found.values() if spent.total)


def launch(found: Estimate) -> str:
    """The estimate for the whole grid in a sentence."""
    held = found.occupancy
    why = listed(held.limited_by)
    resident = f"{held.blocks} resident on each (limited by {why}; {held.share:.0%} of its warps)"
    where = f"{plural(found.blocks, 'block')} on {found.multiprocessors} SMs, {resident}"
    if found.cycles is None:
        return (
            f"The launch: {where}. No estimate of its time: {found.assumed:.0%} of the warps' time is waiting for "
            f"memory whose latency is assumed; with more than {MOST_ASSUMED:.0%} no estimate is made."
        )
    rests = f"; {found.assumed:.0%} of it rests on an assumed latency of memory" if found.assumed else ""
    if found.unequal:
        rests += f"; its blocks execute {found.work:.2f} times as many instructions as those that were timed, but not "
        rests += "all alike: by a rough schedule of all of them"
    elif round(found.work, 2) != 1:
        rests += f"; its blocks execute {found.work:.2f} times as many instructions as those that were timed, and are "
        rests += "assumed to take as much longer" if found.work > 1 else "assumed to take as much less time"
    if found.dram:
        rests += (
            f"; DRAM takes {found.dram:,} cycles for what the L2 cache does not hold, as far as arrays tell (assumed)"
        )
    return (
        f"The launch: {where}: {plural(found.waves, 'wave')}, about {found.cycles:,} cycles at "
        f"{found.clock_mhz:,} MHz, and {found.around:.2f} µs for its start and end: {found.microseconds:,.1f} µs "
        f"(estimate{rests})."
    )


ESTIMATED = (
    "estimate: within about a factor of 2 for half of the launches that had some on one H200, of 4 for three quarters"
)
"""How good the arbitration is (examples/guide/hardware.md)."""


def bank_conflicts(cycles: Cycles) -> list[str]:
    """The conflicts of the launch as the hardware counts them, in a sentence; none where there are no requests, or not
    all were counted."""
    if not cycles.bank_conflicts or not cycles.requests:
        return []
    kinds = []
    for kind, found in cycles.bank_conflicts.items():
        if found.address == 0 and not found.arbitration:
            continue
        by = "not all known" if found.address is None else f"{found.address:,}" if found.address else "none"
        kinds.append(f"of {kind} {by} by address{by_arbitration(found.arbitration)}")
    none = "none by address" if cycles.untold else "none"
    said = f"Bank conflicts of the launch, as a profiler counts them: {'; '.join(kinds) or none}"
    if cycles.untold:
        return [f"{said}; those by arbitration are not known: {cycles.untold}."]
    some = any(found.arbitration for found in cycles.bank_conflicts.values())
    return [f"{said} ({ESTIMATED})." if some else f"{said}."]


def by_arbitration(count: int | None) -> str:
    """`, about 2,400 by arbitration`; empty where nobody knows."""
    if count is None:
        return ""
    return f" and about {float(f'{count:.1e}'):,.0f} by arbitration" if count else " and none by arbitration"


def page(run: Run) -> dict[str, object]:
    """The same for the HTML report: sentences, heads of columns, rows with their share of all."""
    cycles = run.cycles
    assert cycles is not None
    heads = [(head, figure) for head, figure in HEADS if figure(cycles.spent)]
    whole = max(cycles.spent.total, 1)
    return {
        "arch": cycles.figures.name,
        "sentences": [
            total(cycles),
            limits(cycles),
            launch(estimate(run.launch, cycles)),
            *bank_conflicts(cycles),
            *rests_on(cycles.assumptions),
        ],
        "heads": ["share", *(" ".join(head).strip() for head, _ in heads)],
        "rows": [
            {
                "label": label(site),
                "share": spent.total / whole,
                "cells": [f"{spent.total / whole:.0%}", *(f"{figure(spent):,}" for _, figure in heads)],
            }
            for site, spent in ranked(cycles)
        ],
    }


def as_json(run: Run) -> dict[str, object]:
    """The same as plain data."""
    cycles = run.cycles
    assert cycles is not None
    found = estimate(run.launch, cycles)
    return {
        "arch": cycles.figures.name,
        "clock_mhz": cycles.figures.clock_mhz,
        "total": cycles.total,
        "without_conflicts": cycles.ideal,
        "bottleneck": cycles.bottleneck,
        "assumptions": list(cycles.assumptions),
        "resources": dict(cycles.resources),
        "blocks": [{"block": b.number, "start": b.start, "end": b.end, "warps": list(b.warps)} for b in cycles.blocks],
        "spent": vars(cycles.spent),
        "lines": [
            {"file": site.file, "line": site.line, "text": site.text, **vars(spent)} for site, spent in by_line(cycles)
        ],
        "assumed": cycles.assumed,
        "figures": {name: figure._asdict() for name, figure in cycles.figures.figures.items()},
        "held": {name: held._asdict() for name, held in cycles.figures.held.items()},
        "launch": {
            "blocks": found.blocks,
            "multiprocessors": found.multiprocessors,
            "resident": found.occupancy.blocks,
            "limits": dict(found.occupancy.by),
            "occupancy": found.occupancy.share,
            "together": found.together,
            "waves": found.waves,
            "cycles": found.cycles,
            "work": found.work,
            "unequal": found.unequal,
            "start_and_end_microseconds": found.around,
            "microseconds": found.microseconds,
        },
        "bank_conflicts": {kind: vars(found) for kind, found in cycles.bank_conflicts.items()},
        "arbitration_unknown": cycles.untold or None,
    }
