"""The option `--list`: the kernels of a file, in the words in which one asks for them."""

import inspect
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

from banksim.architectures.bank_rules import Architecture
from banksim.commands.shared.kernel_options import names_in
from banksim.kernels.compilers.numba_objects import Dispatcher
from banksim.kernels.kernel import Kernel
from banksim.machine.parameter_types import with_types
from banksim.runs.languages.language import language_of


def option(parser: ArgumentParser) -> None:
    parser.add_argument("--list", action="store_true", help="only list the kernels of the file with their signatures")


def listed(files: Sequence[str], options: Namespace, rules: Sequence[Architecture] | None) -> int:
    """The kernels of files, one a line. `options` has those of the compiler: `define`, `include` and `std`."""
    entries = list[dict[str, object]]()
    for file in files:
        found = [*names_in(file, options, rules)[1].values()]  # compilers write the last kernel of a source first
        entries += map(entry, found if file.endswith(".py") else reversed(found))
    if options.json:
        from banksim.report.json import document

        print(document("kernel-list", file=" ".join(files), kernels=entries))
    for one in () if options.json else entries:
        print(one["signature"])
    return 0


def entry(kernel: Any) -> dict[str, object]:
    """A kernel of whatever language as plain data."""
    language = language_of(kernel)
    if language is not None:
        name, words = language.title(kernel)
        return {"kernel": name, "signature": f"{name}({', '.join(words)})", "parameters": [*words]}
    return of_numba(kernel) if hasattr(kernel, "py_func") else of_cubin(kernel)


def of_cubin(kernel: Kernel) -> dict[str, object]:
    """A decoded kernel as plain data."""
    return {
        "kernel": kernel.plain_name,
        "signature": with_types(kernel),
        "symbol": kernel.name,
        "parameters": [one.size for one in kernel.parameters],
        "registers": kernel.registers,
        "shared": max(kernel.shared_bytes - kernel.shared_base, 0),
        "block": kernel.required_block or (kernel.preset.block if kernel.preset else None),
    }


def of_numba(function: Dispatcher) -> dict[str, object]:
    """A kernel of Numba; its arguments have types where the decorator names them."""
    name, known = function.py_func.__name__, list(getattr(function, "overloads", ()))
    words = [str(one) for one in inspect.signature(function.py_func).parameters.values()]
    given = " or ".join(f"({', '.join(map(str, types))})" for types in known)
    signature = f"{name}({', '.join(words)})" + (f" of {given}" if given else "")
    return {"kernel": name, "signature": signature, "parameters": words}
