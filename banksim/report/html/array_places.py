"""Where the shared arrays of a pattern or of a kernel lie, as far as that can be known for sure.

A cubin does not name them. Of a kernel's source the lengths are read; they count only if they come to exactly the bytes
that the kernel has, and of several arrays only if what their lines access leaves one order.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING

from banksim.advise.kernels.cuda_source import cuda_arrays
from banksim.advise.kernels.numba_source import NumbaReader
from banksim.advise.kernels.source import SourceArray
from banksim.advise.patterns.advice import shared_arrays
from banksim.errors import BanksimError
from banksim.report.html.elements import NONE, Elements, ElementsByLine, Placed
from banksim.requests.copies import destinations
from banksim.system.source_files import is_library, source_lines

if TYPE_CHECKING:
    from banksim.banks.conflicts import Conflicts
    from banksim.kernels.kernel import Kernel
    from banksim.patterns.build import Pattern
    from banksim.requests.trace import Trace
    from banksim.runs.programs.launches import Launches

MOST = 4
"""So many arrays at most are put in order."""
CONSTANT = re.compile(
    r"^\s*(?:#\s*define\s+(\w+)\s+\(?|(?:static\s+|inline\s+|__device__\s+)*(?:const|constexpr)\s+(?:static\s+)?"
    r"(?:unsigned\s+)?(?:int|unsigned|size_t)\s+(\w+)\s*=\s*)(\d+)\)?\s*(?:;|$|//)",
    re.MULTILINE,
)
LENGTH = re.compile(r"[\w\s+*()-]+")


def of_pattern(pattern: Pattern, trace: Trace) -> Elements:
    """The arrays that a pattern declares."""
    arrays = shared_arrays(pattern, trace)
    return Elements(tuple(Placed(a.name, a.base, a.lengths, a.element.size) for a in arrays), pattern.python)


def of_launches(launches: Launches) -> ElementsByLine:
    """The arrays of a program's kernels, by the lines that access them; not of lines on which kernels differ."""
    found: dict[tuple[str, int], set[Elements]] = {}
    for one in launches.kernels:
        elements = of_kernel(one.kernel, one.judged[0]) if one.kernel else NONE
        for site in one.judged[0].sites:
            if site.site.file and site.site.line:
                found.setdefault((site.site.file, site.site.line), set()).add(elements)
    return ElementsByLine({line: next(iter(alike)) for line, alike in found.items() if len(alike) == 1})


def of_kernel(kernel: Kernel, conflicts: Conflicts) -> Elements:
    """The arrays of a kernel whose source can be read, by what its requests access."""
    sites = [instruction.site for instruction in kernel.listing]
    files = dict.fromkeys(site.file for site in sites if site.file and not is_library(site.file, site.file))
    found = (of_source(file, source_lines(file), kernel, conflicts) for file in files)
    return next(filter(None, found), NONE)


def of_source(file: str, lines: Sequence[str], kernel: Kernel, conflicts: Conflicts) -> Elements | None:
    """The arrays of a kernel by the lines of one file; None if it declares none of them."""
    name = kernel.plain_name.partition("<")[0].rpartition("::")[2]
    pythonic = file.endswith(".py")
    text = "\n".join(lines)
    try:
        declared = list(python_arrays(text, name) if pythonic else cuda_arrays(text.encode(), name))
    except (BanksimError, SyntaxError, ValueError, RecursionError):
        return None
    return Elements(tuple(placed(declared, constants(text), kernel, conflicts)), pythonic) if declared else None


def python_arrays(text: str, name: str) -> Iterator[SourceArray]:
    """The shared arrays of the only function of this name."""
    tree = ast.parse(text)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name]
    if len(found) == 1:
        yield from NumbaReader(text.encode(), found[0], module_numbers(tree)).arrays()


def module_numbers(tree: ast.Module) -> dict[str, object]:
    """The names that a module gives to whole numbers, once each."""
    found: dict[str, object] = {}
    again = set()
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else ()
        for target in targets:
            if isinstance(target, ast.Name):
                again |= {target.id} & found.keys()
                value = node.value.value if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) else 0
                found[target.id] = value
    return {name: value for name, value in found.items() if value and isinstance(value, int) and name not in again}


def constants(text: str) -> dict[str, int]:
    """The names that a C++ source gives to whole numbers."""
    return {defined or constant: int(value) for defined, constant, value in CONSTANT.findall(text)}


def placed(
    declared: Sequence[SourceArray], names: Mapping[str, int], kernel: Kernel, conflicts: Conflicts
) -> list[Placed]:
    """The arrays at their places; none where these are not known."""
    static = kernel.shared_bytes - kernel.shared_base
    arrays = []
    for one in declared:
        lengths = [length.value if length.value is not None else valued(length.text, names) for length in one.lengths]
        if one.size is None or None in lengths or not all(lengths):
            return []
        arrays.append(Placed(one.name, 0, tuple(n for n in lengths if n), one.size))
    if len(arrays) == 1 and not arrays[0].lengths:
        return arrays if not static else []
    if len(arrays) > MOST or not all(one.lengths for one in arrays):
        return []
    orders = [found for order in permutations(arrays) if (found := laid_out(order))[-1].end == static]
    fitting = [order for order in orders if len(arrays) == 1 or fits(order, conflicts)]
    return fitting[0] if len(fitting) == 1 else []


def valued(text: str, names: Mapping[str, int]) -> int | None:
    """The value of a length that is made of numbers and known names; None if it is of anything else."""
    known = re.sub(r"[A-Za-z_]\w*", lambda match: str(names.get(match[0], "?")), text)
    if not LENGTH.fullmatch(known):
        return None
    try:
        found = eval(compile(ast.parse(known.strip(), mode="eval"), "length", "eval"), {"__builtins__": {}})
    except (SyntaxError, ValueError, TypeError):
        return None
    return found if isinstance(found, int) and 0 < found < 1 << 20 else None


def laid_out(order: Sequence[Placed]) -> list[Placed]:
    """Arrays one behind the other, each where its elements are aligned."""
    out: list[Placed] = []
    for one in order:
        after = int(out[-1].end) if out else 0
        out.append(Placed(one.name, -(-after // one.size) * one.size, one.lengths, one.size))
    return out


def fits(order: Sequence[Placed], conflicts: Conflicts) -> bool:
    """Whether every line that names one array alone accesses that array, and each array has such a line."""
    words = {one.name: re.compile(rf"\b{re.escape(one.name)}\b") for one in order}
    seen = set()
    for site in conflicts.sites:
        named = [one for one in order if words[one.name].search(site.text)]
        if len(named) == 1 and site.worst is not None:
            [array] = named
            addresses = destinations(site.worst.op, site.worst.address)
            active = [address for lane, address in enumerate(addresses) if site.worst.mask >> lane & 1]
            if not all(array.base <= address < array.end for address in active):
                return False
            seen.add(array.name)
    return len(seen) == len(order)
