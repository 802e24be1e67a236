"""The objects of TileLang and TVM that tilelang.py uses, as types: TileLang is imported only where it is called."""

import inspect
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any, Protocol, TypeAlias, TypedDict


class Variable(Protocol):
    """A parameter, or the name of a size."""

    name: str
    dtype: object


class Expression(Protocol):
    """A size that is computed from others."""

    dtype: object


Size: TypeAlias = "int | Variable | Expression"


class Buffer(Protocol):
    """An array that a kernel declares; `data` is the parameter that its address comes in."""

    name: str
    dtype: object
    shape: Sequence[Size]
    strides: Sequence[Size]
    data: Variable


class Attributes(TypedDict, total=False):
    """The attributes that TileLang gives a function."""

    global_symbol: str
    thread_extent: Mapping[str, Size]
    dyn_shared_memory_buf: int
    cluster_dims: Sequence[int]
    tma_descriptor_args: Mapping[Variable, Sequence[Any]]


class Primitive(Protocol):
    """A function of TVM's: what @T.prim_func makes, and what is lowered from it."""

    params: Sequence[Variable]
    buffer_map: Mapping[Variable, Buffer]
    attrs: Attributes


class Traced(Protocol):
    """The function in @tilelang.jit, and which of its parameters are arrays."""

    orig_func: FunctionType
    tensor_args: Mapping[str, object]


class Jit(Protocol):
    """What @tilelang.jit makes."""

    func: Traced
    signature: inspect.Signature

    def get_tir(self, *args: object, **constants: object) -> Primitive: ...


class Named(Protocol):
    name_hint: str


class Module(Protocol):
    functions: Mapping[Named, Primitive]
