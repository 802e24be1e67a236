"""What kind of access to shared memory each instruction of a kernel makes, for the race check.

Machine code does not tell a volatile access from a plain one. Some plain accesses count as atomic all the same, as the
code could not mean anything else: a store right behind a fence (MEMBAR) and a load that spins, as
`data = x; __threadfence_block(); flag = 1;` and `while (!flag) {}` give; and a load of what an atomic compares with.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from banksim.errors import UnsupportedError
from banksim.kernels.kernel import BYTES, Instruction, Kernel
from banksim.machine.basic_blocks import Block, basic_blocks
from banksim.machine.operations.loads_and_stores import function, memory_operand, request, result
from banksim.machine.races import records

EVENTS = ("LDGDEPBAR", "UTMACMDFLUSH", "DEPBAR", "WARPGROUP", "FENCE")
"""Instructions that commit copies, that wait for them and for products, and fences."""
BARRIER_WIDTH = 8
COPIES, STORES = ("UBLKCP", "UBLKRED", "UTMALDG", "UTMASTG", "UTMAREDG"), ("UTMASTG", "UTMAREDG")
"""Bulk and tensor copies; tensor copies that read shared memory."""
GROUP_ENDS = "gsb0"
"""The operand of a product that ends a group of them (wgmma.commit_group)."""


@dataclass(frozen=True)
class Kinds:
    """`kind[pc // 16]` of each instruction, `site[pc // 16]` its number among those that access shared memory, `pcs` by
    that number; `piece`: the fewest bytes that one of them accesses."""

    kind: npt.NDArray[np.uint8]
    site: npt.NDArray[np.uint16]
    pcs: tuple[int, ...]
    piece: int

    def has(self, *kinds: int) -> bool:
        return bool(np.isin(self.kind, kinds).any())


@lru_cache(maxsize=256)
def kinds(kernel: Kernel) -> Kinds:
    """Raises `UnsupportedError` for a kernel with too many accesses."""
    code = kernel.instructions
    kind = np.array([kind_of(i) for i in code], np.uint8)
    flags = Flags(kernel) if any(i.name == "MEMBAR" for i in code) else None
    compares = any(i.name.startswith("ATOM") and function(i) in ("CAS", "CAST") for i in code)
    for number, i in enumerate(code):
        if kind[number] == records.READ and compares and is_tentative(code, i):
            kind[number] = records.TENTATIVE_READ
        elif flags and kind[number] == records.READ and flags.spins(i):
            kind[number] = records.FLAG_READ
        elif flags and kind[number] == records.WRITE and flags.follows_fence(i):
            kind[number] = records.FLAG_WRITE
    pcs = tuple(i.pc for i, k in zip(code, kind, strict=True) if k != records.NOTHING)
    if len(pcs) > records.SITES:
        raise UnsupportedError(
            f"{kernel.plain_name}: {len(pcs)} instructions may access shared memory, --check follows {records.SITES}"
        )
    site = np.zeros(len(code), np.uint16)
    site[np.array(pcs, np.int64) // BYTES] = np.arange(len(pcs))
    widths = [width(code[pc // BYTES]) for pc in pcs]
    return Kinds(kind, site, pcs, min(widths, default=4))


def width(i: Instruction) -> int:
    """Bytes of an access."""
    asked = request(i)
    if asked is not None and asked[0] == "wgmma":
        return 2 if {m for o in i.operands for m in o.modifiers} & {"tnspA", "tnspB"} else 4
    return asked[1] if asked is not None else BARRIER_WIDTH


def kind_of(i: Instruction) -> int:
    """By the instruction alone."""
    if i.name == "SYNCS" and "EXCH" in i.modifiers:
        return records.STARTING
    if i.name == "SYNCS":
        return records.WAIT if "PHASECHK" in i.modifiers else records.ARRIVE
    if i.name == "ARRIVES":
        return records.COPIES_ARRIVE
    if i.name in COPIES:
        return records.PULL if i.name in STORES or ".G.S" in i.opcode else records.BULK
    asked = request(i)
    if asked is None:
        return records.NOTHING
    if asked[0] == "wgmma":
        return records.MULTIPLY
    if asked[0] == "remote_async":
        return records.SEND if i.name == "STAS" else records.REDUCE
    if i.name == "LDGSTS":
        return records.COPY
    if i.name.startswith("LD"):
        return records.FLAG_READ if "STRONG" in i.modifiers else records.READ
    if i.name.startswith("ST"):
        return records.FLAG_WRITE if "STRONG" in i.modifiers else records.WRITE
    return records.EXCHANGE if result(i) is not None and function(i) != "CAST" else records.UPDATE


def accesses(i: Instruction) -> bool:
    return kind_of(i) != records.NOTHING


def is_tentative(code: tuple[Instruction, ...], i: Instruction) -> bool:
    """Whether a load only says what an atomic is to compare with."""
    if i.operands[0].kind != "R":
        return False
    holders = {i.operands[0].number}
    for later in code[i.pc // BYTES + 1 :]:
        if not holders or later.name in ("EXIT", "RET", "BAR"):
            return False
        if later.name.startswith("ATOM") and function(later) in ("CAS", "CAST"):
            compare = later.operands[later.operands.index(memory_operand(later)) + 1]
            if compare.kind == "R" and compare.number in holders:
                return True
        to = later.operands[later.name == "SHFL"] if later.operands else None
        if to is None or to.kind != "R" or later.name.startswith("ST"):
            continue
        copies = later.name == "MOV" or "MOV" in later.modifiers
        if copies and any(o.kind == "R" and o.number in holders for o in later.operands[1:]):
            holders.add(to.number)
        elif later.predicate is None:
            holders.discard(to.number)
    return False


class Flags:
    """Finds plain accesses that fences make flags."""

    def __init__(self, kernel: Kernel) -> None:
        self.code = kernel.instructions
        self.blocks = basic_blocks(kernel)

    def follows_fence(self, i: Instruction) -> bool:
        """Whether a fence is the last that happened before."""
        for before in reversed(self.code[: i.pc // BYTES]):
            if before.name == "MEMBAR":
                return True
            if accesses(before) or before.pc + BYTES in self.blocks:
                return False
        return False

    def spins(self, i: Instruction) -> bool:
        """Whether the load may follow itself from the same address with no other access between: only what another
        thread writes can end that."""
        own = next((b for b in self.blocks.values() if b.start <= i.pc < b.end), None)
        if own is None or next(self.events(own.start, i.pc), None) or next(self.events(i.pc + BYTES, own.end), None):
            return False
        quiet = {start for start, b in self.blocks.items() if not next(self.events(start, b.end), None)} | {own.start}
        around = self.closure(own, quiet, forward=True) & self.closure(own, quiet, forward=False)
        address = {(o.kind, o.number) for o in memory_operand(i).parts}
        turn = [self.blocks[start] for start in around]
        code = [one for b in turn for one in self.code[b.start // BYTES : b.end // BYTES]]
        return bool(around) and not any((o.kind, o.number) in address for one in code for o in one.operands[:1])

    def closure(self, block: Block, quiet: set[int], forward: bool) -> set[int]:
        """Blocks to which one gets from this one in one step or more through quiet ones; or from which."""
        found: set[int] = set()
        todo = [block]
        while todo:
            here = todo.pop()
            if forward:
                after = {*here.successors, *here.common}
            else:
                after = {
                    start for start, b in self.blocks.items() if here.start in b.successors or here.start in b.common
                }
            for start in (after & quiet) - found:
                found.add(start)
                todo.append(self.blocks[start])
        return found

    def events(self, start: int, end: int) -> Iterator[Instruction]:
        for i in self.code[start // BYTES : end // BYTES]:
            if i.name in ("BAR", "EXIT") or accesses(i):
                yield i
