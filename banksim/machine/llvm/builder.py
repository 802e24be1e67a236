"""Instructions of LLVM, each written at the end of a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Literal

from banksim.machine.llvm.ir import (
    BOOL,
    POINTER,
    VOID,
    Block,
    Constant,
    Function,
    Phi,
    Recast,
    Slot,
    StructType,
    Switch,
    Type,
    Value,
    VectorType,
    as_many,
    listed,
)

Binary = Callable[["Builder", Value, Value], Value]
Cast = Callable[["Builder", Value, Type], Value]
Compare = Callable[["Builder", str, Value, Value], Value]


def binary(opcode: str, neutral: int | None = None, either: bool = False) -> Binary:
    """`neutral`: the number by which the first value stays as it is; `either`: by which the second does, too. Then no
    instruction is written, which LLVM would have to read and to take away again."""

    def write(b: Builder, one: Value, other: Value) -> Value:
        if neutral is not None:
            if isinstance(other, Constant) and other.is_all(neutral):
                return one
            if either and isinstance(one, Constant) and one.is_all(neutral):
                return other
        return b.value(one.type, f"{opcode} {one.type.text} {one.text}, {other.text}")

    return write


def cast(opcode: str) -> Cast:
    def write(b: Builder, value: Value, type: Type) -> Value:
        if value.type == type:
            return value
        return b.value(type, f"{opcode} {value.type.text} {value.text} to {type.text}")

    return write


def compare(opcode: str, kind: str, equal: str = "") -> Compare:
    names = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
    known = {sign: kind + name for sign, name in names.items()} | {"==": equal + "eq", "!=": equal + "ne"}

    def write(b: Builder, how: str, one: Value, other: Value) -> Value:
        text = f"{opcode} {known[how]} {one.type.text} {one.text}, {other.text}"
        return b.value(as_many(BOOL, one.type), text)

    return write


Ordering = Literal["monotonic"]


class Builder:
    """Adds instructions at the end of a block."""

    def __init__(self, block: Block) -> None:
        self.block = block

    def position_at_end(self, block: Block) -> None:
        self.block = block

    def append_basic_block(self, name: str) -> Block:
        return self.block.function.append_basic_block(name)

    def name(self) -> str:
        return f"%v{next(self.block.function.numbers)}"

    def write(self, type: Type, text: str) -> Value:
        """An instruction with a result."""
        block = self.block
        name = f"%v{next(block.function.numbers)}"
        block.lines.append(f"  {name} = {text}\n")
        return Value(type, name)

    def value(self, type: Type, text: str) -> Value:
        """An instruction whose result follows from its operands alone: in a block it is written once."""
        known = self.block.values.get(text)
        if known is None:
            known = self.block.values[text] = self.write(type, text)
        return known

    def end(self, line: str | Switch) -> None:
        """The last instruction of a block."""
        assert not self.block.is_terminated
        self.block.lines.append(line)
        self.block.is_terminated = True
        self.block.values.clear()

    # ---- arithmetic
    add, mul = binary("add", 0, either=True), binary("mul", 1, either=True)
    sub, udiv, sdiv, urem = binary("sub", 0), binary("udiv"), binary("sdiv"), binary("urem")
    fadd, fsub, fmul, fdiv = map(binary, ("fadd", "fsub", "fmul", "fdiv"))
    and_, or_, xor = binary("and"), binary("or", 0, either=True), binary("xor", 0, either=True)
    shl, lshr, ashr = binary("shl", 0), binary("lshr", 0), binary("ashr", 0)
    zext, sext, trunc, ptrtoint = map(cast, ("zext", "sext", "trunc", "ptrtoint"))
    fptrunc, fpext, sitofp, uitofp = map(cast, ("fptrunc", "fpext", "sitofp", "uitofp"))
    fptosi, fptoui = map(cast, ("fptosi", "fptoui"))
    icmp_signed, icmp_unsigned = compare("icmp", "s"), compare("icmp", "u")
    fcmp_ordered, fcmp_unordered = compare("fcmp", "o", "o"), compare("fcmp", "u", "u")

    def bitcast(self, value: Value, type: Type) -> Value:
        """The bits as another type. Of a value that was cast itself, the value before is cast: registers hold words,
        and code on floats would be casts there and back."""
        source = value.source if isinstance(value, Recast) else value
        if source.type == type:
            return source
        return Recast(self.value(type, f"bitcast {source.typed} to {type.text}"), source)

    def not_(self, value: Value) -> Value:
        ones = value.type.element(-1) if isinstance(value.type, VectorType) else -1
        return self.xor(value, Constant(value.type, ones))

    def neg(self, value: Value) -> Value:
        return self.sub(Constant(value.type, None), value)

    def fneg(self, value: Value) -> Value:
        return self.value(value.type, f"fneg {value.typed}")

    def select(self, condition: Value, one: Value, other: Value) -> Value:
        return self.value(one.type, f"select {condition.typed}, {one.typed}, {other.typed}")

    # ---- elements
    def extract_element(self, vector: Value, lane: Value) -> Value:
        assert isinstance(vector.type, VectorType)
        return self.value(vector.type.element, f"extractelement {vector.typed}, {lane.typed}")

    def insert_element(self, vector: Value, value: Value, lane: Value) -> Value:
        return self.value(vector.type, f"insertelement {vector.typed}, {value.typed}, {lane.typed}")

    def shuffle_vector(self, one: Value, other: Value, lanes: Constant) -> Value:
        assert isinstance(one.type, VectorType)
        return self.value(
            as_many(one.type.element, lanes.type), f"shufflevector {one.typed}, {other.typed}, {lanes.typed}"
        )

    def extract_value(self, value: Value, index: int) -> Value:
        assert isinstance(value.type, StructType)
        return self.value(value.type.elements[index], f"extractvalue {value.typed}, {index}")

    # ---- memory
    def alloca(self, kind: Type) -> Slot:
        return Slot(self.write(POINTER, f"alloca {kind}").text, kind)

    def gep(self, base: Value, index: Value, element: Type) -> Value:
        return self.value(POINTER, f"getelementptr {element.text}, ptr {base.text}, {index.type.text} {index.text}")

    def load(self, where: Value, typ: Type | None = None, align: int = 0) -> Value:
        """Of a slot what it holds, else a value of this type."""
        kind = where.holds if isinstance(where, Slot) else typ
        assert kind is not None
        return self.write(kind, f"load {kind.text}, ptr {where.text}{aligned(align)}")

    def store(self, value: Value, where: Value, align: int = 0) -> None:
        self.block.lines.append(f"  store {value.type.text} {value.text}, ptr {where.text}{aligned(align)}\n")

    def atomic_rmw(self, how: str, where: Value, value: Value, ordering: Ordering) -> Value:
        return self.write(value.type, f"atomicrmw {how} {where.typed}, {value.typed} {ordering}")

    def cmpxchg(self, where: Value, old: Value, new: Value, ordering: Ordering, failing: Ordering) -> Value:
        kind = StructType(new.type, BOOL)
        return self.write(kind, f"cmpxchg {where.typed}, {old.typed}, {new.typed} {ordering} {failing}")

    # ---- control flow
    def call(self, function: Function, arguments: Sequence[Value], tail: Literal["", "musttail "] = "") -> Value:
        result = function.result
        text = f"{tail}call {result.text} {function.text}({listed(arguments)})"
        if result is not VOID:
            return self.write(result, text)
        self.block.lines.append(f"  {text}\n")
        return Value(VOID, "")

    def phi(self, type: Type) -> Phi:
        made = Phi(type, self.name())
        self.block.lines.append(made)
        return made

    def branch(self, to: Block) -> None:
        self.end(f"  br label {to.text}\n")

    def cbranch(self, condition: Value, one: Block, other: Block, likely: bool | None = None) -> None:
        weights = "" if likely is None else f", !prof !{int(not likely)}"
        self.end(f"  br i1 {condition.text}, label {one.text}, label {other.text}{weights}\n")

    def switch(self, number: Value, default: Block) -> Switch:
        made = Switch(number, default)
        self.end(made)
        return made

    def ret(self, value: Value) -> None:
        self.end(f"  ret {value.typed}\n")

    def ret_void(self) -> None:
        self.end("  ret void\n")

    @contextmanager
    def within(self, block: Block, end: Block) -> Iterator[None]:
        """Builds a block, which goes on at `end` if it has not gone elsewhere."""
        outside, self.block = self.block, block
        yield
        if not self.block.is_terminated:
            self.branch(end)
        self.block = outside

    @contextmanager
    def if_then(self, condition: Value, likely: bool | None = None) -> Iterator[None]:
        """Builds what is done only if the condition holds."""
        then, end = self.append_basic_block("if"), self.append_basic_block("end")
        self.cbranch(condition, then, end, likely)
        with self.within(then, end):
            yield
        self.block = end

    @contextmanager
    def if_else(self, condition: Value) -> Iterator[tuple[AbstractContextManager[None], AbstractContextManager[None]]]:
        """Builds what is done if the condition holds, and what is done otherwise."""
        then, otherwise, end = (self.append_basic_block(name) for name in ("if", "else", "end"))
        self.cbranch(condition, then, otherwise)
        yield self.within(then, end), self.within(otherwise, end)
        self.block = end


def aligned(to: int) -> str:
    return f", align {to}" if to else ""
