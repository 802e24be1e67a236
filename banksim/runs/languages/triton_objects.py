"""The objects of Triton that triton.py uses, as types: Triton itself is imported only where it is called."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any, Protocol


class Parameter(Protocol):
    name: str
    is_constexpr: bool


class JitFunction(Protocol):
    """What `@triton.jit` and `@gluon.jit` make."""

    fn: FunctionType
    signature: inspect.Signature
    params: Sequence[Parameter]

    def is_gluon(self) -> bool: ...

    def _pack_args(self, *args: object) -> tuple[Options, dict[str, str], object, object]: ...


class Options(Protocol):
    """Options of the compiler, such as num_warps, as attributes."""


class Target(Protocol):
    """Which GPU is compiled for."""

    arch: int


class Descriptor(Protocol):
    """A tensor descriptor; strides are in elements."""

    base: object
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: Sequence[int]
    padding: str
    round_f32_to_tf32: bool


class Binary(Protocol):
    """A compiled kernel; `asm` has what each stage wrote, by its name."""

    asm: Mapping[str, bytes]
    metadata: Any
