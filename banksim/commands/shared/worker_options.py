"""The options `--workers` and `--scheduler` of the commands that can work on several machines."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from banksim.commands.shared.sizes import whole
from banksim.errors import InputError


def options(parser: ArgumentParser, what: str, do: str) -> None:
    """Add the options. The help says for `what` they are, and what the workers do to it."""
    group = parser.add_argument_group(f"several machines (Dask), {what}")
    group.add_argument("--scheduler", metavar="URL", help=f"{do} on the workers of this scheduler: tcp://host:8786")
    group.add_argument("--workers", metavar="N", help=f"{do} on N processes of this machine")


def workers(options: Namespace) -> dict[str, Any] | None:
    """The options as arguments of `banksim.distributed`; None if neither is given."""
    count = whole(options.workers, "--workers")
    if count == 0:
        raise InputError("--workers 0: give a whole number of processes from 1 on")
    if options.scheduler and count:
        raise InputError("--scheduler and --workers: give one of them")
    return {"scheduler": options.scheduler, "workers": count} if options.scheduler or count else None
