"""The report for programs: the same figures as plain data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from banksim.arch import Architecture
from banksim.conflicts import Conflicts
from banksim.gpus import gpus_of
from banksim.report.paths import portable_all

if TYPE_CHECKING:
    from banksim.host.launches import Launches


FORMAT = 1
"""Grows when a reader of the old form would misread the new one; a new name in it is no reason."""


def plain(command: str, /, **content: Any) -> dict[str, Any]:
    """The report of a command as plain data: what schema it has, who wrote it, and its content."""
    from banksim.__main__ import version

    head = {"schema": f"banksim/{command}/{FORMAT}", "version": version(), "command": command}
    return {**head, **portable_all(content)}


def text(found: dict[str, Any]) -> str:
    return json.dumps(found, indent=2)


def document(command: str, /, **content: Any) -> str:
    """The same as text."""
    return text(plain(command, **content))


def conflicts(command: str, judged: Sequence[Conflicts], **more: Any) -> dict[str, Any]:
    """Plain data: the command, what it adds, and under `conflicts` one object for each architecture."""
    return plain(command, **more, conflicts=[c.to_json() for c in judged])


def launches(program: str, status: int, found: Launches) -> dict[str, Any]:
    """Plain data: how a program ended, its kernels with their launches, and under `conflicts` all of them together."""
    return conflicts(
        "run",
        found.judged,
        program=program,
        status=status,
        launches=found.count,
        code=found.code,
        time_was_asked=found.time_was_asked,
        checks=found.checks,
        kernels=[kernel.to_json() for kernel in found.kernels],
    )


def architectures(chosen: Iterable[Architecture]) -> str:
    """JSON text: an object for each architecture, with its figures and the rule of every access."""
    return document("arch", architectures=[architecture(one) for one in chosen])


def architecture(one: Architecture) -> dict[str, Any]:
    accesses = [
        {"op": op, "width": width, **asdict(access)}
        for (op, width), access in one.accesses.items()
        if not one.missing(op, width)
    ]
    return {**vars(one), "gpus": gpus_of(one.capability), "accesses": accesses}
