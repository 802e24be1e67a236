"""The report on a tile that tensor maps copy: what each way of reading it costs under each swizzle."""

from collections.abc import Iterator

from rich.text import Text

from banksim.advise.layouts.tiles import WHAT, JudgedTile, Reading, TileAdvice
from banksim.report.text.style import CALM, HOT, QUIET, STRONG
from banksim.report.text.table import Column, fitted, fold
from banksim.wording import number, plural


def report(advice: TileAdvice, width: int) -> Text:
    """A row for each layout, a column for each way of reading, and what to write for the best."""
    heading = (
        f"Tile of {number(advice.rows)} × {number(advice.columns)} elements of {plural(advice.element, 'byte')} on "
        f"{advice.arch.name}: transactions that reading all of it takes"
    )
    parts = [fold(Text(heading, STRONG), width), table(advice, width)]
    parts.append([line for one in explained(advice) for line in fold(one, width)])
    calm = not advice.best.misfits and not advice.best.excess
    parts.append(fold(Text(advice.verdict, CALM if calm else STRONG), width))
    return Text("\n\n").join(Text("\n").join(lines) for lines in parts if lines)


def table(advice: TileAdvice, width: int) -> list[Text]:
    columns = [
        Column((first.way, ""), [cell(one.readings[place]) for one in advice.judged])
        for place, first in enumerate(advice.best.readings)
    ]
    ideals = [
        [r.ideal for r in column if r.ideal is not None]
        for column in zip(*(one.readings for one in advice.judged), strict=True)
    ]
    least = [Text(number(max(known)) if known else "–", QUIET) for known in ideals]
    columns = [Column((c.head[0], ""), [*c.cells, last]) for c, last in zip(columns, least, strict=True)]
    columns.insert(0, Column(("copies", ""), [*(Text(number(one.layout.copies)) for one in advice.judged), Text("")]))
    labels = [*(Text(label(one)) for one in advice.judged), Text("the least that any could take", QUIET)]
    return fitted(labels, columns, width)


def label(one: JudgedTile) -> str:
    return f"swizzle {one.layout.name}, boxes of {one.layout.rows} × {one.layout.columns}"


def cell(reading: Reading) -> Text:
    if reading.transactions is None:
        return Text("–", QUIET)
    return Text(number(reading.transactions), CALM if reading.is_free else HOT)


def explained(advice: TileAdvice) -> Iterator[Text]:
    """What each way of reading is, why it does not fit where it does not, and the descriptors of wgmma in the best."""
    for place, one in enumerate(advice.best.readings):
        text = Text.assemble((one.way, STRONG), f": {WHAT[one.way]}")
        if one.descriptor:
            d = one.descriptor
            text.append(f"; descriptor: leading {d.leading:,}, stride {d.stride:,} bytes, swizzle {d.swizzle}", QUIET)
        for why in dict.fromkeys(judged.readings[place].why for judged in advice.judged):
            if why:
                text.append(f"; – {why}", QUIET)
        yield text
