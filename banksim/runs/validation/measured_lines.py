"""The lines of a report with the transactions that Nsight Compute's source page has for their instructions."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from banksim.banks.comparison import Line, lines_of
from banksim.errors import InputError
from banksim.kernels import demangling
from banksim.runs.validation.profiler import Unavailable, read


def is_page(path: str) -> bool:
    """Whether a file is a source page that Nsight Compute exported."""
    if not path.endswith(".csv"):
        return False
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(4096).lstrip("\ufeff \r\n").replace('"', "").startswith("Kernel Name")
    except OSError:
        return False


def measured_lines(report: str, path: str, page: str, page_path: str) -> dict[str, list[Line]]:
    """By architecture the report's lines as they were measured. InputError for what is no report, no page, or not of
    the same kernels."""
    try:
        found = json.loads(report)
        kernels = found.get("kernels") or [{"kernel": found["kernel"], "conflicts": found["conflicts"]}]
        by_arch: dict[str, list[dict[str, Any]]] = {}
        measured = transactions(page, page_path, int(found.get("launches", 1)))
        for kernel in kernels:
            name = demangling.last_part(kernel["kernel"])
            if name not in measured:
                raise InputError(
                    f"{page_path}: no launch of {kernel['kernel']}: it has {', '.join(measured) or 'none'}"
                )
            for conflicts in kernel["conflicts"]:
                by_arch.setdefault(conflicts["arch"], []).extend(sites(conflicts["sites"], measured[name]))
        return {arch: lines_of(known) for arch, known in by_arch.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        what = "give what banksim run or banksim kernel prints with --json"
        raise InputError(f"{path}: no report of kernels to compare with a source page: {what}") from None


def transactions(page: str, path: str, launches: int) -> dict[str, Counter[int]]:
    """Of each kernel the transactions of each instruction, of all launches together."""
    try:
        profiled = read(page, launches=launches)
    except Unavailable as error:
        raise InputError(f"{path}: {error}") from None
    found: dict[str, Counter[int]] = {}
    for launch in profiled:
        of_kernel = found.setdefault(demangling.last_part(launch.symbol), Counter())
        of_kernel.update({row.offset: row.transactions for row in launch.rows if row.transactions})
    return found


def sites(known: list[Mapping[str, Any]], measured: Counter[int]) -> Iterator[dict[str, Any]]:
    """Each site with what was measured; then what the report lacks."""
    offsets = set()
    for site in known:
        offsets.add(site["offset"])
        count = measured[site["offset"]]
        ideal = site["ideal"]
        yield {**site, "transactions": count, "excess": None if ideal is None else count - ideal}
    for offset, count in measured.items():
        if offset not in offsets:
            text = f"SASS {offset:#06x}, which the report has not"
            yield {"file": None, "line": None, "text": text, "function": "", "transactions": count, "excess": count}
