"""One launch on several architectures: the code of each, judged by its own rule, from the same arrays."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.__main__ import main
from banksim.errors import InputError
from banksim.report.text.kernel import report
from helpers import numba_kernels as kernels
from helpers.commands import out_of
from helpers.places import written_to

pytestmark = pytest.mark.usefixtures("by_nvrtc")

SOURCE = """
extern "C" __global__ void rows(float* a) {
    __shared__ float tile[32][32];
    int x = threadIdx.x;
    for (int k = 0; k < 32; ++k) tile[k][x] = a[32 * k + x] + 1;
    __syncthreads();
    float s = 0;
    for (int k = 0; k < 32; ++k) s += tile[x][k];
    a[x] = s;
}
"""
FOUR = ["kepler-4", "sm_75", "sm_120", "sm_90"]


@pytest.fixture(name="source", scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_to(tmp_path_factory.mktemp("side_by_side") / "rows.cu", SOURCE)


def rows() -> Any:
    return np.arange(1024, dtype="f4").reshape(32, 32) % 7


def expected() -> Any:
    a = rows()
    a[0] = (a + 1).sum(1)
    return a


def figures(conflicts: Any) -> list[tuple[Any, ...]]:
    return [(s.offset, s.op, s.width, s.requests, s.transactions, s.ideal) for s in conflicts.sites]


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_each_runs_its_own_code_from_the_same_arrays(source: Path, engine: str) -> None:
    """The kernel changes what it reads: a second run on the first's results would give others."""
    kernel = banksim.load(source)["rows"]
    a = rows()
    got = banksim.run(kernel, 1, 32, [a], arch=FOUR, engine=engine)
    np.testing.assert_array_equal(a, expected())
    assert [conflicts.arch.name for conflicts in got.judged] == FOUR
    assert [run.kernel.arch for run in got.executions] == ["sm_75", "sm_120", "sm_90"]
    assert got.kernel.arch == "sm_75"
    assert got.conflicts is got.judged[0]
    assert got.execution(got.judged[0]).kernel.arch == "sm_75"
    assert got.execution(got.judged[2]).kernel.arch == "sm_120"
    for name, conflicts in zip(FOUR[1:], got.judged[1:], strict=True):
        b = rows()
        alone = banksim.run(kernel, 1, 32, [b], arch=name, engine=engine)
        np.testing.assert_array_equal(b, expected())
        assert alone.kernel.arch == name
        assert alone.executions == ()
        assert figures(alone.conflicts) == figures(conflicts)
        assert alone.instructions == got.execution(conflicts).instructions
    assert len({run.instructions for run in got.executions}) > 1


def test_numba_compiles_for_each() -> None:
    a = kernels.random("f4", 128, 64)
    out = np.zeros((64, 128), "f4")
    got = banksim.run(kernels.transpose, (2, 4), (32, 32), [out, a], arch=["sm_80", "sm_100"])
    np.testing.assert_array_equal(out, a.T)
    assert [run.kernel.arch for run in got.executions] == ["sm_80", "sm_100"]
    assert [conflicts.transactions for conflicts in got.judged] == [256 * 33, 256 * 33]


def test_a_cubin_has_one_code_that_all_rules_judge(source: Path, tmp_path: Path) -> None:
    cubin = tmp_path / "rows.cubin"
    cubin.write_bytes(banksim.load(source, "sm_80")["rows"].cubin)
    kernel = banksim.load(cubin)["rows"]
    got = banksim.run(kernel, 1, 32, [rows()], arch=["sm_90", "sm_75"])
    assert (got.kernel.arch, got.executions) == ("sm_80", ())
    assert "sm_90 and sm_75: judged on code of sm_80" in report(got, 80, "none").plain
    assert banksim.run(kernel, 1, 32, [rows()]).conflicts.arch.name == "sm_80"


def test_rules_that_differ_share_the_code_of_an_architecture(source: Path) -> None:
    from dataclasses import replace

    half = replace(banksim.architecture("sm_90"), banks=16)
    got = banksim.run(banksim.load(source)["rows"], 1, 32, [rows()], arch=["sm_90", half])
    assert (len(got.judged), got.executions) == (2, ())


