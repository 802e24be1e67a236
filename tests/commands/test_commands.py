"""The command line: what it prints where, and with which exit status."""

import io
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

from banksim.__main__ import main, parser_of
from banksim.commands import COMMANDS
from banksim.commands.shared.help import command
from helpers.commands import err_of, out_of, refused
from helpers.fixtures import Patch, Said
from helpers.goldens import assert_golden
from helpers.places import ROOT

COLUMN = ["pattern", "tile[threadIdx.x][threadIdx.y]", "--declare", "int tile[32][32]", "--block", "32,32"]
ROW = ["pattern", "tile[threadIdx.x]", "--declare", "int tile[32]"]
BANKSIM = [sys.executable, "-P", "-m", "banksim"]


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: Patch) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR", "BANKSIM_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONIOENCODING": "utf-8", **more}


# ---- reports
@pytest.mark.parametrize("width", ["80", "160"])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("column", COLUMN),
        ("row", ROW),
        ("row-all", [*ROW, "--picture", "all"]),
        (
            "several",
            [*COLUMN, "tile[threadIdx.y][threadIdx.x] = 0", "--arch", "kepler-4,kepler-8,sm_90", "--no-picture"],
        ),
        ("arch", ["arch"]),
        ("arch-sm_90", ["arch", "sm_90"]),
        ("arch-two", ["arch", "tesla", "kepler-4"]),
    ],
)
def test_a_command_prints_its_report(name: str, words: list[str], width: str, capsys: Said, monkeypatch: Patch) -> None:
    monkeypatch.setenv("COLUMNS", width)
    assert_golden(out_of(capsys, words), f"command-{name}-{width}")


def test_json_holds_what_the_report_shows(capsys: Said) -> None:
    found = json.loads(out_of(capsys, [*COLUMN, "--arch", "kepler-4,sm_90", "--json"]))
    assert found["command"] == "pattern"
    kepler, hopper = found["conflicts"]
    assert (kepler["arch"], hopper["arch"]) == ("kepler-4", "sm_90")
    assert (kepler["transactions"], hopper["transactions"]) == (512, 1024)
    (site,) = hopper["sites"]
    assert {
        name: site[name] for name in ("text", "op", "width", "requests", "ideal", "excess", "degree", "status")
    } == {
        "text": "tile[threadIdx.x][threadIdx.y]", "op": "ld", "width": 4, "requests": 32, "ideal": 32, "excess": 992,
        "degree": 32, "status": "measured",
    }  # fmt: skip


def test_json_of_ranges_and_unknown_counts(capsys: Said) -> None:
    words = ["pattern", "c[threadIdx.x / 3 * 4]", "--declare", "int c[256]", "--arch", "tesla", "--json"]
    (tesla,) = json.loads(out_of(capsys, words))["conflicts"]
    assert tesla["transactions"]["low"] < tesla["transactions"]["high"]
    words = ["pattern", "atomicAdd(&c[threadIdx.x], 1)", "--declare", "int c[256]", "--arch", "fermi", "--json"]
    (fermi,) = json.loads(out_of(capsys, words))["conflicts"]
    assert (fermi["transactions"], fermi["sites"][0]["status"]) == (None, "unknown")


def test_json_lists_every_architecture_with_sources(capsys: Said) -> None:
    found = json.loads(out_of(capsys, ["arch", "--json"]))
    assert {"tesla", "kepler-8", "sm_90", "sm_121"} <= {one["name"] for one in found["architectures"]}
    for one in found["architectures"]:
        assert one["source"]
        assert all(access["source"] and access["status"] for access in one["accesses"])


def test_accesses_come_from_standard_input(capsys: Said, monkeypatch: Patch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("tile[threadIdx.x]\n\ntile[0]\n"))
    (judged,) = json.loads(out_of(capsys, ["pattern", "-", "--declare", "int tile[32]", "--json"]))["conflicts"]
    assert [site["text"] for site in judged["sites"]] == ["tile[threadIdx.x]", "tile[0]"]


