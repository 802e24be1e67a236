"""Templates made into pages, with the style and the script inside: one file that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
MARK = "\ufdd0"
"""Stands for the name of a page until its content is known; no text holds this character."""
ALL_AT_ONCE = 3
"""So many architectures stand side by side at first; of more only the first."""


def first_shown(archs: Sequence[str]) -> str | int:
    """Which columns a page shows at first: `all`, or the number of an architecture."""
    return "all" if 1 < len(archs) <= ALL_AT_ONCE else 0


def page(template: str, **values: object) -> str:
    """A template of this folder with these values as a whole page, all text in them escaped."""
    return environment().get_template("page.html.j2").render(values, title=values["title"], body=part(template, values))


def fragment(template: str, **values: object) -> str:
    """The same as a part of another page, a notebook's: its style holds for nothing but itself."""
    return environment().get_template("fragment.html.j2").render(body=part(template, values))


def part(template: str, values: Mapping[str, object]) -> Markup:
    """The body of a page. Its names hold `own`, which no other page has, since a notebook shows several."""
    text = environment().get_template(template).render(values, own=MARK)
    own = "b" + sha256(text.encode(errors="backslashreplace")).hexdigest()[:8]
    return Markup(text.replace(MARK, own))


@cache
def environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.tests["table"] = is_table
    made.filters["in_css"] = in_css
    for name in ("style.css", "script.js"):
        made.globals[name.replace(".", "_")] = Markup((TEMPLATES / name).read_text(encoding="utf-8"))
    return made


def in_css(text: str) -> Markup:
    """A text for between quotes in a style sheet."""
    return Markup(re.sub(r"[^\w .-]", lambda one: f"\\{ord(one[0]):x} ", text, flags=re.ASCII))


def is_table(rows: object) -> bool:
    """Whether plain data is a table: rows of the same names, with nothing in their cells that has parts."""
    if not isinstance(rows, list | tuple) or not rows or not all(isinstance(row, Mapping) for row in rows):
        return False
    cells = [cell for row in rows for cell in row.values()]
    return all(list(row) == list(rows[0]) for row in rows) and not any(
        isinstance(cell, Mapping | list | tuple) for cell in cells
    )
