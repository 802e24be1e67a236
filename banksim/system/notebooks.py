"""Notebooks of Jupyter: their code cells, each a source by itself, which is named by its file and its number."""

import json
import linecache
import re
from dataclasses import dataclass
from pathlib import Path

from banksim.errors import InputError

CELL = re.compile(r"(?P<file>.*\.ipynb), cell (?P<number>\d+)", re.DOTALL)
"""The name of a cell's source: the code cells of a notebook are counted from 1, as they are executed."""

LIVE = re.compile(r"(?:.*/)?(?P<known><ipython-input-(?P<number>\d+)-\w+>)|.*/ipykernel_\d+/\d+\.py", re.DOTALL)
"""The name of the source of a cell that is being worked on, in IPython or in Jupyter."""


@dataclass(frozen=True)
class Cell:
    name: str
    source: str


def cells(path: str, content: bytes) -> list[Cell]:
    """The code cells of a notebook. InputError for what is none, or none of Python."""
    try:
        notebook = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no notebook: {error}") from None
    found = notebook.get("cells") if isinstance(notebook, dict) else None
    if found is None and isinstance(notebook, dict) and isinstance(notebook.get("worksheets"), list):  # nbformat 3
        found = [cell for sheet in notebook["worksheets"] for cell in sheet.get("cells", ())]
    if not isinstance(found, list) or not all(isinstance(cell, dict) for cell in found):
        raise InputError(f"{path} is no notebook: it has no cells")
    spoken = language(notebook)
    if spoken and not spoken.lower().startswith(("python", "ipython")):
        raise InputError(f"{path} is a notebook of {spoken}: banksim run executes those of Python")
    sources = [text_of(cell) for cell in found if cell.get("cell_type") == "code"]
    return [Cell(f"{path}, cell {number}", text) for number, text in enumerate(sources, 1)]


def language(notebook: dict[str, object]) -> str:
    metadata = notebook.get("metadata")
    parts = [metadata.get(name) for name in ("language_info", "kernelspec")] if isinstance(metadata, dict) else []
    named = [part.get(word) for part, word in zip(parts, ("name", "language"), strict=False) if isinstance(part, dict)]
    return next((name for name in named if isinstance(name, str)), "")


def text_of(cell: dict[str, object]) -> str:
    source = cell.get("source", cell.get("input", ""))
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


def lines_of(name: str) -> tuple[str, ...]:
    """The lines of the cell of this name; () where there is none to be read."""
    if live := LIVE.fullmatch(name):  # Python keeps the text for its tracebacks
        text = "".join(linecache.getlines(live["known"] or name))
        return tuple(text.removesuffix("\n").split("\n")) if text else ()
    match = CELL.fullmatch(name)
    if match is None:
        return ()
    try:
        known = cells(match["file"], Path(match["file"]).read_bytes())
    except (OSError, InputError):
        return ()
    number = int(match["number"])
    return tuple(known[number - 1].source.split("\n")) if 0 < number <= len(known) else ()
