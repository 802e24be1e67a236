"""Run a program twice, on this machine's GPU under Nsight Compute and in banksim, and compare every instruction.

Of each kernel the executions by warps and threads, and the transactions on shared memory, are compared instruction by
instruction; what the hardware's counters have besides is told as arbitration. Exit status 1: they differ. PROGRAM is
what banksim run takes: a .py file, .cu files, or an executable that links to the CUDA runtime as a shared library.
"""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from banksim.commands.shared import program_words
from banksim.commands.shared.program_words import parse as parse
from banksim.errors import InputError
from banksim.runs.validation import profiler
from banksim.runs.validation.comparison import Predicted, Verdict, compare, of_libraries, predicted
from banksim.system.visible import say

EXAMPLE = """\
  banksim validate ./my_program --its-own --arguments
  banksim validate --nvcc="-Iinclude" main.cu
  banksim validate my_program.py"""


def options(parser: ArgumentParser) -> None:
    parser.usage = "banksim validate [OPTION …] PROGRAM [ARGUMENT …]"
    program_words.words(parser, "a .py file, .cu files or a program")
    parser.add_argument("--nvcc", metavar="OPTIONS", default="", help="more options for nvcc")
    parser.add_argument("--arch", metavar="NAME", default="sm_90", help="what this GPU is (default sm_90)")
    parser.add_argument("--json", action="store_true", help="print the same as JSON")
    parser.add_argument(
        "--pages",
        metavar="SOURCE.csv[,RAW.csv]",
        help="compare with pages that Nsight Compute exported elsewhere (ncu --import REPORT --csv --page source, and "
        "--page raw) instead of running the program on a GPU here",
    )


def run(options: Namespace) -> int:
    words = options.program
    if not words:
        raise InputError("give one program: banksim validate program.py, program.cu or ./program")
    if words[0].endswith(".ipynb"):
        raise InputError(f"{words[0]}: a GPU runs programs only: make it one (jupyter nbconvert --to script)")
    if options.pages is None:
        profiler.find()  # before anything is compiled
    from banksim.architectures.bank_rules import architecture
    from banksim.runs.programs.executable import command, is_program

    rule = architecture(options.arch)
    started = command(words, rule.name, options.nvcc) if is_program(words) else [sys.executable, *words]
    if options.pages is None:
        by, measured = profiler.profile(started, on_gpu())
    else:
        by, measured = "Nsight Compute", []
    own = here(words, started, options.arch)
    if options.pages is not None:
        measured = read(options.pages, len(own.launches))
    measured, elsewhere = of_libraries(own.launches, measured) if own.libraries else (measured, {})
    verdicts = compare(own.launches, measured)
    show(words[0], by, verdicts, elsewhere, options)
    if options.misplaced:
        say(options.misplaced)
    if own.status:
        return own.status
    return int(not all(verdict.agrees for verdict in verdicts))


def on_gpu() -> dict[str, str]:
    """The environment in which a program finds NVIDIA's runtime, also that of the wheels."""
    from banksim.kernels.compilers import tools

    folders = [str(root / "lib") for root in tools.roots() if (root / "lib").is_dir()]
    before = os.environ.get("LD_LIBRARY_PATH")
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join([*([before] if before else []), *folders])}


def read(pages: str, launches: int) -> list[profiler.Profiled]:
    """Read the pages that Nsight Compute exported, of a program with so many launches."""
    texts = []
    for path in pages.split(","):
        try:
            texts.append(Path(path).read_text(encoding="utf-8", errors="replace"))
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None
    try:
        return profiler.read(texts[0], "".join(texts[1:2]), launches)
    except profiler.Unavailable as error:
        raise InputError(f"{pages}: {error}") from None


@dataclass(frozen=True)
class Executed:
    """A program as it was executed here. `libraries`: whether it used some (PyTorch, cuBLAS) whose own work is
    done by the CPU here, and by kernels on a GPU."""

    launches: list[Predicted]
    status: int
    libraries: bool


def here(words: Sequence[str], started: Sequence[str], arch: str) -> Executed:
    """Every launch of the program as it is executed here. InputError where it cannot go on. Programs of Numba run in a
    process of their own, where a host's compiler lets them: there numba-cuda links kernels as it does on a GPU, which
    now and then gives other machine code than ptxas alone."""
    from banksim.architectures.bank_rules import architecture
    from banksim.runs.options import Options
    from banksim.runs.programs import python_program, standins
    from banksim.runs.programs.executable import called, calls_driver, is_of_numba, is_program
    from banksim.runs.programs.launches import Launches
    from banksim.runs.programs.main_module import run_file
    from banksim.runs.programs.numba_hooks import simulated
    from banksim.runs.programs.served import Programs

    rules = (architecture(arch),)
    found: list[Predicted] = []
    launches = Launches(rules)
    launches.watch = lambda run: found.append(predicted(run))
    if is_program(words):
        ended = Programs(words[0], launches, Options()).run(started, called(words[0]))
    elif calls_driver(words[0]) or (is_of_numba(words[0]) and standins.c_compiler() is not None):
        command = python_program.command(words, module=False)
        ended = Programs(words[0], launches, Options()).run(command, command[0])
    else:
        with simulated(rules) as launches:
            launches.watch = lambda run: found.append(predicted(run))
            ended = run_file(words[0], words[1:])
    if ended.error is not None:
        raise InputError(ended.error)
    return Executed(found, ended.status, bool(launches.calls) or "torch" in sys.modules)


def show(program: str, by: str, verdicts: Sequence[Verdict], elsewhere: Mapping[str, int], options: Namespace) -> None:
    sys.stdout.flush()
    if options.json:
        from banksim.report.json import document

        kernels = [one.to_json() for one in verdicts]
        print(document("validate", program=program, measured_by=by, kernels=kernels, not_executed_here=dict(elsewhere)))
        return
    from banksim.report.text import console, validation

    screen = console.console()
    console.show(validation.report(program, by, verdicts, screen.width, elsewhere), screen)
