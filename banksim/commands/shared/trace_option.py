"""The option `--trace` of the commands that make requests."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, _ArgumentGroup
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING

from banksim.commands.shared.output_options import OutputFile, OutputStream
from banksim.system.visible import say

if TYPE_CHECKING:
    from banksim.storage import Writer


class Incomplete(Exception):
    """Raised to give up a trace that cannot be completed."""


def trace_option(parser: ArgumentParser | _ArgumentGroup, stream: bool = True) -> None:
    """Add the option; `stream`: standard output can be an Arrow stream."""
    output = "; -: an Arrow stream, with the report on standard error" if stream else ", of all launches"
    parser.add_argument(
        "--trace",
        action=OutputStream if stream else OutputFile,
        metavar="FILE",
        help=f"write every request: .parquet or .arrow{output}",
    )


@contextmanager
def written(path: str | None) -> Iterator[Writer | None]:
    """The writer of the file of `--trace`, None without one.

    No file is left after an error, nor after `Incomplete`, which goes no further than this.
    """
    if path is None:
        yield None
        return
    from banksim.storage import write_trace

    try:
        with write_trace(path) as writer:
            yield writer
    except Incomplete:
        say(f"{path} was not written: the trace is incomplete")


def aside(path: str | None) -> AbstractContextManager[object]:
    """The report goes to standard error where the trace goes to standard output."""
    return redirect_stdout(sys.stderr) if path == "-" else nullcontext()
