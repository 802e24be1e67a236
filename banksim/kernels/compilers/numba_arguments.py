"""A kernel's arguments: their Numba types, the signature that fits them, and the parameters that they become."""

import inspect
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import SupportsInt

from banksim.errors import InputError, UnsupportedError
from banksim.kernels.compilers.numba_objects import Function, Types
from banksim.kernels.compilers.numba_without_gpu import module
from banksim.wording import takes


@dataclass(frozen=True)
class Field:
    """One kernel parameter: `size` bytes that hold `role` of an argument, or its part that `path` leads to.

    roles                                  of
    meminfo parent nitems itemsize data    an array (the first two are 0, data is its address)
    shape stride                           an array, along axis `index`
    value                                  a scalar, as NumPy's `dtype`
    real imag                              a complex number, as NumPy's `dtype`
    record                                 a record: the address of its bytes
    """

    argument: int
    role: str
    size: int = 8
    index: int = 0
    dtype: str = "int64"
    path: tuple[int, ...] = ()


def argument_type(value: object) -> Hashable:
    """The Numba type that a launch would give an argument; a type stands for itself."""
    if isinstance(value, module("numba.cuda.types").Type):
        return value  # type: ignore[no-any-return]
    try:
        found: Hashable = module("numba.cuda.typing.typeof").typeof(value)
        return found
    except Exception as error:
        raise InputError(f"Numba CUDA has no type for a {type(value).__name__} argument: {error}") from None


def declared(function: object) -> list[Types]:
    """The signatures that a dispatcher was given, or []: it is compiled for what it is called with."""
    if getattr(function, "_can_compile", True):
        return []
    return list(getattr(function, "banksim_signatures", ())) or list(getattr(function, "overloads", ()))


def signature(function: Function, types: Types) -> Types:
    """The argument types to compile for: those of the call, or the declared signature that fits them best."""
    choices = declared(function)
    body = getattr(function, "py_func", function)
    names = inspect.signature(body).parameters
    if len(types) != len(names):
        raise InputError(f"{body.__name__} {takes(names, len(types))}")
    if not choices or types in choices:
        return types
    fitting = [
        (sum(int(step) for step in steps if step is not None), number)
        for number, choice in enumerate(choices)
        if None not in (steps := conversions(types, choice))
    ]
    if not fitting and any(addresses(types, choice) for choice in choices):
        raise UnsupportedError(f"{body.__name__}: an address in place of an array, for a CPointer, is not simulated")
    if not fitting:
        wanted = " or ".join(f"({', '.join(map(str, choice))})" for choice in choices)
        raise InputError(f"{body.__name__} is declared for {wanted}, not for ({', '.join(map(str, types))})")
    return choices[min(fitting)[1]]


def addresses(types: Types, choice: Types) -> bool:
    """Whether a number is given for a pointer."""
    kinds = module("numba.cuda.types")
    pairs = zip(types, choice, strict=False)
    return any(isinstance(given, kinds.Integer) and isinstance(wanted, kinds.CPointer) for given, wanted in pairs)


def conversions(types: Types, choice: Types) -> list[SupportsInt | None]:
    """How much each argument has to change to fit a signature; None where it cannot."""
    if len(types) != len(choice):
        return [None]
    context = module("numba.cuda.descriptor").cuda_target.typing_context
    return [context.can_convert(given, wanted) for given, wanted in zip(types, choice, strict=True)]


def fields(kind: object, argument: int, path: tuple[int, ...] = ()) -> Iterator[Field]:
    """The parameters that an argument of a type becomes, as numba-cuda's launcher flattens it."""
    types = module("numba.cuda.types")

    def field(role: str, size: int = 8, index: int = 0, dtype: str = "int64") -> Field:
        return Field(argument, role, size, index, dtype, path)

    if isinstance(kind, types.Array):
        yield from map(field, ("meminfo", "parent", "nitems", "itemsize", "data"))
        yield from (field("shape", index=axis) for axis in range(kind.ndim))
        yield from (field("stride", index=axis) for axis in range(kind.ndim))
    elif isinstance(kind, types.BaseTuple):
        for index, part in enumerate(kind):
            yield from fields(part, argument, (*path, index))
    elif isinstance(kind, types.Complex):
        size = kind.bitwidth // 16
        yield from (field(role, size, dtype=f"float{8 * size}") for role in ("real", "imag"))
    elif isinstance(kind, types.Record):
        yield field("record")
    elif isinstance(kind, types.IntEnumMember | types.EnumMember):
        yield from fields(kind.dtype, argument, path)
    elif isinstance(kind, types.Integer | types.Float):
        yield field("value", kind.bitwidth // 8, dtype=kind.name)
    elif isinstance(kind, types.Boolean):
        yield field("value", 1, dtype="bool")
    elif isinstance(kind, types.NPDatetime | types.NPTimedelta):
        yield field("value")
    elif isinstance(kind, types.CPointer):
        yield field("value", dtype="uint64")
    else:
        raise InputError(f"argument {argument + 1}: Numba CUDA cannot pass a {kind} to a kernel")
