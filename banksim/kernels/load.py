"""Kernels by name, from a file: CUDA C++, PTX, cubin, and whatever holds cubins or PTX."""

import difflib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from banksim.architectures.gpus import architecture_of
from banksim.errors import BanksimError, InputError
from banksim.kernels import demangling, fat_binary
from banksim.kernels.cubin import decode, entry_names
from banksim.kernels.elf import is_cubin
from banksim.kernels.kernel import Kernel
from banksim.system.reported import Shown
from banksim.system.visible import one_line

SOURCES = (".cu", ".cuh", ".cpp", ".cxx", ".cc")

MOST_NAMES = 8
"""So many kernels are named where there is little room."""
Instantiate = Callable[[str], Mapping[str, Kernel]]
"""A kernel template as in C++ → the kernels of the source with it instantiated."""


class Module(Shown, Mapping[str, Kernel]):
    """The kernels of a file by their mangled names.

    `module[name]` also takes a plain name, with namespaces or without (`transpose`), one with template
    arguments (`ns::copy<float, 32>`: what the source does not instantiate is compiled then), and one with the
    types of the arguments (`add(float*, int)`).
    """

    def __init__(
        self,
        kernels: Mapping[str, Kernel],
        file: str,
        instantiate: Instantiate | None = None,
        again: Callable[[str, str], Kernel] | None = None,
        declared: Callable[[str], tuple[str | None, ...]] = lambda name: (),
    ) -> None:
        """`again` compiles the kernel of a name for an architecture, `declared` tells the types of the parameters of
        one whose name is not mangled."""
        self.file = file
        self._kernels, self._instantiate, self._again = kernels, instantiate, again
        self._declared = declared
        self._instances: dict[str, Kernel] = {}
        self._ready: dict[str, Kernel] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __repr__(self) -> str:
        names = [demangling.plain_name(name) for name in self]
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        return f"<{self.file}: {', '.join(names[:MOST_NAMES])}{more}>"

    def __getitem__(self, name: str) -> Kernel:
        if not isinstance(name, str):
            raise InputError(f"{name!r} is no name of a kernel")
        kernel = self._found(name)
        if kernel.name not in self._ready:  # one of its own, whose variables can be filled
            again = partial(self._again, name) if self._again else None
            declared = () if kernel.name.startswith("_Z") else self._declared(kernel.name)
            self._ready[kernel.name] = replace(kernel, for_arch=again, declared=declared)
        return self._ready[kernel.name]

    def _found(self, name: str) -> Kernel:
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
        of_template = [n for n in kernels if f"::{demangling.template_name(n)}".endswith(template)]
        found = matching(name, kernels) or [n for n in of_template if n not in self._kernels] or of_template
        if len(found) != 1:
            raise InputError(f"{self.file} has {unfound(name, found, list(kernels))}")
        return kernels[found[0]]


def matching(name: str, symbols: Mapping[str, Kernel]) -> list[str]:
    """The symbols that `name` may mean: those that it tells most about."""
    wanted = demangling.normalised(name)
    for form in (
        demangling.signature,
        demangling.plain_name,
        demangling.template_name,
        demangling.unqualified,
        demangling.last_part,
    ):
        found = [symbol for symbol in symbols if demangling.normalised(form(symbol)) == wanted]
        if found:
            return found
    return []


def unfound(name: str, found: Sequence[str], symbols: Sequence[str]) -> str:
    """The end of a message: no kernel of that name, or more than one."""
    if found:
        return f"{len(found)} kernels {name!r}: choose {' or '.join(map(demangling.signature, found))}"
    if not symbols:
        return f"no kernel {name!r}: it has none but templates that nothing instantiates"
    known = sorted(map(demangling.plain_name, symbols))
    near = difflib.get_close_matches(name, known, 4, 0.5) or known[:8]
    more = "" if len(near) == len(known) else f" (and {len(known) - len(near)} more)"
    return f"no kernel {name!r}: it has {', '.join(near)}{more}"


class SeveralCubins(Mapping[str, Kernel]):
    """The kernels of several cubins, each decoded when one of its own is asked for."""

    def __init__(self, cubins: Sequence[bytes], file: str = "kernel.ptx") -> None:
        """`file`: the PTX that they were assembled from."""
        self._file = file
        self._cubins = {name: cubin for cubin in reversed(cubins) for name in entry_names(cubin)}

    def __iter__(self) -> Iterator[str]:
        return iter(self._cubins)

    def __len__(self) -> int:
        return len(self._cubins)

    def __contains__(self, name: object) -> bool:
        return name in self._cubins

    def __getitem__(self, name: str) -> Kernel:
        return decode(self._cubins[name], ptx=self._file)[name]


