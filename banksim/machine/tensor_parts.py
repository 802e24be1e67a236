"""Which part of a tensor a copy by a tensor map moves, and where it lies in shared memory: rows dense on both sides.

In tile mode the rows are those of a box. In im2col mode a row is the channels of a pixel: of those of a bounding box,
one after the other from the given one on, and then of the next image's. What of rows is out of bounds is read as 0, or
as NaN where the map says so. An interleaved tensor has slices of 16 or 32 bytes in place of elements, each a row,
whatever the type of its elements. All this is as an H200 does it (tests/data/hardware/tensor_copies.npz), and so is
what it refuses as illegal instructions.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from banksim.errors import UnsupportedError
from banksim.machine import codes, tensor_maps
from banksim.machine.driver_calls import Bytes, Host, Refusal
from banksim.machine.tensor_maps import CORNER_BITS, SIZES, Im2col, TensorMap

LINE, CHUNK = 128, 16
"""Bytes: what a swizzled copy's place in shared memory is aligned to, and what a swizzle moves."""
NAN = 0x7FF7
"""What fills every 16 bits out of bounds where NaNs are asked for."""
TF32_NAN = 0x7FFFE000


class Rows(NamedTuple):
    """Of each row of a copy where it begins along the axes but the first, and the elements of a row."""

    starts: npt.NDArray[np.int64]
    length: int


