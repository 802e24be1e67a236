"""One module for each way to show what was found; `text` for scripts and notebooks.

text/            for people at a terminal
html/            pages
svg.py           the picture of a layout
plots.py         plots as SVG
json.py          plain data
github.py        annotations of a pull request
sarif.py         for code scanning
junit.py         for servers of continuous integration
annotations.py   what these share
frame.py         columns, for pandas and Arrow
notebook.py      what notebooks show
rules.py         the rules of findings, and their pages
"""

from collections.abc import Iterable

import banksim.report.text  # noqa: F401  (here, so that the folder of this name does not replace the function later)
from banksim.banks.conflicts import Conflicts


def text(judged: Conflicts | Iterable[Conflicts], *, width: int = 100, pictures: str = "worst") -> str:
    """The report of `banksim pattern` as plain text, at most `width` columns wide.

    `judged`: what `banksim.replay` found, by one architecture or, for the same trace, by several. `pictures`:
    "worst" draws the worst request if it has a conflict, "all" that of every site, "none" nothing.
    """
    from banksim.report.text.pattern import report

    several = [judged] if isinstance(judged, Conflicts) else list(judged)
    return report(several, [site.text for site in several[0].sites], width, pictures).plain
