"""The report on predictions against Nsight Compute's counts of the same program."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.text import Text

from banksim.kernels.demangling import shortened
from banksim.report.text.style import CALM, HOT, QUIET, STRONG
from banksim.report.text.table import fold
from banksim.runs.validation.comparison import WORDS, Difference, Verdict
from banksim.wording import in_file, listed, number, plural

LONG = {"ld": "loads", "st": "stores", "atom": "atomics"}
MOST = 20
"""Differences of a kernel that are listed."""
WAITING = (
    "How often a loop waits for other warps, or tries again because of them, depends on when they run; on a GPU it "
    "differs from run to run."
)


def report(
    program: str, by: str, verdicts: Sequence[Verdict], width: int, elsewhere: Mapping[str, int] | None = None
) -> Text:
    """What agrees, what differs, line by line, and what the hardware's counters have besides. `elsewhere`: kernels of
    libraries that were launched on the GPU only."""
    paragraphs = [
        Text("\n").join([Text(f"{Path(program).name}: banksim against {by}", STRONG), *extent(verdicts, width)])
    ]
    for verdict in verdicts:
        lines = list(differences(verdict, width))
        if lines:
            paragraphs.append(Text("\n").join([Text(shortened(verdict.kernel), STRONG), *lines]))
    if elsewhere:
        many, names = plural(sum(elsewhere.values()), "launch"), listed([shortened(name) for name in elsewhere])
        note = f"Not compared: {many} by libraries whose work the processor does here: {names}"
        paragraphs.append(Text("\n").join(fold(Text(note, QUIET), width)))
    explained = [line for verdict in verdicts for line in counters(verdict, width)]
    if explained:
        heading = Text("Transactions by the hardware's counters, and what the addresses explain of them:")
        note = "The rest is arbitration: other traffic of the L1, which no address tells; `banksim run --timing` "
        note += "estimates it (examples/guide/hardware.md)."
        paragraphs.append(Text("\n").join([heading, *explained, *fold(Text(note, QUIET), width)]))
    return Text("\n\n").join(paragraphs)


def extent(verdicts: Sequence[Verdict], width: int) -> Iterator[Text]:
    launches, instructions = sum(one.launches for one in verdicts), sum(one.instructions for one in verdicts)
    if not verdicts:
        yield Text("No kernel was launched.", CALM)
        return
    what = f"{plural(launches, 'launch')} of {plural(len(verdicts), 'kernel')}, {plural(instructions, 'instruction')}"
    wrong = [one for one in verdicts if not one.agrees]
    if not wrong:
        yield from fold(Text(f"{what}: executions, threads and transactions are all equal", CALM), width)
    else:
        yield from fold(Text(f"{what}: {plural(len(wrong), 'kernel')} differ{'s' * (len(wrong) == 1)}", HOT), width)
    yield from not_compared(sum(one.uncounted for one in verdicts), sum(one.wide for one in verdicts), width)


def not_compared(unknown: int, wide: int, width: int, remote: int = 0) -> Iterator[Text]:
    """A line for each kind of instruction of which the source page has no count to compare."""
    notes = {
        f"{plural(unknown, 'instruction')} without a known cost: transactions not compared": unknown,
        f"{plural(remote, 'access')} to other blocks' memory not compared: the source page counts none": remote,
        f"{plural(wide, 'load')} of 8 or 16 bytes not compared: the source page does not know how pairs merge": wide,
    }
    for note in (note for note, count in notes.items() if count):
        yield from fold(Text(note, QUIET), width)


def differences(verdict: Verdict, width: int) -> Iterator[Text]:
    if verdict.problem:
        yield from fold(Text(verdict.problem, HOT), width)
    last = None
    for one in verdict.differences[:MOST]:
        place = where(one)
        if place != last:
            yield from fold(Text(place), width)
        last = place
        word = WORDS.get(one.figure, one.figure)
        figures = f"{number(one.predicted)} predicted, {number(one.measured)} measured"
        yield from fold(Text(f"  {one.offset:#06x} {one.opcode}: {word} {figures}", HOT), width)
    if len(verdict.differences) > MOST:
        yield Text(f"  and {len(verdict.differences) - MOST} more", QUIET)
    if any(one.figure in WORDS for one in verdict.differences):
        yield from fold(Text(WAITING, QUIET), width)


def where(one: Difference) -> str:
    return f"{in_file(one.site.file, one.site.line)}  {one.site.text.strip()}" if one.site.line else "no source line"


def counters(verdict: Verdict, width: int) -> Iterator[Text]:
    """Of each kind the counter, what the addresses explain, and the lines whose conflicts that is."""
    for kind, rest in verdict.arbitration.items():
        total, known = verdict.hardware[kind], verdict.explained[kind]
        text = f"{number(total)}, of which {number(known)} ({known / total:.1%}) explained, {number(rest)} arbitration"
        yield from fold(Text(f"  {shortened(verdict.kernel)}, {LONG[kind]}: {text}"), width)
    hot = [(cost, whole, place) for place, (cost, whole) in verdict.lines.items() if cost]
    for cost, whole, (file, line, text) in sorted(hot, key=lambda one: -one[0]):
        parts = listed([f"{number(whole)} transactions", f"{number(cost)} of them conflicts"])
        yield from fold(Text(f"    {in_file(file, line)}  {text.strip()}: {parts}", QUIET), width)
