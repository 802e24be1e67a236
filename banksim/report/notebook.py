"""What notebooks show of banksim's objects, and what their methods give."""

import os
from collections.abc import Sequence
from typing import Any

from banksim.banks.conflicts import Conflicts
from banksim.errors import InputError
from banksim.kernels import demangling
from banksim.kernels.load import Module
from banksim.requests.kinds import OPS
from banksim.requests.trace import Trace
from banksim.runs.outcome import Run
from banksim.runs.programs.launches import Launches
from banksim.system.writing import write
from banksim.wording import number, place, plural

PICTURES = ("worst", "all", "none")
MOST_ROWS = 100
"""The most sites of a trace that are listed."""


def html(of: object) -> str:
    """A part of a page: the report, or what the object holds."""
    if isinstance(of, Module | Trace):
        from banksim.report.html.page import fragment

        title, heads, rows, note = module_rows(of) if isinstance(of, Module) else trace_rows(of)
        return fragment("holds.html.j2", title=title, heads=heads, rows=rows, note=note)
    from banksim.report.html.conflicts import html_fragment

    return html_fragment(*page_of(of))


def page_of(of: object) -> tuple[Sequence[Conflicts], str, Any]:
    """What a page tells of: conflicts, a title, the rest."""
    from banksim.report.html.conflicts import Told

    if isinstance(of, Run):
        from banksim.report.html.array_places import of_kernel

        elements = of_kernel(of.kernel, of.conflicts)
        return of.judged, f"{of.kernel.plain_name}: bank conflicts", Told(of, elements=elements)
    if isinstance(of, Launches):
        from banksim.report.html.array_places import of_launches

        return of.judged, "Bank conflicts", Told(launches=of, elements=of_launches(of))
    if isinstance(of, Conflicts):
        return [of], "Shared-memory bank conflicts", Told()
    raise InputError(f"{type(of).__name__}: there is no page of it")


def write_page(of: Run | Conflicts, path: str | os.PathLike[str]) -> None:
    """Write the whole page."""
    from dataclasses import replace

    from banksim.report import json
    from banksim.report.html.conflicts import html as whole

    judged, what, told = page_of(of)
    more = json.described(of) if isinstance(of, Run) else {}
    plain = json.conflicts("kernel" if isinstance(of, Run) else "replay", judged, **more)
    write(path, whole(judged, what, replace(told, plain=plain)))


def text(of: Run | Conflicts, width: int, pictures: str) -> str:
    """The report as the command prints it."""
    if pictures not in PICTURES:
        raise InputError(f"pictures={pictures!r}: choose one of {', '.join(PICTURES)}")
    if isinstance(of, Run):
        from banksim.report.text.kernel import report

        return report(of, width, pictures).plain
    import banksim.report

    return banksim.report.text(of, width=width, pictures=pictures)


Rows = tuple[str, list[str], list[list[str]], str]


def module_rows(of: Module) -> Rows:
    """The kernels of a module."""
    rows = []
    for name in of:
        kernel = of[name]
        shared = max(kernel.shared_bytes - kernel.shared_base, 0)
        rows.append([demangling.signature(name), *map(number, (len(kernel.instructions), kernel.registers, shared))])
    heads = ["kernel", "instructions", "registers", "bytes of shared memory"]
    return f"{of.file}: {plural(len(rows), 'kernel')}", heads, rows, "banksim.run(module[name], grid, block, args)"


def trace_rows(of: Trace) -> Rows:
    """The requests of a trace by their sites."""
    import numpy as np

    kinds, counts = np.unique(np.stack([of.site, of.op, of.width]), axis=1, return_counts=True)
    rows = []
    for (site, op, width), count in list(zip(kinds.T.tolist(), counts.tolist(), strict=True))[:MOST_ROWS]:
        one = of.sites[site]
        where = f"{place(one)}  " if one.line or one.offset is not None else ""
        rows.append([f"{where}{one.text or one.opcode}", OPS[op], str(width), number(count)])
    left = kinds.shape[1] - len(rows)
    note = "banksim.replay(trace, arch) judges them." + (f" {plural(left, 'more site')}." if left else "")
    return f"Trace of {plural(len(of), 'request')}", ["site", "op", "bytes a lane", "requests"], rows, note
