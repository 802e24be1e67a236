"""Resident blocks, held against NVIDIA's own cuda_occupancy.h and published results of its calculator.

tests/data/occupancy.npz: columns compute capability (10 · major + minor), threads, registers, bytes of shared memory,
blocks (0: none fits), as tests/data/occupancy_reference.cpp printed them with the header of CUDA 13.4.
"""

import numpy as np
import pytest

from banksim.architectures.bank_rules import presets
from banksim.architectures.occupancy import limits, occupancy
from banksim.errors import InputError
from helpers.places import DATA

REFERENCE = np.load(DATA / "occupancy.npz")["blocks"]


@pytest.mark.parametrize("capability", np.unique(REFERENCE[:, 0]).tolist())
def test_blocks_are_those_of_nvidias_header(capability: int) -> None:
    rows = REFERENCE[REFERENCE[:, 0] == capability]
    assert len(rows) == 150
    for _, threads, registers, shared, blocks in rows.tolist():
        try:
            found = occupancy(f"sm_{capability}", threads, registers, shared).blocks
        except InputError:
            found = 0
        assert found == blocks, (threads, registers, shared)


@pytest.mark.parametrize(
    ("arch", "threads", "registers", "shared", "blocks"),
    [
        ("sm_10", 256, 10, 0, 3),  # CUDA C Best Practices Guide 2.3: one register more costs a third of the warps
        ("sm_10", 256, 11, 0, 2),
        ("sm_12", 256, 16, 0, 4),
        ("sm_12", 256, 17, 0, 3),
        ("sm_20", 256, 20, 0, 6),  # Occupancy Calculator: 48 of 48 warps with 20 registers, 40 with 21
        ("sm_20", 256, 21, 0, 5),
        ("sm_90", 1024, 32, 0, 2),
        ("sm_90", 128, 0, 227 * 1024, 1),
        ("sm_90", 32, 0, 0, 32),
    ],
)
def test_published_examples(arch: str, threads: int, registers: int, shared: int, blocks: int) -> None:
    assert occupancy(arch, threads, registers, shared).blocks == blocks


def test_what_limits_is_named() -> None:
    found = occupancy("sm_90", 256, 128, 100 * 1024)
    assert (found.blocks, found.warps, found.limited_by) == (2, 16, ("registers", "shared memory"))
    assert found.by == {"warps": 8, "blocks": 32, "registers": 2, "shared memory": 2}
    assert found.share == 0.25


def test_a_carveout_is_rounded_up_to_a_size_that_exists() -> None:
    assert occupancy("sm_90", 128, 0, 31 * 1024, carveout=33 * 1024).blocks == 2
    assert occupancy("sm_90", 128, 0, 31 * 1024, carveout=0).blocks == 1
    assert occupancy("sm_75", 128, 0, 1024, carveout=0).blocks == 8
    assert occupancy("sm_90", 128, 0, 31 * 1024, carveout=1 << 30).blocks == 7


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((0, 32, 0), "blocks of 1 to 1024 threads, not 0"),
        ((1025, 32, 0), "blocks of 1 to 1024 threads, not 1025"),
        ((32, 256, 0), "at most 255 registers, not 256"),
        ((32, 32, 228 * 1024), "at most 232448 bytes of shared memory, not 233472"),
        ((1024, 128, 0), "too few registers for a block of 1024 threads with 128 each"),
    ],
)
def test_blocks_that_no_multiprocessor_holds(given: tuple[int, int, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        occupancy("sm_90", *given)


@pytest.mark.parametrize("name", presets())
def test_every_architecture_has_consistent_limits(name: str) -> None:
    known = limits(name)
    assert known.block_shared + known.reserved <= known.shared == known.carveouts[-1]
    assert known.block_registers <= known.registers
    assert occupancy(name, known.block_threads).blocks >= 1
    most = known.block_shared
    assert occupancy(name, 32, shared=most).blocks == known.shared // (most + known.reserved)
