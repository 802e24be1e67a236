"""The report for people on requests: their figures, and the picture of the worst."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from banksim.banks.conflicts import Conflicts, SiteConflicts
from banksim.banks.rule import explain
from banksim.banks.source_lines import worst_excess
from banksim.report.text.conflict_table import access, figures
from banksim.report.text.picture import diagnosis, duration, picture
from banksim.report.text.style import CALM, STRONG
from banksim.report.text.table import fold
from banksim.wording import listed


def report(judged: Sequence[Conflicts], labels: Sequence[str], width: int, pictures: str = "worst") -> Text:
    """The whole report on one trace, judged by one or several architectures.

    `labels` name the sites, in the order of `Conflicts.sites`; `pictures` is "worst" (of the worst request of
    all, if it has a conflict), "all" (of the worst request of every site) or "none".
    """
    paragraphs = [title("Shared-memory bank conflicts", judged, width)]
    if labels:
        paragraphs.append(figures(judged, [Text(label, STRONG) for label in labels], width))
        paragraphs += drawn(judged, labels, width, pictures)
    else:
        paragraphs.append(Text("No thread accesses shared memory.", CALM))
    return Text("\n\n").join(paragraphs)


def title(what: str, judged: Sequence[Conflicts], width: int) -> Text:
    names = listed([conflicts.arch.name for conflicts in judged])
    return Text("\n").join(fold(Text(f"{what} on {names}", STRONG), width))


def drawn(judged: Sequence[Conflicts], labels: Sequence[str], width: int, pictures: str) -> Iterator[Text]:
    """The pictures that are asked for; where all is well, that it is."""
    if pictures == "all":
        for conflicts in judged:
            for site, label in zip(conflicts.sites, labels, strict=True):
                if site.worst:
                    yield request(conflicts, site, label, width)
    elif pictures == "worst":
        yield from worst(judged, labels, width)


def worst(judged: Sequence[Conflicts], labels: Sequence[str], width: int) -> Iterator[Text]:
    """The request of largest excess by the first architecture by which any has a conflict."""
    for conflicts in judged:
        costs = [worst_excess(site) for site in conflicts.sites]
        if any(costs):
            site, label, _ = max(zip(conflicts.sites, labels, costs, strict=True), key=lambda found: found[2])
            yield request(conflicts, site, label, width)
            return
    if all(conflicts.excess in (0, (0, 0)) for conflicts in judged):
        yield Text("No conflicts: no request takes more transactions than its width asks for.", CALM)


def request(conflicts: Conflicts, site: SiteConflicts, label: str, width: int) -> Text:
    """The worst request of a site: where it is, what it costs and why, and its picture."""
    worst = site.worst
    assert worst is not None
    explanation = explain(worst.address, worst.op, worst.width, worst.mask, conflicts.arch)
    place = f"warp {worst.warp} of block {worst.block}, on {conflicts.arch.name}"
    heading = Text.assemble((label, STRONG), f": {access(worst.op, worst.width)}, {place}")
    said = " ".join(filter(None, (diagnosis(explanation), duration(explanation))))
    lines = [*fold(heading, width), *fold(Text(said), width)]
    if explanation.passes:
        lines.append(picture(explanation, width))
    return Text("\n").join(lines)