def load(
    path: str | Path,
    arch: str = "sm_90",
    *,
    defines: Sequence[str] = (),
    includes: Sequence[str | Path] = (),
    std: str | None = None,
) -> Module:
    """The kernels of a CUDA C++, PTX or cubin file, or of what nvcc made of one (.fatbin, .o, .so, an executable).

    What has to be compiled is, for `arch`, and of several cubins that for `arch` is taken. Beside a cubin or PTX of
    Triton its metadata are heeded. `defines`, `includes` and `std` are for CUDA C++ (see
    `banksim.kernels.compilers.compile_cuda`). Raises InputError for a file that cannot be read, CompileError with the
    compiler's message.

    >>> kernels = load("transpose.cu")  # __global__ void transpose(float *out, const float *in)
    >>> kernels["transpose"].plain_name
    'transpose'
    """
    from banksim.kernels.compilers import assemble, compile_cuda
    from banksim.kernels.compilers.included import read_all
    from banksim.kernels.declared import parameter_types
    from banksim.kernels.triton import preset

    if not isinstance(path, str | os.PathLike):
        raise InputError(f"{path!r} is no path of a file")
    arch = architecture_of(arch) or arch
    file = Path(path)
    again = partial(recompiled, path, {"defines": defines, "includes": includes, "std": std})
    try:
        if file.suffix in SOURCES:

            def compiled(*instances: str) -> Mapping[str, Kernel]:
                return SeveralCubins([compile_cuda(file, arch, defines, includes, std, instances=instances)])

            def declared(name: str) -> tuple[str | None, ...]:
                if not file.is_file():
                    return ()  # it was compiled, and is gone since
                found = [*read_all(file.resolve(), [Path(folder).resolve() for folder in includes])]
                if None in found:
                    return ()  # nobody knows what a header that only a preprocessor can name makes of a type's name
                texts = [text.decode(errors="replace") for text in found if text]
                return parameter_types([*texts, *(f"#define {one.partition('=')[0]}" for one in defines)], name)

            return Module(compiled(), str(path), compiled, again, declared)
        if not file.is_file():
            raise InputError("no such file" if not file.exists() else "not a file")
        content = file.read_bytes()
        if file.suffix == ".ptx":
            kernels = decode(assemble(content, arch, name=str(path)), ptx=str(path))
        elif file.suffix == ".cubin" or is_cubin(content):
            kernels = decode(content)
        else:
            kernels = of_fat_binary(content, arch, str(path))
        if prepared := preset(file):
            kernels = {name: replace(kernel, preset=prepared) for name, kernel in kernels.items()}
    except OSError as error:
        raise InputError(f"{one_line(path)}: {error.strerror or error}") from None
    except InputError as error:
        raise InputError(f"{one_line(path)}: {str(error).removeprefix(f'{path}: ')}") from None
    if not kernels:
        raise InputError(f"{one_line(path)}: no kernel is in it")
    one_code = file.suffix == ".cubin" or (file.suffix != ".ptx" and is_cubin(content))
    return Module(kernels, str(path), again=None if one_code else again)


def recompiled(path: str | Path, options: Mapping[str, Any], name: str, arch: str) -> Kernel:
    """A kernel of a file, compiled for an architecture."""
    return load(path, arch, **options)[name]


def of_fat_binary(content: bytes, arch: str, name: str) -> Mapping[str, Kernel]:
    """The kernels of a file that holds cubins and PTX, those that a GPU of `arch` would run. InputError for none."""
    from banksim.kernels.compilers import assemble

    found = fat_binary.entries(content)
    if not found:
        what = "CUDA C++ (.cu), .ptx, .cubin, or a file that nvcc made of them (.fatbin, .o, .so, an executable)"
        raise InputError(f"no kernels are in it; give {what}")
    taken = fat_binary.chosen(found, int(arch.removeprefix("sm_").rstrip("af")))
    if not taken:
        raise InputError(f"nothing in it runs on {arch}: it holds {fat_binary.listed(found)}; choose by --arch")
    cubins = [
        entry.content() if entry.kind == fat_binary.CUBIN else assemble(entry.content(), arch, name=name)
        for entry in taken
    ]
    return SeveralCubins(cubins, fat_binary.PTX_OF + name)
