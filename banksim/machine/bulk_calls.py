"""Bulk and tensor copies: between shared memory and what a generic address or a tensor map names.

Every function is one of `driver_calls.Service`, of the words that operations/bulk_copies.py gives it, once for a warp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from banksim.architectures.code_layout import SHARED_WINDOW
from banksim.errors import UnsupportedError
from banksim.machine import codes, tensor_maps
from banksim.machine.driver_calls import Bytes, Host, Refusal, Words, long
from banksim.machine.mbarrier_words import arrived
from banksim.machine.tensor_maps import KINDS, SIZES, TensorMap

RANKS = 16
"""Blocks that a mask of a multicast names."""
LINE, CHUNK = 128, 16
"""Bytes: what a swizzled copy's place in shared memory is aligned to, and what a swizzle moves."""


def shared_range(host: Host, address: int, size: int, lane: int, use: int = codes.READ) -> Bytes:
    return host.find(SHARED_WINDOW | address, size, lane, use)


def complete(host: Host, barrier: int, size: int, lane: int) -> None:
    """Take so many bytes off those that an mbarrier waits for."""
    word = shared_range(host, barrier, 8, lane).view(np.uint64)
    word[0] = arrived(int(word[0]), -size << 21 & codes.BYTES_TO_COME)


def destinations(host: Host, address: int, barrier: int, mask: int) -> list[tuple[int, int]]:
    """(place, mbarrier) in each block of the cluster that a multicast names; where it names none, as they are."""
    if not mask:
        return [(address, barrier)]
    inside = (1 << codes.RANK_BIT) - 1
    ranks = [rank << codes.RANK_BIT for rank in range(RANKS) if mask >> rank & 1]
    return [(rank | address & inside, rank | barrier & inside) for rank in ranks]


# ---- bulk copies: (place, mbarrier, the other end's low and high word, bytes, mask of blocks)


def copy_to_cluster(host: Host, lanes: Sequence[int], v: Words) -> None:
    """From any memory into the shared memory of one block of the cluster, or of several."""
    lane = lanes[0]
    address, barrier, size, mask = (int(v[n, lane]) for n in (0, 1, 4, 5))
    content = host.find(long(v, 2, lane), size, lane).copy()
    for place, word in destinations(host, address, barrier, mask):
        shared_range(host, place, size, lane)[:] = content
        complete(host, word, size, lane)


def reduce_in_cluster(host: Host, lanes: Sequence[int], v: Words) -> None:
    """From shared memory into that of a block of the cluster."""
    lane = lanes[0]
    address, barrier, size = (int(v[n, lane]) for n in (0, 1, 4))
    to, source = shared_range(host, address, size, lane), host.find(long(v, 2, lane), size, lane)
    to[:] = reduced(how(host), number_kind(host), to, source)
    complete(host, barrier, size, lane)


def reduce_out(host: Host, lanes: Sequence[int], v: Words) -> None:
    """(place, global address, bytes): from shared memory into global memory."""
    lane, size = lanes[0], int(v[3, lanes[0]])
    source = shared_range(host, int(v[0, lane]), size, lane)
    outside = host.find(long(v, 1, lane), size, lane, codes.READ | codes.WRITTEN)
    with host.device.lock:
        outside[:] = reduced(how(host), number_kind(host), outside, source)


# ---- reductions

Numbers = npt.NDArray[Any]
REDUCTIONS: dict[str, Callable[[Numbers, Numbers], Numbers]] = {
    "ADD": np.add,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "INC": lambda old, v: np.where(old >= v, np.zeros_like(old), old + np.ones_like(old)),
    "DEC": lambda old, v: np.where((old == 0) | (old > v), v, old - np.ones_like(old)),
    "AND": np.bitwise_and,
    "OR": np.bitwise_or,
    "XOR": np.bitwise_xor,
}


def how(host: Host) -> str:
    return next(name for name in REDUCTIONS if name in host.instruction.modifiers)


def number_kind(host: Host) -> str:
    """The numbers that a bulk reduction's modifiers name."""
    marks = host.instruction.modifiers
    for mark, kind in (("F16", "f2"), ("BF16", "bf16"), ("F32", "f4"), ("F64", "f8")):
        if mark in marks:
            return kind
    return f"{'i' if marks & {'S32', 'S64'} else 'u'}{8 if marks & {'64', 'U64', 'S64'} else 4}"


def reduced(name: str, kind: str, old: Bytes, v: Bytes) -> Bytes:
    """Number by number. Sums of halves are exact in float32, and rounded once."""
    if kind == "bf16":
        return to_bfloat16(REDUCTIONS[name](from_bfloat16(old), from_bfloat16(v))).view(np.uint8)
    a, b = old.view(kind), v.view(kind)
    if kind[0] != "f":
        return np.asarray(REDUCTIONS[name](a, b)).astype(kind).view(np.uint8)
    with np.errstate(all="ignore"):
        out = REDUCTIONS[name](a, b) if name == "ADD" else {"MIN": np.fmin, "MAX": np.fmax}[name](a, b)
    nan = np.isnan(out)
    if nan.any():
        out = out.copy()
        unsigned = out.view(f"u{out.itemsize}")
        unsigned[nan] = (1 << 8 * out.itemsize - 1) - 1
    return np.asarray(out).view(np.uint8)


