"""Writing LLVM: small helpers over the builder, and the vector moves that every function uses."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from banksim.machine.llvm import ir
from banksim.machine.llvm.builder import Builder
from banksim.machine.llvm.values import BOOLS, INT, LANES, VOID, WORDS, typed, vector
from banksim.machine.state import offset
from banksim.system.native_code import host_features

APART = "noinline"
"""Marks routines, which many kernels share: `objects` compiles them apart."""
SIGNS = f"<{', '.join(['i32 -2147483648'] * 32)}>"


def vector_moves(t: str, n: int) -> dict[str, str]:
    """Functions, by name, that move vectors of a type of so many bytes, inlined wherever they are called. Gathers have
    sign-extended offsets, from the middle of 4 GiB: with zero-extended ones LLVM splits the vector of addresses and
    takes twice as long."""
    places = f"""
  %s = xor <32 x i32> %o, {SIGNS}
  %z = sext <32 x i32> %s to <32 x i64>
  %c = getelementptr i8, ptr %b, i64 2147483648
  %p = getelementptr i8, ptr %c, <32 x i64> %z"""
    return {
        f"gather_{t}": f"""
declare <32 x {t}> @llvm.masked.gather.v32{t}.v32p0(<32 x ptr>, i32, <32 x i1>, <32 x {t}>)
define internal <32 x {t}> @gather_{t}(ptr %b, <32 x i32> %o, <32 x i1> %m) alwaysinline {{{places}
  %r = call <32 x {t}> @llvm.masked.gather.v32{t}.v32p0(
    <32 x ptr> %p, i32 {n}, <32 x i1> %m, <32 x {t}> zeroinitializer)
  ret <32 x {t}> %r
}}""",
        f"scatter_{t}": f"""
declare void @llvm.masked.scatter.v32{t}.v32p0(<32 x {t}>, <32 x ptr>, i32, <32 x i1>)
define internal void @scatter_{t}(ptr %b, <32 x i32> %o, <32 x i1> %m, <32 x {t}> %v) alwaysinline {{{places}
  call void @llvm.masked.scatter.v32{t}.v32p0(<32 x {t}> %v, <32 x ptr> %p, i32 {n}, <32 x i1> %m)
  ret void
}}""",
        f"masked_load_{t}": f"""
declare <32 x {t}> @llvm.masked.load.v32{t}.p0(ptr, i32, <32 x i1>, <32 x {t}>)
define internal <32 x {t}> @masked_load_{t}(ptr %p, <32 x i1> %m) alwaysinline {{
  %r = call <32 x {t}> @llvm.masked.load.v32{t}.p0(ptr %p, i32 {n}, <32 x i1> %m, <32 x {t}> zeroinitializer)
  ret <32 x {t}> %r
}}""",
        f"masked_store_{t}": f"""
