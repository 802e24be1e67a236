"""Advice on layouts behind copies: what is claimed of a layout is so when it is written as it is told."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import banksim
from banksim import layout, layout_pattern
from banksim.__main__ import main
from banksim.advise.layouts.advice import LayoutAdvice, advise_layouts
from banksim.advise.layouts.candidates import candidates, swizzles
from banksim.layouts import gluon, gluon_text
from banksim.layouts.build import copy_of, shared_layout
from helpers.commands import err_of, out_of
from helpers.fixtures import Patch, Said

FRAGMENTS = "((8,2,2,4),8):((1,8,512,16),64)"
"""The rows that four warps give ldmatrix.x4, of a tile of 64 × 64 halves."""
PLAIN = "SwizzledSharedLayout(1, 1, 1, [1, 0])"
ROWS = "BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])"
COLUMNS = "BlockedLayout([8, 1], [8, 4], [1, 4], [0, 1])"


def advice(shared: str, copies: list[tuple[str, str | None, str, str]], shape: tuple[int, ...] = ()) -> LayoutAdvice:
    """Advice for copies of halves: threads, values, op and atom of each."""
    where = shared_layout(shared, shape)
    return advise_layouts(where, [copy_of(where, t, v, "half", op, atom) for t, v, op, atom in copies])


CUTE = [("(16,8):(8,1)", "(1,8)", "st", "16"), (FRAGMENTS, None, "ld", "ldmatrix_x4")]
GLUON = [(ROWS, None, "st", "widest"), (COLUMNS, None, "ld", "widest")]


def test_the_cheapest_swizzle_for_matrices_is_cutlasses() -> None:
    found = advice("(64,64):(64,1)", CUTE)
    assert found.best.layout.cute == "S<3,3,3> o (64,64):(64,1)"
    assert found.best.layout.gluon == "SwizzledSharedLayout(8, 1, 8, [1, 0])"
    assert (found.before.transactions, found.best.transactions) == ((64 + 128,), (64 + 16,))
    assert found.verdict == f"The cheapest of {found.tried} layouts: no conflict is left."
    assert found.best.requests == found.before.requests


def test_what_is_claimed_is_so_as_cute_writes_it() -> None:
    found = advice("S<1,3,6> o (64,64):(64,1)", CUTE)
    assert len(found.better) > 20
    for one in (found.before, *found.better):
        traces = [
            layout_pattern(one.layout.cute, threads, values=values, dtype="half", op=op, atom=atom)
            for threads, values, op, atom in CUTE
        ]
        assert sum(banksim.replay(trace).transactions for trace in traces) == one.transactions[0]
        assert sum(len(trace) for trace in traces) == one.requests


def test_what_is_claimed_is_so_as_gluon_writes_it() -> None:
    found = advice(PLAIN, GLUON, (64, 64))
    assert found.best.transactions == (192,)
    kinds = set()
    for one in found.better[::7]:
        kinds.add(one.layout.gluon.partition("(")[0])
        traces = [
            layout_pattern(one.layout.gluon, threads, shape=(64, 64), dtype="half", op=op)
            for threads, _, op, _ in GLUON
        ]
        assert sum(banksim.replay(trace).transactions for trace in traces) == one.transactions[0]
    assert kinds == {"SwizzledSharedLayout", "PaddedSharedLayout.with_identity_for"}


@pytest.mark.parametrize("shared", ["(64,32):(32,1)", "(64,32):(1,64)", "(16,8,4):(32,4,1)", "((4,4),8):((1,32),4)"])
def test_both_languages_mean_the_same(shared: str) -> None:
    """Where a candidate of CuTe's has a name in Gluon, the places are equal; and of Gluon's in CuTe's words too."""
    whole = shared_layout(shared, ())
    assert isinstance(whole, banksim.Layout)
    named = 0
    for one in candidates(whole, 2):
        assert (layout(one.cute).at(np.arange(whole.size)) == one.places).all()
        if one.gluon:
            named += 1
            places = gluon.native(gluon_text.parse(one.gluon, whole.sizes)).places(whole.sizes)
            assert (places.reshape(whole.sizes).ravel(order="F") == one.places).all(), one.gluon
    assert named > 10 or "((" in shared
    if "((" in shared:
        return
    order = [*range(len(whole.sizes))][::-1]
    for one in candidates(shared_layout(f"SwizzledSharedLayout(1, 1, 1, {order})", whole.sizes), 2):
        places = gluon.native(gluon_text.parse(one.gluon, whole.sizes)).places(whole.sizes)
        assert (places == one.places).all(), one.gluon
        if one.cute:
            cute = layout(one.cute).at(np.arange(whole.size)).reshape(whole.sizes, order="F")
            assert (cute.ravel() == one.places).all(), one.cute


