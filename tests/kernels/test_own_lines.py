"""Where a line of a library is meant, faults and reports name the user's own line that calls it."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import banksim
from banksim.__main__ import main
from banksim.architectures.bank_rules import architecture
from banksim.banks.conflicts import Conflicts, SiteConflicts
from banksim.banks.source_lines import by_line, label
from banksim.errors import Fault
from banksim.kernels.demangling import LONGEST, readable
from banksim.kernels.line_table import Line, in_own_code
from banksim.requests.trace import Site
from banksim.system.paths import from_here
from banksim.system.source_files import is_library
from helpers.commands import out_of
from helpers.places import KERNELS

FILE, SCAN = KERNELS / "own_lines.cu", KERNELS / "own_cub.cu"


def here(mark: str, file: Path = FILE) -> int:
    """The number of the line that is marked so."""
    (found,) = [n for n, line in enumerate(file.read_text().splitlines(), 1) if line.endswith(f"// HERE{mark}")]
    return found


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("atomic", "atomic operation of 4 bytes out of bounds in shared memory"),
        ("copied", "asynchronous copy of 4 bytes out of bounds in shared memory"),
        ("matrix", "misaligned load of 16 bytes in shared memory, at byte 20"),
        ("waits", "a barrier that not all can reach"),
    ],
)
def test_faults(name: str, said: str) -> None:
    with pytest.raises(Fault) as found:
        banksim.run(banksim.load(FILE)[name], 1, 32, [np.zeros(32, np.int32)])
    assert said in str(found.value)
    assert f"at {from_here(str(FILE))}:{here(f' of {name}')} (SASS" in str(found.value)
    assert "site-packages" not in str(found.value)


def test_a_fault_names_the_place_in_the_library_too() -> None:
    line = here(" without memory", SCAN)
    with pytest.raises(Fault, match=rf"at {from_here(str(SCAN))}:{line} \(SASS .*\) \(inside \w+\.cuh:\d+\), block"):
        banksim.run(banksim.load(SCAN)["without_memory"], 1, 64, [np.zeros(64, np.int32)])


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_a_stack_that_overflows_is_called_so(engine: str) -> None:
    with pytest.raises(Fault, match="stack overflow: calls nest too deep for the 1,024 bytes of a thread's stack"):
        banksim.run(banksim.load(FILE)["nested"], 1, 32, [np.zeros(32, np.int32)], engine=engine)


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_so_is_one_that_an_index_shows(engine: str) -> None:
    """The address is no longer the stack pointer alone: the offset of an array was added to it."""
    wrong = r"store of 4 bytes \d+ bytes below the 1,024 bytes of a thread's stack: calls nest too deep, or an index"
    with pytest.raises(Fault, match=wrong):
        banksim.run(banksim.load(FILE)["nested_for_ever"], 1, 32, [np.zeros(32, np.int32)], engine=engine)


def test_a_project_with_headers() -> None:
    """What lies in its own folder `include` is the user's own line."""
    sites = banksim.run(banksim.load(FILE)["headers"], 1, 32, [np.zeros(32, np.int32)]).conflicts.sites
    header = KERNELS / "include" / "own.cuh"
    (read,) = [one.site for one in sites if one.op == "ld"]
    assert (Path(read.file or "").resolve(), read.line, read.inside) == (header, here(" of headers", header), ())


