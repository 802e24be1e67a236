"""The module of a Numba kernel as a GPU would hold it: its variables, and the callbacks of what it is linked with.

numba-cuda hands a loaded module to linked code's `setup_callback` before the first launch, and to its
`teardown_callback` when it is unloaded. They set variables by functions of the driver, which here answer from the
module's memory.
"""

import ctypes
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import SupportsInt
from weakref import WeakKeyDictionary, finalize

import numpy as np
import numpy.typing as npt

from banksim.architectures.code_layout import HEAP, machine
from banksim.errors import InputError
from banksim.kernels.address_space import constant_symbols
from banksim.kernels.compilers.numba import Callback, CompiledKernel
from banksim.kernels.compilers.numba_without_gpu import module, replaced
from banksim.kernels.elf import OBJECT, Elf
from banksim.kernels.kernel import Kernel
from banksim.machine.launch import Buffer, Launch

Place = SupportsInt | bytes | bytearray | memoryview | np.ndarray
"""An address as callers of the driver have it: a number, one of its handles, or a buffer."""
VARIABLES = 3
"""The constant bank of a module's own variables."""


class Loaded:
    """A loaded module. Each launch begins with `variables`, or works on them in place where they are to persist."""

    def __init__(self, kernel: Kernel, compiled: CompiledKernel) -> None:
        self.kernel = kernel
        self.variables = np.zeros(max(kernel.globals_bytes, len(kernel.globals)), np.uint8)
        self.variables[: len(kernel.globals)] = np.frombuffer(kernel.globals, np.uint8)
        self.constants = len(kernel.banks.get(VARIABLES, b""))
        place = machine(kernel.arch).places["variables"]
        self.first_constant = int.from_bytes(kernel.banks[0][place : place + 8], "little") - HEAP
        self.teardown = compiled.teardown
        self.code = object_code() if compiled.setup or compiled.teardown else None
        self.call(compiled.setup)

    def call(self, callbacks: Sequence[Callback]) -> None:
        for callback in callbacks:
            with answered_by(self, callback):
                callback(self.code)

    def tear_down(self) -> None:
        callbacks, self.teardown = self.teardown, ()
        self.call(callbacks)

    def symbol(self, name: str) -> tuple[int, int]:
        """Where a variable lies in the host's memory, and its bytes. `InputError` if there is none of this name."""
        places = {
            **{n: self.first_constant + at for n, at in constant_symbols(self.kernel.cubin).items()},
            **self.kernel.symbols,
        }
        if name not in places:
            known = ", ".join(sorted(places)) or "none"
            raise InputError(f"{self.kernel.plain_name}: its module has no variable {name!r}: it has {known}")
        sizes = {s.name: s.size for s in Elf(self.kernel.cubin).symbols if s.kind == OBJECT}
        return int(self.variables.ctypes.data) + places[name], sizes[name]

    def memory(self, address: int, size: int) -> npt.NDArray[np.uint8]:
        """The module's bytes at an address that `symbol` gave."""
        start = address - int(self.variables.ctypes.data)
        if not 0 <= start <= start + size <= len(self.variables):
            raise InputError(f"{self.kernel.plain_name}: {size} bytes at {address:#x} are no variable of its module")
        return self.variables[start : start + size]

    def into(self, launch: Launch, persist: bool) -> None:
        """Let a launch find the variables as they are now, and change them for the launches to come if they persist."""
        data = self.variables if persist else self.variables.copy()
        launch.buffers = [Buffer(data, launch.buffers[0].name), *launch.buffers[1:]]
        if self.constants:
            end = self.first_constant + self.constants
            launch.constants[VARIABLES][: self.constants] = self.variables[self.first_constant : end]


def object_code() -> object:
    """A cuda.core.ObjectCode, as callbacks expect it, without a driver behind it; its handle is an object that no
    function of the real driver takes."""
    kind = module("cuda.core").ObjectCode
    members = {name: getattr(object, name) for name in ("__hash__", "__eq__", "__repr__")}
    simulated = type("SimulatedObjectCode", (kind,), {**members, "handle": property(lambda self: self._handle)})
    made = kind.__new__(simulated)
    made._handle = object()
    return made


@contextmanager
def answered_by(loaded: Loaded, callback: Callback) -> Iterator[None]:
    """Let the driver's functions that a callback calls, by whatever name, answer from the module's memory."""
    driver = module("cuda.bindings.driver")
    done = driver.CUresult.CUDA_SUCCESS

    def find(handle: object, name: bytes) -> tuple[object, ...]:
        address, size = loaded.symbol(name.decode())
        return done, driver.CUdeviceptr(address), size

    def to_device(to: Place, source: Place, size: int, *stream: object) -> tuple[object]:
        ctypes.memmove(loaded.memory(int(to), size).ctypes.data, address_in(source), size)
        return (done,)

    def to_host(to: Place, source: Place, size: int, *stream: object) -> tuple[object]:
        ctypes.memmove(address_in(to), loaded.memory(int(source), size).ctypes.data, size)
        return (done,)

    def fill(to: Place, byte: int, size: int, *stream: object) -> tuple[object]:
        loaded.memory(int(to), size)[:] = byte
        return (done,)

    answers = {
        "cuLibraryGetGlobal": find,
        "cuModuleGetGlobal": find,
        **dict.fromkeys(("cuMemcpyHtoD", "cuMemcpyHtoDAsync"), to_device),
        **dict.fromkeys(("cuMemcpyDtoH", "cuMemcpyDtoHAsync"), to_host),
        **dict.fromkeys(("cuMemsetD8", "cuMemsetD8Async"), fill),
    }
    real = {id(getattr(driver, name)): answer for name, answer in answers.items()}
    names = getattr(callback, "__globals__", {})
    known = {name: (value, real[id(value)]) for name, value in names.items() if id(value) in real}
    with ExitStack() as stack:
        for name, answer in answers.items():
            stack.enter_context(replaced(driver, name, answer))
        try:
            names.update({name: answer for name, (_, answer) in known.items()})
            yield
        finally:
            names.update({name: value for name, (value, _) in known.items()})


def address_in(place: Place) -> int:
    """The address that a number or a buffer stands for."""
    if isinstance(place, bytes | bytearray | memoryview | np.ndarray):
        return int(np.frombuffer(place, np.uint8).ctypes.data)
    return int(place)


_loaded: WeakKeyDictionary[object, dict[Kernel, Loaded]] = WeakKeyDictionary()
_lock = threading.RLock()


def loaded(function: object, kernel: Kernel, compiled: CompiledKernel) -> Loaded:
    """The module of a function's kernel, loaded when it is first asked for; it goes when the function does."""
    with _lock:
        known = _loaded.setdefault(function, {})
        if kernel not in known:
            known[kernel] = made = Loaded(kernel, compiled)
            if made.teardown:
                finalize(function, made.tear_down)
        return known[kernel]
