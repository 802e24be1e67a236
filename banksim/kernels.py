"""Kernels by name, from a file: CUDA C++, PTX, cubin."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path

from banksim.errors import InputError
from banksim.sass.cubin import decode
from banksim.sass.program import Kernel


class Module(Mapping[str, Kernel]):
    """The kernels of a file by their mangled names; looked up by plain and mangled name."""

    def __init__(self, kernels: Mapping[str, Kernel], file: str) -> None:
        self.kernels, self.file = dict(kernels), file

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)

    def __getitem__(self, name: str) -> Kernel:
        if name in self.kernels:
            return self.kernels[name]
        found = [kernel for kernel in self.kernels.values() if kernel.plain_name == name]
        if len(found) == 1:
            return found[0]
        names = [kernel.plain_name for kernel in self.kernels.values()]
        near = difflib.get_close_matches(name, names, 5, 0.4) or names
        raise InputError(f"{self.file} has no kernel {name!r}: it has {', '.join(near)}")


def load(path: str | Path, arch: str = "sm_90") -> Module:
    """The kernels of a .cu, .ptx or .cubin file, compiled for `arch` where they have to be."""
    from banksim.compilers import assemble, compile_cuda

    file = Path(path)
    try:
        if file.suffix == ".cubin":
            cubin = file.read_bytes()
        elif file.suffix == ".ptx":
            cubin = assemble(file.read_bytes(), arch)
        elif file.suffix in (".cu", ".cpp", ".cxx", ".cc"):
            cubin = compile_cuda(file, arch)
        else:
            raise InputError(f"{file}: not a kind of file that holds kernels (.cu, .ptx, .cubin)")
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from None
    return Module(decode(cubin), str(file))