def test_the_report_compares_lines(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(source.parent)
    got = banksim.run(banksim.load(source)["rows"], 1, 32, [rows()], arch=["sm_75", "sm_90"])
    for width in (80, 160):
        text = report(got, width, "none").plain
        lines = [line.split() for line in text.splitlines()]
        heads = [n for n, line in enumerate(lines) if line[:1] == ["rows.cu:8"]]
        assert len(heads) == 1
        first, second = lines[heads[0] + 1 : heads[0] + 3]
        for row, run in ((first, got.executions[0]), (second, got.executions[1])):
            sites = [s for s in run.conflicts.sites if s.line == 8]
            widths = ", ".join(str(w) for w in sorted({s.width for s in sites}))
            instructions = sum(e.warps for e in run.profile if e.instruction.site.line == 8)
            requests, transactions = sum(s.requests for s in sites), sum(s.transactions for s in sites)
            mean, excess = f"{transactions / requests:.2f}", transactions - sum(s.ideal for s in sites)
            figures = [run.kernel.arch, instructions, "ld", *widths.split(), "B", requests, transactions, mean, excess]
            assert row[: len(figures)] == [f"{v:,}" if isinstance(v, int) else v for v in figures]
        assert "No conflict on 1 other line: rows.cu:5" in text
        assert all(len(line) <= width for line in text.splitlines())


def test_the_command_shows_all_and_gives_data(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["kernel", f"{source}:rows", "--arg", "float32[32,32]=random", "--arch", ",".join(FOUR)]
    said = out_of(capsys, [*words, "--sass", "--no-picture"])
    assert "kepler-4: judged on code of sm_75" in said
    assert [f"Code of {name}" in said for name in FOUR] == [False, True, True, True]
    data = json.loads(out_of(capsys, [*words, "--json"]))
    assert [one["arch"] for one in data["conflicts"]] == FOUR
    assert [(one["code"], one["arch"]) for one in data["executions"]] == [
        ("sm_75", ["kepler-4", "sm_75"]),
        ("sm_120", ["sm_120"]),
        ("sm_90", ["sm_90"]),
    ]
    for one in data["executions"]:
        assert one["instructions"] == sum(row["warps"] for row in one["profile"])


@pytest.mark.parametrize("option", [["--format", "github"], ["--fail-above", "0", "--no-picture"]])
def test_limits_and_annotations_are_of_all(source: Path, option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["kernel", f"{source}:rows", "--arg", "float32[32,32]=random", "--arch", "sm_75,sm_90"]
    status = main([*words, *option])
    said = capsys.readouterr()
    assert status == int("--fail-above" in option)
    for name in ("sm_75", "sm_90"):
        assert f"on {name}" in (said.err if status else said.out)


def test_an_error_names_the_architecture(tmp_path: Path) -> None:
    path = tmp_path / "new.cu"
    path.write_text("""extern "C" __global__ void k(int* a) {
        asm volatile("cp.async.commit_group;"); a[0] = 1;
    }""")
    with pytest.raises(banksim.BanksimError, match=r"^on sm_75: .*sm_80"):
        banksim.run(banksim.load(path)["k"], 1, 32, [np.zeros(4, "i4")], arch=["sm_90", "sm_75"])
    a = np.zeros(40, "f4")
    with pytest.raises(InputError, match=r"on sm_75: .*a block has 65536 on sm_75"):
        banksim.run(kernels.bytes_reversed, 1, 32, [a.view("u1"), a.view("u1")], arch=["sm_90", "sm_75"],
                    dynamic_shared=100_000)  # fmt: skip


def test_an_unknown_architecture_is_one_line(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernel", f"{source}:rows", "--arch", "sm_75,sm_76"]) == 2
    assert capsys.readouterr().err.startswith("banksim: unknown architecture 'sm_76': give sm_")


@pytest.mark.parametrize(
    ("arch", "foreign"), [("kepler-4,sm_90", ("kepler-4",)), ("sm_61", ("sm_61",)), ("hopper", ()), ("sm_80", ())]
)
def test_a_rule_on_other_code_is_said_to_be(arch: str, foreign: tuple[str, ...], capsys: Any, tmp_path: Any) -> None:
    """In every report that names the architecture: text, JSON and HTML."""
    file = tmp_path / "k.cu"
    file.write_text('extern "C" __global__ void k(int* a) { __shared__ int s[32]; s[threadIdx.x] = 1; a[0] = s[0]; }')
    page = tmp_path / "k.html"
    command = ["kernel", f"{file}:k", "--arg", "int32[32]", "--arch", arch, "--html", str(page)]
    said = [f"{name}: judged on code of sm_90" for name in foreign]
    text = out_of(capsys, command)
    assert [one for one in said if one in text] == said
    assert ("judged on code" in text) == bool(foreign)
    assert ("judged on code" in page.read_text()) == bool(foreign)
    assert json.loads(out_of(capsys, [*command, "--json"]))["judged_on_others_code"] == list(foreign)


def test_of_a_program_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, page = tmp_path / "program.py", tmp_path / "program.html"
    file.write_text(
        "import numpy as np\nfrom numba import cuda\n\n@cuda.jit\ndef k(a):\n"
        "    s = cuda.shared.array(32, 'int32')\n    s[cuda.threadIdx.x] = 1\n    a[0] = s[0]\n\n"
        "k[1, 32](np.zeros(1))\n"
    )
    assert main(["run", "--arch", "kepler-4,sm_90", "--json", "--output", "-", "--html", str(page), str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["judged_on_others_code"] == ["kepler-4"]
    assert "kepler-4: judged on code of sm_90" in page.read_text()
