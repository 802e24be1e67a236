"""Runs the kernel of tests/data/timing/counters.cu as it was written over for each recording, and gives what its warps'
clocks read."""

from functools import cache

import numpy as np

import banksim
from banksim.kernels.cubin import decode
from helpers.recordings import clocked, clocks_of, numbers, variant


@cache
def both(file: str, label: str, active: int, roles: int) -> list[np.ndarray]:
    """Clocks (warp of the sub-core, reading) of the last pass, simulated and measured; 0: there is none."""
    clocks = np.zeros((32, 40), np.uint32)
    given = [clocks, np.resize(numbers(), 8192), np.uint32(active), np.uint32(roles)]
    kernel = decode(variant(file, label))["counters"]
    banksim.run(kernel, 1, 32 * active.bit_length(), given, dynamic_shared=45056, timing=True)
    measured = clocks_of(clocked(file)[0], names=label, active=active, roles=roles)
    return [clocks[::4].astype(np.int64), measured.astype(np.int64)]


def error(file: str, label: str, active: int, roles: int) -> float:
    """Of the cycles from the first reading to the last."""
    mine, theirs = (int(np.ptp(clocks[clocks != 0])) for clocks in both(file, label, active, roles))
    return mine / theirs - 1