def rows_of_box(m: TensorMap, coordinates: Sequence[int]) -> Rows:
    counts = [-(-n // step) for n, step in zip(m.box[1:], m.steps[1:], strict=True)]
    steps = np.array(m.steps[1:], np.int64)
    found = np.indices(counts[::-1]).reshape(len(counts), prod(counts))[::-1].T * steps
    return Rows(found + np.array(coordinates[1 : 1 + len(counts)], np.int64), m.box[0])


def rows_of_pixels(m: TensorMap, box: Im2col, coordinates: Sequence[int], offsets: int) -> Rows:
    """The pixels of a bounding box, which `offsets`, packed, shift."""
    axes = len(box.lower)
    bits = CORNER_BITS[axes]
    shift = [offsets >> bits * n & (1 << bits) - 1 for n in range(axes)]
    ends = [size + upper for size, upper in zip(m.sizes[1:], box.upper, strict=False)]
    pixel, image = list(coordinates[1 : 1 + axes]), coordinates[1 + axes]
    found = np.zeros((box.pixels, axes + 1), np.int64)
    for row in found:
        row[:] = [*(at + by for at, by in zip(pixel, shift, strict=True)), image]
        for n, (step, end) in enumerate(zip(m.steps[1:], ends, strict=False)):
            pixel[n] += step
            if pixel[n] < end:
                break
            pixel[n] = box.lower[n]
        else:
            image += 1
    return Rows(found, m.box[0])


class Part:
    """The part of a tensor that a copy moves. Of its `count` rows those numbered `inside` are in bounds, and of these
    the bytes from `first` to `behind`, which lie in global memory `at` these addresses."""

    def __init__(
        self, host: Host, lane: int, address: int, coordinates: Sequence[int], offsets: int | None, writes: bool
    ) -> None:
        try:
            m = self.map = tensor_maps.decoded(bytes(host.find(address, tensor_maps.BYTES, lane)))
            if m.interleave:
                if writes:
                    raise UnsupportedError("a store by an interleaved tensor map")
                m, coordinates = m.by_bytes(), (0, *coordinates)
        except UnsupportedError as error:
            raise Refusal(codes.NOT_SIMULATED, lane, f"{error}, which is not simulated") from None
        self.size = SIZES[m.kind]
        legal(m, coordinates, offsets is not None, writes, lane)
        rows = rows_of_pixels(m, m.im2col, coordinates, offsets or 0) if m.im2col else rows_of_box(m, coordinates)
        self.count, self.row = len(rows.starts), rows.length * self.size
        start, end = coordinates[0] * self.size, m.sizes[0] * self.size
        self.first = min(max(-start, 0), self.row)
        self.behind = max(min(end - start, self.row), self.first)
        sizes = np.array(m.sizes[1:], np.int64)
        good = ((rows.starts >= 0) & (rows.starts < sizes)).all(1)
        self.inside = np.flatnonzero(good) if self.behind > self.first else np.zeros(0, np.int64)
        strides = np.array(m.strides, np.int64)
        self.at = m.address + start + self.first + rows.starts[self.inside] @ strides

    @property
    def nbytes(self) -> int:
        return self.count * self.row

    def memory(self, host: Host, lane: int, use: int, behind: int) -> Bytes:
        """Global memory by the bytes from which a row could begin, each with what follows it up to the row's byte
        `behind`; `self.at - self.at.min()` selects the rows."""
        width, lowest = behind - self.first, int(self.at.min())
        found = host.find(lowest, int(self.at.max()) - lowest + width, lane, use)
        return as_strided(found, (len(found) - width + 1, width), (1, 1))

    def written(self, host: Host, lane: int, use: int) -> Bytes:
        """`memory` to write to: of a row that ends within 16 bytes, all of these are written, if they are there."""
        try:
            return self.memory(host, lane, use, -(-self.behind // CHUNK) * CHUNK)
        except Refusal:
            return self.memory(host, lane, use, self.behind)

    def read(self, host: Host, lane: int) -> Bytes:
        """The rows as they come to shared memory."""
        out = np.zeros((self.count, self.row), np.uint8)
        if self.map.nans:
            out.view(np.uint16)[:] = NAN
        if len(self.inside):
            rows = self.memory(host, lane, codes.READ, self.behind)[self.at - self.at.min()]
            out[self.inside, self.first : self.behind] = to_tf32(rows) if self.map.tf32 else rows
        return out

    def places(self, host: Host, address: int, lane: int) -> tuple[Bytes, npt.NDArray[np.int64]]:
        """The shared memory of a copy, in pieces of 16 bytes, and which of them each piece of a row is. Under a swizzle
        rows are as far apart as that is wide, and it turns the pieces of each line round by the number of the line."""
        swizzle = self.map.swizzle
        if address % (LINE if swizzle else CHUNK):
            raise Refusal(codes.OUT_OF_SHARED, lane, f"a tensor copy at byte {address:#x}, not aligned")
        pitch = max(self.row, swizzle)
        memory = host.in_shared(address, self.count * pitch, lane)
        pieces = np.arange(self.count)[:, None] * (pitch // CHUNK) + np.arange(self.row // CHUNK)
        if swizzle:
            whole = pieces + (address & (1 << codes.RANK_BIT) - 1) // CHUNK
            pieces = pieces + ((whole ^ whole // (LINE // CHUNK) % (swizzle // CHUNK)) - whole)
        return memory.reshape(-1, CHUNK), pieces.ravel()


def legal(m: TensorMap, coordinates: Sequence[int], by_pixels: bool, writes: bool, lane: int) -> None:
    """Refuse what is an illegal instruction on the GPU."""
    start = coordinates[0] * SIZES[m.kind]
    what = ""
    if by_pixels != (m.im2col is not None):
        modes = ("tile", "im2col")
        what = f"a tensor copy in {modes[by_pixels]} mode by a map for {modes[not by_pixels]} mode"
    elif start % CHUNK:
        what = f"a tensor copy from byte {start} of a row on, which is no multiple of {CHUNK}"
    elif writes and min(coordinates[: len(m.sizes)]) < 0:
        what = f"a tensor copy to a negative coordinate, {min(coordinates[: len(m.sizes)])}"
    elif writes and m.im2col and (min(m.im2col.lower) < 0 or max(m.im2col.upper) > 0):
        what = "a tensor copy to pixels beyond the image"
    if what:
        raise Refusal(codes.OUT_OF_GLOBAL, lane, f"{what}: an illegal instruction on the GPU")


def to_tf32(rows: Bytes) -> Bytes:
    """float32 with 10 digits behind the first, to nearest even."""
    bits = np.ascontiguousarray(rows).view(np.uint32)
    rounded = bits + 0xFFF + (bits >> 13 & 1) & 0xFFFFE000
    nan = (bits & 0x7FFFFFFF) > 0x7F800000
    return np.where(nan, np.uint32(TF32_NAN), rounded).astype(np.uint32).view(np.uint8)
