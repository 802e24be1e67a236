"""LLVM reads what is written as it is meant."""

import llvmlite.binding as llvm
import pytest

from banksim.machine.llvm import ir
from banksim.machine.llvm.builder import Builder
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.values import FLOAT, INT, POINTER, VOID, WORDS


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


def test_a_value_is_computed_once_in_a_block() -> None:
    function = ir.Function(ir.Module(), INT[32], [INT[32], INT[32], POINTER], "one")
    v, w, where = function.args
    b = Builder(function.append_basic_block())
    first = b.add(v, w)
    assert b.add(v, w) is first
    assert b.add(w, v) is not first
    assert b.load(where, INT[32]) is not b.load(where, INT[32]), "memory may have changed"
    b.position_at_end(function.append_basic_block())
    assert b.add(v, w) is not first, "this block may be reached without the other"


@pytest.mark.parametrize("length", range(9))
def test_a_long_block_is_several_for_llvm(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which takes a time that grows with the square of a block's length. They do what the block does."""
    monkeypatch.setattr(ir, "MOST_LINES", 3)
    module = ir.Module()
    function = ir.Function(module, INT[32], [INT[32]], "one")
    b = Builder(function.append_basic_block())
    long, end = (b.append_basic_block(name) for name in ("long", "end"))
    b.branch(long)
    b.position_at_end(long)
    before = b.phi(INT[32])
    before.add_incoming(function.args[0], function.entry_basic_block)
    total: ir.Value = before
    for _ in range(length):
        total = b.add(total, function.args[0])
    before.add_incoming(total, long)
    b.cbranch(b.icmp_unsigned("<", total, INT[32](99)), long, end)
    b.position_at_end(end)
    after = b.phi(INT[32])
    after.add_incoming(total, long)
    b.ret(b.call(function, [after], tail="musttail "))
    (parsed,) = llvm.parse_assembly(str(function)).functions
    opcodes = [[instruction.opcode for instruction in block.instructions] for block in parsed.blocks]
    assert all(len(block) <= 3 + 2 for block in opcodes), "what ends a piece, and two lines that belong together"
    assert opcodes[0] == ["br"]
    assert opcodes[-1] == ["phi", "call", "ret"]
    written = [opcode for block in opcodes[1:-1] for opcode in block]
    assert written.count("br") == len(opcodes) - 2
    assert [opcode for opcode in written if opcode != "br"] == ["phi", *["add"] * length, "icmp"]


def test_what_changes_nothing_is_not_written() -> None:
    function = ir.Function(ir.Module(), VOID, [INT[32], WORDS], "one")
    v, words = function.args
    b = Builder(function.append_basic_block())
    zeros = [ir.Constant(WORDS, None), ir.Constant(WORDS, INT[32](0))]
    assert all(f(words, zero) is words for f in (b.add, b.sub, b.or_, b.xor, b.shl, b.lshr, b.ashr) for zero in zeros)
    assert all(f(INT[32](0), v) is v for f in (b.add, b.or_, b.xor))
    assert b.mul(v, INT[32](1)) is v is b.mul(INT[32](1), v)
    assert b.bitcast(b.bitcast(v, FLOAT[32]), INT[32]) is v
    assert [len(block.lines) for block in function.blocks] == [1], "the cast to a float alone"
    others = [
        b.sub(INT[32](0), v),
        b.shl(INT[32](0), v),
        b.mul(v, INT[32](0)),
        b.add(words, ir.Constant(WORDS, [INT[32](0)] * 31 + [INT[32](1)])),
    ]
    assert not {v, words} & {*others}


def test_routines_of_a_kind_are_built_once() -> None:
    built: list[str] = []
    emitters = [Emitter(ir.Module()) for _ in range(4)]

    def asked(e: Emitter, kind: str, fails: bool = False) -> ir.Function:
        def inner() -> None:
            e.b.ret_void()

        def outer() -> None:
            built.append(kind)
            assert not fails
            e.b.call(e.kept(kind, "inner", VOID, [], inner), [])
            e.b.call(asked(e, kind), [])
            e.b.ret_void()

        return e.kept(kind, "outer", VOID, [], outer)

    first, second, third, fourth = emitters
    for e in emitters:
        e.function = ir.Function(e.module, VOID, [], "kernel")
        e.b = Builder(e.function.append_basic_block())
    with pytest.raises(AssertionError):
        asked(fourth, "one kind", fails=True)
    assert asked(first, "one kind") is asked(first, "one kind") is asked(second, "one kind")
    assert asked(third, "another") is not asked(first, "one kind")
    assert built == ["one kind", "one kind", "another"]
    assert all({"outer", "inner"} < {*e.module.functions} for e in (first, second, third))
    assert {*fourth.module.functions} == {"kernel"}
