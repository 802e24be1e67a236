"""Kernels by name, from a file: CUDA C++, PTX, cubin."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from banksim.errors import BanksimError, InputError
from banksim.sass import names
from banksim.sass.cubin import decode
from banksim.sass.program import Kernel

SOURCES = (".cu", ".cuh", ".cpp", ".cxx", ".cc")

Instantiate = Callable[[str], Mapping[str, Kernel]]
"""A kernel template as in C++ → the kernels of the source with it instantiated."""


class Module(Mapping[str, Kernel]):
    """The kernels of a file by their mangled names.

    `module[name]` also takes a plain name, with namespaces or without (`transpose`), one with template
    arguments (`ns::copy<float, 32>`: what the source does not instantiate is compiled then), and one with the
    types of the arguments (`add(float*, int)`).
    """

    def __init__(
        self, kernels: Mapping[str, Kernel], file: str, instantiate: Instantiate | None = None
    ) -> None:
        self.file = file
        self._kernels, self._instantiate = kernels, instantiate
        self._instances: dict[str, Kernel] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __repr__(self) -> str:
        return f"<{self.file}: {', '.join(map(names.plain_name, self))}>"

    def __getitem__(self, name: str) -> Kernel:
        if name in self._kernels:
            return self._kernels[name]
        if name in self._instances:
            return self._instances[name]
        found = matching(name, self)
        if not found and self._instantiate and "<" in name:
            self._instances[name] = self._instance(name)
            return self._instances[name]
        if len(found) != 1:
            raise InputError(f"{self.file} has {unfound(name, found, list(self))}")
        return self._kernels[found[0]]

    def _instance(self, name: str) -> Kernel:
        assert self._instantiate is not None
        try:
            kernels = self._instantiate(name)
        except BanksimError as error:
            raise type(error)(f"{self.file} has no kernel {name!r}, and making it failed: {error}") from None
        template = "::" + name.partition("<")[0].strip()
        of_template = [n for n in kernels if f"::{names.template_name(n)}".endswith(template)]
        found = matching(name, kernels) or [n for n in of_template if n not in self._kernels] or of_template
        if len(found) != 1:
            raise InputError(f"{self.file} has {unfound(name, found, list(kernels))}")
        return kernels[found[0]]


def matching(name: str, symbols: Mapping[str, Kernel]) -> list[str]:
    """The symbols that `name` may mean: those that it tells most about."""
    wanted = names.normalised(name)
    for form in (names.signature, names.plain_name, names.template_name, names.unqualified, names.last_part):
        found = [symbol for symbol in symbols if names.normalised(form(symbol)) == wanted]
        if found:
            return found
    return []


def unfound(name: str, found: Sequence[str], symbols: Sequence[str]) -> str:
    """The end of a message: no kernel of that name, or more than one."""
    if found:
        return f"{len(found)} kernels {name!r}: choose {' or '.join(map(names.signature, found))}"
    if not symbols:
        return f"no kernel {name!r}: it has none but templates that nothing instantiates"
    known = sorted(map(names.plain_name, symbols))
    near = difflib.get_close_matches(name, known, 4, 0.5) or known[:8]
    more = "" if len(near) == len(known) else f" (and {len(known) - len(near)} more)"
    return f"no kernel {name!r}: it has {', '.join(near)}{more}"


def load(
    path: str | Path,
    arch: str = "sm_90",
    *,
    defines: Sequence[str] = (),
    includes: Sequence[str | Path] = (),
    std: str | None = None,
) -> Module:
    """The kernels of a CUDA C++, PTX or cubin file; what has to be compiled is, for `arch`.

    `defines`, `includes` and `std` are for CUDA C++ (see `banksim.compilers.compile_cuda`). Raises InputError
    for a file that cannot be read, CompileError with the compiler's message.
    """
    from banksim.compilers import assemble, compile_cuda

    file = Path(path)
    try:
        if file.suffix in SOURCES:

            def compiled(*instances: str) -> Mapping[str, Kernel]:
                return decode(compile_cuda(file, arch, defines, includes, std, instances=instances))

            return Module(compiled(), str(path), compiled)
        if file.suffix == ".ptx":
            kernels = decode(assemble(file.read_bytes(), arch, name=str(path)), ptx=str(path))
        elif file.suffix == ".cubin":
            kernels = decode(file.read_bytes())
        else:
            raise InputError("not a file with kernels; give CUDA C++ (.cu), .ptx or .cubin")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except InputError as error:
        raise InputError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None
    if not kernels:
        raise InputError(f"{path}: no kernel is in it")
    return Module(kernels, str(path))
