"""README.md and the pages under examples say what is so: helpers/pages.py tells what of them is run, and how."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from banksim.__main__ import parser_of
from helpers import goldens, pages
from helpers.places import EXAMPLES, ROOT

README = ROOT / "README.md"
PAGES = [README, *sorted(EXAMPLES.rglob("*.md"))]
RUNNING = [
    page for page in PAGES if re.search(r"^```(console|python)$", page.read_text(encoding="utf-8"), re.MULTILINE)
]
PICTURES = [(page, *drawn) for page in PAGES for drawn in pages.pictures(page)]
SHOWN = re.compile(r"^```(?:sh|yaml)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", RUNNING, ids=name)
def test_a_page_shows_what_its_commands_print(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    now = pages.printed_now(text, tmp_path)
    if goldens.rewriting:
        page.write_text(now, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == now


@pytest.mark.parametrize(("page", "picture", "command"), PICTURES, ids=[name(picture) for _, picture, _ in PICTURES])
def test_a_picture_shows_what_its_command_prints(page: Path, picture: Path, command: str, tmp_path: Path) -> None:
    terminal = pages.coloured(command, tmp_path)
    if goldens.rewriting:
        picture.write_text(pages.drawn(terminal), encoding="utf-8")
    assert pages.letters(picture.read_text(encoding="utf-8")) == "".join(terminal.plain.split())


def headings(page: Path) -> set[str]:
    """What links behind a `#` call the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_what_a_page_links_to_exists(page: Path) -> None:
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"\w+:", link):
            file, _, heading = link.partition("#")
            at = page.parent / file if file else page
            assert at.exists(), link
            assert not heading or heading in headings(at), link


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_that_are_only_shown_have_the_options_that_they_name(page: Path) -> None:
    for block in SHOWN.findall(page.read_text(encoding="utf-8")):
        for line in re.findall(r"\bbanksim [a-z].*", block.replace("\\\n", " ")):
            words = shlex.split(line, comments=True)
            options = [word.partition("=")[0] for word in words if word.startswith("--")]
            if options:
                assert set(options) <= options_of(words[1]), line


def options_of(command: str) -> set[str]:
    return set(re.findall(r"--[a-z][a-z-]*", parser_of(command)[1].format_help()))


def test_the_readme_introduces() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 180
    assert {"pattern", "advise", "kernel", "run"} <= set(re.findall(r"^(?:<!-- )?\$ banksim (\w+)", text, re.MULTILINE))


def test_the_readme_tells_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = re.findall(
        r"^\| `(\w+)` \|", README.read_text(encoding="utf-8").partition("## Three minutes")[0], re.MULTILINE
    )
    assert set(told) == set(project["optional-dependencies"])


def test_continuous_integration_runs_the_test_command_of_the_readme() -> None:
    section = README.read_text(encoding="utf-8").partition("## Tests")[2]
    command = re.search(r"```sh\n(.*)\n```", section)
    assert command is not None
    assert f"{command[1]} || exit" in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
