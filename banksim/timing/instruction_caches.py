"""The instruction caches of a multiprocessor: one of each sub-core, one that all share, one behind that, the L2 cache.

Caches keep the lines that came last (assumed: neither sets nor uses count). A line that a sub-core lacks comes with
the next two, so that code without branches does not wait while the multiprocessor's own cache has it; a branch into one
of these waits all the same. From behind that cache, lines come at a rate. Launches that follow one another find what
the last one left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.architectures.latencies import Numbers
from banksim.kernels.kernel import BYTES
from banksim.system.bundles import bundle
from banksim.system.compiled_types import Integer
from banksim.system.jit import inlined, inner

LINE = 128 // BYTES
"""Instructions of a line of code."""
SUB_CORES = 4
SHARED, LAST = SUB_CORES, SUB_CORES + 1
"""The caches behind those of the sub-cores: 0 to 3."""
AHEAD = 2
"""How many lines come with one that a sub-core lacks."""


@bundle
class InstructionCaches(NamedTuple):
    """The lines that are kept: those that came last, by counting them."""

    came: npt.NDArray[np.int64]  # (cache, line): how many lines had come when it came, it included
    counts: npt.NDArray[np.int64]  # by cache: how many lines have come
    sizes: npt.NDArray[np.int64]  # … and how many it holds
    reached: npt.NDArray[np.bool_]  # (sub-core, line): whether a warp has been there since the line came
    comes: npt.NDArray[np.int64]  # by line: the cycle in which the multiprocessor has it
    following: npt.NDArray[np.int64]  # one: … the last of them that was asked for
    port: npt.NDArray[np.int64]  # one: the cycle until which the shared cache is held
    turned: npt.NDArray[np.int64]  # by sub-core: the cycle of its last taken branch


def new_caches(instructions: int, figures: Numbers) -> InstructionCaches:
    """Caches as the last launch of the same code left them: what the code does not exceed, they have."""
    lines = -(-instructions // LINE) + AHEAD
    sizes = np.array([figures.code_own] * SUB_CORES + [figures.code_shared, figures.code_last])
    gone = -(1 << 40)
    return InstructionCaches(
        came=np.where(lines <= sizes[:, None], 0, gone) + np.zeros((1, lines), np.int64),
        counts=np.zeros(len(sizes), np.int64),
        sizes=sizes,
        reached=np.ones((SUB_CORES, lines), np.bool_),
        comes=np.zeros(lines, np.int64),
        following=np.zeros(1, np.int64),
        port=np.zeros(1, np.int64),
        turned=np.full(SUB_CORES, -figures.branch),
    )


@inlined
def has(caches: InstructionCaches, cache: Integer, line: Integer) -> bool:
    return bool(caches.counts[cache] - caches.came[cache, line] < caches.sizes[cache])


@inlined
def put(caches: InstructionCaches, cache: Integer, line: Integer) -> None:
    caches.counts[cache] += 1
    caches.came[cache, line] = caches.counts[cache]


@inner
def fetched(caches: InstructionCaches, f: Numbers, core: Integer, line: Integer, jumped: bool, t: Integer) -> Integer:
    """The cycle from which a warp of a sub-core can issue the first instruction of a line of code, which it came to at
    cycle t; by a branch or from the line before."""
    near = has(caches, core, line)
    if near and (caches.reached[core, line] or not jumped):
        caches.reached[core, line] = True
        at: Integer = max(t, caches.comes[line])
        return at
    at = t
    if jumped:
        caches.port[0] = max(caches.port[0], t) + 1
        at = caches.port[0] - 1 + f.code_near
    for ahead in range(min(AHEAD + 1, len(caches.comes) - line)):
        here = line + ahead
        if not has(caches, SHARED, here):
            kept = has(caches, LAST, here)
            if not jumped or ahead > 1:
                caches.following[0] = max(caches.following[0] + (f.code_apart if kept else f.code_apart_l2), t)
            elif ahead == 0:
                caches.following[0] = t + (f.code_far if kept else f.code_farthest)
            caches.comes[here] = caches.following[0]
            if not kept:
                put(caches, LAST, here)
            put(caches, SHARED, here)
        if not has(caches, core, here):
            put(caches, core, here)
            caches.reached[core, here] = False
    caches.reached[core, line] = True
    at = max(at, caches.comes[line])
    return at


@inlined
def turn(caches: InstructionCaches, f: Numbers, core: Integer, t: Integer) -> Integer:
    """The cycle in which a taken branch that issues at cycle t has its target, if that is in the sub-core's cache."""
    last = caches.turned[core]
    begins: Integer = max(t, last + f.branch_apart)
    caches.turned[core] = begins
    return begins + f.branch + (f.branch_others if begins < last + f.branch else 0)
