"""Sequences of floats and integers that were written at random, one warp over and over, beside what one H200 took."""

import dataclasses
from functools import cache

import numpy as np
import pytest

import banksim
from banksim.kernels.cubin import decode
from banksim.kernels.kernel import BYTES, Instruction, Kernel
from helpers.recordings import clocked

FEW, MANY = 4, 12
"""Rounds."""


@cache
def kernel() -> Kernel:
    """The kernel into whose loop the sequences were written."""
    return decode(clocked("timing/h200_collector")[0]["cubin"].tobytes())["uniform6"]


@cache
def instructions() -> dict[bytes, Instruction]:
    """What all of their words mean, decoded some at a time."""
    arrays = clocked("timing/h200_collector")[0]
    words = np.unique(arrays["bodies"].reshape(-1, BYTES), axis=0)
    size = arrays["bodies"].shape[1] // BYTES
    found = {}
    for start in range(0, len(words), size):
        some = np.resize(words[start : start + size], (size, BYTES))
        code, begin = bytearray(arrays["cubin"].tobytes()), int(arrays["begin"])
        code[begin : begin + some.size] = some.tobytes()
        decoded = decode(bytes(code))["uniform6"].instructions[int(arrays["first"]) :]
        found |= {word.tobytes(): one for word, one in zip(some, decoded, strict=False)}
    return found


def taken(body: np.ndarray, name: str) -> int:
    """Cycles that MANY rounds take beyond FEW."""
    code, first = list(kernel().instructions), int(clocked("timing/h200_collector")[0]["first"])
    for n, word in enumerate(body.reshape(-1, BYTES), first):
        code[n] = dataclasses.replace(instructions()[word.tobytes()], pc=BYTES * n)
    written = dataclasses.replace(kernel(), instructions=tuple(code), cubin=name.encode(), registers=128)
    cycles = []
    for rounds in (FEW, MANY):
        clocks, out = np.zeros((32, 2), np.uint32), np.zeros(1024, np.uint32)
        given = [clocks, out, *map(np.uint32, (rounds, 1, 2, 3, 4))]
        banksim.run(written, 1, 32, given, dynamic_shared=16 * 1024, timing=True)
        cycles.append(int(clocks[0, 1]) - int(clocks[0, 0]))
    return cycles[1] - cycles[0]


@pytest.mark.parametrize("kind", ["floats", "mixed", "kinds", "reused", "fresh", "matrix"])
def test_one_warp_takes_what_it_took(kind: str) -> None:
    """Multiply-adds with registers of either bank; beside sums, logic and minima; each of these among multiply-adds;
    with registers that the reuse cache has; and with results that are four to ten cycles old;
    and shuffles and stores to shared memory one or two cycles before or behind a product of matrices."""
    arrays = clocked("timing/h200_collector")[0]
    rows = [n for n, name in enumerate(arrays["names"].tolist()) if name.split()[0] == kind]
    for n in rows:
        measured = int(np.diff(arrays["cycles"][n])[0])
        assert taken(arrays["bodies"][n], arrays["names"][n]) == measured, arrays["names"][n]
