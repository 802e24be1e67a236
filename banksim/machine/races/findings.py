"""What checks of a launch find in its accesses to shared memory: plain data, and where a barrier is missing."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields, replace

from banksim.errors import InputError
from banksim.requests.trace import Site
from banksim.system.paths import portable

CHECKS = {
    "races": "accesses to the same byte by threads that nothing orders, at least one a write, not both atomic",
    "uninitialized": "reads of shared memory that nothing has written",
}
"""What can be checked, as `--check` calls it."""
FENCE = "fence.proxy.async"
"""What shows the asynchronous proxy what threads wrote."""
BARRIERS = {True: ("cuda.syncwarp()", "cuda.syncthreads()"), False: ("__syncwarp()", "__syncthreads()")}
"""The barriers of a warp and of a block in Python, and in CUDA C++."""
CLUSTER_BARRIER = "cluster.sync()"


@dataclass(frozen=True)
class Access:
    """One lane's access. `kind`: read, write, asynchronous write, asynchronous read, read by wgmma, atomic, atomic
    read, atomic write, or arrival at and wait for an mbarrier. `block`: in a cluster of several, the thread's."""

    kind: str
    site: Site
    warp: int
    lane: int
    block: tuple[int, int, int] | None = None

    @property
    def thread(self) -> str:
        """Which thread it was, in words."""
        return f"warp {self.warp}, lane {self.lane}" + (f" of block {self.block}" if self.block else "")

    @property
    def line(self) -> tuple[str | None, int | None]:
        """File and line; of code without lines, nothing and the instruction's offset."""
        return (self.site.file, self.site.line) if self.site.line else (None, self.site.offset)

    def to_json(self) -> dict[str, object]:
        site = self.site
        place = {"file": site.file, "line": site.line, "text": site.text.strip(), "offset": site.offset}
        inside = [{"file": file, "line": line} for file, line in site.inside]
        return {
            "kind": self.kind,
            **place,
            "inside": inside,
            "opcode": site.opcode,
            "warp": self.warp,
            "lane": self.lane,
            **({"block": list(self.block)} if self.block else {}),
        }


@dataclass(frozen=True)
class MissingBarrier:
    """A barrier that would order the two sides of a race: `what` before line `line` of `file`.

    `inside`: within that line, behind its read and before its write. `next_pass`: the line runs before the other side's
    in the source, so that the barrier stands between two passes of a loop.
    """

    what: str
    file: str | None
    line: int
    text: str
    inside: bool = False
    next_pass: bool = False


@dataclass(frozen=True)
class Race:
    """Two accesses to the same bytes that nothing orders.

    `first` is the one that comes first in the program, as far as one can tell; `address` counts bytes from the start of
    the block's shared memory, `block` is blockIdx of the example, `count` says how often it was seen. `copying`: nobody
    has waited for the asynchronous copy or product that is `first`. `same_value`: two writes that never wrote different
    values. `unfenced`: barriers order the two, but without a proxy fence a copy or product does not see earlier writes.
    """

    first: Access
    second: Access
    address: int
    block: tuple[int, int, int]
    count: int
    same_warp: bool = False
    copying: bool = False
    same_value: bool = False
    unfenced: bool = False
    check: str = field(default="races", init=False)

    @property
    def across(self) -> bool:
        """Whether the threads are of different blocks of a cluster."""
        return self.first.block != self.second.block

    @property
    def barrier(self) -> MissingBarrier | None:
        """The barrier whose absence makes it a race. None where a barrier cannot help, as threads execute the same
        write, or where the code has no line numbers."""
        site = self.second.site
        if not site.line:
            return None
        inside = next_pass = False
        if self.first.line == self.second.line:
            writes = [("write" in side.kind or side.kind == "atomic") for side in (self.first, self.second)]
            if all(writes) and not (self.copying or self.unfenced):
                return None
            inside = writes == [False, True]
            next_pass = not inside and not self.copying
        elif self.first.site.file == site.file:
            next_pass = (self.first.site.line or 0) > site.line
        warp, block = BARRIERS[(site.file or "").endswith(".py")]
        block = CLUSTER_BARRIER if self.across else block
        what = warp if self.same_warp else block
        if self.unfenced:
            what = FENCE
        elif self.copying:
            what = "a wait for the products" if self.first.kind == "read by wgmma" else "a wait for the copy"
            by_mbarrier = "write" in self.first.kind and self.first.site.opcode.startswith(("U", "STAS"))
            if not by_mbarrier and ("write" in self.first.kind or not self.same_warp):
                what += f" and {block}"
        return MissingBarrier(what, site.file, site.line, site.text.strip(), inside, next_pass)

    def to_json(self) -> dict[str, object]:
        """Plain data; `barrier` says what is missing where."""
        return {"check": self.check, **fields_of(self), "barrier": self.barrier and asdict(self.barrier)}


