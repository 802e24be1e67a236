"""Instructions written by hand, on edge cases in 32 lanes, against plain Python numbers."""

from typing import Any

import numpy as np
import pytest

from helpers.assembler import run

ENGINES = pytest.mark.parametrize("engine", ["numpy", "llvm"])

WORD = 1 << 32
ODD = [0, 1, 2, 3, 31, 32, 33, 63, 64, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0x80000001]
ODD += [0xFFFFFFFF, 0xFFFFFFFE, 0x55555555, 0xAAAAAAAA, 0x12345678, 0x80808080]


def words(seed: int = 0) -> Any:
    """Operands of 32 lanes: edge cases and random ones."""
    rng = np.random.default_rng(seed)
    anything = rng.integers(0, WORD, (8, 32), np.uint64)
    return np.where(rng.random((8, 32)) < 0.6, rng.choice(ODD, (8, 32)), anything).astype(np.uint32)


def signed(v: int, bits: int = 32) -> int:
    v %= 1 << bits
    return v - (1 << bits) if v >> (bits - 1) else v


def parts(v: int, bits: int, sign: bool = False) -> list[int]:
    """The parts of a word, the lowest first."""
    found = [v >> at & ((1 << bits) - 1) for at in range(0, 32, bits)]
    return [signed(p, bits) for p in found] if sign else found


def joined(found: list[int], bits: int) -> int:
    """The word of these parts."""
    return sum((p & ((1 << bits) - 1)) << at for p, at in zip(found, range(0, 32, bits), strict=True))


def compare(lines: list[str], expected: Any, engine: str, seed: int = 0) -> None:
    """`expected(n, lane registers R8 …, predicates)` → what R20, R21 and the predicates are; None where unchecked."""
    values = words(seed)
    out = run(lines, values, engine)
    for n, line in enumerate(lines):
        for lane in range(32):
            registers = [int(v) for v in values[:, lane]]
            predicates = [bool(registers[0] >> k & 1) for k in range(7)] + [True]
            want = expected(n, registers, predicates)
            for name, got, v in zip(("R20", "R21", "P"), out[n, :, lane], want, strict=False):
                if v is not None:
                    report = f"{line}: {name} is {got:#x}, not {v % WORD:#x}, of {list(map(hex, registers))}"
                    assert got == v % WORD, report


def with_predicate(registers: list[int], number: int, value: bool) -> int:
    """The predicates as bits, after P`number` was set."""
    bits = registers[0] & 0x7F
    return bits & ~(1 << number) | value << number if number < 7 else bits
