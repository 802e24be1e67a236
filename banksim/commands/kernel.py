"""Execute a kernel's machine code, with no GPU, and count its bank conflicts by source line.

Of several architectures each from sm_75 on runs the code that is compiled for it; the rules of others, and all
those of a cubin, are judged on the code of the first. Without --arch: sm_90, or a cubin's own.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from banksim.commands.shared import execution_options, kernel_list, report_options, worker_options
from banksim.commands.shared.argument_text import holds_zeros
from banksim.commands.shared.argument_text import parse as value_of
from banksim.commands.shared.kernel_options import constants_of, find, launch_options
from banksim.commands.shared.output_options import OutputFile, OutputFolder
from banksim.commands.shared.sizes import sizes, whole
from banksim.commands.shared.trace_option import Incomplete, aside, trace_option, written
from banksim.errors import Fault, InputError
from banksim.kernels.file_and_name import file_and_name
from banksim.machine.structs import Struct
from banksim.report.json import described
from banksim.runs.languages.language import language_of
from banksim.runs.options import Call, Options
from banksim.system import ending
from banksim.system.progress import BlocksProgress
from banksim.system.writing import naming, replaced
from banksim.system.writing import write as write_file

if TYPE_CHECKING:
    from banksim.report.html.conflicts import Told
    from banksim.runs.outcome import Run

EXAMPLE = """\
  banksim kernel transpose.py:transpose --grid 32,32 --block 32,32 \\
      --arg 'float32[1024,1024]' --arg 'float32[1024,1024]=random' --arch kepler-4,sm_90
  banksim kernel --list transpose.cu"""


def options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "kernel",
        metavar="FILE:NAME",
        help="a Numba function (.py) or a kernel of a .cu, .ptx or .cubin file or of what nvcc made (.fatbin, .o, "
        ".so, an executable); without NAME the only one",
    )
    kernel_list.option(parser)
    group = launch_options(parser)
    group.add_argument("--cluster", metavar="X,Y,Z", help="blocks of a cluster (from sm_90 on; default: as compiled)")
    group = parser.add_argument_group("execution")
    execution_options.options(group)
    group.add_argument(
        "--save-args", action=OutputFolder, metavar="FOLDER", help="save the arrays afterwards as 0.npy, 1.npy, …"
    )
    group.add_argument(
        "--execute",
        action="store_true",
        help="execute every block, on memory with contents, of a large launch too: without it one block of each class "
        "of blocks that provably count the same, where counts do not depend on the contents of arrays",
    )
    trace_option(group)
    group = report_options.options(parser)
    parser.set_defaults(arch=None)
    group.add_argument("--all-lines", action="store_true", help="show the lines without conflicts too")
    group.add_argument("--sass", action="store_true", help="list the machine code with its counts")
    group.add_argument(
        "--plot",
        action=OutputFile,
        metavar="FILE.svg",
        help="draw transactions by line, the banks' load, with --timing a roofline",
    )
    execution_options.time_options(group)
    worker_options.options(parser, "for blocks that do not meet in global memory", "simulate")


def run(options: Namespace) -> int:
    rules = report_options.architectures(options) if options.arch else None
    if options.list:
        file, name = file_and_name(options.kernel)
        if name is not None:
            raise InputError(f"--list {options.kernel}: give the file alone, {file}")
        return kernel_list.listed([file], options, rules)
    report_options.limit(options)
    grid = sizes(options.grid, "--grid")
    given = sizes(options.block, "--block") if options.block else None
    how = Options(
        arch=rules,
        dynamic_shared=whole(options.dynamic_shared, "--dynamic-shared"),
        cluster=sizes(options.cluster, "--cluster") if options.cluster else None,
        values=False,
        **execution_options.chosen(options),
    )
    elsewhere = worker_options.workers(options)
    if options.execute or options.save_args or options.trace or elsewhere or not how.counts_only:
        how = replace(how, values=True)
    if elsewhere:
        in_one_process(options.trace, how)
    arguments = [value_of(text, seed, not how.values) for seed, text in enumerate(options.arg)]
    kernel = find(options, rules)
    prepared = getattr(kernel, "preset", None) or getattr(kernel, "required_block", None)
    prepared = prepared or language_of(kernel)
    call = Call(kernel, grid, given or (None if prepared else (32,)), arguments, constants_of(kernel, options))
    progress = BlocksProgress(prod(grid))
    how = replace(how, progress=progress if sys.stderr.isatty() else None)
    if elsewhere:
        from banksim import distributed

        done = distributed.run_spread(call, how, **elsewhere)
    else:
        done = here(call, how, options.trace)
    progress.clear()
    done = replace(done, remarks=remarks(done, options.arg))
    if options.save_args:
        save(call.args, Path(options.save_args))
    with aside(options.trace):
        if not report_options.is_data(options):
            sys.stdout.write(done.output)
        status = report(done, options)
    return ending.interrupted() if done.partial else status


def remarks(done: Run, arguments: Sequence[str]) -> tuple[str, ...]:
    """That data decide what is counted, where all of them are zeros since nobody says what they are."""
    from banksim.classes.counting import decided_by_data

    arrays = [text for text in arguments if "[" in text or text.endswith(".npy")]
    if not (arrays and all(map(holds_zeros, arrays)) and done.conflicts.sites):
        return ()
    why = decided_by_data(done.kernel)
    given = f"all arrays were given as zeros: say what they hold, as in --arg '{arrays[0]}=random'"
    return (f"{why}, and {given}",) if why else ()


def in_one_process(trace: str | None, how: Options) -> None:
    """Refuse, before anything is compiled, what only a simulation in one process can do."""
    asked = {
        "--check": how.checks,
        "--trace": trace,
        "--timing": how.timing,
        execution_options.LIMIT: how.max_instructions is not None,
    }
    for name in filter(asked.get, asked):
        raise InputError(f"{name}: for a simulation in one process, without --workers and --scheduler")


def here(call: Call, how: Options, path: str | None) -> Run:
    """Simulate in this process, and write the requests to the file of `--trace`."""
    from banksim.runs.run import run_with

    with written(path) as writer:
        try:
            done = run_with(call, replace(how, trace=writer.write if writer else None))
        except Fault as found:
            sys.stdout.write(found.output)
            raise
        if writer and done.partial:
            raise Incomplete
        if writer:
            from banksim.storage.schema import launch

            name, shape = done.kernel.plain_name, done.launch
            writer.launches.append(launch(name, shape.grid, shape.block, shape.dynamic_shared))
    return done


def save(arguments: Sequence[object], folder: Path) -> None:
    """Save the arrays as the kernel left them."""
    with naming(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
    for name, array in named_arrays(arguments):
        with replaced(folder / f"{name}.npy") as file:
            np.save(file, array)


def named_arrays(arguments: Sequence[object], before: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """The arrays and their numbers; of one in a struct `0.data`, of one in an array there `0.data.1`."""
    for number, argument in enumerate(arguments):
        if isinstance(argument, np.ndarray):
            yield f"{before}{number}", argument
        elif isinstance(argument, Struct):
            for field, value in zip(argument.names, argument.values, strict=True):
                yield from ((f"{before}{number}.{field}{rest[1:]}", one) for rest, one in named_arrays([value]))
        elif isinstance(argument, tuple):
            yield from named_arrays(argument, f"{before}{number}.")


def report(done: Run, options: Namespace) -> int:
    def plain() -> dict[str, object]:
        from banksim.report.json import conflicts

        return conflicts("kernel", done.judged, **described(done))

    def told() -> Told:
        from banksim.report.html.array_places import of_kernel
        from banksim.report.html.conflicts import Told

        return Told(done, elements=of_kernel(done.kernel, done.conflicts))

    report_options.write_html(options, plain, done.judged, f"{done.kernel.plain_name}: bank conflicts", told)
    if options.plot:
        from banksim.report import plots

        write_file(options.plot, plots.document(plots.of_launch(done.judged, done)))
    if report_options.is_data(options):
        status = report_options.finish(options, plain, done.judged, [], done.findings, done.hints)
        return status or int(bool(done.findings or done.out_of_bounds))
    from banksim.report.text import kernel
    from banksim.report.text.console import console, show

    screen = console()
    show(kernel.report(done, screen.width, options.picture, options.all_lines, options.sass), screen)
    return report_options.status(done.judged, report_options.limit(options)) or int(
        bool(done.findings or done.out_of_bounds)
    )
