"""Puts a simulated GPU under numba-cuda. No other file knows the internals of numba-cuda's host side.

numba-cuda stays as it is: its arrays, streams, contexts and decorators are the real ones. What lies below them is
replaced: the functions of the CUDA driver, and how a compiled kernel is made and launched."""

import ctypes
import dataclasses
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from math import nan
from types import ModuleType, SimpleNamespace
from typing import NoReturn, SupportsInt

from banksim.architectures.bank_rules import Architecture
from banksim.errors import BanksimError, CompileError, InputError, UnsupportedError
from banksim.kernels.compilers.numba import CompiledKernel
from banksim.kernels.compilers.numba_objects import Dispatcher, ForAll, LaunchConfiguration, Manager, Signature, Types
from banksim.kernels.compilers.numba_without_gpu import for_gpus, module, numba_cuda, replaced, require
from banksim.kernels.kernel import Kernel
from banksim.machine.launch import Launch, prepare
from banksim.machine.parameters import field_bytes
from banksim.runs.loaded_module import loaded
from banksim.runs.options import Options
from banksim.runs.programs import device, standins
from banksim.runs.programs.arguments import Arguments
from banksim.runs.programs.chosen_launches import Choice
from banksim.runs.programs.clock import Clock
from banksim.runs.programs.driver import CONTEXT, Driver
from banksim.runs.programs.kernel_launches import Shape
from banksim.runs.programs.launches import Launches, LaunchProgress, RequestsWriter
from banksim.runs.programs.triton_driver import simulated_triton
from banksim.runs.programs.warp_launches import simulated_warp
from banksim.runs.resolve import numba_kernel
from banksim.system.changed_modules import changed
from banksim.system.ending import ERROR
from banksim.system.visible import say

CURE = "; try banksim run --whole"
"""The end of messages about what is missing here. `--whole` runs the program in a process of its own, with all of
numba-cuda (python_program.py)."""


@dataclasses.dataclass(frozen=True)
class Overload:
    """A compiled kernel, with the attributes that numba-cuda expects of one."""

    kernel: Kernel
    compiled: CompiledKernel
    argument_types: Types
    signature: Signature
    objectmode = False
    entry_point = None  # Numba asks for this when the kernel is garbage-collected; its own kernels have it too
    launch_config_sensitive = False

    @property
    def regs_per_thread(self) -> int:
        return self.kernel.registers

    @property
    def shared_mem_per_block(self) -> int:
        return max(self.kernel.shared_bytes - self.kernel.shared_base, 0)

    @property
    def local_mem_per_thread(self) -> int:
        return self.kernel.local_bytes

    @property
    def const_mem_size(self) -> int:
        return len(self.kernel.banks.get(3, b""))

    @property
    def max_threads_per_block(self) -> int:
        return min(device.threads_per_block(self.kernel.registers), self.kernel.max_threads)

    def inspect_asm(self, cc: object = None) -> str:
        return self.compiled.ptx[0]

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnsupportedError(f"{name} of a compiled kernel: banksim run does not offer it{CURE}")


