"""Count the bank conflicts of index expressions over the threads of a block, or of copies between layouts."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from functools import partial
from typing import TYPE_CHECKING

from banksim.architectures.bank_rules import Architecture
from banksim.banks.pieces import replay
from banksim.commands.shared import report_options
from banksim.commands.shared.layout_options import copies, has_layout, layout_options, shared
from banksim.commands.shared.output_options import OutputStream
from banksim.commands.shared.pattern_options import access_options, description
from banksim.commands.shared.trace_option import aside, trace_option, written
from banksim.errors import InputError
from banksim.patterns import inputs
from banksim.report.json import conflicts
from banksim.requests.trace import Trace

if TYPE_CHECKING:
    from banksim.patterns.build import Pattern
    from banksim.report.html.conflicts import Told

EXAMPLE = """\
  banksim pattern "tile[threadIdx.x][threadIdx.y]" --declare "int tile[32][33]" --block 32,32
  banksim pattern "s[t] += s[t + n]" --declare "float s[256]" --block 256 --let "t=threadIdx.x" \\
      --for "n=128,64,32" --where "t < n" --arch kepler-4,sm_90
  banksim pattern --layout 'S<3,3,3> o (8,64):(64,1)' --dtype half --threads '(32,8):(8,1)'"""


def options(parser: ArgumentParser) -> None:
    access_options(parser)
    layout_options(parser)
    parser.add_argument(
        "--allow-out-of-bounds", action="store_true", help="report indices beyond the declared arrays too"
    )
    parser.add_argument(
        "--draw",
        action=OutputStream,
        metavar="FILE.svg",
        help="draw --layout too, each element with its place and bank; -: in the terminal",
    )
    trace_option(parser)
    report_options.options(parser)


def run(options: Namespace) -> int:
    rules = report_options.architectures(options)
    report_options.limit(options)
    if options.draw:
        draw(options, rules[0])
        if not options.threads:
            return 0
    trace, pattern = requests(options)
    judged = [replay(trace, rule) for rule in rules]
    plain = partial(conflicts, "pattern", judged)

    def told() -> Told:
        from banksim.report.html.array_places import of_pattern
        from banksim.report.html.conflicts import Told

        return Told(elements=of_pattern(pattern, trace)) if pattern else Told()

    report_options.write_html(options, plain, judged, "Shared-memory bank conflicts", told)
    with written(options.trace) as writer:
        if writer:
            writer.write(trace)
    with aside(options.trace):
        return report_options.finish(options, plain, judged, [site.text for site in judged[0].sites])


def requests(options: Namespace) -> tuple[Trace, Pattern | None]:
    """What the accesses, or the copies between layouts, ask for; and the pattern if it is one."""
    if has_layout(options):
        from banksim.layouts.build import trace

        return trace(copies(options)[1]), None
    found = inputs.parse(inputs.Description(**description(options), allow_out_of_bounds=options.allow_out_of_bounds))
    return found.trace(), found


def draw(options: Namespace, rule: Architecture) -> None:
    """The picture of `--layout`, in a file or in the terminal."""
    from banksim.layouts.build import grid_of
    from banksim.report.text.layout_picture import grid, picture

    if options.layout is None:
        raise InputError("--draw: give the layout to draw, as --layout '(8,64):(64,1)'")
    found = grid(*grid_of(shared(options), options.dtype or "float"), rule)
    if options.draw == "-":
        from banksim.report.text.console import console, show

        screen = console()
        show(picture(found, screen.width), screen)
    else:
        from banksim.report.svg import svg
        from banksim.system.writing import write

        write(options.draw, svg(found))
