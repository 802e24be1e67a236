"""One worker of a launch on the LLVM engine: its memory, and what it counts."""

import ctypes
import math
import mmap
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import Architecture
from banksim.kernels.kernel import BYTES
from banksim.machine import codes
from banksim.machine.doubts import add
from banksim.machine.faults import Stop
from banksim.machine.launch import Dim3, Launch
from banksim.machine.launch_constants import written
from banksim.machine.llvm.compile import Compiled
from banksim.machine.llvm.counts import Array
from banksim.machine.llvm.driver_callbacks import Server
from banksim.machine.llvm.scratch import MET, SCRATCH_BYTES
from banksim.machine.program_memory import places
from banksim.machine.races.probe import Probe
from banksim.machine.state import CLUSTER, CONTEXT, ERROR, MEMO, REGISTERS, TALLY, WARP, aligned
from banksim.requests.kinds import LANES, OP_CODES

KEPT = 1 << 20
"""Bytes of a worker that is kept for another launch, at most."""


def bank_rules(architectures: Sequence[Architecture], compiled: Compiled) -> tuple[npt.NDArray[np.int64], int]:
    """What a `Worker` judges a kernel's requests by: `rule_words` of each architecture, and a period that suits all."""
    from banksim.banks.compiled.rule_words import rule_words

    if not architectures:
        return np.zeros((0, 0), np.int64), 1
    ops = tuple(sorted({op for _, op, _ in compiled.sites}))
    rules = np.ascontiguousarray([rule_words(a, ops) for a in architectures], np.int64)
    return rules, period_of(architectures)


def period_of(architectures: Sequence[Architecture]) -> int:
    return max((a.period for a in architectures), default=1)


class ClusterMemory:
    """What the workers share that run the blocks of one cluster: shared memory, which lies apart by rank, and the
    cluster's barrier."""

    def __init__(self, launch: Launch, size: int) -> None:
        self.size = size
        self.barrier = aligned(CLUSTER, 1)
        self.barrier[0]["threads"] = launch.threads * self.size
        if self.size == 1:
            self.shared = aligned(np.dtype(np.uint8), launch.shared_reach).view(np.uint8)
            return
        # Pages that are never touched take no memory.
        self.shared = np.frombuffer(mmap.mmap(-1, self.size << codes.RANK_BIT), np.uint8)

    def of(self, rank: int, size: int) -> npt.NDArray[np.uint8]:
        """The first `size` bytes of a block's shared memory."""
        return self.shared[rank << codes.RANK_BIT :][:size]


