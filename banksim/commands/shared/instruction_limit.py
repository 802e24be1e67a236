"""Where commands that run kernels stop one that does not end."""

from argparse import ArgumentParser, Namespace, _ArgumentGroup

from banksim.commands.shared.sizes import whole

NAME = "--max-instructions"


def option(parser: ArgumentParser | _ArgumentGroup) -> None:
    parser.add_argument(
        NAME,
        metavar="N",
        help="stop a launch after so many warp instructions (0: never; default: where a block runs most of a minute)",
    )


def chosen(options: Namespace) -> int | None:
    """What the option says; None: the default."""
    return whole(options.max_instructions, NAME)
