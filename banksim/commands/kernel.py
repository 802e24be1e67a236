"""Execute a kernel's machine code, with no GPU, and count its bank conflicts by source line.

Of several architectures each of sm_75 to sm_121 runs the code that is compiled for it; the rules of others, and all
those of a cubin, are judged on the code of the first. Without --arch: sm_90, or a cubin's own.
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banksim import ending
from banksim.commands import checking, judging, timing, workers
from banksim.commands.launch_arguments import FILLS
from banksim.commands.launch_arguments import parse as value_of
from banksim.commands.sizes import sizes, whole
from banksim.commands.tracing import Incomplete, aside, trace_option, written
from banksim.errors import Fault, InputError
from banksim.findings import checks as checks_of
from banksim.progress import BlocksProgress
from banksim.report.kernel import is_partial
from banksim.visible import say
from banksim.writing import replaced

if TYPE_CHECKING:
    from banksim.arch import Architecture
    from banksim.outcome import Run

EXAMPLE = """\
  banksim kernel transpose.py:transpose --grid 32,32 --block 32,32 \\
      --arg 'float32[1024,1024]' --arg 'float32[1024,1024]=random' --arch kepler-4,sm_90"""
SUFFIXES = "py|cu|cuh|cpp|cxx|cc|ptx|cubin|fatbin|o|obj|so|dll|exe"
FILE = re.compile(rf"(?P<file>.*?\.(?:{SUFFIXES})|[^:]+)(?::(?P<name>.+))?", re.DOTALL)


def options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "kernel",
        metavar="FILE:NAME",
        help="a Numba function (.py) or a kernel of a .cu, .ptx or .cubin file or of what nvcc made (.fatbin, .o, "
        ".so, an executable); without NAME the only one",
    )
    parser.add_argument("--grid", default="1", metavar="X,Y,Z", help="blocks of the grid (default 1)")
    parser.add_argument(
        "--block", metavar="X,Y,Z", help="threads of a block (default: what the kernel is compiled for, else 32)"
    )
    launch_options(parser)
    parser.add_argument(
        "--max-instructions",
        metavar="N",
        help="stop after so many warp instructions (0: never; default: where one block takes more than two billion)",
    )
    parser.add_argument("--save-args", metavar="FOLDER", help="save the arrays afterwards as 0.npy, 1.npy, …")
    trace_option(parser)
    checking.option(parser)
    group = judging.options(parser)
    parser.set_defaults(arch=None)
    group.add_argument("--all-lines", action="store_true", help="show the lines without conflicts too")
    group.add_argument("--sass", action="store_true", help="list the machine code with its counts")
    timing.options(group)
    workers.options(parser, "for blocks that do not meet in global memory", "simulate")


def launch_options(parser: ArgumentParser | _ArgumentGroup) -> None:
    """The arguments of a kernel, and how it is compiled."""
    values = "; ".join(f"{name}: {what}" for name, what in FILLS.items())
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="TYPE[SHAPE]=VALUE",
        help="an argument, in the order of the signature: an array such as float32[64,64]=random, "
        f"a scalar such as int32=5 or 2.5, or a file.npy. VALUE: {values}",
    )
    parser.add_argument(
        "--constant",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="fill a __constant__ or __device__ variable of the module, as the host would, with a value as for --arg: "
        "mask=int32[4]=arange, scale=float32=2.5, taps=file.npy",
    )
    parser.add_argument("--dynamic-shared", metavar="BYTES", help="dynamic shared memory")
    parser.add_argument("--define", action="append", default=[], metavar="NAME[=VALUE]", help="a macro, for CUDA C++")
    parser.add_argument(
        "--include", action="append", default=[], metavar="FOLDER", help="a folder with headers, for CUDA C++"
    )
    parser.add_argument("--std", metavar="c++NN", help="the standard, for CUDA C++")


def run(options: Namespace) -> int:
    rules = judging.architectures(options) if options.arch else None
    judging.limit(options)
    grid = sizes(options.grid, "--grid")
    given = sizes(options.block, "--block") if options.block else None
    dynamic_shared = whole(options.dynamic_shared, "--dynamic-shared")
    most = whole(options.max_instructions, "--max-instructions")
    time_too = timing.chosen(options)
    checks = checks_of(options.check)
    elsewhere = workers.workers(options)
    if elsewhere and checks:
        raise InputError("--check: for a simulation in one process, without --workers and --scheduler")
    if elsewhere and (options.trace or most is not None or options.timing):
        one = "--trace" if options.trace else "--timing" if options.timing else "--max-instructions"
        raise InputError(f"{one}: for a simulation in one process, without --workers and --scheduler")
    arguments = [value_of(text, seed) for seed, text in enumerate(options.arg)]
    kernel = find(options, rules)
    prepared = getattr(kernel, "preset", None) or getattr(kernel, "required_block", None)
    block = given or (None if prepared else (32,))
    launch = kernel, grid, block, arguments
    progress = BlocksProgress(prod(grid))
    shown = progress if sys.stderr.isatty() else None
    if elsewhere:
        from banksim import distributed

        done = distributed.run(*launch, arch=rules, dynamic_shared=dynamic_shared, progress=shown, **elsewhere)
    else:
        done = here(
            launch,
            options.trace,
            arch=rules,
            dynamic_shared=dynamic_shared,
            max_instructions=most,
            progress=shown,
            check=checks,
            **time_too,
        )
    progress.clear()
    if options.save_args:
        save(arguments, Path(options.save_args))
    with aside(options.trace):
        if not judging.is_data(options):
            sys.stdout.write(done.output)
        status = report(done, options)
    return ending.interrupted() if is_partial(done) else status


def here(launch: tuple[Any, ...], path: str | None, **how: Any) -> Run:
    """Simulate in this process, and write the requests to the file of `--trace`."""
    from banksim.run_kernel import run as execute

    with written(path) as writer:
        try:
            done = execute(*launch, trace=writer.write if writer else None, **how)
        except Fault as found:
            sys.stdout.write(found.output)
            raise
        if writer and is_partial(done):
            raise Incomplete
        if writer:
            from banksim.storage.schema import launch as described

            name, shape = done.kernel.plain_name, done.launch
            writer.launches.append(described(name, shape.grid, shape.block, shape.dynamic_shared))
    return done


def find(options: Namespace, rules: Sequence[Architecture] | None = None) -> Any:
    """The kernel that FILE:NAME names: a Numba function, or a decoded kernel, compiled for the first architecture."""
    match = FILE.fullmatch(options.kernel)
    if match is None:
        raise InputError(f"{options.kernel!r}: give FILE:NAME with a .py, .cu, .ptx or .cubin file")
    file, name = match.groups()
    if not file.endswith(".py"):
        return filled(found_in(file, name, options, rules), options.constant)
    if options.constant:
        raise InputError(f"--constant is for CUDA C++, PTX and cubins, and {file} is none")
    return found_in(file, name, options, rules)


def filled(kernel: Any, constants: Sequence[str]) -> Any:
    """The kernel, its module's variables filled as `--constant` says."""
    for seed, text in enumerate(constants):
        name, given, value = text.partition("=")
        if not given:
            raise InputError(f"--constant {text!r}: give NAME=VALUE such as mask=int32[4]=arange or n=5")
        kernel.constants[name.strip()] = value_of(value, seed)
    return kernel


