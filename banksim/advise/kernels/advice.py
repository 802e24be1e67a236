"""Advice on a kernel: layouts of its shared arrays, each compiled, executed and compared with the original."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from banksim.advise.kernels.costs import Cost, can_be_timed, costs
from banksim.advise.kernels.source import Change, Declared, Source, rewritten
from banksim.advise.kernels.source_layouts import PADDINGS, groups, padded
from banksim.architectures.bank_rules import Architecture, architectures
from banksim.architectures.occupancy import blocks_per_sm, fits
from banksim.errors import BanksimError, CompileError, Fault, InputError, UnsupportedError
from banksim.machine.host_memory import copied
from banksim.machine.races.findings import Race, missing
from banksim.runs.options import Call, Options
from banksim.runs.outcome import Run
from banksim.wording import listed, number, plural

MOST_RACES = 3
"""Races that are named."""
MOST_RUNS = 64
"""Programs that are compiled and executed."""
WORTH = 0.001
"""The part of the cost that a layout has to save: less is no reason to change a source."""
Changes = tuple[Change, ...]


@dataclass(frozen=True)
class Measured:
    """What the compiled code with some changes costs, by architecture; `run`: its launch."""

    kernel: Any
    run: Run
    costs: tuple[Cost, ...]
    results: tuple[bytes, ...]
    dynamic: int
    """Bytes of dynamic shared memory that the launch asked for."""

    @property
    def requests(self) -> int:
        return self.run.conflicts.requests

    @property
    def transactions(self) -> tuple[int, ...]:
        return tuple(cost.transactions for cost in self.costs)

    @property
    def instructions(self) -> int:
        return self.run.instructions

    @property
    def excess(self) -> int:
        return sum(cost.transactions - cost.ideal for cost in self.costs)

    @property
    def cycles(self) -> float | None:
        """Simulated cycles of an SM for each block; None if no time was simulated."""
        return next((cost.cycles for cost in self.costs if cost.cycles is not None), None)

    def of(self, before: Measured) -> float:
        """What part of the cost before this is, summed over the architectures."""
        return sum(new.of(old) for new, old in zip(self.costs, before.costs, strict=True))

    @property
    def size(self) -> int:
        """Shared memory of a block, in bytes."""
        return self.run.launch.shared_bytes - self.run.launch.kernel.shared_base

    def blocks(self, arch: Architecture) -> int:
        """Blocks that an SM holds; the registers are known of the architecture that the code was compiled for."""
        kernel, threads = self.run.kernel, prod(self.run.launch.block)
        return blocks_per_sm(self.size, arch, threads, kernel.registers if arch.name == kernel.arch else 0)

    @property
    def wide(self) -> Mapping[int, int]:
        """Requests of more than 4 bytes a lane, by these bytes."""
        found: dict[int, int] = {}
        for site in self.run.conflicts.sites:
            if site.width > 4:
                found[site.width] = found.get(site.width, 0) + site.requests
        return found


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
        """By array."""
        return {change.array.name: change.layout for change in self.changes}


@dataclass(frozen=True)
class KernelAdvice:
    """What was tried on a kernel, the best of it if any pays, and the file with that."""

    source: Source
    archs: tuple[Architecture, ...]
    before: Measured
    tried: tuple[Tried, ...]
    best: Tried | None
    races: tuple[Race, ...] = ()
    """Of the kernel as it is."""

    @property
    def content(self) -> bytes:
        """The file with the best cure; as it is, if none pays."""
        return rewritten(self.source.content, self.best.changes) if self.best else self.source.content

    @property
    def after(self) -> Measured:
        """What the best costs; what the kernel costs as it is, if nothing pays."""
        return self.best.measured if self.best and self.best.measured else self.before

    @property
    def is_proven(self) -> bool:
        """Whether the compiled code has no conflict left, by any architecture."""
        return self.after.excess == 0

    @property
    def verdict(self) -> str:
        if self.best is not None:
            proof = "no conflict is left" if self.is_proven else "conflicts are left"
            return f"Results are the same bit for bit, and {proof}: {self.best.name}.{self.launch}"
        if self.is_proven:
            return "No layout pays: as written no access conflicts."
        if not self.tried:
            return "No layout pays: none can be written into the source."
        return "No layout pays: every one that was tried is refused."

    @property
    def launch(self) -> str:
        """What the launch has to change."""
        if self.after.dynamic == self.before.dynamic:
            return ""
        dynamic = f"{number(self.after.dynamic)} in the place of {number(self.before.dynamic)} bytes"
        return f" Launch it with {dynamic} of dynamic shared memory."

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know beside the figures: missing barriers, results that say little, arrays that cannot change."""
        found = [f"As written it has a race: {missing(race)}" for race in self.races[:MOST_RACES]]
        if len(self.races) > MOST_RACES:
            found.append(f"{len(self.races) - MOST_RACES} more races: banksim kernel --check races names them.")
        if self.best is not None and all(len(set(one)) < 2 for one in self.after.results):
            found.append("All results are one byte over and over, so that they prove little: give arguments =random.")
        for array in self.source.declared if self.before.excess else ():
            can = "can only have longer rows" if len(array.lengths) > 1 else "cannot be changed"
            found += [f"{array.name} {can}: {array.fixed}"] if array.fixed else []
        return tuple(found)

    def diff(self) -> str:
        """The change as a unified diff; empty if nothing pays."""
        name = self.source.file.as_posix()
        before, after = (
            content.decode(errors="replace").splitlines(keepends=True)
            for content in (self.source.content, self.content)
        )
        return "".join(difflib.unified_diff(before, after, name, name))

    def to_json(self) -> dict[str, object]:
        return {
            "kernel": self.source.name,
            "file": str(self.source.file),
            "architectures": [arch.name for arch in self.archs],
            "before": self.figures(self.before),
            "tried": [
                {
                    "layouts": one.layouts,
                    "refused": one.refused or None,
                    **(self.figures(one.measured) if one.measured else {}),
                }
                for one in self.tried
            ],
            "best": self.best and self.best.layouts,
            "proven": self.is_proven,
            "verdict": self.verdict,
            "notes": list(self.notes),
            "diff": self.diff(),
        }

    def figures(self, one: Measured) -> dict[str, object]:
        return {
            "requests": one.requests,
            "transactions": list(one.transactions),
            "ideal": [cost.ideal for cost in one.costs],
            "instructions": one.instructions,
            "cycles_per_block": one.cycles,
            "wide_requests": {str(width): count for width, count in one.wide.items()},
            "shared_bytes": one.size,
            "dynamic_shared": one.dynamic,
            "blocks_per_sm": [one.blocks(arch) for arch in self.archs],
        }


