"""Where an extra of banksim is missing, every command says in one line what installs it."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from banksim.system import extras
from helpers.places import EXAMPLES, KERNELS, PACKAGES, TRITON

BLOCKED = [
    "numba_cuda", "cuda", "nvidia", "pyarrow", "zstandard", "fsspec", "distributed", "dask", "tree_sitter",
    "tree_sitter_cuda",
]  # fmt: skip
PROGRAM = """
import contextlib, io, json, sys
blocked = set(sys.argv[1].split())

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
sys.path_importer_cache.clear()
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name.partition(".")[0] in blocked else found(name, *more)
if "row_stack" in blocked:
    import numpy
    vars(numpy).pop("row_stack", None)
    vars(numpy).get("__expired_attributes__", {}).pop("row_stack", None)
from banksim.__main__ import main
answers = []
for words in json.loads(sys.argv[2]):
    with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()) as printed:
        status = main(words)
    answers.append([status, said.getvalue(), printed.getvalue()])
print(json.dumps(answers))
"""
KERNEL = ["--grid", "4,4", "--block", "32,32", "--arg", "float32[128,128]", "--arg", "float32[128,128]"]


def answers(folder: Path, blocked: list[str], commands: list[list[str]]) -> list[tuple[int, str, str]]:
    """What each command does in a process that cannot import some modules, and finds no program."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(PACKAGES),
        "PATH": "/nowhere",
        "BANKSIM_CACHE": str(folder / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, " ".join(blocked), json.dumps(commands)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return [(status, said, printed) for status, said, printed in json.loads(done.stdout.splitlines()[-1])]


def test_every_command_says_what_to_install(tmp_path: Path) -> None:
    for name in ("t.parquet", "t.arrow", "t.csv.zst"):
        (tmp_path / name).touch()
    (tmp_path / "k.cu").write_text("__global__ void k(int *out) { out[0] = 1; }\n")
    (tmp_path / "program.py").write_text("from numba import cuda\n")
    transpose, ptx = str(EXAMPLES / "transpose.py:transpose"), str(KERNELS / "plain.ptx")
    cubin = str(TRITON / "transpose.cubin")
    pattern = ["pattern", "a[threadIdx.x]", "--declare", "int a[32]"]
    wanted: list[tuple[str, list[str]]] = [
        ("cuda", ["kernel", transpose, *KERNEL]),
        ("cuda", ["kernel", "k.cu:k", "--arg", "int32[1]"]),
        ("cuda", ["kernel", ptx]),
        ("cuda", ["kernel", cubin]),
        ("cuda", ["run", "program.py"]),
        ("cuda", ["advise", "kernel", transpose, *KERNEL]),
        ("cuda", ["advise", "kernel", "k.cu:k", "--arg", "int32[1]"]),
        ("traces", ["replay", "t.parquet"]),
        ("traces", ["replay", "t.arrow"]),
        ("traces", ["replay", "t.csv.zst"]),
        ("distributed", ["replay", "s3://bucket/t.csv"]),
        ("traces", [*pattern, "--trace", "new.parquet"]),
        ("traces", ["diff", "t.parquet", "t.parquet"]),
    ]
    found = answers(tmp_path, BLOCKED, [*(words for _, words in wanted), pattern])
    assert found.pop()[0] == 0, "a pattern needs no extra"
    for (extra, words), (status, said, _) in zip(wanted, found, strict=True):
        assert status == 2, words
        assert said.startswith("banksim: "), words
        assert said.endswith(f": {extras.command(extra)}\n"), (words, said)
        assert said.count("\n") == 1, (words, said)
    arguments = [f"--arg={one}" for one in ("float32[32,64]", "float32[64,32]", "int32=64", "int32=32")]
    kernel = ["kernel", cubin, *arguments]
    (of_dask, of_processes) = answers(
        tmp_path, ["distributed"], [[*kernel, "--scheduler", "tcp://127.0.0.1:1"], [*kernel, "--workers", "2"]]
    )
    assert of_dask[:2] == (2, f"banksim: a scheduler needs Dask: {extras.command('distributed')}\n")
    assert of_processes[0] == 0, "workers of this machine need no Dask"


def test_a_numpy_that_numba_cuda_does_not_bear(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("from numba import cuda\n")
    transpose = str(EXAMPLES / "transpose.py:transpose")
    for status, said, _ in answers(tmp_path, ["row_stack"], [["kernel", transpose, *KERNEL], ["run", "program.py"]]):
        assert status == 2
        assert "do not go together (module 'numpy' has no attribute 'row_stack'): pip install" in said
        assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("came", "command"),
    [
        ({}, "pip install 'banksim[cuda]'"),
        (
            {"url": "https://host/banksim.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "pip install 'banksim[cuda] @ git+https://host/banksim.git@abc'",
        ),
        (
            {"url": "https://host/banksim-1-py3-none-any.whl", "archive_info": {}},
            "pip install 'banksim[cuda] @ https://host/banksim-1-py3-none-any.whl'",
        ),
        ({"url": "file:///tmp", "dir_info": {}}, "pip install '/tmp[cuda]'"),
        ({"url": "file:///no%20where", "dir_info": {}}, "pip install"),
    ],
)
def test_the_command_installs_from_where_banksim_came(
    came: dict[str, Any], command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "HERE", tmp_path)
    monkeypatch.setattr(extras, "origin", lambda: came)
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Distribution)
    if command == "pip install":
        assert extras.command("distributed") == "pip install 'pyarrow>=17' 'distributed>=2024.1'"
    else:
        assert extras.command("cuda") == command


class Distribution:
    requires = (
        "numpy>=2.0",
        "pyarrow>=17; extra == 'traces'",
        'banksim[traces]; extra == "distributed"',
        "distributed>=2024.1 ; extra == 'distributed'",
    )


def test_a_checkout_is_installed_from_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "it's here"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    monkeypatch.setattr(extras, "HERE", folder)
    monkeypatch.setattr(extras, "origin", dict)
    assert shlex.split(extras.command("cuda")) == ["pip", "install", f"{folder}[cuda]"]
    monkeypatch.setattr(extras, "origin", lambda: {"url": folder.as_uri(), "dir_info": {"editable": True}})
    assert shlex.split(extras.command("cuda")) == ["pip", "install", "-e", f"{folder}[cuda]"]
