"""What commands that propose layouts share: by which architectures, and how to show it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from banksim.commands.shared.output_options import OutputFile
from banksim.system.writing import write

if TYPE_CHECKING:
    from banksim.report.plots import Panel


def options(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("report")
    group.add_argument(
        "--arch", metavar="NAME,…", default="sm_90", help="cure by all these architectures (default sm_90)"
    )
    group.add_argument("--all", action="store_true", help="show every layout that costs less, and every one refused")
    group.add_argument("--json", action="store_true", help="print the same as JSON")
    group.add_argument(
        "--html", action=OutputFile, metavar="FILE", help="write the report, before and after, as one HTML file too"
    )
    group.add_argument(
        "--plot",
        action=OutputFile,
        metavar="FILE.svg",
        help="draw what the layouts cost, and the banks' load before and after",
    )


def write_files(options: Namespace, page: Callable[[], str], plotted: Callable[[], Sequence[Panel]]) -> None:
    """Write the files of `--html` and `--plot`: `page` makes the one, `plotted` what the other draws."""
    if options.html:
        write(options.html, page())
    if options.plot:
        from banksim.report import plots

        write(options.plot, plots.document(plotted()))
