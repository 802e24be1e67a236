"""The command line: finds the command and runs it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from banksim.commands import COMMANDS
from banksim.errors import InputError, near
from banksim.system import ending
from banksim.system.visible import write_in_any_encoding
from banksim.version import VERSION


class Parser(ArgumentParser):
    """An argparse parser that raises its complaints, and takes no abbreviations."""

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments: "):
            known = [option.strip("-") for action in self._actions for option in action.option_strings]
            words = [word.partition("=")[0].strip("-") for word in message.split() if word.startswith("--")]
            message += next(filter(None, (near(word, known, "--") for word in words)), "")
        raise InputError(f"{message} (see {self.prog} --help)")


def main(words: Sequence[str] | None = None) -> int:
    """Run a command: 0 clean, 1 conflicts above the limit that the user set, 2 wrong use or an error.

    `words`: what stands behind `banksim` on the command line (None: this process's own).
    """
    return ending.run("banksim", lambda: dispatch(sys.argv[1:] if words is None else list(words)), last=words is None)


def dispatch(words: list[str]) -> int:
    """Run the command that the first word names with the others."""
    write_in_any_encoding(sys.stdout)
    write_in_any_encoding(sys.stderr)
    name = words[0] if words else ""
    if name in COMMANDS:
        command = import_module(f"banksim.commands.{name}")
        parser = Parser(
            f"banksim {name}",
            description=command.__doc__,
            epilog=f"example:\n{command.EXAMPLE}",
            formatter_class=RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.options(parser)
        parse = getattr(command, "parse", Parser.parse_intermixed_args)  # where words behind the first are another's
        options = parse(parser, words[1:])
        options.words = words
        return int(command.run(options))
    if name in ("-h", "--help"):
        print(overview())
        return 0
    if name == "--version":
        print(f"banksim {VERSION}")
        return 0
    if not words:
        print(overview(), file=sys.stderr)
        return ending.ERROR
    raise InputError(f"unknown command {name!r}{near(name, COMMANDS)}: give {listing()} (see banksim --help)")


def listing() -> str:
    """The names of all commands."""
    *names, last = COMMANDS
    return f"{', '.join(names)} or {last}"


def overview() -> str:
    """The help of `banksim` itself."""
    longest = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{longest}}  {purpose}" for name, purpose in COMMANDS.items())
    return (
        "usage: banksim COMMAND …\n\n"
        "Which shared-memory accesses of a GPU kernel conflict, and what that costs, with no GPU.\n\n"
        f"commands (banksim COMMAND --help shows an example):\n{commands}\n\n"
        "exit status: 0 done, 1 conflicts above the limit of --fail-above, 2 wrong use or an error, "
        "128 + N ended by signal N"
    )


if __name__ == "__main__":
    sys.exit(main())
