"""One launch executed for several architectures: each runs the code that is compiled for it.

Rules of architectures whose code is not executed (kepler-4) are judged on the code of the first that is; so are all
rules where there is one cubin and no source.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from banksim.architectures.bank_rules import Architecture
from banksim.architectures.code_layout import executed
from banksim.errors import BanksimError
from banksim.kernels.kernel import Kernel
from banksim.machine.host_memory import writable
from banksim.runs.outcome import Run


def by_code(kernel: object, rules: Sequence[Architecture]) -> list[tuple[Architecture, ...]]:
    """The rules that are judged on the same code, in the order of the first of each."""
    groups: dict[str, list[Architecture]] = {code: [] for rule in rules if (code := executed(rule.name))}
    if len(groups) < 2 or (isinstance(kernel, Kernel) and kernel.for_arch is None):
        return [tuple(rules)]
    first = next(iter(groups))
    for rule in rules:
        groups[executed(rule.name) or first].append(rule)
    return [tuple(group) for group in groups.values()]


def run_each(
    execute: Callable[[tuple[Architecture, ...], bool], Run],
    groups: Sequence[tuple[Architecture, ...]],
    rules: Sequence[Architecture],
    args: Sequence[object],
) -> Run:
    """Run the code of each group. The result is the first's, with what all of them found.

    Each begins with the same arrays, which hold the first's results afterwards. `execute` is told whether its group is
    the first. After an interrupted run none follows.
    """
    if len(groups) == 1:
        return execute(groups[0], True)
    arrays = writable(args)
    before = [array.copy() for array in arrays]
    runs: list[Run] = []
    after: list[Any] = before
    try:
        for group in groups:
            if runs:
                put(arrays, before)
            runs.append(named(execute, group, not runs))
            if len(runs) == 1:
                after = [array.copy() for array in arrays]
            if runs[-1].partial:
                break
    finally:
        put(arrays, after)
    judged = {id(conflicts.arch): conflicts for run in runs for conflicts in run.judged}
    return replace(
        runs[0],
        judged=tuple(judged[id(rule)] for rule in rules if id(rule) in judged),
        partial=any(run.partial for run in runs),
        findings=tuple(finding for run in runs for finding in run.findings),
        findings_lost=sum(run.findings_lost for run in runs),
        hints=tuple(dict.fromkeys(hint for run in runs for hint in run.hints)),
        executions=tuple(runs),
    )


def named(
    execute: Callable[[tuple[Architecture, ...], bool], Run], group: tuple[Architecture, ...], first: bool
) -> Run:
    """Run the code of one group; an error names its architecture."""
    try:
        return execute(group, first)
    except BanksimError as error:
        name = next(rule.name for rule in group if executed(rule.name))
        raise type(error)(f"on {name}: {error}") from error


def put(arrays: Sequence[np.ndarray], contents: Sequence[np.ndarray]) -> None:
    for array, content in zip(arrays, contents, strict=True):
        array[...] = content
