"""Run an unchanged CUDA program with no GPU, and count the bank conflicts of its kernels.

PROGRAM is a Python file or a notebook that uses numba.cuda, CUDA C++ (.cu files, which are compiled first), or anything
that can be executed and that links to the CUDA runtime as a shared library, with all that it starts. The program's
standard output stays its own, and so does its exit status unless it is 0. The report follows on standard error, or goes
to --output. Kernels are compiled for the first of --arch whose code can be executed: sm_75 and later.
"""

from __future__ import annotations

import io
import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from banksim import wording
from banksim.architectures.code_layout import executed as executed_code
from banksim.architectures.other_generations import figures
from banksim.commands.shared import execution_options, kernel_list, program_words, report_options
from banksim.commands.shared.output_options import OutputStream
from banksim.commands.shared.program_words import parse as parse
from banksim.commands.shared.sizes import whole
from banksim.commands.shared.trace_option import Incomplete, trace_option, written
from banksim.errors import InputError
from banksim.runs.options import Options
from banksim.runs.resolve import compiled_for
from banksim.system.visible import say
from banksim.system.writing import write as write_file

if TYPE_CHECKING:
    from banksim.architectures.bank_rules import Architecture
    from banksim.report.html.conflicts import Told
    from banksim.runs.programs.chosen_launches import Choice
    from banksim.runs.programs.launches import Launches, LaunchProgress, RequestsWriter
    from banksim.runs.programs.main_module import Ended

EXAMPLE = """\
  banksim run my_program.py --its-own --arguments
  banksim run --nvcc "-Iinclude -DN=64" main.cu helper.cu --its-own --arguments
  banksim run ./my_program --its-own --arguments
  banksim run --arch kepler-4,sm_90 --json --output report.json --fail-above 0 -m my_package.main"""


def options(parser: ArgumentParser) -> None:
    ways = ("PROGRAM.py", "NOTEBOOK.ipynb", "-m MODULE", "FILE.cu …", "./PROGRAM")
    parser.usage = "\n       ".join(f"banksim run [OPTION …] {program} [ARGUMENT …]" for program in ways)
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is the name of a module")
    program_words.words(parser, "a Python file (-: standard input), .cu files or a program")
    parser.add_argument(
        "--whole",
        action="store_true",
        help="run a Python file as -m runs a module: all of numba-cuda, in a process of its own that starts later",
    )
    parser.add_argument(
        "--nvcc", metavar="OPTIONS", default="", help='more options for nvcc: --nvcc="-Iinclude -DN=64"'
    )
    kernel_list.option(parser)
    chosen = parser.add_argument_group("what is counted; all launches are executed")
    chosen.add_argument(
        "-k",
        "--kernel-name",
        metavar="NAME",
        help="only launches of the kernels of this name, or of those whose name regex:EXPRESSION finds",
    )
    chosen.add_argument(
        "-s", "--launch-skip", metavar="N", default="0", help="not the first N launches (of these kernels)"
    )
    chosen.add_argument("-c", "--launch-count", metavar="N", help="no more than N launches")
    trace_option(parser, stream=False)
    execution_options.options(parser)
    group = report_options.options(parser)
    group.add_argument("--all-lines", action="store_true", help="show the lines without conflicts too")
    execution_options.time_options(group)
    group.add_argument(
        "--output", action=OutputStream, metavar="FILE", help="write the report there; - is standard output"
    )


def run(options: Namespace) -> int:
    rules = report_options.architectures(options)
    most = report_options.limit(options)
    how = Options(**execution_options.chosen(options))
    words = options.program
    if not words:
        raise InputError("give one program: banksim run program.py, program.cu or ./program, or banksim run -m module")
    choice(options)
    if options.list:
        return listed(words, options, rules)
    if how.timing:
        code = compiled_for(rules)
        figures(executed_code(code) or code)  # its error is told before the program has begun
    from banksim.runs.programs import standins
    from banksim.runs.programs.executable import calls_driver, is_program

    with written(options.trace) as writer:
        from banksim.runs.programs.launches import RequestsWriter

        requests = RequestsWriter(writer) if writer else None
        shown = progress if sys.stderr.isatty() else None
        is_file_of_python = not options.module and not is_program(words)
        options.whole = options.whole or (is_file_of_python and calls_driver(words[0]))
        by_driver = options.whole or (options.module and standins.c_compiler() is not None)
        execute = executed if by_driver or is_program(words) else interpreted
        launches, ended = execute(words, options, tuple(rules), how, shown, requests)
        if requests and requests.incomplete:
            raise Incomplete
    sys.stdout.flush()
    report(launches, ended, words[0], options)
    if ended.error is not None:
        say(ended.error)
    if options.misplaced:
        say(options.misplaced)
    if (most or launches.checks) and launches.others and not launches.kernels:
        asked = "--fail-above" if most else "--check"
        say(f"{asked}: {wording.unchosen(launches.others)}")
        return ended.status or 2
    status = report_options.status(launches.judged, most, [kernel.judged for kernel in launches.kernels])
    return ended.status or status or int(bool(launches.findings or (launches.checks and launches.strays)))


