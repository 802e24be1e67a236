"""What a texture is read as, one lane after the other, by the formulas of the CUDA Programming Guide ("Texture
Fetching"), and the bytes of a descriptor that says how."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from banksim.kernels.global_addresses import ARGUMENTS

WRAP, CLAMP, MIRROR, BORDER = range(4)
KINDS = {"u": 0, "i": 1, "f": 2}


def shares_of(weights: list[int]) -> dict[tuple[int, ...], int]:
    """Shares in 256ths, by the steps along each axis: planes share first, then columns, then rows, each rounded."""
    a, b, c = weights
    found = {}
    for z, plane in enumerate((256 - c, c)):
        right = (a * plane + 128) // 256
        for x, column in enumerate((plane - right, right)):
            found[x, 1, z] = (column * b + 127 + x) // 256
            found[x, 0, z] = column - found[x, 1, z]
    return found


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

    @property
    def greatest(self) -> int:
        return int(np.iinfo(self.data.dtype).max)

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
            n = place[axis]
            if self.modes[axis] == BORDER and not 0 <= n < size:
                return self.border[:channels]
            index[axis] = min(max(n, 0), size - 1)
            if self.normalized and self.modes[axis] == WRAP:
                index[axis] = n % size
            if self.normalized and self.modes[axis] == MIRROR:
                index[axis] = min(n % (2 * size), 2 * size - 1 - n % (2 * size))
        if self.layered:
            index[2] = min(layer, layers - 1)
        found = self.data[index[2], index[1], index[0]]
        return [float(v) for v in found] if self.data.dtype.kind == "f" else [int(v) for v in found]

    def scaled(self, v: np.float32, axis: int) -> float:
        size = np.float32(self.data.shape[2 - axis])
        there = math.floor(float(v) * (1 << 21)) / (1 << 21) * float(size) if self.normalized else float(v)
        clamped = self.linear and self.modes[axis] == CLAMP
        return min(max(there, 0.5), float(size) - 0.5) if clamped else there

    def read(self, coordinates: list[np.float32], layer: int = 0) -> list[float]:
        """The four channels that are read."""
        at = [self.scaled(v, axis) for axis, v in enumerate(coordinates[: self.axes])]
        if self.axes == 1 and not self.layered:  # one row of two axes
            at.append(self.scaled(np.float32(0), 1))
        if not self.linear:
            v = self.element([math.floor(c) for c in at], layer)
        else:
            lowest, weights = zip(*(divmod(math.floor((c - 0.5) * 256 + 0.5), 256) for c in at), strict=True)
            shares = shares_of([*weights, 0, 0][:3])
            v = [0.0] * self.data.shape[3]
            for plane in (0, 1)[: 1 + (len(at) == 3)]:
                found, own = [], []
                for steps in itertools.product((0, 1), repeat=min(len(at), 2)):
                    own.append(shares[(*(*steps, 0, 0)[:2], plane)])
                    place = [n + step for n, step in zip(lowest, (*steps, plane), strict=False)]
                    found.append(self.element(place, layer))
                v = [total + self.added(one, own) for total, one in zip(v, zip(*found, strict=True), strict=True)]
            v = [self.filtered(one) for one in v]
        return self.result(v)

    def added(self, values: Sequence[float], shares: list[int]) -> float:
        """The weighted sum of one plane: floats are cut four binary digits behind the last of the largest."""
        if self.data.dtype.kind == "f":
            largest = max((math.frexp(v)[1] for v, share in zip(values, shares, strict=True) if v and share), default=0)
            unit = 2.0 ** (largest - self.digits - 4)
            values = [math.trunc(v / unit) * unit for v in values]
        return sum(v * share / 256 for v, share in zip(values, shares, strict=True))

    @property
    def digits(self) -> int:
        return 11 if self.data.dtype == np.float16 else 24

    def filtered(self, v: float) -> float:
        """A weighted sum as it is kept: in 16 bits, or as a half or float32, of two that farther from zero."""
        if self.as_float:
            units = 32767 if self.data.dtype.kind == "i" else 65535
            fraction = math.floor(v * units / self.greatest + 0.5)
            if self.data.dtype == np.int8:
                steps = round(v * 256)
                fraction = steps + ((steps >> 4) * 257 + 1024 >> 11)
            return max(fraction, -units) * self.greatest / units
        if self.data.dtype.kind != "f":
            return v
        part, exponent = math.frexp(v)
        whole = math.floor(abs(part) * 2**self.digits + 0.5)
        return math.copysign(whole * 2.0 ** (exponent - self.digits), v)

    def clipped(self, v: float) -> float:
        return max(v, -self.greatest) if self.as_float else v

    def result(self, channels: list[float]) -> list[float]:
        """The four channels, with what stands for those that the element lacks."""
        if self.as_float:
            channels = [self.clipped(v) / self.greatest for v in channels]
        return [*channels, *([0, 0, 0, 0][len(channels) :])]

    def gathered(self, coordinates: list[np.float32], channel: int) -> list[float]:
        x, y = (math.floor(self.scaled(v, axis) - 0.5) for axis, v in enumerate(coordinates[:2]))
        corners = ((x, y + 1), (x + 1, y + 1), (x + 1, y), (x, y))
        return [self.result(self.element(list(corner), 0))[channel] for corner in corners]
