"""What is asked of numba-cuda's own objects, which come without types that a checker could use."""

from collections.abc import Callable, Hashable, Mapping, MutableMapping, Sequence
from types import FunctionType
from typing import Protocol

Types = tuple[Hashable, ...]
"""Numba's types of arguments."""
Function = Callable[..., object]
"""A function of Python, or the dispatcher that `cuda.jit` made of one."""


class Signature(Protocol):
    return_type: object


class Compiled(Protocol):
    """A kernel or device function, compiled for types."""

    @property
    def signature(self) -> Signature: ...


class Dispatcher(Protocol):
    """What `cuda.jit` makes of a function."""

    py_func: FunctionType
    targetoptions: Mapping[str, object]
    overloads: MutableMapping[Types, Compiled]
    _can_compile: bool

    def __call__(self, *args: object) -> object: ...

    def typeof_pyval(self, value: object) -> Hashable: ...


class LaunchConfiguration(Protocol):
    """The brackets of a launch."""

    griddim: tuple[int, int, int]
    blockdim: tuple[int, int, int]
    sharedmem: int
    pre_launch_callbacks: Sequence[object]


class ForAll(Protocol):
    """`kernel.forall(…)`."""

    thread_per_block: int


class Manager(Protocol):
    """What numba-cuda keeps of the allocations of a context."""

    allocations: MutableMapping[object, object]
