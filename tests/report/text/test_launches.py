"""The report on a program's launches, from records built by hand."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from types import SimpleNamespace

import pytest

from banksim import architecture
from banksim.banks.conflicts import Conflicts, Request, SiteConflicts
from banksim.errors import Fault
from banksim.report.html.conflicts import Told, html
from banksim.report.json import launches as as_json
from banksim.report.text.program import names, report
from banksim.requests.trace import Site
from banksim.runs.options import Options
from banksim.runs.outcome import Run
from banksim.runs.programs import kernel_launches
from banksim.runs.programs.kernel_launches import KernelLaunches, Shape
from banksim.runs.programs.launches import Launches
from helpers.executed_launches import run_by_hand
from helpers.goldens import assert_golden
from helpers.places import H200, loaded

FILE = "kernels/stencil.py"
ROW = tuple(4 * lane for lane in range(32))
COLUMN = tuple(128 * lane for lane in range(32))


def site(line: int, text: str, op: str, requests: int, ways: int) -> SiteConflicts:
    worst = Request(op, 4, 0xFFFFFFFF, COLUMN if ways > 1 else ROW, block=3, warp=1, excess=ways - 1)
    where = Site("LDS" if op == "ld" else "STS", 16 * line, FILE, line, text, "stencil")
    return SiteConflicts(where, op, 4, requests, requests * ways, requests, ways, worst, "measured")


LOAD = (12, "tile[y, x] = a[i]", "st", 1024, 1)
COLUMNS = (15, "total += tile[x, y]", "ld", 2048, 32)


def launches(names: Sequence[str], archs: Sequence[str], asked: bool = False, partial: int = 0) -> Launches:
    made = {
        "stencil": ("stencil", ("array(float32, 2d, C)",), (site(*LOAD), site(*COLUMNS)), 4, [(8, 8, 1)] * 2),
        "again": ("stencil", ("array(float64, 2d, C)",), (), 1, [(8, 8, 1), (4, 8, 1)]),
        "copy": ("copy", ("array(float32, 2d, C)", "int64"), (site(*LOAD),), 2, [(132, 1, 1)] * 2),
    }
    found = Launches([architecture(arch) for arch in archs])
    found.time_was_asked = asked
    for key in names:
        name, signature, sites, count, grids = made[key]
        shapes = Counter(Shape(grid, (32, 8, 1), 0) for grid in grids)
        judged = tuple(Conflicts(rule, sites) for rule in found.rules)
        found.kernels.append(KernelLaunches(name, signature, judged, count, partial, 4096, 131072, shapes))
    return found


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("program", launches(["stencil", "copy"], ["sm_90"], asked=True)),
        ("variants", launches(["stencil", "again", "copy"], ["sm_90"], partial=1)),
        ("two", launches(["stencil", "copy"], ["kepler-4", "sm_90"])),
        ("free", launches(["copy"], ["sm_90"])),
        ("global", launches(["again"], ["sm_90"])),
        ("none", launches([], ["sm_90"])),
    ],
)
def test_a_program_is_reported_as_written(name: str, made: Launches, width: int) -> None:
    text = report("programs/main.py", made, width, "none").plain
    assert max(map(len, text.splitlines())) <= width
    assert_golden(text + "\n", f"launches-{name}-{width}")


def test_what_was_launched_is_a_line() -> None:
    assert repr(launches(["copy"], ["sm_90"])) == (
        "<2 launches of 1 kernel on sm_90: 1,024 requests, 1,024 transactions, 1,024 ideal>"
    )


def test_every_line_can_be_shown() -> None:
    made = launches(["stencil", "copy"], ["sm_90"])
    assert f"{FILE}:12" in report("main.py", made, 100, "none", all_lines=True).plain
    assert "No conflict on 1 other line: kernels/stencil.py:12" in report("main.py", made, 100, "none").plain


def test_what_is_noted_of_a_launch_is_told_with_its_kernel() -> None:
    made = launches(["stencil", "copy"], ["sm_90"])
    made.kernels[1].out_of_bounds = ("Line 3 is out of bounds.",)
    assert "copy: Line 3 is out of bounds." in report("main.py", made, 100).plain.splitlines()
    page = html(made.judged, "main.py", Told(launches=made, plain={"kernels": [one.to_json() for one in made.kernels]}))
    assert "copy: Line 3 is out of bounds." in page


def test_long_names_of_kernels_are_as_short_as_tells_them_apart() -> None:
    """And without the namespaces of a library's version."""
    inside, types = (
        "cub::_V_300500_SM_900::detail::",
        "<cub::_V_300500_SM_900::detail::policy, cuda::std::__4::plus<{}> >",
    )
    made = launches(["copy"], ["sm_90"])
    kernel = made.kernels.pop()
    for name in (f"scan{types.format('int')}", f"sort{types.format('int')}", f"sort{types.format('long')}"):
        made.kernels.append(replace(kernel, name=inside + name))
    made.others["cub::_V_300500_SM_900::detail::find" + types.format("int")] = 1
    assert names(made) == [
        "cub::detail::scan<cub::detail::policy, cuda::std::plus<…> >",
        "cub::detail::sort<cub::detail::policy, cuda::std::plus<int> >",
        "cub::detail::sort<cub::detail::policy, cuda::std::plus<long> >",
    ]
    text = report("app", made, 160).plain
    page = html(made.judged, "app", Told(launches=made, plain={"kernels": [one.to_json() for one in made.kernels]}))
    for name in names(made):
        assert name in text
        assert escape(name) in page
    assert "not counted: cub::detail::find<cub::detail::policy, cuda::std::plus<…> > (1)" in " ".join(text.split())
    assert "_V_300500" not in text


def test_a_launch_that_ended_by_an_error_is_named() -> None:
    """Also where there was no other, and where others are counted."""
    made = launches([], ["sm_90"])
    launch = SimpleNamespace(kernel=SimpleNamespace(name="_Z5strayPi", plain_name="stray"))

    def execute(*_: object) -> Run:
        raise Fault("out of bounds")

    with pytest.raises(Fault):
        made.execute(launch, Shape((1, 1, 1), (32, 1, 1), 0), Options(), execute=execute)  # type: ignore[arg-type]
    assert as_json("main.py", 1, made)["ended_by_error"] == {"stray": 1}
    told = "1 launch ended by an error, not counted: stray (1)"
    assert report("main.py", made, 100).plain.splitlines()[1:] == ["No launch came to its end.", told]
    others = launches(["copy"], ["sm_90"])
    others.failed = made.failed
    assert told in report("main.py", others, 100).plain.splitlines()
    for found in (made, others):
        assert told in html(found.judged, "main.py", Told(launches=found, plain=as_json("main.py", 1, found)))


def test_the_time_of_a_launch_that_comes_again_is_estimated_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program launches some kernels a hundred thousand times."""
    asked = list[object]()

    def microseconds_of(run: object) -> float:
        asked.append(run)
        return 1.5

    monkeypatch.setattr(kernel_launches, "microseconds_of", microseconds_of)
    one = launches([], ["sm_90"]).judged
    spent = SimpleNamespace(total=30, ideal=20, assumptions=("of clusters",))
    run = run_by_hand(loaded(H200 / "barriers.cubin")["barrier_3d"], one, spent)
    found = KernelLaunches("again", (), one)
    for _ in range(1000):
        found.add(run, Shape((1, 1, 1), (32, 1, 1), 0))
    found.settle()
    assert found.times
    assert (found.times.cycles, found.times.ideal, found.times.microseconds) == (30000, 20000, 1500)
    assert found.times.assumptions == ("of clusters",)
    assert len(asked) == 2
