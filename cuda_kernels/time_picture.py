"""`validate` as a picture: transactions measured against predicted, and times against predicted transactions."""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from cuda_kernels.validate import Validation

SIDE, LEFT, TOP, GAP, LEGEND = 400, 80, 60, 90, 230
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
"""Okabe and Ito's palette, which every kind of colour vision tells apart."""
SHAPES = "circle", "square", "diamond"

Point = tuple[float, float, int, str]


def svg(found: Validation) -> str:
    """An SVG of two panels with logarithmic axes; every point says its kernel's name when pointed at."""
    groups = list(dict.fromkeys(v.group for v in found.verdicts))
    counted: list[Point] = []
    timed: list[Point] = []
    for v in found.verdicts:
        record, predicted = v.record, v.prediction.transactions
        if record is None or not predicted:
            continue
        number = groups.index(v.group)
        if record.rows:
            measured = sum(row.transactions or 0 for row in record.rows)
            counted.append((predicted, measured, number, f"{v.name}: {predicted:,} predicted, {measured:,} measured"))
        if record.microseconds:
            time = record.microseconds.median
            timed.append((predicted, time, number, f"{v.name}: {predicted:,} transactions, {time:,.2f} µs"))
    panels = [
        f'<text x="{LEFT}" y="22" font-size="15">banksim against {escape(found.source)}</text>',
        *panel(LEFT, "transactions: measured against predicted", "transactions measured", counted, True),
        *panel(LEFT + SIDE + GAP, "time of a launch against predicted transactions", "µs measured", timed, False),
    ]
    return page(LEFT + 2 * SIDE + GAP, panels, groups)


def cycles_svg(found: Mapping[str, Sequence[tuple[str, float, float]]]) -> str:
    """An SVG of simulated against measured cycles: by kind, what was timed, simulated and measured cycles."""
    points = [
        (theirs, mine, number, f"{name}: {mine:,.0f} simulated, {theirs:,.0f} measured")
        for number, several in enumerate(found.values())
        for name, mine, theirs in several
    ]
    panels = panel(LEFT, "cycles: simulated against an H200's clock", "simulated", points, True, "measured")
    return page(LEFT + SIDE, panels, found)


def page(right: int, panels: Sequence[str], kinds: Iterable[str]) -> str:
    """The whole picture: panels that end at `right`, and behind them the mark of each kind of points."""
    width, height = right + LEGEND, TOP + SIDE + 60
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *panels,
    ]
    for number, kind in enumerate(kinds):
        x, y = right + 25, TOP + 12 + 20 * number
        parts += [mark(x, y - 4, number, kind), f'<text x="{x + 12}" y="{y}">{escape(kind)}</text>']
    return "\n".join([*parts, "</svg>"]) + "\n"


def panel(
    left: int, title: str, label: str, points: Sequence[Point], diagonal: bool, below: str = "transactions predicted"
) -> list[str]:
    bottom = TOP + SIDE
    parts = [
        f'<text x="{left}" y="{TOP - 12}">{escape(title)}</text>',
        f'<rect x="{left}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#666"/>',
        f'<text x="{left + SIDE / 2}" y="{bottom + 40}" text-anchor="middle">{below}</text>',
        f'<text transform="translate({left - 56} {TOP + SIDE / 2}) rotate(-90)" text-anchor="middle">{label}</text>',
    ]
    if not points:
        return [*parts, f'<text x="{left + 20}" y="{TOP + 30}">nothing was measured</text>']
    x_low, x_high = decades([p[0] for p in points])
    y_low, y_high = (x_low, x_high) if diagonal else decades([p[1] for p in points])

    def x(value: float) -> float:
        return left + SIDE * (math.log10(value) - x_low) / (x_high - x_low)

    def y(value: float) -> float:
        return bottom - SIDE * (math.log10(max(value, 10.0**y_low)) - y_low) / (y_high - y_low)

    for power in range(x_low, x_high + 1):
        at = x(10.0**power)
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{bottom}" stroke="#ddd"/>')
        parts.append(f'<text x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">{tick(power)}</text>')
    for power in range(y_low, y_high + 1):
        at = y(10.0**power)
        parts.append(f'<line x1="{left}" x2="{left + SIDE}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{tick(power)}</text>')
    if diagonal:
        parts.append(f'<line x1="{left}" y1="{bottom}" x2="{left + SIDE}" y2="{TOP}" stroke="#666"/>')
    return [*parts, *(mark(x(a), y(b), number, text) for a, b, number, text in points)]


def decades(values: Sequence[float]) -> tuple[int, int]:
    """Powers of ten that hold all values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def tick(power: int) -> str:
    return f"{10**power:,}" if 0 <= power < 5 else f'10<tspan dy="-5" font-size="9">{power}</tspan>'


def mark(x: float, y: float, number: int, text: str) -> str:
    """A point of a group: its colour, and its shape where the colours begin anew."""
    colour, shape = COLOURS[number % len(COLOURS)], SHAPES[number // len(COLOURS) % len(SHAPES)]
    style = f'fill="{colour}" fill-opacity="0.75"'
    title = f"<title>{escape(text)}</title>"
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" {style}>{title}</circle>'
    turn = f' transform="rotate(45 {x:.1f} {y:.1f})"' if shape == "diamond" else ""
    return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" {style}{turn}>{title}</rect>'
