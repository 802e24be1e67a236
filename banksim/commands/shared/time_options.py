"""The options of commands that can simulate time."""

from argparse import Namespace, _ArgumentGroup
from typing import Any

from banksim.commands.shared.sizes import whole
from banksim.errors import InputError


def options(group: _ArgumentGroup) -> None:
    group.add_argument(
        "--timing",
        action="store_true",
        help="simulate time too: cycles by source line, what conflicts cost, what limits the kernel, an estimate for "
        "the launch (sm_90; the blocks that one SM holds at first are timed, the others counted)",
    )
    group.add_argument(
        "--global-latency",
        metavar="CYCLES",
        help="with --timing: assume that a load from global memory takes so many cycles longer than one from shared "
        "memory, instead of modelling the caches",
    )


def chosen(given: Namespace) -> dict[str, Any]:
    """The options as arguments of `banksim.run`."""
    latency = whole(given.global_latency, "--global-latency")
    if latency is not None and not given.timing:
        raise InputError("--global-latency: give --timing too, without which no time is simulated")
    return {"timing": given.timing, "global_latency": latency}
