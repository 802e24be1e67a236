"""A file that an option names, and that cannot be written, is refused before anything is executed."""

import json
import re
from argparse import Action, ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath

from banksim.__main__ import main, parser_of
from banksim.commands import COMMANDS
from banksim.commands.shared.output_options import OutputFile, OutputFolder, OutputInFolder, OutputStream
from cuda_kernels.__main__ import main as catalogue
from cuda_kernels.__main__ import parser as catalogue_parser
from helpers.fixtures import Said
from helpers.places import written_to

Main = Callable[[Sequence[str]], int]
WRITES = re.compile(r"\b(write|draw|save|keep)\b")
"""What the help of an option says that writes a file."""


def programs() -> list[tuple[Main, str, ArgumentParser]]:
    """Every command: who runs it, its name, its parser."""
    [subcommands] = [action.choices for action in catalogue_parser()._actions if action.choices]
    assert isinstance(subcommands, dict)
    return [
        *((main, name, parser_of(name)[1]) for name in COMMANDS),
        *((catalogue, name, parser) for name, parser in subcommands.items()),
    ]


def outputs() -> list[tuple[Main, str, OutputFile]]:
    """Every option that names what is written."""
    return [(run, name, one) for run, name, parser in programs() for one in parser._actions if is_output(one)]


def of_system(path: str) -> str:
    """The system's own reason why such a file cannot be made, even by root."""
    try:
        Path(path).touch()
    except OSError as error:
        return str(error.strerror)
    raise AssertionError(f"{path} could be made")


def is_output(action: Action) -> bool:
    return isinstance(action, OutputFile)


def test_every_option_whose_value_is_written_to_is_one_of_these() -> None:
    named = {
        (name, action.option_strings[0])
        for _, name, parser in programs()
        for action in parser._actions
        if str(action.metavar).startswith(("FILE", "FOLDER")) and WRITES.search(action.help or "")
    }
    assert named - {("run", "PROGRAM")} == {(name, one.option_strings[0]) for _, name, one in outputs()}
    assert {("kernel", "--html"), ("kernel", "--save-args"), ("run", "--output"), ("validate", "--picture")} <= named
    assert len(named) >= 16


def test_every_option_refuses_every_place_that_cannot_be_written_to(tmp_path: Path, capsys: Said) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder").mkdir()
    for run, name, option in outputs():
        bad = {
            "/sys/made-by-nobody": f"{of_system('/sys/made-by-nobody')}: nothing was written",
            str(tmp_path / "file" / "below"): "Not a directory: nothing was written",
        }
        if not isinstance(option, (OutputFolder, OutputInFolder)):
            missing = "there is no such folder: nothing was written, choose a folder that exists"
            bad |= {str(tmp_path / "none" / "file"): missing}
        if not isinstance(option, OutputFolder):
            bad |= {str(tmp_path / "folder"): "Is a directory: nothing was written"}
        if ending := PurePath(str(option.metavar)).suffix:
            bad |= {"plot.png": f"{ending[1:].upper()} is written: give a name that ends in {ending}"}
        if not isinstance(option, (OutputFolder, OutputStream)):
            bad |= {"-": "standard output has another use: give a file"}
        for path, reason in bad.items():
            given = path if path != "-" else f"{option.option_strings[0]} -"
            # what is executed is not there either: nobody has looked for it
            words = [*name.split(), option.option_strings[0], path, *(["none.py"] if run is main else [])]
            assert run(words) == 2, words
            shown = capsys.readouterr()
            said = shown.err.partition(": ")[2]
            assert (shown.out, said) == ("", f"{given}: {reason}\n"), words
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["file", "folder"]
    assert (tmp_path / "file").read_text() == "old"


def test_a_program_is_not_run_for_a_report_that_nobody_gets(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import pathlib\npathlib.Path(__file__).with_name('it ran').touch()\n")
    for option in ("--html", "--output", "--trace"):
        assert main(["run", option, str(tmp_path / "none" / "report.parquet"), str(program)]) == 2
    assert [one.name for one in tmp_path.iterdir()] == ["program.py"]


def test_a_baseline_that_cannot_be_written_is_refused_before_anything_is_judged(tmp_path: Path, capsys: Said) -> None:
    (tmp_path / "program.py").write_text("import pathlib\npathlib.Path(__file__).with_name('it ran').touch()\n")
    (tmp_path / "banksim.toml").write_text('[[programs]]\ncommand = "program.py"\n')
    words = ["check", "--project", str(tmp_path / "banksim.toml"), "--update-baseline", "--baseline"]
    assert main([*words, str(tmp_path / "none" / "baseline.json")]) == 2
    missing = "there is no such folder: nothing was written, choose a folder that exists"
    assert capsys.readouterr().err == f"banksim: {tmp_path}/none/baseline.json: {missing}\n"
    assert not (tmp_path / "it ran").exists()


def test_what_can_be_written_is_left_as_it_is_until_then(tmp_path: Path) -> None:
    report = written_to(tmp_path / "report.html", "old")
    assert main(["kernel", "none.py:kernel", "--html", str(report), "--save-args", str(tmp_path / "a" / "b")]) == 2
    assert report.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_a_pattern_is_written_where_the_option_says(tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "requests.arrow"
    words = ["pattern", "a[threadIdx.x]", "--declare", "int a[32]", "--json"]
    assert main([*words, "--trace", str(file), "--html", str(tmp_path / "r.html")]) == 0
    assert json.loads(capsys.readouterr().out)["command"] == "pattern"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["r.html", "requests.arrow"]
