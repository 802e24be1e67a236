"""The race check of one worker: the memory that it works on, and its findings."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from banksim.kernels.kernel import BYTES
from banksim.machine.codes import BLOCK_BARRIERS, LANES
from banksim.machine.launch import Dim3, Launch
from banksim.machine.races import records
from banksim.machine.races.access_kinds import Kinds
from banksim.machine.races.findings import Access, Finding, Race, UninitializedRead
from banksim.machine.races.ordering_events import follow
from banksim.machine.state import aligned

CHECKS = {"races": records.RACES, "uninitialized": records.UNINITIALIZED}
CALLED = {
    records.READ: "read",
    records.MULTIPLY: "read by wgmma",
    records.PULL: "asynchronous read",
    **dict.fromkeys((records.WRITE, records.STARTING), "write"),
    **dict.fromkeys((records.COPY, records.BULK, records.SEND), "asynchronous write"),
    **dict.fromkeys((records.UPDATE, records.EXCHANGE, records.REDUCE), "atomic"),
    **dict.fromkeys((records.TENTATIVE_READ, records.FLAG_READ), "atomic read"),
    records.FLAG_WRITE: "atomic write",
    **dict.fromkeys((records.ARRIVE, records.COPIES_ARRIVE), "arrival at a barrier"),
    records.WAIT: "wait for a barrier",
}


class Watcher:
    """The race check of a cluster's blocks, or of one. The `contexts` of their workers, by rank, point to it."""

    def __init__(self, launch: Launch, known: Kinds, checks: Collection[str], contexts: Sequence[Any]) -> None:
        self.launch, self.known = launch, known
        self.record = aligned(records.WATCH, 1)
        shift = known.piece.bit_length() - 1
        blocks, sites = len(contexts), max(len(known.pcs), 1)
        self.block_warps = launch.warps if blocks == 1 else -(-launch.warps // records.GROUP) * records.GROUP
        self.stride = -(-max(launch.shared_reach, 1) >> shift + records.LINE) << shift + records.LINE
        warps, pieces, span = blocks * self.block_warps, blocks * self.stride >> shift, blocks * LANES
        clock = records.ENTRIES * span
        self.kept: dict[str, np.ndarray] = {
            "kinds": known.kind,
            "site_of": known.site,
            "members": aligned(records.MEMBER, warps),
            "found": aligned(records.FINDING, records.FOUND),
            "written": np.zeros(pieces, np.int64),
            "known": np.zeros((warps, LANES, clock), np.int32),
            "copied": np.zeros(clock, np.int32),
            "gathered": np.zeros((blocks * BLOCK_BARRIERS + 2, clock), np.int32),
        }
        proxies = known.has(records.BULK, records.PULL, records.MULTIPLY, records.SEND)
        if "races" in checks:
            planes = ["reads", "earlier_reads", "updates", "earlier_updates"]
            self.kept |= {name: np.zeros((warps, pieces), np.int64) for name in planes}
            lines = ("last_write", "readers", "writers", "copiers", "updaters", "pullers")
            self.kept |= {name: np.zeros(pieces, np.int64) for name in lines}
            if proxies:
                self.kept |= {name: np.zeros((warps, pieces), np.int64) for name in ("pulls", "factors")}
            self.kept["writer"] = np.zeros(pieces, np.uint16)
            self.kept["issuers"] = np.zeros(span, np.uint16)
            self.kept["executed"] = np.zeros((warps, sites), np.int32)
            self.kept["parities"] = np.zeros(blocks * records.WORDS, np.int64)
            self.kept |= {name: np.zeros((blocks * records.WORDS, clock), np.int32) for name in ("published", "passed")}
        r = self.record[0]
        for name, array in self.kept.items():
            r[name] = array.ctypes.data
        acquires = known.has(records.EXCHANGE, records.FLAG_READ)
        orders = known.has(records.COPY, records.STARTING, records.ARRIVE, records.WAIT, records.REDUCE)
        partial = orders or proxies or acquires or self.has_partial_barriers()
        r["blocks"], r["stride"], r["span"], r["block_warps"] = blocks, self.stride, span, self.block_warps
        r["checks"] = sum(CHECKS[check] for check in checks)
        r["shift"], r["pieces"], r["warps"], r["sites"] = shift, pieces, warps, sites
        r["instructions"] = len(launch.kernel.instructions)
        r["copies"], r["proxies"] = known.has(records.COPY, records.BULK, records.SEND), proxies
        r["entries"] = (records.ENTRIES if proxies else records.LOADS) * span
        r["atomics"] = known.has(
            records.UPDATE, records.EXCHANGE, records.FLAG_WRITE, records.ARRIVE, records.WAIT, records.REDUCE
        )
        r["acquires"], r["partial"] = acquires, partial or blocks > 1
        for number in range(warps):
            threads = min(max(launch.threads - LANES * (number % self.block_warps), 0), LANES)
            self.kept["members"][number]["whole"] = (1 << threads) - 1
        for context in contexts:
            context["watch"] = self.record.ctypes.data
            context["follow"] = follow.address

    def has_partial_barriers(self) -> bool:
        """Whether a barrier names how many threads it waits for."""
        for i in self.launch.kernel.instructions:
            if i.name == "BAR" and len([o for o in i.operands if o.kind in ("R", "UR", "imm")]) != 1:
                return True
        return False

    @property
    def lost(self) -> int:
        return int(self.record[0]["lost"])

    def found(self) -> list[Finding]:
        return [self.finding(f) for f in self.kept["found"] if f["count"]]

    def finding(self, f: Any) -> Finding:
        how = int(f["how"]) & ~records.ACROSS
        blocks = [self.block(number) for number in self.launch.blocks_beside(int(f["block"]))]
        rank, offset = divmod(int(f["address"]), self.stride)
        block, address = blocks[rank], offset - self.launch.kernel.shared_base
        first, second = (self.access(f, which, blocks) for which in ("first", "second"))
        if how & records.UNWRITTEN:
            return UninitializedRead(second, address, block, int(f["count"]))
        if self.is_reordered(first, second) if not how else how == records.SAME_WARP and is_above(second, first):
            first, second = second, first
        return Race(
            first=first,
            second=second,
            address=address,
            block=block,
            count=int(f["count"]),
            same_warp=bool(how & records.SAME_WARP and not how & records.UNFENCED),
            copying=bool(how & records.COPYING),
            unfenced=bool(how & records.UNFENCED),
            same_value="write" in first.kind and "write" in second.kind and not f["unequal"],
        )

    def is_reordered(self, first: Access, second: Access) -> bool:
        """Whether the compiler moved an access past another in front of it. (In an unrolled loop the second line may
        come first too, but then another copy of the later access comes earlier in the code.)"""
        here, there = first.site, second.site
        if not is_above(second, first):
            return False
        pcs = [
            pc
            for pc in self.known.pcs
            if (one := self.launch.kernel.instructions[pc // BYTES]).site.line == there.line
            and one.name == there.opcode.split(".")[0]
        ]
        return all(pc > (here.offset or 0) for pc in pcs)

    def block(self, number: int) -> Dim3:
        x, y, _ = self.launch.grid
        return number % x, number // x % y, number // x // y

    def access(self, f: Any, which: str, blocks: Sequence[Dim3]) -> Access:
        pc = self.known.pcs[int(f[f"{which}_site"])]
        site = self.launch.kernel.instructions[pc // BYTES].site
        kind = CALLED[int(self.known.kind[pc // BYTES])]
        rank, warp = divmod(int(f[f"{which}_warp"]), self.block_warps)
        return Access(kind, site, warp, int(f[f"{which}_lane"]), blocks[rank] if len(blocks) > 1 else None)


def is_above(one: Access, other: Access) -> bool:
    """In the same file, on a line before the other's."""
    return one.site.file == other.site.file and (one.site.line or 0) < (other.site.line or 0)