class SimulatedGPU:
    """The simulated GPU: its driver, and what was launched on it."""

    def __init__(
        self, launches: Launches, options: Options, progress: LaunchProgress | None, requests: RequestsWriter | None
    ) -> None:
        self.driver = Driver(launches.code, launches.mark if options.timing else partial(Clock, microseconds=nan))
        self.launches, self.options = launches, options
        self.progress, self.requests = progress, requests

    def overload(self, dispatcher: Dispatcher, types: Types) -> Overload:
        """A kernel for these types. Numba's own error where it cannot compile it, TypeError if nothing fits."""
        if dispatcher.targetoptions.get("debug"):
            raise UnsupportedError(
                f"{dispatcher.py_func.__name__}: cuda.jit(debug=True): exceptions are not simulated{CURE}"
            )
        try:
            kernel, compiled = numba_kernel(dispatcher, types, self.launches.code)
        except InputError as error:
            raise TypeError(str(error)) from None
        except UnsupportedError as error:
            raise UnsupportedError(f"{error}{CURE}") from None
        except CompileError as error:
            if error.__cause__ is not None:
                raise error.__cause__.with_traceback(None) from None  # where in Numba's inside tells the user nothing
            if str(error).startswith("nvlink"):  # stricter than the driver's own linker
                first, *rest = str(error).splitlines()
                raise CompileError("\n".join([f"{first}{CURE}", *rest])) from None
            raise
        known = dispatcher.overloads.get(types)
        if isinstance(known, Overload):
            return known
        signature = module("numba.cuda.typing").signature(module("numba.cuda.types").none, *types)
        made = Overload(kernel, compiled, types, signature)
        if dispatcher._can_compile:
            dispatcher.overloads[types] = made
        return made

    def compile(self, dispatcher: Dispatcher, given: object) -> Overload:
        """Replaces `CUDADispatcher.compile`: a signature is compiled when the decorator sees it."""
        types, _ = module("numba.cuda.core.sigutils").normalize_signature(given)
        return self.overload(dispatcher, tuple(types))

    def call(self, dispatcher: Dispatcher, args: tuple[object, ...], config: LaunchConfiguration) -> None:
        """Replaces `CUDADispatcher.call`: launch a kernel and wait for its end."""
        if config.pre_launch_callbacks:
            raise UnsupportedError(f"pre_launch_callbacks: banksim run does not call them{CURE}")
        if dispatcher.targetoptions.get("extensions"):
            raise UnsupportedError(f"cuda.jit(extensions=…): banksim run does not know what they do to arguments{CURE}")
        made = self.overload(dispatcher, tuple(dispatcher.typeof_pyval(value) for value in args))
        shape = Shape(config.griddim, config.blockdim, config.sharedmem)
        arguments = Arguments(self.driver.memory)
        try:
            values = [self.given(arguments, value) for value in args]
            names = made.compiled.arguments
            parameters = [
                field_bytes(part, values[part.argument], names[part.argument], arguments)
                for part in made.compiled.fields
            ]
            self.execute(dispatcher, made, shape, parameters, arguments)
            arguments.give_back()
        finally:
            arguments.free()

    def given(self, arguments: Arguments, value: object) -> object:
        """An argument, which may be wrapped into cuda.In, Out or InOut."""
        hints = module("numba.cuda.args")
        if not isinstance(value, hints.ArgHint):
            return arguments.given(value)
        return arguments.given(value.value, type(value) is not hints.Out, not isinstance(value, hints.In))

    def execute(
        self, dispatcher: Dispatcher, made: Overload, shape: Shape, parameters: list[bytes], arguments: Arguments
    ) -> None:
        launch = prepare(made.kernel, shape.grid, shape.block, parameters, arguments.buffers, shape.dynamic_shared)
        if launch.opt_in:
            refused = f"{launch.opt_in}, which numba-cuda does not call: CUDA_ERROR_INVALID_VALUE on a GPU"
            raise InputError(f"{made.kernel.plain_name}: {refused}")
        loaded(dispatcher, made.kernel, made.compiled).into(launch, persist=True)
        self.run(launch, shape, made.compiled.signature)

    def run(self, launch: Launch, shape: Shape, signature: tuple[str, ...]) -> None:
        """Execute a launch that is ready; what the kernel prints is the program's output."""
        shown = self.progress(launch.kernel.plain_name, launch.blocks) if self.progress else nullcontext()
        with shown as tick:
            try:
                options = dataclasses.replace(self.options, progress=tick)
                self.launches.execute(launch, shape, options, self.requests, signature)
            finally:
                sys.stdout.write(launch.device.output)

    def threads_per_block(self, forall: ForAll, dispatcher: Dispatcher) -> int:
        """Replaces `ForAll._compute_thread_per_block`: the largest block that is possible."""
        chosen: int = forall.thread_per_block
        made = next(iter(dispatcher.overloads.values()))
        assert isinstance(made, Overload)
        return chosen or made.max_threads_per_block


@contextmanager
def simulated(
    rules: tuple[Architecture, ...],
    options: Options | None = None,
    progress: LaunchProgress | None = None,
    requests: RequestsWriter | None = None,
    choice: Choice | None = None,
) -> Iterator[Launches]:
    """Within, numba.cuda runs without a GPU, in all threads. What is launched is executed as `options` say, and
    counted; `requests` gets every request. InputError if numba-cuda is missing, or, when numba.cuda is imported, is
    its simulator."""
    require()
    options = options or Options()
    launches = Launches(rules, options.checks, choice)
    host = SimulatedGPU(launches, options, progress, requests)
    with ExitStack() as stack:

        def numba(_: ModuleType) -> None:
            numba_cuda()  # its error names the line of the program that wants it
            stack.enter_context(simulated_numba(host))

        def bindings(driver: ModuleType) -> None:
            stack.enter_context(replaced(driver, "load_nvidia_dynamic_lib", driver_of_no_device))

        changes = {"numba.cuda": numba, "cuda.bindings._internal.driver": bindings}
        if "numba.cuda" not in sys.modules:
            changes["numba.cuda.core.config"] = for_gpus
        stack.enter_context(changed(changes))
        for other in (simulated_triton, simulated_warp):
            stack.enter_context(other(launches.rules, launches.code, host.run))
        try:
            yield launches
        finally:
            launches.time_was_asked = host.driver.time_was_asked


