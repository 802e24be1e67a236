"""`banksim run notebook.ipynb`: cells are executed in order, and their lines named by cell."""

import json
from pathlib import Path
from typing import Any

import pytest

from banksim.__main__ import main
from banksim.errors import InputError
from banksim.runs.programs.notebook import python_of
from banksim.system.notebooks import Cell, cells
from banksim.system.source_files import source_line
from helpers.commands import err_of, out_of, reported
from helpers.fixtures import Said
from helpers.numba_programs import COLUMNS

KERNEL = COLUMNS.partition("\n\n")[2]


def code(*sources: str, **more: Any) -> str:
    """A notebook of these code cells, with a text before them."""
    made = [{"cell_type": "code", "source": source.splitlines(keepends=True)} for source in sources]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": "# A"}, *made], "nbformat": 4, **more})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_notebook_is_reported_by_cell_and_line(folder: Path, capsys: Said) -> None:
    (folder / "n.ipynb").write_text(
        code(
            "%matplotlib inline\nimport sys\nimport numpy as np\nfrom numba import cuda",
            KERNEL,
            "%%time\nout = np.arange(1024, dtype=np.int32).reshape(32, 32)\ncolumns[1, (32, 32)](out)\nout[0, :3]",
            "sys.argv",
            "print('a');\n'no more';",
        )
    )
    status, report = reported(folder, "--no-picture", "n.ipynb", "word")
    assert status == 0
    assert capsys.readouterr().out == "array([ 0, 32, 64], dtype=int32)\n['n.ipynb', 'word']\na\n"
    store, load = report["conflicts"][0]["sites"]
    assert (load["file"], load["line"]) == ("n.ipynb, cell 2", 7)
    assert load["text"] == "out[y, x] = tile[x, y]"
    assert (store["transactions"], load["transactions"]) == (32, 1024)
    said = out_of(capsys, ["run", "--no-picture", "--output", "-", "n.ipynb"])
    assert "n.ipynb, cell 2, line 7  out[y, x] = tile[x, y]" in said
    assert "No conflict on 1 other line: n.ipynb, cell 2, line 5" in said


def test_an_error_ends_it_and_names_the_cell(folder: Path, capsys: Said) -> None:
    (folder / "n.ipynb").write_text(code("print(1)", "x = 2\n1 / 0", "print(3)"))
    assert main(["run", "--output", "/dev/null", "n.ipynb"]) == 1
    said = capsys.readouterr()
    assert said.out == "1\n"
    assert 'n.ipynb, cell 2", line 2, in <module>\n    1 / 0' in said.err
    assert "banksim" not in said.err.replace(str(folder), "")


@pytest.mark.parametrize(
    ("source", "python"),
    [
        ("x = 5 %2", "x = 5 %2"),
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("if x:\n    %time f(x)", "if x:\n    f(x)"),
        ("%timeit -n 100 -r 5 f(x)", "f(x)"),
        ("text = '''\n%nothing\n'''\n%pylab", "text = '''\n%nothing\n'''\npass"),
        ("x = (5\n%y)\n%page", "x = (5\n%y)\npass"),
        ("x = 5 \\\n%y\n%page", "x = 5 \\\n%y\npass"),
        ("?print\nx.y??", "pass\npass"),
        ("%%timeit\nf(x)", "\nf(x)"),
        ("%%html\n<p>", "\n"),
        ("%env A=b c", "__import__('os').environ['A'] = 'b c'"),
    ],
)
def test_what_ipython_adds_becomes_python_of_as_many_lines(source: str, python: str) -> None:
    assert python_of(Cell("n.ipynb, cell 1", source)) == python


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("x = 1\n!rm -r .", "n.ipynb, cell 1, line 2: !rm -r .: banksim run starts no shell from a notebook"),
        ("!cat a > b", "n.ipynb, cell 1, line 1: !cat a > b: banksim run starts no shell from a notebook"),
        ("%nothing 3", "n.ipynb, cell 1, line 1: %nothing: a magic that banksim run does not know"),
        ("%%bash\nls", "n.ipynb, cell 1, line 1: %%bash: banksim run executes cells of Python"),
    ],
)
def test_what_is_not_known_is_refused_with_its_line(source: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        python_of(Cell("n.ipynb, cell 1", source))
    assert str(refused.value).startswith(said)


def test_commands_that_install_or_show_are_left_out_and_said(capsys: Said) -> None:
    source = "!pip install numba-cuda\n!nvidia-smi\n!cat debug/ex1.py"
    assert python_of(Cell("n.ipynb, cell 4", source)) == "pass\npass\npass"
    assert (
        capsys.readouterr().err.splitlines()[0] == "banksim: n.ipynb, cell 4, line 1: pip install numba-cuda: not run"
    )


def test_a_cell_writes_a_file(folder: Path) -> None:
    (folder / "n.ipynb").write_text(code("%%writefile part.py\nx = 3\n", "import part\nassert part.x == 3"))
    assert main(["run", "--output", "/dev/null", "n.ipynb"]) == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "n.ipynb is no notebook: Expecting property name"),
        ("[]", "n.ipynb is no notebook: it has no cells"),
        ('{"cells": [3]}', "n.ipynb is no notebook: it has no cells"),
        (code(metadata={"kernelspec": {"language": "julia"}}), "n.ipynb is a notebook of julia"),
    ],
)
def test_what_is_no_notebook_is_told_in_a_line(content: str, said: str, folder: Path, capsys: Said) -> None:
    (folder / "n.ipynb").write_text(content)
    told = err_of(capsys, ["run", "n.ipynb"]).replace(f"{folder}/", "")
    assert told.startswith(f"banksim: {said}")
    assert told.count("\n") == 1


def test_the_older_form_of_notebooks_is_read() -> None:
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": ["x = 1\n", "y = 2"]}]}], "nbformat": 3}
    assert cells("n.ipynb", json.dumps(old).encode()) == [Cell("n.ipynb, cell 1", "x = 1\ny = 2")]


def test_of_a_cell_that_is_not_there_no_line_is_shown(folder: Path) -> None:
    (folder / "n.ipynb").write_text(code("a\n  b"))
    assert source_line("n.ipynb, cell 1", 2) == "b"
    assert source_line("n.ipynb, cell 2", 1) == source_line("none.ipynb, cell 1", 1) == ""
