"""Tensor maps: what a copy of tensors by descriptors (TMA) knows of a tensor in global memory, in 128 bytes.

NVIDIA does not document the bytes. The first 64 are as the driver for an H200 writes them (cuTensorMapEncodeTiled and
cuTensorMapEncodeIm2col; tests/data/hardware/tensor_copies.npz), and as ptxas does where a kernel changes a map.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from banksim.errors import InputError, UnsupportedError

BYTES = 128
AXES = 5
KINDS = ("u1", "u2", "u4", "i4", "u8", "i8", "f2", "f4", "f4", "f8", "bf16")
"""By the number of an element type in PTX: 8 is float32 whose denormals count as 0."""
FLUSHED = 8
SIZES = tuple(2 if kind == "bf16" else np.dtype(kind).itemsize for kind in KINDS)
SWIZZLES = (0, 32, 64, 128)
UNKNOWN = {1 << 22: "a swizzle of 96 bytes"}
"""Bits of the word at byte 8 whose effect is not simulated."""
INTERLEAVES, INTERLEAVE_BIT = (0, 16, 32), 11
"""Bytes of a slice of channels by the number of the interleaving, and the bit of that word from which on it stands."""
IM2COL, NANS, TF32 = 1, 1 << 15, 1 << 16
"""Others of them."""
CORNER_BITS = {1: 16, 2: 8, 3: 5}
"""Bits of each coordinate of a corner, and of each offset of an im2col copy, by how many there are."""
UNIT, MOST_IN_BOX, MOST_STEP = 16, 256, 8
"""Alignment of addresses and strides in bytes; elements of a box along an axis, its steps (cuTensorMapEncodeTiled)."""


class Im2col(NamedTuple):
    """What a map for im2col says more: the corners of the bounding box, as distances from those of the image, and how
    many pixels a copy moves."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    pixels: int


