"""Plots as SVG, alone or in a page: transactions by line or layout, the load of the banks, the roofline of a launch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from banksim.banks.conflicts import Conflicts, SiteConflicts
from banksim.banks.rule import explain
from banksim.banks.source_lines import heat, worst_excess
from banksim.requests.counts import ends
from banksim.wording import place

if TYPE_CHECKING:
    from banksim.advise.kernels.advice import KernelAdvice
    from banksim.advise.layouts.advice import LayoutAdvice
    from banksim.advise.patterns.advice import ArrayAdvice
    from banksim.architectures.bank_rules import Architecture
    from banksim.runs.outcome import Run

WIDTH, LEFT, RIGHT = 860, 330, 90
"""The width of a plot, and how much of it labels (left) and figures (right) take."""
MOST_ROWS = 12
LETTERS = 42
"""Letters of a label for which there is room."""
STYLE = """<style>
.plot { font: 12px system-ui, sans-serif; background: #fff; } .plot text { fill: #1b2026; } .plot .q { fill: #59636e; }
.plot .t { font-weight: 600; font-size: 14px; } .plot .calm { fill: #1560a8; } .plot .hot { fill: #b23c00; }
.plot .axis { stroke: #59636e; fill: none; } .plot .roof { stroke: #1560a8; stroke-width: 2; fill: none; }
</style>"""
"""The colours of a plot that stands alone; a page has its own."""


@dataclass(frozen=True)
class Bar:
    """What an architecture's count consists of; `excess` None: nobody knows it."""

    arch: str
    ideal: int
    excess: int | None


Row = tuple[str, Sequence[Bar]]


@dataclass(frozen=True)
class Panel:
    """A part of a plot: its height and what it draws, from its own top left corner on."""

    height: float
    body: str


def document(panels: Sequence[Panel]) -> str:
    """The plots as an SVG file of their own."""
    return drawn(panels, ' xmlns="http://www.w3.org/2000/svg"', STYLE) + "\n"


def drawn(panels: Sequence[Panel], names: str = "", style: str = "") -> str:
    """Panels below each other; a page gives them its own colours."""
    body, top = [], 0.0
    for panel in panels:
        body.append(f'<g transform="translate(0 {top:g})">{panel.body}</g>')
        top += panel.height
    size = f'viewBox="0 0 {WIDTH} {top:g}" width="{WIDTH}" height="{top:g}"'
    return "\n".join(
        [f'<svg{names} class="plot" {size} role="img" aria-label="plots of the report">', style, *body, "</svg>"]
    )


# ---- what is plotted
def of_launch(judged: Sequence[Conflicts], run: Run | None = None) -> list[Panel]:
    """What lines cost, how busy the banks are in the worst request, and what limits the launch if it was timed."""
    rows = worst_lines(judged)
    panels = [bars("Transactions by line", rows)] if rows else [note("No line has a conflict.")]
    panels += load(judged)
    for one in (run.executions or (run,)) if run else ():
        if one.cycles is not None:
            busy = one.cycles.resources
            panels += roofline(
                one.cycles.figures.name, one.cycles.total, busy.get("issue", 0), busy.get("shared memory", 0)
            )
    return panels


def of_kernel_advice(advice: KernelAdvice) -> list[Panel]:
    """What layouts of a kernel cost, and its worst request before and after."""
    tried = [("as written", advice.before), *((one.name, one.measured) for one in advice.tried if one.is_same)]
    rows = [
        (name, costs(advice.archs, [c.transactions for c in one.costs], [c.ideal for c in one.costs]))
        for name, one in tried
        if one is not None
    ]
    before, after = advice.before.run.judged, advice.after.run.judged
    loads = [*load(before, "as written"), *(load(after, "as advised", calm=True) if advice.best else ())]
    return [bars("Transactions by layout", rows), *loads]


def of_pattern_advice(advice: Sequence[ArrayAdvice]) -> list[Panel]:
    """What layouts of each array cost, beside the least of any layout."""
    panels = []
    for one in advice:
        layouts = (one.before, *one.better, *one.threads)
        rows = [(layout.names, costs(one.archs, layout.transactions, one.bound)) for layout in layouts]
        panels.append(bars(f"Transactions by layout of {one.array.name}", rows))
    return panels


def of_layout_advice(advice: LayoutAdvice) -> list[Panel]:
    """What layouts behind copies cost."""
    layouts = (advice.before, *advice.better)
    rows = [(one.layout.name, costs(advice.archs, one.transactions, one.ideal)) for one in layouts]
    return [bars("Transactions by layout", rows)]


def costs(archs: Sequence[Architecture], counts: Sequence[int], ideals: Sequence[int]) -> list[Bar]:
    """The bars of a layout, of its transactions on each architecture."""
    figures = zip(archs, counts, ideals, strict=True)
    return [Bar(arch.name, ideal, count - ideal) for arch, count, ideal in figures]


def worst_lines(judged: Sequence[Conflicts]) -> list[Row]:
    """The lines with conflicts, the worst first. The code of each architecture may have others."""
    lines: dict[object, dict[str, list[SiteConflicts]]] = {}
    for conflicts in judged:
        for site in conflicts.sites:
            key = (site.file, site.line) if site.line else site.site
            lines.setdefault(key, {}).setdefault(conflicts.arch.name, []).append(site)
    hot = {key: max(heat(sites) for sites in archs.values()) for key, archs in lines.items()}
    return [
        (label(next(iter(lines[key].values()))[0]), [bar(arch, sites) for arch, sites in lines[key].items()])
        for key in sorted(lines, key=lambda key: -hot[key])
        if hot[key]
    ]


def label(site: SiteConflicts) -> str:
    return f"{place(site.site)}  {site.text.strip() or site.opcode}" if site.line else site.text or site.opcode


def bar(arch: str, sites: Sequence[SiteConflicts]) -> Bar:
    known = [ends(site.excess).high for site in sites if site.excess is not None]
    return Bar(arch, sum(site.ideal or 0 for site in sites), sum(known) if len(known) == len(sites) else None)


# ---- panels
def note(text: str) -> Panel:
    return Panel(40, words(8, 24, text, "q"))


def bars(title: str, rows: Sequence[Row]) -> Panel:
    """A bar for each row and architecture: the ideal, and behind it the excess."""
    shown = rows[:MOST_ROWS]
    most = max((b.ideal + (b.excess or 0) for _, row in shown for b in row), default=0) or 1
    scale, top = (WIDTH - LEFT - RIGHT) / most, 58.0
    parts = [words(8, 20, title, "t"), *swatch(8, "calm", "ideal"), *swatch(80, "hot", "beyond the ideal: conflicts")]
    for name, row in shown:
        parts.append(words(8, top + 13, short(name, LETTERS), title=name))
        for one in row:
            least, more = one.ideal * scale, (one.excess or 0) * scale
            said = "unknown" if one.excess is None else f"{one.ideal + one.excess:,}"
            parts.append(words(LEFT - 8, top + 13, one.arch if len(row) > 1 else "", "q", "end"))
            parts.append(rect(LEFT, top + 3, least, "calm", f"{one.arch}: ideal {one.ideal:,}"))
            parts.append(rect(LEFT + least, top + 3, more, "hot", f"{one.arch}: {one.excess or 0:,} beyond the ideal"))
            parts.append(words(LEFT + least + more + 6, top + 13, said))
            top += 18
        top += 8
    if len(rows) > len(shown):
        parts.append(words(8, top + 12, f"{len(rows) - len(shown)} more are not drawn", "q"))
        top += 20
    return Panel(top + 16, "".join(parts))


def load(judged: Sequence[Conflicts], what: str = "", calm: bool = False) -> Iterator[Panel]:
    """For each architecture each bank's passes for the worst request, also one without conflict if `calm`."""
    for conflicts in judged:
        site = max(conflicts.sites, key=worst_excess, default=None)
        if site is None or site.worst is None or not (worst_excess(site) or calm):
            continue
        worst = site.worst
        found = explain(worst.address, worst.op, worst.width, worst.mask, conflicts.arch)
        if not found.passes:
            continue
        passes = Counter(bank for step in found.passes for bank in set(step.banks))
        most, step, high = max(passes.values()), (WIDTH - 60) / conflicts.arch.banks, 90
        title = f"Passes of each bank for the worst request{f', {what}' if what else ''}, {conflicts.arch.name}"
        parts = [words(8, 20, title, "t"), words(8, 38, short(label(site), 100), "q")]
        parts.append(words(40, 58, str(most), "q", "end"))
        for bank in range(conflicts.arch.banks):
            tall = passes[bank] * high / most
            said = f"bank {bank}: {passes[bank]} of {len(found.passes)} passes"
            kind = "hot" if passes[bank] > 1 else "calm"
            parts.append(rect(48 + bank * step, 50 + high - tall, step * 0.8, kind, said, tall))
            if bank % 4 == 0 or bank == conflicts.arch.banks - 1:
                parts.append(words(48 + (bank + 0.4) * step, 50 + high + 14, str(bank), "q", "middle"))
        parts.append(f'<path class="axis" d="M46 50v{high}h{WIDTH - 60}"/>')
        yield Panel(50 + high + 34, "".join(parts))


def roofline(arch: str, total: int, issue: float, shared: float) -> Iterator[Panel]:
    """The share of the time in which instructions are issued, below its roof. Of `total` cycles, `issue` are needed to
    issue and `shared` to serve shared memory; at the roof, one of the two is busy all the time."""
    if not (total and issue and shared):
        return
    x, y = issue / shared, issue / total
    right, high, left, top = max(2.0, 1.25 * x), 170.0, 60.0, 50.0
    wide = WIDTH - left - RIGHT

    def at(across: float, up: float) -> str:
        return f"{left + wide * across / right:.1f} {top + high * (1 - up):.1f}"

    px, py = at(x, y).split()
    limit = "shared memory" if shared > issue else "issuing"
    said = f"{y:.0%} of the time issuing, {min(1.0, x):.0%} at most: {limit} is the lower roof"
    yield Panel(
        top + high + 60,
        words(8, 20, f"Roofline of shared memory, one SM of {arch}", "t")
        + words(8, 38, said, "q")
        + f'<path class="axis" d="M{left} {top}v{high}h{wide}"/>'
        + f'<path class="roof" d="M{at(0, 0)}L{at(1, 1)}L{at(right, 1)}"/>'
        + f'<circle class="hot" cx="{px}" cy="{py}" r="6"><title>{escape(said)}</title></circle>'
        + words(left - 6, top + 8, "100%", "q", "end")
        + words(left - 6, top + high, "0%", "q", "end")
        + "".join(words(left + wide * n / right, top + high + 16, str(n), "q", "middle") for n in range(int(right) + 1))
        + words(left + wide / 2, top + high + 34, "cycles of issuing for each cycle of shared memory", "q", "middle"),
    )


# ---- SVG
def words(x: float, y: float, text: str, kind: str = "", anchor: str = "start", title: str = "") -> str:
    told = f"<title>{escape(title)}</title>" if title and title != text else ""
    look = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{look}>{escape(text)}{told}</text>' if text else ""


def rect(x: float, y: float, width: float, kind: str, title: str, height: float = 13) -> str:
    size = f'width="{width:.1f}" height="{height:.1f}"'
    body = f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" {size}><title>{escape(title)}</title></rect>'
    return body if width > 0 and height > 0 else ""


def swatch(x: float, kind: str, text: str) -> Iterator[str]:
    yield rect(x, 32, 12, kind, text, 12)
    yield words(x + 18, 42, text, "q")


def short(text: str, letters: int) -> str:
    return text if len(text) <= letters else text[: letters - 1] + "…"
