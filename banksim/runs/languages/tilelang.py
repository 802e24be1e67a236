"""TileLang: `@tilelang.jit` functions and `@T.prim_func` kernels, compiled by TileLang's own compiler with no GPU."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided

from banksim.errors import InputError, UnsupportedError
from banksim.kernels.compilers.numba_without_gpu import capability
from banksim.kernels.kernel import Preset
from banksim.machine.tensor_maps import SWIZZLES, tensor_map
from banksim.runs.languages.diagnostics import outlived
from banksim.runs.languages.language import Compiled, check_constants, place_of, refusals
from banksim.runs.languages.tilelang_lines import folder, kept_by_passes, of_callers, told, without_directives
from banksim.runs.options import Call
from banksim.system import cache
from banksim.wording import takes

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from banksim.runs.languages.tilelang_objects import Buffer, Jit, Module, Primitive, Size, Variable

NAME = "TileLang"
TILED = "__tvm_tensormap_create_tiled"
AXES = "xyz"

T = TypeVar("T")


def importing(arch: str) -> AbstractContextManager[None]:
    """Some kernels are made while their file is imported."""
    return of_callers() if find_spec("tilelang") else nullcontext()


def owns(value: object) -> bool:
    return hasattr(unwrapped(value), "get_tir") or hasattr(value, "buffer_map")


def unwrapped(value: Any) -> Jit | Primitive:
    """The function inside @tilelang.autotune; any other kernel as it is."""
    found: Jit | Primitive = getattr(value, "jit_impl", value)
    return found


def is_primitive(kernel: Jit | Primitive) -> TypeIs[Primitive]:
    """Whether it is what @T.prim_func makes, in which all constants have their values."""
    return hasattr(kernel, "buffer_map")


def title(given: object) -> tuple[str, Sequence[str]]:
    kernel = unwrapped(given)
    if is_primitive(kernel):
        return name_of(kernel), [one.name for one in of_memory(kernel)]
    return name_of(kernel), [str(one) for one in kernel.signature.parameters.values()]


def name_of(kernel: Jit | Primitive) -> str:
    return str(kernel.attrs["global_symbol"] if is_primitive(kernel) else kernel.func.orig_func.__name__)


def function_of(kernel: Jit | Primitive) -> FunctionType | None:
    """The user's function; None where a kernel does not have it."""
    return getattr(kernel, "orig_func", None) if is_primitive(kernel) else kernel.func.orig_func


def place(kernel: Jit | Primitive) -> str:
    function = function_of(kernel)
    return place_of(function) if function else name_of(kernel)


def names(kernel: object) -> Mapping[str, object]:
    return getattr(function_of(unwrapped(kernel)), "__globals__", {})


def compile(call: Call, arch: str) -> Compiled:
    kernel = unwrapped(call.kernel)
    tilelang = import_module("tilelang")
    target = tilelang.tvm.target.Target({"kind": "cuda", "arch": target_of(arch)})
    where = place(kernel)
    with refusals(where, gist), target, of_callers():
        primitive = kernel if is_primitive(kernel) else kernel.get_tir(*traced(kernel, call), **constants(kernel, call))
        given = Given.of(primitive, outputs_of(kernel, primitive), call, where)
    made, args, blocks = outlived(partial(lowered, kernel, primitive, given, target), where, arch)
    return replace(made, about=([given.passed(one) for one in args], blocks))


def lowered(
    kernel: Jit | Primitive, primitive: Primitive, given: Given, target: Any
) -> tuple[Compiled, list[Passed], tuple[int, ...]]:
    """What TileLang makes of a kernel, what it is passed, and the blocks of its grid."""
    tilelang, where = import_module("tilelang"), place(kernel)
    with refusals(where, gist):
        config = {**(getattr(kernel, "pass_configs", None) or {}), **attribute(primitive, "tilelang_pass_configs", {})}
        config[tilelang.transform.PassConfigKey.TL_EMIT_LINE_DIRECTIVES] = True
        with tilelang.tvm.transform.PassContext(opt_level=3, config=config), target, kept_by_passes():
            found = tilelang.lower(primitive, target=target)
        name, function = only_kernel(found.device_mod, where)
        flags = [*(getattr(kernel, "compile_flags", None) or ()), *attribute(primitive, "tilelang_compile_flags", ())]
        cubin = machine_code(found.kernel_source, name, target, config, flags)
    extents = {tag: given.value(size) for tag, size in function.attrs["thread_extent"].items()}
    block, blocks = ([extents.get(f"{what}Idx.{axis}", 1) for axis in AXES] for what in ("thread", "block"))
    shared = int(function.attrs.get("dyn_shared_memory_buf", 0))
    maps = [host.attrs.get("tma_descriptor_args", {}) for host in found.host_mod.functions.values()]
    described = {one.name: words for each in maps for one, words in each.items()}
    args = [given.parameter(one.name, str(one.dtype), described, where) for one in function.params]
    cluster = tuple(map(int, function.attrs.get("cluster_dims", ()))) or None
    preset = Preset((block[0], block[1], block[2]), shared, ())
    return Compiled(cubin, name, preset, cluster=cluster), args, tuple(blocks)


