"""A module that a program loaded: its kernels, and its variables in the program's memory."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from banksim.errors import InputError
from banksim.kernels import fat_binary
from banksim.kernels.address_space import CONSTANT, places_of_variables
from banksim.kernels.compilers import assemble
from banksim.kernels.compilers.ptx import link
from banksim.kernels.cubin import decode
from banksim.kernels.elf import OBJECT, Elf, is_cubin
from banksim.kernels.kernel import Kernel
from banksim.machine.launch import Launch
from banksim.runs.programs import device
from banksim.runs.programs.repeated_launches import instructions

CONSTANT_BANK = 3
"""The constant bank of a module's own variables."""
NO_VARIABLES = 0
"""The slot of modules without variables: nothing lies there."""


class LoadedModule:
    """`slot`: the number of the buffer with its variables."""

    def __init__(self, image: bytes, arch: str, file: str) -> None:
        self.file, self.slot = file, NO_VARIABLES
        self.cubin = cubin_of(image, arch, file)
        self.elf = Elf(self.cubin)
        if self.elf.relocatable:
            self.cubin = link([self.cubin], self.elf.arch)
            self.elf = Elf(self.cubin)
        self.names = self.elf.entries
        self.places, self.size = places_of_variables(self.elf)
        self.data: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)

    @cached_property
    def kernels(self) -> Mapping[str, Kernel]:
        """The kernels, decoded when the first of them is launched. The address of the variables is part of the code."""
        return decode(self.cubin, fat_binary.PTX_OF + self.file, self.slot)

    def kernel(self, name: str) -> Kernel:
        if name not in self.names:
            raise KeyError(name)
        return self.kernels[name]

    def parameter_bytes(self, number: int) -> int:
        """Of a kernel by its number, as kernels name others that they launch."""
        return max((one.offset + one.size for one in self.kernel(self.names[number - 1]).parameters), default=0)

    @property
    def variables(self) -> Iterator[tuple[str, int, int]]:
        """The name, the offset and the size of each variable."""
        for symbol in self.elf.symbols:
            if symbol.kind == OBJECT and symbol.section in self.places:
                yield symbol.name, self.places[symbol.section] + symbol.value, symbol.size

    def place(self, slot: int, data: npt.NDArray[np.uint8]) -> None:
        """Place the variables in a buffer of the program's memory, with their initial values."""
        self.slot, self.data = slot, data
        data[:] = 0
        if self.names:
            one = self.kernels[self.names[0]]
            data[: len(one.globals)] = np.frombuffer(one.globals, np.uint8)

    def into(self, launch: Launch) -> None:
        """Copy the variables in constant memory, as they are now, to a launch."""
        if CONSTANT in self.places and self.data.size:
            start, size = self.places[CONSTANT], self.elf.sections[CONSTANT].size
            launch.constants[CONSTANT_BANK][:size] = self.data[start : start + size]

    def described(self, kernel: Kernel) -> str:
        """What the stand-in (modules.c) reads about a kernel."""
        constant = self.elf.sections[CONSTANT].size if CONSTANT in self.elf.sections else 0
        threads = min(kernel.max_threads, device.threads_per_block(kernel.registers))
        shared = max(kernel.shared_bytes - kernel.shared_base, 0)
        numbers = [kernel.registers, shared, kernel.local_bytes, constant, threads, kernel.max_threads]
        numbers += any(i.name == "SERVICE" for i in instructions(kernel)), *(kernel.required_cluster or (0, 0, 0))
        numbers.append(len(kernel.parameters))
        numbers += [number for one in kernel.parameters for number in (one.offset, one.size)]
        return " ".join(str(int(number)) for number in numbers)


def cubin_of(image: bytes, arch: str, file: str) -> bytes:
    """The cubin for a GPU of this architecture out of a fat binary, a cubin or PTX. InputError if there is none."""
    if is_cubin(image):
        return image
    if image[:4] != fat_binary.MAGIC:
        return assemble(image, arch, name=file)
    taken = taken_from(image, arch, file)
    if len(taken) == 1 and taken[0].kind != fat_binary.CUBIN:
        return assemble(taken[0].content(), arch, name=fat_binary.PTX_OF + file)
    return linked(parts_of(image, arch, file), arch)


def parts_of(image: bytes, arch: str, file: str) -> list[bytes]:
    """What is to be linked of a cubin, PTX, or what holds these: a fat binary, an object or a library."""
    if is_cubin(image):
        return [image]
    if fat_binary.MAGIC not in image:
        return [assemble(image, arch, ["-c"], file)]
    return [relocatable(one, arch, fat_binary.PTX_OF + file) for one in taken_from(image, arch, file)]


def linked(parts: Sequence[bytes], arch: str) -> bytes:
    """The cubin that linking makes of cubins."""
    return parts[0] if len(parts) == 1 and not Elf(parts[0]).relocatable else link(parts, arch)


def taken_from(image: bytes, arch: str, file: str) -> list[fat_binary.FatBinaryEntry]:
    """What a GPU of this architecture would take from what holds fat binaries. InputError where that is nothing."""
    found = fat_binary.entries(image)
    taken = fat_binary.chosen(found, int(arch.removeprefix("sm_").rstrip("af")))
    if not taken:
        raise InputError(f"{file}: nothing in it runs on {arch}: it holds {fat_binary.listed(found)}; choose by --arch")
    return taken


def relocatable(entry: fat_binary.FatBinaryEntry, arch: str, name: str) -> bytes:
    """One of several parts of a module, which are linked when it is loaded."""
    return entry.content() if entry.kind == fat_binary.CUBIN else assemble(entry.content(), arch, ["-c"], name)
