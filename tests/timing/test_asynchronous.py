"""The time of what a warp starts and does not wait for: copies that form groups or that mbarriers count, and products
of groups of warps."""

import itertools
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import async_latency as recorder
import numpy as np
import pytest

import banksim
from banksim.kernels.compilers import assemble
from banksim.kernels.cubin import decode
from banksim.kernels.kernel import Kernel
from helpers.places import KERNELS, TESTS, loaded
from helpers.recordings import arrays


@cache
def kernel(name: str) -> Any:
    return banksim.load(KERNELS / "asynchronous.cu", "sm_90a")[name]


def clocks(name: str, threads: int, *given: Any, dynamic_shared: int = 0) -> tuple[np.ndarray, Any]:
    """What a kernel of one block reads, and its simulated cycles."""
    out = np.zeros(4, np.uint32)
    run = banksim.run(kernel(name), 1, threads, [out, *given], dynamic_shared=dynamic_shared, timing=True, cluster=1)
    assert run.cycles is not None
    return out.astype(np.int64), run.cycles


def test_a_warp_waits_for_its_copies() -> None:
    out, cycles = clocks("groups", 32, np.zeros(256, np.float32))
    committed, first, second = out[:3]
    assert 200 < first - committed < 800
    assert 0 < second - first < 100
    assert cycles.spent.memory > 200


def test_a_warp_waits_until_another_arrives() -> None:
    out, cycles = clocks("late", 64, 3000)
    assert abs(int(out[1] - out[3])) < 60
    assert out[1] - out[0] > 3000
    assert cycles.spent.barrier > 2500


@pytest.mark.parametrize("noinc", [0, 1])
def test_copies_that_arrive_at_an_mbarrier_end_its_phase_once_they_have_come(noinc: int) -> None:
    committed, first, *_ = clocks("groups", 32, np.zeros(256, np.float32))[0]
    out, cycles = clocks("counted", 32, np.zeros(256, np.float32), noinc)
    assert abs(int((out[1] - out[0]) - (first - committed))) < 60
    assert cycles.spent.barrier > 200


@pytest.mark.parametrize("by_bytes", [0, 1])
def test_the_last_of_many_mbarriers_is_waited_for(by_bytes: int) -> None:
    out, _ = clocks("many", 64, 200, 3000, by_bytes, dynamic_shared=1600)
    assert out[3] - out[2] > 3000
    assert abs(int(out[1] - out[3])) < 150


@pytest.mark.parametrize("own", [24, 8])
def test_each_mbarrier_has_a_time_of_its_own_beyond_the_block_s_memory_too(own: int) -> None:
    start, fast, slow, _ = clocks("two", 1, np.zeros(4096, np.uint8), 4096, dynamic_shared=own)[0]
    assert fast - start < 200
    assert slow - fast > 200


def test_a_given_latency_of_global_memory_is_that_of_bulk_copies_too() -> None:
    out = np.zeros(4, np.uint32)
    given = [out, np.zeros(4096, np.uint8), 4096, 0]
    run = banksim.run(kernel("bulk"), 1, 32, given, dynamic_shared=4096, timing=True, global_latency=3000)
    assert 3000 < int(out[1] - out[0]) < 3400
    assert run.cycles is not None
    assert run.cycles.waited_assumed > 2500


def test_bulk_copies_take_the_longer_the_larger_they_are() -> None:
    rows = []
    for size in (128, 4096, 32768):
        out, cycles = clocks("bulk", 32, np.zeros(32768, np.uint8), size, 0, dynamic_shared=32768)
        rows.append((out[1] - out[0], out[3] - out[2]))
        assert cycles.spent.barrier > 0.5 * rows[-1][0]
    for smaller, larger in itertools.pairwise(rows):
        assert smaller[0] < larger[0]
        assert smaller[1] < larger[1]
    assert rows[0][0] > 300


def test_a_phase_that_is_polled_is_over_no_sooner() -> None:
    waited, polled = (clocks("bulk", 32, np.zeros(4096, np.uint8), 4096, n, dynamic_shared=4096)[0] for n in (0, 1))
    assert abs(int((waited[1] - waited[0]) - (polled[1] - polled[0]))) < 60