def pack(call: Call, compiled: Compiled) -> Sequence[object]:
    args: Sequence[object] = compiled.about[0]
    return args


def grid(call: Call, compiled: Compiled) -> tuple[int, ...]:
    """The grid that the kernel itself says."""
    found: tuple[int, ...] = compiled.about[1]
    asked = (*((call.grid,) if isinstance(call.grid, int) else call.grid or ()), 1, 1, 1)[:3]  # type: ignore[misc]
    if asked not in ((1, 1, 1), found):
        raise InputError(f"{place(unwrapped(call.kernel))} says its grid itself, {found}: give none")
    return found


# ---- the compiler
def target_of(arch: str) -> str:
    """TileLang's target for a GPU of `arch`, with the features that only this one has (sm_90a)."""
    return f"sm_{import_module('tilelang.contrib.nvcc').get_target_arch(capability(arch))}"


def machine_code(source: str, name: str, target: object, config: Mapping[str, Any], flags: Sequence[str]) -> bytes:
    """The cubin of the C++ that TileLang wrote. A statement for which it names no line of Python
    has its line in a file with this C++, which is kept."""
    keys = import_module("tilelang.transform").PassConfigKey
    before = config.get(keys.TL_DEVICE_COMPILE_FLAGS) or ()
    before = [before] if isinstance(before, str) else [*before]
    options = {**config, keys.TL_DEVICE_COMPILE_FLAGS: [*before, *flags, "-lineinfo"]}
    file = cache.keep(without_directives(source).encode(), f"{name}.cu")
    made = import_module("tilelang.cuda.backend").tilelang_callback_cuda_compile
    return bytes(made(told(source, str(file), folder()), target, options))


def only_kernel(module: Module, where: str) -> tuple[str, Primitive]:
    found = [(key.name_hint, function) for key, function in module.functions.items()]
    if len(found) != 1:
        listed = ", ".join(name for name, _ in found)
        raise UnsupportedError(f"{where} makes {len(found)} kernels ({listed}), and one launch is of one")
    return found[0]


def attribute(primitive: Primitive, name: str, default: T) -> T:
    """An attribute that the user gave, of the type of `default`."""
    attrs: Any = primitive.attrs
    found: T = attrs[name] if attrs and name in attrs else default
    return found


