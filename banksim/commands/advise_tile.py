"""Tell which swizzle of a tensor map (TMA) fits a tile, and what each way of reading it costs in each.

A tile of shared memory that copies by a tensor map fill: without a swizzle, or with one of 32, 64 or 128 bytes, in the
boxes that it needs then. Every access that reads the whole tile is replayed.
"""

from argparse import ArgumentParser, Namespace

from banksim.commands.shared.sizes import sizes
from banksim.errors import InputError

EXAMPLE = """\
  banksim advise tile 128,64 --dtype half --read ldmatrix,wgmma
  banksim advise tile 64,32 --dtype float --arch sm_90 --json"""


def options(parser: ArgumentParser) -> None:
    parser.add_argument("tile", metavar="ROWS,COLUMNS", help="its rows and columns in elements")
    parser.add_argument("--dtype", metavar="TYPE", default="float", help="its elements: half, int8_t … (default float)")
    parser.add_argument(
        "--read",
        metavar="WAY,…",
        default="",
        help="how it is read, as the report names it: ldmatrix, fragments, rows, columns, transposed, wgmma, wgmma_mn "
        "(default: all of them)",
    )
    parser.add_argument("--arch", metavar="NAME", default="sm_90", help="the architecture (default sm_90)")
    parser.add_argument("--json", action="store_true", help="print the same as JSON")


def run(options: Namespace) -> int:
    from banksim.advise.layouts.tiles import advise_tile
    from banksim.layouts.build import element_bytes

    shape = sizes(options.tile, "tile")
    if len(shape) != 2:
        raise InputError(f"tile {options.tile}: give its rows and columns, as 128,64")
    ways = tuple(way.strip() for way in options.read.split(",") if way.strip())
    advice = advise_tile(*shape, element_bytes(options.dtype), ways, options.arch)
    if options.json:
        from banksim.report.json import document

        print(document("advise", tile=advice.to_json()))
        return 0
    from banksim.report.text import console
    from banksim.report.text.tile_advice import report

    screen = console.console()
    console.show(report(advice, screen.width), screen)
    return 0
