"""Tell which source line costs more or less than before: of two reports (--json) or two traces.

Behind a report of `banksim run` or `banksim kernel` AFTER may be a source page of Nsight Compute (ncu --import FILE
--csv --page source): any line that was measured to take more or fewer transactions than predicted is exit status 1.
"""

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING

from banksim.banks.comparison import Comparison, Line, compare, from_conflicts, from_json
from banksim.banks.pieces import judge_pieces
from banksim.commands.shared import report_options
from banksim.errors import InputError
from banksim.storage import named_format, open_trace
from banksim.storage.files import opened

if TYPE_CHECKING:
    from banksim.runs.validation.measured_lines import NotCompared

EXAMPLE = """\
  banksim pattern "tile[threadIdx.x][threadIdx.y]" --declare "int tile[32][32]" --block 32,32 --json > before.json
  banksim pattern "tile[threadIdx.x][threadIdx.y]" --declare "int tile[32][33]" --block 32,32 --json > after.json
  banksim diff before.json after.json
  banksim diff report.json source_page.csv"""
LARGEST = 1 << 28
"""The most bytes of a report that are read."""


def options(parser: ArgumentParser) -> None:
    parser.add_argument("before", metavar="BEFORE", help="a report of any command (--json), or a trace file")
    parser.add_argument("after", metavar="AFTER", help="the same of the changed program (-: standard input)")
    parser.add_argument(
        "--arch", metavar="NAME,…", default="sm_90", help="judge traces by these architectures (default sm_90)"
    )
    parser.add_argument("--all-lines", action="store_true", help="show the lines without change too")
    parser.add_argument("--json", action="store_true", help="print the same as JSON")


def run(options: Namespace) -> int:
    from banksim.runs.validation.measured_lines import is_page

    if is_page(options.before):
        raise InputError(
            f"{options.before} is a source page of Nsight Compute: give it second, behind a report (--json)"
        )
    if is_page(options.after):
        return against_page(options)
    before, after = analysis(options.before, options), analysis(options.after, options)
    both = [arch for arch in before if arch in after]
    if not both:
        raise InputError(
            f"{options.before} is judged by {', '.join(before) or 'nothing'}, {options.after} by "
            f"{', '.join(after) or 'nothing'}: judge both by the same architecture"
        )
    compared = [compare(arch, before[arch], after[arch]) for arch in both]
    show(compared, options)
    return int(any(one.is_regression for one in compared))


def against_page(options: Namespace) -> int:
    """What was measured beside what was predicted: every line that differs."""
    from banksim.runs.validation.measured_lines import measured_lines

    report, page = report_text(options.before), report_text(options.after)
    before, after, left = measured_lines(report, options.before, page, options.after)
    compared = [compare(arch, before[arch], after[arch]) for arch in before if arch in after]
    show(compared, options, left)
    return int(any(change.verdict != "same" for one in compared for change in one.changes))


def report_text(path: str) -> str:
    with opened(path) as file:
        text = file.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise InputError(f"{path}: larger than {LARGEST:,} bytes: this is no report")
    return text.decode("utf-8", "replace")


def analysis(path: str, options: Namespace) -> dict[str, list[Line]]:
    """The lines of a report or a trace, by architecture."""
    if path == "-" or named_format(path) is None:
        return from_json(report_text(path), path)
    return from_conflicts(judge_pieces(open_trace(path).pieces, report_options.architectures(options)))


def show(compared: list[Comparison], options: Namespace, left: "NotCompared | None" = None) -> None:
    if options.json:
        from banksim.report.json import document

        more = {"not_compared": asdict(left)} if left else {}
        print(document("diff", architectures=[one.to_json() for one in compared], **more))
        return
    from banksim.report.text import comparison, console, validation

    screen = console.console()
    console.show(comparison.report(compared, screen.width, options.all_lines), screen)
    if left:
        for line in validation.not_compared(left.unknown, left.wide, screen.width, left.remote):
            console.show(line, screen)
