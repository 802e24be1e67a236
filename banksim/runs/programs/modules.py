"""A module that a program loaded: its kernels, and its variables in the program's memory."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from banksim.architectures.code_layout import machine
from banksim.errors import InputError, UnsupportedError
from banksim.kernels import fat_binary
from banksim.kernels.compilers import assemble
from banksim.kernels.cubin import CONSTANT, GLOBAL, GLOBAL_INIT, constant_symbols, decode, entry_names
from banksim.kernels.elf import OBJECT, Elf, is_cubin
from banksim.kernels.kernel import Kernel
from banksim.machine.addresses import PROGRAM
from banksim.machine.launch import Launch
from banksim.runs.programs import device

CONSTANT_BANK = 3
"""The constant bank of a module's own variables."""
NO_VARIABLES = 0
"""The slot of modules without variables: nothing lies there."""
VARIABLES = (GLOBAL_INIT, CONSTANT, GLOBAL)


class Module:
    """`slot`: the number of the buffer with its variables."""

    def __init__(self, image: bytes, arch: str, file: str) -> None:
        self.file, self.slot = file, NO_VARIABLES
        self.cubin = cubin_of(image, arch, file)
        self.elf = Elf(self.cubin)
        self.names = entry_names(self.cubin)
        self.data: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)

    @cached_property
    def kernels(self) -> Mapping[str, Kernel]:
        """Decoded when the first is launched; where the variables lie is part of the code."""
        return decode(self.cubin, self.file, self.slot)

    def kernel(self, name: str) -> Kernel:
        if name not in self.names:
            raise KeyError(name)
        return self.kernels[name]

    @property
    def has_variables(self) -> bool:
        return any(name in self.elf.sections and self.elf.sections[name].size for name in VARIABLES)

    def layout(self) -> tuple[int, dict[str, tuple[int, int]]]:
        """The bytes of all variables, and of each by its name where it lies and its bytes."""
        if not self.has_variables or not self.names:
            return 0, {}
        one = decode(self.cubin, self.file, NO_VARIABLES)[self.names[0]]
        sizes = {symbol.name: symbol.size for symbol in self.elf.symbols if symbol.kind == OBJECT}
        places = dict(one.symbols)
        if CONSTANT in self.elf.sections:
            start = first_constant(one)
            places |= {name: start + at for name, at in constant_symbols(self.cubin).items()}
        return max(one.globals_bytes, len(one.globals)), {n: (at, sizes[n]) for n, at in places.items()}

    def place(self, slot: int, data: npt.NDArray[np.uint8]) -> None:
        """Let the variables lie in a buffer of the program's memory, as they start out."""
        self.slot, self.data = slot, data
        one = self.kernels[self.names[0]]
        data[: len(one.globals)] = np.frombuffer(one.globals, np.uint8)

    def into(self, launch: Launch) -> None:
        """Let a launch find the variables in constant memory as they are now."""
        if CONSTANT in self.elf.sections and self.data.size:
            start, size = first_constant(launch.kernel), self.elf.sections[CONSTANT].size
            launch.constants[CONSTANT_BANK][:size] = self.data[start : start + size]

    def described(self, kernel: Kernel) -> str:
        """What the stand-in reads of a kernel (modules.c)."""
        constant = self.elf.sections[CONSTANT].size if CONSTANT in self.elf.sections else 0
        threads = min(kernel.max_threads, device.threads_per_block(kernel.registers))
        shared = max(kernel.shared_bytes - kernel.shared_base, 0)
        numbers = [kernel.registers, shared, kernel.local_bytes, constant, threads, len(kernel.parameters)]
        numbers += [number for one in kernel.parameters for number in (one.offset, one.size)]
        return " ".join(map(str, numbers))


def first_constant(kernel: Kernel) -> int:
    """Where constant memory begins among the module's variables."""
    place = machine(kernel.arch).places["variables"]
    start = int.from_bytes(kernel.banks[0][place : place + 8], "little")
    return start - PROGRAM.address_of(kernel.slot or 0)


def cubin_of(image: bytes, arch: str, file: str) -> bytes:
    """The cubin that a GPU of this architecture would run of a fat binary, a cubin or PTX. InputError for none."""
    if is_cubin(image):
        return image
    if image[:4] != fat_binary.MAGIC:
        return assemble(image, arch, name=file)
    found = fat_binary.entries(image)
    taken = fat_binary.chosen(found, int(arch.removeprefix("sm_").rstrip("af")))
    if not taken:
        raise InputError(f"{file}: nothing in it runs on {arch}: it holds {fat_binary.listed(found)}; choose by --arch")
    if len(taken) > 1:
        raise UnsupportedError(f"{file}: a module of {len(taken)} fat binaries at once")
    content = taken[0].content()
    return content if taken[0].kind == fat_binary.CUBIN else assemble(content, arch, name=f"PTX of {file}")
