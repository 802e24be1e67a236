"""Propose a layout that cures a kernel's conflicts, and prove it.

Layouts are written into the kernel's source (declarations and every index), and each is compiled and executed: results
stay the same bit for bit. The best is shown as a diff.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from banksim.commands.shared import advice_options, report_options
from banksim.commands.shared.argument_text import parse as value_of
from banksim.commands.shared.kernel_options import find, launch_options
from banksim.commands.shared.sizes import sizes, whole
from banksim.errors import InputError
from banksim.kernels.load import SOURCES
from banksim.system.visible import visible

if TYPE_CHECKING:
    from banksim.advise.kernels.source import KernelSource

EXAMPLE = """\
  banksim advise kernel transpose.py:transpose --grid 4,4 --block 32,32 \\
      --arg 'float32[128,128]' --arg 'float32[128,128]=random'
  banksim advise kernel stencil.cu:stencil --grid 16 --block 256 --arg 'float32[4096]' --arch A100,H200 --write"""


def options(parser: ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="FILE:NAME", help="a Numba function (.py), or a kernel of CUDA C++")
    group = parser.add_argument_group("advice")
    group.add_argument("--write", action="store_true", help="write the best cure into the file")
    group.add_argument(
        "--array", action="append", default=[], metavar="NAME", help="only this shared array of the kernel"
    )
    launch_options(parser)
    advice_options.options(parser)


def run(options: Namespace) -> int:
    from banksim.advise.kernels.advice import advise_kernel
    from banksim.advise.kernels.source import write
    from banksim.system.writing import require_writable

    found = source(options)
    if options.write:
        require_writable(found.file)
    advice = advise_kernel(
        found,
        sizes(options.grid, "--grid"),
        sizes(options.block or "32", "--block"),
        [value_of(text, seed, deferred=True) for seed, text in enumerate(options.arg)],
        arch=report_options.architectures(options),
        dynamic_shared=whole(options.dynamic_shared, "--dynamic-shared") or 0,
        arrays=options.array,
    )
    if options.write and advice.best:
        write(advice.source.file, advice.source.content, advice.content)

    status = advice_options.show(options, "kernel", advice, advice.to_json)
    if options.write and not options.json:
        print(visible(f"\n{advice.source.file}: {'written' if advice.best else 'left as it is'}"))
    return status


def source(options: Namespace) -> KernelSource:
    """The source of the kernel that FILE:NAME names."""
    from banksim.advise.kernels.cuda_source import CudaSource
    from banksim.advise.kernels.numba_source import NumbaSource

    file = options.kernel.partition(":")[0] if Path(options.kernel).suffix not in SOURCES else options.kernel
    if file.endswith((".ptx", ".cubin")):
        raise InputError(f"{file}: advice rewrites sources: give a .py file or CUDA C++")
    found = find(options, report_options.architectures(options))
    if file.endswith(".py"):
        return NumbaSource(found, file)
    given = options.define, options.include, options.std
    return CudaSource(file, found.plain_name, *given, found.arch, found.constants)
