"""Runs the kernel of tests/data/timing/counters.cu as it was written over for each recording, and gives what its warps'
clocks read."""

from functools import cache

import numpy as np

import banksim
from banksim.kernels.cubin import decode, decode_ahead
from helpers.recordings import clocked, clocks_of, numbers, written_over


def code(file: str, label: str) -> bytes:
    """The kernel that ran: both parts of one kernel's code were written over."""
    arrays, _ = clocked(file)
    return written_over(arrays["cubin"], int(arrays["begin"]), arrays["bodies"][arrays["labels"].tolist().index(label)])


def decode_all(file: str) -> None:
    """The kernels of all tests, with one start of nvdisasm."""
    decode_ahead(code(file, label) for label in clocked(file)[0]["labels"].tolist())


@cache
def both(file: str, label: str, active: int, roles: int) -> list[np.ndarray]:
    """Clocks (warp of the sub-core, reading) of the last pass, simulated and measured; 0: there is none."""
    clocks = np.zeros((32, 40), np.uint32)
    given = [clocks, np.resize(numbers(), 8192), np.uint32(active), np.uint32(roles)]
    kernel = decode(code(file, label))["counters"]
    banksim.run(kernel, 1, 32 * active.bit_length(), given, dynamic_shared=45056, timing=True)
    measured = clocks_of(clocked(file)[0], names=label, active=active, roles=roles)
    return [clocks[::4].astype(np.int64), measured.astype(np.int64)]


def error(file: str, label: str, active: int, roles: int) -> float:
    """Of the cycles from the first reading to the last."""
    mine, theirs = (int(np.ptp(clocks[clocks != 0])) for clocks in both(file, label, active, roles))
    return mine / theirs - 1
