"""Puts a simulated GPU under Triton, for programs that launch its kernels.

Triton stays as it is: what compiles, tunes and specializes kernels is its own. What lies below is replaced, the driver:
what it says of the GPU, and how a kernel is loaded and launched. Tensors of PyTorch lie in the host's memory; where the
program asks for the device "cuda", it gets the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from math import nan
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from banksim.architectures.bank_rules import Architecture
from banksim.errors import UnsupportedError
from banksim.kernels.compilers.numba_without_gpu import capability, replaced
from banksim.kernels.kernel import Kernel
from banksim.runs.languages import triton
from banksim.runs.languages.language import decoded
from banksim.runs.languages.triton_lines import own_lines
from banksim.runs.options import Call, Options
from banksim.runs.programs import device
from banksim.runs.programs.changed_modules import changed
from banksim.runs.programs.launches import Execute, Shape
from banksim.runs.resolve import launched
from banksim.system.visible import say

if TYPE_CHECKING:
    from banksim.runs.languages.triton_objects import Target

DRIVER, JIT, TESTING = "triton.runtime.driver", "triton.runtime.jit", "triton.testing"


@contextmanager
def simulated_triton(rules: Sequence[Architecture], arch: str, execute: Execute) -> Iterator[None]:
    """Within, Triton launches its kernels without a GPU. Nothing happens unless the program imports Triton."""
    with ExitStack() as stack:

        def activate(module: ModuleType) -> None:
            """Triton's driver, and PyTorch as it is beside a GPU."""
            stack.enter_context(replaced(module.driver, "_active", Driver(arch, rules, execute)))
            if find_spec("torch"):
                stack.enter_context(on_host(import_module("torch"), arch))

        def measure_nothing(module: ModuleType) -> None:
            for name in ("do_bench", "do_bench_cudagraph"):
                stack.enter_context(replaced(module, name, without_time))

        def keep_lines(module: ModuleType) -> None:
            stack.enter_context(own_lines(module))

        changes = {DRIVER: activate, JIT: keep_lines, TESTING: measure_nothing}
        stack.enter_context(changed(changes))
        yield


class Driver:
    """What Triton asks of a driver."""

    def __init__(self, arch: str, rules: Sequence[Architecture], execute: Execute) -> None:
        self.arch, self.rules, self.execute = arch, rules, execute
        self.utils = SimpleNamespace(load_binary=load_binary, get_device_properties=lambda number=0: properties(arch))

    @cached_property
    def target(self) -> Target:
        found: Target = triton.gpu(self.arch)
        return found

    def get_current_target(self) -> Target:
        return self.target

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, number: int) -> None:
        pass

    def get_current_stream(self, number: int) -> int:
        return 0

    def get_device_capability(self, number: int = 0) -> tuple[int, int]:
        return capability(self.arch)

    def get_active_torch_device(self) -> object:
        return import_module("torch").device("cpu")

    def get_device_interface(self) -> object:
        return import_module("torch").cuda

    def get_benchmarker(self) -> Callable[..., object]:
        """What tunes by time: here the first configuration is the choice."""
        return lambda call, quantiles=(0.5,), **options: [0.0] * len(quantiles)

    def launcher_cls(self, source: Any, metadata: Any) -> Launcher:
        return Launcher(self, source, metadata._asdict())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnsupportedError(f"{name} of Triton's driver: banksim run does not simulate it")


class Launcher:
    """Launches one compiled kernel. Made before its machine code is loaded."""

    def __init__(self, driver: Driver, source: Any, metadata: Mapping[str, Any]) -> None:
        self.driver, self.source, self.metadata = driver, source, metadata
        self.names = [*source.fn.arg_names]
        kinds = {self.names[key] if isinstance(key, int) else key: kind for key, kind in source.signature.items()}
        self.signature: dict[str, str] = {
            name: kinds[name] if isinstance(kinds[name], str) else "tuple" for name in self.names
        }
        self.kernel: Kernel | None = None

    def __call__(self, x: int, y: int, z: int, stream: object, function: bytes, *rest: object) -> None:
        """`rest`: the kernel's metadata, those of the launch, two hooks, and the values of all parameters."""
        where = triton.place(self.source.fn)
        compiled = triton.of_binary(function, self.metadata, self.signature, where)
        if self.kernel is None:
            self.kernel = replace(decoded(compiled), plain_name=self.source.fn.__name__)
        given = dict(zip(self.names, map(of_host, rest[4:]), strict=True))
        clusters = compiled.cluster or (1,)
        call = Call(self.kernel, (x * clusters[0], y, z), None, triton.parameters(given, compiled))
        launch = launched(call, self.driver.rules, Options())
        kinds = tuple(kind for kind in self.signature.values() if kind != "constexpr")
        self.driver.execute(launch, Shape.of(launch), kinds)