def test_every_swizzle_is_tried() -> None:
    """The least of all S<b,m,s>, by a search of its own over the notation."""
    columns = "(32,2):(1,32)"
    found = advice("(64,4):(8,1)", [(columns, None, "ld", "2")])
    counts = {}
    for bits in range(1, 6):
        for base in range(9):
            for shift in range(bits, 9):
                text = f"S<{bits},{base},{shift}> o (64,4):(8,1)"
                trace = layout_pattern(text, columns, dtype="half", atom=2)
                counts[text] = banksim.replay(trace).transactions
    swizzled = [one for one in found.better if one.layout.cute.startswith("S<")]
    assert swizzled[0].transactions[0] == min(counts.values())
    assert all(counts[one.layout.cute] == one.transactions[0] for one in swizzled)
    assert len(list(swizzles(512))) == len({str(one) for one in swizzles(512)})


def test_several_architectures_are_judged_together() -> None:
    where = shared_layout("(64,64):(64,1)", ())
    copies = [copy_of(where, "(32,8):(1,256)", None, "half", "ld", "2")]
    both = advise_layouts(where, copies, ["kepler-8", "sm_90"])
    alone = advise_layouts(where, copies, "sm_90")
    assert both.better
    assert [both.before.transactions[1]] == [*alone.before.transactions]
    for one in both.better:
        assert all(new <= old for new, old in zip(one.transactions, both.before.transactions, strict=True))


def test_none_pays_where_nothing_conflicts() -> None:
    found = advice("(64,64):(1,64)", [("(32,8):(8,1)", None, "ld", "16")])
    assert not found.better
    assert found.verdict == f"No layout pays: none of {found.tried} costs fewer transactions: no conflict is left."
    assert found.best is found.before


def test_the_command_says_what_to_write_and_why(capsys: Said, monkeypatch: Patch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    words = ["advise", "--layout", "(64,64):(64,1)", "--dtype", "half", "--threads", FRAGMENTS, "--atom", "ldmatrix_x4"]
    shown = out_of(capsys, words)
    for line in (
        "Layouts for 1 copy on sm_90",
        "CuTe  S<3,3,3> o (64,64):(64,1)",
        "Gluon SwizzledSharedLayout(8, 1, 8, [1, 0])",
        "  before ldmatrix_x4: 32 transactions, 4 without conflicts: banks 0–7 need 8 passes for one part of",
        "  after  ldmatrix_x4: 4 transactions, no conflict.",
    ):
        assert line in shown.splitlines()
    assert re.search(r"^S<3,3,3> o \(64,64\):\(64,1\) +16 +4 +8,192$", shown, re.MULTILINE)
    found = json.loads(out_of(capsys, [*words, "--json"]))["layouts"]
    assert found["better"][0]["cute"] == "S<3,3,3> o (64,64):(64,1)"
    assert found["better"][0]["transactions"] == [16]


# ---- pictures
def test_a_picture_has_a_cell_for_each_element(tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "layout.svg"
    words = ["pattern", "--layout", "S<3,3,3> o (8,64):(64,1)", "--dtype", "half"]
    assert main([*words, "--draw", str(file)]) == 0
    root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
    cells = root.findall("{*}rect")
    titles = [cell.findtext("{*}title") for cell in cells]
    where = layout("S<3,3,3> o (8,64):(64,1)")
    assert titles == [
        f"({row},{column}): place {where(row, column)}, bank {where(row, column) // 2 % 32}"
        for row in range(8)
        for column in range(64)
    ]
    colours = {cell.get("fill") for cell in cells}
    assert len(colours) == 32
    assert capsys.readouterr().out == ""


def test_a_picture_in_the_terminal_shows_banks(capsys: Said, monkeypatch: Patch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = out_of(capsys, ["pattern", "--layout", "(4,16):(16,1)", "--draw", "-"]).splitlines()
    assert lines[0] == "(4,16):(16,1), banks on sm_90"
    assert lines[3].split("│")[1].split() == [str(16 + column) for column in range(12)]
    assert lines[-1] == "4 more columns: --draw FILE.svg has room for all"
    words = ["pattern", "--layout", PLAIN, "--shape", "4,8", "--draw", "-", "--threads", ROWS, "--picture", "none"]
    assert "places" not in err_of(capsys, words, status=0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["s[tid]", "--draw", "-"], "--draw: give the layout to draw, as --layout '(8,64):(64,1)'"),
        (["--layout", "(2,2,2)", "--draw", "-"], "(2,2,2):(1,2,4) has 3 modes: one or two can be drawn"),
        (["--layout", "(512,512)", "--draw", "-"], "(512,512):(1,512) has 262144 elements: up to 65536 can be drawn"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(words: list[str], message: str, capsys: Said) -> None:
    assert err_of(capsys, ["pattern", *words]) == f"banksim: {message}\n"
