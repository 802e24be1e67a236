"""Triton and Gluon: `@triton.jit` and `@gluon.jit` functions, compiled by Triton's own compiler with no GPU."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.lib.stride_tricks import as_strided

from banksim.architectures.other_generations import multiprocessors
from banksim.errors import InputError, UnsupportedError
from banksim.kernels.compilers.numba_without_gpu import capability, replaced
from banksim.kernels.triton import preset_of
from banksim.machine.host_memory import Stretches
from banksim.machine.tensor_maps import Im2col, MappedArray, tensor_map
from banksim.runs.languages.diagnostics import outlived, uncoloured
from banksim.runs.languages.language import Compiled, check_constants, place_of, refusals
from banksim.runs.languages.triton_lines import own_lines
from banksim.runs.options import Call, Grid
from banksim.system.changed_modules import changed
from banksim.wording import takes

if TYPE_CHECKING:
    from banksim.runs.languages.triton_objects import Binary, Descriptor, JitFunction, Target

NAME = "Triton"
TYPES: dict[str, str] = {
    "i1": "i1", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u1": "u1", "u8": "u1", "u16": "u2", "u32": "u4",
    "u64": "u8", "fp16": "f2", "fp32": "f4", "fp64": "f8",
}  # fmt: skip
"""NumPy's types of scalars by Triton's."""
FLAGS = ("padding", "round_f32_to_tf32")
"""Flags of tensor descriptors; Triton 3.5 has only the first."""
Named: TypeAlias = dict[str, object]
"""Arguments or constants by name."""


@contextmanager
def importing(arch: str) -> Iterator[None]:
    """Files of Triton ask it, and often PyTorch, which GPU they run on, and choose their configurations by that."""
    major, minor = capability(arch)
    asked = SimpleNamespace(name=arch, major=major, minor=minor, multi_processor_count=multiprocessors(arch))
    with ExitStack() as stack:
        if find_spec("triton"):
            stack.enter_context(driver(gpu(arch)))

        def tell(cuda: ModuleType) -> None:
            stack.enter_context(replaced(cuda, "get_device_capability", lambda *_, **__: (major, minor)))
            stack.enter_context(replaced(cuda, "get_device_properties", lambda *_, **__: asked))

        stack.enter_context(changed({"torch.cuda": tell}))
        yield


def owns(value: object) -> bool:
    """Whether it is a kernel of Triton's, perhaps inside a decorator that tunes it."""
    return hasattr(unwrapped(value), "create_binder")


def unwrapped(value: Any) -> JitFunction:
    """The function inside @triton.autotune and @triton.heuristics."""
    while not hasattr(value, "create_binder") and hasattr(value, "fn"):
        value = value.fn
    found: JitFunction = value
    return found


def title(kernel: object) -> tuple[str, Sequence[str]]:
    function = unwrapped(kernel)
    found = inspect.signature(function.fn).parameters.values()
    return function.fn.__name__, [
        f"{one.name}: constexpr" if parameter.is_constexpr else str(one)
        for one, parameter in zip(found, function.params, strict=True)
    ]


def names(kernel: object) -> Mapping[str, object]:
    return unwrapped(kernel).fn.__globals__


class Address:
    """An array as a stand-in for a torch tensor: Triton specializes by the type and the address's alignment."""

    def __init__(self, array: np.ndarray, start: int) -> None:
        self.dtype = array.dtype.name
        self.start = start

    def data_ptr(self) -> int:
        return self.start


def described(value: object, name: str) -> MappedArray | None:
    """The array and the block of a tensor descriptor: one of Triton's or Gluon's over a tensor of the host, or what
    `banksim.tensor_map` makes. None for any other value."""
    if isinstance(value, MappedArray):
        return value
    if not is_descriptor(value):
        return None
    if getattr(value, "padding", "zero") != "zero" or getattr(value, "round_f32_to_tf32", False):
        raise UnsupportedError(f"argument {name}: a tensor descriptor with padding by NaNs or rounding is not known")
    try:
        base = np.asarray(value.base)
    except (TypeError, RuntimeError, ValueError) as error:
        raise InputError(f"argument {name}: give banksim.tensor_map(array, block), or a tensor on the host") from error
    steps = [step * base.itemsize for step in value.strides]
    array = as_strided(base, tuple(value.shape), steps)
    return of_pixels(value, array) if hasattr(value, "pixel_box_lower_corner") else tensor_map(array, value.block_shape)


def of_pixels(value: Any, array: np.ndarray) -> MappedArray:
    """A descriptor of Gluon's for im2col, whose block is of pixels and channels."""
    pixels, channels = value.block_shape
    lower, upper = tuple(value.pixel_box_lower_corner)[::-1], tuple(value.pixel_box_upper_corner)[::-1]
    steps = tuple(value.element_strides or (1,) * array.ndim)
    return MappedArray(array, (channels,), value.layout.swizzle_byte_width, steps, Im2col(lower, upper, pixels))


