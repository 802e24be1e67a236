"""The functions of the CUDA driver that numba-cuda calls, over the memory of the host.

A device address is the host's own address of the same byte, so that arrays can be seen from both sides. Everything
happens at once and in the order of the program, which is one of the orders that streams allow.
"""

import bisect
import ctypes
import itertools
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, SupportsInt, TypeVar

import numpy as np
import numpy.typing as npt

from banksim.errors import InputError, UnsupportedError
from banksim.runs.programs import device
from banksim.runs.programs.clock import Clock

T = TypeVar("T")
CONTEXT = 1
FIRST_HANDLE = 16
"""The first handle of a stream or event; 0 to 2 are the default streams."""


class Named(Protocol):
    """A member of one of the enumerations of cuda.h."""

    @property
    def name(self) -> str: ...


class Allocations:
    """Allocations: their bytes, by the address at which they begin. New memory is zero."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.bytes: dict[int, npt.NDArray[np.uint8]] = {}
        self.lock = threading.Lock()
        self.copies = 0
        """And fills, so far."""

    def allocate(self, size: int) -> int:
        return self.add(np.zeros(max(size, 1), np.uint8))

    def register(self, address: int, size: int) -> int:
        """Make memory of the program's own accessible to the device. Its address there."""
        return self.add(np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address)))

    def add(self, data: npt.NDArray[np.uint8]) -> int:
        address = int(data.ctypes.data)
        with self.lock:
            if address not in self.bytes:
                bisect.insort(self.starts, address)
            self.bytes[address] = data
        return address

    def free(self, address: int) -> None:
        with self.lock:
            if self.bytes.pop(address, None) is not None:
                self.starts.remove(address)

    def find(self, address: int) -> tuple[int, npt.NDArray[np.uint8]] | None:
        """The address at which the allocation that holds a byte begins, and its bytes."""
        with self.lock:
            number = bisect.bisect_right(self.starts, address) - 1
            if number < 0:
                return None
            start = self.starts[number]
            data = self.bytes[start]
        return (start, data) if address < start + data.nbytes else None

    def view(
        self, address: int, shape: Sequence[int], strides: Sequence[int] | None, dtype: npt.DTypeLike
    ) -> np.ndarray:
        """The array at a device address. `InputError` if it lies in no allocation."""
        if not math.prod(shape):
            return np.empty(tuple(shape), dtype)
        found = self.find(address)
        if found is None:
            raise InputError(f"address {address:#x} is not the device's: allocate it by cuda.device_array or to_device")
        start, data = found
        return np.ndarray(tuple(shape), dtype, data.data, address - start, strides and tuple(strides))

    def check(self, what: str, address: int, size: int) -> None:
        """Before a copy or fill: whether it stays in its allocation."""
        self.copies += 1
        found = self.find(address)
        if size and (found is None or address + size > found[0] + found[1].nbytes):
            raise InputError(f"{what}: {size} bytes at {address:#x} do not lie in one allocation of the device")


