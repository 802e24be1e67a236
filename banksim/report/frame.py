"""The figures as a frame: columns by their names, for pandas and for all that reads Arrow."""

from collections.abc import Iterator, Sequence
from typing import Any

from banksim.banks.conflicts import Conflicts, SiteConflicts
from banksim.banks.source_lines import by_line
from banksim.errors import InputError
from banksim.requests.counts import ends
from banksim.runs.outcome import Executed, Run

TEXTS = ("arch", "file", "text", "sass", "op", "status")
"""Columns of texts; all others are whole numbers, but `per_request`."""
PLACES = ("arch", "file", "line", "text")
FIGURES = ("op", "width", "requests", "transactions", "transactions_low", "ideal", "excess", "per_request", "degree",
           "status")  # fmt: skip
COLUMNS = {
    "line": (*PLACES, *FIGURES),
    "instruction": ("arch", "offset", "sass", *PLACES[1:], "warps", "threads", "predicated_on", *FIGURES),
}
"""The columns of a frame, by what its rows are."""

Row = dict[str, Any]


def of_kinds(by: str, text: Any, real: Any, whole: Any) -> dict[str, Any]:
    """Each column with `text`, `real` or `whole`, by the kind of its values."""
    return {name: text if name in TEXTS else real if name == "per_request" else whole for name in COLUMNS[by]}


def rows(of: Run | Conflicts, by: str) -> list[Row]:
    """The rows of a frame: a value or None for each column."""
    if by not in COLUMNS:
        raise InputError(f"by={by!r}: choose line or instruction")
    judged = [of] if isinstance(of, Conflicts) else of.judged
    found: list[Row] = []
    for conflicts in judged:
        if by == "line":
            found += (row_of(conflicts, site) for site in by_line(conflicts).sites)
        else:
            profile = of.execution(conflicts).profile if isinstance(of, Run) else ()
            found += of_instructions(conflicts, profile)
    return [{name: row.get(name) for name in COLUMNS[by]} for row in found]


def row_of(conflicts: Conflicts, site: SiteConflicts) -> Row:
    counts = ends(site.transactions) if site.transactions is not None else None
    as_they_are = ("offset", "file", "line", "op", "width", "requests", "ideal", "status")
    return {
        **{name: getattr(site, name) for name in as_they_are},
        "arch": conflicts.arch.name,
        "sass": site.opcode,
        "text": site.text.strip(),
        "transactions": counts and counts.high,
        "transactions_low": counts and counts.low,
        "excess": None if site.excess is None else ends(site.excess).high,
        "per_request": counts and site.requests and counts.high / site.requests,
        "degree": None if site.degree is None else ends(site.degree).high,
    }


def of_instructions(conflicts: Conflicts, profile: Sequence[Executed]) -> Iterator[Row]:
    """Every instruction that was executed, with what its accesses cost if it makes some."""
    sites: dict[int | None, list[SiteConflicts]] = {}
    for site in conflicts.sites:
        sites.setdefault(site.offset, []).append(site)
    if not profile:
        yield from (row_of(conflicts, site) for site in conflicts.sites)
    for executed in profile:
        if executed.warps:
            code = executed.instruction
            place = {"file": code.site.file, "line": code.site.line, "text": code.site.text.strip()}
            counted = {name: getattr(executed, name) for name in ("warps", "threads", "predicated_on")}
            known = {"arch": conflicts.arch.name, "offset": code.pc, "sass": code.text, **place, **counted}
            accesses = sites.get(code.pc, [])
            yield from ({**row_of(conflicts, one), **known} for one in accesses)
            if not accesses:
                yield known


def to_pandas(of: Run | Conflicts, by: str) -> Any:
    """A DataFrame with columns of pandas' own types, which know missing values."""
    try:
        import pandas
    except ImportError:
        raise InputError("to_pandas: pandas is not installed: pip install pandas") from None
    found = rows(of, by)
    kinds = of_kinds(by, "string", "Float64", "Int64")
    return pandas.DataFrame(
        {name: pandas.array([row[name] for row in found], dtype=kind) for name, kind in kinds.items()}
    )


def arrow_stream(of: Run | Conflicts, requested_schema: object) -> object:
    """The frame by line, as the Arrow PyCapsule interface hands it on."""
    try:
        import pyarrow
    except ImportError:
        raise InputError("Arrow streams need pyarrow: pip install pyarrow") from None
    found = rows(of, "line")
    kinds = of_kinds("line", pyarrow.string(), pyarrow.float64(), pyarrow.int64())
    columns = {name: pyarrow.array([row[name] for row in found], kind) for name, kind in kinds.items()}
    return pyarrow.table(columns).__arrow_c_stream__(requested_schema)
