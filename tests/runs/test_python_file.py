"""Python files with kernels: imported whole, or what can be of a program that wants a GPU."""

import re
import sys
import warnings
from pathlib import Path

import pytest

from banksim.__main__ import main
from banksim.errors import InputError
from banksim.runs.python_file import load_python
from helpers.places import written_to

PROGRAM = """from __future__ import annotations
from numba import cuda; print("before")
import no_such_package_of_plots

def device() -> NotEvaluated:
    return cuda.get_current_device()

@cuda.jit
def first(x):
    x[cuda.threadIdx.x] += 1

NAME = device().name
print("all is equal")
first[1, 32](cuda.to_device([0] * 32))
print(NAME)

@cuda.jit
def second(x):
    x[cuda.threadIdx.x] += 2
"""


def test_python_files_import_their_neighbours_and_leave_no_trace(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_it.py").write_text("VALUE = 3\n")
    (tmp_path / "importing.py").write_text("from neighbour_of_it import VALUE\n")
    path = list(sys.path)
    assert load_python(tmp_path / "importing.py").VALUE == 3
    (tmp_path / "failing.py").write_text("1 / 0\n")
    with pytest.raises(InputError, match=r"failing\.py:1: importing it failed with ZeroDivisionError"):
        load_python(tmp_path / "failing.py")
    assert "failing" not in sys.modules
    assert sys.path == path
    with pytest.raises(InputError, match="no such file"):
        load_python(tmp_path / "missing.py")


@pytest.mark.parametrize("line", ["from ..sizes import WIDTH", "from shapes_of_it.sizes import WIDTH"])
def test_a_file_of_a_package_is_imported_as_one(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the package imports the file itself, and where a module of it has an installed package's name."""
    folder = tmp_path / "shapes_of_it" / "kernels"
    folder.mkdir(parents=True)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    (folder / "__init__.py").write_text("from .tiles import ROWS\n")
    (folder / "numba.py").write_text("1 / 0\n")
    (folder / "beside_it.py").write_text("COLUMNS = 32\n")
    (folder.parent / "__init__.py").write_text("from .kernels import ROWS\nfrom .sizes import WIDTH\n")
    (folder.parent / "sizes.py").write_text("WIDTH = 33\n")
    file = written_to(folder / "tiles.py", f"import numba\n{line}\nfrom beside_it import COLUMNS\nROWS = WIDTH - 1\n")
    path = list(sys.path)
    loaded = load_python(file)
    assert (loaded.ROWS, loaded.COLUMNS, loaded.__name__, sys.path) == (32, 32, "tiles", path)


@pytest.mark.parametrize("line", ["from .sizes_of_it import WIDTH", "from sizes_of_it import WIDTH"])
def test_files_of_several_folders_find_their_own_neighbours(line: str, tmp_path: Path) -> None:
    """Also one that has changed, and nothing that lies beside another file alone."""
    for folder, width in ("one", 32), ("two", 33):
        package = tmp_path / folder / "shapes"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "sizes_of_it.py").write_text(f"WIDTH = {width}\n")
        written_to(package / "kernels_of_it.py", f"{line}\n")
    first, second = (tmp_path / folder / "shapes" / "kernels_of_it.py" for folder in ("one", "two"))
    assert [load_python(file).WIDTH for file in (first, second, first)] == [32, 33, 32]
    (first.parent / "sizes_of_it.py").write_text("WIDTH = 320 + 2\n")
    assert load_python(first).WIDTH == 322
    with pytest.raises(InputError, match="No module named 'kernels_of_it'"):
        load_python(written_to(tmp_path / "alone.py", "import kernels_of_it\n"))


@pytest.mark.parametrize("name", ["cuda", "numba", "triton", "types"])
def test_no_file_or_package_stands_for_a_module_of_its_name(name: str, tmp_path: Path) -> None:
    known = sys.modules.get(name)
    folder = tmp_path / "of_kernels" / name
    folder.mkdir(parents=True)
    written_to(folder / "sizes.py", "WIDTH = 33\n")
    lines = "from .sizes import WIDTH\nfrom dataclasses import dataclass\n@dataclass\nclass Sizes:\n    one: 'int'\n"
    (folder / "__init__.py").write_text("")
    file = written_to(folder / f"{name}.py", f"import {name}\n{lines}" if known else lines)
    assert load_python(file).WIDTH == 33
    assert sys.modules.get(name) is known


def test_a_neighbour_may_ask_pytorch_for_the_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of Triton's that does not import PyTorch itself, with a PyTorch that has no GPU."""
    monkeypatch.setattr(sys, "modules", {name: one for name, one in sys.modules.items() if "torch" not in name})
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("from . import cuda\n")
    (tmp_path / "torch" / "cuda.py").write_text("def get_device_capability(): 1 / 0\nget_device_properties = print\n")
    (tmp_path / "neighbour.py").write_text("import torch\nFOUND = torch.cuda.get_device_capability()\n")
    file = written_to(
        tmp_path / "file.py", "try: import triton\nexcept ImportError: pass\nfrom neighbour import FOUND\n"
    )
    assert load_python(file, "sm_80").FOUND == (8, 0)


@pytest.mark.parametrize(("module", "wheel"), [("cuda.tile", "'cuda-tile[tileiras]'"), ("warp", "warp-lang")])
def test_a_language_that_is_not_installed_is_named_with_its_wheel(module: str, wheel: str, tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(f"raise ModuleNotFoundError('No module named {module}', name='{module}')\n")
    with pytest.raises(InputError, match=rf"No module named {module}: pip install {re.escape(wheel)}$"):
        load_python(file)


def test_statements_that_fail_are_left_out_on_request(tmp_path: Path) -> None:
    """The others are executed in the order of the file, as one module: with its `from __future__`, findable."""
    (tmp_path / "partly.py").write_text(
        '"""Its text."""\nfrom __future__ import annotations\nA = 1\nB = 1 / 0\nC = A + 1\nD = B\n'
        "def f(x: Unknown): return x\nclass Of: pass\n"
    )
    left_out = list[InputError]()
    loaded = load_python(tmp_path / "partly.py", left_out=left_out)
    assert (loaded.A, loaded.C, loaded.__doc__, loaded.Of.__module__) == (1, 2, "Its text.", "partly")
    assert loaded.f.__annotations__ == {"x": "Unknown"}
    assert [str(one).rpartition("partly.py")[2] for one in left_out] == [
        ":4: importing it failed with ZeroDivisionError: division by zero",
        ":6: importing it failed with NameError: name 'B' is not defined",
    ]
    assert sys.modules.pop("partly") is loaded


@pytest.mark.parametrize(
    ("failing", "told"),
    [
        ("first[1, 32]([0.0] * 32)", "importing it needs a GPU: banksim run executes whole programs"),
        ("cuda.to_device([0] * 32)", "importing it needs a GPU: banksim run executes whole programs"),
        (r"raise ValueError('two\n\nlines')", "importing it failed with ValueError: two lines"),
    ],
)
def test_what_wants_a_gpu_is_told_in_one_line_with_its_cure(failing: str, told: str, tmp_path: Path) -> None:
    """Numba-cuda tells of a missing driver in four lines, and launched what is not compiled while it is imported."""
    before = PROGRAM.partition("NAME")[0].replace("import no_such_package_of_plots", "")
    file = written_to(tmp_path / "failing.py", before + failing)
    with warnings.catch_warnings(action="error"), pytest.raises(InputError) as error:
        load_python(file)
    assert str(error.value).endswith(f"failing.py:12: {told}")


def test_a_program_that_ends_is_not_executed_further(tmp_path: Path) -> None:
    (tmp_path / "ending.py").write_text("import sys\nA = 1\nsys.exit('no GPU')\nA = 2\n")
    left_out = list[InputError]()
    assert load_python(tmp_path / "ending.py", left_out=left_out).A == 1
    assert [str(one).rpartition("ending.py")[2] for one in left_out] == [
        ":3: importing it failed with SystemExit: no GPU"
    ]
    del sys.modules["ending"]


def test_kernels_between_what_needs_a_gpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written_to(tmp_path / "program.py", PROGRAM)
    assert main(["kernel", "--list", str(file)]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == ["first(x)", "second(x)"]
    before, note = said.err.splitlines()
    assert before == "before"
    assert note.endswith(
        "program.py:3: importing it failed with ModuleNotFoundError: No module named 'no_such_package_of_plots' "
        "(this statement and 3 more are left out)"
    )
    file.write_text("1 / 0\n" + PROGRAM.replace("from __future__ import annotations", "").replace("@cuda.jit", ""))
    assert main(["kernel", "--list", str(file)]) == 2
    assert (
        capsys.readouterr()
        .err.splitlines()[0]
        .endswith("program.py:1: importing it failed with ZeroDivisionError: division by zero")
    )
