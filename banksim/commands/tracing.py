"""The option `--trace` of the commands that make requests."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout

from banksim.trace import Trace


class Incomplete(Exception):
    """Raised while a trace is written, when it will not become whole."""


def trace_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="write every request: .parquet or .arrow; -: an Arrow stream, with the report on standard error",
    )


@contextmanager
def written(path: str | None) -> Iterator[Callable[[Trace], None] | None]:
    """What writes requests to the file of `--trace`, None without one.

    After an error there is no file, and neither after `Incomplete`, which ends here.
    """
    if path is None:
        yield None
        return
    from banksim.storage import write_trace

    try:
        with write_trace(path) as writer:
            yield writer.write
    except Incomplete:
        print(f"banksim: {path} was not written: the trace is incomplete", file=sys.stderr)


def aside(path: str | None) -> AbstractContextManager[object]:
    """The report goes to standard error where the trace goes to standard output."""
    return redirect_stdout(sys.stderr) if path == "-" else nullcontext()
