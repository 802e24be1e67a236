"""Propose a layout that cures conflicts, and prove it.

`banksim advise ACCESS …` judges every layout of the arrays of a pattern by all the accesses given, `banksim advise
--layout LAYOUT --threads …` every swizzle and padding of shared memory by all the copies given. For a kernel's source:
`banksim advise kernel FILE:NAME` (see its own --help).
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from banksim.commands.shared import advice_options, report_options
from banksim.commands.shared.layout_options import copies, has_layout, layout_options
from banksim.commands.shared.pattern_options import access_options, description

if TYPE_CHECKING:
    from rich.text import Text

    from banksim.report.plots import Panel

EXAMPLE = """\
  banksim advise "tile[threadIdx.x][threadIdx.y]" "tile[threadIdx.y][threadIdx.x] = v" \\
      --declare "float tile[32][32]" --block 32,32 --arch kepler-8,sm_90
  banksim advise --layout '(64,64):(64,1)' --dtype half --threads '((8,2,2,4),8):((1,8,512,16),64)' \\
      --atom ldmatrix_x4"""


def options(parser: ArgumentParser) -> None:
    access_options(parser)
    layout_options(parser)
    advice_options.options(parser)


def run(options: Namespace) -> int:
    return layouts(options) if has_layout(options) else pattern(options)


def layouts(options: Namespace) -> int:
    """Advice on the layout of shared memory behind copies."""
    from banksim.advise.layouts.advice import advise_layouts

    shared, found = copies(options)
    advice = advise_layouts(shared, found, report_options.architectures(options))

    def text(width: int) -> Text:
        from banksim.report.text.layout_advice import report

        return report(advice, width, options.all)

    def page() -> str:
        from banksim.report.html.layout_advice import of_layouts

        return of_layouts(advice, options.words)

    def panels() -> list[Panel]:
        from banksim.report.plots import of_layout_advice

        return of_layout_advice(advice)

    forms = advice_options.Forms(text, lambda: {"layouts": advice.to_json()}, page, panels)
    return advice_options.show(options, forms)


def pattern(options: Namespace) -> int:
    """Advice on the arrays of a pattern."""
    from banksim.advise.patterns.advice import advise, together

    found = advise(**description(options), arch=report_options.architectures(options))

    def text(width: int) -> Text:
        from banksim.report.text.pattern_advice import report

        return report(found, width, options.all)

    def content() -> dict[str, object]:
        transactions, more = together(found)
        whole = {"transactions": list(transactions), "bytes_added": more}
        return {"arrays": [one.to_json() for one in found], "together": whole}

    def page() -> str:
        from banksim.report.html.advice import of_pattern

        return of_pattern(found, options.words)

    def panels() -> list[Panel]:
        from banksim.report.plots import of_pattern_advice

        return of_pattern_advice(found)

    return advice_options.show(options, advice_options.Forms(text, content, page, panels))