def found_in(file: str, name: str | None, options: Namespace, rules: Sequence[Architecture] | None) -> Any:
    compiler = {"defines": options.define, "includes": options.include, "std": options.std}
    if file.endswith((".cu", ".cuh", ".cpp", ".cxx", ".cc")):
        from banksim.kernels import load
        from banksim.run_kernel import compiled_for

        return chosen(load(file, compiled_for(rules or ()), **compiler), name, file)
    if any(compiler.values()):
        raise InputError(f"--define, --include and --std are for CUDA C++, and {file} is none")
    if not file.endswith(".py"):
        from banksim.kernels import load
        from banksim.run_kernel import compiled_for

        return chosen(load(file, compiled_for(rules or ())), name, file)
    from banksim.compilers.numba import in_vain, load_python

    module = vars(load_python(file))
    if note := in_vain():
        say(note)
    kernels = {word: value for word, value in module.items() if is_kernel(value)}
    return chosen(kernels if name not in module else module, name, file)


def is_kernel(value: Any) -> bool:
    """Whether it is what `numba.cuda.jit` makes of a kernel, not of a device function."""
    return hasattr(value, "py_func") and not getattr(value, "targetoptions", {}).get("device")


def chosen(kernels: Mapping[str, Any], name: str | None, file: str) -> Any:
    """The kernel of this name, or the only one."""
    if name is None and len(kernels) == 1:
        return next(iter(kernels.values()))
    known = ", ".join(getattr(kernel, "plain_name", word) for word, kernel in kernels.items()) or "none"
    if name is None:
        raise InputError(f"{file} has {len(kernels)} kernels: give {file}:NAME, one of {known}")
    try:
        return kernels[name]
    except KeyError:
        raise InputError(f"{file} has no kernel {name!r}: it has {known}") from None


