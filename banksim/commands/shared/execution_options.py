"""What commands that execute kernels share: what else they look for, where they stop, simulated time."""

from argparse import ArgumentParser, Namespace, _ArgumentGroup
from typing import Any

from banksim.commands.shared.sizes import whole
from banksim.errors import InputError
from banksim.machine.races.findings import CHECKS

LIMIT = "--max-instructions"


def options(parser: ArgumentParser | _ArgumentGroup) -> None:
    parser.add_argument(
        "--check",
        action="append",
        default=[],
        metavar="CHECK,…",
        help="also look for, and exit with 1 if there are any: "
        + "; ".join(f"{name}: {what}" for name, what in CHECKS.items()),
    )
    parser.add_argument(
        LIMIT,
        metavar="N",
        help="stop a launch after so many warp instructions (0: never; default: where a block runs most of a minute)",
    )


def time_options(group: _ArgumentGroup) -> None:
    group.add_argument(
        "--timing",
        action="store_true",
        help="simulate time too: cycles by source line, what conflicts cost, what limits the kernel, an estimate for "
        "the launch (measured on sm_90, assumed on others; the first blocks of one SM are timed, the others counted)",
    )
    group.add_argument(
        "--global-latency",
        metavar="CYCLES",
        help="with --timing: assume that a load from global memory takes so many cycles longer than one from shared "
        "memory, instead of modelling the caches",
    )
    group.add_argument(
        "--cold",
        action="store_true",
        help="with --timing: no cache has anything of global memory when a launch begins, as under a profiler that "
        "flushes them (otherwise: what launches that follow one another find)",
    )


def chosen(given: Namespace) -> dict[str, Any]:
    """The options as arguments of `banksim.run`."""
    stop, latency = whole(given.max_instructions, LIMIT), whole(given.global_latency, "--global-latency")
    if latency is not None and not given.timing:
        raise InputError("--global-latency: give --timing too, without which no time is simulated")
    if given.cold and not given.timing:
        raise InputError("--cold: give --timing too, without which no time is simulated")
    if given.cold and latency is not None:
        raise InputError("--cold and --global-latency: a constant latency knows no caches: give one of the two")
    if given.timing and given.trace:  # told before a program has begun
        raise InputError("--timing and --trace: a timed run writes no trace: ask for one of the two")
    return {
        "check": given.check,
        "max_instructions": stop,
        "timing": given.timing,
        "global_latency": latency,
        "cold": given.cold,
    }
