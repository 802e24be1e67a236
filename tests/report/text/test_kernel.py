"""The report on a launch, from records built by hand."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from banksim import architecture
from banksim.banks.conflicts import Conflicts, Request, SiteConflicts
from banksim.banks.source_lines import by_line, hot_first, label
from banksim.kernels.kernel import BYTES, Instruction
from banksim.machine import doubts
from banksim.report.text.conflict_table import notes
from banksim.report.text.kernel import report
from banksim.requests.trace import Site
from banksim.runs.outcome import Run
from banksim.runs.programs.kernel_launches import KernelLaunches, Shape
from helpers.goldens import assert_golden

FILE = "kernels/product.py"
CALL = (("row_of", FILE, 30),)
CODE = (
    ("S2R R0, SR_TID.X", 10, "x = cuda.threadIdx.x", ()),
    ("STS [R4], R2", 12, "tile[y, x] = a[i]", ()),
    ("BAR.SYNC 0x0", 13, "cuda.syncthreads()", ()),
    ("LDS R5, [R6]", 14, "total += tile[x, k]", ()),
    ("LDS R7, [R6+0x80]", 14, "total += tile[x, k]", ()),
    ("LDS.128 R8, [R3]", 14, "total += tile[x, k]", ()),
    ("LDS R9, [R3]", 4, "return tile[k]", CALL),
    ("ATOMS.CAS R9, [R3]", 31, "cuda.atomic.cas(tile, 0, 0, 1)", ()),
    ("EXIT", 32, "out[i] = total", ()),
    ("NOP", 32, "out[i] = total", ()),
)
COLUMN = tuple(128 * lane for lane in range(32))
ROW = tuple(4 * lane for lane in range(32))


def instruction(n: int) -> Instruction:
    text, line, source, inlined = CODE[n]
    site = Site(text.partition(" ")[0], n * BYTES, FILE, line, source, "product", inlined)
    name = site.opcode.partition(".")[0]
    return Instruction(n * BYTES, 0, site.opcode, name, frozenset(), None, (), site, text=text)


INSTRUCTIONS = [instruction(n) for n in range(len(CODE))]


def judged(
    n: int, op: str, width: int, transactions: int | None, ideal: int | None, degree: int | None, address: Any = ROW
) -> SiteConflicts:
    excess = ((transactions or 0) - (ideal or 0)) // 1024
    request = Request(op, width, 0xFFFFFFFF, address, block=1, warp=2, excess=excess)
    status = "unknown" if transactions is None else "measured"
    return SiteConflicts(
        INSTRUCTIONS[n].site,
        op,
        width,
        1024,
        transactions,
        ideal,
        degree,
        request,
        status,  # type: ignore[arg-type]
    )


HOPPER = Conflicts(
    architecture("sm_90"),
    (
        judged(1, "st", 4, 1024, 1024, 1),
        judged(3, "ld", 4, 2048, 1024, 2, tuple(8 * lane for lane in range(32))),
        judged(4, "ld", 4, 32768, 1024, 32, COLUMN),
        judged(5, "ld", 16, 4096, 4096, 1, tuple(16 * lane for lane in range(32))),
        judged(6, "ld", 4, 4096, 1024, 4, tuple(16 * lane for lane in range(32))),
        judged(7, "cas", 4, 2048, 2048, 1),
    ),
)
KEPLER = Conflicts(architecture("kepler-4"), (*HOPPER.sites[:5], judged(7, "cas", 4, None, None, None)))


def launch(*architectures: Conflicts, partial: bool = False) -> Run:
    counts = np.array([[1024, 32768, 32768 - 8 * n] for n in range(len(INSTRUCTIONS))])
    counts[-1] = 0
    return Run(
        kernel=SimpleNamespace(  # type: ignore[arg-type]
            plain_name="product", arch="sm_90", variables=(), listing=INSTRUCTIONS, instructions=INSTRUCTIONS
        ),
        launch=SimpleNamespace(grid=(8, 8, 1), block=(32, 32, 1), blocks=64, notes=(), constants={}, doubts={}),  # type: ignore[arg-type]
        judged=architectures,
        counts=counts,
        blocks=40 if partial else 64,
        seconds=0.5,
        partial=partial,
    )


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize(
    ("name", "run", "options"),
    [
        ("lines", launch(HOPPER), {}),
        ("all-lines", launch(HOPPER), {"all_lines": True, "pictures": "none"}),
        ("sass", launch(HOPPER), {"sass": True, "pictures": "none"}),
        ("two", launch(KEPLER, HOPPER), {"sass": True, "pictures": "none"}),
        ("partial", launch(HOPPER, partial=True), {"pictures": "none"}),
        ("free", launch(Conflicts(HOPPER.arch, HOPPER.sites[:1])), {}),
        ("nothing", launch(Conflicts(HOPPER.arch, ())), {}),
    ],
)
def test_a_launch_is_reported_as_written(name: str, run: Run, options: dict[str, Any], width: int) -> None:
    text = report(run, width, **options).plain
    assert max(map(len, text.splitlines())) <= width
    assert_golden(text + "\n", f"kernel-{name}-{width}")


def test_the_instructions_of_a_line_are_one_row_but_not_those_of_another_width_or_call() -> None:
    lines = by_line(HOPPER).sites
    assert [(one.line, one.op, one.width, one.requests, one.transactions, one.degree) for one in lines] == [
        (12, "st", 4, 1024, 1024, 1),
        (14, "ld", 4, 2048, 34816, 32),
        (14, "ld", 16, 1024, 4096, 1),
        (4, "ld", 4, 1024, 4096, 4),
        (31, "cas", 4, 1024, 2048, 1),
    ]
    assert lines[1].worst is not None
    assert lines[1].worst.address == COLUMN
    assert by_line(HOPPER).transactions == HOPPER.transactions


def test_hot_lines_come_first_and_unknown_ones_before_them() -> None:
    hot, quiet = hot_first([by_line(KEPLER), by_line(HOPPER)])
    for conflicts in hot:
        assert [(site.line, site.width) for site in conflicts.sites] == [(31, 4), (14, 4), (14, 16), (4, 4)]
    assert [site.line for site in quiet] == [12]


def test_inlined_code_names_its_callers() -> None:
    assert label(INSTRUCTIONS[6].site) == f"{FILE}:4  return tile[k] (in row_of, called at {FILE}:30)"


def test_code_without_lines_is_named_by_its_offset() -> None:
    assert label(Site("LDS", 0x1F0)) == "SASS 0x01f0  LDS"


@pytest.mark.parametrize(
    ("site", "told"),
    [
        (Site("LDS", 0x1F0), True),
        (Site(file="PTX of ./app", line=33), True),
        (Site(file="kernels/product.py", line=33), False),
        (Site(text="tile[x]"), False),
    ],
)
def test_code_without_lines_says_how_to_have_them(site: Site, told: bool) -> None:
    conflicts = Conflicts(architecture("sm_90"), (replace(HOPPER.sites[0], site=site),))
    assert (
        "The code has no lines of its source: nvcc puts them there with -lineinfo." in notes([conflicts], ())
    ) == told


@pytest.mark.parametrize("archs", [["sm_90"], ["sm_80", "sm_90"]])
def test_only_the_statuses_of_lines_that_are_shown_are_explained(archs: list[str]) -> None:
    run = launch(*(replace(HOPPER, arch=architecture(arch)) for arch in archs))
    quiet = replace(HOPPER.sites[0], status="assumed")
    run = replace(run, judged=tuple(replace(one, sites=(quiet, *one.sites[1:])) for one in run.judged))
    executions = tuple(replace(run, judged=(one,)) for one in run.judged) if len(archs) > 1 else ()
    for all_lines in (False, True):
        text = report(replace(run, executions=executions), 160, all_lines=all_lines).plain
        assert ("\nassumed: " in text) == all_lines
        assert "\nmeasured: " in text


def test_a_note_says_from_where_on_counts_are_not_sure() -> None:
    run = launch(Conflicts(architecture("sm_90"), ()))
    run.launch.doubts.update({3 * BYTES: doubts.STUCK, BYTES: doubts.FOREIGN | doubts.YIELDED})
    (note,) = doubts.notes(SimpleNamespace(instructions=INSTRUCTIONS, opcodes=frozenset()), run.launch.doubts)  # type: ignore[arg-type]
    assert note == (
        f"Which threads of a warp run together is not established from {FILE}:12 (SASS 0x0010 STS [R4], R2) on "
        "(and at 1 more instruction): threads of a warp met a convergence barrier that gathers others, and not them. "
        "How often warps execute instructions, and their requests, may be other than on a GPU."
    )
    run.launch.doubts.clear()
    assert run.notes == ()


def test_what_the_launches_of_a_kernel_are_unsure_of_is_one_note() -> None:
    found = KernelLaunches("product", (), ())
    for pcs in ([BYTES], [BYTES, 3 * BYTES], [3 * BYTES]):
        run = launch()
        run.kernel.__dict__.update(instructions=INSTRUCTIONS, opcodes=frozenset())
        run.launch.__dict__.update(doubts=dict.fromkeys(pcs, doubts.STUCK))
        found.add(run, Shape((8, 8, 1), (32, 32, 1), 0))
    (note,) = found.notes
    assert f"from {FILE}:12 (SASS 0x0010 STS [R4], R2) on (and at 1 more instruction)" in note


@pytest.mark.parametrize(
    "opcode", ["ATOMS", "REDS", "ATOM", "RED", "REDAS", "LD", "ST", "STAS", "STS", "ATOMG", "REDG"]
)
def test_who_goes_first_behind_a_yield_is_told_where_atomics_can_be_on_shared_memory(opcode: str) -> None:
    kernel = SimpleNamespace(instructions=INSTRUCTIONS, opcodes=frozenset({"STS", opcode}))
    told = doubts.notes(kernel, {BYTES: doubts.GAVE_WAY})  # type: ignore[arg-type]
    assert bool(told) == (opcode in ("ATOMS", "REDS", "ATOM", "RED", "REDAS"))
