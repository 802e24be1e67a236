"""The instruction caches of a multiprocessor: one of each sub-core, one that all share, one behind that, the L2 cache.

Caches keep the lines that were used last (assumed: they have no sets). A line that a sub-core lacks comes with the next
two, and where code without branches comes to the last of these, the next three are asked for: so it does not wait while
the multiprocessor's own cache has them. A branch to a line that has not arrived yet has to ask for it anew. From behind
that cache, lines come at a rate. Launches that follow one another find what the last one left; behind others, a launch
finds its code in the cache behind that of the multiprocessor (h200_code.json), whether or not it is the first of its
kernel: the GPU fetches code when it begins.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.architectures.time_figures import Numbers
from banksim.kernels.kernel import BYTES
from banksim.system.bundles import bundle
from banksim.system.compiled_types import Integer
from banksim.system.jit import inlined, inner

LINE = 128 // BYTES
"""Instructions in a cache line; "line" means one of the cache here."""
SUB_CORES = 4
SHARED, LAST = SUB_CORES, SUB_CORES + 1
"""The caches behind those of the sub-cores: 0 to 3."""
AHEAD = 2
"""How many lines come with one that a sub-core lacks."""


@bundle
class InstructionCaches(NamedTuple):
    """The lines that are kept: those that were used last."""

    places: npt.NDArray[np.int64]  # (cache, line): which of its places the line has; -1: none
    lines: npt.NDArray[np.int64]  # (cache, place): which line it has; -1: none
    used: npt.NDArray[np.int64]  # … and how often any of the cache was used when it last was
    counts: npt.NDArray[np.int64]  # by cache: how often any line was used
    sizes: npt.NDArray[np.int64]  # … and how many lines it holds
    arrives: npt.NDArray[np.int64]  # (sub-core, line): from when on a branch finds a line that came with another
    comes: npt.NDArray[np.int64]  # by line: the cycle in which the multiprocessor has it
    following: npt.NDArray[np.int64]  # one: … the last of them that was asked for
    port: npt.NDArray[np.int64]  # one: the cycle until which the shared cache is held
    turned: npt.NDArray[np.int64]  # by sub-core: the cycle of its last taken branch


def new_caches(instructions: int, figures: Numbers, kept: bool = True) -> InstructionCaches:
    """Caches as the last launch of the same code left them: what the code does not exceed, they have. Where others have
    taken its place since, those of the multiprocessor have not `kept` it."""
    count = -(-instructions // LINE) + AHEAD
    sizes = np.array([figures.code_own] * SUB_CORES + [figures.code_shared, figures.code_last])
    every, held = np.arange(count), np.arange(sizes.max())
    have = (count <= sizes[:, None]) & (kept | (np.arange(len(sizes)) == LAST)[:, None])
    return InstructionCaches(
        places=np.where(have, every, -1),
        lines=np.where(have & (held < count), held, -1),
        used=np.zeros((len(sizes), sizes.max()), np.int64),
        counts=np.zeros(len(sizes), np.int64),
        sizes=sizes,
        arrives=np.zeros((SUB_CORES, count), np.int64),
        comes=np.zeros(count, np.int64),
        following=np.zeros(1, np.int64),
        port=np.zeros(1, np.int64),
        turned=np.full(SUB_CORES, -figures.branch),
    )


@inlined
def has(caches: InstructionCaches, cache: Integer, line: Integer) -> bool:
    return bool(caches.places[cache, line] >= 0)


@inlined
def use(caches: InstructionCaches, cache: Integer, line: Integer) -> None:
    caches.counts[cache] += 1
    caches.used[cache, caches.places[cache, line]] = caches.counts[cache]


@inner
def put(caches: InstructionCaches, cache: Integer, line: Integer) -> None:
    """Have a cache hold a line in the place of that which was used longest ago."""
    if not has(caches, cache, line):
        oldest = 0
        for place in range(caches.sizes[cache]):
            if caches.used[cache, place] < caches.used[cache, oldest]:
                oldest = place
        if caches.lines[cache, oldest] >= 0:
            caches.places[cache, caches.lines[cache, oldest]] = -1
        caches.lines[cache, oldest], caches.places[cache, line] = line, oldest
    use(caches, cache, line)


@inlined
def bring(caches: InstructionCaches, core: Integer, line: Integer, at: Integer) -> None:
    """Have a line arrive at a sub-core in a cycle."""
    put(caches, core, line)
    caches.arrives[core, line] = at


@inner
def fetched(caches: InstructionCaches, f: Numbers, core: Integer, line: Integer, jumped: bool, t: Integer) -> Integer:
    """The cycle from which a warp of a sub-core can issue the first instruction of a line of code, which it came to at
    cycle t; by a branch or from the line before."""
    count = len(caches.comes)
    if has(caches, core, line) and (not jumped or t >= caches.arrives[core, line]):
        use(caches, core, line)
        if not jumped and line + 1 < count and not has(caches, core, line + 1):
            for here in range(line + 1, min(line + 2 + AHEAD, count)):
                if has(caches, SHARED, here):
                    bring(caches, core, here, t + (here - line) * f.code_ahead)
        come: Integer = max(t, caches.comes[line])
        return come
    at: Integer = t
    if jumped:
        caches.port[0] = max(caches.port[0], t) + 1
        at = caches.port[0] - 1 + f.code_near
    for here in range(line, min(line + 1 + AHEAD, count)):
        if not has(caches, SHARED, here):
            kept = has(caches, LAST, here)
            if not jumped or here > line + 1:
                caches.following[0] = max(caches.following[0] + (f.code_apart if kept else f.code_apart_l2), t)
            elif here == line:
                caches.following[0] = t + (f.code_far if kept else f.code_farthest)
            caches.comes[here] = caches.following[0]
            put(caches, LAST, here)
            put(caches, SHARED, here)
        if here == line or not has(caches, core, here) or caches.arrives[core, here] > t:
            bring(caches, core, here, at + (here - line) * f.code_ahead)
    at = max(at, caches.comes[line])
    return at


@inlined
def turn(caches: InstructionCaches, f: Numbers, core: Integer, t: Integer) -> Integer:
    """The cycle in which a taken branch that issues at cycle t has its target, if that is in the sub-core's cache."""
    last = caches.turned[core]
    begins: Integer = max(t, last + f.branch_apart)
    caches.turned[core] = begins
    return begins + f.branch + (f.branch_others if begins < last + f.branch else 0)
