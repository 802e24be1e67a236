"""From a parsed pattern to its `Trace`."""

from typing import NamedTuple

import numpy as np

from banksim.errors import InputError
from banksim.patterns.accesses import Finder
from banksim.patterns.evaluate import Mask, Scope, Variable
from banksim.patterns.syntax import Node, count
from banksim.patterns.threads import Threads, check_requests
from banksim.requests.kinds import LANES, OP_CODES
from banksim.requests.trace import Site, Trace

MOST_WORK = 1 << 33
"""The most operations on one thread's values: they take some ten seconds."""
CHUNK = 1 << 17
"""Threads that are evaluated at once, which bounds the memory of intermediate results."""


class Pattern(NamedTuple):
    """A pattern, parsed; `constants` are the lets that are the same for all threads and iterations."""

    threads: Threads
    variables: dict[str, Variable]
    lets: dict[str, Node]
    constants: frozenset[str]
    where: Node | None
    statements: list[Node]
    stores: list[Node]
    python: bool
    checked: bool

    def accesses(self, first: int, last: int) -> Finder:
        """What the statements access at points `first` to `last` (not included)."""
        names = self.threads.names(first, last)
        for name in names.keys() & self.variables.keys():
            del names[name]  # an array may be called tid
        scope = Scope(self.threads, first, names, self.variables, self.python, self.checked, self.constants)
        for name, node in self.lets.items():
            scope.names[name] = scope.evaluate(node)
        active: Mask = np.broadcast_to(self.threads.exist(), (last - first, self.threads.warps * LANES))
        if self.where is not None:
            active = scope.condition(self.where, active)
        finder = Finder(scope)
        for node in self.statements:
            finder.statement(node, active)
        for node in self.stores:
            finder.store(node, active)
        return finder

    def check_work(self) -> None:
        """Refuse what would take minutes to evaluate."""
        nodes = [*self.lets.values(), *self.statements, *self.stores, *([self.where] if self.where else [])]
        work = count(nodes) * self.threads.points * self.threads.warps * LANES
        if work > MOST_WORK:
            raise InputError(f"this takes {work} operations; the limit is {MOST_WORK}: give fewer blocks or iterations")

    def trace(self) -> Trace:
        """Every request, ordered by block, iteration, access, warp."""
        check_requests(self.threads, 1)
        self.check_work()
        step = max(1, CHUNK // (self.threads.warps * LANES))
        parts = []
        for first in range(0, self.threads.points, step):
            last = min(first + step, self.threads.points)
            finder = self.accesses(first, last)
            parts.append(requests(finder, first, last))
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return Trace(**columns, sites=tuple(Site(text=access.text) for access in finder.found))


def requests(finder: Finder, first: int, last: int) -> dict[str, np.ndarray]:
    """The columns of a `Trace` for the accesses found at points `first` to `last`."""
    threads, found = finder.scope.threads, finder.found
    lanes = (last - first, len(found), threads.warps, LANES)
    address, active = np.empty(lanes, np.uint32), np.empty(lanes, np.bool_)
    for site, access in enumerate(found):
        shape = (last - first, threads.warps * LANES)
        address[:, site] = np.broadcast_to(access.address, shape).reshape(lanes[0], *lanes[2:])
        active[:, site] = np.broadcast_to(access.active, shape).reshape(lanes[0], *lanes[2:])
    address *= active
    mask = np.packbits(active, axis=-1, bitorder="little").view("<u4")[..., 0]
    point, site_of, warp = np.nonzero(mask)  # a request with no active lane is no request
    block, iteration = np.divmod(first + point, threads.iterations)
    barriers = np.array([access.barriers for access in found], np.int64)
    return {
        "site": site_of.astype(np.int32),
        "block": block.astype(np.int32),
        "warp": warp.astype(np.int32),
        "op": np.array([OP_CODES[access.op] for access in found], np.uint8)[site_of],
        "width": np.array([access.width for access in found], np.uint8)[site_of],
        "mask": mask[point, site_of, warp].astype(np.uint32, copy=False),
        "address": address[point, site_of, warp],
        "epoch": (iteration * finder.barriers + barriers[site_of]).astype(np.int32),
    }
