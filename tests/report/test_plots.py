"""Plots: what they draw is what was counted, and texts of others do no harm."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import banksim
from banksim.__main__ import main
from banksim.report import plots
from helpers.places import EXAMPLES
from helpers.traces import strided

SVG = "{http://www.w3.org/2000/svg}"
EVIL = """</text><script>document.title = "harm"</script>'\"&<"""
MATRICES = ["--block", "32,32", "--arg", "float32[32,32]", "--arg", "float32[32,32]=random"]


def parsed(text: str) -> ElementTree.Element:
    found = ElementTree.fromstring(text)
    assert not list(found.iter(f"{SVG}script"))
    return found


def bars(picture: ElementTree.Element, kind: str) -> dict[str, float]:
    """The widths of bars by what they say."""
    rects = [one for one in picture.iter(f"{SVG}rect") if one.get("class") == kind and one.get("height") == "13.0"]
    return {one[0].text or "": float(one.get("width", 0)) for one in rects}


def test_bars_are_as_long_as_the_counts() -> None:
    picture = parsed(
        plots.document(plots.of_launch([strided(32, 4, 1, file="k.cu", arch=arch) for arch in ("sm_90", "kepler-4")]))
    )
    ideal, excess = bars(picture, "calm"), bars(picture, "hot")
    assert set(excess) == {
        "sm_90: 31 beyond the ideal",
        "kepler-4: 15 beyond the ideal",
        "sm_90: 3 beyond the ideal",
        "kepler-4: 1 beyond the ideal",
    }
    one = ideal["sm_90: ideal 1"]
    assert excess["sm_90: 31 beyond the ideal"] == pytest.approx(31 * one, abs=2)
    texts = ["".join(one.itertext()) for one in picture.iter(f"{SVG}text")]
    assert texts.index("k.cu:1  s[32 * t]") < texts.index("k.cu:2  s[4 * t]")
    assert "k.cu:3  s[1 * t]" not in texts


def test_banks_are_as_high_as_their_passes() -> None:
    picture = parsed(plots.document(plots.of_launch([strided(16)])))
    said = [one.text for one in picture.iter(f"{SVG}title")]
    assert [text for text in said if text and text.startswith("bank ")] == [
        "bank 0: 16 of 16 passes",
        "bank 16: 16 of 16 passes",
    ]


def test_texts_of_others_do_no_harm_and_many_lines_are_counted() -> None:
    picture = parsed(plots.document(plots.of_launch([strided(*[32] * 20, text=EVIL)])))
    said = "".join(picture.itertext())
    assert EVIL in said
    assert "8 more are not drawn" in said


def test_what_nobody_knows_is_said() -> None:
    unknown = banksim.replay(banksim.pattern("atomicAdd(&c[lane], 1)", declare="int c[32]"), "fermi")
    assert "unknown" in "".join(parsed(plots.document(plots.of_launch([unknown]))).itertext())
    assert "No line has a conflict." in plots.document(plots.of_launch([strided(1)]))


@pytest.mark.parametrize(("issue", "shared", "limit"), [(100, 400, "shared memory"), (300, 200, "issuing")])
def test_a_launch_lies_below_its_roof(issue: int, shared: int, limit: str) -> None:
    [panel] = plots.roofline("sm_90", 500, issue, shared)
    assert f"{issue / 500:.0%} of the time issuing, {min(1, issue / shared):.0%} at most: {limit}" in panel.body
    path = re.search(r'class="roof" d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)', panel.body)
    point = re.search(r'cx="([\d.]+)" cy="([\d.]+)"', panel.body)
    assert path is not None
    assert point is not None
    left, bottom, knee, top = map(float, path.groups())
    x, y = (float(point[1]) - left) / (knee - left), (bottom - float(point[2])) / (bottom - top)
    assert (x, y) == pytest.approx((issue / shared, issue / 500), abs=0.01)
    assert not list(plots.roofline("sm_90", 500, issue, 0))


def test_commands_draw(tmp_path: Path) -> None:
    example, file = f"{EXAMPLES / 'transpose.py'}:transpose", tmp_path / "plot.svg"
    assert main(["kernel", example, *MATRICES, "--timing", "--plot", str(file)]) == 0
    said = "".join(parsed(file.read_text(encoding="utf-8")).itertext())
    for title in ("Transactions by line", "Passes of each bank", "Roofline of shared memory, one SM of sm_90"):
        assert title in said
    assert main(["advise", "kernel", example, *MATRICES, "--plot", str(file)]) == 0
    said = "".join(parsed(file.read_text(encoding="utf-8")).itertext())
    for part in ("as written", "tile: rows of 33", "worst request, as advised", "1,056"):
        assert part in said
    words = ["advise", "tile[threadIdx.x][threadIdx.y]", "--declare", "float tile[32][32]", "--block", "32,32"]
    assert main([*words, "--plot", str(file)]) == 0
    assert "Transactions by layout of tile" in file.read_text(encoding="utf-8")
