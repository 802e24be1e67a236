"""A module's `__constant__` and `__device__` variables, and how the host fills them."""

import difflib
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass

import numpy as np

from banksim.errors import InputError

CONSTANT_VARIABLES = 3
"""The constant bank in which they lie."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the module: at byte `offset` of its global memory; one that is constant has its `place` in constant
    bank 3 too, from which code reads it."""

    name: str
    plain_name: str
    offset: int
    size: int
    place: int | None


class Constants(MutableMapping[str, bytes]):
    """The bytes with which variables were filled, by their names as the source has them (with namespaces or without)
    or mangled. What is assigned is an array, a scalar or bytes, of the variable's size. `InputError` if it is not."""

    def __init__(self, kernel: str, variables: Sequence[Variable]) -> None:
        self._kernel, self._variables = kernel, variables
        self._filled: dict[str, bytes] = {}

    def variable(self, name: str) -> Variable:
        for form in ("name", "plain_name"):
            if found := [one for one in self._variables if getattr(one, form) == name]:
                return found[0]
        found = [one for one in self._variables if one.plain_name.rpartition("::")[2] == name]
        if len(found) == 1:
            return found[0]
        known = sorted({one.plain_name for one in found or self._variables})
        if not known:
            raise InputError(f"no variable {name!r}: the module of {self._kernel} has none")
        near = difflib.get_close_matches(str(name), known, 4, 0.5) or known[:8]
        raise InputError(f"no variable {name!r} in the module of {self._kernel}: choose one of {', '.join(near)}")

    def __setitem__(self, name: str, value: object) -> None:
        variable = self.variable(name)
        self._filled[variable.name] = content_of(value, variable)

    def __getitem__(self, name: str) -> bytes:
        return self._filled[self.variable(name).name]

    def __delitem__(self, name: str) -> None:
        del self._filled[self.variable(name).name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._filled)

    def __len__(self) -> int:
        return len(self._filled)

    def __contains__(self, name: object) -> bool:
        return name in self._filled or any(
            one.plain_name == name and one.name in self._filled for one in self._variables
        )

    def filled(self) -> Iterator[tuple[Variable, bytes]]:
        for name, content in self._filled.items():
            yield self.variable(name), content


def content_of(value: object, variable: Variable) -> bytes:
    """The bytes of what a variable is to hold."""
    name, size = variable.plain_name, variable.size
    if isinstance(value, bytes):
        content, what = value, f"{len(value)} bytes"
    elif isinstance(value, bool | int) and size <= 8:
        if not -(1 << (8 * size - 1)) <= value < 1 << (8 * size):
            raise InputError(f"{name} has {size} bytes: {value} does not fit")
        return (int(value) & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
    elif isinstance(value, float) and size in (4, 8):
        return np.array(value, f"<f{size}").tobytes()
    else:
        array = np.asarray(value)
        if array.dtype.hasobject or not array.dtype.isnative:
            raise InputError(f"{name}: a {array.dtype} array cannot be in a GPU's memory: give numbers in native order")
        content, what = array.tobytes(), f"{array.dtype}{list(array.shape) or ''} has {array.nbytes}"
    if len(content) != size:
        raise InputError(f"{name} has {size} bytes, {what}: give all of it, of its type")
    return content
