"""cuTile: `@ct.kernel` functions of the package cuda-tile, compiled by its own compiler with no GPU.

The compiler is told what it may assume of arrays, as cuTile's own bridge to JAX tells it: which strides are 1, which
strides and sizes are multiples of 16 bytes or elements, how addresses are aligned, and which arrays share memory.
`ct.launch` decides this in compiled code, which runs only where there is a driver."""

from __future__ import annotations

import inspect
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import import_module
from math import gcd
from types import FunctionType
from typing import TYPE_CHECKING, Protocol

import numpy as np

from banksim.errors import CompileError, InputError, UnsupportedError
from banksim.kernels.cubin import entry_names
from banksim.machine.host_memory import Stretch, Stretches
from banksim.runs.languages.language import Compiled, place_of, refusals, without_gpu
from banksim.runs.options import Call, Grid
from banksim.wording import takes

if TYPE_CHECKING:
    from typing_extensions import TypeIs

NAME = "cuTile"
importing = without_gpu
ALIGNMENT = 256
"""Bytes by which a GPU's allocations are aligned."""
SCALARS = {bool: "bool", int: "int32", float: "float32"}
"""Python's numbers, as cuTile takes them."""
MULTIPLE = 16
"""The compiler is told whether sizes (in elements) and strides (in bytes) are multiples of this."""


class Annotated(Protocol):
    pyfunc: FunctionType


class TileKernel(Protocol):
    """What `@ct.kernel` makes."""

    _annotated_function: Annotated


def owns(value: object) -> bool:
    return type(value).__name__ == "kernel" and hasattr(value, "_annotated_function")


def function(kernel: TileKernel) -> FunctionType:
    return kernel._annotated_function.pyfunc


def title(kernel: TileKernel) -> tuple[str, Sequence[str]]:
    parameters = inspect.signature(function(kernel)).parameters
    return function(kernel).__name__, [*parameters]


def names(kernel: TileKernel) -> Mapping[str, object]:
    return function(kernel).__globals__


def compile(call: Call, arch: str) -> Compiled:
    kernel = call.kernel
    given = arguments(call)
    compilation = import_module("cuda.tile.compilation")
    output = io.BytesIO()
    with refusals(place(kernel)):
        convention = compilation.CallingConvention.cutile_python_v1()
        signature = compilation.KernelSignature(constraints(call, given), convention, symbol=function(kernel).__name__)
        try:
            compilation.export_kernel(kernel, [signature], output, gpu_code=arch, output_format="cubin")
        except FileNotFoundError as error:
            raise CompileError(f"{place(kernel)}: {error}: pip install 'cuda-tile[tileiras]'") from error
    cubin = output.getvalue()
    [name] = entry_names(cubin)
    return Compiled(cubin, name, about=signature.parameters)


def pack(call: Call, compiled: Compiled) -> list[object]:
    found: list[object] = []
    for (name, value), constraint in zip(arguments(call).items(), compiled.about, strict=True):
        kind = type(constraint).__name__
        if kind == "ArrayConstraint" and is_array(value):
            index = np.dtype(constraint.index_dtype.name).type
            strides = [step // value.itemsize for step in value.strides]
            found += [value, *map(index, value.shape), *map(index, strides)]
        elif kind == "ScalarConstraint":
            found.append(np.asarray(value).astype(constraint.dtype.name)[()])
        elif kind != "ConstantConstraint":
            raise UnsupportedError(f"argument {name}: {kind.removesuffix('Constraint')} as an argument is not known")
    return found


def grid(call: Call, compiled: Compiled) -> Grid | None:
    return call.grid


# ---- what the compiler may assume
def constraints(call: Call, given: Mapping[str, object]) -> list[object]:
    """What the compiler is told of each argument."""
    compilation, typing = import_module("cuda.tile.compilation"), import_module("cuda.tile._ir.typing_support")
    stretches = Stretches(call.args)
    memory = Counter(stretches.of(value) for value in given.values() if is_array(value))
    parameters = inspect.signature(function(call.kernel)).parameters
    found: list[object] = []
    for name, value in given.items():
        if is_array(value):
            where = stretches.of(value)
            found.append(of_array(value, where, (f"memory{where[0]}",) if memory[where] > 1 else ()))
        elif name in call.const or "Constant" in str(parameters[name].annotation):
            found.append(compilation.ConstantConstraint(plain(value)))
        else:
            kind = np.asarray(value).dtype if isinstance(value, np.generic) else np.dtype(SCALARS[type(value)])
            found.append(compilation.ScalarConstraint(typing.to_dtype(kind)))
    return found


def of_array(array: np.ndarray, where: Stretch, shared: tuple[str, ...]) -> object:
    """What the compiler may assume of an array. `where`: the start and the end of its memory; `shared`: a name of that
    memory if other arrays lie in it too."""
    compilation, typing = import_module("cuda.tile.compilation"), import_module("cuda.tile._ir.typing_support")
    strides = [step // array.itemsize for step in array.strides]
    step = max(MULTIPLE // array.itemsize, 1)
    return compilation.ArrayConstraint(
        typing.to_dtype(array.dtype),
        array.ndim,
        index_dtype=typing.to_dtype(np.dtype(np.int32)),
        stride_lower_bound_incl=0,
        alias_groups=shared,
        may_alias_internally=False,
        stride_constant=tuple(1 if stride == 1 else None for stride in strides),
        stride_divisible_by=tuple(step if stride % step == 0 else 1 for stride in strides),
        shape_divisible_by=tuple(MULTIPLE if size % MULTIPLE == 0 else 1 for size in array.shape),
        base_addr_divisible_by=gcd(array.ctypes.data - where[0], ALIGNMENT),
    )


# ---- what was given
def arguments(call: Call) -> dict[str, object]:
    """All arguments by name, in the order of the parameters: constants and others."""
    parameters = [*inspect.signature(function(call.kernel)).parameters]
    if odd := [name for name in call.const if name not in parameters]:
        raise InputError(f"{place(call.kernel)} has no parameter {odd[0]}: it has {', '.join(parameters)}")
    rest = [name for name in parameters if name not in call.const]
    for name, value in zip(rest, call.args, strict=False):
        if not is_array(value) and type(value) not in SCALARS and not isinstance(value, np.generic):
            raise InputError(f"argument {name}: a {type(value).__name__} cannot be passed: give an array or a number")
    if len(rest) != len(call.args):
        raise InputError(
            f"{place(call.kernel)} {takes(rest, len(call.args))}; "
            "constants may be given by name: --const NAME=VALUE, or const={…}"
        )
    others = dict(zip(rest, call.args, strict=True))
    return {name: call.const[name] if name in call.const else others[name] for name in parameters}


def is_array(value: object) -> TypeIs[np.ndarray]:
    return isinstance(value, np.ndarray) and value.ndim > 0


def plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic | np.ndarray) else value


def place(kernel: TileKernel) -> str:
    return place_of(function(kernel))
