"""Warp: `@wp.kernel` functions, compiled by Warp's own compiler with no GPU.

With `--const dim=1024` a call means `wp.launch(kernel, dim=1024)`. Without it, the grid and the block are those of
`wp.launch_tiled(kernel, dim=grid, block_dim=block)`."""

from __future__ import annotations

import inspect
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from math import prod
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

import numpy as np

from banksim.errors import InputError, UnsupportedError
from banksim.kernels.compilers.numba_without_gpu import capability
from banksim.kernels.kernel import Preset
from banksim.machine.structs import Struct
from banksim.runs.languages.diagnostics import outlived
from banksim.runs.languages.language import Compiled, place_of, refusals, refused, without_gpu
from banksim.runs.options import Call
from banksim.wording import takes

if TYPE_CHECKING:
    from typing_extensions import TypeIs

NAME = "Warp"
importing = without_gpu
BLOCK = 256
"""Threads of a block if the call does not say: the default of `wp.launch`."""
MOST_DIMENSIONS = 4


# ---- what is used of Warp's objects
class ScalarType(Protocol):
    """A type of numbers, such as `wp.float32`."""


class Vector(Protocol):
    """A vector or a matrix, whose class has the type of its elements."""

    _wp_scalar_type_: ClassVar[ScalarType]

    def __init__(self, *elements: object) -> None: ...

    def __buffer__(self, flags: int) -> memoryview: ...


class ArrayType(Protocol):
    ndim: int
    dtype: ScalarType | type[Vector]


class StructType(Protocol):
    key: str
    vars: Mapping[str, Parameter]


Type: TypeAlias = "ScalarType | type[Vector] | ArrayType | StructType"


class Parameter(Protocol):
    label: str
    type: Type


class Adjoint(Protocol):
    """What Warp knows of a kernel's function. `kernel_dim`: how many dimensions of the launch its threads ask for."""

    args: Sequence[Parameter]
    kernel_dim: int


class WarpModule(Protocol):
    """The kernels of a file, which Warp compiles together."""

    options: dict[str, object]

    def get_module_hash(self, block: int) -> bytes: ...


class WarpKernel(Protocol):
    """What `@wp.kernel` makes."""

    func: FunctionType
    adj: Adjoint
    module: WarpModule
    is_generic: bool

    def add_overload(self, types: Sequence[Type]) -> WarpKernel: ...

    def get_mangled_name(self) -> str: ...


def owns(value: object) -> bool:
    return type(value).__name__ == "Kernel" and hasattr(value, "adj")


def title(kernel: WarpKernel) -> tuple[str, Sequence[str]]:
    return kernel.func.__name__, [str(one) for one in inspect.signature(kernel.func).parameters.values()]


def names(kernel: WarpKernel) -> Mapping[str, object]:
    return kernel.func.__globals__


def compile(call: Call, arch: str) -> Compiled:
    kernel, block = concrete(call), threads(call)
    warp = import_module("warp")
    if odd := call.const.keys() - {"dim"}:
        raise InputError(f"{place(kernel)}: Warp's kernels have no constant {min(odd)}: give dim alone")
    with settings(warp, kernel.module, block):
        key = kernel.module.get_module_hash(block), arch, block
        if key not in _modules:
            _modules[key] = outlived(partial(machine_code, warp, kernel, arch), place(kernel), arch)
        cubin, shared = _modules[key]
        name = f"{kernel.get_mangled_name()}_cuda_kernel_forward"
    return Compiled(cubin, name, Preset((block, 1, 1), shared.get(f"{name}_smem_bytes", 0), ()))


_modules: dict[tuple[bytes, str, int], tuple[bytes, dict[str, int]]] = {}
"""Cubins of whole modules, since Warp takes seconds for each, with the shared memory of their kernels."""


