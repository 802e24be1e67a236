"""Puts a simulated GPU under Triton, for programs that launch its kernels.

Triton stays as it is: what compiles, tunes and specializes kernels is its own. What lies below is replaced, the driver:
what it says of the GPU, and how a kernel is loaded and launched. Tensors of PyTorch lie in the host's memory
(torch_on_host.py)."""

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

from banksim.architectures.bank_rules import Architecture
from banksim.errors import UnsupportedError
from banksim.kernels.compilers.numba_without_gpu import capability, replaced
from banksim.kernels.kernel import Kernel
from banksim.runs.languages import triton
from banksim.runs.languages.language import decoded
from banksim.runs.languages.triton_lines import own_lines
from banksim.runs.options import Call, Options
from banksim.runs.programs import device
from banksim.runs.programs.kernel_launches import Shape
from banksim.runs.programs.launches import Execute
from banksim.runs.programs.torch_on_host import of_host, on_host
from banksim.runs.resolve import launched
from banksim.system.changed_modules import changed
from banksim.system.visible import say

if TYPE_CHECKING:
    from banksim.runs.languages.triton_objects import Target

DRIVER, JIT, TESTING = "triton.runtime.driver", "triton.runtime.jit", "triton.testing"
AUTOTUNER = "triton.runtime.autotuner"

PROPERTIES = {
    "max_shared_mem": "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    "max_num_regs": "MAX_REGISTERS_PER_BLOCK",
    "multiprocessor_count": "MULTIPROCESSOR_COUNT",
    "warpSize": "WARP_SIZE",
    "sm_clock_rate": "CLOCK_RATE",
    "mem_clock_rate": "MEMORY_CLOCK_RATE",
    "mem_bus_width": "GLOBAL_MEMORY_BUS_WIDTH",
}
"""The properties that Triton's driver tells, each with its CUdevice_attribute."""


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
            without_time = WithoutTime()
            for name in ("do_bench", "do_bench_cudagraph"):
                stack.enter_context(replaced(module, name, without_time))

        def tune(module: ModuleType) -> None:
            """Also the tuners that are to measure by a function of their own, or of triton.testing."""
            own = property(lambda tuner: import_module(DRIVER).driver.active.get_benchmarker())
            stack.enter_context(replaced(module.Autotuner, "do_bench", own))

        def keep_lines(module: ModuleType) -> None:
            stack.enter_context(own_lines(module))

        changes = {DRIVER: activate, JIT: keep_lines, AUTOTUNER: tune, TESTING: measure_nothing}
        stack.enter_context(changed(changes))
        yield


class UnknownAttribute(UnsupportedError, AttributeError):
    """Something that is not simulated, of an object that a program may ask whether it has it."""


class Driver:
    """What Triton asks of a driver."""

    def __init__(self, arch: str, rules: Sequence[Architecture], execute: Execute) -> None:
        self.arch, self.rules, self.execute = arch, rules, execute
        self.tuning = self.tuned = False
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
        return import_module("torch").device("cuda", 0)

    def get_device_interface(self) -> object:
        return import_module("torch").cuda

    def get_benchmarker(self) -> Callable[..., object]:
        """What tunes by time: here the first configuration is the choice that the GPU has resources for."""
        return self.tune

    def tune(self, call: Callable[[], object], quantiles: Sequence[float] = (0.5,), **options: object) -> list[float]:
        """The times of one configuration, all alike. Its kernel is compiled and loaded, which raises an error where it
        needs too much, and is not executed; those behind the first that can be launched are not compiled."""
        if not self.tuned:
            self.tuning = True
            try:
                call()
            finally:
                self.tuning = False
            self.tuned = True
        return [0.0] * len(quantiles)

    def begin(self) -> bool:
        """Whether a launch is to be executed. Such a one ends the tuning before it."""
        if not self.tuning:
            self.tuned = False
        return not self.tuning

    def launcher_cls(self, source: Any, metadata: Any) -> Launcher:
        return Launcher(self, source, metadata._asdict())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnknownAttribute(f"{name} of Triton's driver: banksim run does not simulate it")


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
        if not self.driver.begin():
            return
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
    """What Triton's programs ask of the GPU."""
    found = device.attributes(arch)
    return {name: found[attribute] for name, attribute in PROPERTIES.items()}


class WithoutTime:
    """Replaces the functions of triton.testing that measure: nothing is launched, which is said once."""

    def __init__(self) -> None:
        self.told = False

    def __call__(self, *args: object, quantiles: Sequence[float] | None = None, **options: object) -> object:
        if not self.told:
            self.told = True
            say("triton.testing.do_bench: without a GPU there is no time to measure: nan, and nothing is launched")
        return [nan] * len(quantiles) if quantiles and len(quantiles) > 1 else nan
