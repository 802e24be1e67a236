"""What the launches of a kernel do, predicted and measured, instruction by instruction.

The profiler's source page tells of each instruction how often warps and threads executed it, and its transactions on
shared memory, which follow from the addresses alone. The hardware's own counters of a kernel may hold more: what is
above the sum of the instructions is arbitration, with other traffic of the L1 data stage.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from banksim.kernels import demangling
from banksim.requests.kinds import ATOMICS, REMOTE
from banksim.requests.trace import Site
from banksim.runs.outcome import Run
from banksim.runs.validation.profiler import KINDS, InstructionCounts, Profiled
from banksim.wording import plural

FIGURES = ("warps", "threads", "predicated_on", "transactions")
WORDS = {"warps": "warps", "threads": "threads", "predicated_on": "threads whose guard held"}


@dataclass(frozen=True)
class Predicted:
    """One launch as banksim executed it. `code`: every opcode; `wide`: loads of 8 and 16 bytes, whose merging of pairs
    the source page does not know; `uncounted`: accesses that nobody knows the cost of."""

    symbol: str
    rows: Mapping[int, InstructionCounts]
    code: tuple[str, ...]
    sites: Mapping[int, Site]
    wide: frozenset[int]
    uncounted: frozenset[int]
    by_kind: Mapping[str, int]


def predicted(run: Run) -> Predicted:
    transactions: Counter[int] = Counter()
    ideal: Counter[int] = Counter()
    by_kind: Counter[str] = Counter()
    apart: dict[str, set[int]] = {why: set() for why in ("unknown", "remote", "wide", "")}
    for site in run.conflicts.sites:
        offset = site.offset or 0
        why = not_told(site.op, site.width, site.transactions)
        apart[why].add(offset)
        if why == "remote" or not isinstance(site.transactions, int):
            continue
        transactions[offset] += site.transactions
        ideal[offset] += site.ideal or 0
        if counter := counter_of(site.op):
            by_kind[counter] += site.transactions
    rows = {
        one.instruction.pc: InstructionCounts(
            one.instruction.pc,
            one.instruction.opcode,
            one.warps,
            one.threads,
            one.predicated_on,
            transactions.get(one.instruction.pc),
            ideal.get(one.instruction.pc),
        )
        for one in run.profile
        if one.warps
    }
    code = run.kernel.listing
    return Predicted(
        symbol=run.kernel.name,
        rows=rows,
        code=tuple(i.opcode for i in code),
        sites={i.pc: i.site for i in code},
        wide=frozenset(apart["wide"]),
        uncounted=frozenset(apart["unknown"]),
        by_kind=by_kind,
    )


def not_told(op: str, width: int, transactions: object) -> str:
    """What keeps an access from being compared with the source page: that its cost is `unknown`; that it is `remote`,
    of which the page counts none, as a counter of their own does; or that it is `wide`, since the page does not know
    how pairs of 8- and 16-byte loads merge, and may have another count. "" for all others."""
    if not isinstance(transactions, int):
        return "unknown"
    if op in REMOTE.values():
        return "remote"
    return "wide" if op == "ld" and width > 4 else ""


def counter_of(op: str) -> str | None:
    """Which of the hardware's counters of shared memory counts a kind of request, by `profiler.METRICS`."""
    if op in ATOMICS:
        return "atom"
    return op[:2] if op in ("ld", "st") or op.startswith(("ldmatrix", "stmatrix")) else None


@dataclass(frozen=True)
class Difference:
    """A figure of an instruction that is not what was predicted."""

    offset: int
    opcode: str
    figure: str
    predicted: int
    measured: int
    site: Site

    def to_json(self) -> dict[str, object]:
        return {
            "offset": self.offset,
            "opcode": self.opcode,
            "figure": self.figure,
            "predicted": self.predicted,
            "measured": self.measured,
            "file": self.site.file,
            "line": self.site.line,
            "text": self.site.text,
        }


@dataclass
class Verdict:
    """All launches of a kernel. `problem`: why it could not be compared; `hardware`: the counters of transactions by
    kind, where they were taken, and `explained` what of them the addresses do; `lines`: of each line what its conflicts
    cost, and all its transactions."""

    kernel: str
    launches: int = 0
    instructions: int = 0
    problem: str = ""
    differences: list[Difference] = field(default_factory=list)
    hardware: Counter[str] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)
    lines: dict[tuple[str | None, int | None, str], tuple[int, int]] = field(default_factory=dict)
    uncounted: int = 0
    wide: int = 0
    """Loads of 8 and 16 bytes whose transactions differ from the page's, which does not know all merging of pairs."""

    @property
    def agrees(self) -> bool:
        return not self.problem and not self.differences

    @property
    def arbitration(self) -> dict[str, int]:
        """For each kind, the counter less the sum of the instructions; below zero it is an error of the prediction."""
        return {kind: self.hardware[kind] - self.explained[kind] for kind in KINDS if self.hardware[kind]}

    def to_json(self) -> dict[str, object]:
        return {
            "kernel": self.kernel,
            "launches": self.launches,
            "instructions": self.instructions,
            "agrees": self.agrees,
            "problem": self.problem,
            "differences": [one.to_json() for one in self.differences],
            "hardware_transactions": dict(self.hardware),
            "explained_by_addresses": dict(self.explained),
            "arbitration": self.arbitration,
            "uncounted": self.uncounted,
            "wide_loads_not_compared": self.wide,
        }


