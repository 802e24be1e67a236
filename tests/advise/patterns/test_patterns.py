"""Advice on layouts: known cures, their proof, and small cases in which every layout whatever is tried."""

import json
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import banksim
from banksim.advise.patterns import advice
from banksim.advise.patterns.advice import ArrayAdvice, advise, together
from banksim.advise.patterns.judge import Judged
from banksim.advise.patterns.layouts import SharedArray, layouts, mapping
from banksim.advise.patterns.thread_orders import ReadPattern, mappings
from banksim.architectures.bank_rules import Architecture, architecture
from banksim.architectures.occupancy import blocks_per_sm, fits
from banksim.errors import InputError, UnknownCountError
from banksim.patterns.inputs import Description
from banksim.patterns.threads import Loop
from banksim.patterns.types import ALIASES, FUNDAMENTAL, record
from helpers.commands import out_of
from helpers.fixtures import Patch, Said

TRANSPOSE = ["tile[threadIdx.x][threadIdx.y]", "tile[threadIdx.y][threadIdx.x] = v"]
FLOAT = FUNDAMENTAL["float"]


def layout_of(advice: ArrayAdvice, name: str) -> Judged:
    return next(one for one in advice.better if name in (one.layout.name, *one.layout.also))


def names(advice: ArrayAdvice) -> set[str]:
    return {one.layout.name for one in advice.better}


# ---- known cures
def test_a_transpose_is_cured_by_rows_of_33() -> None:
    (advice,) = advise(TRANSPOSE, declare="float tile[32][32]", block=(32, 32))
    best = advice.best
    assert (advice.before.transactions, best.transactions, advice.bound) == ((1056,), (64,), (64,))
    assert (best.layout.name, best.bytes, best.layout.operations) == ("rows of 33", 128, 0)
    assert best.layout.spelling.c == ("__shared__ float tile[32][33];",)
    assert best.layout.spelling.numba == ("tile = cuda.shared.array((32, 33), float32)",)
    assert advice.is_proven
    assert layout_of(advice, "column ^ row").names == "column ^ row = Swizzle<5, 0, 5>"


@pytest.mark.parametrize("declare", ["float tile[32][32]", "float tile[64][32]", "double tile[32][32]"])
def test_a_layout_is_listed_once(declare: str) -> None:
    """Whatever its names: no two of those listed lay every byte at the same place."""
    (advice,) = advise(TRANSPOSE, declare=declare, block=(32, 32))
    found = [mapping(one.layout, advice.array) for one in advice.better]
    assert len(found) > 2
    assert len(set(found)) == len(found)


def test_kepler_in_8_byte_mode_wants_two_elements_more() -> None:
    (advice,) = advise(TRANSPOSE, declare="int tile[32][32]", block=(32, 32), arch="kepler-8")
    assert layout_of(advice, "rows of 34").transactions == (64,)
    assert layout_of(advice, "rows of 33").transactions == (80,)


def test_kepler_s_rectangle_wants_rows_of_34() -> None:
    (advice,) = advise(
        ["tile[threadIdx.y][threadIdx.x] = v", "tile[icol][irow]"],
        declare="int tile[16][32]",
        block=(32, 16),
        let=["idx=32 * threadIdx.y + threadIdx.x", "irow=idx / 16", "icol=idx % 16"],
        arch=["kepler-4", "sm_90"],
    )
    assert advice.best.layout.name == "rows of 34"
    assert (advice.before.transactions, advice.best.transactions) == ((144, 272), (32, 32))


def test_a_cure_of_the_load_that_breaks_the_store_is_none() -> None:
    """Swapped dimensions move the conflict from one access to the other."""
    (advice,) = advise(TRANSPOSE, declare="float tile[32][32]", block=(32, 32))
    assert "dimensions swapped" not in names(advice)
    (load,) = advise(TRANSPOSE[:1], declare="float tile[32][32]", block=(32, 32))
    assert layout_of(load, "dimensions swapped").transactions == (32,)


def test_an_array_of_structs_becomes_a_struct_of_arrays() -> None:
    (advice,) = advise("p[threadIdx.x].x", declare="struct {float x, y, z, w;} p[256]", block=256)
    assert advice.best.layout.name == "struct of arrays"
    assert (advice.before.transactions, advice.best.transactions) == ((32,), (8,))
    assert "p.x[i] for p[i].x" in advice.best.layout.spelling.c
    assert "p_x = cuda.shared.array(256, float32)" in advice.best.layout.spelling.numba


