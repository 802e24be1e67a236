"""Numba function → cubin with no GPU. Everything that touches numba-cuda is in this file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from banksim.compilers.ptx import assemble
from banksim.errors import CompileError, InputError


@dataclass(frozen=True)
class Field:
    """One kernel parameter: `size` bytes that hold `role` of argument number `argument`.

    role       the value
    meminfo parent nitems itemsize data    of an array
    shape stride                           along axis `index`
    value real imag                        of a scalar
    """

    argument: int
    role: str
    size: int
    index: int = 0


@dataclass(frozen=True)
class Compiled:
    """A kernel's cubin, its mangled `name` in there, the argument types as Numba writes them, its parameters."""

    cubin: bytes
    name: str
    signature: tuple[str, ...]
    fields: tuple[Field, ...] = ()
    ptx: str = ""


def compile_numba(function: Callable[..., Any], argument_types: Sequence[Any], arch: str = "sm_90") -> Compiled:
    """Compile a Python function, or a dispatcher that `cuda.jit` made of one, for `arch`.

    `argument_types` are Numba types, or values (arrays, scalars) to type as a launch would.
    """
    from numba import cuda

    types = tuple(argument_type(value) for value in argument_types)
    options = dict(getattr(function, "targetoptions", {}))
    body = getattr(function, "py_func", function)
    with device(arch) as capability:
        ptx, _ = cuda.compile_ptx(
            body,
            types,
            cc=capability,
            lineinfo=True,
            fastmath=options.get("fastmath", False),
            opt=options.get("opt", True),
            launch_bounds=options.get("launch_bounds"),
        )
    limit = options.get("max_registers")
    cubin = assemble(ptx, arch, ["--maxrregcount", str(limit)] if limit else [])
    entry = re.search(r"\.entry\s+(\S+?)\s*\(", ptx)
    if entry is None:
        raise CompileError(f"{body.__name__}: Numba made no kernel of it")
    return Compiled(cubin, entry[1], tuple(map(str, types)), ptx=ptx)


def argument_type(value: Any) -> Any:
    from numba.cuda import types
    from numba.cuda.typing.typeof import typeof

    if isinstance(value, types.Type):
        return value
    try:
        return typeof(value)
    except ValueError:
        raise InputError(f"Numba has no type for an argument of type {type(value).__name__}") from None


@contextmanager
def device(arch: str) -> Iterator[tuple[int, int]]:
    """Let numba-cuda compile device functions for `arch` where no GPU can be asked what it is."""
    from types import SimpleNamespace

    from numba.cuda import dispatcher

    number = int(re.sub(r"\D", "", arch))
    capability = divmod(number, 10)
    original = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    try:
        yield capability
    finally:
        dispatcher.get_current_device = original
