"""`banksim.run`: execute a kernel's machine code and count its requests to shared memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from banksim.architectures.bank_rules import Architecture, architecture
from banksim.errors import Fault, InputError, UnsupportedError
from banksim.machine.launch import Launch, whole
from banksim.machine.races.findings import checks as checks_of
from banksim.requests.trace import Trace
from banksim.runs.outcome import Executed, Run
from banksim.runs.several_architectures import by_code, run_each

if TYPE_CHECKING:
    pass
from banksim.runs.counts_to_conflicts import run_of
from banksim.runs.resolve import judged_by, launched

MOST_WORKERS = 1024


def run(
    kernel: Any,
    grid: int | Sequence[int],
    block: int | Sequence[int] | None,
    args: Sequence[Any] = (),
    *,
    arch: str | Architecture | Sequence[str | Architecture] | None = None,
    dynamic_shared: int | None = None,
    engine: str = "llvm",
    workers: int | None = None,
    max_instructions: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    trace: Callable[[Trace], None] | None = None,
    timing: bool = False,
    global_latency: int | None = None,
    timed_blocks: int | None = None,
    check: str | Sequence[str] = (),
) -> Run:
    """Execute a kernel for a grid of blocks, exactly, and count its requests and transactions.

    `kernel` is a Numba CUDA function or dispatcher, or what `banksim.load(file)[name]` gives. `args` are NumPy
    arrays, which the kernel changes in place, and scalars. `dynamic_shared` is in bytes. A block of None, and shared
    memory unless it is given, are what a compiled kernel is known to be launched with. With several workers (threads
    of the host), atomics of different blocks on global memory happen in no fixed order. `trace` is called with every
    request (of the first architecture), in chunks (`Trace`) of up to 65,536, blocks in no fixed order. `check` names
    what else to look for, "races" and "uninitialized" (banksim.machine.races.findings.CHECKS): `Run.findings`.

    `arch` names what to compile for and to judge by: of each of sm_75 … sm_121 the code is executed (a cubin's own
    code alone), and the arrays then hold the results of the first. Every other architecture's rule is judged on the
    code of the first, or of sm_90. None: a loaded kernel's own architecture, else sm_90.

    `timing`: simulate time as well: `Run.cycles`. The blocks that one multiprocessor holds at first (or `timed_blocks`
    of those that it is given) are timed, the others counted; in a timed block the kernel's clocks read the simulated
    cycles. (Where no time is simulated, every reading moves a clock on.) `global_latency`, in cycles, is assumed for
    loads from global memory.

    Raises `InputError` for arguments that do not fit, `CompileError`, `UnsupportedError` for an instruction that is
    not known, `Fault` when the kernel does something that a GPU would stop for.
    """
    chosen = checks_of(check)
    if chosen and engine == "numpy":
        raise InputError("check: the NumPy engine does not watch accesses: use engine='llvm'")
    if timing and chosen:
        raise InputError("check and timing: ask for one of them at a time")
    workers = workers if workers is None else whole(workers, "workers", 1, MOST_WORKERS)
    if max_instructions is not None:
        max_instructions = whole(max_instructions, "max_instructions")
    if timing and engine != "llvm":
        raise InputError("only the llvm engine simulates time")
    if not isinstance(args, Iterable):
        raise InputError("give the arguments as a list")
    args = list(args)
    rules = judged_by(kernel, arch)
    groups = by_code(kernel, rules)
    if len(groups) > 1:
        execute = partial(run, kernel, grid, block, args, dynamic_shared=dynamic_shared, engine=engine, workers=workers)
        execute = partial(execute, max_instructions=max_instructions, progress=progress, timing=timing)
        execute = partial(execute, global_latency=global_latency, timed_blocks=timed_blocks, check=check)
        return run_each(lambda arch, first: execute(arch=arch, trace=trace if first else None), groups, rules, args)
    launch = launched(kernel, grid, block, args, rules, dynamic_shared)
    if timing and launch.cooperative:
        name = launch.kernel.plain_name
        raise UnsupportedError(f"{name}: the time of blocks that wait for each other is not simulated")
    if timing:
        return run_with_time(launch, rules, workers, max_instructions, progress, trace, global_latency, timed_blocks)
    if engine == "llvm":
        return run_llvm(launch, rules, workers, max_instructions, progress, trace, chosen)
    if engine == "numpy":
        return run_numpy(launch, rules, max_instructions or None, trace)
    raise InputError(f"unknown engine {engine!r}: choose llvm or numpy")


def run_llvm(
    launch: Launch,
    rules: tuple[Architecture, ...],
    workers: int | None,
    max_instructions: int | None,
    progress: Callable[[int, int], None] | None,
    trace: Callable[[Trace], None] | None,
    checks: tuple[str, ...] = (),
) -> Run:
    from banksim.machine.faults import raise_unless_interrupted
    from banksim.machine.llvm.compile import compile_kernel
    from banksim.machine.llvm.workers import execute

    compiled = compile_kernel(launch.kernel, trace is not None, watched=bool(checks))
    counts = execute(
        launch,
        compiled,
        rules,
        workers=workers,
        max_instructions=max_instructions,
        progress=progress,
        trace=trace,
        checks=checks,
    )
    raise_unless_interrupted(launch, counts.stop)
    done = run_of(launch, rules, [(compiled, counts)])
    return replace(done, checks=checks, findings=counts.found, findings_lost=counts.lost)


def run_with_time(
    launch: Launch,
    rules: tuple[Architecture, ...],
    workers: int | None,
    max_instructions: int | None,
    progress: Callable[[int, int], None] | None,
    trace: Callable[[Trace], None] | None,
    global_latency: int | None,
    timed_blocks: int | None,
) -> Run:
    from banksim.timing.timed_launch import Options, run_timed

    # The first rule decides what a request takes, so it must be that of the machine that is timed.
    machine = architecture(launch.kernel.arch)
    judging = rules if rules[0].capability == machine.capability else (machine, *rules)
    timed = run_timed(
        launch, judging, Options(global_latency, timed_blocks), workers=workers, max_instructions=max_instructions,
        progress=progress, trace=trace,
    )  # fmt: skip
    done = run_of(launch, judging, timed.parts)
    return replace(done, judged=done.judged[len(judging) - len(rules) :], cycles=timed.cycles)


def run_numpy(
    launch: Launch, rules: tuple[Architecture, ...], max_instructions: int | None, sink: Callable[[Trace], None] | None
) -> Run:
    """The same on the reference machine, whose requests are judged afterwards, as a trace."""
    from banksim.banks.replay import replay
    from banksim.machine.reference import block as reference

    began = time.perf_counter()
    try:
        outcome = reference.run(launch, max_instructions)
    except Fault as found:
        found.output = launch.device.output
        raise
    trace = outcome.trace()
    if sink is not None:
        sink(trace)
    code = launch.kernel.listing
    return Run(
        kernel=launch.kernel,
        launch=launch,
        judged=tuple(replay(trace, rule) for rule in rules),
        profile=tuple(Executed(i, *map(int, row)) for i, row in zip(code, outcome.counts, strict=False)),
        blocks=launch.blocks,
        seconds=time.perf_counter() - began,
        engine="numpy",
    )