def test_words_of_8_bytes_are_halved_where_the_banks_are_those_of_cc_1() -> None:
    accesses = ["s[threadIdx.x] = v", "s[threadIdx.x]"]
    (advice,) = advise(accesses, declare="double s[256]", block=256, arch="tesla")
    assert (advice.before.transactions, advice.best.transactions, advice.is_proven) == ((128,), (64,), True)
    assert advice.best.layout.name == "8-byte words in halves"
    assert "__shared__ int s_lo[256], s_hi[256];" in advice.best.layout.spelling.c
    assert "v = libdevice.hiloint2double(s_hi[i], s_lo[i])" in advice.best.layout.spelling.numba
    assert together([advice]) == ((64,), 0)
    halves = banksim.pattern(["lo[t] = v", "hi[t] = v", "lo[t]", "hi[t]"], declare="int lo[256], hi[256]", block=256,
                             let="t=threadIdx.x")  # fmt: skip
    assert banksim.replay(halves, "tesla").transactions == banksim.Range(64, 64)
    (modern,) = advise(accesses, declare="double s[256]", block=256)
    assert (modern.better, modern.is_proven) == ((), True)


def test_vectors_become_arrays_of_their_members_where_that_pays() -> None:
    (advice,) = advise("p[threadIdx.x] = v", declare="float4 p[64]", block=64, arch="tesla")
    assert (advice.before.transactions, advice.best.transactions) == ((64,), (16,))
    assert advice.best.layout.name == "struct of arrays"


def test_atomics_stay_whole() -> None:
    (advice,) = advise("atomicExch(&s[2 * threadIdx.x], v)", declare="unsigned long long s[64]", arch="sm_90")
    assert "8-byte words in halves" not in names(advice)
    assert advice.breaking


# ---- other orders of the threads
def test_threads_swapped_cost_what_the_pattern_written_so_costs() -> None:
    (advice,) = advise(
        "a[x][threadIdx.y]", declare="float a[32][32]", block=(32, 8), let={"x": "threadIdx.x"}, where="threadIdx.y > 1"
    )
    (swapped,) = advice.threads
    trace = banksim.pattern("a[threadIdx.y][threadIdx.x]", declare="float a[32][32]", block=(8, 32),
                            where="threadIdx.x > 1")  # fmt: skip
    assert swapped.layout.name == "x and y of the threads swapped, block 8 × 32"
    assert (advice.before.transactions, swapped.transactions) == ((192,), (banksim.replay(trace).transactions,))


@pytest.mark.parametrize(("loops", "word"), [("k=0..7", "k"), ({"k": range(3, 35, 4)}, "(k - 3) / 4")])
def test_neighbouring_threads_may_take_neighbouring_iterations(loops: object, word: str) -> None:
    access = f"s[8 * threadIdx.x + {word}]"
    (advice,) = advise(access, declare="float s[1024]", block=128, loops=loops)  # type: ignore[arg-type]
    (striped,) = advice.threads
    assert (advice.before.transactions, striped.transactions) == ((256,), (32,))
    description = Description(access, loops=loops)  # type: ignore[arg-type]
    given = ReadPattern(description, (128, 1, 1), (Loop("k", np.array([*range(3, 35, 4)])),))
    if "3" in word:
        (mapped,) = mappings(given)
        before = banksim.pattern(access, declare="float s[1024]", block=128, loops=loops)  # type: ignore[arg-type]
        found = mapped.description
        after = banksim.pattern(found.accesses, declare="float s[1024]", block=found.block, loops=found.loops)
        assert sorted(before.address.ravel()) == sorted(after.address.ravel())


@pytest.mark.parametrize(
    ("access", "block", "loops"),
    [
        ("s[threadIdx.x]", (8, 32), ()),  # no y
        ("s[8 * k]", (128,), "k=0..7"),  # no thread
        ("s[threadIdx.x + k + n]", (32,), ["k=0..7", "n=0..7"]),  # two loops
        ("s[8 * threadIdx.x + k]", (32,), "k=1,2,4,7"),  # no step
    ],
)
def test_no_other_order_where_expressions_do_not_allow_one(access: str, block: tuple[int, ...], loops: object) -> None:
    (advice,) = advise(access, declare="float s[1024]", block=block, loops=loops)  # type: ignore[arg-type]
    assert advice.threads == ()


def test_wide_accesses_stay_whole() -> None:
    accesses = ["*(float4*)&tile[threadIdx.x][4 * k]"]
    (advice,) = advise(accesses, declare="float tile[32][32]", block=32, loops="k=0..7")
    assert advice.breaking > 0
    assert advice.best.transactions == advice.bound
    for one in advice.better:
        moved = one.layout.move(np.arange(0, 4096, 16))
        assert not (moved % 16).any(), one.layout.name
        assert one.layout.name not in ("rows of 33", "column ^ row")


def test_a_scan_with_strides_is_cured_by_gaps() -> None:
    (advice,) = advise(
        "s[n * (2 * t + 2) - 1] += s[n * (2 * t + 1) - 1]",
        declare="float s[1024]",
        block=512,
        let="t=threadIdx.x",
        where="t < 512 / n",
        loops="n=1,2,4,8,16,32,64,128,256,512",
    )
    assert advice.best.transactions[0] < advice.before.transactions[0] / 2
    assert "a gap of 1 behind every 32" in names(advice)


