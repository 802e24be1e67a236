"""Arithmetic as LLVM code: the operations of the engine that need values only, no registers, warp or memory."""

from banksim.machine.engine import Engine
from banksim.machine.llvm import ir
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.values import INT, LANES, Value, constant, operator, typed

_DIVIDED = operator("udiv", "fdiv", "sdiv")
_ROUNDINGS = {"nearest": "llvm.roundeven", "floor": "llvm.floor", "ceil": "llvm.ceil", "trunc": "llvm.trunc"}


class Arithmetic(Engine):
    """The part of `LLVMEngine` that computes values from values."""

    e: Emitter

    def new(self, kind: str, bits: int, lanes: int, v: ir.Value) -> Value:
        return Value(self.e.builder, kind, bits, lanes, v)

    # ---- kinds and conversions
    def const(self, c: int | float, bits: int = 32) -> Value:
        kind = "f" if isinstance(c, float) else "u"
        return self.new(kind, bits, 1, constant(kind, bits, 1, c))

    def cast(self, v: Value, kind: str, bits: int, how: str) -> Value:
        if bits == v.bits and (kind == "f") == (v.kind == "f"):
            return v.like(v.ir, kind)
        return v.like(getattr(self.e.b, how)(v.ir, typed(kind, bits, v.lanes)), kind, bits)

    def zext(self, v: Value) -> Value:
        return self.cast(v, "u", 64, "zext")

    def sext(self, v: Value) -> Value:
        return self.cast(v, "i", 64, "sext")

    def low(self, v: Value) -> Value:
        return self.cast(v, "u", 32, "trunc")

    def short(self, v: Value) -> Value:
        return self.cast(v, "u", 16, "trunc")

    def number(self, v: Value) -> Value:
        return self.cast(v, "u", 32, "zext")

    def signed(self, v: Value) -> Value:
        return v.like(v.ir, "i")

    def unsigned(self, v: Value) -> Value:
        return v.like(v.ir, "u")

    def bits(self, v: Value) -> Value:
        if v.kind != "f":
            return self.unsigned(v)
        return v.like(self.e.b.bitcast(v.ir, typed("u", v.bits, v.lanes)), "u")

    def as_float(self, v: Value) -> Value:
        return v.like(self.e.b.bitcast(v.ir, typed("f", v.bits, v.lanes)), "f")

    def to_f32(self, v: Value) -> Value:
        return self.cast(v, "f", 32, {"f": "fptrunc", "i": "sitofp"}.get(v.kind, "uitofp"))

    def to_f64(self, v: Value) -> Value:
        return self.cast(v, "f", 64, {"f": "fpext", "i": "sitofp"}.get(v.kind, "uitofp"))

    def to_integer(self, v: Value, bits: int, signed: bool) -> Value:
        # LLVM's own saturating conversion takes one lane after the other.
        v = self.to_f32(v) if v.bits == 16 else v
        kind, least, end = ("i", -(1 << bits - 1), 1 << bits - 1) if signed else ("u", 0, 1 << bits)

        def number(c: int) -> Value:
            return v.like(constant(kind, bits, v.lanes, c), kind, bits)

        large, small = v >= float(end), v < float(least)
        held = self.where(large | small | (v != v), v.like(constant("f", v.bits, v.lanes, 0.0)), v)
        whole = self.cast(held, kind, bits, "fptosi" if signed else "fptoui")
        return self.where(large, number(end - 1), self.where(small, number(least), whole))

    # ---- arithmetic beyond the operators
    def where(self, condition: Value, a: Value, b: Value) -> Value:
        if not isinstance(a, Value):
            a = b.like(constant(b.kind, b.bits, b.lanes, a))
        a, b = a.pair(b)
        if condition.lanes > a.lanes:
            a, b = a.spread(), b.spread()
        return a.like(self.e.b.select(condition.ir, a.ir, b.ir))

    def intrinsic(self, name: str, *values: Value) -> Value:
        lanes = max(v.lanes for v in values)
        values = tuple(v.spread() if lanes > 1 else v for v in values)
        v = values[0]
        many = f"v{LANES}" if lanes > 1 else ""
        extra = [INT[1](0)] if name == "llvm.ctlz" else []
        full = f"{name}.{many}{'f' if v.kind == 'f' else 'i'}{v.bits}"
        return v.like(self.e.call(full, v.ir.type, *(u.ir for u in values), *extra))

    def absolute(self, v: Value) -> Value:
        return self.intrinsic("llvm.fabs", v)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        return self.intrinsic("llvm.fma", a, b, c)

    def divide(self, a: Value, b: Value) -> Value:
        return _DIVIDED(a, b)

    def round(self, v: Value, mode: str) -> Value:
        return self.intrinsic(_ROUNDINGS[mode], v)

    def popcount(self, v: Value) -> Value:
        return self.intrinsic("llvm.ctpop", v)

    def leading_zeros(self, v: Value) -> Value:
        return self.intrinsic("llvm.ctlz", v)