@dataclass(frozen=True)
class TensorMap:
    """A tensor and the box of it that one copy moves, the innermost axis first: `sizes` in elements, `strides` in
    bytes, of all axes but the first. Of `box[n]` elements along axis n every `steps[n]`-th is copied. In im2col mode
    the box has but the channels."""

    address: int
    kind: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]
    swizzle: int = 0
    flags: int = 0
    im2col: Im2col | None = None

    @property
    def nans(self) -> bool:
        """Whether what is out of bounds reads as NaN."""
        return bool(self.flags & NANS)

    @property
    def interleave(self) -> int:
        """Bytes of a slice of channels, which an interleaved tensor has in place of an element; 0: it has elements."""
        return INTERLEAVES[self.flags >> INTERLEAVE_BIT & 3]

    def by_bytes(self) -> TensorMap:
        """An interleaved map as a plain one of bytes, with the slices' bytes as the first axis. A copy takes one slice
        of the axis of channels, the last but one, whatever the box says."""
        slice_, (*box, _, last) = self.interleave, self.box
        return replace(
            self,
            kind=0,
            sizes=(slice_, *self.sizes),
            strides=(slice_, *self.strides),
            box=(slice_, *box, 1, last),
            steps=(1, *self.steps),
        )

    @property
    def tf32(self) -> bool:
        """Whether elements are rounded to TF32."""
        return bool(self.flags & TF32)

    def encoded(self) -> bytes:
        axes = len(self.sizes)
        out = bytearray(BYTES)
        word = axes - 1 << 4 | self.kind << 7 | SWIZZLES.index(self.swizzle) << 13 | self.flags
        struct.pack_into("<QI", out, 0, self.address, word)
        upper = 0
        for n, stride in enumerate(self.strides):
            struct.pack_into("<I", out, 0xC + 4 * n, stride // UNIT & 0xFFFFFFFF)
            upper |= stride >> 36 << 4 * n
        struct.pack_into("<I", out, 0x1C, upper)
        for n, size in enumerate(self.sizes):
            struct.pack_into("<I", out, 0x20 + 4 * n, size - 1)
        steps = sum(step - 1 << 3 * n for n, step in enumerate(self.steps))
        struct.pack_into("<I", out, 0x34, steps | self.box[0] - 1 << 24)
        if self.im2col is None:
            out[0x38 : 0x38 + axes - 1] = bytes(n - 1 for n in self.box[1:])
        else:
            corners = packed(self.im2col.lower) | packed(self.im2col.upper) << 16
            struct.pack_into("<II", out, 0x38, corners, self.im2col.pixels - 1)
            out[8] |= IM2COL
        return bytes(out)


def packed(corner: Sequence[int]) -> int:
    bits = CORNER_BITS[len(corner)]
    return sum((n & (1 << bits) - 1) << bits * at for at, n in enumerate(corner))


def unpacked(word: int, axes: int) -> tuple[int, ...]:
    bits = CORNER_BITS[axes]
    found = (word >> bits * n & (1 << bits) - 1 for n in range(axes))
    return tuple(n - (n >> bits - 1 << bits) for n in found)


def decoded(content: bytes) -> TensorMap:
    """UnsupportedError for a map of a kind that is not simulated."""
    address, word = struct.unpack_from("<QI", content)
    axes, kind = (word >> 4 & 7) + 1, word >> 7 & 15
    for bits, what in UNKNOWN.items():
        if word & bits:
            raise UnsupportedError(f"a tensor map with {what}")
    if axes > AXES or kind >= len(KINDS) or (word & IM2COL and axes - 2 not in CORNER_BITS):
        raise UnsupportedError(f"a tensor map of {f'type {kind}' if kind >= len(KINDS) else f'{axes} axes'}")
    swizzle, interleave = SWIZZLES[word >> 13 & 3], word >> INTERLEAVE_BIT & 3
    if interleave and (axes < 3 or word & IM2COL or (interleave, swizzle) not in ((1, 0), (2, 32))):
        what = "for im2col" if word & IM2COL else f"of {axes} axes with a swizzle of {swizzle} bytes"
        raise UnsupportedError(f"an interleaved tensor map {what}")
    (upper,) = struct.unpack_from("<I", content, 0x1C)
    low = struct.unpack_from(f"<{axes - 1}I", content, 0xC)
    steps, corners, pixels = struct.unpack_from("<III", content, 0x34)
    im2col = None
    if word & IM2COL:
        im2col = Im2col(unpacked(corners & 0xFFFF, axes - 2), unpacked(corners >> 16, axes - 2), pixels + 1)
    return TensorMap(
        address=address,
        kind=kind,
        sizes=tuple(n + 1 for n in struct.unpack_from(f"<{axes}I", content, 0x20)),
        strides=tuple((n | (upper >> 4 * at & 15) << 32) * UNIT for at, n in enumerate(low)),
        box=(*(n + 1 for n in content[0x37 : 0x37 + (1 if im2col else axes)]),),
        steps=tuple((steps >> 3 * n & 7) + 1 for n in range(axes)),
        swizzle=swizzle,
        flags=word & (NANS | TF32 | 3 << INTERLEAVE_BIT),
        im2col=im2col,
    )


@dataclass(frozen=True, eq=False)
class MappedArray:
    """An array given by a tensor map, as `tensor_map` makes it. In im2col mode the box has but the channels."""

    array: np.ndarray
    box: tuple[int, ...]
    swizzle: int
    steps: tuple[int, ...]
    im2col: Im2col | None = None

    def over(self, array: np.ndarray) -> MappedArray:
        """The same map of another array."""
        return replace(self, array=array)

    def at(self, address: int) -> bytes:
        """The map, where the array lies at an address."""
        array = self.array
        return TensorMap(
            address=address,
            kind=kind_of(array.dtype),
            sizes=array.shape[::-1],
            strides=array.strides[-2::-1],
            box=self.box[::-1],
            steps=self.steps[::-1],
            swizzle=self.swizzle,
            im2col=self.im2col,
        ).encoded()


def kind_of(dtype: np.dtype) -> int:
    name = "bf16" if dtype.name == "bfloat16" else dtype.str[1:]
    if name not in KINDS:
        raise InputError(f"tensor_map: elements of {dtype} have no type among those of tensor maps")
    return KINDS.index(name)


def tensor_map(array: object, box: Sequence[int], swizzle: int = 0, steps: Sequence[int] | None = None) -> MappedArray:
    """An array as the tensor map (CUtensorMap) that a kernel takes for it, as cuTensorMapEncodeTiled makes one.

    `box` is what one copy moves, in the order of the array's axes (the innermost last); `swizzle` 0, 32, 64 or 128
    bytes; `steps` its elements' distances. Out of bounds reads as 0. `InputError` for what no map can be made of.

    >>> import numpy as np
    >>> tensor_map(np.zeros((256, 64), np.float16), (128, 64), swizzle=128).box
    (128, 64)
    """
    array = np.asarray(array)
    box, steps = tuple(map(int, box)), tuple(map(int, steps or [1] * array.ndim))
    if not 1 <= array.ndim <= AXES:
        raise InputError(f"tensor_map: an array of {array.ndim} axes: 1 to {AXES} can be")
    kind_of(array.dtype)
    if len(box) != array.ndim or len(steps) != array.ndim:
        raise InputError(f"tensor_map: box {box} and steps {steps}: give one number for each of {array.ndim} axes")
    if not all(1 <= n <= MOST_IN_BOX for n in box) or not all(1 <= n <= MOST_STEP for n in steps):
        raise InputError(f"tensor_map: box {box}, steps {steps}: 1 to {MOST_IN_BOX} and 1 to {MOST_STEP} can be")
    if swizzle not in SWIZZLES:
        raise InputError(f"tensor_map: swizzle {swizzle}: give 0, 32, 64 or 128")
    row = box[-1] * array.itemsize
    if row % UNIT or (swizzle and row > swizzle):
        most = f" and at most {swizzle}" if swizzle else ""
        raise InputError(f"tensor_map: rows of {row} bytes: they must be multiples of {UNIT}{most}")
    if array.strides[-1] != array.itemsize or any(n % UNIT or n <= 0 for n in array.strides[:-1]) or not array.size:
        raise InputError(f"tensor_map: strides {array.strides}: rows must be dense, and {UNIT} bytes divide all others")
    if array.ctypes.data % UNIT and math.prod(array.shape):
        raise InputError(f"tensor_map: the array begins at no multiple of {UNIT} bytes")
    return MappedArray(array, box, swizzle, steps)
