"""Runs the kernels of tests/data/timing/streams.cubin, unmodified, and gives what their clocks read."""

from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

import banksim
from helpers.places import DATA, loaded

ROUNDS, PASSES, COUNT = 8, 3, 24
KINDS = ("ld_4", "ld_8", "ld_16", "st_4", "st_8", "st_16", "atom_4")
WARPS = (1, 2, 4, 8, 16, 32)
T0, T1, T2 = range(3)
Clocks = npt.NDArray[np.int64]


@cache
def arrays(name: str) -> dict[str, npt.NDArray[Any]]:
    with np.load(DATA / name) as file:
        return dict(file)


module = partial(loaded, DATA / "timing" / "streams.cubin")


def streams() -> dict[str, npt.NDArray[Any]]:
    return arrays("timing/h200_streams.npz")


def lines() -> dict[str, npt.NDArray[Any]]:
    return arrays("timing/h200_lines.npz")


def since_first(clocks: npt.NDArray[Any]) -> Clocks:
    """(warps, readings) since the earliest first reading."""
    wide = clocks.astype(np.int64)
    return wide - wide[:, 0].min()


def stream(kind: str, block: int, warps: int) -> tuple[Clocks, Clocks]:
    """(warps, 3) of a warm pass of one measured block: simulated, measured; T0, T1, T2 since the earliest T0."""
    rows = streams()[f"stream_{kind}_request"][block]
    used, row = np.unique(rows, return_inverse=True)
    address = arrays("h200_requests.npz")["address"][used].astype(np.uint32)
    time, out = np.zeros((warps, PASSES, 3), np.uint32), np.zeros(16, np.uint32)
    arguments = [address, row.reshape(rows.shape).astype(np.int32), 1, ROUNDS, time, out]
    banksim.run(module()[f"stream_{kind}"], 1, 32 * warps, arguments, dynamic_shared=200 * 1024, timing=True)
    measured = streams()[f"stream_{kind}_{warps}_time"][block]
    return since_first(time[:, -1]), since_first(measured[:, -1])


def line(kind: str, case: int) -> tuple[list[int], Clocks, Clocks]:
    """The warps that took part; (those, COUNT + 1) clocks at the start and behind each issue: simulated, measured."""
    active, width = int(lines()["active"][case]), kind.split("_")[1]
    address = np.zeros((32, 32), np.uint32)
    known = lines()[f"line_{width}_address"][case]
    address[: len(known)] = known
    time, out = np.zeros((32, PASSES, 2 * COUNT + 1), np.uint32), np.zeros(16, np.uint32)
    kernel = module()[f"line_{kind}"]
    banksim.run(
        kernel, 1, 32 * active.bit_length(), [address, active, time, out], dynamic_shared=200 * 1024, timing=True
    )
    warps = [w for w in range(32) if active >> w & 1]
    measured = lines()[f"line_{kind}_time"][case]
    return warps, *(since_first(t[warps, -1, : COUNT + 1]) for t in (time, measured))


def block_error(kind: str, block: int, warps: int) -> float:
    """By which part of the measured block time the simulated one differs."""
    last = T2 if kind.startswith("st") else T1
    simulated, measured = stream(kind, block, warps)
    return float(simulated[:, last].max() / measured[:, last].max() - 1)
