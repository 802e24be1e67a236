"""The report on all launches of a program: kernel by kernel, then their worst source lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from banksim.banks.conflicts import Conflicts
from banksim.banks.source_lines import by_line, hot_first, label, quiet_lines
from banksim.kernels.demangling import OF_VERSION, shortened
from banksim.report.text.conflict_table import colour, figures, notes, withheld
from banksim.report.text.cycles import rests_on
from banksim.report.text.kernel import flat
from banksim.report.text.pattern import drawn, title
from banksim.report.text.races import told
from banksim.report.text.style import CALM, HOT, QUIET, STRONG
from banksim.report.text.table import Column, fitted, fold
from banksim.wording import listed, mean, number, plural, ways

if TYPE_CHECKING:
    from banksim.runs.programs.kernel_launches import Times
    from banksim.runs.programs.launches import Launches

NO_TIME = "elapsed_time of events was answered by nan: --timing simulates how long launches take."
TIME = (
    "elapsed_time of events was answered by the simulated time of launches and events between them; copies take none."
)


def report(program: str, launches: Launches, width: int, pictures: str = "worst", all_lines: bool = False) -> Text:
    """What a program's launches cost.

    `pictures` as in `text.pattern.report`; `all_lines`: also the lines without conflicts.
    """
    judged = launches.judged
    heading = title(f"{Path(program).name}: bank conflicts", judged, width)
    if not launches.kernels:
        none = "No kernel was launched."
        if launches.others or launches.failed:
            none = "No launch came to its end." if launches.failed else "No launch was chosen."
        return Text("\n").join([heading, Text(none, CALM), *others(launches, width)])
    paragraphs = [Text("\n").join([heading, *extent(launches, width)])]
    paragraphs.append(Text("\n").join(kernels(launches, width)))
    paragraphs += times(launches, width)
    paragraphs += told(launches, sum(kernel.findings_lost for kernel in launches.kernels), width)
    lines = [by_line(conflicts) for conflicts in judged]
    hot, quiet = hot_first(lines)
    if all_lines:
        hot, quiet = lines, []
    labels = [label(site.site) for site in hot[0].sites]
    if not judged[0].sites:
        paragraphs.append(Text("No thread accessed shared memory.", CALM))
    else:
        if labels:
            paragraphs.append(figures(hot, [Text(text, STRONG) for text in labels], width, whole=lines))
        else:
            rests = notes(lines, [site.status for one in lines for site in one.sites])  # what the counts above rest on
            paragraphs.append(Text("\n").join(line for note in rests for line in fold(Text(note, QUIET), width)))
        if quiet and labels:
            paragraphs.append(Text("\n").join(fold(Text(quiet_lines(quiet), CALM), width)))
        paragraphs += drawn(hot, labels, width, pictures)
    return Text("\n\n").join(paragraphs)


def extent(launches: Launches, width: int) -> Iterator[Text]:
    """How much was executed, on which code, and whether the program asked for times, which it did not get."""
    instructions = sum(kernel.instructions for kernel in launches.kernels)
    what = f"{plural(launches.count, 'launch')} of {plural(len(launches.kernels), 'kernel')}"
    yield from fold(Text(f"{what}: {plural(instructions, 'warp instruction')}", QUIET), width)
    if launches.foreign:
        yield from fold(Text(f"{listed(launches.foreign)}: judged on code of {launches.code}", QUIET), width)
    yield from others(launches, width)
    for kernel, name in zip(launches.kernels, names(launches), strict=True):
        for note in kernel.notes:
            yield from fold(Text(f"{name}: {note}", QUIET), width)
    partial = sum(kernel.partial for kernel in launches.kernels)
    if partial:
        yield from fold(Text(f"PARTIAL: {plural(partial, 'launch')} interrupted before the end", HOT), width)
    if launches.time_was_asked:
        has_times = any(kernel.times for kernel in launches.kernels)
        yield from fold(Text(TIME if has_times else NO_TIME, QUIET), width)


def others(launches: Launches, width: int) -> list[Text]:
    """What is not counted: launches that ended by an error or were not chosen, and functions of NVIDIA's libraries."""
    lines = []
    for found, noun, how in (
        (launches.failed, "launch", "ended by an error"),
        (launches.others, "other launch", "executed"),
        (launches.calls, "call", "by NumPy"),
    ):
        if found:
            told = listed([f"{shortened(name)} ({number(count)})" for name, count in found.items()])
            lines += fold(Text(f"{plural(found.total(), noun)} {how}, not counted: {told}", QUIET), width)
    return lines


def kernels(launches: Launches, width: int) -> list[Text]:
    """The table of the kernels."""
    labels, columns = kernel_columns(launches)
    return fitted(labels, columns, width)