def advise_kernel(
    source: Source,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[object] = (),
    *,
    arch: str | Architecture | Sequence[str | Architecture] = "sm_90",
    dynamic_shared: int = 0,
    arrays: Sequence[str] = (),
) -> KernelAdvice:
    """Try layouts of the shared arrays that `source` declares (only `arrays`, if some are named), in compiled code.

    Arguments as those of `banksim.run`; the arrays in `args` are left as they are. A cure is taken if the results
    are the same bit for bit, no architecture needs more transactions and one fewer, what it adds to the instructions
    costs less than that saves, and, where time can be simulated, no more cycles pass. Raises what `banksim.run`
    raises for the kernel as it is written.
    """
    declared = chosen(source, arrays)
    archs = architectures(arch)
    bench = Bench(source, grid, block, args, archs, dynamic_shared)
    before, races = bench.checked()
    before = bench.timed(before) if before.excess else before
    search = Search(bench, before)
    if before.excess:
        search.all(declared)
    elif rows := [array for array in declared if len(array.lengths) > 1]:  # one attempt shows what a padding costs
        search.attempt(tuple(padded(array, PADDINGS[0]) for array in rows))
    return KernelAdvice(source, archs, before, tuple(search.tried), search.best, races)


def chosen(source: Source, names: Sequence[str]) -> list[Declared]:
    """The shared arrays of these names, or all. `InputError` if there is none."""
    known = {array.name: array for array in source.declared}
    if not known:
        raise InputError(f"{source.file}: {source.name} declares no shared array whose layout could change")
    for name in names:
        if name not in known:
            raise InputError(f"{source.file}: {source.name} has no shared array {name!r}: it has {', '.join(known)}")
    return [array for array in source.declared if not names or array.name in names]


