"""The arguments of a launch as the machine takes them: arrays of the device in place, arrays of the host copied."""

import ctypes
import enum
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from banksim.errors import InputError
from banksim.machine import parameters
from banksim.machine.addresses import address_of
from banksim.machine.launch import Buffer, View
from banksim.runs.programs.driver import Allocations

Array = np.ndarray


class Arguments(parameters.LaunchBuffers):
    """The buffers of one launch: the allocations in which its device arrays lie, and copies of its host arrays. As on a
    GPU, every host array that is an argument has a copy of its own, which is copied back at the end."""

    def __init__(self, device: Allocations) -> None:
        super().__init__()
        self.device = device
        self.copies: list[int] = []
        self.back: list[tuple[int, int, int]] = []
        self.records: list[tuple[np.void, Array]] = []

    def address(self, array: Array, name: str, gaps: bool = False) -> int:
        """The global address of the array's first element; that of an empty array is 0."""
        if not array.nbytes:
            return 0
        here = int(array.ctypes.data)
        found = self.device.find(here)
        if found is None:
            raise InputError(f"{name} is no memory of the device")
        start, data = found
        stretch = start, start + data.nbytes
        if stretch not in self.numbers:
            self.buffers.append(Buffer(data, name))
            self.numbers[stretch] = len(self.buffers)
        number = self.numbers[stretch]
        self.buffers[number - 1].views.append(View(name, here - start, array.nbytes))
        return address_of(number) + here - start

    def given(self, value: Any, inward: bool = True, outward: bool = True) -> Any:
        """The value as a NumPy array over memory of the device, or as a scalar. `inward`: a host array is copied to the
        device first; `outward`: it is copied back afterwards."""
        if isinstance(value, tuple):
            return tuple(self.given(part, inward, outward) for part in value)
        if isinstance(value, enum.Enum):
            return value.value
        if getattr(value, "__cuda_memory__", False):
            if isinstance(value, np.ndarray):  # mapped and managed arrays, and views of them
                return np.asarray(value)
            address, shape = value.device_ctypes_pointer.value, value.shape
            return self.device.view(address or 0, shape or (1,), value.strides if shape else None, value.dtype)
        interface = getattr(value, "__cuda_array_interface__", None)
        if interface is not None:
            dtype = np.dtype(interface["typestr"])
            return self.device.view(interface["data"][0], interface["shape"], interface.get("strides"), dtype)
        if isinstance(value, np.void):
            return self.record(value, outward)
        if isinstance(value, np.ndarray):
            return self.copy(value, inward, outward)
        return value

    def copy(self, array: Array, inward: bool, outward: bool) -> Array:
        if not array.size:
            return array
        core = array[tuple(0 if stride == 0 else slice(None) for stride in array.strides)]
        if not (core.flags.c_contiguous or core.flags.f_contiguous):
            raise ValueError("an array of the host that is not contiguous: pass numpy.ascontiguousarray of it")
        low, high = byte_bounds(array)
        start = self.fresh(high - low)
        if inward:
            ctypes.memmove(start, low, high - low)
        if outward and array.flags.writeable:
            self.back.append((low, start, high - low))
        return self.device.view(start + int(array.ctypes.data) - low, array.shape, array.strides, array.dtype)

    def record(self, value: np.void, outward: bool) -> Array:
        copy = self.device.view(self.fresh(value.nbytes), (1,), None, value.dtype)
        copy[0] = value
        if outward:
            self.records.append((value, copy))
        return copy

    def fresh(self, size: int) -> int:
        self.copies.append(self.device.allocate(size))
        return self.copies[-1]

    def give_back(self) -> None:
        """Copy back the host arrays that the kernel may have changed, in the order of the arguments."""
        for host, start, size in self.back:
            ctypes.memmove(host, start, size)
        for value, copy in self.records:
            for name in value.dtype.names or ():
                value[name] = copy[0][name]

    def free(self) -> None:
        for start in self.copies:
            self.device.free(start)
