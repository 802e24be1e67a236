"""The part of the CUDA driver's interface that launches need. So the machine with the GPU needs nothing else
installed."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np


class Driver:
    """The first GPU. Called with the name of one of the driver's functions, it raises RuntimeError for an error."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        context, device = ctypes.c_void_p(), ctypes.c_int()
        self("cuInit", 0)
        self("cuDeviceGet", ctypes.byref(device), 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self("cuCtxSetCurrent", context)

    def __call__(self, name: str, *arguments: Any) -> None:
        error = getattr(self.library, name)(*arguments)
        if error:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(error, ctypes.byref(text))
            raise RuntimeError(f"{name}: {error} {(text.value or b'').decode()}")

    def module(self, cubin: bytes) -> ctypes.c_void_p:
        module = ctypes.c_void_p()
        self("cuModuleLoadData", ctypes.byref(module), cubin)
        return module

    def function(self, module: ctypes.c_void_p, name: str) -> ctypes.c_void_p:
        function = ctypes.c_void_p()
        self("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def zeros(self, size: int) -> ctypes.c_uint64:
        """A new buffer of `size` bytes."""
        pointer = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        self("cuMemsetD8_v2", pointer, ctypes.c_ubyte(0), ctypes.c_size_t(size))
        return pointer

    def upload(self, array: np.ndarray) -> ctypes.c_uint64:
        """A new buffer with the array's bytes."""
        pointer, size = ctypes.c_uint64(), ctypes.c_size_t(array.nbytes)
        self("cuMemAlloc_v2", ctypes.byref(pointer), size)
        self("cuMemcpyHtoD_v2", pointer, array.ctypes.data_as(ctypes.c_void_p), size)
        return pointer

    def download(self, pointer: ctypes.c_uint64, array: np.ndarray) -> np.ndarray:
        """The array, filled from a buffer."""
        self("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), pointer, ctypes.c_size_t(array.nbytes))
        return array

    def free(self, pointers: Sequence[ctypes.c_uint64]) -> None:
        for pointer in pointers:
            self("cuMemFree_v2", pointer)

    def launch(
        self,
        function: ctypes.c_void_p,
        grid: Sequence[int],
        block: Sequence[int],
        parameters: Sequence[Any],
        dynamic_shared: int = 0,
    ) -> None:
        """Launch a kernel and wait for its end. `parameters`: objects of ctypes, whose bytes are passed."""
        addresses = (ctypes.c_void_p * len(parameters))(*(ctypes.addressof(one) for one in parameters))
        shape = [*grid, 1, 1][:3] + [*block, 1, 1][:3]
        self("cuLaunchKernel", function, *shape, dynamic_shared, None, addresses, None)
        self("cuCtxSynchronize")


def raw(value: bytes) -> Any:
    """A kernel's parameter that has these bytes."""
    return (ctypes.c_ubyte * len(value)).from_buffer_copy(value)