def load_binary(name: str, cubin: bytes, shared: int, number: int) -> tuple[bytes, bytes, int, int, int]:
    """The module and the function, both the machine code itself; registers, spilled bytes, threads of a block."""
    from banksim.kernels.cubin import decode

    found = decode(cubin)[name]
    return cubin, cubin, found.registers, 0, min(device.threads_per_block(found.registers), found.max_threads)


def properties(arch: str) -> dict[str, int]:
    """What Triton's programs ask of the GPU, as an H200 answers."""
    return {
        "max_shared_mem": 232448,
        "max_num_regs": 65536,
        "multiprocessor_count": triton.MULTIPROCESSORS,
        "warpSize": 32,
        "sm_clock_rate": 1980000,
        "mem_clock_rate": 3201000,
        "mem_bus_width": 6144,
    }


def without_time(*args: object, quantiles: Sequence[float] | None = None, **options: object) -> object:
    """Replaces the functions of triton.testing that measure: nothing is launched."""
    if not without_time.__dict__.setdefault("told", False):
        without_time.__dict__["told"] = True
        say("triton.testing.do_bench: without a GPU there is no time to measure: nan, and nothing is launched")
    return [nan] * len(quantiles) if quantiles and len(quantiles) > 1 else nan


# ---- PyTorch
def of_host(value: Any) -> Any:
    """A tensor in the host's memory as an array over the same memory; types that NumPy lacks as bits. Anything else as
    it is."""
    if not hasattr(value, "untyped_storage"):
        if hasattr(value, "data_ptr"):
            passed = "banksim run passes tensors of PyTorch; try banksim run --whole"
            raise UnsupportedError(f"a {type(value).__name__}: {passed}")
        return value
    torch = import_module("torch")
    bits = torch.empty(0, dtype=torch.uint8).set_(value.detach().untyped_storage()).numpy()
    try:
        kind = torch.empty(0, dtype=value.dtype).numpy().dtype
    except TypeError:
        kind = np.dtype(f"u{value.element_size()}")
    size = value.element_size()
    steps = [step * size for step in value.stride()]
    shape = tuple(value.shape) or (1,)
    return np.ndarray(shape, kind, bits, value.storage_offset() * size, steps or None)


@contextmanager
def on_host(torch: ModuleType, arch: str) -> Iterator[None]:
    """Within, the device "cuda" of PyTorch is the host's memory, and its one GPU is the simulated one."""
    about = SimpleNamespace(name=device.name(arch), multi_processor_count=triton.MULTIPROCESSORS)
    about.major, about.minor = capability(arch)
    answers: dict[str, object] = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "synchronize": lambda *_: None,
        "get_device_capability": lambda *_: (about.major, about.minor),
        "get_device_properties": lambda *_: about,
        "get_device_name": lambda *_: about.name,
    }
    with ExitStack() as stack:
        for name, value in answers.items():
            stack.enter_context(replaced(torch.cuda, name, value))
        stack.enter_context(mode_of_host(torch)())
        yield


def mode_of_host(torch: ModuleType) -> Any:
    """A mode of PyTorch in which the device "cuda" is "cpu"."""

    def moved(value: object) -> object:
        asked = isinstance(value, str | torch.device) and str(value).partition(":")[0] == "cuda"
        return torch.device("cpu") if asked else value

    is_cuda = torch.Tensor.is_cuda.__get__

    class OnHost(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function is torch.Tensor.cuda:
                return args[0]
            if function == is_cuda:
                return True
            if function is torch.device:
                return function(*args, **(kwargs or {}))
            return function(*map(moved, args), **{name: moved(one) for name, one in (kwargs or {}).items()})

    return OnHost
