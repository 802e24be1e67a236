"""The words behind the options of a command that starts a program: the program and its arguments."""

from argparse import REMAINDER, ArgumentParser, Namespace
from collections.abc import Sequence

from banksim.wording import listed


def words(parser: ArgumentParser, programs: str) -> None:
    """Declare them. `programs`: what can be started."""
    parser.add_argument("program", nargs=REMAINDER, metavar="PROGRAM …", help=f"{programs}, and its arguments")


def parse(parser: ArgumentParser, words: Sequence[str]) -> Namespace:
    """Options end at the program's name, or at --: all words behind it are the program's own. `misplaced` says in one
    line which of them are options of the command too, in case the user meant those; otherwise it is empty."""
    options = parser.parse_args(words)
    is_told = options.program[:1] == ["--"]
    options.program = options.program[is_told:]
    own = {name for action in parser._actions for name in action.option_strings if name.startswith("--")}
    found = [word for word in options.program[1:] if not is_told and word.partition("=")[0] in own - {"--help"}]
    stands = "options of banksim stand before the program"
    options.misplaced = f"{listed(found)} went to {options.program[0]}: {stands}" if found else ""
    return options
