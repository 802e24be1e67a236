"""Propose a layout that cures conflicts, and prove it.

`banksim advise ACCESS …` judges every layout of the arrays of a pattern by all the accesses given, `banksim advise
--layout LAYOUT --threads …` every swizzle and padding of shared memory by all the copies given. For a kernel's source:
`banksim advise kernel FILE:NAME` (see its own --help).
"""

from argparse import ArgumentParser, Namespace

from banksim.commands.shared import advice_options, report_options
from banksim.commands.shared.layout_options import copies, has_layout, layout_options
from banksim.commands.shared.pattern_options import access_options, description

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

    return advice_options.show(options, "layout", advice, lambda: {"layouts": advice.to_json()})


def pattern(options: Namespace) -> int:
    """Advice on the arrays of a pattern."""
    from banksim.advise.patterns.advice import advise, together

    found = advise(**description(options), arch=report_options.architectures(options))

    def content() -> dict[str, object]:
        transactions, more = together(found)
        whole = {"transactions": list(transactions), "bytes_added": more}
        return {"arrays": [one.to_json() for one in found], "together": whole}

    return advice_options.show(options, "pattern", found, content)
