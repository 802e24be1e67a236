"""The report on races and uninitialized reads: where a barrier is missing, and which accesses it would order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from banksim.findings import Access, Finding, Race, UninitializedRead, missing
from banksim.report.lines import label, place
from banksim.report.style import CALM, HOT, QUIET, STRONG
from banksim.report.table import fold
from banksim.report.words import number, plural

NONE = {
    "races": "No races: barriers order all accesses to shared memory that need it.",
    "uninitialized": "No read of uninitialized shared memory.",
}
HEADS = {"races": "race", "uninitialized": "uninitialized read"}


def report(found: Sequence[Finding], checks: Sequence[str], width: int, lost: int = 0) -> Iterator[Text]:
    """Paragraphs: for each check its findings, or that there are none; how many were `lost`."""
    for check in checks:
        of_check = [one for one in found if one.check == check]
        if not of_check:
            yield joined([Text(NONE[check], CALM)], width)
            continue
        yield joined([Text(f"{plural(len(of_check), HEADS[check])} in shared memory", HOT)], width)
        for one in of_check:
            yield joined(race(one) if isinstance(one, Race) else uninitialized(one), width)
    if lost:
        yield joined([Text(f"{plural(lost, 'more finding')} found no room in this report.", HOT)], width)


def joined(lines: Sequence[Text], width: int) -> Text:
    """Lines folded to a width, those that go on indented like the first."""
    out: list[Text] = []
    for line in lines:
        indent = " " * (len(line.plain) - len(line.plain.lstrip()))
        body = line[len(indent) :]
        out += (Text.assemble(indent, part) for part in fold(body, max(width - len(indent), 20)))
    return Text("\n").join(out)


def race(one: Race) -> list[Text]:
    verbs = [one.first.kind, one.second.kind]
    wide = max(map(len, verbs))
    lines = [Text(missing(one, place), STRONG)]
    for verb, access in zip(verbs, (one.first, one.second), strict=True):
        lines.append(Text.assemble(f"  {verb:<{wide}}  ", (label(access.site), STRONG)))
        lines.append(Text(f"  {'':<{wide}}  {thread(access)}", QUIET))
    lines.append(Text(f"  {example(one)}{', both the same value' if one.same_value else ''}", QUIET))
    return lines


def uninitialized(one: UninitializedRead) -> list[Text]:
    return [
        Text("Nothing has written what is read here:", STRONG),
        Text.assemble(f"  {one.access.kind}  ", (label(one.access.site), STRONG)),
        Text(f"  {'':<{len(one.access.kind)}}  {thread(one.access)}", QUIET),
        Text(f"  {example(one)}", QUIET),
    ]


def thread(access: Access) -> str:
    return f"warp {access.warp}, lane {access.lane}"


def example(one: Finding) -> str:
    times = "seen once" if one.count == 1 else f"seen {number(one.count)} times"
    x, y, z = one.block
    return f"at byte {number(one.address)} of shared memory in block ({x}, {y}, {z}); {times}"