def machine_code(warp: ModuleType, kernel: WarpKernel, arch: str) -> tuple[bytes, dict[str, int]]:
    """The cubin of a kernel's module, and bytes of dynamic shared memory by kernel."""
    major, minor = capability(arch)
    with tempfile.TemporaryDirectory() as folder:
        with refusals(place(kernel)):
            [file] = warp.compile_aot_module(
                kernel.module, arch=10 * major + minor, module_dir=folder, use_ptx=False, strip_hash=False
            )
        [about] = Path(folder).glob("*.meta")
        return Path(file).read_bytes(), json.loads(about.read_text(encoding="utf-8"))


@contextmanager
def settings(warp: ModuleType, module: WarpModule, block: int) -> Iterator[None]:
    """Within, Warp keeps lines in the machine code, and prints nothing but errors."""
    config, before = warp.config, warp.config.log_level
    options = dict(module.options)
    config.log_level = warp.LOG_ERROR
    module.options.update(block_dim=block, lineinfo=True)
    try:
        yield
    finally:
        module.options.clear()
        module.options.update(options)
        config.log_level = before


def concrete(call: Call) -> WarpKernel:
    """The kernel; of a generic kernel, the overload for the types of the arguments."""
    kernel: WarpKernel = call.kernel
    parameters = kernel.adj.args
    if len(call.args) != len(parameters):
        raise InputError(f"{place(kernel)} {takes([one.label for one in parameters], len(call.args))}")
    if not kernel.is_generic:
        return kernel
    try:
        return kernel.add_overload(
            [inferred(one.type, value) for one, value in zip(parameters, call.args, strict=True)]
        )
    except (TypeError, RuntimeError) as error:
        raise refused(place(kernel), error) from error


def inferred(declared: Type, value: object) -> Type:
    """An argument's type in a generic kernel: the declared one, or if that is generic, that of what is given."""
    types, warp = import_module("warp._src.types"), import_module("warp")
    if not types.type_is_generic(declared):
        return declared
    given = of_host(value)
    if not isinstance(given, np.ndarray) or not given.ndim:
        kind = (
            given.dtype if isinstance(given, np.generic) else np.dtype({int: "i4", float: "f4"}.get(type(given), "O"))
        )
        found: Type = warp.dtype_from_numpy(kind)
        return found
    axes = declared.ndim if is_array(declared) else given.ndim
    scalar, inner = warp.dtype_from_numpy(given.dtype), given.shape[axes:]
    makers = (None, types.vector, types.matrix)
    element = makers[len(inner)](inner if len(inner) > 1 else inner[0], scalar) if inner else scalar  # type: ignore[misc]
    found = warp.array(dtype=element, ndim=axes)
    return found


def is_array(declared: Type) -> TypeIs[ArrayType]:
    return bool(import_module("warp._src.types").is_array(declared))


def is_struct(declared: Type) -> TypeIs[StructType]:
    return hasattr(declared, "vars")


def is_vector(declared: Type) -> TypeIs[type[Vector]]:
    types = import_module("warp._src.types")
    return bool(types.type_is_vector(declared) or types.type_is_matrix(declared))


def of_host(value: Any) -> object:
    """An array of Warp's in the host's memory, as a NumPy array of the same memory. Anything else as it is."""
    if not type(value).__module__.startswith("warp.") or not hasattr(value, "__array_interface__"):
        return value
    return np.asarray(value) if value.ptr else value.numpy()


def pack(call: Call, compiled: Compiled) -> list[object]:
    kernel = concrete(call)
    parameters = kernel.adj.args
    dim = dimensions(call)
    kept = (*dim, *(1,) * MOST_DIMENSIONS)[: kernel.adj.kernel_dim]
    shared = prod(dim[kernel.adj.kernel_dim :])
    bounds = Struct(
        shape=tuple(np.uint32(size) for size in kept), size=np.uint64(prod(dim)), threads_each=np.uint64(shared)
    )
    return [bounds, *(packed(one, value) for one, value in zip(parameters, call.args, strict=True))]


