"""LLVM reads what is written as it is meant."""

import llvmlite.binding as llvm
import pytest

from banksim.machine.llvm import ir
from banksim.machine.llvm.builder import Builder
from banksim.machine.llvm.values import FLOAT, INT, POINTER, VOID


@pytest.mark.parametrize(
    ("kind", "number", "read"),
    [
        (FLOAT[16], 1.5, "half 0xH3E00"),
        (FLOAT[16], float("-inf"), "half 0xHFC00"),
        (FLOAT[32], 0.1, "float 0x3FB99999A0000000"),
        (FLOAT[64], 0.1, "double 1.000000e-01"),
        (INT[32], -1, "i32 -1"),
        (INT[32], 0xFFFFFFFF, "i32 -1"),
        (ir.VectorType(INT[32], 2), [INT[32](1), INT[32](2)], "<2 x i32> <i32 1, i32 2>"),
        (ir.VectorType(INT[1], 2), INT[1](1), "<2 x i1> splat (i1 true)"),
        (ir.VectorType(INT[64], 2), None, "<2 x i64> zeroinitializer"),
        (POINTER, None, "ptr null"),
        (INT[8], ir.UNDEFINED, "i8 undef"),
    ],
)
def test_constants(kind: ir.Type, number: object, read: str) -> None:
    module = ir.Module()
    function = ir.Function(module, kind, [], "one")
    Builder(function.append_basic_block()).ret(ir.Constant(kind, number))
    assert f"ret {read}\n" in str(llvm.parse_assembly(str(function)))


def test_what_is_done_only_if_something_holds() -> None:
    """Blocks go on behind it, unless they have gone elsewhere, and LLVM knows which way is likely."""
    module = ir.Module()
    function = ir.Function(module, VOID, [INT[1], POINTER], "one")
    condition, where = function.args
    b = Builder(function.append_basic_block())
    with b.if_then(condition, likely=False):
        b.ret_void()
    with b.if_else(condition) as (then, otherwise):
        with then:
            b.store(INT[8](1), where)
        with otherwise:
            b.store(INT[8](2), where)
    b.ret_void()
    (parsed,) = llvm.parse_assembly(str(function) + ir.WEIGHTS).functions
    opcodes = [[instruction.opcode for instruction in block.instructions] for block in parsed.blocks]
    assert opcodes == [["br"], ["ret"], ["br"], ["store", "br"], ["store", "br"], ["ret"]]
    assert [str(parsed).count(f"!prof !{number}") for number in (0, 1)] == [1, 0], "of all that is written, one is used"