def is_descriptor(value: object) -> TypeGuard[Descriptor]:
    return type(value).__name__ in ("TensorDescriptor", "TensorDescriptorIm2Col")


def descriptor(value: Any, found: MappedArray, base: Address) -> Descriptor:
    """A tensor descriptor as Triton's specialization sees it."""
    if isinstance(value, MappedArray):
        made: Descriptor = object.__new__(import_module("triton.tools.tensor_descriptor").TensorDescriptor)
        steps = [step // found.array.itemsize for step in found.array.strides]
        made.shape, made.strides, made.block_shape = [*found.array.shape], steps, [*found.box]
        made.padding, made.round_f32_to_tf32 = "zero", False
    else:
        made = copy(value)
    made.base = base
    return made


class NoGpu:
    """Stands in for a driver, which Triton's compiler asks for the GPU that it compiles for."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def get_current_target(self) -> Target:
        return self.target

    def get_current_device(self) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"there is no GPU here that has {name}")


def compile(call: Call, arch: str) -> Compiled:
    for name in ("triton.compiler", "triton.runtime.jit", "triton.experimental.gluon._runtime"):
        import_module(name)
    return outlived(partial(launchable, call, arch), place(unwrapped(call.kernel)), arch)


def launchable(call: Call, arch: str) -> Compiled:
    made, signature = compiled_by_triton(call, arch)
    return of_binary(made.asm["cubin"], made.metadata._asdict(), signature, place(unwrapped(call.kernel)))


def of_binary(cubin: bytes, metadata: Mapping[str, Any], signature: Mapping[str, str], where: str) -> Compiled:
    """What Triton compiled, with how it is launched; `signature`: the types of the parameters by name."""
    preset = preset_of({**metadata, "num_ctas": 1}, where)
    cluster = (metadata["num_ctas"],) if metadata["num_ctas"] > 1 else None
    return Compiled(cubin, metadata["name"], preset, signature, cluster)


def compiled_by_triton(call: Call, arch: str) -> tuple[Binary, Mapping[str, str]]:
    """What Triton compiles a call's kernel to, with all stages' results; and the parameters' types by name."""
    function = unwrapped(call.kernel)
    given, const = arguments(call)
    target = gpu(arch)
    compiler, jit = import_module("triton.compiler"), import_module("triton.runtime.jit")
    with driver(target), own_lines(jit), refusals(place(function), gist):
        backend = compiler.make_backend(target)
        binder = jit.create_function_from_signature(function.signature, function.params, backend)
        bound, specialization, options = binder(**given, **const)
        options, signature, constexprs, attributes = function._pack_args(backend, const, bound, specialization, options)
        source = compiler.ASTSource
        if function.is_gluon():
            source = import_module("triton.experimental.gluon._runtime").GluonASTSource
        made = compiler.compile(
            source(function, signature, constexprs, attributes), target=target, options=options.__dict__
        )
    return made, signature


def pack(call: Call, compiled: Compiled) -> list[object]:
    return parameters(dict(zip(runtime_names(call), call.args, strict=True)), compiled)


def parameters(given: Named, compiled: Compiled) -> list[object]:
    """The arguments by name as the compiled kernel takes them."""
    by_map = bool(compiled.preset and compiled.preset.tensors)
    args: list[object] = []
    for name, kind in compiled.about.items():
        if kind == "constexpr" or name not in given:
            continue
        found = described(given[name], name)
        args += taken_apart(found, by_map) if found else [packed(given[name], kind, name)]
    return args


def taken_apart(found: MappedArray, by_map: bool) -> list[object]:
    """A tensor descriptor as the kernel takes it. `by_map`: as an array, of which a tensor map is made once it has its
    address. Else: address, sizes, strides, this Triton's flags, and sizes and strides again."""
    array = found.array
    if by_map:
        return [found if found.im2col else array]
    known = import_module("triton.tools.tensor_descriptor").TensorDescriptor.__dataclass_fields__
    flags = [np.int8(0) for name in FLAGS if name in known]
    sizes = [*map(np.int64, array.shape), *(np.int64(step // array.itemsize) for step in array.strides)]
    again = [*map(np.int32, array.shape), *sizes[array.ndim :]]
    return [array, *sizes, *flags, *again]


def grid(call: Call, compiled: Compiled) -> Grid | None:
    """The grid in blocks; with clusters, each program of Triton's is a cluster of several blocks. A grid that is a
    function is called with the constants, as Triton calls it."""
    found = call.grid
    if callable(found):
        function = unwrapped(call.kernel)
        found = found(
            {**defaults(function), **dict(zip(runtime_names(call), call.args, strict=True)), **arguments(call)[1]}
        )
    if compiled.cluster is None or found is None:
        return found
    first, *rest = (found,) if isinstance(found, int) else found
    return (first * compiled.cluster[0], *rest)


def packed(value: object, kind: str, name: str) -> object:
    """An argument as the kernel takes it, of the type that Triton found."""
    if isinstance(value, tuple) or (isinstance(value, np.ndarray) and value.ndim):
        return value
    if kind not in TYPES:
        raise UnsupportedError(f"argument {name}: {kind} is no pointer and no number, and is not known")
    return np.asarray(value).astype(TYPES[kind])[()]


# ---- what was given
def arguments(call: Call) -> tuple[Named, Named]:
    """What the kernel is called with, by name: arguments as Triton specializes them, then constants and options."""
    function = unwrapped(call.kernel)
    named = dict(zip(runtime_names(call), call.args, strict=True))
    const = {**tuned(call), **call.const}
    const.update(computed(call, {**named, **const}))
    constexprs = [one.name for one in function.params if one.is_constexpr]
    options = {*option_names()} - {*constexprs}
    required = [name for name in constexprs if name not in defaults(function)]
    check_constants(place(function), [name for name in const if name not in options], constexprs, required)
    arrays = {name: found.array for name, value in named.items() if (found := described(value, name))}
    stretches = Stretches([arrays.get(name, value) for name, value in named.items()])
    return {name: specialized(value, stretches, name) for name, value in named.items()}, const


def runtime_names(call: Call) -> list[str]:
    """The parameters that are not constants, as many as there are arguments."""
    function = unwrapped(call.kernel)
    found = [one.name for one in function.params if not one.is_constexpr]
    least = len([name for name in found if name not in defaults(function)])
    if not least <= len(call.args) <= len(found):
        raise InputError(f"{place(function)} {takes(found, len(call.args))}")
    return found[: len(call.args)]


def defaults(function: JitFunction) -> Named:
    parameters = inspect.signature(function.fn).parameters.values()
    return {one.name: one.default for one in parameters if one.default is not inspect.Parameter.empty}


def tuned(call: Call) -> Named:
    """The constants of the configuration of @triton.autotune, if there is just one. `InputError` with the choices if
    there are several, and the call chooses none."""
    value, found = call.kernel, Named()
    while value is not unwrapped(value):
        configurations = getattr(value, "configs", ())
        names = {name for one in configurations for name in one.kwargs}
        if configurations and not names <= call.const.keys():
            if len(configurations) > 1:
                some = ", ".join(f"{name}={shown}" for name, shown in configurations[0].kwargs.items())
                raise InputError(
                    f"{place(unwrapped(value))} is tuned among {len(configurations)} configurations: choose one, "
                    f"such as the first: --const {some.replace(', ', ' --const ')}"
                )
            found.update(configurations[0].all_kwargs())
        value = value.fn
    return found


def computed(call: Call, given: Mapping[str, object]) -> Named:
    """The constants that @triton.heuristics computes from the others and the arguments."""
    value, found = call.kernel, Named()
    while value is not unwrapped(value):
        if isinstance(rules := getattr(value, "values", None), dict):
            for name, rule in rules.items():
                if name not in call.const:
                    found[name] = evaluated(name, rule, {**given, **found})
        value = value.fn
    return found


def evaluated(name: str, rule: Callable[[Mapping[str, object]], object], given: Mapping[str, object]) -> object:
    try:
        return rule(given)
    except KeyError as error:
        raise InputError(f"the heuristic for {name} asks for {error}: give --const {error.args[0]}=…") from None


def specialized(value: object, stretches: Stretches, name: str) -> object:
    """An argument as Triton's specialization takes it."""
    if found := described(value, name):
        return descriptor(value, found, Address(found.array, found.array.ctypes.data - stretches.of(found.array)[0]))
    if isinstance(value, np.ndarray) and value.ndim:
        return Address(value, value.ctypes.data - stretches.of(value)[0])
    if isinstance(value, tuple) and value and all(isinstance(one, np.ndarray) and one.ndim for one in value):
        return Address(np.zeros(1, np.int64), 0)
    if isinstance(value, np.generic | np.ndarray):
        return value.item()
    if value is None or isinstance(value, bool | int | float):
        return value
    raise UnsupportedError(f"argument {name}: a {type(value).__name__} cannot be passed: give an array or a number")


def option_names() -> set[str]:
    options = import_module("triton.backends.nvidia.compiler").CUDAOptions
    return set(options.__dataclass_fields__)


# ---- the compiler
def gpu(arch: str) -> Any:
    """A GPU as Triton describes it."""
    major, minor = capability(arch)
    return import_module("triton.backends.compiler").GPUTarget("cuda", 10 * major + minor, 32)


@contextmanager
def driver(target: Target) -> Iterator[None]:
    """Within, Triton finds the GPU to compile for when it asks which one there is."""
    config = import_module("triton.runtime.driver").driver
    before = config._active
    config._active = NoGpu(target)
    try:
        yield
    finally:
        config._active = before


def place(function: JitFunction) -> str:
    return place_of(function.fn)


def gist(error: Exception) -> str:
    """The last line of the innermost cause of an error of Triton's, which is the message itself."""
    inner: BaseException = error
    while inner.__cause__ is not None:
        inner = inner.__cause__
    lines = [line.strip() for line in uncoloured(str(inner)).splitlines() if line.strip()]
    return (lines[-1] if lines else "") or type(inner).__name__
