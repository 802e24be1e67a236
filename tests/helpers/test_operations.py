"""What operations are compared with: numbers with a sign, predicates as bits, edge cases."""

import pytest

from helpers.assembler import instruction
from helpers.operations import ODD, compare, signed, with_predicate, words


def test_numbers_with_a_sign() -> None:
    assert [signed(v) for v in (0, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32)] == [0, 2**31 - 1, -(2**31), -1, 0]
    assert [signed(v, 8) for v in (127, 128, 255, -1)] == [127, -128, -1, -1]


def test_predicates_as_bits() -> None:
    assert with_predicate([0b1010101], 1, True) == 0b1010111
    assert with_predicate([0b1010101], 0, False) == 0b1010100
    assert with_predicate([0b1010101], 7, False) == 0b1010101, "PT cannot be set"


def test_operands_are_odd_ones_and_the_same_in_every_run() -> None:
    assert (words(1) == words(1)).all()
    assert (words(1) != words(2)).any()
    assert set(ODD) <= set(words().ravel().tolist())


@pytest.mark.parametrize("engine", ["numpy", "llvm"])
def test_a_wrong_result_is_noticed(engine: str) -> None:
    compare(["IADD3 R20, R8, R9, RZ"], lambda n, r, p: (r[0] + r[1],), engine)
    with pytest.raises(AssertionError, match="IADD3"):
        compare(["IADD3 R20, R8, R9, RZ"], lambda n, r, p: (r[0] + r[1] + 1,), engine)


def test_an_instruction_is_its_text() -> None:
    assert instruction("LDS.U.128 R4, [R2+0x10]").opcode == "LDS.U.128"
