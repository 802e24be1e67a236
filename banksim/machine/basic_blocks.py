"""Where control goes in a kernel: basic blocks, what follows what, which registers live on between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from banksim.errors import UnsupportedError
from banksim.kernels.control_opcodes import CONTROL, ENDS, Then
from banksim.kernels.kernel import BYTES, Instruction, Kernel
from banksim.machine.operations.mbarriers import try_wait


@dataclass(frozen=True)
class Block:
    """Instructions that a group of threads executes together: pc from `start` to before `end`."""

    start: int
    end: int
    successors: tuple[int, ...]


def target(i: Instruction) -> int | None:
    """The pc that a branch or call names; None where a register does."""
    return next((o.number for o in i.operands if o.kind == "code"), None)


def basic_blocks(kernel: Kernel, longest: int | None = None) -> dict[int, Block]:
    """Blocks that can be reached, by their first pc, in order; none has more than `longest` instructions."""
    code = kernel.instructions
    size = BYTES * len(code)
    entries = {0}
    returns: set[int] = set()
    resumed: set[int] = set()
    for i in code:
        if i.name in ENDS:
            entries.add(i.pc + BYTES)
        if try_wait(i):
            entries.add(i.pc)
        if i.name in ENDS:
            entries |= _elsewhere(kernel, i)
        if i.name in ENDS and CONTROL[i.name].then == Then.CALLED:
            returns.add(i.pc + BYTES)
        if "COLLECTIVE" in i.modifiers:
            resumed.add(target(i) or 0)
    starts = sorted(e for e in entries | resumed if e < size)
    for start in starts:
        if start % BYTES or start < 0:
            raise UnsupportedError(f"{kernel.plain_name}: branch to {start:#x}, where no instruction begins")
    if longest is not None:
        places = pairwise([*starts, size])
        starts = [pc for start, end in places for pc in range(start, end, BYTES * longest)]
    ends = dict(zip(starts, [*starts[1:], size], strict=True))
    blocks: dict[int, Block] = {}
    todo = [0]
    while todo:
        start = todo.pop()
        if start in blocks:
            continue
        last = code[ends[start] // BYTES - 1]
        after = _after(kernel, last, ends[start], returns, resumed)
        missing = [s for s in after if s not in ends and s < size]
        if missing:
            raise UnsupportedError(f"{kernel.plain_name}: branch to {missing[0]:#x}, outside the kernel")
        blocks[start] = Block(start, ends[start], tuple(sorted({s for s in after if s < size})))
        todo += blocks[start].successors
    return dict(sorted(blocks.items()))


def _elsewhere(kernel: Kernel, i: Instruction) -> set[int]:
    """The places that a branch or call may go to, but for the next instruction."""
    then = CONTROL[i.name].then
    if then in (Then.TARGET, Then.CALLED):
        to = target(i)
        return {to} if to is not None else set(kernel.functions.values())
    return set(kernel.targets.get(i.pc, ())) if then == Then.LISTED else set()


def _after(kernel: Kernel, last: Instruction, end: int, returns: set[int], resumed: set[int]) -> set[int]:
    """Where control may go behind the last instruction of a block that ends before `end`."""
    guarded = last.predicate is not None
    after = _elsewhere(kernel, last) if last.name in ENDS else set()
    match CONTROL[last.name].then if last.name in ENDS else Then.SAME:
        case Then.TARGET:
            conditional = any(o.kind in ("P", "UP") for o in last.operands) or last.modifiers & {"DIV", "CONV"}
            return after | ({end} if guarded or conditional else set())
        case Then.LISTED:
            return after | ({end} if guarded else set())
        case Then.CALLED:
            return after | returns | {end}
        case Then.BACK:
            return returns | ({end} if guarded else set())
        case Then.GATHERED:
            return resumed
        case Then.NOWHERE if not guarded:
            return set()
    return {end}


def live_out(
    blocks: Mapping[int, Block],
    uses: Mapping[int, set[tuple[str, int]]],
    defines: Mapping[int, set[tuple[str, int]]],
) -> dict[int, set[tuple[str, int]]]:
    """For each block the registers that some later block may read before it writes them."""
    live_in = {start: set(uses[start]) for start in blocks}
    backward = sorted(blocks, reverse=True)
    changed = True
    while changed:
        changed = False
        for start in backward:
            after: set[tuple[str, int]] = set().union(*(live_in[s] for s in blocks[start].successors))
            new = after - defines[start] - live_in[start]
            if new:
                live_in[start] |= new
                changed = True
    return {start: set().union(*(live_in[s] for s in block.successors)) for start, block in blocks.items()}