class Bench:
    """Runs a kernel with one change after another on the same arguments."""

    def __init__(
        self,
        source: Source,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[object],
        archs: tuple[Architecture, ...],
        dynamic_shared: int,
    ) -> None:
        self.source, self.grid, self.block, self.args = source, grid, block, args
        self.archs, self.dynamic_shared = archs, dynamic_shared
        self.runs = 0

    def checked(self) -> tuple[Measured, tuple[Race, ...]]:
        """The kernel as it is, and its races: with one, results are the same by luck."""
        try:
            measured = self.measure((), check="races")
        except UnsupportedError:  # of what is watched
            return self.measure(()), ()
        return measured, tuple(one for one in measured.run.findings if isinstance(one, Race))

    def measure(self, changes: Changes, **options: object) -> Measured:
        """Compile, execute, and count."""
        self.runs += 1
        dynamic = self.dynamic_shared
        for change in changes:
            dynamic = change.bytes_after(dynamic) if change.bytes_after else dynamic
        return self.run(self.source.kernel(rewritten(self.source.content, changes)), dynamic, **options)

    def timed(self, measured: Measured) -> Measured:
        """The same with time simulated, where it can be."""
        if not can_be_timed(measured.run):
            return measured
        try:
            return self.run(measured.kernel, measured.dynamic, timing=True)
        except UnsupportedError:
            return measured

    def run(self, kernel: Any, dynamic: int, **options: Any) -> Measured:
        """Execute on copies of the arguments. One worker: results have one order."""
        from banksim.runs.run import run_with

        call = Call(kernel, self.grid, self.block, copied(self.args))
        done = run_with(call, Options(arch=self.archs, dynamic_shared=dynamic, workers=1, **options))
        results = tuple(arg.tobytes() for arg in call.args if isinstance(arg, np.ndarray))
        return Measured(kernel, done, costs(done), results, dynamic)


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

    def all(self, arrays: Sequence[Declared]) -> None:
        for array in arrays:
            self.one(array)
            if self.is_done:
                return
        rows = [array for array in arrays if len(array.lengths) > 1]
        for more in PADDINGS if len(rows) > 1 else ():
            self.attempt(tuple(padded(array, more) for array in rows))

    def one(self, array: Declared) -> None:
        base = self.best.changes if self.best else ()
        for place, group in enumerate(groups(array, self.bench.dynamic_shared)):
            for change in group:
                attempt = self.attempt((*base, change))
                if not attempt.refused and attempt.measured and not attempt.measured.excess:
                    break
            if self.is_done and place:  # a padding and a swizzle, to compare
                return

    def attempt(self, changes: Changes) -> Tried:
        """A cure, with the reason if it is none."""
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
            is_same = measured.results == self.before.results
            refused = refusal(measured, self.before, self.bench.archs)
            if not refused and self.before.cycles is not None:
                measured = self.bench.timed(measured)
                refused = slower(measured, self.before)
            refused = refused or self.negligible(changes, measured)
            found = Tried(changes, measured, refused, is_same)
        except (CompileError, Fault, InputError) as error:
            found = Tried(changes, None, f"it does not run: {self.gist(error)}")
        self.tried.append(found)
        self.sources[source] = found
        if not found.refused and (self.best is None or self.is_cheaper(found, self.best)):
            self.best = found
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

    def gist(self, error: BanksimError) -> str:
        """The first line of a message, in which a copy of the file is called as the file is."""
        name = self.bench.source.file.name
        return re.sub(rf"\S+/(?={re.escape(name)}:)", "", (str(error).splitlines() or [""])[0])

    def is_cheaper(self, one: Tried, than: Tried) -> bool:
        """Whether a cure costs less, or as much and less memory."""
        assert one.measured is not None
        assert than.measured is not None
        mine, other = one.measured, than.measured
        return (mine.of(self.before), mine.size) < (other.of(self.before), other.size)


def refusal(after: Measured, before: Measured, archs: Sequence[Architecture]) -> str:
    """Why a change is no cure; empty if it is one."""
    if after.results != before.results:
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
    was, becomes = (number(round(one.cycles or 0)) for one in (before, after))
    return f"{was} simulated cycles a block become {becomes}"


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
