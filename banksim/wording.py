"""Numbers and lists as a reader wants them: `1,024`, `4–16`, `unknown`, `0–15, 31`, `a, b and c`."""

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from banksim.requests.counts import Count, Range, ends
from banksim.requests.trace import Site
from banksim.system.notebooks import CELL, LIVE


def place(site: Site) -> str:
    """`transpose.py:12`, relative to the current folder for a file in it."""
    return in_file(site.file, site.line) if site.line else f"SASS {site.offset or 0:#06x}"


def in_file(file: str | None, lines: object) -> str:
    """`transpose.py:12`; in a notebook `transpose.ipynb, cell 3, line 12`."""
    is_cell = CELL.fullmatch(file or "") or LIVE.fullmatch(file or "")
    return f"{shown(file)}{', line ' if is_cell else ':'}{lines}"


def shown(file: str | None) -> str:
    if live := LIVE.fullmatch(file or ""):
        return f"cell {live['number']}" if live["number"] else "cell"
    path = Path(file or "?")
    try:
        return str(path.relative_to(os.getcwd()))
    except ValueError:
        return path.name if path.is_absolute() else str(path)


def number(count: Count | None) -> str:
    """A count with thousands apart, a range with both its ends, or `unknown`."""
    return "unknown" if count is None else joined([f"{end:,}" for end in ends(count)])


def ways(degree: Count | None) -> str:
    """The degree of a conflict: `32-way`, `4–16-way`, or `none`."""
    if degree is None:
        return "unknown"
    return "none" if ends(degree).high <= 1 else f"{number(degree)}-way"


def mean(value: float | Range[float] | None) -> str:
    """A mean with two decimals, `1.00–16.00` where it is a range."""
    if value is None:
        return "unknown"
    return joined([f"{end:,.2f}" for end in (value if isinstance(value, Range) else (value,))])


def joined(texts: Sequence[str]) -> str:
    """Both ends of a range, or one if they are alike."""
    return "–".join(dict.fromkeys(texts))


def unchosen(launched: Iterable[str]) -> str:
    """Why a gate says nothing of a program: the choice of launches took none of the kernels that it launched."""
    return f"no launch was chosen, so nothing was checked: launched were {listed([*launched])}"


def plural(count: int, noun: str, which: str = "") -> str:
    """`1 bank`, `1,024 accesses`, `2 launches`, `2 copies`; with `which`: `bank 7`, `banks 0–3`."""
    several = (
        f"{noun[:-1]}ies" if noun.endswith(("ry", "py")) else f"{noun}{'es' if noun.endswith(('s', 'ch')) else 's'}"
    )
    word = noun if count == 1 else several
    return f"{word} {which}" if which else f"{count:,} {word}"


def takes(names: Collection[str], given: int) -> str:
    """Says which arguments a kernel takes, where another number of them was given."""
    return f"takes {plural(len(names), 'argument')} ({', '.join(names)}), {given} were given"


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def runs(numbers: Iterable[int]) -> str:
    """Sorted numbers with neighbours drawn together: `0–15, 31`."""
    spans: list[list[int]] = []
    for n in sorted(numbers):
        if spans and n == spans[-1][1] + 1:
            spans[-1][1] = n
        else:
            spans.append([n, n])
    return ", ".join(str(low) if low == high else f"{low}–{high}" for low, high in spans)
