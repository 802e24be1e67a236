"""Judges the entries of a project, several at a time: a `Verdict` for each, in their order."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from banksim import wording
from banksim.banks.comparison import Line, lines_of
from banksim.banks.conflicts import Conflicts
from banksim.banks.limits import Excuse, Findings, Guard, check, has_conflict
from banksim.errors import BanksimError, InputError
from banksim.machine.races.findings import Finding, Hint, in_words
from banksim.project import from_plain
from banksim.project.execute import Commands, Executed
from banksim.project.file import Entry, Project, file_of
from banksim.system import paths
from banksim.system.processes import cores
from banksim.system.writing import write

Outcome = Literal["passed", "failed", "error"]
STATUS: dict[Outcome, int] = {"passed": 0, "failed": 1, "error": 2}
"""The exit status of each outcome; `banksim check` exits with the highest."""
Baseline = Mapping[str, Mapping[str, Sequence[Line]]]
"""The lines that are accepted, by entry and architecture."""
FORMAT = "banksim/baseline/1"
KEPT = ("file", "line", "text", "function", "op", "width", "transactions", "excess")
"""What a baseline records of an access."""


@dataclass(frozen=True)
class Verdict:
    """What became of an entry: `report` is its command's as plain data, `judged` what that says of all its kernels,
    `limits` how that compares with the entry's limits. With an `error` there is nothing but that."""

    entry: Entry
    seconds: float
    kept: bool = False
    error: str = ""
    report: Mapping[str, Any] = field(default_factory=dict)
    judged: tuple[Conflicts, ...] = ()
    found: tuple[Finding, ...] = ()
    hints: tuple[Hint, ...] = ()
    limits: Findings = field(default_factory=lambda: Findings(()))

    @property
    def outcome(self) -> Outcome:
        if self.error:
            return "error"
        return "failed" if self.reasons else "passed"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it failed, a line each: what is above limits, what checks found, accesses beyond allocations."""
        always = self.report.get("checks") or self.report.get("command") == "kernel"
        beyond = self.report.get("out_of_bounds", ()) if always else ()
        return tuple(dict.fromkeys((*map(str, self.limits.above), *map(in_words, self.found), *beyond)))


def judge_all(
    project: Project,
    entries: Sequence[Entry],
    workers: int | None = None,
    fresh: bool = False,
    baseline: Baseline | None = None,
    done: Callable[[int], object] = lambda more: None,
) -> tuple[Verdict, ...]:
    """The verdicts on entries, judged by so many processes at a time; `done` is told of each that has ended."""
    commands = Commands(project, fresh)
    found: dict[int, Verdict] = {}
    with ThreadPoolExecutor(workers or cores(), thread_name_prefix="banksim-check") as pool:
        try:
            tasks = {pool.submit(judge, commands, entry, baseline): number for number, entry in enumerate(entries)}
            for task in as_completed(tasks):
                found[tasks[task]] = task.result()
                done(1)
        except BaseException:
            commands.end()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return tuple(found[number] for number in range(len(entries)))


def judge(commands: Commands, entry: Entry, baseline: Baseline | None = None) -> Verdict:
    executed = commands.execute(entry)
    try:
        return verdict(commands.project, entry, executed, baseline)
    except BanksimError as error:
        return Verdict(entry, executed.seconds, executed.kept, str(error))


def judged_again(project: Project, one: Verdict, baseline: Baseline) -> Verdict:
    """The verdict `one`, which has no error, but by another baseline."""
    return verdict(project, one.entry, Executed(dict(one.report), "", one.seconds, one.kept), baseline)


def verdict(project: Project, entry: Entry, executed: Executed, baseline: Baseline | None) -> Verdict:
    """What a report means by an entry's limits."""
    report = executed.report
    if report is None:
        return Verdict(entry, executed.seconds, executed.kept, executed.error)
    if report.get("not_counted") and not report["kernels"]:
        return Verdict(entry, executed.seconds, executed.kept, wording.unchosen(report["not_counted"]))
    own = paths.root(str(project.folder / file_of(entry)))
    locate = from_plain.located([root for root in (own, paths.marked(project.folder), project.folder) if root])
    judged = from_plain.conflicts(report["conflicts"], locate)
    kernels = [from_plain.conflicts(one["conflicts"], locate) for one in report.get("kernels", ())]
    found = [one for kernel in report.get("kernels", [report]) for one in kernel["findings"]]
    hints = [one for kernel in report.get("kernels", [report]) for one in kernel["hints"]]
    accepted = None if baseline is None else baseline.get(entry.name, {})
    known = None if accepted is None else {one.arch.name: accepted.get(one.arch.name, ()) for one in judged}
    return Verdict(
        entry,
        executed.seconds,
        executed.kept,
        report=report,
        judged=judged,
        found=tuple(from_plain.finding(one, locate) for one in found),
        hints=tuple(from_plain.hint(one, locate) for one in hints),
        limits=check(judged, Guard(entry.limits, known), kernels),
    )


def unused_excuses(verdicts: Sequence[Verdict]) -> tuple[Excuse, ...]:
    """The excuses in sources that no entry needs, each once: one may need what another does not."""
    used = {excuse for one in verdicts for _, excuse in (*one.limits.excused, *one.limits.exceeded)}
    found = dict.fromkeys(excuse for one in verdicts for excuse in one.limits.unused)
    return tuple(excuse for excuse in found if excuse not in used)


# ---- baseline
def read_baseline(file: Path) -> Baseline:
    """The lines that a file accepts. `InputError` for what is no baseline."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if found["schema"] != FORMAT:
            raise ValueError
        return {
            name: {arch: lines_of(sites) for arch, sites in judged.items()} for name, judged in found["entries"].items()
        }
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}: make it with banksim check --update-baseline") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise InputError(f"{file}: no baseline: make it anew with banksim check --update-baseline") from None


def write_baseline(file: Path, project: Project, verdicts: Sequence[Verdict]) -> None:
    """Accept what these verdicts found; what the file accepts of the project's other entries stays."""
    judged = {one.entry.name: dict(accepted(one)) for one in verdicts}
    before = json.loads(file.read_text(encoding="utf-8"))["entries"] if file.is_file() and read_baseline(file) else {}
    names = [one.name for one in project.entries]
    entries = {name: judged.get(name, before.get(name)) for name in names if name in judged or name in before}
    write(file, json.dumps({"schema": FORMAT, "entries": entries}, indent=1) + "\n")


def accepted(one: Verdict) -> Iterator[tuple[str, list[dict[str, object]]]]:
    """What a baseline has of a verdict: by architecture the accesses that conflict."""
    for conflicts, plain in zip(one.judged, one.report["conflicts"], strict=True):
        sites = zip(conflicts.sites, plain["sites"], strict=True)
        yield conflicts.arch.name, [{name: of[name] for name in KEPT} for site, of in sites if has_conflict(site)]
