"""A texture with the bytes of a descriptor that says how it is read; and what is read of it, one lane after the other,
where nothing is normalized or filtered: "Texture Fetching" of the CUDA Programming Guide."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from banksim.kernels.global_addresses import ARGUMENTS

WRAP, CLAMP, MIRROR, BORDER = range(4)
KINDS = {"u": 0, "i": 1, "f": 2}


@dataclass
class Texture:
    """`data`: (layers or depth, rows, columns, channels). `axes`: how many coordinates there are beside the layer."""

    data: npt.NDArray[Any]
    axes: int
    layered: bool = False
    normalized: bool = False
    linear: bool = False
    as_float: bool = False
    modes: tuple[int, int, int] = (CLAMP, CLAMP, CLAMP)
    border: list[float] = field(default_factory=lambda: [0.0] * 4)

    def descriptor(self, buffer: int) -> npt.NDArray[np.uint32]:
        """The descriptor for the elements in argument `buffer` of a launch."""
        layers, rows, columns, channels = self.data.shape
        kind, size = KINDS[self.data.dtype.kind], self.data.itemsize
        how = size | channels << 4 | kind << 8 | self.axes << 10 | self.layered << 12 | self.normalized << 13
        how |= self.linear << 14 | self.as_float << 15
        how |= sum(mode << 16 + 2 * n for n, mode in enumerate(self.modes))
        address, pitch = ARGUMENTS.address_of(buffer), columns * channels * size
        words = [address & 0xFFFFFFFF, address >> 32, columns, rows, layers, pitch, pitch * rows, how]
        if self.data.dtype.kind == "f":
            colour = np.array(self.border, np.float32).view(np.uint32)
        else:
            colour = np.array(self.border, np.int64).astype(np.uint32)
        return np.array([*words, *colour], np.uint32)

    def element(self, place: list[int], layer: int) -> list[float]:
        """The channels of an element as they are stored."""
        layers, rows, columns, channels = self.data.shape
        index = [0, 0, 0]
        for axis, size in enumerate((columns, rows, layers)[: len(place)]):
            if self.modes[axis] == BORDER and not 0 <= place[axis] < size:
                return self.border[:channels]
            index[axis] = min(max(place[axis], 0), size - 1)
        if self.layered:
            index[2] = min(layer, layers - 1)
        found = self.data[index[2], index[1], index[0]]
        return [float(v) for v in found] if self.data.dtype.kind == "f" else [int(v) for v in found]

    def read(self, coordinates: list[np.float32], layer: int = 0) -> list[float]:
        """The four channels that are read."""
        return self.result(self.element([math.floor(v) for v in coordinates], layer))

    def result(self, channels: list[float]) -> list[float]:
        """The four channels, with what stands for those that the element lacks."""
        if self.as_float:
            greatest = int(np.iinfo(self.data.dtype).max)
            channels = [max(v, -greatest) / greatest for v in channels]
        return [*channels, *([0, 0, 0, 0][len(channels) :])]

    def gathered(self, coordinates: list[np.float32], channel: int) -> list[float]:
        x, y = (math.floor(v - np.float32(0.5)) for v in coordinates)
        corners = ((x, y + 1), (x + 1, y + 1), (x + 1, y), (x, y))
        return [self.result(self.element(list(corner), 0))[channel] for corner in corners]
