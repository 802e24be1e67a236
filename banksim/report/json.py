"""The report for programs: the same figures as plain data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from banksim.architectures.bank_rules import Architecture
from banksim.architectures.gpus import gpus_of
from banksim.banks.conflicts import Conflicts
from banksim.banks.limits import excused
from banksim.system.paths import portable_all

if TYPE_CHECKING:
    from banksim.project.file import Entry, Project
    from banksim.project.verdicts import Verdict
    from banksim.runs.outcome import Run
    from banksim.runs.programs.launches import Launches


def described(done: Run) -> dict[str, object]:
    """The launch as plain data; of several architectures the first's, and under `executions` that of each."""
    each = [{"arch": [one.arch.name for one in run.judged], **executed(run)} for run in done.executions]
    return {
        "kernel": done.kernel.plain_name,
        "grid": done.launch.grid,
        "block": done.launch.block,
        **executed(done),
        **({"executions": each} if each else {}),
    }


def executed(done: Run) -> dict[str, object]:
    """What was executed of the code of one architecture."""
    return {
        "code": done.kernel.arch,
        "judged_on_others_code": list(done.foreign),
        "blocks": done.blocks,
        "partial": done.partial,
        "classes": done.classes,
        "blocks_executed_whole": done.whole if done.classes else done.blocks,
        "undecided": done.undecided,
        "instructions": done.instructions,
        "thread_instructions": done.thread_instructions,
        "output": done.output,
        "notes": done.notes,
        "out_of_bounds": done.out_of_bounds,
        "unfilled": [one.to_json() for one in done.unfilled],
        "checks": done.checks,
        "findings": [one.to_json() for one in done.findings],
        "findings_lost": done.findings_lost,
        "hints": [one.to_json() for one in done.hints],
        "profile": [
            {
                "offset": executed.instruction.pc,
                "sass": executed.instruction.text or executed.instruction.opcode,
                "file": executed.instruction.site.file,
                "line": executed.instruction.site.line,
                "warps": executed.warps,
                "threads": executed.threads,
                "predicated_on": executed.predicated_on,
            }
            for executed in done.profile
        ],
        **time_of(done),
    }


def time_of(done: Run) -> dict[str, object]:
    """The simulated time as plain data, if it was asked for."""
    if done.cycles is None:
        return {}
    from banksim.report.text.cycles import as_json

    return {"cycles": as_json(done)}


FORMAT = 1
"""The version of the schema. It grows when a reader of the old form would misread the new one, not for new names."""


def plain(command: str, /, **content: Any) -> dict[str, object]:
    """The report of a command as plain data: what schema it has, who wrote it, and its content."""
    from banksim.version import VERSION

    head = {"schema": f"banksim/{command}/{FORMAT}", "version": VERSION, "command": command}
    return {**head, **portable_all(content)}


def text(found: dict[str, object]) -> str:
    return json.dumps(found, indent=2)


def document(command: str, /, **content: object) -> str:
    """The report of a command as JSON text."""
    return text(plain(command, **content))


def conflicts(command: str, judged: Sequence[Conflicts], **more: object) -> dict[str, object]:
    """Plain data: the command, what it adds, under `excused` the lines with a conflict that a comment allows, and under
    `conflicts` one object for each architecture."""
    allowed = [
        {"arch": arch.name, "file": excuse.file, "line": excuse.line, "allowed": excuse.most, "reason": excuse.reason}
        for arch, _, excuse in excused(judged)
    ]
    return plain(command, **more, excused=allowed, conflicts=[c.to_json() for c in judged])


def launches(program: str, status: int, found: Launches) -> dict[str, object]:
    """Plain data: how a program ended, its kernels with their launches, and under `conflicts` all of them together.
    By names of kernels, how many further launches were `not_counted`, as they were not chosen, or `ended_by_error`."""
    return conflicts(
        "run",
        found.judged,
        program=program,
        status=status,
        launches=found.count,
        not_counted=dict(found.others),
        ended_by_error=dict(found.failed),
        library_calls=dict(found.calls),
        code=found.code,
        judged_on_others_code=list(found.foreign),
        time_was_asked=found.time_was_asked,
        checks=found.checks,
        out_of_bounds=list(found.strays.values()),
        kernels=[kernel.to_json() for kernel in found.kernels],
    )


def project(project: Project, verdicts: Sequence[Verdict]) -> str:
    """JSON text: what became of each entry, with the whole report of its command."""
    return document(
        "check",
        file=str(project.file),
        entries=[
            {
                **entry(one.entry),
                "outcome": one.outcome,
                "seconds": one.seconds,
                "cached": one.kept,
                "error": one.error or None,
                "reasons": list(one.reasons),
                "report": one.report or None,
            }
            for one in verdicts
        ],
    )


def entries(project: Project, chosen: Sequence[Entry]) -> str:
    """JSON text: the entries with their commands."""
    return document("check-list", file=str(project.file), entries=[entry(one) for one in chosen])


def entry(one: Entry) -> dict[str, object]:
    """What a project's file says of an entry."""
    limits = [str(limit) for limit in one.limits]
    return {"name": one.name, "kind": one.kind, "line": one.line, "command": list(one.words), "limits": limits}


def architectures(chosen: Iterable[Architecture]) -> str:
    """JSON text: an object for each architecture, with its figures and the rule of every access."""
    return document("arch", architectures=[architecture(one) for one in chosen])


def architecture(one: Architecture) -> dict[str, object]:
    accesses = [
        {"op": op, "width": width, **asdict(access)}
        for (op, width), access in one.accesses.items()
        if not one.missing(op, width)
    ]
    return {**vars(one), "gpus": gpus_of(one.capability), "accesses": accesses}
