"""The options `--workers` and `--scheduler` of the commands that can work on several machines."""

from argparse import ArgumentParser, Namespace, _ArgumentGroup
from typing import Any

from banksim.commands.shared.sizes import whole
from banksim.errors import InputError


def options(parser: ArgumentParser, what: str, do: str) -> None:
    """Add the options. For the help: `what` they are for, and what the workers `do`."""
    group = parser.add_argument_group(f"several machines (Dask), {what}")
    group.add_argument("--scheduler", metavar="URL", help=f"{do} on the workers of this scheduler: tcp://host:8786")
    processes(group, f"{do} on N processes of this machine")


def processes(parser: ArgumentParser | _ArgumentGroup, what: str) -> None:
    """Add `--workers` alone."""
    parser.add_argument("--workers", metavar="N", help=what)


def count(options: Namespace) -> int | None:
    """The number of `--workers`; None if it is not given."""
    found = whole(options.workers, "--workers")
    if found == 0:
        raise InputError("--workers 0: give a whole number of processes from 1 on")
    return found


def workers(options: Namespace) -> dict[str, Any] | None:
    """The options as arguments of `banksim.distributed`; None if neither is given."""
    processes = count(options)
    if options.scheduler and processes:
        raise InputError("--scheduler and --workers: give one of them")
    return {"scheduler": options.scheduler, "workers": processes} if options.scheduler or processes else None
