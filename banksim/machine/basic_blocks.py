"""Where control goes in a kernel: basic blocks, what follows what, which registers live on between them."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise

from banksim.errors import UnsupportedError
from banksim.kernels.control_opcodes import CONTROL, ENDS, Then, further_guards
from banksim.kernels.kernel import BYTES, Instruction, Kernel
from banksim.machine.operations.mbarriers import try_wait


@dataclass(frozen=True)
class Block:
    """Instructions that a group of threads executes together: pc from `start` to before `end`."""

    start: int
    end: int
    successors: tuple[int, ...]
    common: frozenset[int] = frozenset()
    """More successors: where every call or return of the kernel may go, or every end of a collective region. Held once,
    for there may be as many of them as blocks."""


TOUCHES_MEMORY = ("LD", "ST", "ATOM", "RED", "SYNCS", "ARRIVES", "UBLK", "UTMA", "SERVICE")


def touches_memory(i: Instruction) -> bool:
    """Whether an instruction may access memory. Behind it the part that the last branch parked is no longer the one
    that goes on next: so Nsight Compute counts, which patches these instructions (tests/machine/test_hardware.py)."""
    return i.name.startswith(TOUCHES_MEMORY)


def target(i: Instruction) -> int | None:
    """The pc that a branch or call names; None where a register does."""
    return next((o.number for o in i.operands if o.kind == "code"), None)


def basic_blocks(kernel: Kernel, longest: int | None = None) -> dict[int, Block]:
    """Blocks that can be reached, by their first pc, in order; none has more than `longest` instructions."""
    code = kernel.instructions
    size = BYTES * len(code)
    entries = {0}
    called: set[int] = set()
    gathered: set[int] = set()
    for i in code:
        if i.name in ENDS:
            entries.add(i.pc + BYTES)
        if try_wait(i) or i.name == "BSYNC":  # executed again
            entries.add(i.pc)
        if i.name in ENDS:
            entries |= _elsewhere(kernel, i)
        if i.name in ENDS and CONTROL[i.name].then == Then.CALLED:
            called.add(i.pc + BYTES)
        if "COLLECTIVE" in i.modifiers:
            gathered.add(target(i) or 0)
    starts = sorted(e for e in entries | gathered if e < size)
    for start in starts:
        if start % BYTES or start < 0:
            raise UnsupportedError(f"{kernel.plain_name}: branch to {start:#x}, where no instruction begins")
    if longest is not None:
        places = pairwise([*starts, size])
        starts = [pc for start, end in places for pc in range(start, end, BYTES * longest)]
    ends = dict(zip(starts, [*starts[1:], size], strict=True))
    returns, resumed = (frozenset(pc for pc in pcs if pc < size) for pcs in (called, gathered))
    commons = {Then.CALLED: returns, Then.BACK: returns, Then.GATHERED: resumed}
    blocks: dict[int, Block] = {}
    todo, gone_to = [0], {frozenset[int]()}
    while todo:
        start = todo.pop()
        if start in blocks:
            continue
        last = code[ends[start] // BYTES - 1]
        after = _after(kernel, last, ends[start])
        missing = [s for s in after if s not in ends and s < size]
        if missing:
            raise UnsupportedError(f"{kernel.plain_name}: branch to {missing[0]:#x}, outside the kernel")
        common = commons.get(CONTROL[last.name].then, frozenset()) if last.name in ENDS else frozenset()
        blocks[start] = Block(start, ends[start], tuple(sorted({s for s in after if s < size})), common)
        todo += blocks[start].successors
        if common not in gone_to:
            gone_to.add(common)
            todo += common
    return dict(sorted(blocks.items()))


def sections(blocks: Mapping[int, Block], longest: int) -> list[list[Block]]:
    """The blocks in runs of at most `longest` instructions (or of one block), each cut in its second half where the
    fewest loops and, of those places, the fewest jumps are cut in two."""
    ordered = list(blocks.values())
    place = {block.start: n for n, block in enumerate(ordered)}
    loops, jumps = [0] * (len(ordered) + 1), [0] * (len(ordered) + 1)
    """How many more of them lie across the cut before this block than across the cut before the last one."""
    for n, block in enumerate(ordered):
        for to in (place[s] for s in block.successors):
            counts = loops if to <= n else jumps
            counts[min(n, to) + 1] += 1
            counts[max(n, to) + 1] -= 1
    cut_loops, cut_jumps = list(accumulate(loops)), list(accumulate(jumps))
    runs = []
    first = 0
    while first < len(ordered):
        last = first + 1
        while last < len(ordered) and ordered[last].end - ordered[first].start <= BYTES * longest:
            last += 1
        if last < len(ordered):
            places = range(last, first + (last - first) // 2, -1)
            last = min(places, key=lambda n: (cut_loops[n], cut_jumps[n]))
        runs.append(ordered[first:last])
        first = last
    return runs


def _elsewhere(kernel: Kernel, i: Instruction) -> set[int]:
    """Where a branch or call may jump to, other than the next instruction."""
    then = CONTROL[i.name].then
    if then in (Then.TARGET, Then.CALLED):
        to = target(i)
        return {to} if to is not None else set(kernel.functions.values())
    return set(kernel.targets.get(i.pc, ())) if then == Then.LISTED else set()


def _after(kernel: Kernel, last: Instruction, end: int) -> set[int]:
    """Where control may go behind the last instruction of a block that ends before `end`, but for what is common."""
    guarded = last.predicate is not None or (last.name in CONTROL and further_guards(last))
    after = _elsewhere(kernel, last) if last.name in ENDS else set()
    match CONTROL[last.name].then if last.name in ENDS else Then.SAME:
        case Then.TARGET:
            return after | ({end} if guarded or last.modifiers & {"DIV", "CONV"} else set())
        case Then.LISTED | Then.BACK:
            return after | ({end} if guarded else set())
        case Then.GATHERED:
            return set()
        case Then.NOWHERE if not guarded:
            return set()
    return after | {end}


def live_out(
    blocks: Mapping[int, Block], uses: Mapping[int, set[tuple[str, int]]], defines: Mapping[int, set[tuple[str, int]]]
) -> dict[int, set[tuple[str, int]]]:
    """For each block the registers that some later block may read before it writes them."""
    live_in = {start: set(uses[start]) for start in blocks}
    backward = sorted(blocks, reverse=True)

    def after(block: Block, commonly: dict[frozenset[int], set[tuple[str, int]]]) -> set[tuple[str, int]]:
        if block.common and block.common not in commonly:
            commonly[block.common] = set().union(*(live_in[s] for s in block.common))
        return set().union(*(live_in[s] for s in block.successors), commonly.get(block.common, set()))

    changed = True
    while changed:
        changed = False
        commonly: dict[frozenset[int], set[tuple[str, int]]] = {}
        for start in backward:
            new = after(blocks[start], commonly) - defines[start] - live_in[start]
            if new:
                live_in[start] |= new
                changed = True
    return {start: after(block, commonly) for start, block in blocks.items()}
