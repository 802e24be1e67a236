"""Pages: README.md and those under examples, which show what their commands print.

```console   commands, each behind `$ ` and continued behind a backslash, with what they print on both streams. All
             commands of a page are one session of a shell, 80 columns wide, in a folder with a copy of the examples.
             Every command succeeds, but one whose status `$ echo $?` shows.
```python    programs: all blocks of a page are one program. A block ```text right behind one is what it prints.
<!-- $ … --> a command above a picture: the picture is a terminal, with this command and what it prints in colours.

Blocks of other kinds (```sh, ```py, ```c, ```yaml …) are only shown.
"""

import io
import os
import re
import shlex
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from helpers import warm
from helpers.places import EXAMPLES, PACKAGES, TESTS

CONSOLE = re.compile(r"^```console\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
PROGRAM = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"^<!-- \$ (.*?) -->\n!\[[^\]]*\]\(([^)]+)\)$", re.MULTILINE | re.DOTALL)
MARK = "\x1e"
"""What stands behind the output of each command or program, and in no output."""
SVG = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font: {char_height}px/{line_height}px ui-monospace, Menlo, Consolas, monospace; }}
.{unique_id}-title {{ display: none; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""rich's own frame of a terminal without the font that it fetches from the network."""
COLOURS = [  # black, red, green, yellow, blue, magenta, cyan, white
    *[(80, 84, 92), (255, 110, 100), (120, 210, 110), (240, 190, 70)],
    *[(110, 160, 255), (220, 130, 240), (90, 200, 220), (175, 180, 190)],
]
THEME = TerminalTheme((30, 33, 40), (232, 234, 238), COLOURS, COLOURS)


def printed_now(text: str, folder: Path) -> str:
    """A page with what its commands and programs print now, when they run in `folder`."""
    prepare(folder)
    typed = [one[1] for block in CONSOLE.finditer(text) for one in COMMAND.finditer(block[1])]
    shown = iter(session(typed, folder))

    def console(block: re.Match[str]) -> str:
        lines = COMMAND.sub(lambda one: "$ " + one[1] + "\n" + next(shown), block[1])
        return f"```console\n{lines}```\n"

    text = CONSOLE.sub(console, text)
    printed = iter(program([one[1] for one in PROGRAM.finditer(text)], folder))

    def python(block: re.Match[str]) -> str:
        output = next(printed)
        return f"```python\n{block[1]}```\n" + (f"\n```text\n{output}```\n" if output else "")

    return PROGRAM.sub(python, text)


def prepare(folder: Path) -> None:
    """What commands of a page find: a copy of the examples, the tests, and banksim as it is tested."""
    shutil.copytree(EXAMPLES, folder / "examples")
    (folder / "tests").symlink_to(TESTS)
    (folder / ".git").mkdir()  # a project of its own: places are told from here
    commands = folder / "bin"
    commands.mkdir()
    for name, words in {"banksim": " -m banksim", "python": ""}.items():
        (commands / name).write_text(f'#!/bin/sh\nexec {warm.starter()}{words} "$@"\n', encoding="utf-8")
        (commands / name).chmod(0o755)


def output_of(words: list[str], folder: Path, **environment: str) -> str:
    """What a process prints on both streams at 80 columns; it must succeed."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "NO_COLOR")}
    paths = [str(PACKAGES), str(folder / "examples"), inherited.get("PYTHONPATH", "")]
    done = subprocess.run(
        words,
        cwd=folder,
        env={
            **inherited,
            "COLUMNS": "80",
            "PYTHONIOENCODING": "utf-8",
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PATH": os.pathsep.join([str(folder / "bin"), inherited.get("PATH", "")]),
            **environment,
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def session(commands: list[str], folder: Path) -> list[str]:
    """What each of these commands prints in one shell."""
    if not commands:
        return []
    mark = f"mark() {{ set -- $?; printf '{MARK}%d{MARK}' $1; return $1; }}\n"
    shell = output_of(["bash", "-c", mark + "".join(f"{command}\nmark\n" for command in commands) + "true"], folder)
    printed, statuses = shell.split(MARK)[:-1:2], shell.split(MARK)[1::2]
    for command, output, status, next_command in zip(commands, printed, statuses, [*commands[1:], ""], strict=True):
        assert status == "0" or next_command == "echo $?", f"{command}: exit status {status}\n{output}"
    return printed


def program(blocks: list[str], folder: Path) -> list[str]:
    """What each of these blocks of one program prints."""
    if not blocks:
        return []
    file = folder / "program.py"
    file.write_text("".join(f"{block}print({MARK!r}, end='', flush=True)\n" for block in blocks), encoding="utf-8")
    return output_of([*shlex.split(warm.starter()), str(file)], folder).split(MARK)[:-1]


def pictures(page: Path) -> Iterable[tuple[Path, str]]:
    """The pictures of a page that commands draw, and these."""
    for command, name in PICTURE.findall(page.read_text(encoding="utf-8")):
        yield page.parent / name, command


def coloured(command: str, folder: Path) -> Text:
    """A terminal's text: a command and what it prints."""
    prepare(folder)
    printed = output_of(["bash", "-c", command], folder, FORCE_COLOR="1", TERM="xterm")
    return Text.assemble(("$ ", "bold green"), (command, "bold"), "\n", Text.from_ansi(printed))


def drawn(terminal: Text) -> str:
    """The picture of a terminal, as SVG."""
    console = Console(record=True, width=80, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(terminal)
    return console.export_svg(theme=THEME, code_format=SVG, unique_id="terminal")


def letters(svg: str) -> str:
    """All that is written in a picture of a terminal, less blanks; how it is cut into pieces is rich's choice."""
    pieces = [
        (float(piece.get("y", 0)), float(piece.get("x", 0)), piece.text or "")
        for piece in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
        if not piece.get("class", "").endswith("-title")
    ]
    return "".join("".join(text for _, _, text in sorted(pieces)).split())