class Worker:
    """The memory with which one thread of the host runs blocks, one after the other."""

    def __init__(
        self,
        launch: Launch,
        compiled: Compiled,
        rules: npt.NDArray[np.int64],
        period: int,
        budget: int,
        stop: npt.NDArray[np.uint32],
        notes: Sequence[npt.NDArray[np.uint8]] = (),
    ) -> None:
        self.launch = launch
        self.warp_size = REGISTERS + 4 * LANES * launch.kernel.register_limit + compiled.spare
        sites, architectures = len(compiled.sites), len(rules)
        self.context = aligned(CONTEXT, 1)
        self.address = self.context.ctypes.data
        self.counters = np.zeros(max(compiled.counters, 1), np.int64)
        self.memos = aligned(MEMO, sites)
        self.tallies = aligned(TALLY, sites * architectures)
        self.error, self.stray = aligned(ERROR, 1), aligned(ERROR, 1)
        self.doubts = np.zeros(len(launch.kernel.instructions) + 1, np.uint8)
        byte = np.dtype(np.uint8)
        self.warps = aligned(byte, self.warp_size * launch.warps)
        self.template = warps_at_start(launch.block)
        at_start = self.template.view(np.uint8).reshape(launch.warps, -1)
        self.warps.reshape(-1, self.warp_size)[:, : WARP.itemsize] = at_start
        self.local = aligned(byte, launch.local_bytes * 32 * launch.warps)
        self.scratch = aligned(byte, SCRATCH_BYTES)
        self.rules, self.period = rules, period
        self.notes = np.array([one.ctypes.data for one in notes], np.uint64)
        for number, (_, op, width) in enumerate(compiled.sites):
            self.memos[number]["site"] = number
            self.memos[number]["op"], self.memos[number]["width"] = OP_CODES[op], width
        c = self.context[0]
        self.written = written(launch.kernel)
        c["written"] = self.written.ctypes.data
        for name in ("local", "counters", "memos", "tallies", "rules", "warps", "template", "doubts"):
            c[name] = getattr(self, name).ctypes.data
        c["scratch"] = self.scratch.ctypes.data
        c["error"], c["stray"] = self.error.ctypes.data, self.stray.ctypes.data
        if launch.pages:
            c["mapped"], c["mapped_start"] = launch.pages.mapped.ctypes.data, launch.pages.start
            c["mapped_pages"] = len(launch.pages.mapped)
        c["shared_size"], c["local_size"] = launch.shared_bytes, launch.local_bytes
        c["shared_reach"], c["shared_allocated"] = launch.shared_reach, launch.shared_allocated
        c["memo_count"], c["architectures"], c["period"] = sites, architectures, period
        c["rule_words"] = rules.shape[1]
        c["warp_count"], c["warp_size"], c["threads"] = launch.warps, self.warp_size, launch.threads
        c["notes"] = self.notes.ctypes.data if notes else 0
        c["turn_length"] = codes.TURN if launch.apart else codes.SHORT_TURN
        self.probe = Probe(launch, c)
        self.server = Server(launch, self.context, self.local, self.scratch, self.error, notes)
        self.join(ClusterMemory(launch, 1), 0)
        self.kept: object = None
        """What its code needs besides."""
        self.pace = math.inf
        """Seconds of CPU time that a block of its last launch took, with all that belongs to running it."""
        self.at_start: list[tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8] | int]] = []
        """What its blocks change, and its bytes before the first, where it is kept for another launch."""
        self.begin(launch, budget, stop)

    def begin(self, launch: Launch, budget: int, stop: npt.NDArray[np.uint32]) -> None:
        """From now on its blocks are of this launch, which differs from the one that it was made for in nothing but its
        grid, its constants and the contents and the places of its buffers."""
        for memory, content in self.at_start:
            memory[:] = content
        self.launch = launch
        c = self.context[0]
        for bank, content in launch.constants.items():
            c["constants"][bank], c["constant_sizes"][bank] = content.ctypes.data, content.nbytes
        self.scratch[MET:] = 0  # buffers may lie elsewhere
        self.buffers = places(launch.buffers)
        c["buffers"], c["buffer_count"] = self.buffers.ctypes.data, len(launch.buffers)
        none = np.zeros((2, len(launch.buffers)), np.uint8)
        self.uses = [
            own if noted is None else noted for own, noted in zip(none, (launch.touched, launch.read), strict=True)
        ]
        c["touched"], c["read"] = (noted.ctypes.data for noted in self.uses)
        c["stop"] = stop.ctypes.data
        c["grid"], c["budget"] = launch.grid, budget
        self.probe.begin(launch, c)
        if not len(self.rules):
            c["probed"] = 0
        self.server.begin(launch)

    def keep(self) -> None:
        """Remember how it is now, before its first block, so that it can begin another launch, unless that is much to
        keep. Of shared memory and the warps' registers each block makes its own."""
        zeros = [self.counters, self.tallies, self.error, self.stray, self.doubts, self.local, *self.probe.accesses]
        if sum(memory.nbytes for memory in (*zeros, self.warps, self.cluster.shared)) <= KEPT:
            others = (self.context, self.memos, self.probe.record, self.cluster.barrier)
            self.at_start = [(memory.view(np.uint8), 0) for memory in zeros]
            self.at_start += [(memory.view(np.uint8), memory.view(np.uint8).copy()) for memory in others]

    def join(self, cluster: ClusterMemory, rank: int) -> None:
        """From now on its blocks are of this rank in a cluster."""
        c, self.cluster = self.context[0], cluster
        c["shared"], c["own_shared"] = cluster.shared.ctypes.data, rank << codes.RANK_BIT
        c["cluster_blocks"], c["cluster"] = cluster.size, cluster.barrier.ctypes.data
        self.server.cluster = cluster.barrier
        self.server.shared = [cluster.of(n, self.launch.shared_bytes) for n in range(cluster.size)]

    def run(self, compiled: Compiled, first: int, last: int) -> int:
        return compiled.blocks(self.address, first, last)

    def stopped(self, code: int) -> Stop:
        error, warps = self.error[0].copy(), self.warp_records().copy()
        return Stop(code, int(self.context[0]["block"]), error, warps, self.server.message)

    def warp_records(self) -> Array:
        rows = self.warps.reshape(-1, self.warp_size)[:, : WARP.itemsize]
        return np.ascontiguousarray(rows).view(WARP).reshape(-1)


@lru_cache(maxsize=16)
def warps_at_start(block: Dim3) -> Array:
    """The records of a block's warps: one group at pc 0, of the threads that exist."""
    x, y, z = block
    thread = np.arange(-(-x * y * z // LANES) * LANES).reshape(-1, LANES)
    warps = aligned(WARP, len(thread))
    warps["live"] = warps["group_mask"][:, 0] = (thread < x * y * z) @ (1 << np.arange(LANES))
    warps["groups"], warps["group_wait"][:, 0], warps["index"] = 1, codes.READY, np.arange(len(warps))
    warps["thread"] = np.stack([thread % x, thread // x % y, thread // x // y], axis=1)
    warps["uniform_predicates"][:, 7], warps["predicates"][:, 7] = 1, 0xFFFFFFFF
    warps.flags.writeable = False
    return warps


def settle(worker: Worker) -> None:
    """Sum up what a worker counted, and where its blocks met what is not established."""
    from banksim.machine.llvm.native_symbols import address

    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address("settle"))(worker.address)
    if worker.doubts.any():
        add(worker.launch.doubts, ((int(n) * BYTES, int(worker.doubts[n])) for n in np.flatnonzero(worker.doubts)))
