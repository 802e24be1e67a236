"""Names and texts of others: no shell runs them, no terminal obeys them, and every letter stays itself."""

import io
import string
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.__main__ import main
from banksim.errors import InputError
from banksim.kernels.compilers import tools
from banksim.kernels.line_table import path_of
from banksim.requests.trace import Site
from banksim.storage import write_trace
from banksim.system.source_files import source_line, source_lines
from banksim.system.visible import visible
from helpers.commands import err_of
from helpers.fixtures import Patch, Said

pytestmark = pytest.mark.usefixtures("listed_once")
SHELL = "$(touch PWN)`touch PWN`;touch PWN;|touch PWN&touch PWN>PWN<PWN"
PRINTED = "".join(sorted(set(string.punctuation) - set('/"')))
"""Every special character of ASCII that a file's name and a line table may hold."""
SOURCE = """
#include "here.h"
#include <there.h>
__global__ void add(int *out) {
    __shared__ int tile[32][32];
    tile[threadIdx.x][0] = HERE + THERE + VALUE;  // banksim: allow(32, "meant")
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x][0];
}
"""
needs_host_compiler = pytest.mark.skipif(tools.host_compiler() is None, reason="no g++ for nvcc to run")
COMPILERS = [pytest.param("nvcc", marks=needs_host_compiler), "nvrtc"]


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: Patch) -> Path:
    """An empty folder to be in, and an empty cache."""
    monkeypatch.setenv("BANKSIM_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def written(folder: Path, name: str, suffix: str = ".cu") -> tuple[Path, Path]:
    """A source of this name in a folder of this name, and a folder with its header."""
    file, headers = folder / name / f"{name}{suffix}", folder / f"{name}.headers"
    file.parent.mkdir()
    headers.mkdir()
    file.write_text(SOURCE)
    (file.parent / "here.h").write_text("#define HERE 1\n")
    (headers / "there.h").write_text("#define THERE 20\n")
    return file, headers


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", [SHELL, PRINTED, "-o a b", "übung 日本 🙂 é", "x\\303\\244"], ids=str.encode)
def test_names_are_themselves_and_nothing_runs_them(alone: Path, name: str, compiler: str, monkeypatch: Patch) -> None:
    if compiler == "nvrtc":
        monkeypatch.setattr(tools, "host_compiler", lambda: None)
    file, headers = written(alone, name)
    value = f"(300 + 0 * sizeof({quoted(SHELL + PRINTED)}))"
    kernel = banksim.load(file, defines=[f"VALUE={value}"], includes=[headers])["add"]
    out = np.zeros(32, np.int32)
    done = banksim.run(kernel, 1, 32, [out])
    assert set(out) == {321}
    assert {site.file for site in done.conflicts.sites} == {str(file)}
    assert {site.text for site in done.conflicts.sites} == {
        SOURCE.splitlines()[5].strip(),
        SOURCE.splitlines()[7].strip(),
    }
    assert not [path for path in alone.rglob("*") if path.name == "PWN"]


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a\nb", {}),
        ("a\x1b]0;b", {}),
        ('a"b', {}),
        ("a", {"defines": ["X=1\n#define Y"]}),
        ("a", {"includes": ["a\nb"]}),
        ("a", {"std": "c++17$(touch PWN)"}),
    ],
)
def test_what_no_compiler_takes_is_refused_in_one_line(
    alone: Path, name: str, options: dict[str, Any], compiler: str, monkeypatch: Patch, capsys: Said
) -> None:
    if compiler == "nvrtc":
        monkeypatch.setattr(tools, "host_compiler", lambda: None)
    file, _ = written(alone, name)
    with pytest.raises(InputError):
        banksim.load(file, **options)
    words = [f"--{option.removesuffix('s')}={value}" for option, value in flat(options)]
    said = err_of(capsys, ["kernel", f"{file}:add", *words])
    assert said.startswith("banksim: ")
    assert said.count("\n") == 1
    assert "\x1b" not in said
    assert not [path for path in alone.rglob("*") if path.name == "PWN"]


def flat(options: dict[str, Any]) -> list[tuple[str, str]]:
    """Options with each of their values."""
    return [(name, one) for name, value in options.items() for one in ([value] if isinstance(value, str) else value)]


@pytest.mark.parametrize("suffix", [".cuh", ".cpp", ".cc", ".cxx"])
@needs_host_compiler
def test_every_suffix_of_cuda_sources_is_compiled(alone: Path, suffix: str) -> None:
    file, headers = written(alone, "kernel", suffix)
    kernel = banksim.load(file, defines=["VALUE=0"], includes=[headers])["add"]
    assert {i.site.file for i in kernel.instructions if i.site.file} == {str(file)}


@needs_host_compiler
def test_flags_of_the_environment_are_part_of_the_code(alone: Path, monkeypatch: Patch) -> None:
    Path("k.cu").write_text("__global__ void k(int *out) { out[0] = VALUE; }\n")
    for value in (5, 7):
        monkeypatch.setenv("NVCC_APPEND_FLAGS", f"-DVALUE={value}")
        out = np.zeros(1, np.int32)
        banksim.run(banksim.load("k.cu")["k"], 1, 1, [out])
        assert out[0] == value