declare void @llvm.masked.store.v32{t}.p0(<32 x {t}>, ptr, i32, <32 x i1>)
define internal void @masked_store_{t}(ptr %p, <32 x i1> %m, <32 x {t}> %v) alwaysinline {{
  call void @llvm.masked.store.v32{t}.p0(<32 x {t}> %v, ptr %p, i32 {n}, <32 x i1> %m)
  ret void
}}""",
    }


def chosen_lanes(at_once: bool) -> str:
    """The function that gives each lane the word of another, whose number's lowest five bits count; `at_once`: with
    AVX-512's instruction, which takes a tenth of the time of a gather from memory."""
    head = "define internal <32 x i32> @chosen(<32 x i32> %v, <32 x i32> %lanes) alwaysinline"
    if not at_once:
        return f"""
declare <32 x i32> @llvm.masked.gather.v32i32.v32p0(<32 x ptr>, i32, <32 x i1>, <32 x i32>)
{head} {{
  %m = alloca <32 x i32>
  store <32 x i32> %v, ptr %m
  %l = and <32 x i32> %lanes, <{", ".join(["i32 31"] * LANES)}>
  %p = getelementptr i32, ptr %m, <32 x i32> %l
  %r = call <32 x i32> @llvm.masked.gather.v32i32.v32p0(
    <32 x ptr> %p, i32 4, <32 x i1> <{", ".join(["i1 true"] * LANES)}>, <32 x i32> zeroinitializer)
  ret <32 x i32> %r
}}"""
    low, high, both = (
        f"<{len(numbers)} x i32> <{', '.join(f'i32 {n}' for n in numbers)}>"
        for numbers in (range(LANES // 2), range(LANES // 2, LANES), range(LANES))
    )
    return f"""
declare <16 x i32> @llvm.x86.avx512.vpermi2var.d.512(<16 x i32>, <16 x i32>, <16 x i32>)
{head} {{
  %v0 = shufflevector <32 x i32> %v, <32 x i32> undef, {low}
  %v1 = shufflevector <32 x i32> %v, <32 x i32> undef, {high}
  %l0 = shufflevector <32 x i32> %lanes, <32 x i32> undef, {low}
  %l1 = shufflevector <32 x i32> %lanes, <32 x i32> undef, {high}
  %r0 = call <16 x i32> @llvm.x86.avx512.vpermi2var.d.512(<16 x i32> %v0, <16 x i32> %l0, <16 x i32> %v1)
  %r1 = call <16 x i32> @llvm.x86.avx512.vpermi2var.d.512(<16 x i32> %v0, <16 x i32> %l1, <16 x i32> %v1)
  %r = shufflevector <16 x i32> %r0, <16 x i32> %r1, {both}
  ret <32 x i32> %r
}}"""


def loaded_half(at_once: bool) -> str:
    """The function that loads one of 16 words for each lane of half a warp; `at_once`: as `chosen_lanes`."""
    head = "define internal <16 x i32> @loaded_half(ptr %p, <16 x i32> %order) alwaysinline"
    if not at_once:
        return f"""
declare <16 x i32> @llvm.masked.gather.v16i32.v16p0(<16 x ptr>, i32, <16 x i1>, <16 x i32>)
{head} {{
  %w = getelementptr i32, ptr %p, <16 x i32> %order
  %r = call <16 x i32> @llvm.masked.gather.v16i32.v16p0(
    <16 x ptr> %w, i32 4, <16 x i1> <{", ".join(["i1 true"] * (LANES // 2))}>, <16 x i32> zeroinitializer)
  ret <16 x i32> %r
}}"""
    return f"""
declare <16 x i32> @llvm.x86.avx512.permvar.si.512(<16 x i32>, <16 x i32>)
{head} {{
  %v = load <16 x i32>, ptr %p, align 4
  %r = call <16 x i32> @llvm.x86.avx512.permvar.si.512(<16 x i32> %v, <16 x i32> %order)
  ret <16 x i32> %r
}}"""


MOVES = vector_moves("i8", 1) | vector_moves("i16", 2) | vector_moves("i32", 4)
AVX512 = "+avx512f" in host_features().split(",")
MOVES |= {"chosen": chosen_lanes(AVX512), "loaded_half": loaded_half(AVX512)}


BUILT: dict[Hashable, ir.Module] = {}
"""Routines that follow from their names and a kind of kernel alone, each with what it calls."""


class Emitter:
    """A function under construction: `b` is where code is added."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module
        self.keeping = False
        self.function: ir.Function
        self.b: Builder

    def builder(self) -> Builder:
        return self.b

    # ---- calls
    def declare(self, name: str, result: ir.Type, arguments: list[ir.Type]) -> ir.Function:
        known = self.module.functions.get(name)
        return known if known is not None else ir.Function(self.module, result, arguments, name)

    def call(self, name: str, result: ir.Type, *arguments: ir.Value) -> ir.Value:
        return self.b.call(self.declare(name, result, [a.type for a in arguments]), arguments)

    # ---- memory
    def at(self, base: ir.Value, distance: int | ir.Value, kind: ir.Type = INT[8]) -> ir.Value:
        index = INT[64](distance) if isinstance(distance, int) else distance
        return self.b.gep(base, index, kind)

    def field(self, record: ir.Value, kind: np.dtype, name: str, index: int = 0) -> ir.Value:
        """Pointer to a field (or to its element `index`)."""
        fields = kind.fields
        assert fields is not None
        return self.at(record, offset(kind, name) + index * fields[name][0].base.itemsize)

    def get(
        self, record: ir.Value, kind: np.dtype, name: str, index: int = 0, as_type: ir.Type | None = None
    ) -> ir.Value:
        fields = kind.fields
        assert fields is not None
        whole = as_type or INT[8 * fields[name][0].base.itemsize]
        return self.load(self.field(record, kind, name, index), whole)

    def set(self, record: ir.Value, kind: np.dtype, name: str, value: ir.Value, index: int = 0) -> None:
        self.store(value, self.field(record, kind, name, index))

    def load(self, where: ir.Value, kind: ir.Type) -> ir.Value:
        return (
            self.b.load(where, typ=kind, align=64) if isinstance(kind, ir.VectorType) else self.b.load(where, typ=kind)
        )

    def store(self, value: ir.Value, where: ir.Value) -> None:
        if isinstance(value.type, ir.VectorType):
            self.b.store(value, where, align=64)
        else:
            self.b.store(value, where)

    def increase(self, where: ir.Value, amount: ir.Value) -> None:
        """Add a 64-bit amount to a counter."""
        self.b.store(self.b.add(self.b.load(where, typ=INT[64]), amount), where)

    # ---- lanes
    def as_bools(self, mask: ir.Value) -> ir.Value:
        return self.b.bitcast(mask, BOOLS)

    def as_mask(self, bools: ir.Value) -> ir.Value:
        return self.b.bitcast(bools, INT[32])

    def popcount(self, mask: ir.Value) -> ir.Value:
        return self.call("llvm.ctpop.i32", INT[32], mask)

    def first_lane(self, mask: ir.Value) -> ir.Value:
        """The lowest lane of a mask; 0 where the mask is empty, so that it always is a lane."""
        return self.b.and_(self.call("llvm.cttz.i32", INT[32], mask, INT[1](0)), INT[32](31))

    def everywhere(self, condition: ir.Value, others: ir.Value) -> ir.Value:
        """Whether the condition holds in every lane outside the mask `others`."""
        return self.b.icmp_signed("==", self.b.or_(self.as_mask(condition), others), INT[32](-1))

    def empty(self, mask: ir.Value) -> ir.Value:
        return self.b.icmp_unsigned("==", mask, INT[32](0))

    # ---- vector moves
    def gather(self, base: ir.Value, offsets: ir.Value, lanes: ir.Value, bits: int = 32) -> ir.Value:
        return self.call(f"gather_i{bits}", typed("u", bits, LANES), base, offsets, lanes)

    def scatter(self, base: ir.Value, offsets: ir.Value, lanes: ir.Value, v: ir.Value) -> None:
        assert isinstance(v.type, ir.VectorType)
        self.call(f"scatter_{v.type.element}", VOID, base, offsets, lanes, v)

    def masked_load(self, where: ir.Value, lanes: ir.Value) -> ir.Value:
        return self.call("masked_load_i32", WORDS, where, lanes)

    def masked_store(self, where: ir.Value, lanes: ir.Value, v: ir.Value) -> None:
        self.call("masked_store_i32", VOID, where, lanes, v)

    def chosen(self, v: ir.Value, lanes: ir.Value) -> ir.Value:
        """In each lane the word of `v` in the lane of that number, from 0 to 31."""
        return self.call("chosen", WORDS, v, lanes)

    def loaded_half(self, start: ir.Value, order: ir.Value) -> ir.Value:
        """For each lane of half a warp the word of that number, from 0 to 15, behind a place; all 16 can be read."""
        return self.call("loaded_half", order.type, start, order)

    def looked_up(self, name: str, numbers: Sequence[int], places: ir.Value) -> ir.Value:
        """In each lane one of up to 128 numbers, which do not change."""
        table, b = self.table(name, [*numbers, *[0] * (-len(numbers) % LANES)]), self.b
        found = [
            self.chosen(self.load(self.at(table, 4 * first), WORDS), places) for first in range(0, len(numbers), LANES)
        ]
        bit = LANES
        while len(found) > 1:
            even = b.icmp_unsigned("==", b.and_(places, vector([bit] * LANES)), ir.Constant(WORDS, None))
            found = [
                b.select(even, *found[n : n + 2]) if n + 1 < len(found) else found[n] for n in range(0, len(found), 2)
            ]
            bit *= 2
        return found[0]

    def table(self, name: str, numbers: Sequence[int]) -> ir.Value:
        """Words that do not change, which code of the module reads."""
        known = self.module.tables.get(name)
        if known is None:
            words = ir.ArrayType(INT[32], len(numbers))
            known = ir.Table(self.module, name, words([INT[32](n) for n in numbers]))
        return known

    # ---- functions beside the main one
    def kept(
        self, kind: Hashable, name: str, result: ir.Type, arguments: list[ir.Type], build: Callable[..., None]
    ) -> ir.Function:
        """As `outline`, of a routine that is the same in all modules of a kind: it is built once in a process."""
        module = self.module
        if not self.keeping and name not in module.functions:
            if (kind, name) not in BUILT:
                self.module, self.keeping = ir.Module(), True
                try:
                    self.outline(name, result, arguments, build)
                    BUILT[kind, name] = self.module
                finally:
                    self.module, self.keeping = module, False
            module.add(BUILT[kind, name])
        return self.outline(name, result, arguments, build)

    def outline(self, name: str, result: ir.Type, arguments: list[ir.Type], build: Any) -> ir.Function:
        """A routine of the module, built by `build(*arguments)` when it is first asked for."""
        known = self.module.functions.get(name)
        if known is not None:
            return known
        function = ir.Function(self.module, result, arguments, name)
        function.attributes.add(APART)
        outer = self.function, self.b
        self.function, self.b = function, Builder(function.append_basic_block())
        build(*function.args)
        self.function, self.b = outer
        return function
