"""What each architecture is known to do: presets, instructions, how well each rule is founded, published figures."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

import banksim
from banksim.architectures.bank_rules import AccessRule, architecture, presets
from banksim.architectures.capabilities import CAPABILITIES
from banksim.architectures.code_layout import MACHINES
from banksim.architectures.occupancy import limits
from banksim.architectures.published_rates import _RATES
from banksim.errors import InputError, UnknownCountError
from banksim.requests.counts import Range
from banksim.requests.kinds import OPS
from helpers.strategies import FAMILIES, kinds

NUMBERS = """10 11 12 13 20 21 30 32 35 37 50 52 53 60 61 62 70 72 75 80 86 87 88 89 90 90a
100 100a 100f 101 101a 101f 103 103a 103f 110 110a 110f 120 120a 120f 121 121a 121f"""
REAL = NUMBERS.split()
FAMILY_OF = {
    "tesla": (1,), "fermi": (2,), "kepler-4": (3,), "maxwell": (5,), "pascal": (6,), "volta": (7,), "ampere": (8,),
    "hopper": (9,), "blackwell": (10, 11, 12),
}  # fmt: skip
Counts = npt.NDArray[np.int64]


def mean(index: npt.ArrayLike, arch: str, op: str = "ld", width: int = 4) -> float:
    """Transactions per request of warps that access element `index`, (warps, 32)."""
    found = banksim.transactions(width * np.asarray(index), op=op, width=width, arch=arch)
    assert isinstance(found, np.ndarray)
    return float(found.mean())


# Presets


def test_every_real_architecture_has_a_name() -> None:
    assert {name for name in presets() if name.startswith("sm_")} == {f"sm_{number}" for number in REAL}
    assert {arch.name for arch in FAMILIES} == {*FAMILY_OF, "kepler-8", "turing", "ada"}
    assert [*FAMILIES] == sorted(FAMILIES, key=lambda arch: arch.capability)
    for name, arch in presets().items():
        assert arch.name == name
        assert architecture(name) is arch
        assert architecture(arch) is arch


NEW = """
from banksim.architectures import capabilities as table
row = table.CAPABILITIES[-1]._replace(number="990", threads=1024, shared=256, code="hopper", suffixes="a")
table.CAPABILITIES += (row,)
import banksim
from banksim.architectures.code_layout import machine
from banksim.architectures.published_rates import rates
from banksim.architectures.occupancy import limits
arch = banksim.architecture("sm_990")
assert banksim.architecture("sm_990a").capability == arch.capability == (99, 0)
assert banksim.transactions([128 * lane for lane in range(32)], arch=arch) == 32
assert (limits(arch).threads, limits("sm_90").threads) == (1024, 2048)
assert limits(arch).carveouts[-2:] == (196 << 10, 256 << 10)
assert rates(arch) == rates(banksim.architecture(f"sm_{table.CAPABILITIES[-2].number}"))
assert machine("sm_990") == machine("sm_90")
"""


def test_one_row_makes_an_architecture_known_everywhere() -> None:
    subprocess.run([sys.executable, "-c", NEW], check=True)


def test_every_family_has_all_that_its_members_need() -> None:
    for row in CAPABILITIES:
        assert row.family in presets()
        assert row.family in _RATES
        assert not row.code or f"sm_{row.number}" in MACHINES
        assert limits(f"sm_{row.number}").block_shared <= limits(f"sm_{row.number}").shared
    assert [row.version for row in CAPABILITIES] == sorted({row.version for row in CAPABILITIES})


@pytest.mark.parametrize("number", REAL)
def test_an_sm_has_the_rules_of_its_family(number: str) -> None:
    arch = architecture(f"sm_{number}")
    major, minor = int(number.rstrip("af")[:-1]), int(number.rstrip("af")[-1])
    assert arch.capability == (major, minor)
    [family] = [name for name, majors in FAMILY_OF.items() if major in majors]
    for figure in ("banks", "bank_width", "pass_width", "period"):
        assert getattr(arch, figure) == getattr(architecture(family), figure)
    for kind, access in architecture(family).accesses.items():
        assert replace(arch.accesses[kind], status="", source="") == replace(access, status="", source="")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "near"),
    [("sm_91", "sm_90"), ("hoper", "hopper"), ("kepler", "kepler-4"), ("sm90", "sm_90"), ("", "hopper")],
)
def test_an_unknown_name_lists_the_near_ones(name: str, near: str) -> None:
    with pytest.raises(InputError, match=f"unknown architecture '{name}': give .*{near}"):
        architecture(name)


@pytest.mark.parametrize("name", [90, None, ["sm_90"]])
def test_what_is_no_name_is_refused(name: object) -> None:
    with pytest.raises(InputError, match="unknown architecture"):
        architecture(name)  # type: ignore[arg-type]


# Instructions


@pytest.mark.parametrize(
    ("op", "width", "last_without", "first_with"),
    [
        ("ldmatrix_x1", 16, "sm_72", "sm_75"),
        ("ldmatrix_x4_trans", 16, "volta", "turing"),
        ("cp_async", 4, "sm_75", "sm_80"),
        ("stmatrix_x2", 16, "ada", "hopper"),
    ],
)
def test_an_instruction_has_no_count_before_it_exists(op: str, width: int, last_without: str, first_with: str) -> None:
    address = np.arange(32) * width
    assert isinstance(banksim.transactions(address, op=op, width=width, arch=first_with), int)
    for judge in (banksim.transactions, banksim.ideal, banksim.explain):
        with pytest.raises(InputError, match=f"{last_without} has no {op}"):
            judge(address, op=op, width=width, arch=last_without)
    [site] = banksim.replay(banksim.Trace.from_arrays(op, width, 1, address), last_without).sites
    assert (site.transactions, site.status, site.requests) == (None, "unknown", 1)


@pytest.mark.parametrize("arch", ["sm_10", "sm_11"])
def test_the_first_gpus_have_no_shared_atomics(arch: str) -> None:
    with pytest.raises(InputError, match=f"{arch} has no atom: atomics on shared memory came with sm_12"):
        banksim.transactions(np.zeros(32, int), op="atom", arch=arch)


@pytest.mark.parametrize("arch", ["sm_12", "tesla", "fermi", "kepler-4", "kepler-8", "sm_37"])
@pytest.mark.parametrize("op", ["atom", "red", "exch", "cas", "cas_spin", "popc_inc"])
def test_atomics_that_are_loops_have_no_count(arch: str, op: str) -> None:
    with pytest.raises(UnknownCountError, match="before sm_50 a shared atomic is a loop"):
        banksim.transactions(np.zeros(32, int), op=op, arch=arch)


@pytest.mark.parametrize(("op", "width"), [("cp_async_gather", 16), ("red", 8), ("remote", 4)])
def test_what_nobody_measured_has_no_count(op: str, width: int) -> None:
    address = np.arange(32) * width
    for judge in (banksim.transactions, banksim.ideal):
        with pytest.raises(UnknownCountError, match=f"{op} of {width} bytes on sm_90: nobody has measured"):
            judge(address, op=op, width=width)
    explanation = banksim.explain(address, op=op, width=width)
    assert (explanation.passes, explanation.transactions, explanation.ideal) == ((), None, None)
    assert explanation.status == "unknown"


@pytest.mark.parametrize(
    ("op", "width"), [("atom", 1), ("atom", 16), ("red", 2), ("popc_inc", 8), ("ldmatrix_x2", 4), ("cp_async", 2)]
)
def test_what_no_instruction_does_is_refused(op: str, width: int) -> None:
    with pytest.raises(InputError, match=f"there is no {op} of {width} bytes"):
        banksim.transactions(np.zeros(32, int), op=op, width=width)


# How well a rule is founded

STATUS = {
    ("tesla", "ld", 16): "documented", ("tesla", "st", 4): "assumed", ("fermi", "ld", 4): "documented",
    ("fermi", "st", 8): "assumed", ("kepler-4", "ld", 8): "documented", ("kepler-8", "ld", 16): "assumed",
    ("volta", "ld", 1): "documented", ("volta", "ld", 8): "assumed", ("blackwell", "st", 4): "documented",
    ("blackwell", "atom", 4): "assumed", ("blackwell", "ldmatrix_x4", 16): "assumed",
    ("hopper", "ld", 16): "measured", ("hopper", "exch", 8): "measured",
    ("sm_90a", "ldmatrix_x4_trans", 16): "measured", ("hopper", "stmatrix_x1_trans", 16): "assumed",
    ("hopper", "cp_async", 16): "measured", ("hopper", "cp_async_bypass", 16): "Nsight's",
    ("fermi", "atom", 4): "unknown", ("volta", "cp_async", 4): "unknown",
}  # fmt: skip


@pytest.mark.parametrize(("name", "op", "width"), STATUS)
def test_status(name: str, op: str, width: int) -> None:
    assert architecture(name).status(op, width) == STATUS[name, op, width]


def test_measured_is_said_of_the_h200_only() -> None:
    for arch in presets().values():
        statuses = {arch.status(*kind) for kind in kinds()}
        assert ("measured" in statuses) == (arch.evidence == "measured") == (arch.capability == (9, 0))


def test_every_rule_names_its_source() -> None:
    for arch in presets().values():
        assert arch.source
        assert {op for op, _ in arch.accesses} <= set(OPS)
        for access in arch.accesses.values():
            assert access.source
            assert access.status in ("measured", "Nsight's", "documented", "assumed")


# Variants


def test_a_variant_is_judged_by_its_own_figures() -> None:
    half = replace(architecture("hopper"), name="16 banks", banks=16)
    assert banksim.transactions(4 * np.arange(32), arch=half) == 2
    assert banksim.transactions(4 * 16 * np.arange(32), arch=half) == 32
    assert banksim.transactions(np.tile(4 * np.arange(32), (10_000, 1)), arch=half).tolist() == [2] * 10_000  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "figures", [{"banks": 12}, {"banks": 64}, {"bank_width": 2}, {"pass_width": 16}, {"banks": 2}, {"banks": 0}]
)
def test_a_variant_that_cannot_be_is_refused(figures: dict[str, int]) -> None:
    with pytest.raises(InputError, match="odd"):
        replace(architecture("hopper"), name="odd", **figures)  # type: ignore[arg-type]


def test_parts_that_cannot_fill_the_banks_are_refused() -> None:
    quarters = {("ld", 4): AccessRule(8, "assumed", "a question")}
    with pytest.raises(InputError, match="parts of 8 lanes of ld, 4 bytes, are too small"):
        replace(architecture("hopper"), name="odd", accesses=quarters)


# Published and measured kernels: K40 by nvprof, H200 by Nsight Compute

LANE, WARP = np.arange(32), np.arange(32)[:, None]
Index = Callable[[int], npt.NDArray[np.int64]]


def by_row(row: int) -> npt.NDArray[np.int64]:
    """tile[threadIdx.y][threadIdx.x] of a 32 × 32 block."""
    return WARP * row + LANE


def by_column(row: int) -> npt.NDArray[np.int64]:
    """tile[threadIdx.x][threadIdx.y]."""
    return LANE * row + WARP


TABLE_OF = ("kepler-4", "kepler-8", "sm_90")
"""Transactions per request of store and load, in each of these."""
SQUARE = [
    ("setRowReadRow", by_row, by_row, 32, [(1, 1), (1, 1), (1, 1)]),
    ("setColReadCol", by_column, by_column, 32, [(16, 16), (16, 16), (32, 32)]),
    ("setRowReadCol", by_row, by_column, 32, [(1, 16), (1, 16), (1, 32)]),
    ("setRowReadColPad", by_row, by_column, 33, [(1, 1), (1, 1.5), (1, 1)]),
    ("row of 34", by_row, by_column, 34, [(1, 2), (1, 1), (1, 2)]),
]

Y = np.arange(16)[:, None]
THREAD = 32 * Y + LANE
IROW, ICOL = THREAD // 16, THREAD % 16


def rectangle_row(row: int) -> npt.NDArray[np.int64]:
    """tile[threadIdx.y][threadIdx.x] of a 32 × 16 block."""
    return Y * row + LANE


def rectangle_column(row: int) -> npt.NDArray[np.int64]:
    """tile[threadIdx.x][threadIdx.y]."""
    return LANE * row + Y


def rectangle_transposed(row: int) -> npt.NDArray[np.int64]:
    """tile[icol][irow]."""
    return ICOL * row + IROW


RECTANGLE = [
    ("setRowReadRow", rectangle_row, rectangle_row, 32, [(1, 1), (1, 1), (1, 1)]),
    ("setColReadCol", rectangle_column, rectangle_column, 16, [(8, 8), (8, 8), (16, 16)]),
    ("setRowReadCol", rectangle_row, rectangle_transposed, 32, [(1, 8), (1, 8), (1, 16)]),
    ("setRowReadColPad", rectangle_row, rectangle_transposed, 34, [(1, 1), (1, 1), (1, 1)]),
    ("row of 33", rectangle_row, rectangle_transposed, 33, [(1, 2), (1, 2), (1, 2)]),
]


@pytest.mark.parametrize(("kernel", "store", "load", "row", "table"), SQUARE + RECTANGLE)
def test_the_tiles_of_the_k40_and_the_h200(
    kernel: str, store: Index, load: Index, row: int, table: list[tuple[float, float]]
) -> None:
    for arch, figures in zip(TABLE_OF, table, strict=True):
        assert (mean(store(row), arch, "st"), mean(load(row), arch)) == figures, kernel


@pytest.mark.parametrize("arch", [arch.name for arch in FAMILIES])
def test_a_reduction_is_free_and_so_is_a_reversal(arch: str) -> None:
    threads = np.arange(64).reshape(2, 32)
    for index in (threads, threads + 64, 63 - threads):
        for op in ("ld", "st"):
            found = banksim.transactions(4 * index, op=op, arch=arch)
            expected = banksim.ideal(4 * index, op=op, arch=arch)
            low, high = found if isinstance(found, Range) else (found, found)
            assert (low == expected).all()
            assert (high == expected).all()


def test_doubles_side_by_side_take_two_passes() -> None:
    for arch in FAMILIES:
        if arch.capability >= (5, 0):
            assert banksim.transactions(8 * LANE, width=8, arch=arch) == 2
            assert banksim.ideal(8 * LANE, width=8, arch=arch) == 2
    for mode in ("kepler-4", "kepler-8"):
        assert banksim.transactions(8 * LANE, width=8, arch=mode) == 1


# The examples of a course on C programming: (address, width) of each read; transactions on cc 1.x and on sm_90,
# where one half-warp of 1.x and one warp of sm_90 take 1 without a conflict.

COURSE = {
    "char shared[tid]": ([(LANE, 1)], 4, 1),
    "char shared[4 * tid]": ([(4 * LANE, 1)], 1, 1),
    "double shared[tid]": ([(8 * LANE, 8)], 2 + 2, 2),
    "double as int lo[tid], hi[tid]": ([(4 * LANE, 4), (128 + 4 * LANE, 4)], 1 + 1, 1 + 1),
    "struct {float x, y, z;}": ([(12 * LANE + 4 * k, 4) for k in range(3)], 1 + 1 + 1, 1 + 1 + 1),
    "struct {float x, y;}": ([(8 * LANE + 4 * k, 4) for k in range(2)], 2 + 2, 2 + 2),
    "struct {float f; char c;}": ([(8 * LANE, 4), (8 * LANE + 4, 1)], 2 + 2, 2 + 2),
}


@pytest.mark.parametrize("example", COURSE)
def test_the_examples_of_a_course(example: str) -> None:
    reads, half_warp, warp = COURSE[example]
    assert sum(banksim.transactions(a, width=w) for a, w in reads) == warp  # type: ignore[misc]
    both = [banksim.transactions(a, width=w, arch="tesla") for a, w in reads]
    assert sum(found.low for found in both) == 2 * half_warp  # type: ignore[union-attr]
    assert sum(found.high for found in both) == 2 * half_warp  # type: ignore[union-attr]


def test_the_degree_of_the_course_s_double_on_cc_1() -> None:
    """Each of the two 4-byte requests of each half-warp is 2-way."""
    found = banksim.explain(8 * LANE, width=8, arch="tesla")
    assert (found.transactions, found.ideal, found.degree) == (Range(8, 8), 4, Range(2, 2))
