"""Compile-time constants as text: `BLOCK=64`, `dtype=tl.float16`, `layout=ROWS`."""

import ast
from collections.abc import Mapping, Sequence

from banksim.errors import InputError


def constants(texts: Sequence[str], names: Mapping[str, object]) -> dict[str, object]:
    """The constants of several texts. A value is a number, a string in quotes, a list or tuple, or a name that `names`
    has, with dots or without. `InputError` for anything else."""
    found: dict[str, object] = {}
    for text in texts:
        name, given, value = (part.strip() for part in text.partition("="))
        if not given or not name.isidentifier():
            raise InputError(f"--const {text!r}: give NAME=VALUE such as BLOCK=64 or num_warps=8")
        if name in found:
            raise InputError(f"--const {name} is given twice")
        found[name] = value_of(value, names, text)
    return found


def value_of(value: str, names: Mapping[str, object], text: str) -> object:
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        pass
    first, *rest = value.split(".")
    if first not in names:
        raise InputError(
            f"--const {text!r}: {value!r} is no number, text in quotes or list, and no name of the kernel's file"
        )
    found = names[first]
    for part in rest:
        if not hasattr(found, part):
            raise InputError(f"--const {text!r}: {first} has no {part!r}")
        found = getattr(found, part)
    return found
