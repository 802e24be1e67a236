"""The report of `validate`: a table by groups, what differs, what variants' times say; and the same as plain data."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.text import Text

from banksim.report.text.console import console
from banksim.report.text.console import show as put
from banksim.report.text.style import CALM, HOT, QUIET, STRONG
from banksim.report.text.table import Column, above, beside, fold, prose
from banksim.wording import plural
from cuda_kernels.evidence_records import Spread
from cuda_kernels.validate import Validation
from cuda_kernels.verdicts import APART, TimeAgreement, Verdict, timing


def show(found: Validation, not_done: Sequence[str], recorded: bool) -> None:
    """Print the report."""
    screen = console()
    put(text(found, not_done, recorded, screen.width), screen)


def text(found: Validation, not_done: Sequence[str], recorded: bool, width: int) -> Text:
    parts = [Text("\n").join(head(found, [*not_done, *found.not_done], recorded, width))]
    parts.append(Text("\n").join(table(found, width)))
    notes = [
        *(note(v.name, line, HOT, width) for v in found.verdicts for line in v.differences),
        *(note(v.name, line, QUIET, width) for v in found.verdicts for line in brief(v.remarks)),
    ]
    notes += arbitration(found, width)
    if notes:
        parts.append(Text("\n").join(notes))
    if found.contests:
        lines = [
            note("", f"{c.sentence()}.", CALM if c.limited and c.fastest in c.best else "", width)
            for c in found.contests
        ]
        parts.append(Text("\n").join([Text("Transactions against times", STRONG), *lines]))
    if time := timing(found.verdicts):
        parts.append(Text("\n").join(fold(Text(agreement(time)), width)))
    parts.append(Text("\n").join(fold(conclusion(found), width)))
    return Text("\n\n").join(parts)


def head(found: Validation, not_done: Sequence[str], recorded: bool, width: int) -> list[Text]:
    machine = found.machine
    versions = [
        f"{label} {machine[key]}"
        for key, label in (("driver", "driver"), ("cuda", "CUDA"), ("numba_cuda", "numba-cuda"), ("profiler", ""))
        if machine.get(key)
    ]
    clock = f"SMs at {machine['sm_clock_mhz']} MHz" if "sm_clock_mhz" in machine else ""
    title = f"banksim against {'what was recorded on ' if recorded else ''}{found.source}"
    details = ", ".join(filter(None, [*(v.strip() for v in versions), clock]))
    lines = [*fold(Text(title, STRONG), width), *fold(Text(details, QUIET), width)]
    for reason in not_done:
        lines += fold(Text(f"Not done: {reason}", HOT), width)
    return lines


def table(found: Validation, width: int) -> list[Text]:
    labels: list[Text] = []
    rows: list[Verdict | None] = []
    group = ""
    for verdict in found.verdicts:
        if verdict.group != group:
            group = verdict.group
            labels.append(Text(group, STRONG))
            rows.append(None)
        labels.append(Text(f"  {verdict.name}"))
        rows.append(verdict)
    timed = "sm_clock_mhz" in found.machine
    columns = [
        column(("", "result"), rows, lambda v: result(v), left=True),
        column(("", "counts"), rows, counts, left=True),
        column(("", "requests"), rows, lambda v: f"{v.prediction.requests:,}"),
        column(("trans-", "actions"), rows, lambda v: f"{v.prediction.transactions:,}"),
        column(("", "ideal"), rows, lambda v: f"{v.prediction.ideal:,}"),
        column(("warp in-", "structions"), rows, lambda v: f"{v.prediction.instructions:,}"),
        column(("", "µs"), rows, lambda v: spread(v.record.microseconds if v.record else None, 2)),
        column(("block's", "cycles"), rows, lambda v: spread(v.record.cycles if v.record else None, 0)),
        column(("pass", "predicted"), rows, lambda v: cycles(v, 0)),
        column(("pass", "measured"), rows, lambda v: cycles(v, 1)),
        column(("banks", "busy"), rows, lambda v: percent(v.busy(found.machine)) if timed else ""),
    ]
    if not any(row and row.pass_cycles for row in rows):
        columns = [one for one in columns if one.head[0] != "pass"]
    fewer = [one for one in columns if one.name != "ideal"]
    lines = beside(labels, columns, width) or beside(labels, fewer, width)
    lines = lines or above(labels, fewer, width) or prose(labels, columns, width)
    quiet = "requests … instructions: predicted; µs, cycles: median ± half the interquartile range"
    return [*lines, *fold(Text(quiet, QUIET), width)]


def column(head: tuple[str, str], rows: Sequence[Verdict | None], cell: Any, left: bool = False) -> Column:
    cells = [Text(cell(row), HOT if row.differences and left else "") if row else Text() for row in rows]
    return Column(head, cells, left=left)


def result(verdict: Verdict) -> str:
    record = verdict.record
    if verdict.prediction.wrong or (record and record.wrong):
        return "WRONG"
    return "–" if record is not None and record.wrong is None else "right"


def counts(verdict: Verdict) -> str:
    if not verdict.counted:
        return "–"
    return "DIFFER" if verdict.differences else "equal"


def spread(value: Spread | None, decimals: int) -> str:
    if value is None:
        return "–"
    return f"{value.median:,.{decimals}f} ± {(value.high - value.low) / 2:,.{decimals}f}"


def cycles(verdict: Verdict, which: int) -> str:
    """Cycles of a warm pass of a kernel that measures itself."""
    return f"{verdict.pass_cycles[which]:,.0f}" if verdict.pass_cycles else ""


def percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def note(name: str, line: str, style: str, width: int) -> Text:
    return Text("\n").join(fold(Text(f"{name}: {line}" if name else line, style), width))


def arbitration(found: Validation, width: int) -> list[Text]:
    """One note on all kernels whose counters hold transactions that no address explains."""
    noisy = [v for v in found.verdicts if v.arbitration]
    if not noisy:
        return []
    worst = max(noisy, key=lambda v: v.arbitration)
    line = (
        f"In {plural(len(noisy), 'kernel')} the hardware's counter of the whole kernel exceeds the transactions of its "
        f"instructions, by {worst.arbitration:.1%} at most ({worst.name}): arbitration with the L1 cache's other "
        "traffic, which no address explains"
    )
    return [note("", line, QUIET, width)]


def brief(remarks: Sequence[str]) -> list[str]:
    """The first remarks, and how many more there are of them."""
    return [*remarks[:3], *([f"… and {plural(len(remarks) - 3, 'more remark')}"] if len(remarks) > 3 else [])]


def agreement(found: TimeAgreement) -> str:
    """How far simulated time agrees with the SM's clock."""
    worst = found.worst
    ranked = f"{found.pairs - len(found.wrong)} of {plural(found.pairs, 'pair')} of variants that differ by more than "
    ranked += f"{APART:.0%} are ranked right"
    if found.wrong:
        ranked += f", wrong: {', '.join(f'{a} and {b}' for a, b in found.wrong)}"
    return (
        f"Cycles of a pass, simulated against the SM's clock: {plural(len(found.errors), 'kernel')}, "
        f"{found.median:.1%} off in the median, at most {abs(found.errors[worst]):.0%} ({worst}); {ranked}."
    )


