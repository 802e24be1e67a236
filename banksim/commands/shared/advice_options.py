"""What commands that propose layouts share: by which architectures, and how to show it."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from importlib import import_module

from banksim.commands.shared.output_options import OutputFile
from banksim.system.writing import write as write_file


def show(options: Namespace, kind: str, advice: object, content: Callable[[], Mapping[str, object]]) -> int:
    """Write the files that were asked for, and print the text or JSON, of which `content` is what it holds. The exit
    status. Of each `kind` of advice, the other forms are made by the functions of `banksim.report` that its name is in.
    """
    if options.html:
        page = getattr(import_module("banksim.report.html.advice"), f"of_{kind}")
        write_file(options.html, page(advice, options.words))
    if options.plot:
        plots = import_module("banksim.report.plots")
        write_file(options.plot, plots.document(getattr(plots, f"of_{kind}_advice")(advice)))
    if options.json:
        from banksim.report.json import document

        print(document("advise", **content()))
        return 0
    from banksim.report.text import console

    screen = console.console()
    report = import_module(f"banksim.report.text.{kind}_advice").report
    console.show(report(advice, screen.width, options.all), screen)
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
