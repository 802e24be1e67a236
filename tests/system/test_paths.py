"""Paths in reports are the project's, so that a report of one checkout holds in another."""

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

from banksim.__main__ import main
from banksim.system.paths import from_here, portable
from banksim.version import VERSION
from helpers.fixtures import Patch, Said
from helpers.places import SARIF_SCHEMA, written_to

pytestmark = pytest.mark.usefixtures("by_nvrtc")

KERNEL = """\
__global__ void column(float *out) {
    __shared__ float tile[32][32];
    tile[threadIdx.y][threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[32 * threadIdx.y + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
"""
LAUNCH = ["--block", "32,32", "--arg", "float32[1024]"]
SARIF = json.loads((SARIF_SCHEMA).read_text())


@pytest.fixture(params=[".git", "pyproject.toml"])
def project(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    folder = tmp_path / "first"
    (folder / "src" / "größe").mkdir(parents=True)
    (folder / request.param).write_text("")
    (folder / "src" / "größe" / "k.cu").write_text(KERNEL)
    return folder


def test_paths_are_those_of_the_project(project: Path, monkeypatch: Patch) -> None:
    assert portable(str(project / "src" / "k.cu")) == "src/k.cu"
    assert portable("src/k.cu") == "src/k.cu"
    assert portable("/nowhere/k.cu") == "/nowhere/k.cu"
    monkeypatch.chdir(project.parent)
    assert portable(str(project.parent / "other" / "k.cu")) == "other/k.cu"


def test_a_repository_is_a_project_with_all_its_packages(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "package" / "pyproject.toml").write_text("")
    assert portable(str(tmp_path / "package" / "k.cu")) == "package/k.cu"


def report(words: list[str], capsys: Said, status: int = 0) -> str:
    assert main(words) == status
    return capsys.readouterr().out


def test_a_baseline_of_one_checkout_holds_in_another(project: Path, capsys: Said) -> None:
    second = project.with_name("second")
    shutil.copytree(project, second)
    files = [folder / "src" / "größe" / "k.cu" for folder in (project, second)]
    reports = [report(["kernel", str(file), *LAUNCH, "--json"], capsys) for file in files]
    assert reports[0] == reports[1]
    baseline = written_to(project / "baseline.json", reports[0])
    again = ["kernel", str(files[1]), *LAUNCH, "--fail-above", "0"]
    assert main(again) == 1
    assert main([*again, "--baseline", str(baseline)]) == 0
    (second / "after.json").write_text(reports[1])
    capsys.readouterr()
    compared = json.loads(report(["diff", str(baseline), str(second / "after.json"), "--json"], capsys))
    assert {change["verdict"] for one in compared["architectures"] for change in one["lines"]} == {"same"}


def test_an_older_baseline_with_the_paths_of_another_machine_holds(project: Path, capsys: Said) -> None:
    file = project / "src" / "größe" / "k.cu"
    text = report(["kernel", str(file), *LAUNCH, "--json"], capsys)
    assert '"src/gr\\u00f6\\u00dfe/k.cu"' in text
    baseline = written_to(project / "baseline.json", text.replace('"src/gr', '"/builds/first/src/gr'))
    words = ["kernel", str(file), *LAUNCH, "--fail-above", "0", "--baseline", str(baseline)]
    assert main(words) == 0
    baseline.write_text(text.replace('"src/gr', '"/builds/first/other/gr'))
    assert main(words) == 1


def test_annotations_and_sarif_have_the_project_s_paths(project: Path, capsys: Said) -> None:
    file = str(project / "src" / "größe" / "k.cu")
    assert "::warning file=src/größe/k.cu,line=5," in report(["kernel", file, *LAUNCH, "--format", "github"], capsys)
    text = report(["kernel", file, *LAUNCH, "--format", "sarif"], capsys)
    log = json.loads(text)
    jsonschema.validate(log, SARIF)
    (run,) = log["runs"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "src/gr%C3%B6%C3%9Fe/k.cu", "uriBaseId": "SRCROOT"}
    assert list(run["originalUriBaseIds"]) == ["SRCROOT"]
    assert str(project) not in text


@pytest.mark.parametrize(
    "words",
    [
        ["pattern", "t[threadIdx.x]", "--declare", "int t[32]"],
        ["kernel", "{file}", *LAUNCH],
        ["advise", "t[threadIdx.x]", "--declare", "int t[32]"],
        ["diff", "{report}", "{report}"],
        ["arch", "sm_90"],
        ["run", "--output", "-", "{program}"],
    ],
    ids=lambda words: words[0],
)
def test_every_json_names_its_schema_and_version(words: list[str], project: Path, capsys: Said) -> None:
    files = {"file": project / "src" / "größe" / "k.cu", "report": project / "r.json", "program": project / "p.py"}
    files["program"].write_text("")
    files["report"].write_text(report(["pattern", "t[threadIdx.x]", "--declare", "int t[32]", "--json"], capsys))
    words = [words[0], "--json", *(word.format(**files) for word in words[1:])]
    found = json.loads(report(words, capsys))
    assert list(found)[:3] == ["schema", "version", "command"]
    assert (found["schema"], found["version"]) == (f"banksim/{words[0]}/1", VERSION)


def test_errors_name_files_of_the_current_folder_from_there(tmp_path: Path, monkeypatch: Patch, capsys: Said) -> None:
    (tmp_path / "fault.cu").write_text("__global__ void k(int *a) {\n    *a = 1;\n}\n")
    (tmp_path / "no.cu").write_text("__global__ void k() {\n    int\n}\n")
    monkeypatch.chdir(tmp_path)
    assert main(["kernel", "fault.cu", "--arg", "uint64=0"]) == 2
    assert ", at fault.cu:2 (SASS " in capsys.readouterr().err
    assert main(["kernel", "no.cu"]) == 2
    first, *others = capsys.readouterr().err.splitlines()
    assert first.startswith("banksim: no.cu(3): error")
    assert not any("detected in the compilation" in line for line in others)


def test_other_folders_keep_their_names(monkeypatch: Patch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for said in (f"/x{tmp_path}/a.cu(1)", f"{tmp_path}b/a.cu(1)", f"a{tmp_path}/a.cu"):
        assert from_here(said) == said
    assert from_here(f'in "{tmp_path}/a.cu", {tmp_path}/b/c.cu:1') == 'in "a.cu", b/c.cu:1'