def save(arguments: Sequence[Any], folder: Path) -> None:
    """The arrays as the kernel left them."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, argument in enumerate(arguments):
        if isinstance(argument, np.ndarray):
            with replaced(folder / f"{number}.npy") as file:
                np.save(file, argument)


def report(done: Run, options: Namespace) -> int:
    def plain() -> dict[str, Any]:
        from banksim.report.json import conflicts

        return conflicts("kernel", done.judged, **described(done))

    judging.write_html(options, plain, done.judged, f"{done.kernel.plain_name}: bank conflicts", done)
    if judging.is_data(options):
        status = judging.finish(options, plain, done.judged, [], done.findings, done.hints)
        return status or int(bool(done.findings))
    from banksim.report import kernel
    from banksim.report.console import console, show

    screen = console()
    show(kernel.report(done, screen.width, options.picture, options.all_lines, options.sass), screen)
    return judging.status(done.judged, judging.limit(options)) or int(bool(done.findings))


def described(done: Run) -> dict[str, Any]:
    """The launch as plain data; of several architectures the first's, and under `executions` that of each."""
    each = [{"arch": [one.arch.name for one in run.judged], **executed(run)} for run in done.executions]
    return {
        "kernel": done.kernel.plain_name,
        "grid": done.launch.grid,
        "block": done.launch.block,
        **executed(done),
        **({"executions": each} if each else {}),
    }


def executed(done: Run) -> dict[str, Any]:
    """What was executed of the code of one architecture."""
    return {
        "code": done.kernel.arch,
        "judged_on_others_code": list(done.foreign),
        "blocks": done.blocks,
        "partial": is_partial(done),
        "instructions": done.instructions,
        "thread_instructions": done.thread_instructions,
        "output": done.output,
        "notes": done.notes,
        "unfilled": [one.to_json() for one in done.unfilled],
        "checks": done.checks,
        "findings": [one.to_json() for one in done.findings],
        "findings_lost": done.findings_lost,
        "hints": [one.to_json() for one in done.hints],
        "profile": [
            {
                "offset": executed.instruction.pc,
                "sass": executed.instruction.text or executed.instruction.opcode,
                "file": executed.instruction.site.file,
                "line": executed.instruction.site.line,
                "warps": executed.warps,
                "threads": executed.threads,
                "predicated_on": executed.predicated_on,
            }
            for executed in done.profile
        ],
        **time_of(done),
    }


def time_of(done: Run) -> dict[str, Any]:
    """The simulated time as plain data, if it was asked for."""
    if done.cycles is None:
        return {}
    from banksim.report.cycles import as_json

    return {"cycles": as_json(done)}