def test_sites_in_cub(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's line leads, the place in the library follows, wherever it is told."""
    monkeypatch.setenv("COLUMNS", "160")
    assert main(["kernel", f"{SCAN}:scanned", "--block", "128", "--arg", "int32[128]=arange", "--no-picture"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"own_cub.cu:{here('', SCAN)} Scan(space).InclusiveSum(n, n); // HERE" in out
    assert len(re.findall(r"\(inside block_scan_raking\.cuh:\d+\)", out)) > 1
    assert "cub::" not in out
    done = banksim.run(banksim.load(SCAN)["scanned"], 1, 128, [np.arange(128, dtype=np.int32)])
    for one in done.conflicts.sites:
        assert (one.file, one.line) == (str(SCAN), here("", SCAN))
        places = one.to_json()["inside"]
        assert places
        assert all("/cub/" in place["file"] and place["line"] > 0 for place in places)


def test_a_trace_keeps_the_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(tmp_path / "scan.parquet")
    block = ["--block", "128", "--arg", "int32[128]=arange"]
    assert main(["kernel", f"{SCAN}:scanned", *block, "--trace", trace, "--json"]) == 0
    ran = json.loads(capsys.readouterr().out)["conflicts"][0]["sites"]
    replayed = json.loads(out_of(capsys, ["replay", trace, "--json"]))["conflicts"][0]["sites"]
    assert [one["inside"] for one in replayed] == [one["inside"] for one in ran]


@pytest.mark.parametrize(
    ("file", "kernel", "library"),
    [
        ("/home/me/a.cu", "/home/me/a.cu", False),
        ("/home/me/include/a.h", "/home/me/src/a.cu", False),
        ("/home/me/include/a.cuh", "/home/me/include/a.cuh", False),
        ("/home/me/env/lib/python3.11/site-packages/warp/native/tile.h", "/home/me/a.cu", True),
        ("/env/site-packages/nvidia/cu13/bin/../include/sm_30_intrinsics.hpp", "/home/me/a.cu", True),
        ("/usr/local/cuda-13.0/targets/x86_64-linux/include/cooperative_groups.h", "/home/me/a.cu", True),
        ("/usr/include/c++/13/cmath", "/usr/src/a.cu", True),
        ("/home/me/cutlass/include/cutlass/array.h", "/home/me/src/a.cu", True),
        ("/home/me/src/third_party/cub/cub/block/block_scan.cuh", "/home/me/src/a.cu", True),
        ("C:\\libs\\include\\them.h", "C:\\me\\a.cu", True),
    ],
)
def test_what_a_library_is(file: str, kernel: str, library: bool) -> None:
    assert is_library(file, kernel) == library


def test_code_that_is_all_a_librarys_stays_where_it_is() -> None:
    line = Line("/a/site-packages/b.py", 3, (("f", "/a/site-packages/b.py", 9),))
    assert in_own_code(line) == (line, ())


def test_an_operation_that_a_library_calls_back() -> None:
    """The calls inside the library are left out of the line's."""
    library = "/x/site-packages/cub/a.cuh"
    calls = (("Add::operator()", library, 3), ("cub::inner", library, 9), ("cub::Reduce", "/me/a.cu", 20))
    own, inside = in_own_code(Line("/me/a.cu", 5, calls))
    assert inside == ()
    site = Site(file=own.file, line=own.line, text="return a + b;", inlined=own.inlined)
    assert label(site) == "a.cu:5  return a + b; (in Add::operator(), called at a.cu:20)"
    other = replace(site, inlined=(calls[0], ("cub::another", library, 77), calls[2]))
    counted = [SiteConflicts(one, "st", 4, 8, 8, 8, 1, None, "measured") for one in (site, other)]
    (together,) = by_line(Conflicts(architecture("sm_90"), tuple(counted))).sites
    assert together.requests == 16  # what is told apart is what is shown


def test_names_of_inlined_functions_are_short() -> None:
    for suffix in ("_5af80941", ""):  # in linked code there is none
        assert readable(f"_INTERNAL_fbab620b_9_kernel_cu{suffix}::atomicAdd") == "atomicAdd"
    chosen = "ImplementationChooserILb1EE14CpAsyncChooserILm4ELm4EE8cp_asyncEPvPKv"
    long = f"_ZN6nvcuda12experimental19__pipeline_internal21{chosen}"
    assert len(readable(long)) <= LONGEST
    assert readable(long).endswith("cp_async")
    assert readable("_Z4fillILj7EEvPi") == "fill<7u>"
