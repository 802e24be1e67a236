"""Whole launches: many blocks that follow one another, and loads and additions at random places, beside what one H200
took for them."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.system.bundles import Words, at
from banksim.system.compiled_types import Integer
from banksim.system.jit import outer
from banksim.timing.global_memory import CACHED, GlobalMemory, new_memory, tags_of, words_of
from banksim.timing.same_lines import slice_of
from banksim.timing.whole_grid import estimate
from helpers.launch_cases import Case, cases, microseconds_of, timed
from helpers.more_launch_cases import more_cases
from helpers.places import DATA, loaded
from helpers.recordings import timing

grids = partial(loaded, DATA / "timing" / "grids.cubin")
places = partial(loaded, DATA / "timing" / "places.cubin")
words = partial(loaded, DATA / "timing" / "words.cubin")
launches = partial(loaded, DATA / "timing" / "launches.cubin")
more_launches = partial(loaded, DATA / "timing" / "more_launches.cubin")
gathers = partial(loaded, DATA / "timing" / "gathers.cubin")


def took(name: str, what: str, row: list[object]) -> float:
    return next(float(each[-1]) for each in timing(name)[what] if each[:-1] == row)


def microseconds(kernel: Any, blocks: int, threads: int, given: list[Any], **how: Any) -> float:
    return microseconds_of(banksim.run(kernel, blocks, threads, given, timing=True, **how))


LONGER = pytest.mark.xfail(
    strict=True,
    reason="13 % too short: all of these took 0.42 µs longer that day than on an H200 since, with 132 blocks",
)


@pytest.mark.parametrize(
    ("threads", "blocks", "wait", "more"),
    [
        # one round, whose blocks are taken back one after the other, unless they end apart; several rounds; so many
        # short blocks that the GPU does not come to give them out any faster
        pytest.param(256, 1056, 300, 0, marks=LONGER), (256, 1056, 3000, 100), (256, 1056, 3000, 400),
        (256, 4224, 1000, 0),
        (1024, 1056, 1000, 0), (32, 8448, 300, 0),
    ],
)  # fmt: skip
def test_blocks_follow_one_another_as_on_the_h200(threads: int, blocks: int, wait: int, more: int) -> None:
    measured = took("grids", "ends", ["quiet", threads, blocks, wait, more])
    given = [np.zeros(64, np.uint32), np.uint32(wait), np.uint32(more)]
    assert microseconds(grids()["quiet"], blocks, threads, given) == pytest.approx(measured, rel=0.08)


@pytest.mark.parametrize(
    ("kernel", "threads", "cycles", "more"),
    [
        ("p_none_waits", 256, 4000, 0), ("p_none_waits", 256, 1500, 1000), ("p_none_waits", 512, 4000, 3000),
        # these were 15 to 124 % too long while only whole blocks left their room to others
        ("p_none_goes", 128, 4000, 3000), ("p_none_goes", 256, 4000, 0), ("p_none_goes", 256, 4000, 3000),
        ("p_none_goes", 512, 4000, 0), ("p_none_goes", 512, 1500, 1000), ("p_none_goes", 512, 4000, 3000),
        ("p_none_goes", 1024, 4000, 3000),
    ],
)  # fmt: skip
def test_blocks_of_which_one_warp_goes_on_for_longer(kernel: str, threads: int, cycles: int, more: int) -> None:
    """The others wait for it at a barrier, or have ended and left their room to the next blocks."""
    (row,) = (row for row in timing("follow")["rows"] if row[:4] == [kernel, threads, cycles, more])
    given = [np.zeros(1024, np.uint32), np.int32(cycles), np.int32(more)]
    followed = loaded(DATA / "timing" / "follow.cubin")[kernel]
    assert microseconds(followed, row[4], threads, given) == pytest.approx(row[5], rel=0.08)


HITS = pytest.mark.xfail(
    strict=True, reason="15 % too short, not known why: loads that the L1 has are right (test_hits.py)"
)
BEGINS = pytest.mark.xfail(
    strict=True, reason="8 % too short, not known why: also where the warps of a block begin apart, as they do"
)


@pytest.mark.parametrize(
    ("kernel", "lanes", "places_", "words", "within"),
    [
        # the L1 has all lines: 64, then 512 of them; every load is from another line of the L2
        ("random_loads", 1, 2048, 1, 0.06),
        pytest.param("random_loads", 1, 2048, 8, 0.1, marks=HITS),
        ("random_loads", 1, 131072, 8, 0.05),
        # 128 and 256 lines, to which additions take equally long; 16,384
        ("random_adds", 1, 512, 8, 0.1), ("random_adds", 1, 1024, 8, 0.1), ("random_adds", 1, 131072, 8, 0.08),
        # floats, which hold their line and not its slice: as long as integers
        ("random_floats", 1, 512, 8, 0.1), ("random_floats", 1, 2048, 8, 0.1), ("random_floats", 1, 131072, 8, 0.08),
        # stores that stand in line when the last block has ended
        ("random_stores", 8, 131072, 8, 0.1), ("random_stores", 1, 524288, 8, 0.05),
    ],
)  # fmt: skip
def test_random_places(kernel: str, lanes: int, places_: int, words: int, within: float) -> None:
    blocks, threads = (264, 1024) if kernel == "random_loads" else (528, 256)
    numbers = [8, lanes, places_, words]
    measured = took("places", "random", [kernel, blocks, threads, *numbers])
    arrays = [np.zeros(places_ * words, np.float32 if "floats" in kernel else np.uint32) for _ in range(2)]
    found = microseconds(places()[kernel], blocks, threads, [*arrays, *map(np.uint32, numbers)])
    assert found == pytest.approx(measured, rel=within)


@pytest.mark.parametrize(
    ("kernel", "arrays", "threads", "size"),
    [
        # blocks whose loads come from DRAM hold their places longer, most where it is written to as well
        ("copy1", 2, 256, 128), ("copy1", 2, 1024, 40), ("add1", 3, 1024, 128),
        ("in_place", 1, 1024, 40), ("in_place", 1, 256, 40), ("add1", 3, 1024, 40), ("add1", 3, 256, 40),
        pytest.param("in_place", 1, 1024, 24, marks=BEGINS),  # all in the L2
    ],
)  # fmt: skip
def test_arrays_beyond_the_l2(kernel: str, arrays: int, threads: int, size: int) -> None:
    (row,) = (row for row in timing("grids")["words"] if row[:3] == [kernel, threads, size])
    n, measured = row[3:]
    given = [np.zeros(n if k < arrays else 1, np.float32) for k in range(3)]
    found = microseconds(words()[kernel], n // threads, threads, [*given, np.uint32(n)])
    assert found == pytest.approx(measured, rel=0.08)
    assert np.all(given[0] == (kernel == "in_place"))  # what is looked at beforehand leaves the arrays alone


@pytest.mark.parametrize(
    ("kernel", "lanes", "size", "asked", "within"),
    [
        # single sectors: of tables that the L2 has, of which it has some, and hardly any
        ("gather_words", 1, 16, 64, 0.03), ("gather_words", 1, 64, 32, 0.08), ("gather_words", 8, 128, 64, 0.08),
        ("gather_words", 1, 512, 64, 0.05), ("gather_words", 8, 512, 32, 0.03),
        # rows of 64 to 512 bytes
        ("gather_rows", 4, 64, 64, 0.08), ("gather_rows", 4, 512, 32, 0.05), ("gather_rows", 8, 512, 64, 0.06),
        ("gather_rows", 32, 512, 64, 0.05),
        # stores to sectors, lines and rows
        ("put_rows", 2, 64, 64, 0.13), ("put_rows", 2, 512, 64, 0.1), ("put_rows", 32, 512, 64, 0.06),
    ],
)  # fmt: skip
def test_rows_at_random_places_beyond_the_l2(kernel: str, lanes: int, size: int, asked: int, within: float) -> None:
    """These were up to 70 % too short while only the bytes were counted that come from DRAM."""
    blocks, measured = next(
        row[5:] for row in timing("gathers")["gathers"] if row[:5] == [kernel, lanes, size, asked, "same"]
    )
    table, nothing = np.zeros(size << 18, np.float32), np.zeros(64, np.float32)
    arrays = [table, nothing] if kernel == "put_rows" else [nothing, table]
    places = (size << 20) // (32 if kernel == "gather_words" else 16 * lanes)
    given = [*arrays, *map(np.uint32, (8, lanes, places, 0))]
    assert microseconds(gathers()[kernel], blocks, 256, given) == pytest.approx(measured, rel=within)


@pytest.mark.parametrize(("size", "within"), [(1, 0.3), (4, 0.3), (16, 0.3), (64, 0.37)])
def test_caches_that_have_nothing(size: int, within: float) -> None:
    """Behind 512 MB that were read: of arrays that fit into the L2, what it takes them to come there; nothing more of
    one that does not."""
    before = {state: took("dram", "cold", ["reads", state, size]) for state in ("clean", "warm")}
    n = size << 18
    given = [np.zeros(1, np.float32), np.zeros(n, np.float32), np.uint32(n // 4)]
    cold, warm = (microseconds(places()["reads"], 528, 512, given, cold=cold) for cold in (True, False))
    assert cold - warm == pytest.approx(before["clean"] - before["warm"], abs=within)


def held(file: str, every: Iterable[Case], kernels: Any, name: str, within: float) -> None:
    """A launch takes what was recorded of it."""
    case = next(case for case in every if case.name == name)
    run = timed(case, kernels[case.kernel])
    assert run.cycles is not None
    assert estimate(run.launch, run.cycles).microseconds == pytest.approx(
        timing(file)["microseconds"][name], rel=within
    )


@pytest.mark.parametrize(
    ("name", "within"),
    [
        # random stores, of which many stand in line when the last block has ended; warps of the first block that have
        # nothing to do; half of the blocks, all that are timed of them, do more than others; floats at random places
        ("scatter 65536 to 65536", 0.12), ("laplace3d 96", 0.08), ("sort_step 1048576 by 1024", 0.05),
        ("add_scattered 524288 to 4096", 0.05), ("add_scattered 65536 to 4096", 0.15),
    ],
)  # fmt: skip
def test_kernels_as_people_write_them(name: str, within: float) -> None:
    held("launches", cases(), launches(), name, within)


LEAVES = pytest.mark.xfail(
    strict=True, reason="7 % too short since warps that have found their key leave their room to the next block"
)


@pytest.mark.parametrize(
    ("name", "within"),
    [
        # what a block stores it loads again; a hash table of 128 MB, rows of tables of 4 and 64 MB
        ("tridiagonal 128 x 8192", 0.02), ("tridiagonal 64 x 65536", 0.09),
        pytest.param("probe 1048576 of 16777216", 0.06, marks=LEAVES),
        ("bag 2048 of 8192 x 16", 0.04), ("bag 4096 of 131072 x 8", 0.031),
    ],
)  # fmt: skip
def test_more_kernels_as_people_write_them(name: str, within: float) -> None:
    held("more_launches", more_cases(), more_launches(), name, within)


def noted(words: list[int]) -> GlobalMemory:
    """Behind a request of lanes at these words."""
    memory = new_memory(1)
    lines = sorted({word // 32 for word in words})
    memory.lines[0] = len(lines)
    memory.line[0, : len(lines)] = lines
    for word in set(words):
        memory.words[0, lines.index(word // 32)] |= 1 << word % 32
    return memory


@outer
def passes_of(address: Integer) -> Integer:
    memory = at(GlobalMemory, address)
    return max(tags_of(memory, 0, CACHED), words_of(memory, 0, CACHED))


def test_a_load_takes_as_long_as_its_busiest_bank_of_tags_or_words() -> None:
    found, loop = timing("places"), 4.7  # the loop around it takes so long
    for name, cycles, *_ in found["lines"]:
        words = Words(noted(found["patterns"][name]))
        expected = passes_of(words.address)
        assert expected == pytest.approx(cycles, abs=0.4) if cycles > loop else expected <= loop, name


@pytest.mark.parametrize("lines", [8, 64, 128, 256, 512, 1024])
def test_the_busiest_slice_of_the_l2_has_as_many_lines_as_measured(lines: int) -> None:
    measured = 4 * np.bincount(timing("places")["slices"][: lines // 4]).max()
    assert np.bincount([slice_of(line) for line in range(lines)]).max() == measured
