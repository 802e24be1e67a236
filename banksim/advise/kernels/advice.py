"""Advice on a kernel: layouts of its shared arrays, each compiled, executed and compared with the original."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from banksim.advise.kernels.measure import Bench, Measured
from banksim.advise.kernels.search import Search, Tried, best_first
from banksim.advise.kernels.source import KernelSource, SourceArray, rewritten
from banksim.advise.kernels.source_layouts import PADDINGS, padded
from banksim.architectures.bank_rules import Architecture, architectures
from banksim.errors import InputError
from banksim.machine.races.findings import Race, missing
from banksim.timing.whole_grid import MOST_ASSUMED
from banksim.wording import number, plural

MOST_RACES = 3
"""How many races are named."""


@dataclass(frozen=True)
class KernelAdvice:
    """The layouts that were tried on a kernel, the best of them if any pays, and the file with it."""

    source: KernelSource
    archs: tuple[Architecture, ...]
    before: Measured
    tried: tuple[Tried, ...]
    """In the order of the search."""
    best: Tried | None
    races: tuple[Race, ...] = ()
    """Of the kernel as it is."""
    compared: int = 0
    """The blocks of a large launch whose results were compared; 0: all of them."""

    @property
    def content(self) -> bytes:
        """The file with the best cure; as it is, if none pays."""
        return rewritten(self.source.content, self.best.changes) if self.best else self.source.content

    @property
    def after(self) -> Measured:
        """What the best costs; what the kernel costs as it is, if nothing pays."""
        return self.best.measured if self.best and self.best.measured else self.before

    @property
    def ranked(self) -> list[Tried]:
        """What was tried, the best first."""
        return best_first(self.tried, self.before)

    @property
    def is_proven(self) -> bool:
        """Whether the compiled code has no conflict left, by any architecture."""
        return self.after.excess == 0

    @property
    def verdict(self) -> str:
        if self.best is not None:
            proof = "no conflict is left" if self.is_proven else "conflicts are left"
            whose = f" of {plural(self.compared, 'block')} at the corners of classes" if self.compared else ""
            return f"Results{whose} are the same bit for bit, and {proof}: {self.best.name}.{self.launch}"
        if self.is_proven:
            return "No layout pays: as written no access conflicts."
        if not self.tried:
            return "No layout pays: none can be written into the source."
        return "No layout pays: every one that was tried is refused."

    @property
    def launch(self) -> str:
        """What the launch has to change, as a sentence; empty if nothing."""
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

    @property
    def rests(self) -> str:
        """What the time of the launch is, and rests on, as sentences; empty if none was simulated."""
        timed = [one for one in (self.before, *(one.measured for one in self.tried)) if one and one.cycles]
        if not timed:
            return ""
        said = "Launch: an estimate of its time behind others like it, as by banksim kernel --timing."
        if all(one.microseconds for one in timed):
            return said
        return f"{said} None is given (–) where more than {MOST_ASSUMED:.0%} of the warps' time is assumed."

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
            "blocks_compared": self.compared or None,
            "verdict": self.verdict,
            "notes": list(self.notes),
            "launch_rests_on": self.rests,
            "diff": self.diff(),
        }

    def figures(self, one: Measured) -> dict[str, object]:
        return {
            "requests": one.requests,
            "transactions": list(one.transactions),
            "ideal": [cost.ideal for cost in one.costs],
            "instructions": one.instructions,
            "launch_cycles": one.cycles,
            "launch_microseconds": one.microseconds,
            "wide_requests": {str(width): count for width, count in one.wide.items()},
            "shared_bytes": one.size,
            "dynamic_shared": one.dynamic,
            "blocks_per_sm": [one.blocks(arch) for arch in self.archs],
        }


def advise_kernel(
    source: KernelSource,
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
    costs less than that saves, and, where time can be simulated, the whole launch takes no more cycles. A large launch
    whose counts do not depend on data is counted by classes of blocks; results are then those of some blocks of each
    class. Raises what `banksim.run` raises for the kernel as it is written.
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
    return KernelAdvice(source, archs, before, tuple(search.tried), search.best, races, len(bench.blocks))


def chosen(source: KernelSource, names: Sequence[str]) -> list[SourceArray]:
    """The shared arrays of these names, or all. `InputError` if there is none."""
    known = {array.name: array for array in source.declared}
    if not known:
        called = "arrays of functions that it calls stay as they are"
        raise InputError(f"{source.file}: {source.name} declares no shared array whose layout could change: {called}")
    for name in names:
        if name not in known:
            raise InputError(f"{source.file}: {source.name} has no shared array {name!r}: it has {', '.join(known)}")
    return [array for array in source.declared if not names or array.name in names]
