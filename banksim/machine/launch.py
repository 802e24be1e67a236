"""A launch: a kernel with its grid, its memory and its parameters, as the engines find them."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import architecture
from banksim.architectures.code_layout import CONSTANT_BANK, MACHINES, machine
from banksim.architectures.occupancy import limits, shared_of_block
from banksim.architectures.other_generations import multiprocessors
from banksim.errors import AbsentError, InputError, UnsupportedError
from banksim.kernels.kernel import Kernel
from banksim.kernels.variables import CONSTANT_VARIABLES
from banksim.machine.addresses import layout_of, passes_in_shared, reads
from banksim.machine.driver_calls import HEAP_BYTES, Device
from banksim.machine.host_memory import BUFFER_LIMIT, Absent, absent, bounds
from banksim.machine.mapped_pages import MappedPages

Dim3 = tuple[int, int, int]
GRID_LIMIT, BLOCK_LIMIT, THREAD_LIMIT = (2**31 - 1, 65535, 65535), (1024, 1024, 64), 1024
BLOCKS_AT_ONCE = max(multiprocessors(arch) * limits(arch).blocks for arch in MACHINES)
"""Of any GPU."""
WORKSPACE_BYTES = 64
"""More than the words that cooperative_groups' grid barrier uses."""
COPIED = 1 << 20
"""The stand-in of a buffer of up to so many bytes has its contents; that of a larger one is all zeros."""
WITHOUT_OPT_IN = 48 << 10
"""Bytes of shared memory, static and dynamic, that a block gets without being asked for (CUDA programming guide,
"Shared Memory": more is dynamic and needs cudaFuncSetAttribute)."""
CLUSTER_LIMIT, PORTABLE_CLUSTER = 16, 8
"""Blocks of a cluster (CUDA programming guide, "Thread Block Clusters")."""
FIRST_WITH_CLUSTERS = (9, 0)
DEFAULT_STACK = 1024
"""Local memory of a thread that calls through pointers or recursively: cudaLimitStackSize by default."""


class View(NamedTuple):
    """The part of a buffer that an argument is: how the user calls it, where it begins, and its bytes."""

    name: str
    start: int
    nbytes: int


@dataclass
class Buffer:
    """Global memory that arguments point into: its bytes in place, how the user calls it, and the arguments where
    those are not the whole of it."""

    data: npt.NDArray[np.uint8]
    name: str
    views: list[View] = field(default_factory=list)
    absent: Absent | None = None
    """What stands for it where it has a size, but no contents."""
    of_host: bool = False
    """Whether the host has it, too: managed or pinned memory."""

    @cached_property
    def place(self) -> tuple[int, int]:
        """Where its bytes lie in this process, and how many they are."""
        return self.data.ctypes.data, self.data.nbytes

    def copy(self) -> Buffer:
        """The same with memory of its own, with contents in any case. `AbsentError` where nobody knows them."""
        if self.absent is None:
            return replace(self, data=self.data.copy())
        if self.absent.contents is None:
            raise AbsentError(f"{self.name} is absent, and its contents are needed: pass an array")
        return replace(self, data=self.absent.part(bounds(self.data)), absent=None)

    def stand_in(self) -> Buffer:
        """The same with memory of its own: a copy, or where that would be much (`COPIED`) zeros, which take room only
        where they are touched."""
        if self.absent is None and self.data.nbytes <= COPIED:
            return self.copy()
        return replace(self, data=np.asarray(absent(self.data.nbytes, np.uint8)), absent=None)

    def nearest(self, byte: int) -> View:
        """The argument that a byte, or one beyond the buffer, lies in or nearest to."""
        views = self.views or [View(self.name, 0, self.data.nbytes)]
        return min(views, key=lambda view: max(view.start - byte, byte - view.start - view.nbytes + 1, 0))


