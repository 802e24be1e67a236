"""Judge all kernels and programs that a project's file lists, and fail if one is above its limits.

The file is banksim.toml, or pyproject.toml with [tool.banksim], of this folder or the nearest one above. Entries are
judged side by side, each by its own `banksim kernel` or `banksim run` from the file's folder; reports of unchanged
sources, arguments and tools come from the cache. Exit status: 1 if an entry failed, 2 if one could not be judged.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from banksim.commands.shared import report_options, worker_options
from banksim.errors import InputError
from banksim.project import file as project_file
from banksim.system.progress import ProgressBar
from banksim.system.visible import say
from banksim.system.writing import require_writable

if TYPE_CHECKING:
    from banksim.project.file import Entry, Project
    from banksim.project.verdicts import Baseline, Verdict

EXAMPLE = """\
  banksim check
  banksim check transpose "reduce*" --workers 4
  banksim check --format sarif > findings.sarif
  banksim check --baseline banksim-baseline.json --update-baseline"""
FORMATS = report_options.FORMATS | {"junit": "JUnit's XML, for CI servers", "json": "all of it as plain data"}


def options(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="*", metavar="NAME", help='only these entries ("transpose*": all that match)')
    parser.add_argument("--project", metavar="FILE", help="the project's file, if it is another")
    parser.add_argument("--list", action="store_true", help="only list the entries with their commands")
    parser.add_argument("--no-cache", action="store_true", help="judge anew what has not changed")
    worker_options.processes(parser, "judge N entries at a time (default: as many as this machine has processors)")
    group = parser.add_argument_group("report")
    report_options.format_option(group, FORMATS)
    group.add_argument(
        "--json", action="store_const", dest="report_format", const="json", help="short for --format json"
    )
    group.add_argument(
        "--baseline",
        metavar="FILE",
        help="lines that cost no more than in this file do not count (default: the key baseline of the project's file)",
    )
    group.add_argument("--update-baseline", action="store_true", help="accept what is found: write it to the baseline")


def run(options: Namespace) -> int:
    given = Path(options.project).absolute() if options.project else project_file.find(Path.cwd())
    project = project_file.read(given)
    entries = project.chosen(options.name)
    if options.list:
        return listed(project, entries, options.report_format)
    accepted_file = baseline_file(project, options)
    workers = worker_options.count(options)
    if accepted_file and options.update_baseline:
        require_writable(accepted_file)
    from banksim.project.verdicts import STATUS, judge_all, judged_again, read_baseline, write_baseline

    accepted: Baseline | None = None
    if accepted_file and not options.update_baseline:
        accepted = read_baseline(accepted_file)
    progress = ProgressBar("entries", len(entries))
    shown = progress if sys.stderr.isatty() else lambda more: None
    try:
        verdicts = judge_all(project, entries, workers, options.no_cache, accepted, shown)
    finally:
        progress.clear()
    if options.update_baseline and accepted_file:
        wrong = [one.entry.name for one in verdicts if one.error]
        if wrong:
            say(f"{accepted_file}: left as it is, since {', '.join(wrong)} could not be judged")
        else:
            write_baseline(accepted_file, project, verdicts)
            accepted = read_baseline(accepted_file)
            verdicts = tuple(judged_again(project, one, accepted) for one in verdicts)
    show(project, verdicts, options.report_format)
    return max(STATUS[one.outcome] for one in verdicts)


def baseline_file(project: Project, options: Namespace) -> Path | None:
    """The file of `--baseline`, else that of the project's file, which is relative to its folder."""
    if options.baseline:
        return Path(options.baseline)
    if options.update_baseline and not project.baseline:
        raise InputError(
            f'--update-baseline: {project.file.name} names no file: add baseline = "banksim-baseline.json" or give '
            "--baseline FILE"
        )
    return project.folder / project.baseline if project.baseline else None


def listed(project: Project, entries: Sequence[Entry], form: str) -> int:
    """The entries, with their commands."""
    if form == "json":
        from banksim.report.json import entries as plain

        print(plain(project, entries))
        return 0
    if form != "text":
        raise InputError(f"--list --format {form}: give text or json")
    from banksim.report.text.console import console, show
    from banksim.report.text.project import listing

    screen = console()
    show(listing(project, entries, screen.width), screen)
    return 0


def show(project: Project, verdicts: Sequence[Verdict], form: str) -> None:
    """Print the report."""
    if form != "text":
        print(import_module(f"banksim.report.{form}").project(project, verdicts))
        return
    from banksim.report.text.console import console, show
    from banksim.report.text.project import report

    screen = console()
    show(report(verdicts, screen.width), screen)