def test_the_best_layouts_of_several_arrays_are_judged_at_once(capsys: Said) -> None:
    accesses = [access.replace("tile", name) for name in "ab" for access in TRANSPOSE]
    archs = ["kepler-8", "sm_90"]
    found = advise(accesses, declare="float a[32][32], b[32][32]", block=(32, 32), arch=archs)
    assert [one.best.layout.name for one in found] == ["column ^ row"] * 2
    assert together(found) == ((128, 128), 0)
    padded = advise(accesses, declare="float a[32][32], b[32][32]", block=(32, 32))
    assert [one.best.layout.name for one in padded] == ["rows of 33"] * 2
    trace = banksim.pattern(accesses, declare="float a[32][33], b[32][33]", block=(32, 32))
    assert together(padded) == ((banksim.replay(trace).transactions,), 256)
    words = ["advise", *accesses, "--declare", "float a[32][32], b[32][32]", "--block", "32,32"]
    assert "The best of each at once: 2,112 → 128 transactions on sm_90, 256 bytes more." in out_of(capsys, words)


# ---- the honest no
def test_where_nothing_conflicts_no_layout_pays() -> None:
    (advice,) = advise("tile[threadIdx.y][threadIdx.x]", declare="float tile[32][32]", block=(32, 32))
    assert (advice.better, advice.is_proven) == ((), True)
    assert advice.verdict == "No layout pays: no layout can do better than the one it has."


def test_atomics_on_one_address_are_beyond_any_layout() -> None:
    (advice,) = advise("atomicAdd(&bins[0], x)", declare="int bins[64]")
    assert (advice.before.transactions, advice.bound) == ((32,), (32,))
    assert advice.is_proven


def test_a_layout_that_one_architecture_loses_by_is_no_cure() -> None:
    (advice,) = advise(TRANSPOSE, declare="int tile[32][32]", block=(32, 32), arch=["kepler-8", "sm_90"])
    for one in advice.better:
        assert all(new <= old for new, old in zip(one.transactions, advice.before.transactions, strict=True))


# ---- the proof: what advice says of a layout is what replaying the program in it says
def test_a_layout_s_count_is_that_of_the_program_written_so() -> None:
    (advice,) = advise(TRANSPOSE, declare="float tile[32][32]", block=(32, 32))
    for name, declare, read, write in (
        ("rows of 33", "float tile[32][33]", "tile[x][y]", "tile[y][x] = v"),
        ("rows of 36", "float tile[32][36]", "tile[x][y]", "tile[y][x] = v"),
        ("column ^ row", "float tile[32][32]", "tile[x][y ^ x]", "tile[y][x ^ y] = v"),
        ("Swizzle<5, 0, 5>", "float tile[1024]", "tile[(32*x+y) ^ (x & 31)]", "tile[(32*y+x) ^ (y & 31)] = v"),
    ):
        trace = banksim.pattern([read, write], declare=declare, block=(32, 32), let=["x=threadIdx.x", "y=threadIdx.y"])
        assert layout_of(advice, name).transactions == (banksim.replay(trace).transactions,)


ELEMENTS = [FLOAT, ALIASES["half"], FUNDAMENTAL["double"], record("pair", [("x", FLOAT), ("y", FLOAT)])]


@given(
    lengths=st.lists(st.sampled_from([1, 2, 3, 4, 6, 8, 16]), min_size=1, max_size=3), element=st.sampled_from(ELEMENTS)
)
@settings(max_examples=30)
def test_every_layout_has_a_place_of_its_own_for_every_byte(lengths: list[int], element: object) -> None:
    array = SharedArray("a", 0, tuple(lengths), element)  # type: ignore[arg-type]
    everything = np.arange(array.size)
    for layout in layouts(array):
        moved = layout.move(everything)
        assert len(np.unique(moved)) == array.size, layout.name
        assert (moved.min() >= 0, moved.max() < layout.size) == (True, True), layout.name


def four_banks() -> Architecture:
    return replace(architecture("fermi"), name="four", banks=4)


def fewest(requests: list[list[int]], elements: int) -> int:
    """The fewest transactions of requests of up to 4 elements each, over every assignment of elements to 4 banks:
    what a layout is, whatever its shape and gaps."""
    found = []
    for banks in product(range(4), repeat=elements):
        cost = 0
        for request in requests:
            used = [banks[element] for element in {*request}]
            cost += max(map(used.count, used))
        found.append(cost)
    return min(found)


