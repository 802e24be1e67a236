"""What the kernels need of numba-cuda, and what to say where it is missing.

`jit` makes the one dispatcher that both a GPU and banksim take. Without numba-cuda the kernels can still be listed.
"""

import importlib
import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from banksim.system.extras import missing

Library: TypeAlias = Any
"""A module of numba-cuda; none of them has types that a checker could use."""
Dispatcher: TypeAlias = Any
"""What numba-cuda's decorator makes of a function: `kernel[grid, block](…)` launches it."""
Array: TypeAlias = np.ndarray
"""An array on the GPU as a kernel sees it."""

INSTALLED = importlib.util.find_spec("numba_cuda") is not None
cuda: Library = None
if INSTALLED:
    from numba import cuda as cuda


def require() -> None:
    """InputError when numba-cuda is missing."""
    if not INSTALLED:
        raise missing("the kernels are written in Numba CUDA, which is missing", "cuda")


def module(name: str) -> Library:
    """A module of numba-cuda."""
    require()
    return importlib.import_module(f"numba.cuda.{name}")


def jit(function: Callable[..., None], lines: bool = True) -> Dispatcher:
    """The function as a CUDA kernel, with line information."""
    require()
    return cuda.jit(lineinfo=lines)(function)


def kernel(function: Callable[..., None]) -> Callable[[], Dispatcher]:
    """What makes a CUDA kernel of the function when it is called."""
    return partial(jit, function)
