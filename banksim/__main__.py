"""The command line: finds the command and runs it."""
# PYTHON_ARGCOMPLETE_OK

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from banksim.commands import COMMANDS, GROUPS
from banksim.commands.shared.help import Help, fitted, width
from banksim.errors import InputError, near
from banksim.system import ending
from banksim.system.visible import write_in_any_encoding

EXAMPLES = """\
  banksim pattern "tile[threadIdx.x][threadIdx.y]" --declare "int tile[32][32]" --block 32,32
  banksim kernel transpose.py:transpose --block 32,32 --arg 'float32[32,32]' --arg 'float32[32,32]=random'
  banksim run my_program.py"""
STATUSES = "0 done, 1 conflicts above a limit, 2 wrong use or an error, 128 + N ended by signal N"


class Parser(ArgumentParser):
    """An argparse parser that raises its complaints, and takes no abbreviations."""

    given: Sequence[str] = ()
    """The words to parse."""

    def error(self, message: str) -> NoReturn:
        unknown = [
            word for word in self.given if word.startswith("--") and word.partition("=")[0][2:] not in self.names()
        ]
        if message.startswith("the following arguments are required") and unknown:
            message = f"unrecognized arguments: {' '.join(unknown)}"  # argparse looks for these last
        if message.startswith("unrecognized arguments: "):
            words = [word.partition("=")[0] for word in message.split() if word.startswith("--")]
            hints = (self.of_sibling(word) or near(word.strip("-"), self.names(), "--") for word in words)
            message += next(filter(None, hints), "")
        if message.endswith(": expected one argument"):
            message += self.of_value(message.split()[1].rstrip(":").split("/"))
        raise InputError(f"{message} (see {self.prog} --help)")

    def names(self) -> list[str]:
        return ["", *(option.strip("-") for action in self._actions for option in action.option_strings)]

    def of_value(self, names: list[str]) -> str:
        """What an option of these names wants that stands at the end, before another one or before a dash."""
        [wanted] = [action.metavar for action in self._actions if names[-1] in action.option_strings]
        at = next((place for place, word in enumerate(self.given) if word in names), len(self.given))
        behind = "".join(self.given[at + 1 : at + 2]).partition("=")[0]
        is_value = behind.startswith("-") and behind.strip("-") not in self.names()
        return f": write one that begins with - as {names[-1]}=-…" if is_value else f": {wanted}"

    def of_sibling(self, option: str) -> str:
        """The command of the same family that has an option which this one lacks."""
        own = self.prog.removeprefix("banksim ")
        family = [name for name in COMMANDS if name != own and name.split()[0] == own.split()[0]]
        having = [f"banksim {name}" for name in family if option.strip("-") in parser_of(name)[1].names()]
        return f" ({' and '.join(having)} has it)" if having else ""


def main(words: Sequence[str] | None = None) -> int:
    """Run a command: 0 clean, 1 conflicts above the limit that the user set, 2 wrong use or an error.

    `words`: what stands behind `banksim` on the command line (None: this process's own).
    """
    if "_ARGCOMPLETE" in os.environ:
        from banksim.commands.shared.completion import complete

        complete(lambda name: parser_of(name)[1])
    return ending.run("banksim", lambda: dispatch(sys.argv[1:] if words is None else list(words)), last=words is None)


def dispatch(words: list[str]) -> int:
    """Run the command that the first words name; the other words are its options and arguments."""
    write_in_any_encoding(sys.stdout)
    write_in_any_encoding(sys.stderr)
    name, rest = command_of(words)
    if name in COMMANDS:
        command, parser = parser_of(name)
        parser.given = rest
        parse = getattr(command, "parse", Parser.parse_intermixed_args)  # its own where a program's words follow
        options = parse(parser, rest)
        options.words = words
        return int(command.run(options))
    if name in ("-h", "--help"):
        print(overview())
        return 0
    if name == "--version":
        from banksim.kernels.compilers.versions import versions

        print(versions())
        return 0
    if not words:
        print(overview(), file=sys.stderr)
        return ending.ERROR
    if os.path.exists(name):
        raise InputError(f"{name!r} is a file and no command: to run it, give banksim run {name} (see banksim --help)")
    raise InputError(f"unknown command {name!r}{near(name, COMMANDS)}: give {listing()} (see banksim --help)")


def command_of(words: list[str]) -> tuple[str, list[str]]:
    """The command, and the words behind it; a command of two words may have options between these."""
    first, *rest = words or [""]
    for name in COMMANDS:
        family, _, second = name.partition(" ")
        if second and first == family and second in rest:
            at = rest.index(second)
            return name, rest[:at] + rest[at + 1 :]
    return first, rest


def parser_of(name: str) -> tuple[ModuleType, Parser]:
    """The module of a command, and the parser of its options."""
    command = import_module(f"banksim.commands.{name.replace(' ', '_')}")
    parser = Parser(
        f"banksim {name}",
        description=command.__doc__,
        epilog=f"example:\n{command.EXAMPLE}",
        formatter_class=Help,
        allow_abbrev=False,
    )
    command.options(parser)
    if parser.usage is None:
        places = parser._get_positional_actions()
        words = [f"[{place.metavar or place.dest} …]" if place.nargs == "*" else place.metavar for place in places]
        parser.usage = " ".join(["%(prog)s", *map(str, words), "[OPTION …]"])
    return command, parser


def listing() -> str:
    """The names of all commands."""
    *names, last = COMMANDS
    return f"{', '.join(names)} or {last}"


def overview() -> str:
    """The help of `banksim` itself."""
    longest = max(map(len, COMMANDS))
    groups = [
        "\n".join([f"{title}:", *(f"  {name:<{longest}}  {purpose}" for name, purpose in commands.items())])
        for title, commands in GROUPS.items()
    ]
    wide = width()
    return "\n\n".join(
        [
            "usage: banksim COMMAND …",
            fitted("Which shared-memory accesses of a GPU kernel conflict, and what that costs, with no GPU.", wide),
            *groups,
            fitted(f"examples (banksim COMMAND --help shows more):\n{EXAMPLES}", wide),
            fitted("banksim --version tells the versions of banksim and of the compilers that it uses.", wide),
            fitted(f"exit status: {STATUSES}", wide),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
