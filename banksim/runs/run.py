"""`banksim.run`: execute a kernel's machine code and count its requests to shared memory.

From a call to its outcome, straight down: `run_with` resolves and prepares (`resolve.launched`) for each code that the
architectures ask for (`several_architectures`), `execute_launch` executes, and what was counted becomes a `Run`.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from banksim.architectures.bank_rules import Architecture, architecture
from banksim.errors import Fault, UntimedError
from banksim.machine.launch import Launch
from banksim.requests.trace import Trace
from banksim.runs.counts_to_conflicts import by_instruction, run_of
from banksim.runs.options import Call, Options
from banksim.runs.outcome import Run
from banksim.runs.resolve import judged_by, launched
from banksim.runs.several_architectures import by_code, run_each

Rules = tuple[Architecture, ...]
Execute = Callable[[Launch, Rules, Options], Run]
"""Executes a launch that is ready and judges its requests by the rules."""


# More than seven parameters: the public function, whose keywords help() and editors show. All else takes `Options`.
def run(
    kernel: object,
    grid: int | Sequence[int] | None,
    block: int | Sequence[int] | None,
    args: Sequence[object] = (),
    *,
    arch: str | Architecture | Sequence[str | Architecture] | None = None,
    dynamic_shared: int | None = None,
    cluster: int | Sequence[int] | None = None,
    const: Mapping[str, object] | None = None,
    engine: str = "llvm",
    workers: int | None = None,
    max_instructions: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    trace: Callable[[Trace], None] | None = None,
    timing: bool = False,
    global_latency: int | None = None,
    timed_blocks: int | None = None,
    cold: bool = False,
    check: str | Sequence[str] = (),
    values: bool = True,
) -> Run:
    """Execute a kernel for a grid of blocks, exactly, and count its requests and transactions.

    `kernel` is a Numba CUDA function or dispatcher, what `banksim.load(file)[name]` gives, or a kernel of Triton,
    Gluon, Warp, cuTile or TileLang (`const`: its constants and options, as {"BLOCK": 64, "num_warps": 8}). `args` are
    NumPy arrays, which the kernel changes in place, scalars, and `banksim.Struct`. `dynamic_shared` is in bytes;
    `cluster` are the blocks of a cluster, one to three sizes. A grid of None is that of a kernel of TileLang, which
    says its own. A block of None, and shared memory and clusters unless they are
    given, are what a compiled kernel is known to be launched with. With several workers (threads of the host), atomics
    of different blocks on global memory happen in no fixed order. `trace` is called with every
    request (of the first architecture), in chunks (`Trace`) of up to 65,536, blocks in no fixed order. `check` names
    what else to look for, "races" and "uninitialized" (banksim.machine.races.findings.CHECKS): `Run.findings`.

    `arch` names what to compile for and to judge by: from sm_75 on the code of each is executed (a cubin's own
    code alone), and the arrays then hold the results of the first. Every other architecture's rule is judged on the
    code of the first, or of sm_90. None: a loaded kernel's own architecture, else sm_90.

    `timing`: simulate time as well: `Run.cycles`. The first blocks of one multiprocessor, some three rounds of them (or
    `timed_blocks`), are timed, the others counted; in a timed block the kernel's clocks read the simulated
    cycles. (Where no time is simulated, every reading moves a clock on.) `global_latency`, in cycles, is assumed for
    loads from global memory, instead of modelling the caches. `cold`: these have nothing of global memory when the
    launch begins, as for a profiler that flushes them; else they have what launches that follow one another find.

    `values=False`: only counts are asked for. No array is changed, and `banksim.absent` may stand for one. A small
    launch is executed as ever, on copies of the arrays; of a large one, or with absent arrays, one block of each class
    of blocks that provably do the same: `Run.classes`. Where counts depend on what the kernel loads, every block is
    executed after all: `Run.undecided` says why.

    Raises `InputError` for arguments that do not fit, `CompileError`, `UnsupportedError` for an instruction that is
    not known, `Fault` when the kernel does something that a GPU would stop for.

    >>> import numpy as np
    >>> from banksim.kernels.load import load
    >>> kernel = load("transpose.cu")["transpose"]  # its columns of 32 floats are read from shared memory
    >>> given, out = np.arange(1024, dtype=np.float32).reshape(32, 32), np.zeros((32, 32), np.float32)
    >>> done = run(kernel, 1, (32, 32), [out, given])
    >>> bool((out == given.T).all())
    True
    >>> [(site.op, site.requests, site.transactions) for site in done.judged[0].sites]
    [('st', 32, 32), ('ld', 32, 1024)]
    """
    options = Options(
        arch=arch,
        dynamic_shared=dynamic_shared,
        cluster=cluster,
        engine=engine,
        workers=workers,
        max_instructions=max_instructions,
        progress=progress,
        trace=trace,
        timing=timing,
        global_latency=global_latency,
        timed_blocks=timed_blocks,
        cold=cold,
        check=check,
        values=values,
    )
    return run_with(Call(kernel, grid, block, args, const or {}), options)


def run_with(call: Call, options: Options, execute: Execute | None = None) -> Run:
    """`run` of a call, executed here or by `execute`. The first code alone writes the trace."""
    execute = execute or execute_launch
    rules = judged_by(call.kernel, options.arch)

    def run_code(group: Rules, first: bool) -> Run:
        launch = launched(call, group, options)
        return execute(launch, group, options if first else replace(options, trace=None))

    return run_each(run_code, by_code(call.kernel, rules), rules, call.args if options.values else ())


def execute_launch(launch: Launch, rules: Rules, options: Options) -> Run:
    """Execute a launch in this process. What it is made of (`arch`, `dynamic_shared`) has been decided."""
    if options.counts_only:
        from banksim.runs.by_classes import by_classes

        return by_classes(launch, rules, options, on_llvm)
    of_arguments = launch.buffers if launch.kernel.slot is None else ()
    if not options.values or any(buffer.absent is not None for buffer in of_arguments):
        launch = launch.copy()
    if options.timing:
        return with_time(launch, rules, options)
    return on_numpy(launch, rules, options) if options.engine == "numpy" else on_llvm(launch, rules, options)


def on_llvm(launch: Launch, rules: Rules, options: Options, blocks: Sequence[int] | None = None) -> Run:
    """Execute all blocks, or those of these numbers, in ascending order."""
    from banksim.machine.faults import raise_unless_interrupted
    from banksim.machine.llvm.compile import compile_for
    from banksim.machine.llvm.workers import execute
    from banksim.runs.quiet_blocks import quiet_blocks

    compiled = compile_for(launch, options.trace is not None, watched=bool(options.checks))
    quiet = quiet_blocks(launch, options) if blocks is None else None
    counts = execute(
        launch,
        compiled,
        rules,
        workers=options.workers,
        max_instructions=options.max_instructions,
        progress=options.progress,
        trace=options.trace,
        blocks=quiet.rest if quiet else blocks,
        checks=options.checks,
    )
    raise_unless_interrupted(launch, counts.stop)
    parts = [(compiled, counts)]
    if quiet:
        parts.append((quiet.compiled, quiet.beside(counts)))
    done = run_of(launch, rules, parts)
    if not options.checks:
        return done
    return replace(done, checks=options.checks, findings=counts.found, findings_lost=counts.lost)


def with_time(launch: Launch, rules: Rules, options: Options, more: bool = True, at_most: int | None = None) -> Run:
    """Simulate the time of some blocks, or of so many of their warp instructions `at_most`; if `more` is wanted, count
    the others, and simulate these without conflicts."""
    from banksim.timing.timed_launch import Timing, run_timed

    if launch.cooperative:
        name = launch.kernel.plain_name
        raise UntimedError(f"{name}: the time of blocks that wait for each other is not simulated")
    # The first rule decides what a request takes, so it must be that of the machine that is timed.
    machine = architecture(launch.kernel.arch)
    judging = rules if rules[0].capability == machine.capability else (machine, *rules)
    timed = run_timed(
        launch,
        judging,
        Timing(options.global_latency, options.timed_blocks, more, at_most, options.cold),
        workers=options.workers,
        max_instructions=options.max_instructions,
        progress=options.progress,
    )
    done = run_of(launch, judging, timed.parts)
    cycles = timed.cycles
    if timed.timed and not done.partial:
        compiled, first = timed.timed
        executed = int(by_instruction(launch.kernel, compiled, first.counters)[:, 0].sum())
        cycles = replace(cycles, work=done.instructions * first.blocks / (executed * done.blocks))
    return replace(done, judged=done.judged[len(judging) - len(rules) :], cycles=cycles)


def on_numpy(launch: Launch, rules: Rules, options: Options) -> Run:
    """The same on the reference machine, whose requests are judged afterwards, as a trace."""
    from banksim.banks.pieces import replay
    from banksim.machine.reference import run as reference

    began = time.perf_counter()
    try:
        outcome = reference.run(launch, 1 << 62 if options.max_instructions == 0 else options.max_instructions)
    except Fault as found:
        found.output = launch.device.output
        raise
    trace = outcome.trace()
    if options.trace is not None:
        options.trace(trace)
    return Run(
        kernel=launch.kernel,
        launch=launch,
        judged=tuple(replay(trace, rule) for rule in rules),
        counts=np.asarray(outcome.counts, np.int64)[: len(launch.kernel.listing)],
        blocks=launch.blocks,
        seconds=time.perf_counter() - began,
        engine="numpy",
    )
