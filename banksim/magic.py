"""`%load_ext banksim`: the cell magic `%%banksim`, which runs a cell's kernels with no GPU and reports on them."""

import importlib
import shlex
from argparse import ArgumentParser
from typing import Any, NoReturn

from banksim.architectures.bank_rules import architecture
from banksim.errors import InputError
from banksim.machine.races.findings import checks
from banksim.runs.options import Options
from banksim.runs.programs.launches import Launches


class Words(ArgumentParser):
    """The options behind `%%banksim`, whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"%%banksim: {message}: {self.format_usage().strip()}")


def options() -> Words:
    parser = Words("%%banksim", add_help=False, allow_abbrev=False)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--check", default="")
    parser.add_argument("--timing", action="store_true")
    parser.add_argument("--name", default="")
    return parser


def register(shell: Any) -> None:
    """Add the magic to a shell of IPython."""

    def banksim(line: str, cell: str) -> None:
        """Run a cell whose kernels banksim executes, and show what they cost.

        %%banksim [--arch NAME,…] [--check races,uninitialized] [--timing] [--name VARIABLE]

        Kernels may be defined in the cell or before. `--name` keeps what was found in a variable.
        """
        try:
            given = options().parse_args(shlex.split(line))
            launches = run_cell(shell, cell, given.arch, Options(check=checks(given.check), timing=given.timing))
        except (InputError, ValueError) as error:  # ValueError: a text without an end
            from IPython.core.error import UsageError

            raise UsageError(str(error)) from None  # which IPython shows as one line
        if given.name:
            shell.user_ns[given.name] = launches
        shown: Any = importlib.import_module("IPython.display")  # which has no types
        shown.display(launches)

    shell.register_magic_function(banksim, "cell", "banksim")


def run_cell(shell: Any, cell: str, archs: str, how: Options) -> Launches:
    """Run a cell while kernels are launched on the simulated GPU."""
    from banksim.runs.programs.notebook import run_cell as execute
    from banksim.runs.programs.numba_hooks import simulated

    rules = tuple({one.name: one for one in map(architecture, filter(None, archs.split(",")))}.values())
    if not rules:
        raise InputError("--arch names no architecture")
    source = "\n" + shell.transform_cell(cell)  # the magic's own line, which notebooks count too
    with simulated(rules, how) as launches:
        execute(source, shell.compile.cache(source, shell.execution_count, raw_code=cell), shell.user_module)
    return launches
