"""The search for a cure: layouts tried one after the other, and why each is refused or taken."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from banksim.advise.kernels.measure import Bench, Changes, Measured
from banksim.advise.kernels.source import SourceArray, rewritten
from banksim.advise.kernels.source_layouts import PADDINGS, groups, padded
from banksim.architectures.bank_rules import Architecture
from banksim.architectures.occupancy import fits
from banksim.errors import BanksimError, CompileError, Fault, InputError
from banksim.wording import listed, number, plural

MOST_RUNS = 64
"""How many programs are compiled and executed at most."""
WORTH = 0.001
"""The part of the cost that a layout has to save: less is no reason to change a source."""
ALIKE = 0.01
"""Costs that differ by no more of the lesser are taken for the same: an estimate is not more exact."""


@dataclass(frozen=True)
class Tried:
    """A cure that was tried, with the reason why it was refused (empty: it was not)."""

    changes: Changes
    measured: Measured | None
    refused: str = ""
    is_same: bool = False
    """Whether the results are those of the original."""

    @property
    def name(self) -> str:
        return ", ".join(change.name for change in self.changes)

    @property
    def layouts(self) -> dict[str, str]:
        """The layout of each array that changes."""
        return {change.array.name: change.layout for change in self.changes}


class Search:
    """Tries layouts of one array after the other, on top of the best of those before it."""

    def __init__(self, bench: Bench, before: Measured) -> None:
        self.bench, self.before = bench, before
        self.tried: list[Tried] = []
        self.sources: dict[bytes, Tried] = {}
        """What was tried, by the source with it: two ways to one source are one layout."""
        self.best: Tried | None = None

    @property
    def is_done(self) -> bool:
        return self.best is not None and self.best.measured is not None and not self.best.measured.excess

    def all(self, arrays: Sequence[SourceArray]) -> None:
        for array in arrays:
            self.one(array)
            if self.is_done:
                return
        rows = [array for array in arrays if len(array.lengths) > 1]
        for more in PADDINGS if len(rows) > 1 else ():
            self.attempt(tuple(padded(array, more) for array in rows))

    def one(self, array: SourceArray) -> None:
        base = self.best.changes if self.best else ()
        layouts = [*groups(array, self.bench.dynamic_shared)]
        first = [(*base, group[0]) for group in layouts[:2] if group]
        contents = [rewritten(self.bench.source.content, changes) for changes in first]
        self.bench.source.ahead(contents, self.bench.args, self.bench.archs)
        for place, group in enumerate(layouts):
            for change in group:
                attempt = self.attempt((*base, change))
                if not attempt.refused and attempt.measured and not attempt.measured.excess:
                    break
            if self.is_done and place:  # a padding and a swizzle, to compare
                return

    def attempt(self, changes: Changes) -> Tried:
        """Compile and run some changes; an attempt that is refused says why."""
        if self.bench.runs == MOST_RUNS:
            raise InputError(
                f"{self.bench.source.name}: more than {MOST_RUNS} programs to compile and run: name one array "
                f"with --array ({listed(sorted({one.name for one in self.bench.source.declared}))})"
            )
        source = rewritten(self.bench.source.content, changes)
        if source in self.sources:
            return self.sources[source]
        try:
            measured = self.bench.measure(changes)
            is_same = measured.has_results_of(self.before)
            refused = refusal(measured, self.before, self.bench.archs)
            if not refused and self.before.cycles is not None:
                measured = self.bench.timed(measured)
                refused = slower(measured, self.before)
            refused = refused or self.negligible(changes, measured)
            found = Tried(changes, measured, refused, is_same)
        except (CompileError, Fault, InputError) as error:
            found = Tried(changes, None, self.why_not(changes, error))
        self.tried.append(found)
        self.sources[source] = found
        first = best_first(self.tried, self.before)[0]
        self.best = None if first.refused else first
        return found

    def negligible(self, changes: Changes, after: Measured) -> str:
        """Why a change is not worth making, compared with the best so far; "" if it is."""
        best, before = self.best, self.before
        if best is not None and best.measured is not None and best.changes == changes[: len(best.changes)]:
            before = best.measured
        if any(1 - new.of(old) >= WORTH for new, old in zip(after.costs, before.costs, strict=True)):
            return ""
        what = f"beside {best.name} it saves too little" if best and before is best.measured else "it saves too little"
        if after.cycles is not None and before.cycles is not None:
            return f"{what}: {cycles(before, after)}"
        pairs = list(zip(before.transactions, after.transactions, strict=True))
        saved, was = max((old - new, old) for old, new in pairs)
        return f"{what}: {number(saved)} of {number(was)} transactions"

    def why_not(self, changes: Changes, error: BanksimError) -> str:
        """What a layout requires that the source does not hold; else the first line of the message, which calls the
        copy that was compiled by the name of the file."""
        needed = [change.requires[1] for change in changes if change.requires and change.requires[1] in str(error)]
        name = self.bench.source.file.name
        line = re.sub(rf"\S+/(?={re.escape(name)}[:(])", "", (str(error).splitlines() or [""])[0])
        return needed[0] if needed else f"it does not run: {line}"


def best_first(tried: Sequence[Tried], before: Measured) -> list[Tried]:
    """Cures, then what is refused, then what does not run. Of those that cost alike, one without conflicts is first,
    then the one with fewer instructions, then that with less memory."""

    def preferred(pair: tuple[Tried, Measured]) -> tuple[bool, int, int, float]:
        return pair[1].excess > 0, pair[1].instructions, pair[1].size, pair[1].of(before)

    left, found = [(one, one.measured) for one in tried if one.measured], list[Tried]()
    while left:
        cures = [pair for pair in left if not pair[0].refused] or left
        most = (1 + ALIKE) * min(measured.of(before) for _, measured in cures)
        found.append(min((pair for pair in cures if pair[1].of(before) <= most), key=preferred)[0])
        left = [pair for pair in left if pair[0] is not found[-1]]
    return [*found, *(one for one in tried if not one.measured)]


def refusal(after: Measured, before: Measured, archs: Sequence[Architecture]) -> str:
    """Why a change is no cure; empty if it is one."""
    if not after.has_results_of(before):
        return "the results differ"
    if not all(fits(after.size, before.size, arch) for arch in archs):
        return f"{number(after.size)} bytes of shared memory are too many"
    pairs = list(zip(before.costs, after.costs, strict=True))
    saved = [old.transactions - new.transactions for old, new in pairs]
    pays = [new.time < old.time or new == old for old, new in pairs]
    if min(saved) >= 0 and max(saved) > 0 and all(pays):
        return ""
    least = min(zip(pays, saved, archs, strict=True), key=lambda one: one[:2])
    return "; ".join(losses(after, before, least[1], least[2].name if len(archs) > 1 else ""))


def slower(after: Measured, before: Measured) -> str:
    """Why the compiled code takes longer; "" if it does not."""
    if after.cycles is None or before.cycles is None or after.cycles <= before.cycles:
        return ""
    return f"it is slower: {cycles(before, after)}"


def cycles(before: Measured, after: Measured) -> str:
    was, becomes = (number(one.cycles) for one in (before, after))
    return f"{was} simulated cycles of the launch become {becomes}"


def losses(after: Measured, before: Measured, saved: int, arch: str) -> Iterator[str]:
    """What speaks against a change that leaves `saved` fewer transactions on one architecture, point by point."""
    for width, count in sorted(before.wide.items(), reverse=True):
        left = after.wide.get(width, 0)
        if left < count:
            yield f"it loses merged loads: {number(count)} requests of {width} bytes become {number(left)}"
    where = f" on {arch}" if arch else ""
    if saved < 0:
        yield f"{plural(-saved, 'transaction')} more{where}"
    else:
        yield (f"only {plural(saved, 'transaction')} fewer" if saved else "no transaction fewer") + where
    if added := max(0, after.instructions - before.instructions):
        yield f"{plural(added, 'warp instruction')} more"