def conclusion(found: Validation) -> Text:
    counted = [v for v in found.verdicts if v.counted]
    differing = [v.name for v in found.verdicts if v.differences]
    if differing:
        return Text(f"DISAGREEMENT in {plural(len(differing), 'kernel')}: {', '.join(differing)}", HOT)
    if not counted:
        return Text("No kernel was counted on a GPU, so no prediction was put to the test.", HOT)
    rows = sum(len(v.record.rows) for v in counted if v.record)
    return Text(f"Every count agrees: {plural(len(counted), 'kernel')}, {plural(rows, 'executed instruction')}.", CALM)


def as_json(found: Validation, not_done: Sequence[str], recorded: bool) -> str:
    kernels = []
    for v in found.verdicts:
        kernels.append(
            {
                "name": v.name,
                "group": v.group,
                "result": result(v),
                "counts": counts(v),
                "requests": v.prediction.requests,
                "transactions": v.prediction.transactions,
                "ideal": v.prediction.ideal,
                "instructions": v.prediction.instructions,
                "measured": measured(v),
                "banks_busy": v.busy(found.machine) if "sm_clock_mhz" in found.machine else None,
                "same_code": v.same_code,
                "differences": v.differences,
                "remarks": v.remarks,
                "arbitration": v.arbitration,
                "pass_cycles": v.pass_cycles and dict(zip(("predicted", "measured"), v.pass_cycles, strict=True)),
            }
        )
    plain = {
        "agrees": found.agrees,
        "recorded": recorded,
        "machine": found.machine,
        "not_done": [*not_done, *found.not_done],
        "kernels": kernels,
        "timing": asdict(time) if (time := timing(found.verdicts)) else None,
        "contests": [{**asdict(c), "limited_by_shared_memory": c.limited} for c in found.contests],
    }
    return json.dumps(plain, indent=2)


def measured(verdict: Verdict) -> dict[str, Any] | None:
    record = verdict.record
    if record is None:
        return None
    return {
        "counters": dict(record.counters),
        "transactions_of_the_source_page": sum(row.transactions or 0 for row in record.rows) if record.rows else None,
        "microseconds": record.microseconds and asdict(record.microseconds),
        "cycles": record.cycles and asdict(record.cycles),
    }
