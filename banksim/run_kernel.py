"""`banksim.run`: execute a kernel's machine code and count its requests to shared memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from inspect import isfunction
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from banksim.arch import Architecture, architecture, architectures
from banksim.arguments import numba_parameters, pointer_parameters, scratch_arguments
from banksim.conflicts import Conflicts, Request, SiteConflicts
from banksim.errors import Fault, InputError, UnsupportedError
from banksim.findings import checks as checks_of
from banksim.findings import first_hint
from banksim.outcome import Executed, Run
from banksim.requests.counts import Count, Range
from banksim.sass.launch import Launch, prepare, whole
from banksim.sass.machines import MACHINES
from banksim.sass.program import BYTES, Kernel
from banksim.side_by_side import by_code, run_each
from banksim.trace import Trace

if TYPE_CHECKING:
    from banksim.compilers.numba import Compiled
    from banksim.loaded import Loaded
    from banksim.sass.launch import Buffer

DEFAULT = "sm_90"
"""What is compiled for where no architecture that was asked for has code that is executed."""
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
    what else to look for, "races" and "uninitialized" (banksim.findings.CHECKS): `Run.findings`.

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


def launched(
    kernel: Any,
    grid: int | Sequence[int],
    block: int | Sequence[int] | None,
    args: Sequence[Any],
    rules: Sequence[Architecture],
    dynamic_shared: int | None,
) -> Launch:
    """A launch ready to run, of the code for the first of `rules` that can be executed: of what `run` takes, errors as
    there."""
    machine = next((rule.name for rule in rules if rule.name in MACHINES), None)
    if isinstance(kernel, Kernel) and machine and machine != kernel.arch:
        kernel = kernel.on(machine)
    hidden = scratch_arguments(kernel, args, grid)
    compiled_kernel, parameters, buffers, module = resolve(kernel, [*args, *hidden], machine or DEFAULT)
    launch = prepare(compiled_kernel, grid, block, parameters, buffers, dynamic_shared)
    if module:
        module.into(launch, persist=False)
    return launch


def judged_by(kernel: Any, arch: str | Architecture | Sequence[str | Architecture] | None) -> tuple[Architecture, ...]:
    """The architectures that `run` was asked for."""
    if arch is None:
        arch = kernel.arch if isinstance(kernel, Kernel) else DEFAULT
    return architectures(arch)


def compiled_for(rules: Sequence[Architecture]) -> str:
    """The architecture whose code is executed to be judged by these: the first that can be."""
    return next((rule.name for rule in rules if rule.name in MACHINES), DEFAULT)


def resolve(kernel: Any, args: Sequence[Any], machine: str) -> tuple[Kernel, list[bytes], list[Buffer], Loaded | None]:
    """The decoded kernel, the arguments as its parameters and buffers, and its module if that was called back."""
    if isinstance(kernel, Kernel):
        return kernel, *pointer_parameters(kernel, args), None
    if not isfunction(getattr(kernel, "py_func", kernel)):
        raise InputError(f"{kernel!r} is no kernel: pass a Numba function or banksim.load(file)[name]")
    from banksim.compilers.numba import argument_type

    types = tuple(argument_type(a) for a in args)
    ready, compiled = numba_kernel(kernel, types, machine)
    from banksim.loaded import loaded

    module = loaded(kernel, ready, compiled) if compiled.setup else None
    return ready, *numba_parameters(compiled.fields, args, compiled.arguments), module


_numba_kernels: WeakKeyDictionary[Any, dict[Any, tuple[Kernel, Compiled]]] = WeakKeyDictionary()


def numba_kernel(function: Any, types: tuple[Any, ...], machine: str) -> tuple[Kernel, Compiled]:
    """A Numba function compiled for argument types, decoded and as the compiler describes it."""
    from banksim.compilers import compile_numba
    from banksim.sass.cubin import decode

    known = _numba_kernels.setdefault(function, {})
    if (types, machine) not in known:
        compiled = compile_numba(function, types, machine)
        decoded = decode(compiled.cubin)[compiled.name]
        body = getattr(function, "py_func", function)
        known[types, machine] = replace(decoded, plain_name=body.__name__), compiled
    return known[types, machine]


def run_llvm(
    launch: Launch,
    rules: tuple[Architecture, ...],
    workers: int | None,
    max_instructions: int | None,
    progress: Callable[[int, int], None] | None,
    trace: Callable[[Trace], None] | None,
    checks: tuple[str, ...] = (),
) -> Run:
    from banksim.sass.execute import execute
    from banksim.sass.faults import raise_unless_interrupted
    from banksim.sass.llvm.codegen import compile_kernel

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


def run_of(launch: Launch, rules: Sequence[Architecture], parts: Sequence[tuple[Any, Any]]) -> Run:
    """What a launch did, from what its parts counted: (compiled code, its `Counts`), of the same sites."""
    from banksim.sass.execute import merged

    counts = [counted for _, counted in parts]
    places, shape = parts[0][0].sites, counts[0].tallies.shape
    tallies = merged([one.tallies.reshape(-1) for one in counts]).reshape(shape)
    blocks = sum(one.blocks for one in counts)
    hint = first_hint(one.hint for one in counts)
    return Run(
        kernel=launch.kernel,
        launch=launch,
        judged=tuple(
            Conflicts(rule, sites(launch, places, tallies[:, number], rule)) for number, rule in enumerate(rules)
        ),
        profile=added([profile(launch.kernel, compiled, counted.counters) for compiled, counted in parts]),
        blocks=blocks,
        seconds=sum(one.seconds for one in counts),
        partial=blocks < launch.blocks,
        hints=(hint,) if hint else (),
    )


def added(profiles: Sequence[tuple[Executed, ...]]) -> tuple[Executed, ...]:
    """The sums of profiles of the same code."""
    if len(profiles) == 1:
        return profiles[0]
    counts = ("warps", "threads", "predicated_on")
    return tuple(
        Executed(rows[0].instruction, *(sum(getattr(e, name) for e in rows) for name in counts))
        for rows in zip(*profiles, strict=True)
    )


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
    from banksim.timing.launch import Options, run_timed

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
    from banksim.judge import replay
    from banksim.sass import reference

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


def profile(kernel: Kernel, compiled: Any, counters: Any) -> tuple[Executed, ...]:
    """Counts of each instruction, from those of its basic block."""
    executed = {}
    guarded = {pc: int(counters[2 * len(compiled.spans) + n]) for n, pc in enumerate(compiled.guarded)}
    for n, (start, end) in enumerate(compiled.spans):
        warps, threads = int(counters[2 * n]), int(counters[2 * n + 1])
        for pc in range(start, end, BYTES):
            executed[pc] = (warps, threads, guarded.get(pc, threads))
    return tuple(Executed(i, *executed.get(i.pc, (0, 0, 0))) for i in kernel.listing)


def sites(
    launch: Launch, places: Sequence[tuple[int, str, int]], tallies: Any, rule: Architecture
) -> tuple[SiteConflicts, ...]:
    """What each instruction that made requests cost under one rule, in the order of the code."""
    out = []
    for (pc, op, width), t in sorted(zip(places, tallies, strict=True), key=lambda pair: pair[0][0]):
        if not t["worst_mask"]:
            continue
        out.append(site_conflicts(launch, pc, op, width, t, rule))
    return tuple(out)


def site_conflicts(launch: Launch, pc: int, op: str, width: int, t: Any, rule: Architecture) -> SiteConflicts:
    low, high, unknown = int(t["low"]), int(t["high"]), int(t["unknown"])
    ideal = int(t["ideal"])
    transactions: Count | None = None if unknown else low if low == high else Range(low, high)
    address = np.asarray(t["worst_address"], np.int64) - launch.kernel.shared_base
    return SiteConflicts(
        site=launch.kernel.instructions[pc // BYTES].site,
        op=op,
        width=width,
        requests=int(t["requests"]),
        transactions=transactions,
        ideal=None if unknown else ideal,
        degree=None if unknown else int(t["degree"]),
        warps=None,
        worst=Request(
            op=op,
            width=width,
            mask=int(t["worst_mask"]),
            address=tuple(max(int(a), 0) for a in address),
            block=int(t["worst_block"]),
            warp=int(t["worst_warp"]),
            excess=0 if unknown else int(t["worst_excess"]),
        ),
        status="unknown" if unknown else rule.status(op, width),
    )
