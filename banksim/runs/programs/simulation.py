"""How a launch of a program is executed: plainly, with checks, or with simulated time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from banksim.architectures.bank_rules import Architecture
from banksim.errors import InputError
from banksim.machine.launch import Launch
from banksim.machine.llvm.trace_callbacks import Sink
from banksim.runs.outcome import Run
from banksim.runs.run import run_llvm, run_with_time

Progress = Callable[[str, int], AbstractContextManager[Callable[[int, int], None]]]
"""Of a kernel's name and its blocks: while it runs, what to call with the blocks and thread instructions done."""
Rules = tuple[Architecture, ...]
Tick = Callable[[int, int], None] | None
Simulate = Callable[[Launch, Rules, Tick, Sink | None], Run]


def simulation(checks: tuple[str, ...], timing: bool, global_latency: int | None) -> Simulate:
    """What executes launches. InputError for options that exclude each other."""
    if checks and timing:
        raise InputError("--check and --timing: ask for one of them at a time")

    def plainly(launch: Launch, rules: Rules, tick: Tick, trace: Sink | None) -> Run:
        return run_llvm(launch, rules, None, None, tick, trace, checks)

    def with_time(launch: Launch, rules: Rules, tick: Tick, trace: Sink | None) -> Run:
        return run_with_time(launch, rules, None, None, tick, trace, global_latency, None)

    return with_time if timing else plainly
