"""Predictions against a GPU's record: where they differ, which differences have an explanation, who wins.

Which counter to believe: the source page for every count but the transactions of loads of 8 and 16 bytes, whose
merging of pairs it does not know fully. The whole kernel's counters of transactions hold conflicts that no address
explains (arbitration with other traffic of the L1 data stage), so they may exceed the prediction; they decide where
the source page cannot be believed.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from banksim.runs.validation.profiler import KINDS, InstructionCounts
from cuda_kernels.evidence_records import Record, pass_cycles
from cuda_kernels.predict import Prediction

NOISE = 0.10
"""By up to this part of the prediction, a whole kernel's counter may exceed it and still count as arbitration."""
LIMITED = 0.5
"""If the banks are busy for at least this part of the time, shared memory is called the limit."""


@dataclass(frozen=True)
class Verdict:
    """A kernel: what was predicted, what a GPU recorded, differences without and with an explanation.

    `same_code` tells whether the machine code that is compiled here is the one that ran. `arbitration`: by which
    part the counters of the whole kernel exceed the prediction at most, where every instruction agrees.
    """

    name: str
    group: str
    prediction: Prediction
    record: Record | None
    same_code: bool = True
    differences: tuple[str, ...] = ()
    remarks: tuple[str, ...] = field(default=())
    arbitration: float = 0.0

    @property
    def counted(self) -> bool:
        return self.record is not None and bool(self.record.rows)

    def busy(self, machine: dict[str, float]) -> float | None:
        """The part of its time for which the kernel keeps the banks busy, one transaction a cycle (an estimate).

        A launch of one block is judged by the block's own cycles, any other by its time on all the SMs it reaches.
        """
        record = self.record
        if record is None or record.cycles is None or record.microseconds is None:
            return None
        blocks = int(np.prod(record.grid))
        if blocks == 1:
            return self.prediction.transactions / record.cycles.median
        multiprocessors = min(blocks, machine["multiprocessors"])
        return self.prediction.transactions / (record.microseconds.median * machine["sm_clock_mhz"] * multiprocessors)

    @property
    def pass_cycles(self) -> tuple[float, float] | None:
        """Of a kernel that measures itself: cycles of a warm pass, predicted and measured."""
        if self.record is None or not self.record.passes or not self.prediction.passes:
            return None
        return pass_cycles(self.prediction.passes), pass_cycles(self.record.passes)

    def measured(self) -> float | None:
        """The figure that compares variants: a single block's cycles, else the launch's time."""
        record = self.record
        if record is None or record.cycles is None or record.microseconds is None:
            return None
        return record.cycles.median if int(np.prod(record.grid)) == 1 else record.microseconds.median


def judge(name: str, group: str, prediction: Prediction, record: Record | None, same_code: bool = True) -> Verdict:
    """Compare a prediction with a record."""
    differences, remarks, arbitration = [], [], 0.0
    if prediction.wrong:
        differences.append(f"banksim's result: {prediction.wrong}")
    if record is not None:
        if record.wrong:
            differences.append(f"the GPU's result: {record.wrong}")
        if record.rows:
            found, explained = instructions(prediction, record)
            differences += found
            remarks += explained
            found, arbitration = counters(prediction, record)
            differences += found
        if not same_code:
            remarks.append("compiled here it is other machine code: the counts are those of the code that ran")
    return Verdict(name, group, prediction, record, same_code, tuple(differences), tuple(remarks), arbitration)


def instructions(prediction: Prediction, record: Record) -> tuple[list[str], list[str]]:
    """Every instruction against the source page."""
    differences, remarks = [], []
    predicted = {row.offset: row for row in prediction.rows}
    recorded = {row.offset: row for row in record.rows}
    for offset in sorted({*predicted, *recorded}):
        mine, theirs = predicted.get(offset), recorded.get(offset)
        if mine is None or theirs is None:
            row = mine or theirs
            assert row is not None
            who = "the GPU" if mine is None else "banksim"
            differences.append(f"{offset:#06x} {row.opcode}: only {who} executed it, {row.warps:,} times")
            continue
        place = f"{offset:#06x} {mine.opcode}"
        if mine.opcode != theirs.opcode:
            differences.append(f"{place}: the GPU executed {theirs.opcode} there")
        for word in ("warps", "threads", "predicated_on", "ideal", "transactions"):
            one, other = figure(mine, word), figure(theirs, word)
            if one == other:
                continue
            text = f"{place}: {word.replace('_', '-')} {one:,} predicted, {other:,} measured"
            if offset in prediction.wide and word in ("ideal", "transactions"):
                if word == "transactions":
                    remarks.append(f"{text} by the source page, which does not know all merging of pairs")
            else:
                differences.append(text)
    return differences, remarks


def figure(row: InstructionCounts, word: str) -> int:
    return int(getattr(row, word) or 0)


