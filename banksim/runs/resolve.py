"""From what the user gave (kernel, arguments, architectures) to a launch that is ready."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from inspect import isfunction
from typing import Any, cast
from weakref import WeakKeyDictionary, ref

from banksim.architectures.bank_rules import Architecture, architectures
from banksim.architectures.code_layout import executed
from banksim.errors import BanksimError, InputError
from banksim.kernels.compilers.numba import CompiledKernel
from banksim.kernels.compilers.numba_objects import Function, Types
from banksim.kernels.kernel import Kernel
from banksim.machine.launch import Buffer, Launch, prepare
from banksim.machine.parameters import numba_parameters, pointer_parameters, scratch_arguments, tensor_arguments
from banksim.runs.languages.language import in_machine_code
from banksim.runs.loaded_module import Loaded
from banksim.runs.options import Call, Options

DEFAULT = "sm_90"
"""The architecture to compile for where none that was asked for has code that can be executed."""


def launched(call: Call, rules: Sequence[Architecture], options: Options) -> Launch:
    """The call as a launch that is ready, of the code for the first of `rules` that can be executed. Errors as those
    of `banksim.run`."""
    wanted = next((rule.name for rule in rules if executed(rule.name)), None)
    machine = executed(wanted or DEFAULT) or DEFAULT
    call = in_machine_code(call, machine)
    kernel = call.kernel
    if isinstance(kernel, Kernel) and wanted and machine != kernel.arch:
        kernel = kernel.on(wanted)
    grid: Any = call.grid
    given = tensor_arguments(kernel, call.args)
    hidden = scratch_arguments(kernel, given, grid)
    compiled_kernel, parameters, buffers, module = resolve(kernel, [*given, *hidden], machine)
    launch = prepare(compiled_kernel, grid, call.block, parameters, buffers, options.dynamic_shared, options.cluster)
    if module:
        module.into(launch, persist=False)
    return launch


def judged_by(
    kernel: object, arch: str | Architecture | Sequence[str | Architecture] | None
) -> tuple[Architecture, ...]:
    """The architectures that `run` was asked for."""
    if arch is None:
        arch = kernel.arch if isinstance(kernel, Kernel) else DEFAULT
    return architectures(arch)


def compiled_for(rules: Sequence[Architecture]) -> str:
    """The architecture to compile for: the first of `rules` whose code can be executed."""
    return next((rule.name for rule in rules if executed(rule.name)), DEFAULT)


def resolve(
    kernel: object, args: Sequence[object], machine: str
) -> tuple[Kernel, list[bytes], list[Buffer], Loaded | None]:
    """The decoded kernel, the arguments as parameters and buffers, and its module if linked code calls back for it."""
    if isinstance(kernel, Kernel):
        return kernel, *pointer_parameters(kernel, args), None
    if not isfunction(getattr(kernel, "py_func", kernel)):
        raise InputError(f"{kernel!r} is no kernel: pass a Numba function or banksim.load(file)[name]")
    from banksim.kernels.compilers.numba_arguments import argument_type

    types = tuple(argument_type(a) for a in args)
    function = cast("Function", kernel)
    ready, compiled = numba_kernel(function, types, machine)
    from banksim.runs.loaded_module import loaded

    module = loaded(function, ready, compiled) if compiled.setup else None
    return ready, *numba_parameters(compiled.fields, args, compiled.arguments), module


_compiled: WeakKeyDictionary[Function, dict[tuple[Types, str], CompiledKernel]] = WeakKeyDictionary()
_numba_kernels: WeakKeyDictionary[Function, dict[tuple[Types, str], tuple[Kernel, CompiledKernel]]] = (
    WeakKeyDictionary()
)


def compiled_once(function: Function, types: Types, machine: str) -> CompiledKernel:
    from banksim.kernels.compilers import compile_numba

    known = _compiled.setdefault(function, {})
    if (types, machine) not in known:
        known[types, machine] = compile_numba(function, types, machine)
    return known[types, machine]


def list_numba_ahead(launches: Iterable[tuple[Function, Sequence[object]]], rules: Sequence[Architecture] = ()) -> None:
    """Have the kernels of launches, functions with their arguments, listed together. Those that cannot be compiled are
    left to the launch, which says why."""
    from banksim.kernels.compilers.numba_arguments import argument_type
    from banksim.kernels.cubin import decode_ahead

    machine = executed(compiled_for(rules)) or DEFAULT
    cubins = []
    for function, args in launches:
        with suppress(BanksimError):
            cubins.append(compiled_once(function, tuple(map(argument_type, args)), machine).cubin)
    decode_ahead(cubins)


def numba_kernel(function: Function, types: Types, machine: str) -> tuple[Kernel, CompiledKernel]:
    """A Numba function compiled for argument types, decoded and as the compiler describes it."""
    from banksim.kernels.cubin import decode

    known = _numba_kernels.setdefault(function, {})
    if (types, machine) not in known:
        compiled = compiled_once(function, types, machine)
        decoded = decode(compiled.cubin)[compiled.name]
        body = getattr(function, "py_func", function)
        again = partial(recompiled, ref(function), types)
        known[types, machine] = replace(decoded, plain_name=body.__name__, for_arch=again), compiled
    return known[types, machine]


def recompiled(function: ref[Function], types: Types, machine: str) -> Kernel:
    """The kernel of a Numba function for another architecture. It does not keep the function alive, whose kernels are
    forgotten when it goes."""
    alive = function()
    if alive is None:
        raise InputError("the Numba function is gone: keep it to compile it again")
    return numba_kernel(alive, types, machine)[0]
