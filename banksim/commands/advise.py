"""Propose a layout that cures conflicts, and prove it: for all accesses of an array together."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from banksim.commands import judging
from banksim.commands.pattern import access_options, accesses
from banksim.commands.sizes import sizes

EXAMPLE = """\
  banksim advise "tile[threadIdx.x][threadIdx.y]" "tile[threadIdx.y][threadIdx.x] = v" \\
      --declare "float tile[32][32]" --block 32,32 --arch kepler-8,sm_90"""


def options(parser: ArgumentParser) -> None:
    access_options(parser)
    group = parser.add_argument_group("report")
    group.add_argument(
        "--arch", metavar="NAME,…", default="sm_90", help="cure by all these architectures (default sm_90)"
    )
    group.add_argument("--all", action="store_true", help="show every layout that costs less")
    group.add_argument("--json", action="store_true", help="print the same as JSON")


def run(options: Namespace) -> int:
    from banksim.advise.patterns import advise

    found = advise(
        accesses(options),
        arch=judging.architectures(options),
        declare=options.declare,
        block=sizes(options.block, "--block"),
        grid=sizes(options.grid, "--grid"),
        let=options.let,
        where=options.where,
        loops=options.loops,
        stores=options.store,
    )
    if options.json:
        print(json.dumps({"command": "advise", "arrays": [one.to_json() for one in found]}, indent=2))
        return 0
    from banksim.report.advice import report
    from banksim.report.console import console, show

    screen = console()
    show(report(found, screen.width, options.all), screen)
    return 0
