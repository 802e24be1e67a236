"""What the GPU's driver and its copy engine do for a kernel: printf, assertions, the heap, bulk copies.

Compiled code calls `vprintf`, `__assertfail`, `malloc` and `free`, which no cubin contains: the decoder puts a SERVICE
instruction in their place (operations/driver_calls.py). Both engines hand such work to the functions of `CALLS`:
f(host, lanes that ask, words of arguments (n, 32)) → words of results for those lanes, or None.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import NamedTuple, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from banksim.architectures.code_layout import CONSTANT_WINDOW, LOCAL_WINDOW, SHARED_WINDOW
from banksim.errors import UnsupportedError
from banksim.kernels.global_addresses import ARGUMENTS, AddressMap
from banksim.kernels.kernel import Instruction
from banksim.machine import codes
from banksim.machine.printing import MOST, Format, lines, parsed, printed

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]
NOTHING = np.zeros(0, np.uint8)
HEAP_BYTES = 8 << 20
"""cudaLimitMallocHeapSize by default (CUDA programming guide, "Dynamic Global Memory Allocation and Operations")."""
MOST_WAITING = 2048
"""Launches by kernels that may wait by default, as one H200 answered."""
STRING_PIECE = 64
"""Bytes that are read at once in search of a string's end."""
ALIGNMENT = 16
"""Bytes to which malloc aligns (same place)."""


class Refusal(Exception):
    """What a lane asked for cannot be: the message says what it was; `code` of codes.py."""

    def __init__(self, code: int, lane: int, message: str) -> None:
        super().__init__(message)
        self.code, self.lane = code, lane


class ByKernel(NamedTuple):
    """A launch that a thread of `block` asks for: of a kernel by its number in the module, with grid, block and bytes
    of shared memory; its parameters, and its stream."""

    block: int
    kernel: int
    shape: tuple[int, ...]
    parameters: bytes
    stream: int


