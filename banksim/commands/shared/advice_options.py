"""What commands that propose layouts share: by which architectures, and how to show it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from banksim.commands.shared.output_options import OutputFile
from banksim.system.writing import write as write_file

if TYPE_CHECKING:
    from rich.text import Text

    from banksim.report.plots import Panel


@dataclass(frozen=True)
class Forms:
    """Advice in its forms, each made when it is asked for. `text`: for a terminal so many columns wide; `content`: of
    the JSON; `page`: HTML; `panels`: what a plot draws."""

    text: Callable[[int], Text]
    content: Callable[[], Mapping[str, object]]
    page: Callable[[], str]
    panels: Callable[[], Sequence[Panel]]


def show(options: Namespace, forms: Forms) -> int:
    """Write the files that were asked for, and print the text or JSON. The exit status."""
    if options.html:
        write_file(options.html, forms.page())
    if options.plot:
        from banksim.report.plots import document as drawing

        write_file(options.plot, drawing(forms.panels()))
    if options.json:
        from banksim.report.json import document

        print(document("advise", **forms.content()))
        return 0
    from banksim.report.text import console

    screen = console.console()
    console.show(forms.text(screen.width), screen)
    return 0


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