@pytest.mark.parametrize("where", ["t < 4", "t < 3", "t < 2"])
@pytest.mark.parametrize(
    ("accesses", "index"),
    [
        (["a[t % 2][t / 2]"], [lambda t: t % 2 * 4 + t // 2]),
        (["a[t / 2][t % 2]", "a[t % 2][t / 2 * 2]"], [lambda t: t // 2 * 4 + t % 2, lambda t: t % 2 * 4 + t // 2 * 2]),
        (["a[0][t]", "a[t % 2][t]"], [lambda t: t, lambda t: t % 2 * 4 + t]),
        (
            ["a[0][t]", "a[1][t]", "a[t % 2][t / 2 * 2]"],
            [lambda t: t, lambda t: 4 + t, lambda t: t % 2 * 4 + t // 2 * 2],
        ),
    ],
)  # fmt: skip
def test_no_layout_can_do_better_where_it_is_said(accesses: list[str], index: list[object], where: str) -> None:
    threads = range(int(where[-1]))
    requests = [[one(t) for t in threads] for one in index]  # type: ignore[operator]
    (advice,) = advise(accesses, declare="float a[2][4]", block=4, let="t=threadIdx.x", where=where, arch=four_banks())
    least = fewest(requests, prod(advice.array.lengths))
    assert advice.best.transactions[0] >= least
    assert advice.bound[0] <= least
    if advice.is_proven:
        assert advice.best.transactions == (least,)


def test_what_is_not_proven_is_not_said_to_be() -> None:
    """Of five elements every four are wanted at once: in four banks some two must meet, which the bound of one
    transaction for each request does not know."""
    (advice,) = advise(
        ["a[x]", "a[y]", "a[z]", "a[w]", "a[u]"],
        declare="float a[5]",
        block=4,
        let=["t=threadIdx.x", *(f"{name}=t + (t >= {missing})" for missing, name in enumerate("xyzwu"))],
        arch=four_banks(),
    )
    everyone = [[t + (t >= missing) for t in range(4)] for missing in range(5)]
    assert fewest(everyone, 5) > advice.bound[0]
    assert not advice.is_proven
    assert "not" in advice.verdict or "none" in advice.verdict


# ---- what it takes
def test_shared_memory_limits_layouts() -> None:
    (advice,) = advise("a[threadIdx.x][0]", declare="float a[384][32]", block=384)
    assert advice.too_large > 0
    assert all(one.size <= 48 * 1024 for one in advice.better)


def test_blocks_per_sm_are_those_of_the_guides() -> None:
    assert blocks_per_sm(4096, architecture("sm_90"), 32) == 32
    assert blocks_per_sm(8192, architecture("sm_90"), 32) == 228 // 9
    assert blocks_per_sm(8192, architecture("sm_90"), 1024) == 2
    assert blocks_per_sm(0, architecture("sm_90"), 256, registers=128) == 2
    assert blocks_per_sm(48 * 1024, architecture("kepler-4"), 32) == 1
    assert blocks_per_sm(0, architecture("tesla"), 1024) == 0
    assert fits(48 * 1024, 0, architecture("sm_90"))
    assert not fits(48 * 1024 + 4, 0, architecture("sm_90"))
    assert fits(227 * 1024, 100 * 1024, architecture("sm_90"))
    assert not fits(17 * 1024, 0, architecture("tesla"))


# ---- wrong use
def test_bad_input_is_one_line(monkeypatch: Patch) -> None:
    with pytest.raises(InputError, match="unknown name"):
        advise("tile[threadIdx.x]")
    with pytest.raises(UnknownCountError, match="nobody knows"):
        advise("atomicAdd(&bins[threadIdx.x], 2)", declare="int bins[64]", arch="kepler-4")
    monkeypatch.setattr(advice, "MOST_WORK", 1000)
    with pytest.raises(InputError, match="too many to try"):
        advise(TRANSPOSE, declare="float tile[32][32]", block=(32, 32))


# ---- the command
def test_the_command_prints_the_table_and_the_line(capsys: Said, monkeypatch: Patch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    printed = out_of(capsys, ["advise", *TRANSPOSE, "--declare", "float tile[32][32]", "--block", "32,32"])
    assert "rows of 33" in printed
    assert "__shared__ float tile[32][33];" in printed
    assert "tile = cuda.shared.array((32, 33), float32)" in printed
    assert "No layout can do better" in printed


def test_json_holds_every_layout(capsys: Said) -> None:
    words = ["advise", *TRANSPOSE, "--declare", "float tile[32][32]", "--block", "32,32", "--json"]
    (array,) = json.loads(out_of(capsys, [*words, "--arch", "kepler-4,sm_90"]))["arrays"]
    assert array["architectures"] == ["kepler-4", "sm_90"]
    assert (array["before"]["transactions"], array["bound"], array["proven"]) == ([544, 1056], [64, 64], True)
    assert array["better"][0]["c"] == ["__shared__ float tile[32][33];"]
