"""Arguments of a launch as the bytes of kernel parameters, and the global memory that they point to."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from banksim.errors import ArgumentTypeError, InputError
from banksim.kernels import demangling
from banksim.kernels.kernel import Kernel
from banksim.machine.addresses import address_of
from banksim.machine.host_memory import BUFFER_LIMIT, Absent, Stretch, Stretches, bounds, bytes_of
from banksim.machine.launch import GRID_LIMIT, Buffer, View, dim3
from banksim.machine.parameter_types import as_declared, parameter_types, with_types
from banksim.machine.structs import Struct, places, size_of
from banksim.machine.tensor_maps import BYTES, MappedArray, tensor_map
from banksim.wording import plural

if TYPE_CHECKING:
    from banksim.kernels.compilers.numba_arguments import Field


class LaunchBuffers:
    """The buffers of a launch, in order of their first use. An array's buffer is all the memory that it is a view of,
    which a kernel reaches as on a GPU; arrays whose memory overlaps are in one buffer."""

    def __init__(self, arguments: Iterable[object] = ()) -> None:
        self.buffers: list[Buffer] = []
        self.numbers: dict[Stretch, int] = {}
        self.stretches = Stretches(arguments)

    def address(self, array: np.ndarray, name: str, gaps: bool = False) -> int:
        """The global address of the array's first byte. `gaps`: whether the kernel is told of its strides."""
        check_in_place(array, name, gaps)
        stretch = self.stretches.of(array)
        if stretch not in self.numbers:
            self.buffers.append(Buffer(bytes_of(stretch, array), name))
            self.numbers[stretch] = len(self.buffers)
        number, start = self.numbers[stretch], bounds(array)[0] - stretch[0]
        if isinstance(array, Absent):
            self.buffers[number - 1].absent = array
        self.buffers[number - 1].views.append(View(name, start, bounds(array)[1] - bounds(array)[0]))
        return address_of(number) + start


def check_in_place(array: np.ndarray, name: str, gaps: bool = False) -> None:
    """`InputError` for an array that a kernel cannot be given as it is."""
    if not array.flags.writeable:
        raise InputError(f"{name} is read-only: a kernel may write to its arrays, pass a copy")
    if not (gaps or array.flags.c_contiguous or array.flags.f_contiguous):
        raise InputError(f"{name} is not contiguous: pass numpy.ascontiguousarray of it")


def check_content(value: object, name: str) -> None:
    """`InputError` for what a GPU does not know: objects, masks, numbers of the other byte order."""
    masked = sys.modules.get("numpy.ma")  # numpy itself imports this when it is first asked for
    if masked and isinstance(value, masked.MaskedArray):
        raise InputError(f"{name} is a masked array: a kernel sees no mask, pass its .filled() or .data")
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.hasobject:
            raise InputError(f"{name} holds Python objects: give an array of numbers")
        if not value.dtype.isnative:
            raise InputError(f"{name} is {value.dtype.str}, of the other byte order: pass .astype of the native type")


def names_of(count: int, names: Sequence[str] = ()) -> list[str]:
    return [names[n] if n < len(names) else f"argument {n + 1}" for n in range(count)]


def pointer_parameters(kernel: Kernel, arguments: Sequence[object]) -> tuple[list[bytes], list[Buffer]]:
    """For CUDA C++ and PTX: an array is a pointer, a tuple one to a C array of what it holds, a scalar or a structure
    takes its parameter's bytes.

    A Python int fits an integer parameter of any size, a Python float one of 8 bytes (double) or 4 (float); NumPy
    scalars, bytes and records must have the parameter's size. Where the kernel's name tells its parameters' types,
    numbers and arrays must be of them. InputError where they do not fit.
    """
    signature = demangling.signature(kernel.name)
    if len(arguments) != len(kernel.parameters):
        hidden = len(kernel.preset.scratch) if kernel.preset else 0
        count = len(kernel.parameters) - hidden
        raise InputError(f"{with_types(kernel)} takes {plural(count, 'argument')}, {len(arguments)} were given")
    memory = LaunchBuffers(arguments)
    out = []
    called, types = names_of(len(arguments)), parameter_types(kernel)
    for argument, parameter, name, kind in zip(arguments, kernel.parameters, called, types, strict=True):
        check_content(argument, name)
        given = as_declared(argument, parameter.size, kind, f"{signature}: {name}")
        content = scalar_bytes(given, parameter.size, name, memory)
        if len(content) != parameter.size:
            kind_given = "ndarray" if isinstance(argument, np.ndarray) else type(argument).__name__
            what = f"{kind_given} of {len(content)} bytes"
            raise InputError(f"{kernel.plain_name}: {name} is a {what}, the parameter has {parameter.size} bytes")
        out.append(content)
    return out, memory.buffers


