"""The options that describe copies between threads and shared memory by layouts."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from banksim.commands.shared.sizes import sizes
from banksim.errors import InputError

if TYPE_CHECKING:
    from banksim.layouts.algebra import Layout
    from banksim.layouts.build import Copy, GluonShared

OF_COPIES = ("threads", "values", "op", "atom")
"""Options that may be given once for each copy."""


def layout_options(parser: ArgumentParser) -> None:
    """Add the options that describe copies."""
    group = parser.add_argument_group("layouts (in place of accesses: as CuTe or Gluon write them)")
    group.add_argument(
        "--layout", metavar="LAYOUT", help="of shared memory: 'S<3,3,3> o (8,64):(64,1)', 'SwizzledSharedLayout(…)'"
    )
    group.add_argument("--shape", metavar="SIZES", help="of the tensor, where LAYOUT is Gluon's: 64,64")
    group.add_argument("--dtype", metavar="TYPE", help="its elements: half, float, int8_t … (default float)")
    group.add_argument(
        "--threads",
        action="append",
        default=[],
        metavar="LAYOUT",
        help="a copy: (thread, value) → an index of LAYOUT, as '(32,8):(8,1)'; with --values a tiled copy's threads",
    )
    group.add_argument(
        "--values", action="append", default=[], metavar="LAYOUT", help="the values of a tiled copy: '(1,8)'"
    )
    group.add_argument("--op", action="append", default=[], metavar="OP", help="ld or st (default ld)")
    group.add_argument(
        "--atom",
        action="append",
        default=[],
        metavar="ATOM",
        help="bytes at once (1, 2, 4, 8, 16), ldmatrix_x4, stmatrix_x2_trans and the like, or widest (default); --op, "
        "--atom, --values: one for all copies, or one for each --threads",
    )


def has_layout(options: Namespace) -> bool:
    """Whether copies are described, and not accesses; `InputError` where both are."""
    given = [name for name in (*OF_COPIES, "dtype", "shape") if getattr(options, name)]
    if options.layout is None:
        if given:
            raise InputError(f"--{given[0]}: give the layout of shared memory too, as --layout '(8,64):(64,1)'")
        return False
    described = {
        "an access": options.access, "--declare": options.declare, "--store": options.store, "--let": options.let,
        "--for": options.loops, "--where": options.where, "--block": options.block != "32",
        "--grid": options.grid != "1",
    }  # fmt: skip
    for what, there in described.items():
        if there:
            raise InputError(f"--layout and {what}: give one of them")
    if not options.threads:
        raise InputError("--layout: give the threads of each copy too, as --threads '(32,8):(8,1)'")
    return True


def shared(options: Namespace) -> Layout | GluonShared:
    """The layout of shared memory of the command line."""
    from banksim.layouts.build import shared_layout

    return shared_layout(options.layout, sizes(options.shape, "--shape") if options.shape else ())


def copies(options: Namespace) -> tuple[Layout | GluonShared, list[Copy]]:
    """The layout of shared memory, and the copies, of the command line."""
    from banksim.layouts.build import copy_of

    where = shared(options)
    count = len(options.threads)

    def each(name: str, default: str | None) -> list[str | None]:
        given = getattr(options, name)
        if len(given) not in (0, 1, count):
            raise InputError(f"--{name} is given {len(given)} times, and --threads {count} times: give as many, or one")
        return [*given, *[given[0] if given else default] * (count - len(given))]

    named = zip(options.threads, each("values", None), each("op", "ld"), each("atom", "widest"), strict=True)
    found = [
        copy_of(where, threads, values, options.dtype or "float", str(op), str(atom))
        for threads, values, op, atom in named
    ]
    return where, found
