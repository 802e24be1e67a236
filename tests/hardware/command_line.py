"""The command line of a recorder: each command is one of its functions."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable


def commands(description: str | None, **functions: Callable[..., object]) -> None:
    """Call the function that the first word names. A parameter without a default is a word; one with a default is an
    option of its name."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    chosen = parser.add_subparsers(required=True)
    for name, function in functions.items():
        command = chosen.add_parser(name)
        command.set_defaults(function=function)
        for one in inspect.signature(function, eval_str=True).parameters.values():
            if one.default is one.empty:
                command.add_argument(one.name, type=one.annotation)
            else:
                command.add_argument(f"--{one.name}", type=one.annotation, default=one.default)
    given = vars(parser.parse_args())
    given.pop("function")(**given)