@dataclass
class Device:
    """What the blocks of a launch share beside global memory: the text they print, the heap, and what they launch."""

    printed: dict[int, bytearray] = field(default_factory=dict)
    """What each block printed."""
    size: int = 0
    """Bytes that were printed, those too that are not kept."""
    heap: int = 0
    """Address of the buffer that malloc takes memory from; 0: there is none."""
    heap_bytes: int = HEAP_BYTES
    used: int = 0
    sizes: dict[int, int] = field(default_factory=dict)
    """What was given out: address → bytes."""
    freed: dict[int, list[int]] = field(default_factory=dict)
    """Addresses to give out again, by their bytes."""
    parameter_bytes: Callable[[int], int] | None = None
    """Of a kernel by its number in the module; None where kernels cannot launch others."""
    asked: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Bytes of parameters, kernel and shape of what is to be launched with the parameters at an address."""
    launched: list[ByKernel] = field(default_factory=list)
    most_waiting: int = 0
    """Of these at a time (cudaLimitDevRuntimePendingLaunchCount): of more, an H200 let some fail, by chance."""
    errors: dict[tuple[int, int, int], int] = field(default_factory=dict)
    """The last error of calls by a thread, by its block, warp and lane, unless it is 0."""
    attributes: dict[int, int] = field(default_factory=dict)
    """What kernels are answered that ask for attributes of the device, by their numbers."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the device without its lock, which no other process can share."""
        return Device, (self.printed, self.size, self.heap, self.heap_bytes, self.used, self.sizes, self.freed)

    def print(self, block: int, texts: Iterable[bytes | bytearray]) -> None:
        """Keep what a block prints, as long as there is room."""
        with self.lock:
            kept = self.printed.setdefault(block, bytearray())
            for text in texts:
                self.size += len(text)
                if self.size <= MOST:
                    kept += text

    @property
    def output(self) -> str:
        """Everything that was printed, block by block, and how much is not here."""
        text = b"".join(text for _, text in sorted(self.printed.items())).decode(errors="replace")
        kept = sum(map(len, self.printed.values()))
        return text if kept == self.size else f"{text}\n[{self.size - kept:,} more bytes were printed]\n"

    def allocate(self, size: int) -> int:
        """The address of so many bytes; 0 when the heap is full."""
        size = max(-(-size // ALIGNMENT) * ALIGNMENT, ALIGNMENT)
        with self.lock:
            if self.freed.get(size):
                address = self.freed[size].pop()
            elif self.used + size > self.heap_bytes:
                return 0
            else:
                address = self.heap + self.used
                self.used += size
            self.sizes[address] = size
            return address

    def release(self, address: int) -> None:
        with self.lock:
            size = self.sizes.pop(address, None)
            if size is not None:
                self.freed.setdefault(size, []).append(address)


class HasData(Protocol):
    """A buffer, as far as services need it."""

    @property
    def data(self) -> Bytes: ...


@dataclass
class Host:
    """The warp that asks, as services see it."""

    device: Device
    instruction: Instruction
    block: int
    buffers: Sequence[HasData]
    shared: Sequence[Bytes]
    """That of each block of the cluster, by rank."""
    shared_start: int
    local: Callable[[Sequence[int], int, int], Bytes]
    """A copy of the local memory of lanes, from a byte on, so many bytes: (lanes, bytes)."""
    put_local: Callable[[int, int, Words], None]
    """Writes words into the local memory of a lane, from a byte on: (lane, byte, words)."""
    local_bytes: int
    constants: Bytes = field(default_factory=lambda: np.zeros(0, np.uint8))
    parameters: int = 0
    """Constant bank 0, and where parameters begin in it."""
    rank: int = 0
    """Of the block that asks."""
    warp: int = 0
    """Of the block, the one that asks."""
    ended: int = 0
    """The ranks of blocks of the cluster that have ended, as a mask."""
    in_cluster: bool = False
    """Whether the launch names a cluster, be it of one block."""
    notes: Sequence[Bytes] = ()
    layout: AddressMap = ARGUMENTS
    copied: int = 0
    copied_rows: int = 0
    """Bytes of the last copy of a tensor, and rows of its box."""
    watch: Callable[[npt.NDArray[np.uint32], bool, int], None] | None = None
    """Told, where races are looked for, of the pieces of 16 bytes of shared memory that a copy accesses, by their
    addresses: (addresses, whether it writes to them, its mbarrier)."""

    def find(self, address: int, size: int, lane: int, use: int = codes.READ, fewest: int = 0) -> Bytes:
        """`size` bytes at a generic address, or down to `fewest` where the memory ends. Refusal where there are not as
        many. The use of global memory is noted."""
        if address >> 32 == CONSTANT_WINDOW >> 32 and not use & codes.WRITTEN:
            start = self.parameters + (address & 0xFFFFFFFF)
            return self.constants[start : start + size].copy()
        window, offset = address >> 32 << 32, address & 0xFFFFFFFF
        code, memory, place, start = codes.OUT_OF_GLOBAL, NOTHING, "global memory", 0
        if window == SHARED_WINDOW:
            code, place, start = codes.OUT_OF_SHARED, "shared memory", self.shared_start
            rank = (address & 0xFFFFFFFF) >> codes.RANK_BIT
            if rank < len(self.shared):
                memory = self.shared[rank]
            offset = address & (1 << codes.RANK_BIT) - 1
        elif window == LOCAL_WINDOW:
            size = max(min(size, self.local_bytes - offset), fewest or size)
            if offset + size <= self.local_bytes:
                return self.local([lane], offset, size).reshape(size)
            code, place = codes.OUT_OF_LOCAL, "local memory"
        elif (number := self.layout.place_of(address)[0]) < len(self.buffers):
            memory = self.buffers[number].data
            if self.notes:
                self.notes[number][offset : offset + size] |= np.uint8(use)
        size = max(min(size, len(memory) - offset), fewest or size)
        gone = code == codes.OUT_OF_SHARED and self.ended >> rank & 1
        if gone or offset < start or offset + size > len(memory):
            i = self.instruction
            who = i.operands[0].text if i.name == "SERVICE" else f"{'tensor' if 'UTMA' in i.name else 'bulk'} copy"
            if gone:
                raise Refusal(codes.ENDED_BLOCK, lane, f"{who}: {size} bytes in {of_ended_block(rank)}")
            raise Refusal(code, lane, f"{who}: {size} bytes out of bounds of {place}, at {address:#x}")
        return memory[offset : offset + size]

    def put(self, address: int, words: Words, lane: int) -> None:
        """Write words at a generic address, which is one of words."""
        place = self.find(address, words.nbytes, lane, codes.WRITTEN)
        if address >> 32 == LOCAL_WINDOW >> 32:
            self.put_local(lane, address & 0xFFFFFFFF, words)
        else:
            place.view(np.uint32)[:] = words

    def find_each(self, addresses: Sequence[int], size: int, lanes: Sequence[int]) -> bytes:
        """What `find` gives for each lane, one behind the other; where each has it at one place of its own, at once."""
        offset = addresses[0] - LOCAL_WINDOW
        if 0 <= offset <= self.local_bytes - size and addresses.count(addresses[0]) == len(addresses):
            return self.local(lanes, offset, size).tobytes()
        return b"".join(bytes(self.find(at, size, lane)) for at, lane in zip(addresses, lanes, strict=True))

    def in_shared(self, address: int, size: int, lane: int) -> Bytes:
        """Bytes of the shared memory of the block, or of another of its cluster."""
        return self.find(SHARED_WINDOW | address, size, lane)

    def string(self, address: int, lane: int) -> bytes:
        """The string at an address, up to its zero."""
        letters = b""
        while True:
            found = bytes(self.find(address + len(letters), STRING_PIECE, lane, use=0, fewest=1))
            letters += found.partition(b"\0")[0]
            if b"\0" in found or not found:
                if self.notes:
                    self.find(address, len(letters) + 1, lane)  # it uses no more than these
                return letters

    def text(self, address: int, lane: int) -> str:
        """The string at an address, as text."""
        return self.string(address, lane).decode(errors="replace")


def of_ended_block(rank: int) -> str:
    """The shared memory of a block that has ended, in words, and what would have kept it."""
    return (
        f"shared memory of the block of rank {rank} in the cluster, which has ended: no cluster.sync() before its end"
    )


Service = Callable[[Host, Sequence[int], Words], Words | None]


def long(v: Words, at: int, lane: int) -> int:
    return int(v[at, lane]) | int(v[at + 1, lane]) << 32


# ---- printf and assert


def vprintf(host: Host, lanes: Sequence[int], v: Words) -> Words:
    """Format, arguments → how many of them there are. What one lane prints stays together."""
    out = np.zeros((2, v.shape[1]), np.uint32)
    low, high, low_of_arguments, high_of_arguments = v[:4, lanes].tolist()
    formats = [a | b << 32 for a, b in zip(low, high, strict=True)]
    arguments = [a | b << 32 for a, b in zip(low_of_arguments, high_of_arguments, strict=True)]
    while lanes:
        same = len(list(takewhile(formats[0].__eq__, formats)))
        try:
            format = parsed(host.string(formats[0], lanes[0]))
            if not print_at_once(host, format, lanes[:same], arguments):
                print_each(host, format, lanes[:same], arguments)
        except UnsupportedError as error:
            raise Refusal(codes.NOT_SIMULATED, lanes[0], str(error)) from None
        out[0, lanes[:same]] = len(format.directives)
        lanes, formats, arguments = lanes[same:], formats[same:], arguments[same:]
    return out


def print_at_once(host: Host, format: Format, lanes: Sequence[int], arguments: Sequence[int]) -> bool:
    """Print what lanes print by one format, if it is that easy."""
    if format.plain is None:
        return False
    known: dict[tuple[int, int], bytes] = {}

    def string(address: int, number: int) -> bytes:
        lane = lanes[number]
        key = address, lane if address >> 32 == LOCAL_WINDOW >> 32 else 0
        if key not in known:
            known[key] = host.string(address, lane)
        return known[key]

    try:
        given = host.find_each(arguments[: len(lanes)], format.bytes, lanes)
        texts = lines(format.plain, given, string)
    except Refusal:
        return False  # what other lanes print before is printed
    if texts is not None:
        host.device.print(host.block, texts)
    return texts is not None


def print_each(host: Host, format: Format, lanes: Sequence[int], arguments: Sequence[int]) -> None:
    for lane, address in zip(lanes, arguments, strict=False):
        try:
            given = bytes(host.find(address, format.bytes, lane)) if format.bytes else b""
            text = printed(format, given, partial(host.string, lane=lane))
        except UnsupportedError as error:
            raise Refusal(codes.NOT_SIMULATED, lane, str(error)) from None
        host.device.print(host.block, [text])


def assertion(host: Host, lanes: Sequence[int], v: Words) -> None:
    """Message, file, line, function: no lane comes back."""
    lane = lanes[0]
    message, file, function = (host.text(long(v, at, lane), lane) for at in (0, 2, 6))
    where = f"at {file}:{int(v[4, lane])} in {function}"
    raise Refusal(codes.ASSERTION, lane, f"assertion `{message}` failed {where}")


# ---- the heap


def malloc(host: Host, lanes: Sequence[int], v: Words) -> Words:
    out = np.zeros((2, v.shape[1]), np.uint32)
    for lane in lanes:
        address = host.device.allocate(long(v, 0, lane))
        out[:, lane] = address & 0xFFFFFFFF, address >> 32
    return out


def free(host: Host, lanes: Sequence[int], v: Words) -> None:
    for lane in lanes:
        host.device.release(long(v, 0, lane))


def set_condition(host: Host, lanes: Sequence[int], v: Words) -> None:
    """Handle of a conditional node, value. The handle is the address where the value lies (graph_nodes.c)."""
    for lane in lanes:
        host.find(long(v, 0, lane), 4, lane, codes.WRITTEN).view(np.uint32)[0] = v[2, lane]


def unknown(host: Host, lanes: Sequence[int], v: Words) -> NoReturn:
    name = host.instruction.operands[0].text
    what = " (dynamic parallelism)" if "GetParameterBuffer" in name else ""
    raise Refusal(codes.NOT_SIMULATED, lanes[0], f"a call of {name}{what}, which is not simulated")


# ---- bulk copies: (address in shared memory, 0, global address, 0, bytes), once for the warp


def both_ends(host: Host, lanes: Sequence[int], v: Words, use: int) -> tuple[Bytes, Bytes]:
    lane, size = lanes[0], int(v[3, lanes[0]])
    return host.find(SHARED_WINDOW | int(v[0, lane]), size, lane), host.find(long(v, 1, lane), size, lane, use)


def copy_in(host: Host, lanes: Sequence[int], v: Words) -> None:
    shared, outside = both_ends(host, lanes, v, codes.READ)
    shared[:] = outside


def copy_out(host: Host, lanes: Sequence[int], v: Words) -> None:
    shared, outside = both_ends(host, lanes, v, codes.WRITTEN)
    outside[:] = shared


def need_cluster(host: Host, lanes: Sequence[int], v: Words) -> None:
    """An H200 stopped where the launch named no cluster; with clusters of one block it went on."""
    if not host.in_cluster:
        name = host.instruction.opcode
        raise Refusal(
            codes.NOT_SIMULATED,
            lanes[0],
            f"{name} outside of a launch of clusters, where a GPU stops at it as at an illegal instruction: give the "
            "launch a cluster (--cluster), be it of one block",
        )


CALLS: dict[str, Service] = {
    "vprintf": vprintf, "__assertfail": assertion, "malloc": malloc, "free": free,
    "cudaGraphSetConditional": set_condition, "unknown": unknown, "copy_in": copy_in, "copy_out": copy_out,
    "need_cluster": need_cluster,
}  # fmt: skip
