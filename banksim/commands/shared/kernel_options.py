"""The options that name a kernel and its launch."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from banksim.commands.shared.argument_text import FILLS
from banksim.commands.shared.argument_text import parse as value_of
from banksim.errors import InputError, near
from banksim.kernels.file_and_name import file_and_name
from banksim.system.visible import say

if TYPE_CHECKING:
    from banksim.architectures.bank_rules import Architecture


def launch_options(parser: ArgumentParser) -> _ArgumentGroup:
    """Add options for a kernel's launch, a group to which a command may add its own, and for how it is compiled."""
    group = parser.add_argument_group("launch")
    group.add_argument("--grid", default="1", metavar="X,Y,Z", help="blocks of the grid (default 1)")
    group.add_argument(
        "--block", metavar="X,Y,Z", help="threads of a block (default: what the kernel is compiled for, else 32)"
    )
    values = "; ".join(f"{name}: {what}" for name, what in FILLS.items())
    group.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="TYPE[SHAPE]=VALUE",
        help="an argument, in the order of the signature: an array such as float32[64,64]=random, "
        f"a scalar such as int32=5 or 2.5, a file.npy, or a struct '{{data: float32[64], size: int32=64}}' with "
        f"addresses of arrays, structs and C arrays (int32=1, int32=2) inside. VALUE: {values}",
    )
    group.add_argument(
        "--constant",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="fill a __constant__ or __device__ variable of the module, as the host would, with a value as for --arg: "
        "mask=int32[4]=arange, scale=float32=2.5, taps=file.npy",
    )
    group.add_argument(
        "--const",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a constant that Triton compiles in, or an option of its compiler: BLOCK=64, num_warps=8, TYPE=tl.float16",
    )
    group.add_argument("--dynamic-shared", metavar="BYTES", help="dynamic shared memory of a block, in bytes")
    compiling = parser.add_argument_group("CUDA C++")
    compiling.add_argument("--define", action="append", default=[], metavar="NAME[=VALUE]", help="a macro")
    compiling.add_argument("--include", action="append", default=[], metavar="FOLDER", help="a folder with headers")
    compiling.add_argument("--std", metavar="c++NN", help="the standard")
    return group


def find(options: Namespace, rules: Sequence[Architecture] | None = None) -> Any:
    """The kernel that FILE:NAME names: a Numba function, or a decoded kernel, compiled for the first architecture."""
    file, name = file_and_name(options.kernel)
    if not file.endswith(".py"):
        return filled(found_in(file, name, options, rules), options.constant)
    if options.constant:
        raise InputError(f"--constant is for CUDA C++, PTX and cubins, and {file} is none")
    return found_in(file, name, options, rules)


def filled(kernel: Any, constants: Sequence[str]) -> object:
    """The kernel, its module's variables filled as `--constant` says."""
    for seed, text in enumerate(constants):
        name, given, value = text.partition("=")
        if not given:
            raise InputError(f"--constant {text!r}: give NAME=VALUE such as mask=int32[4]=arange or n=5")
        kernel.constants[name.strip()] = value_of(value, seed)
    return kernel


def found_in(file: str, name: str | None, options: Namespace, rules: Sequence[Architecture] | None) -> object:
    known, kernels = names_in(file, options, rules)
    return chosen(known if name in known else kernels, name, file)


def names_in(
    file: str, options: Namespace, rules: Sequence[Architecture] | None
) -> tuple[Mapping[str, object], Mapping[str, object]]:
    """The names of a file that may mean a kernel, and its kernels."""
    compiler = {"defines": options.define, "includes": options.include, "std": options.std}
    if file.endswith(".ipynb"):
        raise InputError(
            f"{file} is a notebook: banksim run executes it whole; its kernels alone want a Python file "
            "(jupyter nbconvert --to script)"
        )
    if file.endswith((".cu", ".cuh", ".cpp", ".cxx", ".cc")):
        from banksim.kernels.load import load
        from banksim.runs.resolve import compiled_for

        return {}, load(file, compiled_for(rules or ()), **compiler)
    if any(compiler.values()):
        raise InputError(f"--define, --include and --std are for CUDA C++, and {file} is none")
    if not file.endswith(".py"):
        from banksim.kernels.load import load
        from banksim.runs.resolve import compiled_for

        return {}, load(file, compiled_for(rules or ()))
    from banksim.kernels.compilers.numba_without_gpu import in_vain
    from banksim.runs.python_file import load_python
    from banksim.runs.resolve import compiled_for

    left_out = list[InputError]()
    module = vars(load_python(file, compiled_for(rules or ()), left_out))
    kernels = {word: value for word, value in module.items() if is_kernel(value)}
    if left_out and not kernels:
        raise left_out[0]
    if left_out:
        statements = f"this statement and {len(left_out) - 1} more are" if left_out[1:] else "this statement is"
        say(f"{left_out[0]} ({statements} left out)")
    if note := in_vain():
        say(note)
    return module, kernels


def constants_of(kernel: object, options: Namespace) -> dict[str, object]:
    """What `--const` gives a kernel."""
    if not options.const:
        return {}
    from banksim.runs.languages.constants import constants
    from banksim.runs.languages.language import language_of

    language = language_of(kernel)
    return constants(options.const, language.names(kernel) if language else {})


def is_kernel(value: object) -> bool:
    """Whether it is what `numba.cuda.jit` makes of a kernel, not of a device function, or another language's kernel."""
    from banksim.runs.languages.language import language_of

    if language_of(value):
        return True
    return hasattr(value, "py_func") and not getattr(value, "targetoptions", {}).get("device")


def chosen(kernels: Mapping[str, object], name: str | None, file: str) -> object:
    """The kernel of this name, or the only one."""
    if name is None and len(kernels) == 1:
        return next(iter(kernels.values()))
    with suppress(KeyError):
        if name is not None:  # before all are asked for their names, for which they are decoded
            return kernels[name]
    names = [getattr(kernel, "plain_name", word) for word, kernel in kernels.items()]
    known = ", ".join(names)
    if not names:
        raise InputError(f"{file} has no kernel")
    if name is None:
        raise InputError(f"{file} has {len(kernels)} kernels: give {file}:NAME, one of {known}")
    raise InputError(f"{file} has no kernel {name!r}{near(name, names)}: it has {known}")
