"""The HTML report: what it shows, that no text in it does harm, and how it behaves in a browser."""

import json
import re
import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

import banksim
from banksim.__main__ import main
from banksim.layouts import layout
from banksim.report.html.conflicts import Told, html, html_fragment
from banksim.report.html.figures import MOST_PICTURES
from banksim.report.html.picture import picture
from banksim.report.json import conflicts
from banksim.requests.trace import Site, Trace
from banksim.version import VERSION
from helpers.html_page import Page
from helpers.places import EXAMPLES, written_to
from helpers.traces import strided

EXAMPLE = str(EXAMPLES / "transpose.py")
MATRICES = ["--arg", "float32[32,32]", "--arg", "float32[32,32]=random"]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: other tests read the pages by a parser")
EVIL = """</script><script>document.title = "harm"</script><img src=x onerror="document.title='harm'">'"&{{ 7 * 7 }}"""


def is_labelled(one: dict[str, str | None]) -> bool:
    """Whether an element has a name for screen readers, or is marked as decoration."""
    return bool(one.get("aria-label")) or one.get("aria-hidden") == "true"


@pytest.fixture(scope="module")
def transpose(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("html") / "report.html"
    words = ["kernel", f"{EXAMPLE}:transpose", "--block", "32,32", *MATRICES, "--arch", "kepler-4,sm_90"]
    assert main([*words, "--html", str(file)]) == 0
    return file


def test_a_kernel_s_report_has_source_figures_code_and_pictures(transpose: Path) -> None:
    text = transpose.read_text(encoding="utf-8")
    page = Page(text)
    said = " ".join(page.texts)
    assert "transpose: bank conflicts on kepler-4 and sm_90" in said
    assert "tile = cuda.shared.array((32, 32), float32)" in "".join(page.texts)
    for figure in ("16-way", "32-way", "480", "992", "16.50"):
        assert figure in page.texts
    assert "STS [R" in said
    assert [len(json.loads(one["data-steps"] or "")) for one in page.named("div") if "data-steps" in one] == [16, 32]
    assert sum("data-p" in one for one in page.named("g")) == 64


def test_the_verdict_comes_first_and_leads_to_the_lines(transpose: Path) -> None:
    page = Page(transpose.read_text(encoding="utf-8"))
    first = page.texts.index("Bank conflicts cost 480 of 544 transactions on kepler-4 (88%).")
    assert first < page.texts.index("Bank conflicts cost 992 of 1,056 transactions on sm_90 (94%).")
    assert first < page.texts.index("992 transactions (100%), 32-way on sm_90") < page.texts.index("line")
    link = next(one for one in page.named("a") if "class" not in one)
    assert (link["href"] or "")[1:] in {one.get("id") for one in page.named("tr")}


def test_every_link_leads_somewhere_and_no_name_stands_twice(transpose: Path, advice: Path) -> None:
    for file in (transpose, advice):
        page = Page(file.read_text(encoding="utf-8"))
        names = [one["id"] for _, one in page.tags if one.get("id")]
        assert len(names) == len(set(names))
        links = [one["href"] or "" for one in page.named("a")]
        assert {link[1:] for link in links} <= set(names)
        labels = [one["aria-labelledby"] for _, one in page.tags if "aria-labelledby" in one]
        assert set(labels) <= set(names)


def test_figures_stand_left_of_the_code_and_quiet_lines_fold(transpose: Path) -> None:
    text = transpose.read_text(encoding="utf-8")
    row = text[text.index('<tr class="a conflict"') :].partition("</tr>")[0]
    cells = re.findall(r'<td(?: class="(\w+)")?>', row)
    assert cells == ["n", "", "", "hot", "hot", "", "", "hot", "hot", "c", "s"]
    assert "4 lines without accesses: 4–7" in Page(text).texts
    assert '<span class="hn">32</span>' in text
    assert '<span class="hp">@cuda</span>' in text


def test_each_lane_tells_its_byte_and_its_element(transpose: Path) -> None:
    said = Page(transpose.read_text(encoding="utf-8")).texts
    for passes in ("5 of 16", "9 of 32"):
        lane = re.compile(rf"lane 8: byte 1,\d+, tile\[8, (\d+)\], bank \1, pass {passes}")
        assert any(map(lane.fullmatch, said))


def test_a_square_of_kepler_has_both_words_of_a_pass() -> None:
    def starts(arch: str, width: int, byte: int) -> list[tuple[int, int]]:
        request = banksim.explain([byte] * 32, op="ld", width=width, arch=arch)
        return [(word.start, word.length) for one in picture(request, "").served[:1] for word in one.words]

    # A bank of kepler-8 holds 8 bytes, of which 4 are a half; one of kepler-4 serves two words, 128 bytes apart.
    assert starts("kepler-8", 4, 0) == [(0, 1)]
    assert starts("kepler-8", 4, 12) == [(3, 1)]
    assert starts("kepler-8", 8, 8) == [(2, 2)]
    assert starts("kepler-4", 4, 4) == [(2, 1)]
    assert starts("kepler-4", 4, 132) == [(3, 1)]
    assert starts("kepler-4", 8, 4 * 62) == [(61, 1), (63, 1)]
    assert starts("sm_90", 16, 16) == [(4, 4)]


def test_it_says_how_it_was_made(transpose: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = Page(transpose.read_text(encoding="utf-8")).texts
    command = next(text for text in said if text.startswith("banksim kernel "))
    assert command.endswith(f"--html {transpose}")
    assert "machine code of sm_90, by banksim (llvm)" in said
    assert "out: 4,096 bytes, a: 4,096 bytes" in said
    assert any(text.startswith(f"banksim {VERSION}, Python 3.") for text in said)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    once = html([strided(2)], "k")
    assert "1970-01-02 00:00 UTC" in Page(once).texts
    assert html([strided(2)], "k") == once
    given = Told(when=datetime(2030, 1, 1, 9, 30))
    assert "2030-01-01 09:30 UTC" in Page(html([strided(2)], "k", given)).texts


def test_findings_show_both_accesses_and_lead_to_their_lines(tmp_path: Path) -> None:
    (tmp_path / "shift.py").write_text(RACING)
    page_file = tmp_path / "racing.html"
    words = ["kernel", f"{tmp_path}/shift.py:shift", "--block", "64", "--arg", "float32[64]", "--check", "races"]
    assert main([*words, "--html", str(page_file)]) == 1
    page = Page(page_file.read_text(encoding="utf-8"))
    (card,) = [one["id"] for one in page.named("section") if one.get("class") == "finding"]
    assert "1. cuda.syncthreads() is missing before shift.py:9." in page.texts
    assert {"write", "read", "s[t] = t", "warp 1, lane 0", "warp 0, lane 31"} <= set(page.texts)
    lines = [one for one in page.named("a") if one.get("class") == "code"]
    assert len(lines) == 2
    badges = [one["href"] for one in page.named("a") if one.get("class") == "badge"]
    assert badges == [f"#{card}"] * 2
    assert 'class="verdict"' in page_file.read_text(encoding="utf-8")


def test_files_without_conflicts_are_one_line(tmp_path: Path) -> None:
    for name in ("hot.cu", "cold.cu"):
        (tmp_path / name).write_text("  x = s[i];\n" * 3)
    trace = [Site("LDS", 16 * n, str(tmp_path / name), 2, "x = s[i];") for n, name in enumerate(("hot.cu", "cold.cu"))]
    address = np.array([np.arange(32) * 4 * stride for stride in (32, 1)])
    judged = banksim.replay(Trace.from_arrays("ld", 4, 0xFFFFFFFF, address, site=[0, 1], sites=trace))
    files = [one for one in Page(html([judged], "k")).named("details") if one.get("class") == "file"]
    assert ["open" in one for one in files] == [True, False]


def test_it_needs_nothing_else(transpose: Path) -> None:
    text = transpose.read_text(encoding="utf-8")
    assert not re.search(r"https?://|//\w|@import|url\(", text.replace("// ", ""))
    assert len(text) < 100_000


def test_it_can_be_used_without_eyes_and_mouse(transpose: Path) -> None:
    page = Page(transpose.read_text(encoding="utf-8"))
    assert page.named("html")[0]["lang"] == "en"
    assert all(is_labelled(one) for name in ("button", "input", "svg") for one in page.named(name))
    assert all("scope" in one for one in page.named("th"))
    assert [one["aria-live"] for one in page.named("output")] == ["polite"] * 2
    scrolled = [one for one in page.named("div") if one.get("class") in ("scroll", "over")]
    assert scrolled
    assert all(one["tabindex"] == "0" and (one.get("aria-labelledby") or one["aria-label"]) for one in scrolled)
    choices = [one for one in page.named("input") if one["type"] == "radio"]
    assert [one["data-arch"] for one in choices] == ["0", "1", "all"]


@pytest.mark.parametrize("file", [None, "evil.cu"])
def test_text_of_users_does_no_harm(file: str | None) -> None:
    text = html([strided(2, 1, text=EVIL, file=file)], EVIL)
    page = Page(text)
    assert len(page.named("script")) == 1
    assert not page.named("img")
    assert EVIL in "".join(page.texts)
    assert "49" not in page.texts


def test_a_large_kernel_stays_small(tmp_path: Path) -> None:
    file = tmp_path / "large.cu"
    file.write_text("    float x = tile[threadIdx.x][threadIdx.y] * weights[threadIdx.y] + bias;\n" * 1000)
    archs = ("kepler-8", "sm_75", "sm_90")
    judged = [strided(*[2] * 1000, file=file, width=16, arch=arch) for arch in archs]
    text = html(judged, "large", Told(plain=conflicts("replay", judged)))
    assert len(text) < 1_200_000
    assert "The whole report as plain data is left out" in text
    assert text.count('<div class="picture">') == MOST_PICTURES
    assert "conflicts on 1,000 of 1,000 lines with accesses" in text
    assert f"{3000 - MOST_PICTURES} more requests with conflicts are not drawn." in text


def test_a_pattern_has_a_report_too(tmp_path: Path) -> None:
    file = tmp_path / "pattern.html"
    words = ["pattern", "tile[threadIdx.x][0]", "atomicAdd(&tile[0][0], 2)", "--declare", "int tile[32][32]"]
    assert main([*words, "--html", str(file), "--arch", "tesla,kepler-4,sm_90"]) == 0
    page = Page(file.read_text(encoding="utf-8"))
    assert {"tile[threadIdx.x][0]", "unknown", "withheld"} <= set(page.texts)


def test_a_file_that_cannot_be_written_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pattern", "a[threadIdx.x]", "--declare", "int a[32]", "--html", "/none/report.html"]) == 2
    assert (
        capsys.readouterr().err
        == "banksim: /none/report.html: there is no such folder: nothing was written, choose a folder that exists\n"
    )


# ---- advice
HARM = "</script><script>document.title='harm'</script>"


@pytest.fixture(scope="module")
def advice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """On a kernel whose lines hold a script."""
    folder = tmp_path_factory.mktemp("advice")
    source = (Path(EXAMPLE)).read_text().replace("= tile[x, y]", f"= tile[x, y]  # {HARM}")
    (folder / "evil.py").write_text(source)
    words = ["advise", "kernel", f"{folder}/evil.py:transpose", "--block", "32,32", *MATRICES]
    assert main([*words, "--arch", "kepler-4,sm_90", "--html", str(folder / "advice.html")]) == 0
    return folder / "advice.html"


def test_advice_on_a_kernel_shows_lines_and_requests_before_and_after(advice: Path) -> None:
    text = advice.read_text(encoding="utf-8")
    page = Page(text)
    said = " ".join(page.texts)
    assert len(page.named("script")) == 1
    assert f"    out[column + y, row + x] = tile[x, y ^ x]  # {HARM}" in "".join(page.texts)
    assert said.count("32 transactions, 1 without conflicts") == 1
    assert said.count("16 transactions, 1 without conflicts") == 1
    steps = [len(json.loads(one["data-steps"] or "")) for one in page.named("div") if "data-steps" in one]
    assert steps == [16, 1, 32, 1]
    assert {"tile: column ^ row", "tile: rows of 33"} <= set(page.texts)
    assert re.search(r"lane 3: byte \d+, tile\[3, (\d+)\], bank \1, pass 4 of 32", said)
    after = re.findall(r"lane (\d+): byte ([\d,]+), tile\[(\d+), (\d+)\], bank (\d+), pass 1 of 1\b", said)
    assert sorted({int(lane) for lane, *_ in after}) == list(range(32))
    for lane, byte, row, column, bank in after:
        assert (row, bank) == (lane, column)
        assert int(byte.replace(",", "")) == 4 * (32 * int(row) + int(column))
    assert "SASS of line 13" in {one.get("aria-label") for one in page.named("pre")}
    assert len(text) < 100_000
    assert all(is_labelled(one) for name in ("button", "input", "svg") for one in page.named(name))
    assert all("scope" in one for one in page.named("th"))


def test_advice_on_a_pattern_shows_what_to_write(tmp_path: Path) -> None:
    file = tmp_path / "pattern.html"
    accesses = ["tile[threadIdx.x][threadIdx.y]", "tile[threadIdx.y][threadIdx.x] = v", "atomicAdd(&bins[0], 2)"]
    words = ["advise", *accesses, "--declare", "float tile[32][32]; int bins[32]", "--block", "32,32"]
    assert main([*words, "--html", str(file)]) == 0
    page = Page(file.read_text(encoding="utf-8"))
    said = "\n".join(page.texts)
    assert "__shared__ float tile[32][33];" in said
    assert "tile = cuda.shared.array((32, 33), float32)" in said
    assert "No layout pays" in said
    assert [len(json.loads(one["data-steps"] or "")) for one in page.named("div") if "data-steps" in one] == [32, 1, 32]
    assert "lane 5: byte 640, tile[5][0], bank 0, pass 6 of 32" in page.texts
    assert "lane 5: byte 660, tile[5][0], bank 5, pass 1 of 1" in page.texts  # the same element, in rows of 33


FRAGMENTS = "((8,2,2,4),8):((1,8,512,16),64)"
GLUON = "SwizzledSharedLayout(1, 1, 1, [1, 0])"


@pytest.mark.parametrize(
    "words",
    [
        ["--layout", "(64,64):(64,1)", "--threads", FRAGMENTS, "--atom", "ldmatrix_x4"],
        ["--layout", GLUON, "--shape", "64,64", "--threads", "BlockedLayout([1, 8], [32, 1], [4, 1], [1, 0])"],
    ],
)
def test_advice_on_a_layout_has_a_page_and_a_plot(words: list[str], tmp_path: Path) -> None:
    files = ["--html", str(tmp_path / "layouts.html"), "--plot", str(tmp_path / "layouts.svg")]
    assert main(["advise", *words, "--dtype", "half", *files]) == 0
    page = Page((tmp_path / "layouts.html").read_text(encoding="utf-8"))
    assert {"S<3,3,3> o (64,64):(64,1)", "SwizzledSharedLayout(8, 1, 8, [1, 0])"} <= set(page.texts)
    swizzled = layout("S<3,3,3> o (64,64):(64,1)")
    for row in range(8):
        byte = 2 * swizzled(row, 0)
        label = f"lane {row}: byte {byte:,}, ({row},0) … ({row},7), banks {byte // 4 % 32}–{byte // 4 % 32 + 3}, "
        assert any(text.startswith(label) for text in page.texts), label
    plot = (tmp_path / "layouts.svg").read_text(encoding="utf-8")
    assert "Transactions by layout" in plot
    assert "S&lt;3,3,3&gt;" in plot


def test_a_program_s_page_has_the_code_and_the_elements_of_each_kernel(tmp_path: Path) -> None:
    file = tmp_path / "program.html"
    assert main(["run", "--html", str(file), "--output", "-", EXAMPLE]) == 0
    page = Page(file.read_text(encoding="utf-8"))
    said = "\n".join(page.texts)
    assert "SASS of sm_90, with how often warps executed it" in page.texts
    assert [text.partition("  ")[0] for text in page.texts if " LDS " in text] == ["8,192", "8,192"]
    assert re.search(r"lane 3: byte \d+, tile\[3, 31\], bank 31, pass 4 of 32", said)


def test_code_that_kernels_share_names_them(tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text(TWO_KERNELS)
    file = tmp_path / "two.html"
    assert main(["run", "--html", str(file), "--output", "-", f"{tmp_path}/two.py"]) == 0
    said = "\n".join(Page(file.read_text(encoding="utf-8")).texts)
    assert re.search(r"\nonce:\n.*\n2  0x\w+ LDS .*\ntwice:\n.*\n4  0x\w+ LDS ", said, re.DOTALL)
    assert "lane 3: byte 384, bank 0" in said  # `row` is the tile of one kernel and the pile of the other


TWO_KERNELS = """\
import numpy as np
from numba import cuda, float32


@cuda.jit(device=True)
def column(row, t):
    return row[t * 32]


@cuda.jit
def once(out):
    tile = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    for k in range(32):
        tile[32 * k + t] = t
    cuda.syncthreads()
    out[cuda.grid(1)] = column(tile, t)


@cuda.jit
def twice(out):
    pile = cuda.shared.array(2048, float32)
    t = cuda.threadIdx.x
    for k in range(64):
        pile[32 * k + t] = t
    cuda.syncthreads()
    out[cuda.grid(1)] = column(pile, t)


out = cuda.to_device(np.zeros(128, np.float32))
once[2, 32](out)
twice[4, 32](out)
"""


RACING = """\
from numba import cuda, float32


@cuda.jit
def shift(out):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = t
    out[t] = s[(t + 1) % 64]
"""


STEPPING = """
<script>
const said = [];
const box = document.querySelector(".steps"), output = box.querySelector("output");
const next = box.querySelector('[data-move="1"]'), before = box.querySelector('[data-move="-1"]');
const drawn = document.querySelector("svg[role=group]");
const look = () => said.push(output.textContent + drawn.querySelectorAll(".now").length
  + "/" + drawn.querySelectorAll(".done").length);
look(); next.click(); look(); before.click(); before.click(); look();
box.querySelector("input").value = 16; box.querySelector("input").dispatchEvent(new Event("input")); look();
said.push(document.documentElement.scrollWidth <= window.innerWidth);
document.title = JSON.stringify(said);
</script>
"""


FRAMED = """
<script>
const said = [];
for (const frame of document.querySelectorAll("iframe")) frame.addEventListener("load", () => {
  const page = frame.contentDocument;
  for (const one of page.querySelectorAll("details")) one.open = true;
  const lit = page.querySelectorAll("svg[role=group] .now").length;
  const places = [...page.querySelectorAll(".source tr.a")].map(row => [...row.children].map(cell => cell.offsetLeft));
  const ragged = frame.width > 1000 ? places.filter(row => `${row}` !== `${places[0]}`).length : 0;
  said.push([frame.width, page.documentElement.scrollWidth <= frame.width, lit, ragged, page.title]);
  if (said.length === 2) document.title = JSON.stringify(said.sort());
});
</script>
"""


def in_browser(page: Path, folder: Path, *options: str) -> str:
    """The title that a page ends with; a message on its console is a failure."""
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", *options]
    command += [f"--user-data-dir={folder / 'profile'}", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "CONSOLE" not in done.stderr
    title = re.search(r"<title>(.*?)</title>", done.stdout)
    assert title is not None
    return title[1]


def framed(file: Path, folder: Path) -> object:
    """What FRAMED says of a page in two frames, as wide as a desk and as a phone."""
    frames = "".join(f'<iframe src="{file.name}" width="{width}" height="900"></iframe>' for width in (375, 1200))
    page = written_to(file.parent / "framed.html", f"<!doctype html><title></title>{frames}{FRAMED}")
    return json.loads(in_browser(page, folder, "--allow-file-access-from-files", "--virtual-time-budget=5000"))


@needs_browser
def test_advice_fits_a_phone_and_a_desk(advice: Path, tmp_path: Path) -> None:
    expected = "transpose: layouts of shared memory on kepler-4 and sm_90"
    lit = 2 + 32 + 1 + 32  # the first pass of each picture: 16-way and 32-way before, none after
    assert framed(advice, tmp_path) == [["1200", True, lit, 0, expected], ["375", True, lit, 0, expected]]


@needs_browser
def test_many_architectures_fit_a_phone_and_a_desk(tmp_path: Path) -> None:
    archs = ["tesla", "fermi", "kepler-4", "kepler-8", "sm_75", "sm_90", "sm_120"]
    file = tmp_path / "many.html"
    file.write_text(html([strided(2, 1, file="k.cu", arch=arch) for arch in archs], "k"), encoding="utf-8")
    title = f"k on {', '.join(archs[:-1])} and {archs[-1]}"
    assert framed(file, tmp_path) == [["1200", True, 72, 0, title], ["375", True, 72, 0, title]]


@needs_browser
def test_a_notebook_s_own_style_stays_outside(tmp_path: Path) -> None:
    page = tmp_path / "notebook.html"
    foreign = ".of-notebook :is(tr, td, th, li, code):not(.none) { padding: 9px 40px; text-align: center; }"
    body = html_fragment([strided(2, 1, file="k.cu")], "k")
    seen = (
        "[...document.querySelectorAll('.banksim *')].filter(one => getComputedStyle(one).paddingTop === '9px').length"
    )
    page.write_text(
        f"<!doctype html><title></title><style>{foreign}</style><div class=of-notebook>{body}</div>"
        f"<script>document.title = {seen}</script>"
    )
    assert in_browser(page, tmp_path) == "0"


@needs_browser
@pytest.mark.parametrize("width", [500, 1280])
def test_a_browser_steps_through_the_passes(transpose: Path, tmp_path: Path, width: int) -> None:
    page = tmp_path / "stepping.html"
    text = transpose.read_text(encoding="utf-8").replace("tile[x, y]", "tile[x, y]&lt;/script&gt;")
    page.write_text(text.replace("<details>", "<details open>").replace("</body>", STEPPING + "</body>"))
    assert json.loads(in_browser(page, tmp_path, f"--window-size={width},900")) == [
        "Pass 1 of 16 serves lanes 0–1 in bank 31.2/0",
        "Pass 2 of 16 serves lanes 2–3 in bank 31.2/2",
        "Pass 1 of 16 serves lanes 0–1 in bank 31.2/0",
        "Pass 16 of 16 serves lanes 30–31 in bank 31.2/30",
        True,
    ]
