"""The errors that a user can mend. The command line prints each as one line and exits with 2."""

from collections.abc import Iterable


class BanksimError(Exception):
    """Base of every error below; its text is one line: what, where, what to do."""


class InputError(BanksimError, ValueError):
    """Something that the user wrote is wrong: a name, an expression, a number, a file."""


class AbsentError(InputError):
    """The contents of an array are needed of which only type and shape are given (`banksim.absent`)."""


class ArgumentTypeError(InputError, TypeError):
    """An argument of a kernel is not of the type that it is declared with."""


class UnknownCountError(BanksimError):
    """Nobody has shown how many transactions this request takes, so there is no number to give."""


class CompileError(BanksimError):
    """A compiler refused the kernel; the text holds the compiler's own message with file and line."""


class UnsupportedError(BanksimError, NotImplementedError):
    """An instruction, a modifier or a feature that banksim does not know: named, never guessed."""


class UntimedError(UnsupportedError):
    """A launch that can be executed, but whose time is not simulated."""


class Fault(BanksimError):
    """The kernel did something that a GPU would stop for, or that never ends. `output` is what it printed before."""

    output = ""


def first_line(error: BaseException) -> str:
    """What an error says, in one line; the name of its type if it says nothing."""
    return (str(error) or type(error).__name__).splitlines()[0]


def near(name: str, known: Iterable[str], before: str = "") -> str:
    """` (did you mean …?)` with the known names that look like `name`, each behind `before`, or nothing."""
    from difflib import get_close_matches  # costs a millisecond, and only an error needs it

    found = get_close_matches(name[:100], sorted(known), 3)
    return f" (did you mean {' or '.join(before + one for one in found)}?)" if found else ""
