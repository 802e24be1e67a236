"""Advice on the layout of shared memory behind copies: the threads keep their elements, every access is replayed."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from banksim.advise.layouts.candidates import Candidate, candidates
from banksim.architectures.bank_rules import Architecture, architectures
from banksim.banks.replay import ideal, transactions
from banksim.errors import InputError
from banksim.layouts import copies
from banksim.layouts.algebra import Layout
from banksim.layouts.build import Copy, GluonShared
from banksim.requests.counts import fewer

MOST_WORK = 40_000_000
"""Requests that are judged for all layouts and architectures together: about a minute."""
WORTH_COMPILING = 10_000
"""From so many requests on, the compiled rule is faster although it has to be loaded."""


@dataclass(frozen=True)
class JudgedLayout:
    """What all copies cost in one layout; figures by architecture, of a range the most. `worst`: of each copy the
    addresses of its dearest request on the first architecture, and `masks` its lanes."""

    layout: Candidate
    requests: int
    transactions: tuple[int, ...]
    ideal: tuple[int, ...]
    bytes: int
    atoms: tuple[copies.Atom, ...]
    worst: tuple[tuple[int, ...], ...]
    masks: tuple[int, ...]

    @property
    def is_free(self) -> bool:
        """Whether no conflict is left."""
        return self.transactions == self.ideal

    def to_json(self) -> dict[str, object]:
        return {
            "cute": self.layout.cute,
            "gluon": self.layout.gluon,
            "requests": self.requests,
            "transactions": list(self.transactions),
            "ideal": list(self.ideal),
            "bytes": self.bytes,
            "atoms": [{"op": atom.op, "width": atom.width} for atom in self.atoms],
        }


@dataclass(frozen=True)
class LayoutAdvice:
    """The layouts in which the copies cost less than in the one that they have, best first. `breaking`: layouts in
    which the atoms that were asked for do not fit."""

    copies: tuple[Copy, ...]
    archs: tuple[Architecture, ...]
    before: JudgedLayout
    better: tuple[JudgedLayout, ...]
    tried: int
    breaking: int
    shared: Layout | GluonShared = field(repr=False)
    """The layout of shared memory at present."""

    @property
    def best(self) -> JudgedLayout:
        """The best layout; the present one, if none is better."""
        return self.better[0] if self.better else self.before

    @property
    def verdict(self) -> str:
        """One sentence."""
        if not self.better:
            rest = ": no conflict is left" if self.before.is_free else ""
            return f"No layout pays: none of {self.tried} costs fewer transactions{rest}."
        if self.best.is_free:
            return f"The cheapest of {self.tried} layouts: no conflict is left."
        return f"The cheapest of {self.tried} layouts; conflicts are left in it."

    def to_json(self) -> dict[str, object]:
        return {
            "copies": [copy.text for copy in self.copies],
            "architectures": [arch.name for arch in self.archs],
            "before": self.before.to_json(),
            "better": [one.to_json() for one in self.better],
            "tried": self.tried,
            "breaking": self.breaking,
            "verdict": self.verdict,
        }


def advise_layouts(
    shared: Layout | GluonShared,
    found: Sequence[Copy],
    arch: str | Architecture | Sequence[str | Architecture] = "sm_90",
) -> LayoutAdvice:
    """Advice on the layout of shared memory that all these copies go to. `InputError` where there is too much to try,
    `UnknownCountError` where an architecture's count of an access is unknown."""
    archs = architectures(arch)
    element = found[0].element
    text = str(shared.layout if isinstance(shared, GluonShared) else shared)
    own = Candidate(text, "", found[0].places // element, int(found[0].places.max()) // element + 1, found[0].vectors)
    before = judge(own, found, archs)
    tried = list(candidates(shared, element))
    work = len(tried) * before.requests * len(archs)
    if work > MOST_WORK:
        raise InputError(
            f"{len(tried)} layouts of {before.requests:,} requests are too many to try ({work:,}; the limit is "
            f"{MOST_WORK:,}): give fewer copies or architectures"
        )
    if work > WORTH_COMPILING:
        import banksim.banks.compiled.arrays  # noqa: F401  # once it is loaded, `transactions` judges few requests too with it
    judged, breaking = [], 0
    for layout in tried:
        try:
            judged.append(judge(layout, found, archs))
        except InputError:
            breaking += 1
    better = [one for one in judged if fewer(one.transactions, before.transactions)]
    better.sort(key=lambda one: (sum(one.transactions), one.bytes))
    return LayoutAdvice(tuple(found), archs, before, tuple(better), len(judged), breaking, shared)


def judge(layout: Candidate, found: Sequence[Copy], archs: Sequence[Architecture]) -> JudgedLayout:
    """What the copies cost in a layout. `InputError` where an atom does not fit."""
    element = found[0].element
    total, least = [0] * len(archs), [0] * len(archs)
    requests = 0
    atoms: list[copies.Atom] = []
    worst: list[tuple[int, ...]] = []
    masks: list[int] = []
    for copy in found:
        moved = replace(copy, places=layout.places * element, vectors=layout.vectors)
        made = moved.accesses()
        columns = copies.columns(made, 0)
        requests += len(columns["mask"])
        atoms.append(made.atom)
        given = {"op": columns["op"], "width": columns["width"], "mask": columns["mask"]}
        for place, arch in enumerate(archs):
            counted = transactions(columns["address"], arch=arch, **given)
            most = np.asarray(counted[1] if isinstance(counted, tuple) else counted)
            best = np.asarray(ideal(columns["address"], arch=arch, **given))
            total[place] += int(most.sum())
            least[place] += int(best.sum())
            if place == 0:
                row = int(np.argmax(most - best))
                worst.append(tuple(columns["address"][row].tolist()))
                masks.append(int(columns["mask"][row]))
    return JudgedLayout(
        layout, requests, tuple(total), tuple(least), layout.size * element, tuple(atoms), tuple(worst), tuple(masks)
    )