class Driver:
    """The functions of the driver, by their names in cuda.h. Results are returned, and handles are numbers."""

    def __init__(self, arch: str = "sm_90", clock: Callable[[], Clock] = Clock) -> None:
        """`clock` tells the time of all launches so far, behind an event."""
        self.attributes = device.attributes(arch)
        self.memory = Allocations()
        self.handles = itertools.count(FIRST_HANDLE)
        self.clock = clock
        self.recorded: dict[int, Clock] = {}
        self.time_was_asked = False
        self.of_thread = threading.local()

    # ---- the device and its context
    def cuDeviceGetCount(self) -> int:
        return 1

    def cuDeviceGetAttribute(self, attribute: Named, number: int) -> int:
        name = attribute.name.removeprefix("CU_DEVICE_ATTRIBUTE_")
        if name not in self.attributes:
            raise UnsupportedError(f"device attribute {name}: banksim's simulated device has none")
        return self.attributes[name]

    def cuDriverGetVersion(self) -> int:
        return device.DRIVER_VERSION

    def cuDeviceCanAccessPeer(self, number: int, peer: object) -> int:
        return 0

    def cuDevicePrimaryCtxRelease(self, number: int) -> None:
        pass

    def cuDevicePrimaryCtxReset(self, number: int) -> None:
        pass

    @property
    def contexts(self) -> list[int]:
        """The stack of contexts of this thread."""
        stack: list[int] = self.of_thread.__dict__.setdefault("contexts", [])
        return stack

    def cuCtxGetCurrent(self) -> int:
        return self.contexts[-1] if self.contexts else 0

    def cuCtxGetDevice(self) -> int:
        return 0

    def cuCtxPushCurrent(self, context: SupportsInt) -> None:
        self.contexts.append(int(context))

    def cuCtxPopCurrent(self) -> int:
        return self.contexts.pop()

    def cuCtxSynchronize(self) -> None:
        pass

    def cuProfilerStart(self) -> None:
        pass

    def cuProfilerStop(self) -> None:
        pass

    # ---- memory
    def cuMemGetInfo(self) -> tuple[int, int]:
        return device.memory()

    def cuMemAlloc(self, size: int) -> int:
        return self.memory.allocate(size)

    def cuMemAllocManaged(self, size: int, flags: int) -> int:
        return self.memory.allocate(size)

    def cuMemHostAlloc(self, size: int, flags: int) -> int:
        return self.memory.allocate(size)

    def cuMemHostRegister(self, address: int, size: int, flags: int) -> None:
        self.memory.register(address, size)

    def cuMemHostGetDevicePointer(self, address: SupportsInt, flags: int) -> int:
        return int(address)

    def cuMemHostUnregister(self, address: SupportsInt) -> None:
        self.memory.free(int(address))

    def cuMemFree(self, address: SupportsInt) -> None:
        self.memory.free(int(address))

    def cuMemFreeHost(self, address: SupportsInt) -> None:
        self.memory.free(int(address))

    def cuMemGetAddressRange(self, address: int) -> tuple[int, int]:
        found = self.memory.find(address)
        if found is None:
            raise InputError(f"cuMemGetAddressRange: {address:#x} lies in no allocation of the device")
        return found[0], found[1].nbytes

    def cuPointerGetAttribute(self, attribute: object, address: T) -> T:
        return address

    def cuMemcpyHtoD(self, to: int, source: int, size: int, stream: object = 0) -> None:
        self.memory.check("copy to the device", to, size)
        ctypes.memmove(to, source, size)

    def cuMemcpyDtoH(self, to: int, source: int, size: int, stream: object = 0) -> None:
        self.memory.check("copy to the host", source, size)
        ctypes.memmove(to, source, size)

    def cuMemcpyDtoD(self, to: int, source: int, size: int, stream: object = 0) -> None:
        self.memory.check("copy on the device, to", to, size)
        self.memory.check("copy on the device, from", source, size)
        ctypes.memmove(to, source, size)

    def cuMemsetD8(self, to: SupportsInt, byte: int, size: int, stream: object = 0) -> None:
        self.memory.check("memset", int(to), size)
        ctypes.memset(int(to), byte, size)

    cuMemcpyHtoDAsync, cuMemcpyDtoHAsync, cuMemcpyDtoDAsync = cuMemcpyHtoD, cuMemcpyDtoH, cuMemcpyDtoD
    cuMemsetD8Async = cuMemsetD8

    # ---- streams and events
    def cuStreamCreate(self, flags: int) -> int:
        return next(self.handles)

    def cuStreamDestroy(self, stream: int) -> None:
        pass

    def cuStreamSynchronize(self, stream: int) -> None:
        pass

    def cuStreamWaitEvent(self, stream: object, event: int, flags: int) -> None:
        pass

    def cuEventCreate(self, flags: int) -> int:
        return next(self.handles)

    def cuEventDestroy(self, event: int) -> None:
        self.recorded.pop(event, None)

    def cuEventRecord(self, event: int, stream: object) -> None:
        self.recorded[event] = replace(self.clock(), copies=self.memory.copies)

    def cuEventQuery(self, event: int) -> None:
        pass

    def cuEventSynchronize(self, event: int) -> None:
        pass

    def cuEventElapsedTime(self, start: int, end: int) -> float:
        """Milliseconds that launches and events take on the GPU from one event to another, if their time is simulated;
        the time that the simulation itself takes means nothing."""
        if not {start, end} <= self.recorded.keys():
            raise InputError("elapsed_time: record both events first")
        self.time_was_asked = True
        return self.recorded[start].until(self.recorded[end])