@pytest.mark.parametrize(
    ("folder", "name", "path"),
    [
        ("/a", "b.cu", "/a/b.cu"), (r"/a/k\303", "244.cu", "/a/kä.cu"), (r"/k\303\244", "b.cu", "/kä/b.cu"),
        (r"/\346\227", r"245.cu", "/日.cu"), (r"/\303\244", r"200.cu", "/ä/200.cu"), ("/a\\", "b.cu", r"/a\b.cu"),
        (r"/a\\303", "b.cu", r"/a\303/b.cu"), ("/ä", "ü.cu", "/ä/ü.cu"), (r"C:\Users", "b.cu", r"C:\Users/b.cu"),
        (r"C:\\Users" + "\\", "b.py", r"C:\Users\b.py"), ("", "kernel.cu", "kernel.cu"),
    ],
)  # fmt: skip
def test_paths_as_compilers_write_them(folder: str, name: str, path: str) -> None:
    assert path_of(folder, name) == path


def test_architectures_reach_no_shell(alone: Path) -> None:
    file, _ = written(alone, "a")
    with pytest.raises(InputError, match="no architecture"):
        banksim.load(file, "sm_90$(touch PWN)")


# ---- what is printed
EVIL = "\x1b]0;title\x07\x1b[2J\x9b31m\u202e\x7f"
"""Sets a terminal's title, clears it, colours it, turns the text around."""


def obeyed(text: str) -> set[str]:
    """The characters of a text that a terminal would obey."""
    return {letter for letter in text if letter in EVIL and not letter.isprintable()}


def trace_of(folder: Path) -> str:
    """A trace with control characters wherever texts can stand."""
    site = Site(opcode=f"LDS{EVIL}", offset=16, file=f"/nowhere/{EVIL}.py", line=3, text=f"a[i]{EVIL}", function=EVIL)
    address = 128 * np.arange(32, dtype=np.uint32)[None]
    trace = banksim.Trace.from_arrays("ld", 4, 0xFFFFFFFF, address, sites=[site])
    path = str(folder / f"{EVIL}.parquet")
    with write_trace(path) as writer:
        writer.write(trace)
    return path


@pytest.mark.parametrize(
    "words", [[], ["--arch", "kepler-4,sm_90"], ["--fail-above", "0"], ["--format", "github"], ["--format", "sarif"],
              ["--json"], ["--picture", "all", "--all-lines"]]
)  # fmt: skip
def test_no_command_sends_control_characters_of_a_trace(alone: Path, words: list[str], capsys: Said) -> None:
    assert main(["replay", trace_of(alone), *words]) == (words[:1] == ["--fail-above"])
    said = capsys.readouterr()
    assert not obeyed(said.out + said.err)
    if words[:1] not in (["--json"], ["--format"]):
        assert "␛[2J�31m" in said.out, "shown"


def test_no_terminal_is_sent_them_with_colours(alone: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr("sys.stdout", out := io.StringIO())
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["replay", trace_of(alone)]) == 0
    assert "\x1b[1m" in out.getvalue(), "colours of our own"
    assert not [sent for sent in ("\x1b]", "\x1b[2J", "\x9b", "\x07", "\u202e") if sent in out.getvalue()]


@pytest.mark.parametrize(
    "words",
    [
        [f"nothing{EVIL}"], ["kernel", f"{EVIL}.cu:k"], ["kernel", f"{EVIL}\n\udcff.ptx"], ["run", f"{EVIL}.py"],
        ["replay", f"{EVIL}.csv"], ["arch", EVIL], ["pattern", f"a[{EVIL}]"], ["diff", f"{EVIL}.json", "x.json"],
    ],
)  # fmt: skip
def test_no_error_sends_control_characters(alone: Path, words: list[str], capsys: Said) -> None:
    said = err_of(capsys, words)
    assert said.startswith("banksim: ")
    assert "internal error" not in said
    assert not obeyed(said)


def test_signs_take_the_place_of_one_letter_each() -> None:
    every = "".join(map(chr, range(0x3000)))
    assert len(visible(every)) == len(every)
    assert not {letter for letter in visible(every) if unicodedata.category(letter) in ("Cc", "Zl", "Zp")} - {
        "\n",
        "\t",
    }
    assert visible("übung 日本 🙂 é\n\t\u200d") == "übung 日本 🙂 é\n\t\u200d"


def test_form_feeds_end_no_line(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_bytes("a\x0c\x0b\x85\u2028b\r\nc\n".encode())
    assert source_line(str(file), 2) == "c"
    assert source_lines(str(file)) == ("a\x0c\x0b\x85\u2028b", "c")


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/stdin", "nul\0", "/", "x" * 5000])
def test_sources_that_are_no_files_are_not_read(file: str) -> None:
    assert source_lines(file) == ()


NUMBA = """
from numba import cuda, float32
@cuda.jit
def spalte(out):
    tile = cuda.shared.array((32, 32), float32)
    tile[cuda.threadIdx.x, 0] = 1  # banksim: allow(32, "gemeint")
    cuda.syncthreads()
    out[cuda.threadIdx.x] = tile[cuda.threadIdx.x, 0]  # banksim: allow(32, "gemeint")
"""


def test_comments_excuse_lines_of_files_with_any_name(alone: Path, capsys: Said) -> None:
    folder = alone / "$(touch PWN) ü 日本"
    folder.mkdir()
    (folder / "kernel é.py").write_text(NUMBA)
    words = [f"{folder}/kernel é.py:spalte", "--arg", "float32[32]", "--fail-above", "0", "--html", "é.html"]
    assert main(["kernel", *words]) == 0
    said = capsys.readouterr()
    assert "kernel é.py:6  tile[cuda.threadIdx.x, 0] = 1" in said.out
    assert said.err == ""
    assert "kernel é.py" in Path("é.html").read_text(encoding="utf-8")
    assert not [path for path in alone.rglob("*") if path.name == "PWN"]
