"""Reports as plain data turned back into what they were made of: conflicts, findings, hints."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from banksim.architectures.bank_rules import architecture
from banksim.banks.comparison import count
from banksim.banks.conflicts import Conflicts, SiteConflicts
from banksim.machine.races.findings import Access, Finding, Hint, Race, UninitializedRead
from banksim.requests.trace import Site

Plain = Mapping[str, Any]
Locate = Callable[[str | None], str | None]
"""Where a file lies that a report names from the root of its project."""


def located(roots: Sequence[Path]) -> Locate:
    """What finds a file's path: in the first of these folders that has it, else as it is given."""

    def locate(file: str | None) -> str | None:
        places = [root / file for root in roots] if file else []
        return next((str(place) for place in places if place.is_file()), file)

    return locate


def conflicts(found: Sequence[Plain], locate: Locate) -> tuple[Conflicts, ...]:
    """What `Conflicts.to_json` gave, but for the worst requests, which only pictures show."""
    return tuple(
        Conflicts(architecture(one["arch"]), tuple(site_conflicts(site, locate) for site in one["sites"]))
        for one in found
    )


def site_conflicts(found: Plain, locate: Locate) -> SiteConflicts:
    return SiteConflicts(
        site(found, locate),
        found["op"],
        found["width"],
        found["requests"],
        count(found["transactions"]),
        found["ideal"],
        count(found["degree"]),
        None,
        found["status"],
    )


def site(found: Plain, locate: Locate) -> Site:
    return Site(
        opcode=found["opcode"],
        offset=found["offset"],
        file=locate(found["file"]),
        line=found["line"],
        text=found["text"],
        function=found.get("function", ""),
        inlined=tuple((one["function"], locate(one["file"]) or "", one["line"]) for one in found.get("inlined", ())),
        inside=tuple((locate(one["file"]) or "", one["line"]) for one in found["inside"]),
    )


def access(found: Plain, locate: Locate) -> Access:
    block = found.get("block")
    return Access(found["kind"], site(found, locate), found["warp"], found["lane"], tuple(block) if block else None)


def finding(found: Plain, locate: Locate) -> Finding:
    where: dict[str, Any] = {"address": found["address"], "block": tuple(found["block"]), "count": found["count"]}
    if found["check"] == "uninitialized":
        return UninitializedRead(access(found["access"], locate), **where)
    sides: dict[str, Any] = {name: access(found[name], locate) for name in ("first", "second")}
    marks = ("same_warp", "copying", "same_value", "unfenced")
    return Race(**sides, **where, **{name: found.get(name, False) for name in marks})


def hint(found: Plain, locate: Locate) -> Hint:
    sides = access(found["first"], locate), access(found["second"], locate)
    return Hint(*sides, found["address"], tuple(found["block"]))
