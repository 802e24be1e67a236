"""The lines of a report with the transactions that Nsight Compute's source page has for their instructions."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from banksim.banks.comparison import Line, lines_of
from banksim.errors import InputError
from banksim.kernels import demangling
from banksim.runs.validation.comparison import not_told
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


Site = Mapping[str, Any]
"""An instruction as a report in JSON has it."""


@dataclass
class NotCompared:
    """Instructions of which the page has no count that could be compared: how many `remote` accesses to other blocks'
    memory there are, those with accesses of `unknown` cost, and `wide` loads whose merging of pairs the page does not
    know."""

    remote: int = 0
    unknown: int = 0
    wide: int = 0

    def holds(self, site: Site, count: int, unknown: Set[int]) -> bool:
        """Whether an instruction with such a count on the page is one of these; then it is counted here, but for
        those in `unknown`."""
        why = reason(site)
        if site["offset"] in unknown:
            return True
        if why == "wide" and count == site["transactions"]:
            return False
        self.remote += why == "remote"
        self.wide += why == "wide"
        return bool(why)


def reason(site: Site) -> str:
    return not_told(site["op"], site["width"], site["transactions"])


Lines = dict[str, list[Line]]
"""Lines by architecture."""


def measured_lines(report: str, path: str, page: str, page_path: str) -> tuple[Lines, Lines, NotCompared]:
    """The report's lines as they were predicted and as they were measured, without the instructions that cannot be
    compared. InputError for what is no report, no page, or not of the same kernels."""
    left = NotCompared()
    try:
        found = json.loads(report)
        kernels = found.get("kernels") or [{"kernel": found["kernel"], "conflicts": found["conflicts"]}]
        before, after = defaultdict[str, list[Site]](list), defaultdict[str, list[Site]](list)
        launched = transactions(page, page_path, int(found.get("launches", 1)))
        names = [kernel["kernel"] for kernel in kernels]
        for kernel in kernels:
            measured = of_kernel(kernel["kernel"], names, launched, page_path)
            for conflicts in kernel["conflicts"]:
                arch, known = conflicts["arch"], conflicts["sites"]
                unknown = unknown_costs(known)
                left.unknown += len(unknown)
                compared = [site for site in known if not left.holds(site, measured[site["offset"]], unknown)]
                before[arch] += compared
                after[arch] += [with_count(site, measured[site["offset"]]) for site in compared]
                after[arch] += unknown_to_report({site["offset"] for site in known}, measured)
        sides = [{arch: lines_of(sites) for arch, sites in side.items()} for side in (before, after)]
        return sides[0], sides[1], left
    except InputError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        what = "give what banksim run or banksim kernel prints with --json"
        raise InputError(f"{path}: no report of kernels to compare with a source page: {what}") from None


def transactions(page: str, path: str, launches: int) -> dict[str, Counter[int]]:
    """Of each kernel, by its name on the page, the transactions of each instruction, of all launches together."""
    try:
        profiled = read(page, launches=launches)
    except Unavailable as error:
        raise InputError(f"{path}: {error}") from None
    found: dict[str, Counter[int]] = {}
    for launch in profiled:
        counted = found.setdefault(launch.symbol, Counter())
        counted.update({row.offset: row.transactions for row in launch.rows if row.transactions})
    return found


def of_kernel(name: str, names: Sequence[str], launched: Mapping[str, Counter[int]], path: str) -> Counter[int]:
    """The transactions of one of a report's kernels. The page may name kernels as ncu's --print-kernel-base says:
    mangled, in C++, or without template arguments. InputError where it has none, or does not tell which."""
    alike = [symbol for symbol in launched if demangling.last_part(symbol) == demangling.last_part(name)]
    same = [symbol for symbol in alike if instance(symbol) == instance(name)]
    bare = [symbol for symbol in alike if "<" not in demangling.plain_name(symbol)]
    if not same and not bare:
        raise InputError(
            f"{path}: no launch of {name}: it has {', '.join(map(demangling.plain_name, launched)) or 'none'}"
        )
    key = instance if same else demangling.last_part
    rivals = [one for one in names if key(one) == key(name)]
    if len(rivals) > 1:
        raise InputError(
            f"{path}: which launches are of {' and which of '.join(dict.fromkeys(rivals))} is not told: "
            "export it with --print-kernel-base mangled"
        )
    return sum((launched[symbol] for symbol in same or bare), Counter())


def instance(symbol: str) -> str:
    """A name with template arguments, to compare by: ncu writes `copy<(int)32, (bool)1>` for `copy<32, true>`."""
    name = re.sub(r"\(bool\)([01])", lambda match: ("false", "true")[int(match[1])], demangling.unqualified(symbol))
    return demangling.normalised(re.sub(r"\([a-z ]+\)(?=-?\d)", "", name))


def unknown_costs(sites: Iterable[Site]) -> set[int]:
    """The offsets of instructions with accesses of unknown cost. Others of the same instruction may be known, as those
    of a copy that reads one run of bytes in most warps; the page has one count for all."""
    return {site["offset"] for site in sites if reason(site) == "unknown"}


def with_count(site: Site, count: int) -> Site:
    return {**site, "transactions": count, "excess": count - site["ideal"]}


def unknown_to_report(offsets: Set[int], measured: Counter[int]) -> Iterator[Site]:
    """What the page has at instructions that access no shared memory in the report."""
    for offset, count in measured.items():
        if offset not in offsets:
            text = f"SASS {offset:#06x}, which the report has not"
            yield {"file": None, "line": None, "text": text, "function": "", "transactions": count, "excess": count}
