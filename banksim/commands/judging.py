"""What all commands that judge requests share: by which architectures, how to show it, and when to fail."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import Sequence
from typing import Any

from banksim.arch import Architecture, architecture
from banksim.conflicts import Conflicts, ends
from banksim.errors import InputError

PICTURES = {
    "worst": "of all accesses the worst request, if it has a conflict",
    "all": "the worst request of every access",
    "none": "no picture",
}


def options(parser: ArgumentParser) -> _ArgumentGroup:
    """Add them, as a group to which a command may add its own."""
    group = parser.add_argument_group("report")
    group.add_argument(
        "--arch",
        metavar="NAME,…",
        default="sm_90",
        help="judge by these architectures side by side (default sm_90; see banksim arch)",
    )
    group.add_argument("--json", action="store_true", help="print the same as JSON")
    group.add_argument(
        "--picture",
        choices=PICTURES,
        default="worst",
        help="lanes and banks: " + "; ".join(f"{name}: {what}" for name, what in PICTURES.items()) + " (default worst)",
    )
    group.add_argument(
        "--no-picture", dest="picture", action="store_const", const="none", help="short for --picture none"
    )
    group.add_argument(
        "--fail-above", metavar="N", help="exit with 1 if conflicts cost more than N transactions in all"
    )
    return group


def architectures(options: Namespace) -> list[Architecture]:
    """Those of `--arch`, each once, in order. `InputError` for an unknown name."""
    names = [name.strip() for name in options.arch.split(",") if name.strip()]
    if not names:
        raise InputError("--arch names no architecture: give one or more, such as kepler-4,sm_90")
    return [architecture(name) for name in dict.fromkeys(names)]


def limit(options: Namespace) -> int | None:
    """The number of `--fail-above`."""
    if options.fail_above is None:
        return None
    if not options.fail_above.isdecimal():
        raise InputError(
            f"--fail-above {options.fail_above}: give a whole number of transactions, 0 to allow no conflict"
        )
    return int(options.fail_above)


def finish(options: Namespace, command: str, judged: Sequence[Conflicts], labels: Sequence[str], **more: Any) -> int:
    """Print the report, `labels` naming the sites and `more` going into the JSON; the exit status."""
    most = limit(options)
    if options.json:
        from banksim.report.json import conflicts

        print(conflicts(command, judged, **more))
    else:
        from banksim.report.console import console, show
        from banksim.report.terminal import report

        screen = console()
        show(report(judged, labels, screen.width, options.picture), screen)
    return status(judged, most)


def status(judged: Sequence[Conflicts], most: int | None) -> int:
    """1 if conflicts cost more than `most` transactions by any architecture, or if that cannot be told."""
    if most is None:
        return 0
    excesses = [conflicts.excess for conflicts in judged]
    return int(any(excess is None or ends(excess).high > most for excess in excesses))
