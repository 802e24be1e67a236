"""List the architectures, or show the figures of some with status and source of each."""

from argparse import ArgumentParser, Namespace

from banksim.architectures.bank_rules import architecture, presets

EXAMPLE = "  banksim arch\n  banksim arch sm_90 kepler-8"


def options(parser: ArgumentParser) -> None:
    what = "show this one in full: a family (hopper), a compute capability (sm_90), or that of a GPU (H100)"
    parser.add_argument("name", nargs="*", metavar="NAME", help=what)
    parser.add_argument("--json", action="store_true", help="print the same as JSON")


def run(options: Namespace) -> int:
    chosen = [architecture(name) for name in options.name]
    if options.json:
        from banksim.report.json import architectures

        print(architectures(chosen or presets().values()))
        return 0
    from rich.text import Text

    from banksim.report.text.architectures import details, overview
    from banksim.report.text.console import console, show

    screen = console()
    texts = [details(one, screen.width) for one in chosen] or [overview(presets().values(), screen.width)]
    show(Text("\n\n").join(texts), screen)
    return 0
