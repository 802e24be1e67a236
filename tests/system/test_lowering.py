"""LLVM code that banksim writes for its loops itself: it does what Python does, in few instructions."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core import config
from numba.core.codegen import CPUCodeLibrary

from banksim.requests.lane_intrinsics import equal_or_least, pointer
from banksim.system.jit import carray, inner, outer

pytestmark = pytest.mark.usefixtures("compiled_anew")
TABLE = np.arange(12).reshape(3, 4)
SOME = (4, 9)
SMALL = np.array([7, 50, 3], np.uint8)


def elements(n: Any, table: Any, small: Any) -> Any:
    """Indices from both ends (from the last one only where the source says so), of one and two dimensions; rows."""
    table[n, -1] += table[-2, n] - small[-1]
    table[1][n] = table[-3, n]
    small[n] += small[1]
    row = table[n]
    row[:] = len(table) + table.shape[1] + row.size
    return table[0, 0] + table[-1][-1] + small[n]


def ranges(n: Any, table: Any, small: Any) -> Any:
    """Up and down, in steps, empty ones; what a loop carries on and what only some way assigns."""
    total, last = 0, -1
    for i in range(n):
        for j in range(i, n + 3, 2):
            if j == 2:
                continue
            total += 100 * i + j
            last = j
        else:
            total += 1
    for i in range(n, -3, -1):
        total = 3 * total + i
        if total > 10**6:
            break
    for _ in range(5, n):
        last = 1000
    while n < 6:
        before = last
        last, n = n, n + 2
        total += before
    return total + last


def members(n: Any, table: Any, small: Any) -> Any:
    found = 0
    for row in table:
        for one in row[::-1]:
            if one in (0, 3, n) or small[0] not in (7, n) or (one not in SOME and one in (4, 10)):
                found = 2 * found + one
    return found


@inner
def from_three(n: Any) -> Any:
    return range(3, n + 5)


def ranges_of_others(n: Any, table: Any, small: Any) -> Any:
    """A range that another function makes, of an argument that is no end of it."""
    total = 0
    for i in from_three(n):
        total = 10 * total + i
    return total


@pytest.mark.parametrize("work", [elements, ranges, ranges_of_others, members])
def test_loops_do_what_python_does(work: Callable[[Any, Any, Any], Any]) -> None:
    compiled = outer(work)
    for n in (0, 1, 2):
        ours, numbas = (TABLE.copy(), SMALL.copy()), (TABLE.copy(), SMALL.copy())
        assert compiled(n, *numbas) == work(n, *ours)
        assert all((mine == theirs).all() for mine, theirs in zip(ours, numbas, strict=True))


@inner
def change(place: Any, n: Any) -> None:
    """A function that returns nothing."""
    carray(pointer(place), (n, 4), np.int64)[n - 1, 4 - n] = 5


def changed(place: Any, n: Any) -> Any:
    change(place, n)
    return carray(pointer(place), 12, np.int64)[4 * n - n] + carray(pointer(place), (12,), np.int64)[0]


def test_arrays_at_an_address_have_the_lengths_that_they_are_given() -> None:
    compiled = outer(changed)
    for n in (1, 2, 3):
        table = TABLE.copy()
        assert compiled(table.ctypes.data, n) == 5 + table[0, 0]
        assert (table == 5).sum() - (TABLE == 5).sum() == (3 * n != 5)


def test_arrays_of_records_have_columns_and_arrays_without_dimensions_an_element() -> None:
    def work(records: Any, single: Any, n: Any) -> Any:
        records["few"][n] += single[()]
        single[()] = records[n]["few"]
        return records["many"][-1]

    records = np.array([(1, 10), (2, 20)], [("few", "u1"), ("many", "i8")])
    single = np.array(7)
    assert outer(work)(records, single, 1) == 20
    assert (records["few"].tolist(), int(single)) == ([1, 9], 9)


def test_where_a_word_is_or_which_other_is_least() -> None:
    found = equal_or_least(4)

    def work(records: Any, value: Any) -> Any:
        return found(records[1], value)

    compiled = outer(work)
    records = np.zeros(2, [("first", "i8", 4), ("second", "i8", 4)])
    records["first"], records["second"] = (5, -3, 7, 1 << 40), (9, 6, 1 << 50, 6)
    assert [compiled(records, value) for value in (5, -3, 7, 1 << 40, 8)] == [-4, -3, -2, -1, 6]


def test_an_element_takes_few_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of numba's own some 60: what an array consists of goes to the stack and back."""
    written: dict[str, int] = {}

    def counted(library: Any, module: Any, given: Any = CPUCodeLibrary.add_ir_module) -> None:
        written.setdefault(library.name, str(module).count(" = "))
        given(library, module)

    monkeypatch.setattr(CPUCodeLibrary, "add_ir_module", counted)

    def one_more(table: Any, n: Any) -> Any:
        table[n, n] += table[n, 1]
        return 0

    assert outer(one_more)(TABLE.copy(), 2) == 0
    assert 10 < written[one_more.__qualname__] < 45


def test_an_index_outside_of_its_array_ends_the_process_where_numba_is_told_to_check(tmp_path: Path) -> None:
    """Computed ones below 0 too, which do not count from the end."""
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np\nfrom banksim.system.jit import outer\n"
        "@outer\ndef before_last(n, table):\n    return table[n - 2]\n"
        "print(before_last(5, np.arange(4)), flush=True)\nbefore_last(1, np.arange(4))\nprint('on')\n"
    )
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["3", f"{program}:5: index -1 of 4"], done.stderr
    assert done.returncode < 0


def test_numbas_debugging_leaves_loops_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """NUMBA_DEBUGINFO=1 is for a program's own functions: loops would raise exceptions that nobody catches."""
    monkeypatch.setattr(config, "DEBUGINFO_DEFAULT", 1)

    @outer
    def first(table: Any) -> Any:
        row = table[0]
        return row[0]

    assert first(np.ones((1, 1))[:0]) == 1
