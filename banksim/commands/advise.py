"""Propose a layout that cures conflicts, and prove it.

`banksim advise ACCESS …` judges every layout of the arrays of a pattern by all the accesses given, `banksim advise
--layout LAYOUT --threads …` every swizzle and padding of shared memory by all the copies given; `banksim advise kernel
FILE:NAME` writes layouts into a kernel's source, compiles and executes each, and shows the best as a diff.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from banksim.commands.shared import report_options
from banksim.commands.shared.argument_text import parse as value_of
from banksim.commands.shared.kernel_options import find, launch_options
from banksim.commands.shared.layout_options import copies, has_layout, layout_options
from banksim.commands.shared.pattern_options import access_options, description
from banksim.commands.shared.sizes import sizes, whole
from banksim.errors import InputError
from banksim.kernels.load import SOURCES
from banksim.system.visible import visible
from banksim.system.writing import write as write_file

if TYPE_CHECKING:
    from banksim.advise.kernels.source import KernelSource

EXAMPLE = """\
  banksim advise "tile[threadIdx.x][threadIdx.y]" "tile[threadIdx.y][threadIdx.x] = v" \\
      --declare "float tile[32][32]" --block 32,32 --arch kepler-8,sm_90
  banksim advise --layout '(64,64):(64,1)' --dtype half --threads '((8,2,2,4),8):((1,8,512,16),64)' --atom ldmatrix_x4
  banksim advise kernel transpose.py:transpose --grid 4,4 --block 32,32 \\
      --arg 'float32[128,128]' --arg 'float32[128,128]=random' --write"""


def options(parser: ArgumentParser) -> None:
    access_options(parser)
    layout_options(parser)
    group = parser.add_argument_group("kernel (advise kernel FILE:NAME)")
    launch_options(group)
    group.add_argument("--write", action="store_true", help="write the best cure into the file")
    group.add_argument(
        "--array", action="append", default=[], metavar="NAME", help="only this shared array of the kernel"
    )
    group = parser.add_argument_group("report")
    group.add_argument(
        "--arch", metavar="NAME,…", default="sm_90", help="cure by all these architectures (default sm_90)"
    )
    group.add_argument("--all", action="store_true", help="show every layout that costs less, and every one refused")
    group.add_argument("--json", action="store_true", help="print the same as JSON")
    group.add_argument("--html", metavar="FILE", help="write the report, before and after, as one HTML file too")


def run(options: Namespace) -> int:
    if options.access[:1] == ["kernel"]:
        return kernel(options)
    return layouts(options) if has_layout(options) else pattern(options)


def layouts(options: Namespace) -> int:
    """Advice on the layout of shared memory behind copies."""
    from banksim.advise.layouts.advice import advise_layouts

    for_patterns_alone(options)
    if options.html:
        raise InputError("--html is for accesses and kernels, not for --layout")
    shared, found = copies(options)
    advice = advise_layouts(shared, found, report_options.architectures(options))
    if options.json:
        from banksim.report.json import document

        print(document("advise", layouts=advice.to_json()))
        return 0
    from banksim.report.text.console import console, show
    from banksim.report.text.layout_advice import report

    screen = console()
    show(report(advice, screen.width, options.all), screen)
    return 0


def for_patterns_alone(options: Namespace) -> None:
    """Refuse options that mean a kernel."""
    if options.write or options.arg or options.array:
        raise InputError("--write, --arg and --array are for kernels: banksim advise kernel FILE:NAME")


def pattern(options: Namespace) -> int:
    """Advice on the arrays of a pattern."""
    from banksim.advise.patterns.advice import advise, together

    for_patterns_alone(options)
    found = advise(**description(options), arch=report_options.architectures(options))
    if options.html:
        from banksim.report.html.advice import of_pattern

        write_file(options.html, of_pattern(found, options.words))
    if options.json:
        from banksim.report.json import document

        transactions, more = together(found)
        whole = {"transactions": list(transactions), "bytes_added": more}
        arrays = [one.to_json() for one in found]
        print(document("advise", arrays=arrays, together=whole))
        return 0
    from banksim.report.text.console import console, show
    from banksim.report.text.pattern_advice import report

    screen = console()
    show(report(found, screen.width, options.all), screen)
    return 0


def kernel(options: Namespace) -> int:
    """Advice on a kernel, written into its file if that is asked for."""
    from banksim.advise.kernels.advice import advise_kernel
    from banksim.advise.kernels.source import write
    from banksim.system.writing import require_writable

    if len(options.access) != 2:
        raise InputError("give one kernel: banksim advise kernel FILE:NAME")
    if options.declare or options.store or options.let or options.loops or options.where:
        raise InputError("--declare, --store, --let, --for and --where are for patterns, not for a kernel")
    found = source(options)
    if options.write:
        require_writable(found.file)
    advice = advise_kernel(
        found,
        sizes(options.grid, "--grid"),
        sizes(options.block, "--block"),
        [value_of(text, seed) for seed, text in enumerate(options.arg)],
        arch=report_options.architectures(options),
        dynamic_shared=whole(options.dynamic_shared, "--dynamic-shared") or 0,
        arrays=options.array,
    )
    if options.write and advice.best:
        write(advice.source.file, advice.source.content, advice.content)
    if options.html:
        from banksim.report.html.advice import of_kernel

        write_file(options.html, of_kernel(advice, options.words))
    if options.json:
        from banksim.report.json import document

        print(document("advise", **advice.to_json()))
        return 0
    from banksim.report.text.console import console, show
    from banksim.report.text.kernel_advice import report

    screen = console()
    show(report(advice, screen.width, options.all), screen)
    if options.write:
        print(visible(f"\n{advice.source.file}: {'written' if advice.best else 'left as it is'}"))
    return 0


def source(options: Namespace) -> KernelSource:
    """The source of the kernel that FILE:NAME names."""
    from banksim.advise.kernels.cuda_source import CudaSource
    from banksim.advise.kernels.numba_source import NumbaSource
    from banksim.architectures.code_layout import MACHINES
    from banksim.runs.resolve import DEFAULT

    options.kernel = options.access[1]
    file = options.kernel.partition(":")[0] if Path(options.kernel).suffix not in SOURCES else options.kernel
    if file.endswith((".ptx", ".cubin")):
        raise InputError(f"{file}: advice rewrites sources: give a .py file or CUDA C++")
    found = find(options)
    if file.endswith(".py"):
        return NumbaSource(found, file)
    arch = next((rule.name for rule in report_options.architectures(options) if rule.name in MACHINES), DEFAULT)
    return CudaSource(file, found.plain_name, options.define, options.include, options.std, arch, found.constants)
