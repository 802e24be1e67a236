"""Advice on a kernel: longer rows of its shared arrays, each compiled, executed and compared with the original."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from banksim.advise.limits import blocks_per_sm, fits
from banksim.advise.sources import Declared, Source, padded, require_arrays
from banksim.arch import Architecture, architecture
from banksim.conflicts import Conflicts, ends
from banksim.errors import BanksimError, CompileError, Fault, InputError, UnknownCountError
from banksim.report.words import number

PADDINGS = (1, 2, 4)
"""Elements that rows get more."""
MOST_RUNS = 64
"""Programs that are compiled and executed."""


@dataclass(frozen=True)
class Measured:
    """What the compiled code with some paddings costs; `transactions` by architecture, of a range the most."""

    paddings: tuple[tuple[Declared, int], ...]
    requests: int
    transactions: tuple[int, ...]
    ideal: tuple[int, ...]
    instructions: int
    wide: Mapping[int, int]
    """Requests of more than 4 bytes a lane, by these bytes."""
    size: int
    """Shared memory of a block, in bytes."""
    results: tuple[bytes, ...]

    @property
    def excess(self) -> int:
        return sum(self.transactions) - sum(self.ideal)


@dataclass(frozen=True)
class Tried:
    """A cure that was tried, with the reason why it was refused (empty: it was not)."""

    paddings: tuple[tuple[Declared, int], ...]
    measured: Measured | None
    refused: str = ""

    @property
    def name(self) -> str:
        return ", ".join(f"{declared.name}: rows of {declared.longer(more)}" for declared, more in self.paddings)


@dataclass(frozen=True)
class KernelAdvice:
    """What was tried on a kernel, the best of it if any pays, and the file with that."""

    source: Source
    archs: tuple[Architecture, ...]
    before: Measured
    tried: tuple[Tried, ...]
    best: Tried | None

    @property
    def content(self) -> bytes:
        """The file with the best cure; as it is, if none pays."""
        return padded(self.source.content, dict(self.best.paddings)) if self.best else self.source.content

    @property
    def is_proven(self) -> bool:
        """Whether the compiled code has no conflict left, by any architecture."""
        return ((self.best and self.best.measured) or self.before).excess == 0

    @property
    def verdict(self) -> str:
        if self.best is not None:
            proof = "no conflict is left" if self.is_proven else "conflicts are left"
            return f"Results are the same bit for bit, and {proof}: {self.best.name}."
        if self.is_proven:
            return "No layout pays: as written no access conflicts, and no layout can do better."
        return "No layout pays: every padding that was tried is refused."

    def diff(self) -> str:
        """The change as a unified diff; empty if nothing pays."""
        name = self.source.file.as_posix()
        before, after = (
            content.decode(errors="replace").splitlines(keepends=True)
            for content in (self.source.content, self.content)
        )
        return "".join(difflib.unified_diff(before, after, name, name))

    def to_json(self) -> dict[str, Any]:
        return {
            "kernel": self.source.name,
            "file": str(self.source.file),
            "architectures": [arch.name for arch in self.archs],
            "before": self.figures(self.before),
            "tried": [
                {
                    "paddings": {declared.name: more for declared, more in one.paddings},
                    "refused": one.refused or None,
                    **(self.figures(one.measured) if one.measured else {}),
                }
                for one in self.tried
            ],
            "best": self.best and {declared.name: more for declared, more in self.best.paddings},
            "proven": self.is_proven,
            "verdict": self.verdict,
            "diff": self.diff(),
        }

    def figures(self, one: Measured) -> dict[str, Any]:
        return {
            "requests": one.requests,
            "transactions": list(one.transactions),
            "ideal": list(one.ideal),
            "instructions": one.instructions,
            "wide_requests": {str(width): count for width, count in one.wide.items()},
            "shared_bytes": one.size,
            "blocks_per_sm": [blocks_per_sm(one.size, arch) for arch in self.archs],
        }


def advise_kernel(
    source: Source,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any] = (),
    *,
    arch: str | Architecture | Sequence[str | Architecture] = "sm_90",
    dynamic_shared: int = 0,
) -> KernelAdvice:
    """Try longer rows for the shared arrays that `source` declares, and measure each in the compiled code.

    Arguments as those of `banksim.run`; the arrays in `args` are left as they are. A cure is taken if the results
    are the same bit for bit, no architecture needs more transactions and one fewer, and more transactions are
    saved than instructions added. Raises what `banksim.run` raises for the kernel as it is written.
    """
    require_arrays(source)
    given = [arch] if isinstance(arch, str | Architecture) else list(arch)
    archs = tuple(architecture(one) for one in given)
    bench = Bench(source, grid, block, args, archs, dynamic_shared)
    before = bench.measure({})
    if not before.excess:  # one attempt shows what a padding would cost
        shown = bench.attempt(dict.fromkeys(source.declared, PADDINGS[0]), before)
        return KernelAdvice(source, archs, before, (shown,), None)
    tried: list[Tried] = []
    best: Tried | None = None
    single = [(one,) for one in source.declared]
    for arrays in [*single, source.declared] if len(single) > 1 else single:
        for more in PADDINGS:
            base = dict(best.paddings) if best and len(arrays) == 1 else {}
            attempt = bench.attempt({**base, **dict.fromkeys(arrays, more)}, before)
            tried.append(attempt)
            if not attempt.refused and is_cheaper(attempt, best, before):
                best = attempt
            if best and best.measured and not best.measured.excess:  # longer rows would only take more memory
                return KernelAdvice(source, archs, before, tuple(tried), best)
    return KernelAdvice(source, archs, before, tuple(tried), best)


def is_cheaper(one: Tried, than: Tried | None, before: Measured) -> bool:
    """Whether a cure costs fewer transactions, or as many and less memory."""
    known = than.measured if than and than.measured else before
    assert one.measured is not None
    mine, other = one.measured, known
    return (sum(mine.transactions), mine.size) < (sum(other.transactions), other.size)


class Bench:
    """Runs a kernel with one change after another on the same arguments."""

    def __init__(
        self,
        source: Source,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        archs: tuple[Architecture, ...],
        dynamic_shared: int,
    ) -> None:
        self.source, self.grid, self.block, self.args = source, grid, block, args
        self.archs, self.dynamic_shared = archs, dynamic_shared
        self.runs = 0

    def measure(self, paddings: Mapping[Declared, int]) -> Measured:
        """Compile, execute on copies of the arguments, and count. One worker: results have one order."""
        from banksim.run_kernel import run

        self.runs += 1
        if self.runs > MOST_RUNS:
            raise InputError(
                f"{self.source.name} has {len(self.source.declared)} shared arrays, "
                f"and that takes more than {MOST_RUNS} programs: give it fewer"
            )
        args = copy.deepcopy(list(self.args))
        kernel = self.source.kernel(padded(self.source.content, paddings))
        done = run(kernel, self.grid, self.block, args, arch=self.archs, dynamic_shared=self.dynamic_shared, workers=1)
        wide: dict[int, int] = {}
        for site in done.conflicts.sites:
            if site.width > 4:
                wide[site.width] = wide.get(site.width, 0) + site.requests
        return Measured(
            paddings=tuple(paddings.items()),
            requests=done.conflicts.requests,
            transactions=tuple(known(judged)[0] for judged in done.judged),
            ideal=tuple(known(judged)[1] for judged in done.judged),
            instructions=done.instructions,
            wide=wide,
            size=done.launch.shared_bytes - done.launch.kernel.shared_base,
            results=tuple(arg.tobytes() for arg in args if isinstance(arg, np.ndarray)),
        )

    def attempt(self, paddings: Mapping[Declared, int], before: Measured) -> Tried:
        """A cure, with the reason if it is none."""
        pairs = tuple(paddings.items())
        try:
            measured = self.measure(paddings)
        except (CompileError, Fault, InputError) as error:
            if self.runs > MOST_RUNS:
                raise
            return Tried(pairs, None, f"it does not run: {first_line(error)}")
        return Tried(pairs, measured, refusal(measured, before, self.archs))


def first_line(error: BanksimError) -> str:
    return (str(error).splitlines() or [""])[0]


def known(judged: Conflicts) -> tuple[int, int]:
    """Transactions (of a range the most) and ideal of a run."""
    if judged.transactions is None or judged.ideal is None:
        site = next(site for site in judged.sites if site.transactions is None)
        raise UnknownCountError(judged.arch.why_unknown(site.op, site.width))
    return ends(judged.transactions).high, judged.ideal


def refusal(after: Measured, before: Measured, archs: Sequence[Architecture]) -> str:
    """Why a change is no cure; empty if it is one."""
    if after.results != before.results:
        return "the results differ"
    if not all(fits(after.size, before.size, arch) for arch in archs):
        return f"{number(after.size)} bytes of shared memory are too many"
    saved = [old - new for old, new in zip(before.transactions, after.transactions, strict=True)]
    added = after.instructions - before.instructions
    if min(saved) >= 0 and max(saved) > 0 and max(saved) > added:
        return ""
    return "; ".join(losses(after, before, saved, added, archs)) or "it changes nothing"


def losses(
    after: Measured, before: Measured, saved: Sequence[int], added: int, archs: Sequence[Architecture]
) -> Iterator[str]:
    """What a change loses, and that it gains nothing."""
    for width, count in sorted(before.wide.items(), reverse=True):
        left = after.wide.get(width, 0)
        if left < count:
            yield f"it loses merged loads: {number(count)} requests of {width} bytes become {number(left)}"
    worse = [(arch.name, -count) for arch, count in zip(archs, saved, strict=True) if count < 0]
    for name, count in worse:
        yield f"{number(count)} transactions more" + (f" on {name}" if len(archs) > 1 else "")
    if not worse:
        yield f"only {number(max(saved))} transactions fewer" if max(saved) else "no transaction fewer"
    if added > 0:
        yield f"{number(added)} warp instructions more"