@dataclass(frozen=True)
class UninitializedRead:
    """A read of shared memory that nothing in the block had written; the fields as in `Race`."""

    access: Access
    address: int
    block: tuple[int, int, int]
    count: int
    check: str = field(default="uninitialized", init=False)

    def to_json(self) -> dict[str, object]:
        return {"check": self.check, **fields_of(self)}


Finding = Race | UninitializedRead


@dataclass(frozen=True)
class Hint:
    """What a run without checks saw of two warps that may race: fields as in `Race`, in the order of simulation."""

    first: Access
    second: Access
    address: int
    block: tuple[int, int, int]

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {"hint": hinted(self), **fields_of(self)}


def fields_of(one: Finding | Hint) -> dict[str, object]:
    """Each field as plain data."""

    def plain(value: object) -> object:
        return value.to_json() if isinstance(value, Access) else list(value) if isinstance(value, tuple) else value

    return {each.name: plain(getattr(one, each.name)) for each in fields(one)}


def first_hint(hints: Iterable[Hint | None]) -> Hint | None:
    """That of the first block."""
    return min((one for one in hints if one), key=lambda one: one.block[::-1], default=None)


def checks(names: str | Iterable[str]) -> tuple[str, ...]:
    """Names of checks, given as several or between commas, each once. `InputError` for another."""
    words = [names] if isinstance(names, str) else list(names)
    chosen = [word.strip() for text in words for word in text.split(",") if word.strip()]
    for word in chosen:
        if word not in CHECKS:
            raise InputError(f"--check {word}: there is no such check, choose {' or '.join(CHECKS)}")
    return tuple(name for name in CHECKS if name in chosen)


def accesses(finding: Finding) -> tuple[Access, ...]:
    return (finding.first, finding.second) if isinstance(finding, Race) else (finding.access,)


def kind_of(finding: Finding) -> tuple[object, ...]:
    """What findings that are one have in common: the check, the lines, what is done there."""
    lines = [(*access.line, access.kind) for access in accesses(finding)]
    if isinstance(finding, UninitializedRead):
        return (finding.check, *lines)
    return (finding.check, finding.same_warp, finding.copying, finding.unfenced, finding.across, *lines)


def example_order(finding: Finding) -> tuple[object, ...]:
    """Of several examples the first in this order is shown, whoever found it first."""
    threads = [(access.block or (), access.warp, access.lane, access.site.offset or 0) for access in accesses(finding)]
    return finding.block[::-1], threads, finding.address


def by_lines(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding for each pair of lines, with the sum of counts, in the order of the source."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for one in found:
        groups.setdefault(kind_of(one), []).append(one)
    merged: list[Finding] = []
    for group in groups.values():
        example = min(group, key=example_order)
        count = sum(one.count for one in group)
        if isinstance(example, Race):
            equal = all(isinstance(one, Race) and one.same_value for one in group)
            merged.append(replace(example, count=count, same_value=equal))
        else:
            merged.append(replace(example, count=count))
    return tuple(sorted(merged, key=source_order))


def source_order(finding: Finding) -> tuple[object, ...]:
    lines = [(access.site.file or "", access.site.line or 0, access.kind) for access in accesses(finding)[::-1]]
    return list(CHECKS).index(finding.check), lines


def place(site: Site) -> str:
    return f"{portable(site.file or '?')}:{site.line}" if site.line else f"SASS {site.offset or 0:#06x}"


def missing(race: Race, placed: Callable[[Site], str] = place) -> str:
    """What a race lacks, as a sentence; `placed` says how places are written."""
    barrier = race.barrier
    line = placed(race.second.site)
    if barrier is None and race.first.line == race.second.line:
        return f"Threads write the same bytes at {line}, and no barrier can order that."
    if barrier is None:
        return f"A barrier is missing before {line}."
    if barrier.inside:
        return f"{barrier.what} is missing within {line}, behind the read and before the write."
    if barrier.next_pass:
        return f"{barrier.what} is missing before {line} of the loop's next pass."
    return f"{barrier.what} is missing before {line}."


def in_words(finding: Finding) -> str:
    """A finding as one line."""
    if isinstance(finding, UninitializedRead):
        access = finding.access
        return f"uninitialized: {access.kind} at {place(access.site)} of what nothing wrote, {finding.count} times"
    sides = " and ".join(f"{side.kind} at {place(side.site)}" for side in (finding.first, finding.second))
    return f"race: {sides}: {missing(finding)}"


def hinted(hint: Hint, placed: Callable[[Site], str] = place) -> str:
    """A hint as one line; `placed` says how places are written."""
    sides = (hint.first, hint.second)
    warps = " and ".join(map(str, sorted(side.warp for side in sides)))
    said = " and ".join(f"{side.kind} at {placed(side.site)}" for side in sides)
    touched = f"warps {warps} touched the same shared word between barriers, one writing ({said})"
    return f"{touched}; --check races tells whether anything orders them"