def compare(mine: Sequence[Predicted], theirs: Sequence[Profiled]) -> list[Verdict]:
    """A verdict for each kernel, in the order of the first launches. A launch goes with that of the same number among
    the launches of kernels of its name; where the name has several machine codes, each is a kernel."""
    here, there = by_name(mine), by_name(theirs)
    verdicts: list[Verdict] = []
    for name in dict.fromkeys([*here, *there]):
        own, measured = here.get(name, []), there.get(name, [])
        if len(own) != len(measured):
            what = f"{plural(len(own), 'launch')} predicted, {len(measured)} measured"
            verdicts.append(Verdict(name, len(own), problem=what))
            continue
        groups = defaultdict(list)
        for one, other in zip(own, measured, strict=True):
            groups[one.symbol, one.code].append((one, other))
        verdicts += [judged(demangling.plain_name(symbol), pairs) for (symbol, _), pairs in groups.items()]
    return verdicts


def of_libraries(mine: Sequence[Predicted], theirs: Sequence[Profiled]) -> tuple[list[Profiled], Counter[str]]:
    """The launches of kernels that were executed here as well, and how often the others were launched, by name: in a
    program of which libraries do a part, which launch kernels of their own on a GPU and are replaced here."""
    here = by_name(mine)
    compared, elsewhere = [], Counter[str]()
    for one in theirs:
        name = demangling.last_part(one.symbol)
        if name in here:
            compared.append(one)
        else:
            elsewhere[name] += 1
    return compared, elsewhere


def by_name(launches: Iterable[Predicted] | Iterable[Profiled]) -> dict[str, list]:  # type: ignore[type-arg]
    found = defaultdict(list)
    for one in launches:
        found[demangling.last_part(one.symbol)].append(one)
    return found


def judged(name: str, pairs: Sequence[tuple[Predicted, Profiled]]) -> Verdict:
    """All launches of one kernel, summed."""
    verdict = Verdict(name, len(pairs))
    own = pairs[0][0]
    for _, other in pairs:
        if without_end(own.code) != without_end(other.code):
            length = f"{len(without_end(other.code))} instructions instead of {len(without_end(own.code))}"
            verdict.problem = f"other machine code ran on the GPU ({length}), so instructions cannot be compared"
            return verdict
    mine = summed(one.rows for one, _ in pairs)
    theirs = summed({row.offset: row for row in other.rows} for _, other in pairs)
    skipped = own.wide.union(*(one.uncounted for one, _ in pairs))
    for offset in sorted({*mine, *theirs}):
        verdict.instructions += 1
        for figure in FIGURES:
            predicted, measured = (rows[offset][figure] if offset in rows else 0 for rows in (mine, theirs))
            if predicted != measured and figure == "transactions" and offset in skipped:
                verdict.wide += offset in own.wide
            elif predicted != measured:
                site, opcode = own.sites.get(offset, Site()), own.code[offset // 16]
                verdict.differences.append(Difference(offset, opcode, figure, predicted, measured, site))
    for one, other in pairs:
        verdict.hardware.update(other.counters)
        verdict.explained.update(one.by_kind)
        verdict.uncounted += len(one.uncounted)
        for offset, row in one.rows.items():
            if row.transactions is None or row.ideal is None:
                continue
            site = one.sites[offset]
            key = (site.file, site.line, site.text)
            excess, transactions = verdict.lines.get(key, (0, 0))
            verdict.lines[key] = excess + row.transactions - row.ideal, transactions + row.transactions
    return verdict


def summed(launches: Iterable[Mapping[int, InstructionCounts]]) -> dict[int, Counter[str]]:
    """Of each instruction the figures of all launches."""
    total: dict[int, Counter[str]] = defaultdict(Counter)
    for rows in launches:
        for offset, row in rows.items():
            total[offset].update({figure: int(getattr(row, figure) or 0) for figure in FIGURES})
    return total


def without_end(code: Sequence[str]) -> Sequence[str]:
    """The opcodes without the padding behind the last branch."""
    end = len(code)
    while end and code[end - 1] == "NOP":
        end -= 1
    return code[:end]
