"""A real GPU: runs the kernels through Numba CUDA, keeps the machine code that ran, takes times."""

import functools
import itertools
import math
import shutil
import subprocess
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from banksim.errors import BanksimError
from banksim.system.extras import command
from cuda_kernels.catalogue import Entry, Launch
from cuda_kernels.clocked_kernels import clock, twin
from cuda_kernels.evidence_records import Record, Spread, warm_passes
from cuda_kernels.numba_cuda import INSTALLED, Dispatcher, cuda, jit, module
from cuda_kernels.predict import own_copy

WARM_UP, SAMPLES, LAUNCHES = 3, 21, 10
"""Launches before the first measurement; the number of measurements; launches of which each is the mean."""
TRIES = 4
PACKAGES = ("numba-cuda", "numba", "numpy", "nvidia-nvjitlink")


def quiet() -> None:
    """Let Numba not warn of small grids: the textbook's tiles are one block."""
    warnings.simplefilter("ignore", module("core.errors").NumbaPerformanceWarning)


def why_not() -> str:
    """Why no GPU can be used here, "" if one can."""
    if not INSTALLED:
        return f"numba-cuda is not installed: {command('cuda')}"
    try:
        cuda.get_current_device()
        quiet()
    except Exception as error:  # the driver's absence shows in many ways
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return next((line.rstrip(".") for line in lines if not line.endswith(":")), type(error).__name__)
    return ""


def machine() -> dict[str, Any]:
    """Which GPU, driver and versions the measurements are of."""
    device = cuda.get_current_device()
    name = device.name
    return {
        "device": name.decode() if isinstance(name, bytes) else str(name),
        "compute_capability": ".".join(map(str, device.compute_capability[:2])),
        "multiprocessors": device.MULTIPROCESSOR_COUNT,
        "driver": driver(),
        "cuda": cuda_version(),
        **{package.replace("-", "_"): installed(package) for package in PACKAGES},
        "sm_clock_mhz": round(megahertz()),
        "date": date.today().isoformat(),
    }


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def cuda_version() -> str:
    """The version of CUDA's runtime."""
    return ".".join(map(str, module("cudadrv.runtime").runtime.get_version()))


def driver() -> str:
    program = shutil.which("nvidia-smi")
    if program is None:
        return "unknown"
    command = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout.split() or ["unknown"])[0]


@functools.cache
def spinner() -> Dispatcher:
    """A kernel that waits for a number of cycles, so that what is launched meanwhile queues up behind it."""
    read = clock()

    def spin(cycles: int) -> None:
        began = read()
        while read() - began < cycles:
            pass

    return jit(spin, lines=False)


@functools.cache
def megahertz() -> float:
    """The clock of the SMs at work: cycles counted by a kernel over the time between events around it."""
    spin, cycles = spinner()[1, 1], 30_000_000
    spin(1000)
    before, after = cuda.event(), cuda.event()
    before.record()
    spin(cycles)
    after.record()
    after.synchronize()
    return float(cycles / (cuda.event_elapsed_time(before, after) * 1000))


@dataclass(frozen=True)
class KernelWithTwin:
    """A kernel of the catalogue and its twin that takes the time, both compiled for this GPU."""

    entry: Entry
    launch: Launch
    timed: Any

    @property
    def binary(self) -> Any:
        (only,) = self.launch.kernel.overloads.values()
        return only

    @property
    def record(self) -> Record:
        """What is known before the kernel has run."""
        cubin = self.binary.library.get_cubin()
        return Record(
            name=self.entry.name,
            grid=self.launch.grid,
            block=self.launch.block,
            dynamic_shared=self.launch.dynamic_shared,
            registers=self.binary.regs_per_thread,
            shared=self.binary.shared_mem_per_block,
            cubin=bytes(getattr(cubin, "code", cubin)),
        )


def compiled(entry: Entry) -> KernelWithTwin:
    """Compile a kernel, which is not run yet: others may be using the GPU."""
    launch = entry.launch()
    there, timed = on_device(own_copy(launch)), twin(launch.kernel)
    for kernel, arguments in ((launch.kernel, there), (timed, [*there, clocks_for(launch)])):
        kernel.compile(tuple(kernel.typeof_pyval(a) for a in arguments))
    return KernelWithTwin(entry, launch, timed)


def measure(kernel: KernelWithTwin) -> Record:
    """Run a kernel on the GPU, which nobody else may be using: its result, its machine code, its times."""
    launch = kernel.launch
    there = launched(launch)
    return replace(
        kernel.record,
        wrong=None if kernel.entry.race else launch.wrong(there),
        microseconds=microseconds(launch),
        cycles=block_cycles(kernel),
        passes=warm_passes(there[launch.clocks]) if launch.clocks is not None else (),
    )


def on_device(arguments: list[object]) -> list[Any]:
    return [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in arguments]


def configured(kernel: Dispatcher, launch: Launch) -> Callable[..., None]:
    return kernel[launch.grid, launch.block, 0, launch.dynamic_shared]  # type: ignore[no-any-return]


def checked(launch: Launch) -> str:
    """Launch once; what is wrong with the result."""
    return launch.wrong(launched(launch))


def launched(launch: Launch) -> list[Any]:
    """The arguments after one launch."""
    there = on_device(own_copy(launch))
    configured(launch.kernel, launch)(*there)
    cuda.synchronize()
    return [a.copy_to_host() if hasattr(a, "copy_to_host") else a for a in there]


def microseconds(launch: Launch) -> Spread:
    """Time of a launch, by events: batches of launches that were all queued before the first of them began."""
    there = on_device(own_copy(launch))
    go = configured(launch.kernel, launch)
    for _ in range(WARM_UP):
        go(*there)
    cuda.synchronize()
    began = time.perf_counter()
    for _ in range(LAUNCHES):
        go(*there)
    seconds = (time.perf_counter() - began) * SAMPLES
    cuda.synchronize()
    events = [cuda.event() for _ in range(SAMPLES + 1)]
    for attempt in range(TRIES):
        spinner()[1, 1](int((2 << attempt) * (seconds + 0.001) * megahertz() * 1e6))
        events[0].record()
        for event in events[1:]:
            for _ in range(LAUNCHES):
                go(*there)
            event.record()
        queued_in_time = not events[0].query()
        cuda.synchronize()
        if queued_in_time:
            spans = [cuda.event_elapsed_time(a, b) for a, b in itertools.pairwise(events)]
            return Spread.of([1000 * span / LAUNCHES for span in spans])
    raise BanksimError("this host launches too slowly to measure times: is it busy?")


def clocks_for(launch: Launch) -> Any:
    """Room for when each warp began and ended."""
    warps = -(-math.prod(launch.block) // 32)
    return cuda.to_device(np.zeros((math.prod(launch.grid), warps, 2), np.int64))


def block_cycles(kernel: KernelWithTwin) -> Spread:
    """Cycles of a block from its first warp's start to its last one's end, over all blocks of several launches."""
    cycles = clocks_for(kernel.launch)
    there = [*on_device(own_copy(kernel.launch)), cycles]
    go = configured(kernel.timed, kernel.launch)
    found = []
    for number in range(WARM_UP + SAMPLES):
        go(*there)
        if number >= WARM_UP:
            seen = cycles.copy_to_host()
            found.append(seen[:, :, 1].max(1) - seen[:, :, 0].min(1))
    return Spread.of(np.concatenate(found).tolist())
