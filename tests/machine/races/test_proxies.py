"""Races of bulk copies, tensor copies and products of warp groups: planted ones are found at their lines, correct
pipelines give nothing."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.machine.races.findings import Race
from helpers.places import KERNELS, TRITON, loaded
from helpers.planted_races import marked

FILE = KERNELS / "proxies.cu"
MARKED = marked(FILE, r"KERNEL\((\w+)\)")


kernels = partial(loaded, FILE, "sm_90a")


def found(name: str) -> list[Any]:
    raw = np.zeros(4096 + 64, np.uint8)
    start = -raw.ctypes.data % 64
    table = raw[start : start + 4096].view(np.int32).reshape(32, 32)
    arguments = [banksim.tensor_map(table, (32, 32)), np.zeros(1024, np.int32), np.zeros(1024, np.int32)]
    return list(banksim.run(kernels()[name], 2, 128, arguments, check="races").findings)


@pytest.mark.parametrize("name", MARKED)
def test_planted(name: str) -> None:
    races, barriers = MARKED[name]
    assert bool(races) == name.startswith("racy_")
    got = found(name)
    if "group" not in name:  # ptxas gives a product in a loop some line of the loop
        assert {side.site.line for race in got for side in (race.first, race.second)} == races
    assert {race.second.site.line for race in got} <= races
    assert {race.barrier.line for race in got if race.barrier} == barriers


@pytest.mark.parametrize(
    ("name", "first", "second", "wanted"),
    [
        ("racy_product_without_fence", "write", "read by wgmma", {"fence.proxy.async"}),
        ("racy_store_without_fence", "write", "asynchronous read", {"fence.proxy.async"}),
        ("racy_load_over_what_was_written", "write", "asynchronous write", {"fence.proxy.async"}),
        ("racy_copies_into_a_product_without_fence", "asynchronous write", "read by wgmma", {"fence.proxy.async"}),
        ("racy_product_without_barrier", "write", "read by wgmma", {"__syncthreads()"}),
        (
            "racy_product_not_awaited",
            "read by wgmma",
            "write",
            {"a wait for the products", "a wait for the products and __syncthreads()"},
        ),
        (
            "racy_tensor_store_not_awaited",
            "asynchronous read",
            "write",
            {"a wait for the copy", "a wait for the copy and __syncthreads()"},
        ),
        ("racy_tensor_load_read_at_once", "asynchronous write", "read", {"a wait for the copy"}),
    ],
)
def test_what_is_missing(name: str, first: str, second: str, wanted: set[str]) -> None:
    got = found(name)
    assert {(race.first.kind, race.second.kind) for race in got} == {(first, second)}
    assert {race.barrier.what for race in got} == wanted
    assert {race.unfenced for race in got} == {wanted == {"fence.proxy.async"}}
    assert {race.copying for race in got} == {any("wait" in what for what in wanted)}


def test_a_finding_as_data() -> None:
    """Reports of before there were proxies in them are read as well."""
    from banksim.project.from_plain import finding

    (race,) = found("racy_store_without_fence")
    plain = race.to_json()
    assert plain["unfenced"]
    read = finding(plain, lambda name: name)
    assert isinstance(read, Race)
    assert read.unfenced
    del plain["unfenced"]
    older = finding(plain, lambda name: name)
    assert isinstance(older, Race)
    assert not older.unfenced


def test_a_product_of_triton() -> None:
    """Its threads write tiles, fence, and multiply as a group."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, (128, 128)).astype(np.float16) for _ in range(2))
    c = np.zeros((128, 128), np.float32)
    product = banksim.load(TRITON / "sm_90" / "product.cubin")["product"]
    run = banksim.run(product, (2, 2), 128, [a, b, c, 128], check=("races", "uninitialized"))
    np.testing.assert_array_equal(c, a.astype("f4") @ b.astype("f4"))
    assert not run.findings
