"""The options that describe accesses."""

import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from banksim.commands.shared.sizes import sizes
from banksim.errors import InputError


def access_options(parser: ArgumentParser) -> None:
    """Add the options that describe accesses and the threads that make them."""
    parser.add_argument(
        "access",
        nargs="*",
        metavar="ACCESS",
        help="C or Numba: tile[y][x], s[t] += s[t + 64], atomicAdd(&h[b], 1); -: lines of standard input",
    )
    group = parser.add_argument_group("accesses and threads")
    group.add_argument(
        "--store", action="append", default=[], metavar="PLACE", help="a place that is written: tile[y][x]"
    )
    group.add_argument(
        "--declare",
        action="append",
        default=[],
        metavar="C",
        help="arrays in shared memory: int tile[32][33]; struct {float x, y;} p[64]",
    )
    group.add_argument("--block", default="32", metavar="X,Y,Z", help="threads of a block (default 32)")
    group.add_argument("--grid", default="1", metavar="X,Y,Z", help="blocks of the grid (default 1)")
    group.add_argument(
        "--let", action="append", default=[], metavar="NAME=VALUE", help="a name for a number or an expression"
    )
    group.add_argument(
        "--for",
        action="append",
        default=[],
        dest="loops",
        metavar="NAME=FIRST..LAST",
        help="a loop: k=0..31, k=0..62..2, n=64,32,16; the first is the outermost",
    )
    group.add_argument("--where", metavar="CONDITION", help="only threads for which this holds: threadIdx.x < 16")


def accesses(options: Namespace) -> list[str]:
    """The accesses of the command line; `-` stands for the lines of standard input."""
    found: list[str] = []
    for text in options.access:
        found += [line for line in sys.stdin.read().splitlines() if line.strip()] if text == "-" else [text]
    if not found and not options.store:
        raise InputError("no access: give one such as 'tile[threadIdx.y][threadIdx.x]'")
    return found


def description(options: Namespace) -> dict[str, Any]:
    """The arguments of `banksim.pattern` that the options of `access_options` give."""
    return {
        "accesses": accesses(options),
        "declare": options.declare,
        "block": sizes(options.block, "--block"),
        "grid": sizes(options.grid, "--grid"),
        "let": options.let,
        "where": options.where,
        "loops": options.loops,
        "stores": options.store,
    }