def from_bfloat16(v: Bytes) -> npt.NDArray[np.float32]:
    return (v.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def to_bfloat16(v: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """To nearest even."""
    bits = v.view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(v), 0x7FFF, rounded).astype(np.uint16)


# ---- copies of tensors: (place, mbarrier, the map's address, five coordinates, mask of blocks)


class Part:
    """The part of a tensor that a copy moves: `inside` selects of the box what is in bounds, `content` is it in global
    memory."""

    def __init__(self, host: Host, lane: int, address: int, coordinates: Sequence[int], use: int) -> None:
        try:
            self.map = tensor_maps.decoded(bytes(host.find(address, tensor_maps.BYTES, lane)))
        except UnsupportedError as error:
            raise Refusal(codes.NOT_SIMULATED, lane, f"{error}, which is not simulated") from None
        m: TensorMap = self.map
        self.size = SIZES[m.kind]
        axes = len(m.sizes)
        steps = (1, *m.steps[1:])  # along the innermost axis every element is copied
        counts = [-(-n // step) for n, step in zip(m.box, steps, strict=True)]
        self.shape = tuple(counts[::-1])
        self.inside: list[slice] = []
        strides: list[int] = []
        found: list[int] = []
        starts = 0
        for n, start, step, count in zip(range(axes), coordinates, steps, counts, strict=False):
            first = max(0, -(start // step) if start < 0 else 0)
            behind = min(count, max(-((start - m.sizes[n]) // step), 0))
            stride = m.strides[n - 1] if n else self.size
            behind = max(behind, first)
            self.inside.insert(0, slice(first, behind))
            starts += (start + first * step) * stride
            strides.insert(0, stride * step)
            found.insert(0, behind - first)
        self.content: npt.NDArray[np.uint8] | None = None
        if all(found):
            last = sum((n - 1) * stride for n, stride in zip(found, strides, strict=True)) + self.size
            memory = host.find(m.address + starts, last, lane, use)
            self.content = as_strided(memory, (*found, self.size), (*strides, 1))

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape)) * self.size

    def places(self, host: Host, address: int, lane: int) -> tuple[Bytes, npt.NDArray[np.int64]]:
        """The shared memory of a copy, in pieces of 16 bytes, and which of them each piece of the box is: a swizzle
        turns them round within each line by the number of the line."""
        swizzle = self.map.swizzle
        if address % (LINE if swizzle else CHUNK):
            raise Refusal(codes.OUT_OF_SHARED, lane, f"a tensor copy at byte {address:#x}, not aligned")
        if swizzle and self.shape[-1] * self.size != swizzle:
            what = f"rows of {self.shape[-1] * self.size} bytes under a swizzle of {swizzle}"
            raise Refusal(codes.NOT_SIMULATED, lane, f"a tensor map with {what}, which is not simulated")
        memory = shared_range(host, address, self.nbytes, lane)
        pieces = np.arange(self.nbytes // CHUNK)
        if swizzle:
            whole = pieces + (address & (1 << codes.RANK_BIT) - 1) // CHUNK
            pieces = pieces + ((whole ^ whole // (LINE // CHUNK) % (swizzle // CHUNK)) - whole)
        return memory.reshape(-1, CHUNK), pieces


def part_of(host: Host, v: Words, lane: int, use: int) -> Part:
    coordinates = [int(n) for n in v[4:9, lane].astype(np.int32)]
    return Part(host, lane, long(v, 2, lane), coordinates, use)


def tensor_in(host: Host, lanes: Sequence[int], v: Words) -> None:
    lane = lanes[0]
    part = part_of(host, v, lane, codes.READ)
    box = np.zeros((*part.shape, part.size), np.uint8)
    if part.content is not None:
        box[(*part.inside,)] = part.content
    rows = box.reshape(-1, CHUNK)
    for address, barrier in destinations(host, int(v[0, lane]), int(v[1, lane]), int(v[9, lane])):
        memory, places = part.places(host, address, lane)
        memory[places] = rows
        complete(host, barrier, part.nbytes, lane)


def tensor_out(host: Host, lanes: Sequence[int], v: Words) -> None:
    """A store; a reduction where the instruction says which."""
    lane = lanes[0]
    reduces = bool(host.instruction.modifiers & set(REDUCTIONS))
    part = part_of(host, v, lane, codes.WRITTEN | (codes.READ if reduces else 0))
    memory, places = part.places(host, int(v[0, lane]), lane)
    if part.content is None:
        return
    box = memory[places].reshape(*part.shape, part.size)[(*part.inside,)]
    if not reduces:
        part.content[...] = box
        return
    with host.device.lock:
        old = np.ascontiguousarray(part.content).reshape(-1)
        new = reduced(how(host), KINDS[part.map.kind], old, np.ascontiguousarray(box).reshape(-1))
        part.content[...] = new.reshape(part.content.shape)