def test_every_option_of_a_pattern_reaches_it(capsys: Said) -> None:
    words = shlex.split(
        "pattern --store t[i][k] --declare 'int t[64][33]' --let n=4 --let i=n*threadIdx.x --for k=0..32 "
        "--where 'threadIdx.x < 16' --grid 2,3 --block 16,4 --json"
    )
    (judged,) = json.loads(out_of(capsys, words))["conflicts"]
    (site,) = judged["sites"]
    assert (site["op"], site["requests"], site["degree"]) == ("st", 33 * 6 * 2, 2)
    assert main(["pattern", "t[99]", "--declare", "int t[9]", "--allow-out-of-bounds", "--json"]) == 0


# ---- exit status
@pytest.mark.parametrize(
    ("words", "status"),
    [
        ([*COLUMN, "--fail-above", "991"], 1),
        ([*COLUMN, "--fail-above", "992"], 0),
        ([*COLUMN, "--fail-above", "500", "--arch", "kepler-4"], 0),
        ([*COLUMN, "--fail-above", "500", "--arch", "kepler-4,sm_90"], 1),
        ([*ROW, "--fail-above", "0"], 0),
        (["pattern", "atomicAdd(&c[0], 1)", "--declare", "int c[1]", "--arch", "fermi", "--fail-above", "1000"], 1),
    ],
)
def test_the_exit_status_tells_of_conflicts_above_the_limit(words: list[str], status: int, capsys: Said) -> None:
    assert main([*words, "--no-picture"]) == status
    named = capsys.readouterr().err
    assert (named == "") == (status == 0)
    assert all(line.startswith(f"banksim: {words[1]}: ") for line in named.splitlines())


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["frob"], "unknown command 'frob': give pattern, kernel"),
        ([""], "unknown command '': give pattern"),
        ([__file__], f"{__file__!r} is a file and no command: to run it, give banksim run {__file__} (see"),
        (["patern"], "unknown command 'patern' (did you mean pattern?): give pattern"),
        (["adivse"], "unknown command 'adivse' (did you mean advise?): give pattern"),
        ([*ROW, "--ach", "sm_90"], "unrecognized arguments: --ach sm_90 (did you mean --arch?) (see banksim pattern"),
        ([*ROW, "--declaer=b"], "unrecognized arguments: --declaer=b (did you mean --declare?)"),
        ([*ROW, "--write"], "unrecognized arguments: --write (see banksim pattern --help)"),
        (["advise", *ROW[1:], "--write"], "unrecognized arguments: --write (banksim advise kernel has it)"),
        (["advise", "--arch", "sm_90", "kernel", "a.py:k", "--let", "i=1"], "--let i=1 (banksim advise has it)"),
        (["kernel", "--bolck", "32"], "unrecognized arguments: --bolck (did you mean --block?)"),
        (["check", "--frmat=text"], "unrecognized arguments: --frmat=text (did you mean --format?)"),
        (["pattern"], "no access: give one such as"),
        (["pattern", "x[0]", "--frob"], "unrecognized arguments: --frob (see banksim pattern --help)"),
        (["pattern", "x[0]", "--block"], "argument --block: expected one argument: X,Y,Z (see"),
        (["kernel", "a.cu:k", "--check", "--timing"], "argument --check: expected one argument: CHECK,… (see"),
        (["kernel", "a.cu:k", "--check", "--", "1"], "argument --check: expected one argument: CHECK,… (see"),
        (["run", "--nvcc", "-rdc=true", "a.cu"], "expected one argument: write one that begins with - as --nvcc=-…"),
        ([*ROW, "--arch", "sm_91"], "unknown architecture 'sm_91': give sm_90"),
        ([*ROW, "--arch", ","], "--arch names no architecture"),
        ([*ROW, "--block", "32,y"], "--block 32,y: give one to three sizes"),
        ([*ROW, "--block", "-1"], "--block"),
        ([*ROW, "--block", "1025"], "1024"),
        ([*ROW, "--block", "32,33"], "1024"),
        ([*ROW, "--fail-above", "-1"], "--fail-above"),
        ([*ROW, "--fail-above", "few"], "--fail-above few: give a whole number"),
        ([*ROW, "--picture", "big"], "invalid choice: 'big'"),
        (["arch", "sm_9"], "unknown architecture 'sm_9'"),
        (["arch", "RTX 4900"], "unknown architecture 'RTX 4900': give RTX 4090, "),
        (["cache", "cleer"], "invalid choice: 'cleer'"),
        (["kernel"], "the following arguments are required: FILE:NAME"),
        (["kernel", "notes.txt"], "notes.txt: no such file"),
        (["kernel", "none.py:f"], "none.py: no such file"),
        (["kernel", "none.cu:f"], "none.cu"),
        (["kernel", "none.ptx", "--std", "c++17"], "are for CUDA C++"),
        (["kernel", "none.py:f", "--arg", "float[4]"], "say float32 or float64"),
        (["kernel", "none.py:f", "--dynamic-shared", "1k"], "--dynamic-shared 1k: give a whole number"),
    ],
)
def test_wrong_use_is_one_line_and_exit_status_2(words: list[str], complaint: str, capsys: Said) -> None:
    assert complaint in refused(capsys, words)


