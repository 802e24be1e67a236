"""A pipeline of a loading warp and a multiplying group of warps, as CUTLASS has them for sm_90a, on both engines."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import banksim
from helpers.operations import ENGINES
from helpers.places import KERNELS

FILE = KERNELS / "warp_specialised.cu"


@cache
def kernel() -> Any:
    return banksim.load(FILE, "sm_90a")["product"]


def halves(rows: int, k: int) -> np.ndarray:
    """Small whole numbers, at a multiple of 64 bytes."""
    raw = np.zeros(2 * rows * k + 64, np.uint8)
    start = -raw.ctypes.data % 64
    out = raw[start : start + 2 * rows * k].view(np.float16).reshape(rows, k)
    out[...] = np.random.default_rng(rows).integers(-8, 9, (rows, k))
    return out


@ENGINES
@pytest.mark.parametrize("k", [64, 320])
def test_a_product(engine: str, k: int) -> None:
    a, b = halves(128, k), halves(64, k)
    c = np.zeros((128, 64), np.float32)
    maps = [banksim.tensor_map(a, (64, 64), swizzle=128), banksim.tensor_map(b, (32, 64), swizzle=128)]
    run = banksim.run(kernel(), (2, 2), 256, [*maps, c, k], dynamic_shared=3 * 12288, engine=engine)
    np.testing.assert_array_equal(c, a.astype("f4") @ b.astype("f4").T)
    products = [s for s in run.conflicts.sites if s.op == "wgmma"]
    bytes_read = (64 + 32) * 2 * k  # of a block
    assert sum(s.transactions or 0 for s in products) == 4 * bytes_read / 128
    assert {s.op for s in run.conflicts.sites} == {"wgmma", "bulk"}


def test_no_race_is_found() -> None:
    a, b, c = halves(128, 320), halves(64, 320), np.zeros((128, 64), np.float32)
    maps = [banksim.tensor_map(a, (64, 64), swizzle=128), banksim.tensor_map(b, (32, 64), swizzle=128)]
    checks = ("races", "uninitialized")
    run = banksim.run(kernel(), (2, 2), 256, [*maps, c, 320], dynamic_shared=3 * 12288, check=checks)
    np.testing.assert_array_equal(c, a.astype("f4") @ b.astype("f4").T)
    assert not run.findings
