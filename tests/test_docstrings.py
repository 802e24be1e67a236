"""What docstrings and comments refer to exists: files that were moved leave no old name behind."""

import functools
import io
import re
import tokenize
from pathlib import Path

import pytest

from helpers.places import ROOT

FILES = sorted([*ROOT.glob("banksim/**/*.py"), *ROOT.glob("cuda_kernels/**/*.py")])
EXAMPLES = {"file.py", "reduce.py", "my_program.py", "program.py", "other.py", "transpose.py"}
"""Files of users, in examples."""
KNOWN = {path.relative_to(ROOT).as_posix() for path in [*FILES, *ROOT.glob("tests/**/*.py")]}
PAGES_ELSEWHERE = {"Encodings.md", "lz4_Block_format.md"}
"""Specifications of formats that other projects publish."""
NO_MODULES = {"banksim.schema", "banksim.launches", "banksim.sites", "banksim.toml"}
"""Names in the metadata of a Parquet file, and a project's file."""


@functools.cache
def prose(path: Path) -> str:
    """The comments and the texts in triple quotes of a file."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    return "\n".join(
        one.string
        for one in tokens
        if one.type == tokenize.COMMENT or (one.type == tokenize.STRING and one.string.lstrip("r").startswith('"""'))
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_that_are_named_exist(path: Path) -> None:
    named = re.findall(r"[\w./]*\w\.py\b", prose(path))
    missing = [name for name in named if name not in EXAMPLES and not any(f"/{k}".endswith(f"/{name}") for k in KNOWN)]
    assert not missing


def test_pages_that_are_named_exist() -> None:
    pages = {f"/{path.relative_to(ROOT).as_posix()}" for path in ROOT.rglob("*.md")}
    for path in [*FILES, *ROOT.glob("tests/**/*.py")]:
        named = re.findall(r"[\w./-]*[\w-]\.md\b", prose(path))
        missing = {name for name in named if not any(page.endswith(f"/{name}") for page in pages)}
        assert missing <= PAGES_ELSEWHERE, path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_names_in_modules_exist(path: Path) -> None:
    """`banksim.banks.rule.judge`: the module is there, and has the name."""
    for name in {*re.findall(r"\bbanksim(?:\.\w+)+", prose(path))} - NO_MODULES:
        parts = name.split(".")
        at = next(
            n
            for n in range(len(parts), 0, -1)
            if (ROOT.joinpath(*parts[:n]).with_suffix(".py")).is_file()
            or ROOT.joinpath(*parts[:n], "__init__.py").is_file()
        )
        file = ROOT.joinpath(*parts[:at])
        source = (file / "__init__.py" if file.is_dir() else file.with_suffix(".py")).read_text(encoding="utf-8")
        rest = parts[at:]
        assert not rest or re.search(rf"\b{rest[0]}\b", source), name