def packed(parameter: Parameter, value: object) -> object:
    """An argument as Warp lays it out: arrays with shape and strides, numbers of the declared type."""
    types = import_module("warp._src.types")
    declared, name, value = parameter.type, parameter.label, of_host(value)
    if is_array(declared):
        return array(declared, value, name)
    if is_struct(declared):
        return struct(declared, value, name)
    if is_vector(declared):
        made = value if isinstance(value, declared) else declared(*np.asarray(value).ravel().tolist())
        return Struct(*np.frombuffer(bytes(made), import_module("warp").dtype_to_numpy(declared._wp_scalar_type_)))
    if declared not in types.scalar_types and declared is not types.bool:
        raise UnsupportedError(f"argument {name}: {types.type_repr(declared)} as an argument is not known")
    kind = import_module("warp").dtype_to_numpy(declared)
    if isinstance(value, np.ndarray) and value.ndim:
        raise InputError(f"argument {name} is an array, and the kernel takes a {types.type_repr(declared)}")
    return np.asarray(value).astype(kind)[()]


def struct(declared: StructType, value: object, name: str) -> Struct:
    """A struct of Warp's, given as an instance of it, as a mapping of its fields, or as a `banksim.Struct`."""
    if isinstance(value, Struct):
        value = dict(zip(value.names, value.values, strict=True))
    fields = {one: value.get(one) if isinstance(value, Mapping) else getattr(value, one, None) for one in declared.vars}
    if lacking := [field for field, one in fields.items() if one is None]:
        raise InputError(
            f"argument {name}: field {lacking[0]} of {declared.key} is missing: it has {', '.join(fields)}"
        )
    return Struct(**{field: packed(declared.vars[field], one) for field, one in fields.items()})


def array(declared: ArrayType, value: object, name: str) -> Struct:
    """An array as the descriptor that Warp's kernels take."""
    warp = import_module("warp")
    if not isinstance(value, np.ndarray) or type(declared).__name__ == "indexedarray":
        raise InputError(f"argument {name} is a {type(value).__name__}: give a NumPy array")
    inner = tuple(getattr(declared.dtype, "_shape_", ()))
    scalar = np.dtype(warp.dtype_to_numpy(getattr(declared.dtype, "_wp_scalar_type_", declared.dtype)))
    if value.dtype != scalar or value.shape[value.ndim - len(inner) :] != inner:
        wanted = f"{scalar}{list(inner) if inner else ''}"
        raise InputError(f"argument {name} holds {value.dtype}{list(value.shape)}, and its elements are {wanted}")
    axes = value.ndim - len(inner)
    if axes != declared.ndim:
        raise InputError(f"argument {name} has {axes} dimensions, and the kernel takes {declared.ndim}")
    rest = (0,) * (MOST_DIMENSIONS - axes)
    return Struct(
        data=value,
        grad=None,
        shape=tuple(map(np.int32, (*value.shape[:axes], *rest))),
        strides=tuple(map(np.int32, (*value.strides[:axes], *rest))),
        ndim=np.uint16(axes),
        flags=np.uint16(0),
    )


def grid(call: Call, compiled: Compiled) -> int:
    return -(-prod(dimensions(call)) // threads(call))


# ---- what was given
def threads(call: Call) -> int:
    """Threads of a block."""
    if call.block is None:
        return BLOCK
    sizes = (call.block,) if isinstance(call.block, int) else tuple(call.block)
    return prod(sizes)


def dimensions(call: Call) -> tuple[int, ...]:
    """The dimensions of the launch; with tiles, the threads of a block are the last dimension."""
    given = call.const.get("dim")
    if given is None:
        given = (call.grid,) if isinstance(call.grid, int) else tuple(call.grid)  # type: ignore[arg-type]
        given = (*given, threads(call))
    found = (given,) if isinstance(given, int) else tuple(given)
    if not 1 <= len(found) <= MOST_DIMENSIONS or not all(isinstance(one, int) and one > 0 for one in found):
        raise InputError(f"dim {given!r}: give one to {MOST_DIMENSIONS} sizes from 1 on, such as 1024 or (64, 64)")
    return found


def place(kernel: WarpKernel) -> str:
    return place_of(kernel.func)
