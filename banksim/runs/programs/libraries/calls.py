"""A call of a library as it comes from the program: names, words of 64 bits, and the memory that they point into."""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from banksim.errors import InputError
from banksim.kernels.global_addresses import PROGRAM
from banksim.machine.launch import Buffer

Array = npt.NDArray[Any]


class Memory:
    """The memory of a program's process, as the function that `what` names sees it."""

    def __init__(self, buffers: Sequence[Buffer], what: str) -> None:
        self.buffers, self.what = buffers, what
        self.used = set[int]()
        """The numbers of the buffers that the call's values lie in."""

    def array(self, address: int, count: int, dtype: npt.DTypeLike) -> Array:
        """The values from an address on. InputError if they do not lie within one allocation of the device."""
        kind = np.dtype(dtype)
        if count <= 0:
            return np.zeros(0, kind)
        size = count * kind.itemsize
        slot, byte = PROGRAM.place_of(address)
        if slot >= len(self.buffers) or not self.buffers[slot].data.size:
            raise InputError(f"{self.what}: {address:#x} is no address of the device's memory")
        buffer = self.buffers[slot]
        if byte + size > len(buffer.data):
            place = f"byte {byte} of {buffer.name} ({len(buffer.data)} bytes)"
            raise InputError(f"{self.what}: {size} bytes at {place} are not all in it")
        self.used.add(slot)
        return buffer.data[byte : byte + size].view(kind)

    def vector(self, address: int, count: int, step: int, dtype: npt.DTypeLike) -> Array:
        """`count` values that lie `step` apart. With a step below zero they begin at the last place, as in BLAS; with a
        step of zero all are the first."""
        if count <= 0 or step == 0:
            return np.repeat(self.array(address, min(count, 1), dtype), max(count, 0))
        values = self.array(address, (count - 1) * abs(step) + 1, dtype)
        return values[::step]

    def matrix(self, address: int, rows: int, columns: int, leading: int, dtype: npt.DTypeLike) -> Array:
        """A matrix that is stored by columns, which begin `leading` values apart."""
        if rows < 0 or columns < 0:
            raise InputError(f"{self.what}: a matrix of {rows} by {columns}")
        if not rows or not columns:
            return np.zeros((rows, columns), dtype)
        if leading < rows:
            raise InputError(f"{self.what}: a leading dimension of {leading} for {rows} rows")
        values = self.array(address, (columns - 1) * leading + rows, dtype)
        size = values.itemsize
        return np.lib.stride_tricks.as_strided(values, (rows, columns), (size, leading * size))


def read(content: bytes) -> tuple[str, str, tuple[int, ...]]:
    """The library, the function, and the words of a call."""
    library, name, words = content.split(b"\0", 2)
    return library.decode(), name.decode(), struct.unpack(f"<{len(words) // 8}q", words)


def of_bits(word: int, dtype: npt.DTypeLike) -> object:
    """The value whose bits are the lowest of a word."""
    return np.frombuffer(struct.pack("<q", word), dtype)[0]
