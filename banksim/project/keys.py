"""What an entry may say. A key is an option of `banksim kernel` or `banksim run`, and reads as that does."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from banksim.architectures.bank_rules import architecture
from banksim.banks.limits import limit
from banksim.errors import InputError
from banksim.machine.races.findings import checks

Read = Callable[[object], list[str]]
"""The words of a value as the command line has them. `InputError` says what to give."""


def text(value: object) -> list[str]:
    if not isinstance(value, str) or not value.strip():
        raise InputError("give a text in quotation marks")
    return [value]


def texts(value: object) -> list[str]:
    """A text, or an array of texts and numbers."""
    several = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str | int | float) for one in several):
        raise InputError('give an array such as ["float32[64,64]", "int32=5"]')
    return [str(one) for one in several]


def sizes(value: object) -> list[str]:
    """`4`, `[4, 4]` or `"4,4"`."""
    several = value if isinstance(value, list) else [value]
    if isinstance(value, str):
        return [value]
    if not 1 <= len(several) <= 3 or not all(type(one) is int and one > 0 for one in several):
        raise InputError("give one to three sizes such as [32, 16]")
    return [",".join(map(str, several))]


def whole(value: object) -> list[str]:
    if type(value) is not int or value < 0:
        raise InputError("give a whole number")
    return [str(value)]


def yes(value: object) -> list[str]:
    if not isinstance(value, bool):
        raise InputError("give true or false")
    return [""] if value else []


def constants(value: object) -> list[str]:
    """A table of names and values."""
    if not isinstance(value, Mapping) or not all(isinstance(one, str | int | float) for one in value.values()):
        raise InputError('give a table such as { scale = 2.5, taps = "float32[5]=arange" }')
    return [f"{name}={one}" for name, one in value.items()]


def architectures(value: object) -> list[str]:
    names = [word.strip() for one in texts(value) for word in one.split(",") if word.strip()]
    if not names:
        raise InputError('give one architecture or several, such as "sm_90"')
    return [",".join(dict.fromkeys(architecture(name).name for name in names))]


def limits(value: object) -> list[str]:
    found = texts(value)
    for one in found:
        try:
            limit(one)
        except InputError as error:
            raise InputError(str(error).removeprefix("--fail-above ")) from None
    return found


def checked(value: object) -> list[str]:
    try:
        return [",".join(checks(texts(value)))]
    except InputError as error:
        raise InputError(str(error).removeprefix("--check ")) from None


def command(value: object) -> list[str]:
    """A program and its arguments, as a shell has them or one by one."""
    try:
        words = texts(value) if isinstance(value, list) else shlex.split(text(value)[0])
    except ValueError as error:
        raise InputError(f"give a command as a shell reads it ({error})") from None
    if not words or (words[0].startswith("-") and words[0] != "-m"):
        raise InputError('give a program and its arguments, such as "demo.py --size 64"')
    return words


@dataclass(frozen=True)
class Key:
    """How a value is read, what it is for, and the option that it becomes ("": none)."""

    read: Read
    what: str
    option: str = ""

    def words(self, value: object) -> Iterator[str]:
        """The option with each word of the value."""
        for word in self.read(value) if self.option else ():
            yield f"{self.option}={word}" if self.read is not yes else self.option


COMMON: dict[str, Key] = {
    "arch": Key(architectures, "architectures or GPUs by which it is judged", "--arch"),
    "fail-above": Key(limits, 'limits, as --fail-above has them: 0, "degree=2", ["excess=100", "line-excess=32"]'),
    "check": Key(checked, '"races", "uninitialized" or both', "--check"),
}
COMPILING: dict[str, Key] = {
    "define": Key(texts, "macros, for CUDA C++", "--define"),
    "include": Key(texts, "folders with headers, for CUDA C++", "--include"),
    "std": Key(text, "the standard, for CUDA C++", "--std"),
}
STOPPING: dict[str, Key] = {"max-instructions": Key(whole, "where to stop", "--max-instructions")}
NAME: dict[str, Key] = {"name": Key(text, "what it is called; the kernel or the command, if not given")}
KERNEL: dict[str, Key] = {
    **NAME,
    "kernel": Key(text, "FILE:NAME, or FILE if it has one kernel"),
    "grid": Key(sizes, "blocks of the grid", "--grid"),
    "block": Key(sizes, "threads of a block", "--block"),
    "cluster": Key(sizes, "blocks of a cluster", "--cluster"),
    "args": Key(texts, "the arguments, as --arg has them", "--arg"),
    "constants": Key(constants, "variables of the module, as --constant has them", "--constant"),
    "const": Key(constants, "constants that Triton compiles in, as --const has them", "--const"),
    "execute": Key(yes, "execute every block of a large launch too", "--execute"),
    "dynamic-shared": Key(whole, "bytes of dynamic shared memory", "--dynamic-shared"),
    **STOPPING,
    **COMPILING,
    **COMMON,
}
PROGRAM: dict[str, Key] = {
    **NAME,
    "command": Key(command, "the program and its arguments"),
    "inputs": Key(
        texts, "files (also as patterns) beside Python and CUDA sources on which it depends; it is cached if given"
    ),
    "nvcc": Key(text, "more options for nvcc", "--nvcc"),
    "kernel-name": Key(text, "only the kernels of this name", "--kernel-name"),
    "whole": Key(yes, "run a Python file as -m runs a module", "--whole"),
    **STOPPING,
    **COMMON,
}
PROJECT: dict[str, Key] = {
    **COMPILING,
    **COMMON,
    "baseline": Key(text, "the file of what is accepted, written by --update-baseline"),
}
"""The keys of the file itself; a key of entries that is given here holds for each entry that does not have it."""
