"""What notebooks show: short texts, parts of pages, frames, and the cell magic."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import banksim
import banksim.report
from banksim.errors import InputError
from banksim.kernels.load import Module
from banksim.requests.counts import ends
from banksim.runs.outcome import Run
from helpers.html_page import Page
from helpers.places import written_to

pytestmark = pytest.mark.usefixtures("by_nvrtc")

SOURCE = """\
__global__ void transpose(float *out, const float *in) {
    __shared__ float tile[32][32];
    tile[threadIdx.y][threadIdx.x] = in[32 * threadIdx.y + threadIdx.x];
    __syncthreads();
    out[32 * threadIdx.y + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
"""
PATTERN = banksim.pattern("tile[threadIdx.x][threadIdx.y]", declare="float tile[32][32]", block=(32, 32))


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    return banksim.load(written_to(tmp_path_factory.mktemp("notebook") / "transpose.cu", SOURCE))


@pytest.fixture(scope="module")
def run(module: Module) -> Run:
    arrays = [np.zeros((32, 32), np.float32), np.ones((32, 32), np.float32)]
    return banksim.run(module["transpose"], 1, (32, 32), arrays, arch=["sm_90", "kepler-4"])


def test_objects_are_a_line(module: Module, run: Run) -> None:
    assert repr(run) == (
        "<Run of transpose on sm_90: 64 requests, 1,056 transactions, 64 ideal; "
        "on kepler-4: 64 requests, 544 transactions, 64 ideal>"
    )
    assert repr(run.conflicts) == "<Conflicts of 2 sites on sm_90: 64 requests, 1,056 transactions, 64 ideal>"
    assert repr(PATTERN) == "<Trace of 32 requests from 1 site>"
    assert repr(banksim.replay(PATTERN, "sm_90")).startswith("<Conflicts of 1 site on sm_90: ")
    assert repr(module).endswith("transpose.cu: transpose>")
    assert repr(run.launch) == "<launch of transpose, grid (1, 1, 1), block (32, 32, 1)>"
    assert len(repr(run.kernel)) < 100
    unknown = banksim.pattern("atomicAdd(&c[threadIdx.x], 1)", declare="int c[32]")
    assert "transactions unknown" in repr(banksim.replay(unknown, "fermi"))


def test_a_notebook_shows_a_part_of_a_page(module: Module, run: Run) -> None:
    for shown, said in (
        (run, "992"),
        (run.conflicts, "992"),
        (module, "transpose(float*, float const*)"),
        (PATTERN, "32"),
    ):
        text = shown._repr_html_()
        page = Page(text)
        assert said in page.texts
        assert not page.named("html")
        assert not page.named("body")
        assert shown._repr_mimebundle_() == {"text/plain": repr(shown), "text/html": text}


def test_two_parts_in_one_notebook_share_no_name(run: Run) -> None:
    first, second = (Page(one._repr_html_()) for one in (run, run.conflicts))
    names = [{one["id"] for _, one in page.tags if "id" in one} for page in (first, second)]
    assert all(names)
    assert not names[0] & names[1]


def test_a_run_writes_its_page_whole(run: Run, tmp_path: Path) -> None:
    run.html(tmp_path / "run.html")
    page = Page((tmp_path / "run.html").read_text(encoding="utf-8"))
    assert "Everything" in page.texts
    element = re.compile(r"lane 8: byte 1,\d+, tile\[8\]\[(\d+)\], bank \1, pass 9 of 32")
    assert any(map(element.fullmatch, page.texts))
    with pytest.raises(InputError, match="there is no such folder: nothing was written"):
        run.html(tmp_path / "none" / "run.html")
    assert [file.name for file in tmp_path.iterdir()] == ["run.html"]


def test_a_run_gives_the_command_s_report(run: Run) -> None:
    text = run.report(width=80, pictures="none")
    assert text.startswith("transpose: bank conflicts on sm_90 and kepler-4")
    assert max(map(len, text.splitlines())) <= 80
    assert run.conflicts.report() == banksim.report.text(run.conflicts)
    with pytest.raises(InputError, match="choose one of worst, all, none"):
        run.report(pictures="best")


def test_frames_hold_what_was_counted(run: Run) -> None:
    lines = run.to_pandas()
    assert list(lines[lines.arch == "sm_90"].line) == [3, 5]
    for conflicts in run.judged:
        for by in ("line", "instruction"):
            frame = run.to_pandas(by)
            of_arch = frame[frame.arch == conflicts.arch.name]
            assert (of_arch.requests.sum(), of_arch.transactions.sum()) == (conflicts.requests, conflicts.transactions)
    code = run.to_pandas("instruction")
    assert code[code.arch == "sm_90"].warps.sum() == run.instructions
    assert code.op.isna().any()
    with pytest.raises(InputError, match="choose line or instruction"):
        run.to_pandas("block")


def test_a_frame_has_both_ends_of_a_range_and_no_value_for_what_nobody_knows() -> None:
    found = banksim.replay(banksim.pattern("t[(lane % 4) * 64]", declare="int t[256]"), "tesla")
    assert found.transactions is not None
    row = found.to_pandas().iloc[0]
    assert (row.transactions_low, row.transactions) == tuple(ends(found.transactions))
    unknown = banksim.replay(banksim.pattern("atomicAdd(&c[lane], 1)", declare="int c[32]"), "fermi").to_pandas()
    assert unknown.transactions.isna().all()
    assert unknown.requests.tolist() == [1]


def test_arrow_reads_a_run(run: Run) -> None:
    table = pyarrow.table(run)
    assert table.column("transactions").to_pylist() == run.to_pandas().transactions.tolist()
    assert table.schema.field("line").type == pyarrow.int64()


@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_without_pandas_or_pyarrow_there_is_one_line(package: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    asked: dict[str, Any] = {"pandas": run.to_pandas, "pyarrow": run.__arrow_c_stream__}
    with pytest.raises(InputError, match=f"pip install {package}"):
        asked[package]()


def test_the_report_function_can_be_called_again() -> None:
    """The folder of its name took its place when it was first used."""
    code = "import banksim, banksim.report as r; c = banksim.replay(banksim.pattern('t[lane]', declare='int t[32]')); "
    done = subprocess.run([sys.executable, "-c", f"{code}assert r.text(c) == r.text(c)"], check=False)
    assert done.returncode == 0


CELLS = '''
import warnings
warnings.simplefilter("ignore")
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell = InteractiveShell.instance()
shell.run_cell("%load_ext banksim").raise_error()
shell.run_cell("import numpy as np; from numba import cuda, float32").raise_error()
with capture_output() as shown:
    shell.run_cell("""%%banksim --arch sm_90,kepler-4 --name found
@cuda.jit
def columns(out):
    tile = cuda.shared.array((32, 32), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = x
    cuda.syncthreads()
    out[y, x] = tile[x, y]

out = np.zeros((32, 32), np.float32)
columns[1, (32, 32)](out)
""", store_history=True).raise_error()
found = shell.user_ns["found"]
assert [one.transactions for one in found.judged] == [32 + 1024, 32 + 512], found
assert shell.user_ns["out"][:, 5].tolist() == list(range(32))
(page,) = [one.data["text/html"] for one in shown.outputs if "text/html" in one.data]
assert ", line 8</a>" in page, page[-3000:]
assert "<code>out[y, x] = tile[x, y]</code>" in page
for words, said in (("--arch nope", "unknown architecture"), ("--wrong", "unrecognized arguments: --wrong")):
    with capture_output() as shown:
        assert not shell.run_cell(f"%%banksim {words}\\n1").success
    assert said in shown.stderr + shown.stdout
    assert "Traceback" not in shown.stderr + shown.stdout
assert not shell.run_cell("%%banksim\\n1 / 0").success
'''


def test_a_cell_is_run_and_reported_on(tmp_path: Path) -> None:
    (tmp_path / "cells.py").write_text(CELLS)
    done = subprocess.run(
        [sys.executable, "cells.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
