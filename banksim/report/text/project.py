"""The report on the entries of a project: a table, why entries failed, and the sum."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.text import Text

from banksim.banks.conflicts import Conflicts
from banksim.project.file import Entry, Project
from banksim.project.verdicts import Verdict, unused_excuses
from banksim.report.text.program import verdicts as columns_of
from banksim.report.text.style import CALM, HOT, QUIET, STRONG
from banksim.report.text.table import Column, fitted, fold
from banksim.wording import number, plural

WORDS = {"passed": "ok", "failed": "FAILED", "error": "ERROR"}


def report(verdicts: Sequence[Verdict], width: int) -> Text:
    """What became of the entries, at most `width` columns wide."""
    labels, columns = table(verdicts)
    lines = fitted(labels, columns, width)
    paragraphs = [Text("\n").join(lines)]
    paragraphs += [Text("\n").join(reasons(one, width)) for one in verdicts if one.outcome != "passed"]
    unused = [Text(f"unused excuse: {excuse}", QUIET) for excuse in unused_excuses(verdicts)]
    paragraphs += [Text("\n").join(line for one in unused for line in fold(one, width))] if unused else []
    tone = HOT if any(one.outcome != "passed" for one in verdicts) else CALM
    paragraphs.append(Text("\n").join(fold(Text(summary(verdicts), tone), width)))
    return Text("\n\n").join(paragraphs)


def table(verdicts: Sequence[Verdict]) -> tuple[list[Text], list[Column]]:
    """A row for each entry and architecture; of those that could not be judged one."""
    rows = [(one, judged) for one in verdicts for judged in one.judged or [None]]
    labels = [Text(label(one, judged), STRONG) for one, judged in rows]

    judged = [judged for _, judged in rows]
    return labels, [
        Column(("", "requests"), [Text(number(one.requests) if one else "") for one in judged]),
        *columns_of(judged),
        Column(("", "took"), [Text(took(one), QUIET) for one, _ in rows]),
        Column(("", "verdict"), [Text(*verdict(one, judged)) for one, judged in rows], left=True),
    ]


def label(one: Verdict, judged: Conflicts | None) -> str:
    return f"{one.entry.name} on {judged.arch.name}" if judged and len(one.judged) > 1 else one.entry.name


def took(one: Verdict) -> str:
    return "cached" if one.kept else f"{one.seconds:.1f} s"


def verdict(one: Verdict, judged: Conflicts | None) -> tuple[str, str]:
    """The word for what became of an entry by one architecture, and its colour."""
    only = one.limits.above and not one.found  # findings of checks count for every architecture
    passed = only and judged and all(above.arch != judged.arch for above in one.limits.above)
    outcome = "passed" if passed else one.outcome
    return WORDS[outcome], CALM if outcome == "passed" else HOT


def reasons(one: Verdict, width: int) -> Iterator[Text]:
    """Why an entry failed, with its name above."""
    yield from fold(Text(f"{WORDS[one.outcome]} {one.entry.name}", HOT), width)
    for reason in one.reasons or one.error.splitlines():
        yield from (Text.assemble("  ", line) for line in fold(Text(reason), max(width - 2, 8)))


def summary(verdicts: Sequence[Verdict]) -> str:
    """`12 entries: 9 passed, 2 failed, 1 could not be judged; 8 from the cache`."""
    found = Counter(one.outcome for one in verdicts)
    parts = [f"{found['passed']} passed"]
    parts += [f"{found['failed']} failed"] if found["failed"] else []
    parts += [f"{found['error']} could not be judged"] if found["error"] else []
    cached = sum(one.kept for one in verdicts)
    return f"{plural(len(verdicts), 'entry')}: {', '.join(parts)}" + (f"; {cached} from the cache" if cached else "")


def listing(project: Project, entries: Sequence[Entry], width: int) -> Text:
    """The entries, each with its command and its limits."""
    import shlex

    lines = [Text(str(project.file), QUIET)]
    for one in entries:
        lines += fold(Text(one.name, STRONG), width)
        command = Text(f"banksim {shlex.join(one.words)}")
        lines += (Text.assemble("  ", line) for line in fold(command, max(width - 2, 8)))
        limits = Text(f"fails above {', '.join(map(str, one.limits))}", QUIET)
        lines += (Text.assemble("  ", line) for line in fold(limits, max(width - 2, 8)))
    return Text("\n").join(lines)