@contextmanager
def simulated_numba(host: SimulatedGPU) -> Iterator[None]:
    """Within, numba.cuda, which is imported, has `host` under it."""
    cuda = numba_cuda()
    inside, devices = module("numba.cuda.cudadrv.driver"), module("numba.cuda.cudadrv.devices")
    dispatcher, api = module("numba.cuda.dispatcher"), module("numba.cuda.api")
    kind, runtime = dispatcher.CUDADispatcher, devices._Runtime()
    vars(inside).setdefault("_logger", inside.make_logger())  # the real driver makes it at its first call
    with ExitStack() as stack:

        def replace(owner: object, name: str, value: object) -> None:
            stack.enter_context(replaced(owner, name, value))

        stack.enter_context(simulated_driver(inside.driver, host.driver))
        replace(inside, "ExperimentalDevice", partial(experimental_device, host.launches.code))
        replace(inside, "get_cuda_native_handle", int)
        replace(inside, "_to_core_stream", lambda stream: checked_stream(inside, stream))
        for name in ("_alloc_finalizer", "_hostalloc_finalizer", "_pin_finalizer"):
            replace(inside, name, lambda manager, address, key, *_: host_finalizer(host.driver, manager, address, key))
        for name in ("_stream_finalizer", "_event_finalizer"):
            replace(inside, name, lambda *_: lambda: None)
        replace(inside.Stream, "add_callback", lambda stream, callback, arg=None: callback(stream, 0, arg))
        replace(devices, "_runtime", runtime)
        for owner in (devices, api, cuda):
            replace(owner, "gpus", runtime.gpus)
        replace(kind, "call", lambda self, args, config: host.call(self, args, config))
        replace(kind, "compile", lambda self, sig: host.compile(self, sig))
        replace(dispatcher.ForAll, "_compute_thread_per_block", lambda self, made: host.threads_per_block(self, made))
        yield


@contextmanager
def simulated_driver(driver: object, ours: Driver) -> Iterator[None]:
    """Within, numba-cuda's driver object, to which many modules hold references, answers from `ours`."""

    def function(self: object, name: str) -> object:
        if not name.startswith("cu"):
            raise AttributeError(name)
        if not hasattr(ours, name):
            raise UnsupportedError(f"{name} of the CUDA driver: banksim run does not simulate it{CURE}")
        return getattr(ours, name)

    real, state = type(driver), dict(vars(driver))
    members = {"__getattr__": function, "ensure_initialized": lambda self: None, "is_available": True}
    driver.__class__ = type("SimulatedDriver", (real,), members)
    vars(driver).clear()
    vars(driver).update(devices={}, is_initialized=True, initialization_error=None, pid=os.getpid())
    try:
        yield
    finally:
        driver.__class__ = real
        vars(driver).clear()
        vars(driver).update(state)


def driver_of_no_device(name: str) -> SimpleNamespace:
    """Replaces the function that finds the driver's library for those that call the driver themselves, such as
    cuda.core. They get the stand-in, connected to nothing. If none were found, a lock of cuda.bindings would stay
    taken, and the next call would wait for ever, deaf to signals."""
    say(
        f"the program asks the CUDA driver itself (cuda.core, cuda.bindings), which banksim run does not simulate{CURE}"
    )
    try:
        library = ctypes.CDLL(str(standins.folder() / standins.DRIVER))
    except BanksimError as error:
        say(error)
        os._exit(ERROR)
    return SimpleNamespace(_handle_uint=library._handle)


def experimental_device(arch: str, number: int = 0) -> SimpleNamespace:
    """Replaces cuda.core.Device."""
    if number:
        raise InputError(f"device {number}: banksim simulates one device, number 0")
    return SimpleNamespace(
        device_id=0,
        compute_capability=device.capability(arch),
        name=device.name(arch),
        uuid="00000000-0000-0000-0000-000000000000",
        set_current=lambda: None,
        context=SimpleNamespace(handle=CONTEXT, _handle=CONTEXT),
    )


def checked_stream(inside: ModuleType, stream: object) -> object:
    if stream and not isinstance(stream, inside.Stream) and not hasattr(stream, "__cuda_stream__"):
        raise TypeError(f"Expected a Stream object or 0, got {type(stream).__name__}")
    return stream


def host_finalizer(driver: Driver, manager: Manager, address: SupportsInt, key: object) -> Callable[[], None]:
    """A finalizer that frees memory at once. numba-cuda's own would ask whatever driver is there by then."""
    allocations = manager.allocations

    def free() -> None:
        allocations.pop(key, None)
        driver.memory.free(int(address))

    return free