def tensor_arguments(kernel: object, arguments: Sequence[object]) -> list[object]:
    """The arguments with every array that is handed on as a tensor descriptor taken apart: its map, sizes, strides."""
    if not isinstance(kernel, Kernel) or not kernel.preset or not kernel.preset.tensors:
        return list(arguments)
    described = iter(kernel.preset.tensors)
    sizes = [parameter.size for parameter in kernel.parameters]
    out: list[object] = []
    for argument in arguments:
        is_map = sizes[len(out) : len(out) + 1] == [BYTES]
        tensor = next(described, None) if is_map and isinstance(argument, np.ndarray | MappedArray) else None
        if tensor is None or not isinstance(argument, np.ndarray | MappedArray):
            out.append(argument)
            continue
        mapped = argument if isinstance(argument, MappedArray) else tensor_map(argument, *tensor)
        if mapped.im2col is None and (mapped.box, mapped.swizzle) != tensor:
            raise InputError(
                f"{kernel.plain_name}: a tensor map with boxes of {mapped.box}, a swizzle of {mapped.swizzle} bytes: "
                f"the kernel was compiled for boxes of {tensor[0]} and {tensor[1]} bytes; give the array itself"
            )
        strides = [np.int64(stride // mapped.array.itemsize) for stride in mapped.array.strides]
        out += [mapped, *map(np.int32, mapped.array.shape), *strides]
    return out


def scratch_arguments(kernel: object, arguments: Sequence[object], grid: int | Sequence[int]) -> list[object]:
    """The hidden arguments of a launch, where the kernel has any and they were not given: fresh memory."""
    if not isinstance(kernel, Kernel):
        return []
    preset = kernel.preset
    if preset is None or len(arguments) != len(kernel.parameters) - len(preset.scratch):
        return []
    blocks = math.prod(dim3(grid, "grid", GRID_LIMIT))
    if blocks * max(preset.scratch, default=0) > BUFFER_LIMIT:
        raise InputError(f"{kernel.plain_name}: {blocks} blocks want more than 2 GiB of scratch memory")
    return [np.zeros(blocks * size, np.uint8) if size else None for size in preset.scratch]


def scalar_bytes(argument: object, size: int, name: str, memory: LaunchBuffers) -> bytes:
    if isinstance(argument, Struct):
        return struct_bytes(argument, name, memory)
    if isinstance(argument, MappedArray):
        return argument.at(memory.address(argument.array, name, gaps=True))
    if isinstance(argument, np.ndarray) and argument.ndim:
        return memory.address(argument, name).to_bytes(8, "little")
    if isinstance(argument, tuple) and argument:
        return memory.address(laid_out(argument, name, memory), name).to_bytes(8, "little")
    if argument is None:
        return bytes(8)
    if isinstance(argument, bytes):
        return argument
    if isinstance(argument, np.generic | np.ndarray):
        return argument.tobytes()
    if isinstance(argument, bool | int):
        if not -(1 << (8 * size - 1)) <= argument < 1 << (8 * size):
            raise InputError(f"{name}: {argument} does not fit {size} bytes")
        return (int(argument) & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
    if isinstance(argument, float):
        if size not in (4, 8):
            raise InputError(f"{name}: a float for a parameter of {size} bytes; give a NumPy scalar of that size")
        return np.array(argument, "f4" if size == 4 else "f8").tobytes()
    raise InputError(f"{name}: a {type(argument).__name__} cannot be passed to a kernel")


def struct_bytes(argument: Struct, name: str, memory: LaunchBuffers) -> bytes:
    """A struct as it lies in memory, zeros between its fields."""
    found = bytearray(argument.size)
    put(found, 0, argument.values, [f"{name}.{field}" for field in argument.names], memory)
    return bytes(found)


def laid_out(values: Sequence[object], name: str, memory: LaunchBuffers) -> np.ndarray:
    """A C array that an argument points to: of addresses, numbers or structs."""
    found = bytearray(places(values)[1])
    put(found, 0, values, [f"{name}[{number}]" for number in range(len(values))], memory)
    return np.frombuffer(found, np.uint8)


def put(found: bytearray, base: int, values: Sequence[object], names: Sequence[str], memory: LaunchBuffers) -> None:
    """Write values one behind the other, from `base` on."""
    for offset, value, name in zip(places(values)[0], values, names, strict=True):
        start = base + offset
        if isinstance(value, tuple):
            put(found, start, value, [f"{name}[{number}]" for number in range(len(value))], memory)
            continue
        check_content(value, name)
        content = scalar_bytes(value, size_of(value), name, memory)
        found[start : start + len(content)] = content


def numba_parameters(
    fields: Sequence[Field], arguments: Sequence[object], arguments_names: Sequence[str] = ()
) -> tuple[list[bytes], list[Buffer]]:
    """For Numba: every argument taken apart into the parameters that `fields` list."""
    called = names_of(len(arguments), arguments_names)
    memory = LaunchBuffers(arguments)
    return [field_bytes(f, arguments[f.argument], called[f.argument], memory) for f in fields], memory.buffers


def field_bytes(f: Field, argument: Any, name: str, memory: LaunchBuffers) -> bytes:
    for step in f.path:
        argument = argument[step]
    if f.role in ("value", "real", "imag"):
        return number_bytes(argument if f.role == "value" else getattr(argument, f.role), f, name)
    roles: dict[str, Callable[[], Any]] = {
        "meminfo": lambda: 0,
        "parent": lambda: 0,
        "nitems": lambda: argument.size,
        "itemsize": lambda: argument.itemsize,
        "data": lambda: memory.address(argument, name),
        "shape": lambda: argument.shape[f.index],
        "stride": lambda: argument.strides[f.index],
        "record": lambda: memory.address(argument.reshape(-1).view(np.uint8), name),
    }
    return int(roles[f.role]()).to_bytes(f.size, "little", signed=f.role == "stride")


def number_bytes(value: Any, f: Field, name: str) -> bytes:
    """A number as numba-cuda's launcher converts it, by ctypes: to an integer from integers alone, wrapped to its
    size; to a float from what is a real number."""
    kind = np.dtype(f.dtype)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return value.view(np.int64).tobytes()
    try:
        if kind.kind in "iu":
            return (operator.index(value) & (1 << 8 * f.size) - 1).to_bytes(f.size, "little")
        with np.errstate(over="ignore"):
            return np.array(bool(value) if kind.kind == "b" else float(value)).astype(kind).tobytes()
    except (TypeError, OverflowError):
        raise ArgumentTypeError(f"{name} is {value!r}, a {type(value).__name__}: it is declared {kind}") from None
