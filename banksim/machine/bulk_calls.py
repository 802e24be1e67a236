"""Bulk and tensor copies: between shared memory and what a generic address or a tensor map names.

Every function is one of `driver_calls.Service`, of the words that operations/bulk_copies.py gives it, once for a warp.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from banksim.machine import codes
from banksim.machine.driver_calls import Bytes, Host, Refusal, Words, long
from banksim.machine.mbarrier_words import arrived
from banksim.machine.tensor_maps import FLUSHED, KINDS
from banksim.machine.tensor_parts import CHUNK, Part

RANKS = 16
"""Blocks that a mask of a multicast names."""


def complete(host: Host, barrier: int, size: int, lane: int) -> None:
    """Take so many bytes off those that an mbarrier waits for."""
    word = host.in_shared(barrier, 8, lane).view(np.uint64)
    word[0] = arrived(int(word[0]), -size << 21 & codes.BYTES_TO_COME)


def destinations(host: Host, address: int, barrier: int, mask: int) -> list[tuple[int, int]]:
    """(place, mbarrier) in each block of the cluster that a multicast names; where it names none, as they are."""
    if not mask:
        return [(address, barrier)]
    inside = (1 << codes.RANK_BIT) - 1
    ranks = [rank << codes.RANK_BIT for rank in range(RANKS) if mask >> rank & 1]
    return [(rank | address & inside, rank | barrier & inside) for rank in ranks]


def show(host: Host, pieces: npt.NDArray[Any], writes: bool, barrier: int = 0) -> None:
    if host.watch:
        host.watch(np.ascontiguousarray(pieces, np.uint32), writes, barrier)


# ---- bulk copies: (place, mbarrier, the other end's low and high word, bytes, mask of blocks)


def copy_to_cluster(host: Host, lanes: Sequence[int], v: Words) -> None:
    """From any memory into the shared memory of one block of the cluster, or of several."""
    lane = lanes[0]
    address, barrier, size, mask = (int(v[n, lane]) for n in (0, 1, 4, 5))
    content = host.find(long(v, 2, lane), size, lane).copy()
    for place, word in destinations(host, address, barrier, mask):
        show(host, np.arange(place, place + size, CHUNK), True, word)
        host.in_shared(place, size, lane)[:] = content
        complete(host, word, size, lane)


def reduce_in_cluster(host: Host, lanes: Sequence[int], v: Words) -> None:
    """From shared memory into that of a block of the cluster."""
    lane = lanes[0]
    address, barrier, size = (int(v[n, lane]) for n in (0, 1, 4))
    to, source = host.in_shared(address, size, lane), host.find(long(v, 2, lane), size, lane)
    show(host, np.arange(address, address + size, CHUNK), True, barrier)
    to[:] = reduced(how(host), number_kind(host), to, source)
    complete(host, barrier, size, lane)


def reduce_out(host: Host, lanes: Sequence[int], v: Words) -> None:
    """(place, global address, bytes): from shared memory into global memory."""
    lane, size = lanes[0], int(v[3, lanes[0]])
    source = host.in_shared(int(v[0, lane]), size, lane)
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

FLOAT_REDUCTIONS: dict[str, Callable[[Numbers, Numbers], Numbers]] = {"ADD": np.add, "MIN": np.fmin, "MAX": np.fmax}
"""Of a number and no number the larger or smaller is the number."""


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
        return to_bfloat16(FLOAT_REDUCTIONS[name](from_bfloat16(old), from_bfloat16(v))).view(np.uint8)
    a, b = old.view(kind), v.view(kind)
    if kind[0] != "f":
        return np.asarray(REDUCTIONS[name](a, b)).astype(kind).view(np.uint8)
    with np.errstate(all="ignore"):
        out = FLOAT_REDUCTIONS[name](a, b)
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


# ---- copies of tensors: (place, mbarrier, the map's address, five coordinates, mask of blocks above im2col's offsets)


def part_of(host: Host, v: Words, lane: int, writes: bool) -> Part:
    coordinates = [int(n) for n in v[4:9, lane].astype(np.int32)]
    offsets = int(v[9, lane]) & 0xFFFF if "IM2COL" in host.instruction.modifiers else None
    return Part(host, lane, long(v, 2, lane), coordinates, offsets, writes)


def tensor_in(host: Host, lanes: Sequence[int], v: Words) -> None:
    lane = lanes[0]
    part = part_of(host, v, lane, False)
    host.copied, host.copied_rows = part.nbytes, part.count
    pieces = part.read(host, lane).reshape(-1, CHUNK)
    mask = int(v[9, lane]) >> 16 if "MULTICAST" in host.instruction.modifiers else 0
    for address, barrier in destinations(host, int(v[0, lane]), int(v[1, lane]), mask):
        memory, places = part.places(host, address, lane)
        show(host, address + CHUNK * places, True, barrier)
        memory[places] = pieces
        complete(host, barrier, part.nbytes, lane)


def tensor_arrives(host: Host, lanes: Sequence[int], v: Words) -> None:
    """What `tensor_in` tells mbarriers, with no byte moved."""
    part = part_of(host, v, lanes[0], False)
    complete(host, int(v[1, lanes[0]]), part.nbytes, lanes[0])


def tensor_out(host: Host, lanes: Sequence[int], v: Words) -> None:
    """A store; a reduction where the instruction says which."""
    lane = lanes[0]
    reduces = bool(host.instruction.modifiers & set(REDUCTIONS))
    part = part_of(host, v, lane, True)
    host.copied, host.copied_rows = part.nbytes, part.count
    if reduces and (part.map.kind == FLUSHED or part.map.tf32):
        raise Refusal(codes.NOT_SIMULATED, lane, "a reduction of numbers without denormals or of TF32: not simulated")
    memory, places = part.places(host, int(v[0, lane]), lane)
    if not len(part.inside):
        return
    within = places.reshape(part.count, -1)[part.inside, part.first // CHUNK : -(-part.behind // CHUNK)]
    show(host, int(v[0, lane]) + CHUNK * within.ravel(), False)
    outside = part.written(host, lane, codes.WRITTEN | (codes.READ if reduces else 0))
    behind = part.first + outside.shape[1]
    rows = memory[places].reshape(part.count, part.row)[part.inside, part.first : behind]
    at = part.at - part.at.min()
    if not reduces:
        outside[at] = rows
        return
    with host.device.lock:
        new = reduced(how(host), KINDS[part.map.kind], outside[at].reshape(-1), np.ascontiguousarray(rows).reshape(-1))
        outside[at] = new.reshape(rows.shape)
