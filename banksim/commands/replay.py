"""Judge the requests of a trace file by the rules of one architecture or several."""

import sys
from argparse import ArgumentParser, Namespace
from functools import partial

from banksim.banks.pieces import judge_pieces
from banksim.commands.shared import report_options, worker_options
from banksim.report.json import conflicts
from banksim.storage import FORMATS, open_trace
from banksim.system.progress import ProgressBar

EXAMPLE = """\
  banksim pattern "tile[threadIdx.x][threadIdx.y]" --declare "int tile[32][32]" --block 32,32 --trace out.parquet
  banksim replay out.parquet --arch kepler-4,kepler-8,sm_90"""


def options(parser: ArgumentParser) -> None:
    parser.add_argument("trace", metavar="FILE", help="a trace file, a URL, or - for an Arrow stream on standard input")
    formats = "; ".join(f"{name}: {what}" for name, what in FORMATS.items())
    parser.add_argument(
        "--input-format", choices=FORMATS, help=f"what the file holds, if its name does not tell. {formats}"
    )
    worker_options.options(parser, "for Parquet", "judge")
    group = report_options.options(parser)
    group.add_argument("--all-lines", action="store_true", help="show the lines without conflicts too")


def run(options: Namespace) -> int:
    rules = report_options.architectures(options)
    report_options.limit(options)
    elsewhere = worker_options.workers(options)
    source = open_trace(options.trace, options.input_format)
    progress = ProgressBar("requests", source.requests)
    shown = progress if sys.stderr.isatty() else None
    try:
        if elsewhere:
            from banksim.distributed import replay

            judged = replay(options.trace, rules, progress=shown, **elsewhere)
        else:
            judged = judge_pieces(source.pieces, rules, progress=shown)
    finally:
        progress.clear()
    plain = partial(conflicts, "replay", judged, notes=source.notes)
    report_options.write_html(options, plain, judged, "Shared-memory bank conflicts")
    if report_options.is_data(options):
        return report_options.finish(options, plain, judged, [])
    from banksim.report.text.console import console, show
    from banksim.report.text.trace import report

    screen = console()
    show(report(judged, source.notes, screen.width, options.picture, options.all_lines), screen)
    return report_options.status(judged, report_options.limit(options))
