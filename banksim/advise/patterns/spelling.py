"""How an array, an index and a type are written in C and in Numba."""

from collections.abc import Sequence
from typing import NamedTuple

from banksim.patterns.types import Record, Scalar

C_OF = {"float16": "__half", "float32": "float", "float64": "double"}
NUMBA_OF = {"half": "float16", "__half": "float16", "float": "float32", "double": "float64"}
INTEGERS = {1: "char", 2: "short", 4: "int", 8: "long long"}
LETTERS = "ijklmn"


class Spelling(NamedTuple):
    """What to write, line by line; no lines where the language has no such thing."""

    c: tuple[str, ...]
    numba: tuple[str, ...]


def c_type(element: Scalar | Record) -> str:
    """A type as C names it."""
    if isinstance(element, Scalar) and element.integer and element.name.endswith("_t"):
        return element.name
    if isinstance(element, Scalar) and element.integer and element.integer != "?":
        signed = element.integer[0] == "i"
        name = INTEGERS[element.size]
        return ("signed char" if name == "char" else name) if signed else f"unsigned {name}"
    return C_OF.get(element.name, element.name)


def numba_type(element: Scalar) -> str | None:
    """A type as Numba names it, None where it has none."""
    if element.integer == "?":
        return "boolean"
    if element.integer:
        return f"{'int' if element.integer[0] == 'i' else 'uint'}{8 * element.size}"
    return NUMBA_OF.get(element.name, element.name if element.name in C_OF else None)


def declaration(name: str, lengths: Sequence[int], element: Scalar | Record) -> Spelling:
    """`float tile[32][33];` and `tile = cuda.shared.array((32, 33), float32)`."""
    c = f"__shared__ {c_type(element)} {name}{''.join(f'[{length}]' for length in lengths)};"
    dtype = numba_type(element) if isinstance(element, Scalar) else None
    shape = f"({', '.join(map(str, lengths))})" if len(lengths) > 1 else f"{lengths[0]}"
    return Spelling((c,), (f"{name} = cuda.shared.array({shape}, {dtype})",) if dtype else ())


def access(name: str, before: Sequence[str], after: Sequence[str]) -> Spelling:
    """How to write what was `name[before…]`."""

    def c(words: Sequence[str]) -> str:
        return name + "".join(f"[{word}]" for word in words)

    def numba(words: Sequence[str]) -> str:
        return f"{name}[{', '.join(words)}]"

    return Spelling(
        (f"{c(after)} for {c(before)}",), (f"{numba([word.replace('/', '//') for word in after])} for {numba(before)}",)
    )


def together(*spellings: Spelling) -> Spelling:
    """One below the other; a language in which one part cannot be written has none."""
    numba: tuple[str, ...] = ()
    if all(one.numba for one in spellings):
        numba = tuple(line for one in spellings for line in one.numba)
    return Spelling(tuple(line for one in spellings for line in one.c), numba)