def test_a_wrong_expression_is_shown_with_a_caret(capsys: Said) -> None:
    assert main(["pattern", "tile[threadIdx.q]", "--declare", "int tile[32]"]) == 2
    message, expression, caret = capsys.readouterr().err.splitlines()
    assert message.startswith("banksim: ")
    assert expression.strip() == "tile[threadIdx.q]"
    assert expression[caret.index("^") :].startswith(("q", "threadIdx.q"))


def test_an_unforeseen_error_is_one_line_too(capsys: Said, monkeypatch: Patch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("of\nmany lines")

    monkeypatch.setattr("banksim.commands.pattern.requests", broken)
    assert err_of(capsys, ROW) == (
        "banksim: internal error, please report it: ZeroDivisionError: of (BANKSIM_TRACEBACK=1 shows where)\n"
    )


@pytest.mark.parametrize("words", ["", "for an array"])
def test_too_little_memory_is_one_line(capsys: Said, monkeypatch: Patch, words: str) -> None:
    def broken(*_: object, **__: object) -> None:
        raise MemoryError(words)

    monkeypatch.setattr("banksim.commands.pattern.requests", broken)
    assert err_of(capsys, ROW) == f"banksim: too little memory{words and ': ' + words}\n"


def test_an_interrupt_is_one_line(capsys: Said, monkeypatch: Patch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("banksim.commands.pattern.requests", interrupted)
    assert main(ROW) == 130
    assert capsys.readouterr().err == "banksim: interrupted\n"


# ---- help
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str, capsys: Said) -> None:
    with pytest.raises(SystemExit) as end:
        main([name, "--help"])
    assert end.value.code == 0
    shown = capsys.readouterr().out
    assert f"usage: banksim {name}" in shown
    assert f"  banksim {name}" in shown.partition("example:")[2]


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_the_terminal(name: str, capsys: Said) -> None:
    with suppress(SystemExit):
        main([*name.split(), "--help"])
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []


def test_commands_of_help_are_the_same_when_they_are_broken() -> None:
    for name in COMMANDS:
        for line in parser_of(name)[0].EXAMPLE.replace("\\\n", "").splitlines():
            assert shlex.split("\n".join(command(line, 50)).replace("\\\n", "")) == shlex.split(line)


def test_without_a_command_there_is_help(capsys: Said) -> None:
    assert main([]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("usage: banksim COMMAND")
    assert all(f"  {name} " in said.err for name in COMMANDS)


def test_the_overview_names_every_command(capsys: Said) -> None:
    shown = out_of(capsys, ["--help"])
    assert all(f"  {name} " in shown and purpose in shown for name, purpose in COMMANDS.items())
    assert main(["--version"]) == 0
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest
    first, *others = capsys.readouterr().out.splitlines()
    assert first == f"banksim {newest[1]}"
    told = {line.split()[0]: line.split()[1:] for line in others}
    assert {"Python", "numpy", "numba", "nvcc", "ptxas", "nvdisasm", "C++"} <= set(told)
    assert re.fullmatch(r"\d+\.\d+\S*", told["numpy"][0])


@pytest.mark.parametrize("example", ["pattern", "arch"])
def test_the_examples_of_the_help_work(example: str, capsys: Said) -> None:
    text = import_module(f"banksim.commands.{example}").EXAMPLE.replace("\\\n", " ")
    for line in text.splitlines():
        assert main(shlex.split(line)[1:]) == 0
    assert capsys.readouterr().err == ""


# ---- pipes and terminals
def test_a_pipe_gets_plain_text() -> None:
    done = subprocess.run([*BANKSIM, *COLUMN], env=environment(), capture_output=True, check=True)
    assert b"\x1b" not in done.stdout
    assert "│" in done.stdout.decode()


def test_an_encoding_without_marks_gets_plain_ones() -> None:
    words = [*BANKSIM, *COLUMN, "--arch", "kepler-4,sm_90"]
    done = subprocess.run(words, env=environment(PYTHONIOENCODING="ascii"), capture_output=True, check=True)
    shown = done.stdout.decode("ascii")
    assert "lane | 0 " in shown
    assert "\\u" not in shown


def test_letters_that_the_encoding_lacks_do_no_harm() -> None:
    words = [*BANKSIM, "pattern", "größe[threadIdx.x]", "--declare", "int größe[32]"]
    for encoding in ("ascii", "latin-1", "utf-8"):
        done = subprocess.run(words, env=environment(PYTHONIOENCODING=encoding), capture_output=True, check=False)
        assert b"Traceback" not in done.stderr
        assert done.returncode in (0, 2)


@pytest.mark.parametrize("words", [["--help"], ["nothing"], *([name, "--help"] for name in COMMANDS), ["arch"]])
def test_every_text_can_be_written_in_ascii(words: list[str], monkeypatch: Patch) -> None:
    written = {name: io.BytesIO() for name in ("stdout", "stderr")}
    for name, content in written.items():
        monkeypatch.setattr(sys, name, io.TextIOWrapper(content, "ascii", write_through=True))
    try:
        status = main(words)
    except SystemExit as end:
        status = int(end.code or 0)
    assert b"internal error" not in written["stderr"].getvalue()
    assert status == (2 if words == ["nothing"] else 0)
    assert "\\u" not in written["stdout"].getvalue().decode("ascii")


def test_a_pipe_that_closes_early_ends_a_command_as_its_signal_would() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*BANKSIM, *COLUMN], stdout=writer, stderr=subprocess.PIPE, env=environment(), check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


@pytest.mark.parametrize(
    ("words", "closed"),
    [(ROW, ">&-"), (["run", "true"], ">&-"), (["run", "-"], ">&-"), (["run", "true"], "<&- >&- 2>&-")],
)
def test_closed_standard_streams_are_no_error(words: list[str], closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *BANKSIM, *words],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0
    assert b"banksim:" not in done.stderr


def on_a_terminal(**more: str) -> str:
    """What a terminal is sent."""
    outer, inner = pty.openpty()
    process = subprocess.Popen(
        [*BANKSIM, *COLUMN], stdout=inner, stderr=inner, stdin=inner, env=environment(TERM="xterm-256color", **more)
    )
    os.close(inner)
    sent = b""
    while True:
        try:
            part = os.read(outer, 65536)
        except OSError:  # how Linux tells that the other end has closed
            break
        if not part:
            break
        sent += part
    os.close(outer)
    assert process.wait() == 0
    return sent.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colours_that_change_no_character(capsys: Said) -> None:
    plain = out_of(capsys, COLUMN)
    coloured = on_a_terminal()
    assert "\x1b[1;38;5;" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


def test_no_color_is_honoured() -> None:
    assert not re.search(r"\x1b\[[\d;]*[34]8;", on_a_terminal(NO_COLOR="1"))


def imported(words: list[str], folder: Path) -> set[str]:
    """The heavy packages that a command imports."""
    code = (
        "import sys; from banksim.__main__ import main; main(sys.argv[1:]);"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    program = [sys.executable, "-P", "-c", code, *words]
    done = subprocess.run(program, cwd=folder, env=environment(), capture_output=True, check=True)
    return {"numba", "llvmlite", "elftools", "cuda", "rich"} & {*done.stdout.decode().splitlines()[-1].split()}


@pytest.mark.parametrize("words", [["pattern", "q["], ["pattern", "q[0]", "--arch", "sm_9"], [*ROW, "--json"]])
def test_errors_and_json_import_nothing_heavy(words: list[str], tmp_path: Path) -> None:
    assert imported(words, tmp_path) == set()


def test_a_report_imports_neither_numba_nor_compilers(tmp_path: Path) -> None:
    assert imported(COLUMN, tmp_path) == {"rich"}
