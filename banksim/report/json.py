"""The report for programs: the same figures as plain data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from banksim.arch import Architecture
from banksim.conflicts import Conflicts
from banksim.gpus import gpus_of

if TYPE_CHECKING:
    from banksim.host.launches import Launches


def conflicts(command: str, judged: Sequence[Conflicts], **more: Any) -> str:
    """JSON text: the command, what it adds, and under `conflicts` one object for each architecture."""
    return json.dumps({"command": command, **more, "conflicts": [c.to_json() for c in judged]}, indent=2)


def launches(program: str, status: int, found: Launches) -> str:
    """JSON text: how a program ended, its kernels with their launches, and under `conflicts` all of them together."""
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
    return json.dumps([architecture(one) for one in chosen], indent=2)


def architecture(one: Architecture) -> dict[str, Any]:
    accesses = [
        {"op": op, "width": width, **asdict(access)}
        for (op, width), access in one.accesses.items()
        if not one.missing(op, width)
    ]
    return {**vars(one), "gpus": gpus_of(one.capability), "accesses": accesses}
