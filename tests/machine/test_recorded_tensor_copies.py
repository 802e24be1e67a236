"""Copies of tensors by descriptors as an H200 does them: maps, what is copied where, and what is illegal."""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
import tensor_copies as recorder
from tensor_copies import Case

import banksim
from banksim.errors import Fault
from banksim.machine.tensor_maps import FLUSHED, NANS, TF32, Im2col, MappedArray, TensorMap
from helpers import recordings

CASES = list(enumerate(recorder.cases()))
GROUPS = ("load", "store", "im2col load", "im2col store", "reduction")
KINDS = (0, 1, 2, 3, 4, 5, 6, 7, 9, 10, FLUSHED, 7, FLUSHED)
"""PTX's numbers of the driver's types."""
PROMOTION = np.array([0xFF] * 10 + [0xF9] + [0xFF] * 53, np.uint8)
"""A mask of all bits of a map but those that say how much the L2 cache fetches."""
RECORDED = recordings.arrays("tensor_copies")


def group(case: Case) -> str:
    if case.how >= min(recorder.REDUCED):
        return "reduction"
    return f"{'im2col ' * bool(case.corners)}{'store' if case.stores else 'load'}"


def map_of(case: Case, address: int) -> TensorMap:
    im2col = Im2col(case.corners[0], case.corners[1], case.corners[2][1]) if case.corners else None
    return TensorMap(
        address=address + case.start,
        kind=KINDS[case.kind],
        sizes=case.sizes,
        strides=case.strides,
        box=case.box,
        steps=case.steps,
        swizzle=(0, 32, 64, 128)[case.swizzle],
        flags=case.interleave << 11 | NANS * case.fill | TF32 * (case.kind >= 11),
        im2col=im2col,
    )


@dataclass(frozen=True, eq=False)
class Given(MappedArray):
    """An array, seen through the map of a case."""

    case: Case = field(kw_only=True)

    def at(self, address: int) -> bytes:
        return map_of(self.case, address).encoded()


def bytes_of(case: Case) -> int:
    """Those that come; the recorder took an interleaved tensor for one of elements, and waited in vain for as many."""
    if not case.interleave:
        return case.bytes
    counts = [-(-n // step) for n, step in zip(case.box, case.steps, strict=True)]
    return 16 * case.interleave * math.prod(counts) // counts[-2]


def outcome(number: int, case: Case, engine: str) -> int:
    """What `recorder.convert` keeps of a case; 0 for an illegal instruction."""
    before = recorder.memory(case.kind, number % 7)
    room = np.zeros(before.size + 128, np.uint8)
    start = -room.ctypes.data % 128
    space = room[start : start + before.size]
    space[:] = before
    at, told = np.zeros(8, np.int32), np.zeros(16, np.int32)
    at[: len(case.at)], at[5 : 5 + len(case.offsets)] = case.at, case.offsets
    size = case.span + 256 & ~127
    m = Given(space, (), 0, (), case=case)
    try:
        if case.stores:
            given = recorder.memory(case.kind, 100 + number % 5)[:size].copy()
            args = [m, case.how, at, given, 1, size, told]
            banksim.run(recordings.kernels("tensor_copies")["store"], 1, 64, args, dynamic_shared=65536, engine=engine)
            changed = np.flatnonzero(space != before).astype(np.int32)
            return int(recorder.digest(changed, space[changed]))
        out = np.zeros(size, np.uint8)
        args = [m, case.how, at, out, bytes_of(case), 1, size, told]
        banksim.run(recordings.kernels("tensor_copies")["load"], 1, 64, args, dynamic_shared=65536, engine=engine)
    except Fault as fault:
        if "an illegal instruction on the GPU" not in str(fault):
            raise
        return 0
    assert told[0] == 1, "all bytes came"
    return int(recorder.digest(out))


def test_maps_are_the_drivers() -> None:
    for number, case in CASES:
        if RECORDED["map"][number].any():
            mine = np.frombuffer(map_of(case, 0).encoded()[:64], np.uint8)
            np.testing.assert_array_equal(mine & PROMOTION, RECORDED["map"][number] & PROMOTION, str(case))


@pytest.mark.parametrize("what", GROUPS)
def test_copies(what: str) -> None:
    refused = 0
    for number, case in CASES:
        if group(case) != what:
            continue
        if what == "reduction" and case.kind in (5, 10) and not RECORDED["outcome"][number]:
            refused += 1  # types that a reduction does not take
            continue
        assert outcome(number, case, "llvm") == RECORDED["outcome"][number], (number, case)
    assert refused <= 4


def test_copies_on_the_other_engine() -> None:
    for what in GROUPS:
        found = [(number, case) for number, case in CASES if group(case) == what]
        for number, case in found[:: len(found) // 3]:
            if RECORDED["outcome"][number]:
                assert outcome(number, case, "numpy") == RECORDED["outcome"][number], (number, case)


@pytest.mark.parametrize("what", ["load", "store"])
def test_rows_begin_at_multiples_of_16_bytes(what: str) -> None:
    """As an H200 showed in 56 of 75 loads from elsewhere, which all stopped at an illegal instruction."""
    case = Case(2, 2, (20, 8), (80,), (8, 2), (1, 1), (2, 0), stores=what == "store", bytes=64)
    assert not outcome(0, case, "llvm")