COPIES: list[tuple[str, tuple[int, ...]]] = [
    ("bulk_in_", (512, 1)), ("bulk_in_", (4096, 8)), ("bulk_in_", (65536, 2)), ("bulk_out_", (2048, 8)),
    ("bulk_out_", (65536, 1)), ("bulk_add_", (512, 8)), ("tensor_in_", (32768, 128, 3, 1)),
    ("tensor_in_", (8192, 128, 0, 8)), ("tensor_in_", (8192, 32, 1, 8)), ("tensor_in_", (4096, 16, 0, 2)),
    ("tensor_out_", (16384, 64, 2, 1)), ("tensor_out_", (4096, 16, 0, 8)), ("tensor_add_", (4096, 128, 3, 1)),
]  # fmt: skip
"""Kernels of the recorder; of each copy the bytes, a row's bytes and the swizzle of its box, and how many there are."""


def copy_clocks(name: str, size: int, row: int, swizzle: int, count: int) -> float:
    """The median over the warm passes of a kernel's last reading, in simulated time."""
    readings, passes = 3 if name.endswith("in_") else 4, 6
    time = np.zeros((passes, readings), np.uint32)
    room = np.zeros((1 << 22) + 128, np.uint8)
    buffer = room[-room.ctypes.data % 128 :][: 1 << 22].view(np.float32)
    columns, rows = (row // 4, size // row) if name.startswith("tensor") else (32, 8)
    image = banksim.tensor_map(buffer.reshape(-1, columns), (rows, columns), swizzle=(0, 32, 64, 128)[swizzle])
    given = [time, buffer, image, size, rows, count, passes]
    banksim.run(recorded_kernels()[name], 1, 32, given, dynamic_shared=recorder.SHARED, timing=True)
    return float(np.median(time[1:, -1].astype(np.int64) - time[1:, 0]))


recorded_kernels = partial(loaded, TESTS / "hardware" / "async_latency.cu", "sm_90a")


@pytest.mark.parametrize(("name", "how"), COPIES, ids=lambda part: str(part))
def test_copies_take_what_they_took(name: str, how: tuple[int, ...]) -> None:
    """Within 10 % of an H100's clock, for boxes of narrow rows too."""
    size, row, swizzle, count = how if len(how) == 4 else (how[0], how[0], 0, how[1])
    recorded = arrays("timing/asynchronous")
    cases = recorded[f"{name}_case"].tolist()
    [case] = [n for n, one in enumerate(cases) if one == [1, size, row, size // row, swizzle, count]]
    measured = recorded[name][case, 1 if name.endswith("in_") else 2]
    assert abs(copy_clocks(name, size, row, swizzle, count) / measured - 1) <= 0.1


PRODUCTS = [
    ("product_f16_n128_ss_1_4_0", 1),
    ("product_f16_n128_ss_1_4_0", 2),
    ("product_e4m3_n8_ss_1_4_0", 1),
    ("product_f16_n64_rs_1_4_0", 1),
]
"""Kernels, and how many groups of warps run each."""


@cache
def products() -> Mapping[str, Kernel]:
    chosen = {name for name, _ in PRODUCTS}
    texts = [recorder.product(*how) for how in recorder.variants() if recorder.label(*how) in chosen]
    return decode(assemble("\n".join([".version 8.4", ".target sm_90a", ".address_size 64", *texts]), "sm_90a"))


def product_clocks(name: str, groups: int) -> int:
    """When the last warp has its sums, since the first began, in simulated time."""
    time = np.zeros((4 * groups, 2, 3), np.uint32)
    swizzled = 16 >> 4 << 16 | 1024 >> 4 << 32 | 1 << 62
    given = [time, 2, swizzled | 64, swizzled | 1088]
    banksim.run(products()[name], 1, 128 * groups, given, dynamic_shared=40 << 10, timing=True)
    return int((time[:, 1] - time[:, 1, 0].min()).max())


@pytest.mark.parametrize(("name", "groups"), PRODUCTS)
def test_products_take_what_they_took(name: str, groups: int) -> None:
    """Within 5 % of an H100's clock."""
    recorded = arrays("timing/asynchronous")
    [case] = np.flatnonzero(recorded[f"{name}_case"][:, 0] == groups)
    measured = recorded[name][case, 3]
    assert abs(product_clocks(name, groups) / measured - 1) <= 0.05
