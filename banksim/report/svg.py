"""The picture of a layout as SVG: a cell for each element with its place, coloured by its bank."""

from html import escape

from banksim.report.text.layout_picture import Grid, hue

WIDTH, HEIGHT = 44, 26
"""Width and height of a cell."""
MARGIN, TITLE = 36, 26


def svg(found: Grid) -> str:
    """Rows and columns are numbered; a cell shows the element's place and, smaller, its bank."""
    rows, columns = found.places.shape
    size = f'width="{MARGIN + columns * WIDTH + 8}" height="{TITLE + MARGIN + rows * HEIGHT}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace" font-size="11" text-anchor="middle">',
        f"<title>{escape(found.text)}</title>",
        f'<text x="8" y="17" text-anchor="start" font-size="13">{escape(found.text)}, banks on '
        f"{escape(found.arch.name)}</text>",
    ]
    for column in range(columns):
        lines.append(text(MARGIN + (column + 0.5) * WIDTH, TITLE + 20, column, "#666"))
    banks = found.banks
    for row in range(rows):
        top = TITLE + MARGIN - 8 + row * HEIGHT
        lines.append(text(MARGIN / 2, top + 17, row, "#666"))
        for column in range(columns):
            bank, left = int(banks[row, column]), MARGIN + column * WIDTH
            red, green, blue = hue(bank, found.arch.banks)
            lines.append(
                f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="rgb({red},{green},{blue})" '
                f'stroke="#888" stroke-width="0.5"><title>({row},{column}): place {found.places[row, column]}, '
                f"bank {bank}</title></rect>"
            )
            lines.append(text(left + WIDTH / 2 - 5, top + 17, found.places[row, column], "#000"))
            lines.append(f'<text x="{left + WIDTH - 8}" y="{top + 23}" font-size="7" fill="#444">{bank}</text>')
    return "\n".join([*lines, "</svg>", ""])


def text(x: float, y: float, what: object, colour: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}">{what}</text>'
