"""Arguments of a launch as the bytes of kernel parameters, and the global memory that they point to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from banksim.errors import InputError
from banksim.sass.launch import BUFFER_LIMIT, GRID_LIMIT, Buffer, address_of, dim3
from banksim.sass.program import Kernel

if TYPE_CHECKING:
    from banksim.compilers.numba import Field


class Memory:
    """The buffers of a launch, in order of their first use; an array that is passed twice is one buffer."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self.known: dict[tuple[int, int], int] = {}

    def address(self, array: np.ndarray, name: str) -> int:
        """The global address of the array's first byte."""
        place = (array.ctypes.data, array.nbytes)
        if place not in self.known:
            self.buffers.append(Buffer(bytes_of(array, name), name))
            self.known[place] = address_of(len(self.buffers))
        return self.known[place]


def bytes_of(array: np.ndarray, name: str) -> np.ndarray:
    """The array's memory, in place, as bytes."""
    if not array.flags.writeable:
        raise InputError(f"{name} is read-only: a kernel may write to its arrays, pass a copy")
    if array.flags.c_contiguous:
        return array.reshape(-1).view(np.uint8)
    if array.flags.f_contiguous:
        return array.T.reshape(-1).view(np.uint8)
    raise InputError(f"{name} is not contiguous: pass numpy.ascontiguousarray of it")


def names_of(count: int, names: Sequence[str] = ()) -> list[str]:
    return [names[n] if n < len(names) else f"argument {n + 1}" for n in range(count)]


def pointer_parameters(kernel: Kernel, arguments: Sequence[Any]) -> tuple[list[bytes], list[Buffer]]:
    """For CUDA C++ and PTX: an array is a pointer, a scalar or a structure takes its parameter's bytes.

    A Python int fits an integer parameter of any size, a Python float one of 8 bytes (double) or 4 (float); NumPy
    scalars, bytes and records must have the parameter's size. InputError where they do not fit.
    """
    if len(arguments) != len(kernel.parameters):
        hidden = len(kernel.preset.scratch) if kernel.preset else 0
        count = len(kernel.parameters) - hidden
        raise InputError(f"{kernel.plain_name} takes {count} arguments, {len(arguments)} were given")
    memory = Memory()
    out = []
    for argument, parameter, name in zip(arguments, kernel.parameters, names_of(len(arguments)), strict=True):
        content = scalar_bytes(argument, parameter.size, name, memory)
        if len(content) != parameter.size:
            what = f"{type(argument).__name__} of {len(content)} bytes"
            raise InputError(f"{kernel.plain_name}: {name} is a {what}, the parameter has {parameter.size} bytes")
        out.append(content)
    return out, memory.buffers


def scratch_arguments(kernel: Any, arguments: Sequence[Any], grid: int | Sequence[int]) -> list[Any]:
    """The hidden arguments of a launch, where the kernel has any and they were not given: fresh memory."""
    preset = kernel.preset if isinstance(kernel, Kernel) else None
    if preset is None or len(arguments) != len(kernel.parameters) - len(preset.scratch):
        return []
    blocks = math.prod(dim3(grid, "grid", GRID_LIMIT))
    if blocks * max(preset.scratch, default=0) > BUFFER_LIMIT:
        raise InputError(f"{kernel.plain_name}: {blocks} blocks want more than 2 GiB of scratch memory")
    return [np.zeros(blocks * size, np.uint8) if size else None for size in preset.scratch]


def scalar_bytes(argument: Any, size: int, name: str, memory: Memory) -> bytes:
    if isinstance(argument, np.ndarray) and argument.ndim:
        return memory.address(argument, name).to_bytes(8, "little")
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


def numba_parameters(
    fields: Sequence[Field], arguments: Sequence[Any], names: Sequence[str] = ()
) -> tuple[list[bytes], list[Buffer]]:
    """For Numba: every argument taken apart into the parameters that `fields` list."""
    memory = Memory()
    called = names_of(len(arguments), names)
    return [field_bytes(f, arguments[f.argument], called[f.argument], memory) for f in fields], memory.buffers


def field_bytes(f: Field, argument: Any, name: str, memory: Memory) -> bytes:
    for step in f.path:
        argument = argument[step]
    if f.role in ("value", "real", "imag"):
        part = argument if f.role == "value" else getattr(argument, f.role)
        return np.asarray(part).astype(f.dtype).tobytes()
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
