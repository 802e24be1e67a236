"""Which instructions the counts of a kernel need, and where registers may change from block to block or hold data.

Control flow, guards and requests to shared memory decide counts. What computes what they read is needed, found
backwards through the code, register by register; local memory is one more register. Uniform registers belong to a warp
and not to a thread. Where no branch can part the threads of a warp, they are followed as the others are. Else other
threads may write them in between: of one that is needed anywhere, all writes are, and what one may hold anywhere, it
may hold everywhere; as with local memory.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from banksim.classes.footprint import SHARED, THREAD, Dependences, Footprint, Guard, Source, at_mbarrier, footprint
from banksim.errors import UnsupportedError
from banksim.kernels.control_opcodes import CONTROL, ENDS
from banksim.kernels.kernel import BYTES, Instruction, Kernel
from banksim.machine.basic_blocks import Block, basic_blocks
from banksim.machine.operations.loads_and_stores import request
from banksim.machine.supported import Naming

OF_THREADS = frozenset({"R", "P"})
"""The files whose registers every thread has for itself."""
OF_WARPS = frozenset({"UR", "UP"})
REGISTERS = frozenset({"R", "UR"})
LOGIC = frozenset({"LOP3", "ULOP3"})
PARTING = frozenset({"BSYNC", "BREAK", "ENDCOLLECTIVE"})
"""Instructions that let some threads of a group go on without the others, whatever they read."""
Prints = Mapping[int, Footprint]


@dataclass(frozen=True)
class Reach:
    """Which registers may hold what is looked for: `at` the start of each basic block, `behind` it, and `anywhere`."""

    at: Mapping[int, frozenset[Source]]
    behind: Mapping[int, frozenset[Source]]
    anywhere: frozenset[Source]


@dataclass(frozen=True)
class Needed:
    """`instructions`: pcs. `changing`: registers whose content may differ from block to block in a way that is
    followed; `data`: those that may depend on memory or a clock. `origins`: for each instruction whose request, guard
    or branch may depend on data, one that reads it. `signs`: logic of whose results only the signs are read. `loads`:
    those from shared memory whose results are needed."""

    instructions: frozenset[int]
    changing: Reach
    data: Reach
    origins: Mapping[int, int]
    signs: frozenset[int]
    loads: frozenset[int]


@lru_cache(maxsize=256)
def needed(kernel: Kernel, axes: tuple[int, ...], longest: int, placed: bool = False) -> Needed:
    """What the counts of a kernel need, and with `placed` its addresses too, where the grid has several blocks along
    `axes`. `longest`: the most instructions of a basic block. `UnsupportedError` for what is not followed."""
    blocks = basic_blocks(kernel, longest)
    prints = footprints(kernel, blocks)
    if placed:
        prints = placed_too(prints)
    followed = OF_THREADS if may_part(kernel, blocks, prints) else OF_THREADS | OF_WARPS
    chosen, living = backwards(blocks, prints, followed)
    loads = frozenset(pc for pc in chosen if any(SHARED in sources for sources in prints[pc].writes.values()))
    chosen |= {pc for pc, one in prints.items() if always(kernel.instructions[pc // BYTES]) or (placed and one.reaches)}
    data, decided = forwards(blocks, prints, chosen, of_data, followed)
    changing, _ = forwards(
        blocks, prints, chosen, lambda s: s[1] if s[0] == "block" and s[1] in axes else None, followed
    )
    signs = of_signs(kernel, blocks, prints, living, followed) & chosen
    return Needed(frozenset(chosen), changing, data, decided, signs, loads)


def heeds_data(kernel: Kernel) -> bool:
    """Whether any address, guard or branch may depend on data."""
    try:
        blocks = basic_blocks(kernel)
        prints = placed_too(footprints(kernel, blocks))
    except UnsupportedError:  # it is not known on what they depend
        return True
    followed = OF_THREADS if may_part(kernel, blocks, prints) else OF_THREADS | OF_WARPS
    living = backwards(blocks, prints, followed)[1]
    return any(of_data(source) is not None for reads in living.values() for source, _ in reads)


def placed_too(prints: Prints) -> dict[int, Footprint]:
    """The same where every address decides."""
    return {pc: replace(one, needs=one.needs.joined(one.places)) for pc, one in prints.items()}


def placed_by_data(kernel: Kernel) -> frozenset[int]:
    """The instructions (pcs) whose addresses in memory other than shared may depend on data."""
    blocks = basic_blocks(kernel)
    prints = {pc: replace(one, needs=one.places) for pc, one in footprints(kernel, blocks).items()}
    return frozenset(forwards(blocks, prints, set(prints), of_data)[1])


def footprints(kernel: Kernel, blocks: Mapping[int, Block]) -> dict[int, Footprint]:
    prints: dict[int, Footprint] = {}
    for block in blocks.values():
        for i in kernel.instructions[block.start // BYTES : block.end // BYTES]:
            with Naming(kernel, i):
                prints[i.pc] = footprint(i)
    return prints


def may_part(kernel: Kernel, blocks: Mapping[int, Block], prints: Prints) -> bool:
    """Whether the threads of a warp may go different ways, other than to their end: whether what ends a block of
    instructions may depend on the thread."""
    joint = {
        pc: replace(one, writes={to: sources.joined(one.needs) for to, sources in one.writes.items()})
        for pc, one in prints.items()
    }
    apart = forwards(blocks, joint, set(joint), lambda s: 0 if s == THREAD or s[0] == "data" else None)[1]
    lasts = [kernel.instructions[block.end // BYTES - 1] for block in blocks.values()]
    return any(i.name in PARTING or (i.name in ENDS and i.name != "EXIT" and i.pc in apart) for i in lasts)


def of_data(source: Source) -> int | None:
    return source[1] if source[0] == "data" else None


def always(i: Instruction) -> bool:
    """Whether an instruction is needed even if nothing reads its results."""
    return i.name in CONTROL or request(i) is not None or at_mbarrier(i)


Read = tuple[Source, Guard | None]
"""A source that is read later: by threads for which a predicate, as it is now, holds, or by any."""


def backwards(
    blocks: Mapping[int, Block], prints: Prints, followed: frozenset[str]
) -> tuple[set[int], Mapping[int, set[Read]]]:
    """The instructions whose results control flow, guards or requests need, and what is read for these from the start
    of each block of instructions on. Registers of the files `followed` are written by nobody in between."""
    chosen: set[int] = set()
    living: dict[int, set[Read]] = {start: set() for start in blocks}
    everywhere: set[Read] = set()
    changed = True
    while changed:
        changed = False
        commonly = {c: set[Read]().union(*(living[s] for s in c)) for c in {b.common for b in blocks.values()}}
        for block in reversed(list(blocks.values())):
            live: set[Read] = everywhere.union(commonly[block.common], *(living[s] for s in block.successors))
            for pc in range(block.end - BYTES, block.start - BYTES, -BYTES):
                if before(live, prints[pc], followed):
                    chosen.add(pc)
            shared = {read for read in live if read[0][0] not in followed}
            if not live <= living[block.start] or not shared <= everywhere:
                living[block.start] |= live
                everywhere |= shared
                changed = True
    return chosen, living


def before(live: set[Read], one: Footprint, followed: frozenset[str] = OF_THREADS) -> bool:
    """Turn `live`, the sources that are read after an instruction, into those that are read from it on. Whether any of
    its results is among them.

    An instruction and the one that reads its result often have the same guard. It is then the last to write what the
    reader reads, even if other threads keep their old contents."""
    writes, guard = one.writes, one.guard
    own = guard if guard is not None and ("P", guard[0]) not in writes else None
    other = own and (own[0], not own[1])
    hits = {read for read in live if read[0] in writes and (other is None or read[1] != other)}
    for read in hits:
        if read[0][0] in followed and (not one.guarded or (own is not None and read[1] == own)):
            live.discard(read)
    for read in [read for read in live if read[1] is not None and ("P", read[1][0]) in writes]:
        live.discard(read)
        live.add((read[0], None))
    predicate = None if guard is None else ("P", guard[0])
    for source in one.needs.union(*(writes[to] for to, _ in hits)):
        alone = source[0] in OF_THREADS and source != predicate
        live.add((source, guard if alone else None))
    return bool(hits)


def of_signs(
    kernel: Kernel,
    blocks: Mapping[int, Block],
    prints: Prints,
    living: Mapping[int, set[Read]],
    followed: frozenset[str],
) -> frozenset[int]:
    """The logic of whose results only the signs are read: as of divisions of signed numbers, and of tests whether any
    of several is negative."""
    found = set()
    for block in blocks.values():
        live = set[Read]().union(*(living[start] for start in (*block.successors, *block.common)))
        whole = set(live)  # those of which more than the sign is read
        for pc in range(block.end - BYTES, block.start - BYTES, -BYTES):
            one, i = prints[pc], kernel.instructions[pc // BYTES]
            if i.name in LOGIC and i.operands[0].kind in followed & REGISTERS and not before(set(whole), one, followed):
                found.add(pc)
            if pc in found or reads_sign(i):
                rest = {to: Dependences(s for s in of if s[0] not in REGISTERS) for to, of in one.writes.items()}
                before(whole, replace(one, writes=rest), followed)
            else:
                whole |= {read for read in live if read[0] in one.writes}
                before(whole, one, followed)
            before(live, one, followed)
    return frozenset(found)


def reads_sign(i: Instruction) -> bool:
    """Whether an instruction compares a register so that only its sign decides."""
    if i.name not in ("ISETP", "UISETP") or i.modifiers & {"U32", "S64", "U64", "EX"}:
        return False
    compared, limit = i.operands[2:4]
    below = -1 if i.modifiers & {"GT", "LE"} else 0
    is_limit = limit.number == below & 0xFFFFFFFF if limit.kind == "imm" else limit.is_zero and not below
    return is_limit and not compared.negative and bool(i.modifiers & {"LT", "GE", "GT", "LE"})


def forwards(
    blocks: Mapping[int, Block],
    prints: Prints,
    chosen: set[int],
    begins: Callable[[Source], int | None],
    followed: frozenset[str] = OF_THREADS,
) -> tuple[Reach, dict[int, int]]:
    """Which registers may hold what comes from a source to which `begins` gives a number; and for each instruction that
    such a source may decide, one of these numbers."""
    at: dict[int, dict[Source, int]] = {start: {} for start in blocks}
    behind: dict[int, dict[Source, int]] = {}
    commonly: dict[frozenset[int], dict[Source, int]] = {}
    everywhere: dict[Source, int] = {}
    anywhere: set[Source] = set()
    decided: dict[int, int] = {}
    todo = sorted(blocks)
    while todo:
        start = todo.pop(0)
        before = len(everywhere)
        state = {**everywhere, **at[start]}
        for pc in range(start, blocks[start].end, BYTES):
            one = prints[pc]
            hit = next((state[s] for s in one.needs if s in state), None)
            if hit is not None:
                decided[pc] = hit
            if pc not in chosen:
                continue
            found = {to: origin(sources, state, begins) for to, sources in one.writes.items()}
            for to, number in found.items():
                if number is not None:
                    state.setdefault(to, number)
                    anywhere.add(to)
                    if to[0] not in followed:
                        everywhere.setdefault(to, number)
                elif not one.guarded and to[0] in followed:
                    state.pop(to, None)
        behind[start] = state
        common = blocks[start].common
        grown = common not in commonly or not state.keys() <= commonly[common].keys()
        if grown:
            commonly[common] = {**state, **commonly.get(common, {})}
        for following in (*blocks[start].successors, *(common if grown else ())):
            if not state.keys() <= at[following].keys() or following not in behind:
                at[following] = {**state, **at[following]}
                todo += [following] if following not in todo else []
        if len(everywhere) > before:
            todo = sorted({*todo, *behind})
    joined = {start: frozenset({*at[start], *everywhere}) for start in blocks}
    after = {start: frozenset({*behind[start], *everywhere}) for start in blocks}
    return Reach(joined, after, frozenset(anywhere)), decided


def origin(
    sources: frozenset[Source], state: Mapping[Source, int], begins: Callable[[Source], int | None]
) -> int | None:
    """The number of any source that has one; None if none has."""
    for source in sources:
        number = state.get(source, begins(source))
        if number is not None:
            return number
    return None