def kernel_columns(launches: Launches) -> tuple[list[Text], list[Column]]:
    """A row for each kernel."""
    entries = launches.kernels
    labels = [Text(name, STRONG) for name in names(launches)]
    columns = [
        Column(("", "launches"), [Text(number(kernel.launches)) for kernel in entries]),
        Column(("", "grid"), [Text(sizes([shape.grid for shape in kernel.shapes])) for kernel in entries], left=True),
        Column(("", "block"), [Text(sizes([shape.block for shape in kernel.shapes])) for kernel in entries], left=True),
        Column(("", "requests"), [Text(number(kernel.judged[0].requests)) for kernel in entries]),
    ]
    for n, rule in enumerate(launches.rules):
        found = [kernel.judged[n] for kernel in entries]
        columns += verdicts(found, rule.name if len(launches.rules) > 1 else "")
    return labels, columns


def timed(launches: Launches) -> list[tuple[str, int, Times]]:
    """Of each kernel that was timed its name, its launches and their time."""
    named_ones = zip(names(launches), launches.kernels, strict=True)
    return [(name, kernel.launches, kernel.times) for name, kernel in named_ones if kernel.times]


def times(launches: Launches, width: int) -> Iterator[Text]:
    """The simulated time of each kernel, if it was asked for."""
    entries = timed(launches)
    if not entries:
        return
    labels, columns = time_columns(launches)
    yield Text("\n").join(fitted(labels, columns, width))
    said = [f"{name}: {t.longest.bottleneck}" for name, _, t in entries if t.longest]
    said += [f"Not timed: {why}" for _, _, t in entries for why in t.refused]
    note = "Timed: of each launch one SM's first blocks, those of a cluster on an SM each; "
    note += "the estimate is of all blocks on all SMs"
    yield Text("\n").join(line for one in said for line in fold(Text(one), width))
    yield Text("\n").join(line for one in (note, *assumed(launches)) for line in fold(Text(one, QUIET), width))


def assumed(launches: Launches) -> list[str]:
    """What was assumed for the time of any of the launches."""
    found = (one for kernel in launches.kernels if kernel.times for one in kernel.times.assumptions)
    return rests_on(dict.fromkeys(found))


def time_columns(launches: Launches) -> tuple[list[Text], list[Column]]:
    """A row for each kernel that was timed."""
    entries = timed(launches)
    labels = [Text(name, STRONG) for name, _, _ in entries]
    columns = [
        Column(("timed", "cycles"), [Text(number(t.cycles)) for _, _, t in entries]),
        Column(("without", "conflicts"), [Text(number(t.ideal)) for _, _, t in entries]),
        Column(("conflicts", "cost"), [Text(share(t), HOT if t.cycles > t.ideal else CALM) for _, _, t in entries]),
        Column(("launches,", "estimate"), [Text(microseconds(count, t)) for _, count, t in entries]),
    ]
    return labels, columns


def share(times: Times) -> str:
    return f"{max(times.cycles - times.ideal, 0) / max(times.cycles, 1):.0%}"


def microseconds(launches: int, times: Times) -> str:
    """The sum of the estimates, and how many launches have none."""
    if times.unestimated == launches:
        return "none: mostly assumed" if times.longest else "none"
    missing = f" + {times.unestimated} without" if times.unestimated else ""
    return f"{times.microseconds:,.1f} µs{missing}"


def verdicts(found: Sequence[Conflicts | None], group: str = "") -> Iterator[Column]:
    """What kernels or entries cost by one architecture; nothing of those that could not be judged."""

    def column(head: tuple[str, str], cell: Callable[[Conflicts], str]) -> Column:
        return Column(head, [Text(cell(one), colour(one)) if one else Text() for one in found], group)

    def per_request(one: Conflicts) -> str:
        return withheld(one.transactions_per_request, mean) if one.requests else ""

    yield column(("trans-", "actions"), lambda one: withheld(one.transactions))
    yield column(("per", "request"), per_request)
    if not group:
        yield column(("", "excess"), lambda one: withheld(one.excess))
    yield column(("worst", "conflict"), lambda one: ways(one.degree) if one.sites else "")


def names(launches: Launches) -> list[str]:
    """What each kernel is called: a long name as short as it can be and still be told from all others, and with the
    types of its arguments where several kernels have one name."""
    entries = launches.kernels
    many = Counter(kernel.name for kernel in entries)
    short = [shortened(kernel.name) for kernel in entries]
    shared = Counter(short)
    return [
        f"{kernel.name}({', '.join(kernel.signature)})" if many[kernel.name] > 1
        else name if shared[name] == 1
        else OF_VERSION.sub("", kernel.name)
        for kernel, name in zip(entries, short, strict=True)
    ]  # fmt: skip


def sizes(all_sizes: Sequence[tuple[int, int, int]]) -> str:
    """`32 × 8`; `several` if they differ."""
    different = set(all_sizes)
    return " × ".join(map(str, flat(all_sizes[0]))) if len(different) == 1 else "several"
