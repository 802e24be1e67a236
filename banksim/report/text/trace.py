"""The report on a trace from a file: as at its source, by source line where the trace knows lines."""

from collections.abc import Sequence

from rich.text import Text

from banksim.banks.conflicts import Conflicts
from banksim.banks.source_lines import by_line, hot_first, label, quiet_lines
from banksim.report.text.conflict_table import figures
from banksim.report.text.pattern import drawn, title
from banksim.report.text.pattern import report as by_site
from banksim.report.text.style import CALM, QUIET, STRONG
from banksim.report.text.table import fold
from banksim.requests.trace import Site


def report(
    judged: Sequence[Conflicts], notes: Sequence[str], width: int, pictures: str = "worst", all_lines: bool = False
) -> Text:
    """What a trace costs; `notes` of its reader stand below. `pictures`, `all_lines`: as for `kernel.report`."""
    if any(site.line for site in judged[0].sites):
        text = lines_of(judged, width, pictures, all_lines)
    else:
        text = by_site(judged, [plain_label(site.site) for site in judged[0].sites], width, pictures)
    below = [line for note in notes for line in fold(Text(f"note: {note}", QUIET), width)]
    return Text("\n\n").join([text, *([Text("\n").join(below)] if below else [])])


def plain_label(site: Site) -> str:
    """What to call a site of which no line is known."""
    offset = "" if site.offset is None else f"{site.offset:#06x} "
    name = offset + (site.text or site.opcode or "all requests")
    return f"{site.function}: {name}" if site.function else name


def lines_of(judged: Sequence[Conflicts], width: int, pictures: str, all_lines: bool) -> Text:
    paragraphs = [title("Shared-memory bank conflicts", judged, width)]
    lines = [by_line(conflicts) for conflicts in judged]
    hot, quiet = hot_first(lines)
    if all_lines or not hot[0].sites:
        hot, quiet = lines, []
    labels = [label(site.site) if site.line else plain_label(site.site) for site in hot[0].sites]
    paragraphs.append(figures(hot, [Text(text, STRONG) for text in labels], width, whole=lines))
    if quiet:
        paragraphs.append(Text("\n").join(fold(Text(quiet_lines(quiet), CALM), width)))
    return Text("\n\n").join([*paragraphs, *drawn(hot, labels, width, pictures)])
