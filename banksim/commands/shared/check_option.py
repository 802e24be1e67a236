"""What commands that run kernels share when they look for races and uninitialized reads."""

from argparse import ArgumentParser, _ArgumentGroup

from banksim.machine.races.findings import CHECKS


def option(parser: ArgumentParser | _ArgumentGroup) -> None:
    parser.add_argument(
        "--check",
        action="append",
        default=[],
        metavar="CHECK,…",
        help="also look for, and exit with 1 if there are any: "
        + "; ".join(f"{name}: {what}" for name, what in CHECKS.items()),
    )
