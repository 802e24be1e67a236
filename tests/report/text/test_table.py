import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from banksim.report.text.table import Column, above, beside, fitted, fold, prose


def columns(group: str = "") -> list[Column]:
    figures = [Text("7"), Text("1,048,576")]
    return [
        Column(("", "op"), [Text("ld 4 B"), Text("total")], left=True),
        Column(("trans-", "actions"), figures, group),
        Column(("per", "request"), figures, group),
    ]


LABELS = [Text("tile[threadIdx.x][threadIdx.y]"), Text("")]


def plain(lines: list[Text] | None) -> str:
    assert lines is not None
    return "\n".join(line.plain for line in lines)


def test_labels_stand_left_of_their_figures_where_there_is_room() -> None:
    assert plain(beside(LABELS, columns(), 80)) == (
        "                                op      transactions  per request\n"
        "tile[threadIdx.x][threadIdx.y]  ld 4 B             7            7\n"
        "                                total      1,048,576    1,048,576"
    )


def test_heads_break_and_labels_fold_before_anything_moves() -> None:
    assert plain(beside(LABELS, columns(), 58)) == (
        "                                         trans-        per\n"
        "                              op        actions    request\n"
        "tile[threadIdx.x]             ld 4 B          7          7\n"
        "    [threadIdx.y]\n"
        "                              total   1,048,576  1,048,576"
    )


def test_labels_stand_above_in_less_room() -> None:
    assert beside(LABELS, columns(), 50) is None
    assert plain(above(LABELS, columns(), 50)) == (
        "  op      transactions  per request\n"
        "tile[threadIdx.x][threadIdx.y]\n"
        "  ld 4 B             7            7\n"
        "  total      1,048,576    1,048,576"
    )


def test_sizes_are_written_narrower_before_that() -> None:
    size = [Text("16 × 16 × 16"), Text("8")]
    columns = [Column(("", "grid"), size, left=True), Column(("", "block"), size, left=True)]
    labels = [Text("first"), Text("second")]
    for width, grid in ((26, "16 × 16 × 16"), (25, "16×16×16")):
        assert any(grid in line.plain for line in fitted(labels, columns, width))
    assert all("grid" not in line.plain for line in fitted(labels, columns, 25)[1:])


def test_figures_become_prose_where_no_table_fits() -> None:
    assert above(LABELS, columns(), 20) is None
    assert plain(prose(LABELS, columns("sm_90"), 40)) == (
        "tile[threadIdx.x][threadIdx.y]\n"
        "  op ld 4 B\n"
        "  sm_90: transactions 7, per request 7\n"
        "  op total\n"
        "  sm_90: transactions 1,048,576, per\n"
        "  request 1,048,576"
    )


def test_a_group_stands_over_its_columns() -> None:
    assert plain(above([Text("a"), Text("")], columns("kepler-4, documented"), 80)) == (
        "          ── kepler-4, documented ─\n"
        "  op      transactions  per request\n"
        "a\n"
        "  ld 4 B             7            7\n"
        "  total      1,048,576    1,048,576"
    )


texts = st.text(st.sampled_from("ab[](), +"), max_size=60).map(str.strip)


@given(
    st.lists(texts, min_size=1, max_size=4),
    st.lists(st.integers(0, 10**12), min_size=1, max_size=8),
    st.integers(10, 120),
)
def test_no_figure_is_ever_cut(labels: list[str], figures: list[int], width: int) -> None:
    table = [Column(("head-", "line"), [Text(f"{figure:,}")] * len(labels)) for figure in figures]
    named = [Text(label) for label in labels]
    lines = beside(named, table, width) or above(named, table, width)
    if lines is None:
        lines = prose(named, table, max(width, 20))
    else:
        assert max(len(line.plain) for line in lines) <= width
    shown = "\n".join(line.plain for line in lines)
    for figure in figures:
        assert shown.count(f"{figure:,}") >= len(labels)


@given(texts, st.integers(8, 60))
def test_folding_loses_nothing_but_spaces(text: str, width: int) -> None:
    lines = [line.plain for line in fold(Text(text), width)]
    assert all(len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (30, ["tile[threadIdx.x][threadIdx.y]"]),
        (29, ["tile[threadIdx.x]", "[threadIdx.y]"]),
        (12, ["tile[", "threadIdx.x]", "[threadIdx.y", "]"]),
    ],
)
def test_a_fold_comes_behind_a_bracket_if_one_is_near(width: int, lines: list[str]) -> None:
    assert [line.plain for line in fold(Text("tile[threadIdx.x][threadIdx.y]"), width)] == lines


@pytest.mark.parametrize("width", range(14, 19))
def test_no_line_begins_with_what_ends_the_words_before(width: int) -> None:
    lines = [line.plain for line in fold(Text("out[i] = tile[k];: ld 4 B, warp 7"), width)]
    assert not [line for line in lines if line.strip()[0] in ":;,"]


def test_what_is_folded_goes_on_below_its_beginning() -> None:
    text = "  before one, two, three, four"
    assert [line.plain for line in fold(Text(text), 16)] == ["  before one,", "  two, three,", "  four"]
    hanging = ["  before one,", "      two,", "      three,", "      four"]
    assert [line.plain for line in fold(Text(text), 16, 4)] == hanging
    for width in range(1, 40):
        for hang in (0, 4):
            lines = [line.plain for line in fold(Text(text), width, hang)]
            assert max(map(len, lines)) <= width
            assert "".join(lines).replace(" ", "") == text.replace(" ", "")