def gist(error: Exception) -> str:
    """The last line of an error of TileLang's. Those before it are about TileLang's own code."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


# ---- what was given
def constants(kernel: Jit, call: Call) -> dict[str, object]:
    """The constants of a call. `InputError` for those that the function does not have, and for missing ones."""
    found = {name: one for name, one in kernel.signature.parameters.items() if name not in kernel.func.tensor_args}
    required = [name for name, one in found.items() if one.default is inspect.Parameter.empty]
    check_constants(place(kernel), call.const, [*found], required)
    return dict(call.const)


def traced(kernel: Jit, call: Call) -> list[object]:
    """The arguments with which a function that is itself the kernel is traced: tensors without contents."""
    wanted = [*kernel.func.tensor_args]
    if not wanted:
        return []
    if len(call.args) < len(wanted):
        raise InputError(f"{place(kernel)} {takes(wanted, len(call.args))}")
    torch, dtype = import_module("torch"), import_module("tilelang.language").dtype
    return [
        torch.empty_strided(
            one.shape, [n // one.itemsize for n in one.strides], dtype=dtype(one.dtype.name).as_torch(), device="meta"
        )
        if isinstance(one, np.ndarray) and one.ndim
        else one
        for one in call.args[: len(wanted)]
    ]


def of_memory(primitive: Primitive) -> Iterator[Buffer | Variable]:
    """The parameters of a kernel: arrays as buffers, scalars as variables."""
    buffers = dict(primitive.buffer_map)
    yield from (buffers.get(one, one) for one in primitive.params)


def is_buffer(parameter: Buffer | Variable) -> TypeIs[Buffer]:
    return hasattr(parameter, "shape")


def outputs_of(kernel: Jit | Primitive, primitive: Primitive) -> set[int]:
    """The numbers of the arguments that TileLang allocates and returns if they are not given."""
    found = attribute(primitive, "tilelang_out_idx", None) or getattr(kernel, "out_idx", None)
    listed = [] if found is None else [found] if isinstance(found, int) else found
    return {int(one) % len(primitive.params) for one in listed}


@dataclass(frozen=True)
class Mapped:
    """A tensor map of an array, outermost axis first."""

    array: str
    sizes: Sequence[int]
    strides: Sequence[int]
    box: Sequence[int]
    swizzle: int
    steps: Sequence[int]


Passed: TypeAlias = "str | np.generic | Mapped"
"""What a parameter of a kernel is passed: an array, by its name, a number, or a tensor map."""


@dataclass
class Given:
    """The arguments of a kernel by name, and the sizes that the arrays' shapes give to names."""

    arrays: dict[str, np.ndarray]
    numbers: dict[str, np.ndarray | np.generic | int]

    @staticmethod
    def of(primitive: Primitive, outputs: set[int], call: Call, where: str) -> Given:
        parameters = [*of_memory(primitive)]
        rest = [n for n in range(len(parameters)) if n not in outputs]
        if len(call.args) not in (len(parameters), len(rest)):
            raise InputError(f"{where} {takes([one.name for one in parameters], len(call.args))}")
        whole = len(call.args) == len(parameters)
        given = Given({}, {})
        for n, value in zip(range(len(parameters)) if whole else rest, call.args, strict=True):
            given.take(parameters[n], value)
        for n in () if whole else sorted(outputs):
            one = parameters[n]
            if is_buffer(one):
                given.take(one, np.zeros([given.value(size) for size in one.shape], np.dtype(str(one.dtype))))
        return given

    def take(self, parameter: Buffer | Variable, value: object) -> None:
        """One argument. `InputError` where it is not what the kernel declares."""
        name, dtype = parameter.name, str(parameter.dtype)
        if not is_buffer(parameter):
            if isinstance(value, np.ndarray) and value.ndim:
                raise InputError(f"argument {name} is an array, and the kernel takes a {dtype}")
            self.numbers[name] = np.asarray(value).astype(dtype)[()]
            return
        if not isinstance(value, np.ndarray) or not value.ndim:
            raise InputError(f"argument {name} is a {type(value).__name__}: give a NumPy array")
        declared = f"{dtype}[{', '.join(map(str, parameter.shape))}]"
        if value.dtype.name != dtype or not self.match(parameter.shape, value.shape):
            raise InputError(f"argument {name} is {value.dtype}{list(value.shape)}, and the kernel takes {declared}")
        steps = [n // value.itemsize for n in value.strides]
        if not (self.match(parameter.strides, steps) if parameter.strides else value.flags.c_contiguous):
            raise InputError(f"argument {name} has gaps, and the kernel takes {declared} without: give a copy")
        self.arrays[parameter.data.name] = value

    def match(self, sizes: Sequence[Size], given: Sequence[int]) -> bool:
        """Whether given sizes are the declared ones. A name stands for the size that is given for it first."""
        return len(sizes) == len(given) and all(
            self.numbers.setdefault(size.name, n) == n if hasattr(size, "name") else self.value(size) == n
            for size, n in zip(sizes, given, strict=True)
        )

    def value(self, size: Size) -> int:
        """The value of a size, which may be computed from sizes that have names."""
        if isinstance(size, int):
            return size
        tvm = import_module("tilelang").tvm
        found: dict[Variable, object] = {}

        def visit(node: object) -> None:
            if isinstance(node, tvm.tirx.Var):
                found[node] = tvm.tirx.IntImm(str(node.dtype), int(self.numbers[node.name]))

        tvm.tirx.stmt_functor.post_order_visit(size, visit)
        return int(tvm.arith.Analyzer().simplify(tvm.tirx.stmt_functor.substitute(size, found)))

    def parameter(self, name: str, dtype: str, described: Mapping[str, Sequence[Any]], where: str) -> Passed:
        """What is passed for a parameter of the compiled kernel."""
        if name in self.arrays:
            return name
        if name in described:
            return self.mapped([*described[name]], where)
        if name not in self.numbers:
            raise UnsupportedError(f"{where}: what its parameter {name} is passed is not known")
        number: np.generic = np.asarray(self.numbers[name]).astype(dtype)[()]  # type: ignore[assignment]
        return number

    def mapped(self, words: Sequence[Any], where: str) -> Mapped:
        """A tensor map, from the arguments with which TileLang would have the driver make it (innermost axis first)."""
        kind, _, _, axes, data, *rest = words
        axes = int(axes)
        if kind.value != TILED or self.value(rest[4 * axes]) or self.value(rest[4 * axes + 3]):
            raise UnsupportedError(f"{where}: a tensor map of a kind that is not known: {kind.value}")
        sizes, strides, box, steps = (
            [self.value(one) for one in rest[n * axes : (n + 1) * axes]][::-1] for n in range(4)
        )
        return Mapped(data.name, sizes, strides, box, SWIZZLES[self.value(rest[4 * axes + 1])], steps)

    def passed(self, one: Passed) -> object:
        """An array, a number or a tensor map."""
        if isinstance(one, str):
            return self.arrays[one]
        if not isinstance(one, Mapped):
            return one
        array = self.arrays[one.array]
        if array.dtype.name.startswith("float8"):
            array = array.view(np.uint8)
        view = array if array.shape == (*one.sizes,) else as_strided(array, one.sizes, one.strides)
        return tensor_map(view, one.box, one.swizzle, one.steps)
