"""What objects can tell of themselves: to a notebook, as text, as a page, as a frame.

The reports import the modules of these objects. So they are named here, not imported.
"""

import importlib
import os
from typing import Any


def reports(module: str) -> Any:
    """A module of the reports."""
    return importlib.import_module(f"banksim.report.{module}")


class Shown:
    """What a notebook shows as a page."""

    def _repr_html_(self) -> str:
        return str(reports("notebook").html(self))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """The page, and the short text for where there is none."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


class Reported(Shown):
    """What has conflicts by one or several architectures."""

    def report(self, *, width: int = 100, pictures: str = "worst") -> str:
        """The report that the command prints, as plain text of at most `width` columns. `pictures`: "worst" draws the
        worst request if it has a conflict, "all" that of every line, "none" nothing."""
        return str(reports("notebook").text(self, width, pictures))

    def html(self, path: str | os.PathLike[str]) -> None:
        """Write the report as a page, as `--html` does: the file is there when it is whole."""
        reports("notebook").write_page(self, path)

    def to_pandas(self, by: str = "line") -> Any:
        """The figures as a pandas DataFrame: a row for each architecture and line (of one op and width), or with
        by="instruction" for each architecture and instruction. `transactions` is the upper end where the hardware
        leaves a range, `transactions_low` the lower; what nobody knows is missing. InputError without pandas."""
        return reports("frame").to_pandas(self, by)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The frame by line for all that reads Arrow: `polars.DataFrame(run)`, `pyarrow.table(run)`, DuckDB."""
        return reports("frame").arrow_stream(self, requested_schema)