@dataclass(repr=False)
class Launch:
    """`constants[bank]`: the bytes of each, parameters written; where buffer n begins tells
    `addresses.layout_of`; buffer 0 holds the module's own variables, of a kernel that is launched by itself;
    `shared_bytes` counts from address 0; `local_bytes` is of one thread."""

    kernel: Kernel
    grid: Dim3
    block: Dim3
    constants: dict[int, npt.NDArray[np.uint8]]
    buffers: Sequence[Buffer]
    shared_bytes: int
    local_bytes: int
    dynamic_shared: int = 0
    cluster: Dim3 = (1, 1, 1)
    """Blocks of a cluster; their shared memory is open to each other, and they run together."""
    explicit_cluster: bool = False
    device: Device = field(default_factory=Device)
    cooperative: bool = False
    """Whether blocks wait for each other (grid groups of cooperative_groups): all of them are on the GPU at once."""
    pages: MappedPages | None = None
    """Of a whole program's memory: what lies beyond its allocations."""
    doubts: dict[int, int] = field(default_factory=dict)
    """Where it was run and met what is not established (`banksim.machine.doubts`)."""
    touched: npt.NDArray[np.uint8] | None = None
    """For each buffer a byte that is not 0 once the launch has written to it, where somebody asks (LLVM engine)."""
    read: npt.NDArray[np.uint8] | None = None
    """The same for reading; an atomic does both."""
    kept: dict[Any, Any] | None = None
    """What engines keep for the next launch of a program, where somebody holds it."""

    def __repr__(self) -> str:
        return f"<launch of {self.kernel.plain_name}, grid {self.grid}, block {self.block}>"

    def copy(self) -> Launch:
        """The same launch with memory of its own, and a device on which nothing has been printed."""
        return self.with_buffers([buffer.copy() for buffer in self.buffers])

    def anew(self, parameters: Sequence[bytes]) -> Launch:
        """The same launch on the same memory with other parameters, of the same sizes, as if it had not been executed
        yet; its constants are its own."""
        constants = {bank: content.copy() for bank, content in self.constants.items()}
        for parameter, content in zip(self.kernel.parameters, parameters, strict=True):
            start = self.kernel.parameter_base + parameter.offset
            constants[0].data[start : start + parameter.size] = content
        return replace(self, constants=constants, doubts={}, touched=None, read=None)

    def stand_in(self) -> Launch:
        """The same launch with memory of its own of which the most is zeros; with its blocks the contents of memory are
        not put to the test, but its bounds are."""
        return self.with_buffers([buffer.stand_in() for buffer in self.buffers])

    def with_buffers(self, buffers: Sequence[Buffer]) -> Launch:
        return replace(self, buffers=buffers, device=Device(heap=self.device.heap), doubts={})

    @property
    def key(self) -> tuple[object, ...]:
        """All that it depends on but memory: launches of one key do the same to the same bytes."""
        written = self.constants | {0: self.constants[0][: self.kernel.constants_end]}
        constants = tuple((bank, content.tobytes()) for bank, content in sorted(written.items()))
        shape = self.grid, self.block, self.cluster, self.explicit_cluster, self.dynamic_shared
        return self.kernel, shape, constants

    @property
    def notes(self) -> tuple[str, ...]:
        """What a launch on a GPU also needs in the host's code."""
        notes: tuple[str, ...] = (f"On a GPU, {self.opt_in}.",) if self.opt_in else ()
        if self.cluster_blocks > PORTABLE_CLUSTER:
            call = "cudaFuncSetAttribute(…, cudaFuncAttributeNonPortableClusterSizeAllowed, 1)"
            notes += (f"On a GPU, clusters of more than {PORTABLE_CLUSTER} blocks need {call}.",)
        return notes

    @property
    def opt_in(self) -> str:
        """The call that the host's code needs before a launch with as much shared memory; "" if it needs none."""
        if self.shared_bytes - self.kernel.shared_base <= WITHOUT_OPT_IN or not self.dynamic_shared:
            return ""
        call = f"cudaFuncSetAttribute(…, cudaFuncAttributeMaxDynamicSharedMemorySize, {self.dynamic_shared})"
        return f"more than 48 KiB of shared memory for a block need {call}"

    @property
    def threads(self) -> int:
        return math.prod(self.block)

    @property
    def warps(self) -> int:
        return -(-self.threads // 32)

    @property
    def shared_allocated(self) -> int:
        """Bytes of shared memory that a block takes of its multiprocessor."""
        size = self.kernel.shared_bytes - self.kernel.shared_base + self.dynamic_shared
        return shared_of_block(size, limits(self.kernel.arch))

    @property
    def shared_reach(self) -> int:
        """Where the shared memory ends that a block can reach, from address 0 on: its own, or all that it is given."""
        return max(self.shared_bytes, self.shared_allocated * passes_in_shared(self.kernel))

    @property
    def blocks(self) -> int:
        return math.prod(self.grid)

    @property
    def cluster_blocks(self) -> int:
        return math.prod(self.cluster)

    @property
    def apart(self) -> bool:
        """Whether every block can be run by itself: none waits for others."""
        return not self.cooperative and self.cluster_blocks == 1

    def blocks_of_cluster(self, number: int) -> list[int]:
        """The numbers of the blocks of a cluster, in the order of their ranks."""
        across, down = (n // c for n, c in zip(self.grid[:2], self.cluster[:2], strict=True))
        corner = number % across, number // across % down, number // across // down
        x, y, z = (c * size for c, size in zip(corner, self.cluster, strict=True))
        return self.blocks_beside(x + self.grid[0] * (y + self.grid[1] * z))

    def blocks_beside(self, first: int) -> list[int]:
        """The numbers of the blocks of a cluster, in the order of their ranks, by that of the first."""
        width, height = self.grid[:2]
        return [
            first + i + width * (j + height * k)
            for k in range(self.cluster[2])
            for j in range(self.cluster[1])
            for i in range(self.cluster[0])
        ]


def dim3(value: int | Sequence[int], what: str, limits: Dim3) -> Dim3:
    """One to three sizes as (x, y, z). `InputError` beyond the limits of a launch."""
    sizes = tuple(value) if isinstance(value, Sequence | np.ndarray) else (value,)
    if not 1 <= len(sizes) <= 3 or not all(isinstance(n, int | np.integer) for n in sizes):
        raise InputError(f"{what} {value!r}: give one to three whole numbers, such as 32,32")
    x, y, z = (*map(int, sizes), 1, 1)[:3]
    for axis, n, limit in zip("xyz", (x, y, z), limits, strict=True):
        if not 1 <= n <= limit:
            raise InputError(f"{what} {axis} is {n}: it must be 1 to {limit}")
    return x, y, z


def whole(value: object, what: str, least: int = 0, most: int = 2**62) -> int:
    """`value` as a whole number within limits, or an `InputError`."""
    if not isinstance(value, int | np.integer) or not least <= value <= most:
        end = f"to {most}" if most < 2**62 else "on"
        raise InputError(f"{what} is {value!r}: give a whole number from {least} {end}")
    return int(value)


def constants_written(launch: Launch) -> dict[str, bytes]:
    """What a launch writes to constant bank 0, but the workspace and what the decoder has written."""
    size = launch.kernel.shared_bytes - launch.kernel.shared_base + launch.dynamic_shared
    reserved = limits(launch.kernel.arch).reserved
    return {
        "%ntid": struct.pack("<3I", *launch.block),
        "%nctaid": struct.pack("<3I", *launch.grid),
        "%cluster_nctaid": struct.pack("<3I", *launch.cluster),
        "1 / %cluster_nctaid": struct.pack("<3f", *(1 / n for n in launch.cluster)),
        "%nclusterid": struct.pack("<3I", *(n // c for n, c in zip(launch.grid, launch.cluster, strict=True))),
        "%current_graph_exec": bytes(8),
        "descriptor": bytes(8),
        "stack": struct.pack("<I", launch.local_bytes),
        "reserved shared": struct.pack("<I", reserved),
        "%dynamic_smem_size": struct.pack("<I", launch.dynamic_shared),
        "%aggr_smem_size": struct.pack("<I", size + reserved),
        "reserved end": struct.pack("<I", 0x120),
        "reserved part 1": struct.pack("<I", 0),
        "%is_explicit_cluster": struct.pack("<I", launch.explicit_cluster),
        "%cluster_nctarank": struct.pack("<I", launch.cluster_blocks),
    }


def cluster_of(kernel: Kernel, grid: Dim3, asked: int | Sequence[int] | None) -> tuple[Dim3, bool]:
    """The cluster of a launch, and whether the kernel or the launch names one. `InputError` for one that cannot be."""
    name, required = kernel.plain_name, kernel.required_cluster
    wanted = required if asked is None else asked
    if wanted is None:
        return (1, 1, 1), False
    cluster = dim3(wanted, "cluster", (CLUSTER_LIMIT,) * 3)
    if required and cluster != required:
        raise InputError(f"{name} requires clusters of {required} blocks, not {cluster}")
    if math.prod(cluster) > 1 and architecture(kernel.arch).capability < FIRST_WITH_CLUSTERS:
        raise InputError(f"{name}: clusters of blocks come with sm_90, and this code is for {kernel.arch}")
    if math.prod(cluster) > CLUSTER_LIMIT:
        raise InputError(f"a cluster of {math.prod(cluster)} blocks: {CLUSTER_LIMIT} is the most")
    for axis, n, part in zip("xyz", grid, cluster, strict=True):
        if n % part:
            raise InputError(f"grid {axis} is {n}: it must be a multiple of {part}, the cluster's")
    return cluster, True


def prepare(
    kernel: Kernel,
    grid: int | Sequence[int],
    block: int | Sequence[int] | None,
    parameters: Sequence[bytes],
    buffers: Sequence[Buffer],
    dynamic_shared: int | None = 0,
    cluster: int | Sequence[int] | None = None,
    stack: int = DEFAULT_STACK,
) -> Launch:
    """Check a launch against what the hardware allows and lay out its memory.

    `parameters` are the bytes of each kernel parameter in order, `buffers` the memory that they point into, from number
    1 on; of a whole program's kernel all of its memory, from number 0 on, the variables of modules included. A block or
    dynamic shared memory of None is what the kernel was compiled for (no dynamic shared memory where that is not
    known), and so is a cluster of None (without clusters where it was compiled for none). `stack`: bytes of local
    memory of a thread whose calls no compiler could follow. Raises `InputError` for sizes beyond the limits of a
    launch, too much shared memory, or parameters that do not fit the kernel.
    """
    if kernel.of_tiles and any(name.startswith("UTMA") for name in kernel.opcodes):
        raise UnsupportedError(
            f"{kernel.plain_name}: on {kernel.arch} it copies by tensor maps that NVIDIA's driver makes at the launch, "
            "in a way that is not documented: give ct.load and ct.store allow_tma=False, or judge the code for sm_80"
        )
    if block is None or (kernel.of_tiles and dim3(block, "block", BLOCK_LIMIT) == (1, 1, 1)):
        block = kernel.preset.block if kernel.preset else kernel.required_block
    if block is None:
        raise InputError(f"{kernel.plain_name} is compiled for blocks of any size: give a size")
    if dynamic_shared is None:
        dynamic_shared = kernel.preset.dynamic_shared if kernel.preset else 0
    whole_grid = dim3(grid, "grid", GRID_LIMIT)
    whole_block = dim3(block, "block", BLOCK_LIMIT)
    threads = math.prod(whole_block)
    if threads > THREAD_LIMIT:
        raise InputError(f"a block of {threads} threads: {THREAD_LIMIT} is the limit, choose a smaller --block")
    if threads > kernel.max_threads:
        raise InputError(
            f"{kernel.plain_name} is compiled for at most {kernel.max_threads} threads a block, not {threads}"
        )
    if kernel.required_block and whole_block != kernel.required_block:
        raise InputError(f"{kernel.plain_name} requires blocks of {kernel.required_block}, not {whole_block}")
    dynamic_shared = whole(dynamic_shared, "dynamic_shared")
    static, most = kernel.shared_bytes - kernel.shared_base, limits(kernel.arch).block_shared
    if static + dynamic_shared > most:
        raise InputError(
            f"{kernel.plain_name} wants {static} + {dynamic_shared} bytes of shared memory: "
            f"a block has {most} on {kernel.arch}"
        )
    if len(parameters) != len(kernel.parameters):
        raise InputError(f"{kernel.plain_name} takes {len(kernel.parameters)} parameters, {len(parameters)} were given")
    constants = {bank: np.zeros(-(-len(content) // 16) * 16, np.uint8) for bank, content in kernel.banks.items()}
    bank0 = constants[0] = np.zeros(CONSTANT_BANK, np.uint8)
    for bank, content in kernel.banks.items():
        constants[bank][: len(content)] = np.frombuffer(content, np.uint8)
    local = -(-kernel.local_bytes // 16) * 16 or 16
    if "CALL" in kernel.opcodes:
        local = max(local, -(-stack // 16) * 16)
    for parameter, content in zip(kernel.parameters, parameters, strict=True):
        if len(content) != parameter.size:
            size = f"parameter {parameter.ordinal} has {parameter.size} bytes"
            raise InputError(f"{kernel.plain_name}: {size}, {len(content)} were given")
        start = kernel.parameter_base + parameter.offset
        bank0[start : start + parameter.size] = np.frombuffer(content, np.uint8)
    # The memory of a whole program is in order.
    arguments = buffers if kernel.slot is None else ()
    pieces = [(buffer.name, buffer.data.nbytes) for buffer in arguments if buffer.absent is None]
    for owner, nbytes in [*pieces, ("the module's variables", kernel.globals_bytes)]:
        if nbytes > BUFFER_LIMIT:
            raise InputError(f"{owner}: {nbytes} bytes, and memory in pieces of up to 2 GiB is simulated")
    variables = Buffer(np.zeros(max(kernel.globals_bytes, len(kernel.globals)), np.uint8), "the module's variables")
    variables.data[: len(kernel.globals)] = np.frombuffer(kernel.globals, np.uint8)
    for variable, content in kernel.constants.filled():
        variables.data[variable.offset : variable.offset + variable.size] = np.frombuffer(content, np.uint8)
        if variable.place is not None:
            end = variable.place + variable.size
            constants[CONSTANT_VARIABLES][variable.place : end] = np.frombuffer(content, np.uint8)
    shared = max(kernel.shared_bytes, kernel.shared_base) + dynamic_shared
    memory = [variables, *buffers] if kernel.slot is None else buffers
    launch = Launch(kernel, whole_grid, whole_block, constants, memory, shared, local, dynamic_shared)
    launch.cluster, launch.explicit_cluster = cluster_of(kernel, whole_grid, cluster)
    places = machine(kernel.arch).places
    for name, content in constants_written(launch).items():
        if name in places:
            bank0[places[name] : places[name] + len(content)] = np.frombuffer(content, np.uint8)
    if kernel.slot is None and "malloc" in kernel.functions:
        launch.device.heap = layout_of(kernel).address_of(len(launch.buffers))
        launch.buffers = [*launch.buffers, Buffer(np.zeros(HEAP_BYTES, np.uint8), "the heap of malloc")]
    workspace = places["workspace"]
    if reads(kernel, (workspace, workspace + 4)):
        if launch.blocks > BLOCKS_AT_ONCE:
            raise InputError(f"{kernel.plain_name}: its blocks wait for each other, and no GPU holds {launch.blocks}")
        launch.cooperative = True
        address = layout_of(kernel).address_of(len(launch.buffers))
        place = Buffer(np.zeros(WORKSPACE_BYTES, np.uint8), "the place where blocks meet")
        launch.buffers = [*launch.buffers, place]
        bank0[workspace : workspace + 8].view(np.uint32)[:] = address >> 32, address & 0xFFFFFFFF
    return launch