def counters(prediction: Prediction, record: Record) -> tuple[list[str], float]:
    """The whole kernel against the counters of the hardware, as far as these were taken; their largest excess."""
    differences, arbitration = [], 0.0
    taken = record.counters
    predicted = {
        "instructions": prediction.instructions,
        "thread_instructions": sum(row.threads for row in prediction.rows),
    }
    for kind in KINDS:  # the hardware counts instructions here, also those that no thread's predicate let through
        predicted[f"requests_{kind}"] = sum(
            row.warps for row in prediction.rows if SHARED.get(row.opcode.partition(".")[0]) == kind
        )
    for key, count in predicted.items():
        if taken.get(key, count) != count:
            differences.append(f"{key.replace('_', ' ')}: {count:,} predicted, {taken[key]:,} counted")
    for kind in KINDS:
        key = f"transactions_{kind}"
        if key not in taken:
            continue
        more, count = taken[key] - prediction.by_kind[kind], prediction.by_kind[kind]
        if 0 < more <= NOISE * count:
            arbitration = max(arbitration, more / count)
        elif more:
            differences.append(f"{LONG[kind]}: {count:,} transactions predicted, {taken[key]:,} counted")
    return differences, arbitration


LONG = {"ld": "loads", "st": "stores", "atom": "atomics"}
SHARED = {"LDS": "ld", "STS": "st", "ATOMS": "atom"}
"""By which of the hardware's counters an instruction on shared memory is counted."""


# ---- simulated time against the clock of an SM
APART = 0.03
"""Variants whose measured cycles differ by more than this part are expected to be ranked right."""


@dataclass(frozen=True)
class TimeAgreement:
    """How far simulated time agrees: of the kernels that measure themselves, relative errors by name; pairs of variants
    that differ by more than `APART` on the hardware, and those of them that are ranked wrong."""

    errors: dict[str, float]
    pairs: int
    wrong: tuple[tuple[str, str], ...]

    @property
    def median(self) -> float:
        return float(np.median(np.abs([*self.errors.values()])))

    @property
    def worst(self) -> str:
        return max(self.errors, key=lambda name: abs(self.errors[name]))


def timing(verdicts: Sequence[Verdict]) -> TimeAgreement | None:
    """How simulated and measured times agree; None where no kernel measured itself."""
    timed = [(v, *v.pass_cycles) for v in verdicts if v.pass_cycles]
    if not timed:
        return None
    pairs, wrong = 0, []
    for (a, mine_a, theirs_a), (b, mine_b, theirs_b) in itertools.combinations(timed, 2):
        if a.group != b.group or abs(theirs_a - theirs_b) <= APART * min(theirs_a, theirs_b):
            continue
        pairs += 1
        if (mine_a < mine_b) != (theirs_a < theirs_b):
            wrong.append((a.name, b.name))
    return TimeAgreement({v.name: mine / theirs - 1 for v, mine, theirs in timed}, pairs, tuple(wrong))


# ---- variants against each other
@dataclass(frozen=True)
class Contest:
    """The variants of a group: rank correlation of predicted transactions with what was measured, and the winner.

    `rank` is None where it has no meaning: all predictions are alike. `busiest`: how much of its time the variant
    that presses the banks hardest keeps them busy.
    """

    group: str
    variants: int
    rank: float | None
    best: tuple[str, ...]
    fastest: str
    ahead: float
    busiest: float

    @property
    def limited(self) -> bool:
        return self.busiest >= LIMITED

    def sentence(self) -> str:
        """The result as a sentence, which claims nothing where shared memory is not the limit."""
        rank = "all variants alike" if self.rank is None else f"rank correlation {self.rank:+.2f}"
        head = f"{self.group}: {self.variants} variants, {rank}"
        if not self.limited:
            return (
                f"{head}; the banks are busy for at most {self.busiest:.0%} of a variant's time, so shared memory "
                f"is not the limit and no agreement is claimed ({self.fastest} is fastest)"
            )
        if self.fastest in self.best:
            return f"{head}; {self.fastest}, of fewest transactions, is fastest"
        return (
            f"{head}; {self.fastest} is fastest, {self.ahead:.1%} ahead of the best of those with fewest transactions"
        )


def contests(verdicts: Sequence[Verdict], machine: dict[str, float]) -> list[Contest]:
    """A contest for every group of which at least three variants were measured; what is wrong on purpose has none."""
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.record and verdict.record.wrong is not None and verdict.measured() is not None:
            groups.setdefault(verdict.group, []).append(verdict)
    return [contest(group, members, machine) for group, members in groups.items() if len(members) > 2]


def contest(group: str, members: Sequence[Verdict], machine: dict[str, float]) -> Contest:
    transactions = [v.prediction.transactions for v in members]
    measured = [v.measured() or 0.0 for v in members]
    using = [i for i, count in enumerate(transactions) if count]
    least = min((transactions[i] for i in using), default=0)
    best = [i for i in using if transactions[i] == least] or list(range(len(members)))
    fastest = int(np.argmin(measured))
    best_time = min(measured[i] for i in best)
    return Contest(
        group=group,
        variants=len(members),
        rank=rank_correlation([transactions[i] for i in using], [measured[i] for i in using]),
        best=tuple(members[i].name for i in best),
        fastest=members[fastest].name,
        ahead=1 - measured[fastest] / best_time,
        busiest=max(v.busy(machine) or 0.0 for v in members),
    )


def ranks(values: Sequence[float]) -> np.ndarray:
    """Ranks from 1, equal values sharing the mean of theirs."""
    array = np.asarray(values, float)
    return np.asarray(1 + (array[:, None] > array).sum(1) + ((array[:, None] == array).sum(1) - 1) / 2)


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's coefficient; None where either is constant."""
    a, b = ranks(one), ranks(other)
    if len(a) < 2 or a.std() == 0 or b.std() == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])
