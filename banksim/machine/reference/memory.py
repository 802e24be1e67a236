"""Memory as the reference machine sees it: plain bytes, every access checked."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from banksim.architectures import code_layout
from banksim.architectures.code_layout import LOCAL_WINDOW, SHARED_WINDOW
from banksim.errors import Fault, UnsupportedError
from banksim.kernels.kernel import Instruction, Operand
from banksim.machine import codes, doubts, faults
from banksim.machine.addresses import layout_of, passes_in_shared
from banksim.machine.driver_calls import Host, Refusal
from banksim.machine.engine import Access, Value, unknown_special
from banksim.machine.launch_constants import called, written
from banksim.machine.mbarrier_words import arrived
from banksim.machine.operations.float_atomics import FLOATS, added
from banksim.machine.operations.loads_and_stores import request
from banksim.machine.reference.block import Block, Request
from banksim.machine.reference.engine import LANE, NumpyEngine, mask_of, spread
from banksim.machine.services import SERVICES
from banksim.requests.kinds import FULL_MASK, LANES, remote

Bytes = npt.NDArray[np.uint8]
NOTHING = np.zeros(0, np.uint8)
"""A constant bank that the kernel does not have, or the shared memory of a block that the cluster does not have."""
KINDS: dict[str, Any] = {
    "u32": np.uint32, "s32": np.int32, "u64": np.uint64, "s64": np.int64, "f64": np.uint64,
    "f32": np.uint32, "f32_ftz": np.uint32, "f16x2": np.uint32, "bf16x2": np.uint32,
}  # fmt: skip
OUT_OF = {"shared": codes.OUT_OF_SHARED, "local": codes.OUT_OF_LOCAL, "global": codes.OUT_OF_GLOBAL}
UPDATES: dict[str, Callable[..., Any]] = {
    "add": lambda old, v: old + v,
    "min": min,
    "max": max,
    "and": lambda old, v: old & v,
    "or": lambda old, v: old | v,
    "xor": lambda old, v: old ^ v,
    "exch": lambda old, v: v,
    "inc": lambda old, v: 0 if old >= v else old + 1,
    "dec": lambda old, v: v if old == 0 or old > v else old - 1,
    "cas": lambda old, compare, v: v if old == compare else old,
    "arrive": lambda old, change: arrived(int(old), int(change)),
}
NO_LOCAL = "generic but local"
"""What generic atomics of 64 bits reach: the code behind them does those on local memory."""


class MemoryEngine(NumpyEngine):
    """The engine's loads, stores, atomics and constants, and what it knows of its place in the launch."""

    def __init__(self, block: Block, index: int) -> None:
        super().__init__()
        self.block, self.index, self.launch = block, index, block.launch
        self.registers = self.launch.kernel.register_limit
        self.thread = LANES * index + np.arange(LANES)
        self.instruction: Instruction

    def warp_number(self) -> Value:
        return np.uint32(self.index)

    # ---- finding bytes
    def those(self, lanes: Value | None) -> npt.NDArray[np.bool_]:
        """The executing lanes; if `lanes` is given, only those for which it holds."""
        return self.executing.copy() if lanes is None else self.executing & lanes

    def places(self, a: Access) -> Iterator[tuple[int, Bytes, int]]:
        """(lane, the memory that it addresses, offset) for each lane that executes, in order; but lanes whose addresses
        have the same upper word come together. May raise Fault."""
        address = spread(a.address)
        active = np.flatnonzero(self.those(a.lanes)).tolist()
        if a.space in ("global", "generic", NO_LOCAL):
            upper = [int(at) >> 32 for at in address]
            first = {upper[lane]: lane for lane in reversed(active)}
            active.sort(key=lambda lane: first[upper[lane]])
        for lane in active:
            at = int(address[lane])
            where, memory, offset = self.find(a.space, at, int(lane))
            start, end = 0, len(memory)
            if where == "shared":
                start, end = self.block.shared_start, min(end, self.launch.shared_bytes)
            if not start <= offset <= end - a.width and where == "shared" and passes_in_shared(self.launch.kernel):
                doubts.add(self.launch.doubts, [(self.instruction.pc, doubts.OUTSIDE)])
                start, end = 0, len(memory)
            if offset % a.width or not start <= offset <= end - a.width:
                raise self.fault(OUT_OF[where], int(lane), at if where == "global" else at & FULL_MASK)
            yield int(lane), memory, offset

    def together(self, a: Access) -> tuple[npt.NDArray[np.intp], Bytes, npt.NDArray[np.int64]] | None:
        """The lanes that execute, the one memory that they address, and their offsets: what `places` gives, at once.
        None where they address several, or one addresses none."""
        active = np.flatnonzero(self.those(a.lanes))
        if not len(active):
            return None
        at = spread(a.address)[active]
        where, memory, offset = self.find(a.space, int(at[0]), int(active[0]))
        start, end = 0, len(memory)
        if where == "shared":
            start, end = self.block.shared_start, min(end, self.launch.shared_bytes)
        offsets = at.astype(np.int64) - at[:1].astype(np.int64) + offset
        inside = where != "local" and ((offsets >= start) & (offsets <= end - a.width) & (offsets % a.width == 0)).all()
        return (active, memory, offsets) if inside else None

    def find(self, space: str, at: int, lane: int) -> tuple[str, Bytes, int]:
        """The space, memory and offset of an address."""
        window, offset = at >> 32 << 32, at & 0xFFFFFFFF
        if space in ("shared", "cluster", "barrier") or (space in ("generic", NO_LOCAL) and window == SHARED_WINDOW):
            blocks, rank = self.block.cluster.blocks, offset >> codes.RANK_BIT
            if rank >= len(blocks) or (space == "shared" and rank != self.block.rank):
                return "shared", NOTHING, offset
            if not blocks[rank].live:
                raise self.fault(codes.ENDED_BLOCK, lane, offset)
            return "shared", blocks[rank].shared, offset & (1 << codes.RANK_BIT) - 1
        if space == "local" or (space == "generic" and window == LOCAL_WINDOW):
            return "local", self.block.local[self.thread[lane]], offset
        number, offset = layout_of(self.launch.kernel).place_of(at)
        if number >= len(self.launch.buffers):
            raise self.fault(codes.OUT_OF_GLOBAL, lane, at)
        return "global", self.launch.buffers[number].data, offset

    def fault(self, code: int, lane: int, address: int = 0, message: str = "", placed: bool = True) -> Fault:
        i, name = self.instruction, self.launch.kernel.plain_name
        what = message or faults.ADVICE.get(code) or faults.wrong(self.launch, i, address, code)
        block = faults.block_index(self.launch, self.block.number)
        what = faults.located(what, i) if placed else what
        return Fault(f"{name}: {what}, block {block}, warp {self.index}, lane {lane}")

    def note(self, a: Access, kind: tuple[str, int] | None = None) -> None:
        """Record the request (of that op and width, or as the instruction says) that lanes make to shared memory."""
        asked = kind or request(a.i)
        if asked is None or a.space not in ("shared", "cluster", "generic"):
            return
        address, asking = spread(a.address), self.those(a.lanes)
        if a.space == "generic":
            asking &= address >> 32 == SHARED_WINDOW >> 32
        if not asking.any():
            return
        offsets = np.where(asking, address & 0xFFFFFFFF, 0).astype(np.uint32)
        own = np.uint32(self.block.rank << codes.RANK_BIT)
        others = (offsets >> codes.RANK_BIT != self.block.rank) & asking
        if others.any() and a.space != "shared":
            asked = remote(asked[0], own=others.sum() < asking.sum()), asked[1]
        else:
            offsets[asking] -= own
        self.block.outcome.requests.append(
            Request(a.i.pc, *asked, mask_of(asking), offsets, self.block.number, self.index)
        )

    # ---- loads, stores, atomics
    def fetch(self, a: Access) -> tuple[Value, ...]:
        if a.space == "const":
            return (self.constant_bytes(a.bank, a.address, a.width, a.signed),)
        rows = np.zeros((max(a.width // 4, 1), LANES), np.uint32)
        kind = np.dtype(f"{'i' if a.signed else 'u'}{min(a.width, 4)}")
        if at_once := self.together(a):
            active, memory, offsets = at_once
            found = memory[offsets[:, None] + np.arange(a.width)].view(kind)
            rows[:, active] = found.astype(np.int64).T & FULL_MASK
        else:
            for lane, memory, offset in self.places(a):
                rows[:, lane] = memory[offset : offset + a.width].view(kind).astype(np.int64) & FULL_MASK
        self.note(a)
        return tuple(rows)

    def put(
        self, a: Access, words: Sequence[Value], other: tuple[Value, str] | None = None, source: Value | None = None
    ) -> None:
        """Where lanes write the same bytes, the lowest lane of the last part of the request wins."""
        content = np.stack([spread(v) for v in words], axis=1).view(np.uint8)
        part = 128 // max(a.width, 4)
        if at_once := self.together(a):
            active, memory, offsets = at_once
            order = np.lexsort((-active, active // part))  # of what is written to one place, the last stays
            memory[offsets[order, None] + np.arange(a.width)] = content[active[order], : a.width]
        else:
            found = sorted(self.places(a), key=lambda one: (one[0] // part, -one[0]))
            for lane, memory, offset in found:
                memory[offset : offset + a.width] = content[lane, : a.width]
        kind = (other[1], a.width) if other is not None and other[0] else None
        own = np.uint32(self.block.rank << codes.RANK_BIT)
        self.note(a if source is None else a._replace(address=(a.address - own | source) + own), kind)

    def atomic(self, a: Access, kind: str, function: str, values: tuple[Value, ...], to: Operand | None) -> None:
        reached = a._replace(space=NO_LOCAL) if a.space == "generic" and a.width >= 8 else a
        if kind == "b128":
            before = self.exchanged(reached, function, np.stack([spread(v) for v in values]))
            self.note(a)
            return None if to is None else self.write_words(to, before)
        dtype = np.dtype(KINDS[kind])
        unsigned = np.dtype(f"u{dtype.itemsize}")
        operands = [spread(v).astype(unsigned).view(dtype) for v in values]
        before = np.zeros(LANES, unsigned)
        tried: set[tuple[int, int]] = set()
        for lane, memory, offset in self.places(reached):
            cell = memory[offset : offset + a.width].view(dtype)
            old, mine = cell[0], [v[lane] for v in operands]
            before[lane] = cell.view(unsigned)[0]
            if function == "cas_spin":
                bank = (lane // 16 if a.width == 8 else 0, offset // 4 % 32)
                before[lane] = bank not in tried and old == mine[0]
                if memory is self.block.shared:  # other blocks' memory lets no lane fail that meets another
                    tried.add(bank)
                cell[0] = mine[1] if before[lane] else old
            elif kind in FLOATS and function == "add":
                cell[0] = added(self, kind, old, mine[0])
            else:
                cell[0] = dtype.type(UPDATES[function](old, *mine))
        self.note(a)
        if to is None or to.is_zero:
            return None
        return self.write_old(to, before, a.width == 8, a.lanes)

    def exchanged(self, a: Access, function: str, words: Value) -> Value:
        """Exchange 16 bytes by lanes' four words, or for them where memory holds the four before; what it held."""
        before = np.zeros((4, LANES), np.uint32)
        for lane, memory, offset in self.places(a):
            cell = memory[offset : offset + 16].view(np.uint32)
            before[:, lane] = cell
            if function == "exch" or (cell == words[:4, lane]).all():
                cell[:] = words[-4:, lane]
        return before

    # ---- the host
    def service(self, i: Instruction, name: str, words: Sequence[Value]) -> tuple[Value, Value]:
        lanes = [int(lane) for lane in np.flatnonzero(self.executing)]
        results: Value = np.zeros((2, LANES), np.uint32)
        if lanes:
            rows = np.stack([spread(v) for v in words])
            try:
                given = SERVICES[name](self.host(i), lanes, rows)
            except Refusal as why:
                raise self.fault(why.code, why.lane, message=faults.of_call(self.launch, i, why, rows)) from None
            results = results if given is None else given
        return results[0], results[1]

    def host(self, i: Instruction) -> Host:
        return Host(
            device=self.launch.device,
            instruction=i,
            block=self.block.number,
            buffers=self.launch.buffers,
            shared=[block.shared[: self.launch.shared_bytes] for block in self.block.cluster.blocks],
            rank=self.block.rank,
            warp=int(self.thread[0]) // LANES,
            ended=sum(1 << block.rank for block in self.block.cluster.blocks if not block.live),
            in_cluster=self.launch.explicit_cluster,
            constants=self.launch.constants[0],
            parameters=self.launch.kernel.parameter_base,
            shared_start=self.block.shared_start,
            local=lambda lanes, start, size: self.block.local[self.thread[list(lanes)], start : start + size],
            put_local=self.put_local,
            local_bytes=self.launch.local_bytes,
            layout=layout_of(self.launch.kernel),
        )

    def put_local(self, lane: int, start: int, words: npt.NDArray[np.uint32]) -> None:
        self.block.local[self.thread[lane], start : start + words.nbytes] = words.view(np.uint8)

    # ---- constants and special registers
    def constant(self, o: Operand, address: Value) -> Value:
        return self.constant_bytes(o.number, address, 4, False)

    def constant_bytes(self, bank: int, address: Value, width: int, signed: bool) -> Value:
        if bank >= code_layout.CONSTANT_BANKS:
            raise UnsupportedError(f"constant bank {bank}")
        content = self.launch.constants.get(bank, NOTHING)
        at = np.asarray(address).astype(np.int64)
        inside = (at + width <= len(content)) & (at % width == 0)
        bad = self.executing & ~inside
        if bad.any():
            lane = int(np.argmax(bad))
            raise self.fault(codes.OUT_OF_CONSTANT, lane, int(spread(at)[lane]))
        if not inside.any():
            return np.zeros(at.shape, np.uint32)
        places = np.where(inside, at, 0)[..., None] + np.arange(width)
        if bank == 0:
            unknown = self.executing & (written(self.launch.kernel)[places] == 0).any(-1)
            if unknown.any():
                lane = int(np.argmax(unknown))
                raise UnsupportedError(called(self.launch.kernel.arch, int(spread(at)[lane])))
        rows = content[places]
        v = rows.view(f"{'i' if signed else 'u'}{width}")[..., 0]
        return (v.astype(np.int64) & FULL_MASK).astype(np.uint32)

    def special(self, name: str, uniform: bool) -> Value:
        x, y, _ = self.launch.block
        across, down, _ = self.launch.grid
        block = self.block.number
        lane = LANE.astype(np.uint64)
        below = (np.uint64(1) << lane) - 1
        table: dict[str, Any] = {
            "SR_TID.X": self.thread % x, "SR_TID.Y": self.thread // x % y, "SR_TID.Z": self.thread // x // y,
            "SR_CTAID.X": block % across, "SR_CTAID.Y": block // across % down, "SR_CTAID.Z": block // across // down,
            "SR_LANEID": lane, "SR_EQMASK": below + 1, "SR_LTMASK": below, "SR_LEMASK": 2 * below + 1,
            "SR_GTMASK": FULL_MASK - (2 * below + 1), "SR_GEMASK": FULL_MASK - below, "SR_CgaCtaId": self.block.rank,
            "SR_CgaSize": 0, "SR_SMEMSZ": self.launch.shared_allocated, "SR_LMEMHIOFF": 0,
            "SR_SWINHI": SHARED_WINDOW >> 32, "SR_SWINLO": 0,
            **code_layout.machine(self.launch.kernel.arch).registers,
        }  # fmt: skip
        if name[:-2] in self.block.clocks:
            return self.clock(name)
        if name not in table:
            raise unknown_special(name)
        v = np.asarray(table[name]).astype(np.uint32)
        return self.first(v) if uniform else v

    def clock(self, name: str) -> Value:
        """No time is simulated: every reading moves the clock on, so that code which waits for it goes on."""
        now = self.block.clocks[name[:-2]]
        if name.endswith("LO"):
            self.block.clocks[name[:-2]] += codes.READING
        return np.uint32(now >> 32 if name.endswith("HI") else now & FULL_MASK)
