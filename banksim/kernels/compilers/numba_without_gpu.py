"""numba-cuda at work where there is no GPU: what it would ask a driver is answered here."""

import functools
import importlib
import importlib.util
import os
import re
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from banksim.errors import InputError
from banksim.kernels.compilers.numba_objects import Dispatcher, Types
from banksim.system.extras import installed, missing

SIMULATOR = "NUMBA_ENABLE_CUDASIM"
NEWEST = (9, 0)
"""The compute capability for which device functions with a signature are compiled while their module is imported."""
_lock = threading.RLock()


def module(name: str) -> Any:
    """A module of numba-cuda, imported when it is wanted; none of them has types that a checker could use."""
    numba_cuda()
    return importlib.import_module(name)


def require() -> None:
    """InputError where numba-cuda is not installed."""
    if importlib.util.find_spec("numba_cuda") is None:
        raise missing("Numba kernels need numba-cuda", "cuda")


@functools.cache
def numba_cuda() -> object:
    """numba.cuda as it is for GPUs, whatever NUMBA_ENABLE_CUDASIM says. InputError where it cannot be used."""
    require()
    wanted = os.environ.pop(SIMULATOR, None)
    try:
        cuda = importlib.import_module("numba.cuda")
        if importlib.import_module("numba.cuda.core.config").ENABLE_CUDASIM:
            raise InputError(f"numba.cuda is its own simulator in this process: unset {SIMULATOR}")
        importlib.import_module(
            "numba.cuda.np.arrayobj"
        )  # needs more of NumPy than any other module: fails where the versions do not fit
    except (ImportError, AttributeError) as error:
        found = " and ".join(f"{package} {installed(package)}" for package in ("numba-cuda", "numba", "numpy"))
        raise missing(f"{found} do not go together ({error})", "cuda") from error
    finally:
        if wanted is not None:
            os.environ[SIMULATOR] = wanted
    return cuda


def for_gpus(_: Any) -> None:
    """Have numba.cuda, which has just imported its config, be as it is for GPUs. That module is numba's own then."""
    sys.modules["numba.cuda.core.config"].ENABLE_CUDASIM = 0  # type: ignore[attr-defined]


def capability(arch: str) -> tuple[int, int]:
    """(9, 0) of sm_90."""
    number = re.fullmatch(r"sm_(\d+)[af]?", arch)
    if number is None:
        raise InputError(f"no architecture {arch!r} to compile for: give one such as sm_90")
    return divmod(int(number[1]), 10)


def in_vain() -> str | None:
    """A message where the environment asks numba-cuda for its simulator, which is not used."""
    if os.environ.get(SIMULATOR, "0") in ("", "0"):
        return None
    return f"{SIMULATOR} has no effect here: kernels are compiled and their machine code executed"


@contextmanager
def no_gpu(target: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Let numba-cuda compile for a compute capability without asking a driver what the GPU is.

    Device functions are compiled with line information, and anew where the last time was for something else.
    """
    dispatcher = module("numba.cuda.dispatcher")
    kind = dispatcher.CUDADispatcher
    compile_device, get_call_template = kind.compile_device, kind.get_call_template

    def with_lines(self: Dispatcher, args: Types, return_type: object = None) -> object:
        options, made = self.targetoptions, self.__dict__.setdefault("banksim_made", {})
        if made.get(args) != target:
            self.overloads.pop(args, None)
        self.targetoptions = {**options, "lineinfo": not options.get("debug")}
        try:
            with as_if_unasked(options):
                result = compile_device(self, args, return_type)
        finally:
            self.targetoptions = options
        made[args] = target
        return result

    def up_to_date(self: Dispatcher, args: Types, kws: object) -> object:
        if not self._can_compile:
            for known, result in list(self.overloads.items()):
                with_lines(self, known, result.signature.return_type)
        return get_call_template(self, args, kws)

    gpu = SimpleNamespace(compute_capability=target)
    with (
        _lock,
        replaced(dispatcher, "get_current_device", lambda: gpu),
        replaced(kind, "compile_device", with_lines),
        replaced(kind, "get_call_template", up_to_date),
    ):
        yield target


@contextmanager
def as_if_unasked(options: Mapping[str, object]) -> Iterator[None]:
    """No warning that a function without source has no line information, unless the user asked for that."""
    with warnings.catch_warnings():
        if not options.get("lineinfo") and not options.get("debug"):
            warnings.simplefilter("ignore", module("numba.cuda.core.errors").NumbaDebugInfoWarning)
        yield


@contextmanager
def importable() -> Iterator[None]:
    """Let modules be imported that give `cuda.jit` signatures: their kernels are compiled when they run. None is
    launched: that is a CudaSupportError, as all is that needs a GPU, and no warning of how small its grid is."""
    dispatcher = module("numba.cuda.dispatcher")

    def remember(self: Dispatcher, sig: object) -> None:
        types, _ = module("numba.cuda.core.sigutils").normalize_signature(sig)
        self.__dict__.setdefault("banksim_signatures", []).append(types)

    def close(self: Dispatcher, val: bool = True) -> None:  # the original wants at least one compiled kernel
        self._can_compile = not val

    def call(self: Dispatcher, args: object, config: object) -> None:
        raise module("numba.cuda.cudadrv.error").CudaSupportError(f"nothing launches {self.py_func.__name__}")

    kind = dispatcher.CUDADispatcher
    with (
        no_gpu(NEWEST),
        replaced(kind, "compile", remember),
        replaced(kind, "disable_compile", close),
        replaced(kind, "call", call),
        replaced(dispatcher.config, "CUDA_LOW_OCCUPANCY_WARNINGS", 0),
    ):
        yield


@contextmanager
def replaced(owner: object, name: str, value: object) -> Iterator[None]:
    """Give `owner` another attribute `name` for a while; what it inherits is hidden, not changed."""
    own, original = name in vars(owner), getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own:
            setattr(owner, name, original)
        else:
            delattr(owner, name)