def listed(words: Sequence[str], options: Namespace, rules: Sequence[Architecture]) -> int:
    """The kernels of a program's own file or sources, which is not run."""
    from banksim.runs.programs import standins
    from banksim.runs.programs.executable import called_file, leading_sources

    if options.module:
        raise InputError(f"--list: give a file, and not the module {words[0]}")
    given = shlex.split(options.nvcc)
    for name, mark in ("define", "-D"), ("include", "-I"):
        setattr(options, name, [one.removeprefix(mark) for one in given if one.startswith(mark)])
    options.std = next((one.removeprefix("-std=") for one in given if one.startswith("-std=")), None)
    sources = [word for word in leading_sources(words) if Path(word).suffix == ".cu"]
    if sources:
        made = [standins.folder()] if standins.c_compiler() else []  # headers of libraries, as where it is run
        options.include += map(str, (standins.SOURCES / "include", *made))
    return kernel_list.listed(sources or [called_file(words[0])], options, rules)


def choice(options: Namespace) -> Choice:
    """Which launches are counted. InputError for options that choose none."""
    from banksim.runs.programs import chosen_launches

    count = whole(options.launch_count, "--launch-count")
    if count == 0:
        raise InputError("--launch-count 0: give how many launches to count")
    return chosen_launches.choice(options.kernel_name, whole(options.launch_skip, "--launch-skip") or 0, count)


def interpreted(
    words: Sequence[str],
    options: Namespace,
    rules: tuple[Architecture, ...],
    how: Options,
    shown: LaunchProgress | None,
    requests: RequestsWriter | None,
) -> tuple[Launches, Ended]:
    """Run a Python program in this process, whose kernels are Numba's."""
    from banksim.kernels.compilers.numba_without_gpu import in_vain
    from banksim.runs.programs.notebook import run_python
    from banksim.runs.programs.numba_hooks import simulated

    if options.nvcc:
        raise InputError("--nvcc: options for the compiler of .cu files, and there are none")
    with simulated(rules, how, shown, requests, choice(options)) as launches:
        ended = run_python(words, options.module)
    if note := in_vain():
        say(note)
    return launches, ended


def executed(
    words: Sequence[str],
    options: Namespace,
    rules: tuple[Architecture, ...],
    how: Options,
    shown: LaunchProgress | None,
    requests: RequestsWriter | None,
) -> tuple[Launches, Ended]:
    """Run any program in processes of its own."""
    from banksim.kernels.compilers.numba_without_gpu import in_vain
    from banksim.runs.programs import executable, python_program
    from banksim.runs.programs.launches import Launches
    from banksim.runs.programs.served import Programs

    launches = Launches(rules, how.checks, choice(options))
    if options.module or (options.whole and not executable.is_program(words)):
        if options.nvcc:
            raise InputError("--nvcc: options for the compiler of .cu files, and there are none")
        started = python_program.command(words, options.module)
        zeroth = started[0]
        if note := in_vain():
            say(note)
    else:
        started = executable.command(words, launches.code, options.nvcc)
        zeroth = executable.called(words[0])
    return launches, Programs(words[0], launches, how, shown, requests).run(started, zeroth)


@contextmanager
def progress(name: str, blocks: int) -> Iterator[Callable[[int, int], None]]:
    """A line on standard error while a launch takes long; it vanishes at the launch's end."""
    from banksim.system.progress import BlocksProgress

    shown = BlocksProgress(blocks)
    try:
        yield shown
    finally:
        shown.clear()


def report(launches: Launches, ended: Ended, program: str, options: Namespace) -> None:
    """Write the report where `--output` says."""
    from banksim.report import json

    plain = partial(json.launches, program, ended.status, launches)

    def told() -> Told:
        from banksim.report.html.array_places import of_launches
        from banksim.report.html.conflicts import Told

        return Told(launches=launches, elements=of_launches(launches))

    report_options.write_html(options, plain, launches.judged, f"{Path(program).name}: bank conflicts", told)
    if options.output is None:
        write(launches, plain, program, options, sys.stderr)
    elif options.output == "-":
        write(launches, plain, program, options, sys.stdout)
    else:
        file = io.StringIO()
        write(launches, plain, program, options, file)
        write_file(options.output, file.getvalue())


def write(launches: Launches, plain: report_options.Described, program: str, options: Namespace, file: IO[str]) -> None:
    if options.report_format != "text":
        each = [kernel.judged for kernel in launches.kernels]
        print(
            report_options.review(options, plain(), launches.judged, each, launches.findings, launches.hints), file=file
        )
        return
    if options.json:
        from banksim.report.json import text

        print(text(plain()), file=file)
        return
    from banksim.report.text.console import console, show
    from banksim.report.text.program import report as laid_out

    screen = console(file)
    show(laid_out(program, launches, screen.width, options.picture, options.all_lines), screen)
