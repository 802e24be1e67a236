"""How the loops' LLVM code is written: as numba does it, in a third of the instructions.

Numba writes some sixty instructions to read an element of an array: it puts all that an array consists of on the stack,
and takes it back. Here an array is a value of which only what is asked for is taken.
"""

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs
from numba.core.ir import Assign, Block, Expr, StaticSetItem, Stmt, Var
from numba.core.lowering import Lower
from numba.np.arrayobj import load_item, store_item
from numba.np.numpy_support import as_dtype

from banksim.system.compiled_types import NumbaType, Signature, TargetContext

WORD = ir.IntType(64)
Part: TypeAlias = "ir.Value | list[ir.Value] | None"
"""A part of an array: a value, the lengths or strides, or None for 0."""


def array_of(
    context: TargetContext, b: ir.IRBuilder, kind: types.Array, data: ir.Value, shape: Sequence[ir.Value]
) -> ir.Value:
    """A contiguous array at an address, of lengths that are words."""
    names = context.data_model_manager[kind]._fields
    layout = context.get_value_type(kind)
    size = WORD(as_dtype(kind.dtype).itemsize)
    strides = [size]
    for length in reversed(shape[1:]):
        strides.insert(0, product(b, strides[0], length))
    count = shape[0]
    for length in shape[1:]:
        count = product(b, count, length)
    known = {"itemsize": size, "data": data, "nitems": count, "shape": shape, "strides": strides}
    parts = [known.get(name) for name in names]
    fixed = [constant_part(part, element) for part, element in zip(parts, layout.elements, strict=True)]
    array: ir.Value = ir.Constant(layout, fixed)
    for n, part in enumerate(parts):
        for path, value in [([n, k], one) for k, one in enumerate(part)] if isinstance(part, list) else [([n], part)]:
            if value is not None and not isinstance(value, ir.Constant):
                array = b.insert_value(array, value, path)
    return array


def constant_part(part: Part, element: ir.Type) -> ir.Constant:
    """What is known of a part of an array when its code is written; 0 for the rest."""
    if isinstance(part, list):
        return ir.Constant(element, [one if isinstance(one, ir.Constant) else WORD(0) for one in part])
    return part if isinstance(part, ir.Constant) else ir.Constant(element, None)


def product(b: ir.IRBuilder, one: ir.Value, other: ir.Value) -> ir.Value:
    if isinstance(one, ir.Constant) and isinstance(other, ir.Constant):
        return WORD(one.constant * other.constant)
    return b.mul(one, other, flags=["nsw"])


def part_of(b: ir.IRBuilder, value: ir.Value, *path: int) -> ir.Value:
    """A part of an aggregate: what has been put there, if that is known."""
    inside = value
    while isinstance(inside, ir.instructions.InsertValue):
        if tuple(inside.indices) == path:
            return inside.operands[1]
        if tuple(inside.indices) == path[: len(inside.indices)] or path == tuple(inside.indices)[: len(path)]:
            return b.extract_value(value, path)
        inside = inside.operands[0]
    for n in path:
        known = inside.constant if isinstance(inside, ir.Constant) else None
        inside = known[n] if isinstance(known, (list, tuple)) else None
    return inside if isinstance(inside, ir.Constant) else b.extract_value(value, path)


def aggregate(b: ir.IRBuilder, layout: ir.Type, parts: Sequence[ir.Value]) -> ir.Value:
    """A structure of these values."""
    fixed = [one if isinstance(one, ir.Constant) else ir.Constant(one.type, None) for one in parts]
    made: ir.Value = ir.Constant(layout, fixed)
    for n, one in enumerate(parts):
        if not isinstance(one, ir.Constant):
            made = b.insert_value(made, one, n)
    return made


class LowerLoops(Lower):
    """Writes the code of one function."""

    def lower_getitem(self, resty: NumbaType, expr: Expr, value: Var, index: Var, signature: Signature) -> ir.Value:
        kind = self.typeof(value.name)
        if not one_element(kind, signature.args[1]):
            return super().lower_getitem(resty, expr, value, index, signature)
        place = self.element(kind, value, index, signature.args[1])
        found = load_item(self.context, self.builder, kind, place)
        return self.context.cast(self.builder, found, signature.return_type, resty)

    def lower_setitem(self, target: Var, index: Var, value: Var, signature: Signature) -> ir.Value:
        kind = self.typeof(target.name)
        if not one_element(kind, signature.args[1]):
            return super().lower_setitem(target, index, value, signature)
        place = self.element(kind, target, index, signature.args[1])
        new = self.context.cast(self.builder, self._cast_var(value, signature.args[2]), signature.args[2], kind.dtype)
        return store_item(self.context, self.builder, kind, new, place)

    def lower_expr(self, resty: NumbaType, expr: Expr) -> ir.Value:
        b, kind = self.builder, None if "value" not in expr._kws else self.typeof(expr.value.name)
        match expr.op:
            case "static_getitem" if isinstance(kind, types.Array) and (found := self.fndesc.calltypes[expr]):
                return self.lower_getitem(resty, expr, expr.value, expr.index_var, found)
            case "getiter" if isinstance(kind, types.RangeType):
                start, stop, step = (part_of(b, self.loadvar(expr.value.name), n) for n in range(3))
                if isinstance(step, ir.Constant) and step.constant > 0:
                    return self.counter(resty, start, stop, step)
            case "iternext" if isinstance(kind, types.RangeIteratorType):
                at, _, step, left = (part_of(b, self.loadvar(expr.value.name), n) for n in range(4))
                number, count = b.load(at), b.load(left)
                b.store(b.add(number, step), at)
                b.store(b.sub(count, step.type(1)), left)
                return aggregate(
                    b, self.context.get_value_type(resty), [number, b.icmp_signed(">", count, count.type(0))]
                )
            case "pair_first" | "pair_second":
                return part_of(b, self.loadvar(expr.value.name), ("pair_first", "pair_second").index(expr.op))
        return super().lower_expr(resty, expr)

    def counter(self, kind: NumbaType, start: ir.Value, stop: ir.Value, step: ir.Constant) -> ir.Value:
        """The iterator of a range that counts up: places of its number and of how many are left, as numba has it."""
        b, word = self.builder, step.type
        many = b.sub(stop, start)
        some = b.icmp_signed(">", many, word(0))
        if step.constant > 1:
            many = b.udiv(b.add(many, word(step.constant - 1)), step)
        at, left = (cgutils.alloca_once(b, word) for _ in range(2))
        b.store(start, at)
        b.store(b.select(some, many, word(0)), left)
        return aggregate(b, self.context.get_value_type(kind), [at, stop, step, left])

    def lower_call(self, resty: NumbaType, expr: Expr) -> ir.Value:
        called = self.typeof(expr.func.name)
        of_range = isinstance(called, types.Function) and called.typing_key is range
        if of_range and len(expr.args) < 3 and not expr.vararg:
            kinds = self.fndesc.calltypes[expr].args
            ends = [self._cast_var(one, kind) for one, kind in zip(expr.args, kinds, strict=True)]
            word = ends[0].type
            return aggregate(
                self.builder, self.context.get_value_type(resty), [*[word(0)] * (2 - len(ends)), *ends, word(1)]
            )
        return super().lower_call(resty, expr)

    def lower_block(self, block: Block) -> None:
        self.pre_block(block)
        for inst in block.body:
            self.loc = inst.loc
            self.lower_inst(inst)

    def pre_block(self, block: Block) -> None:
        """Less than numba does, which makes room for variables and looks for blocks that catch exceptions."""
        self._cur_ir_block = block

    def lower_inst(self, inst: Stmt) -> None:
        if isinstance(inst, Assign):
            kind = self.typeof(inst.target.name)
            self.storevar(self.lower_assign(kind, inst), inst.target.name)
        elif isinstance(inst, StaticSetItem) and isinstance(self.typeof(inst.target.name), types.Array):
            self.lower_setitem(inst.target, inst.index_var, inst.value, self.fndesc.calltypes[inst])
        else:
            super().lower_inst(inst)

    def element(self, kind: types.Array, array: Var, index: Var, indices: NumbaType) -> ir.Value:
        """The address of an element. Numbers below 0 count from the end where they stand in the source; no loop
        computes such an index, and none looks whether it did unless numba is told to check (NUMBA_BOUNDSCHECK=1)."""
        b = self.builder
        whole, at = self.loadvar(array.name), self.loadvar(index.name)
        at = self.context.cast(b, at, self.typeof(index.name), indices)
        names = self.context.data_model_manager[kind]._fields
        shape = names.index("shape")
        several = isinstance(indices, types.BaseTuple)
        place: ir.Value | None = None
        for n, one in enumerate(parts_of(indices)):
            number = part_of(b, at, n) if several else at
            wide = self.context.cast(b, number, one, types.intp if one.signed else types.uintp)
            if isinstance(wide, ir.Constant) and wide.constant < 0:
                wide = b.add(wide, part_of(b, whole, shape, n))
            if getattr(config, "BOUNDSCHECK", None):
                self.check(wide, part_of(b, whole, shape, n))
            place = wide if place is None else b.add(b.mul(place, part_of(b, whole, shape, n)), wide)
        return b.gep(part_of(b, whole, names.index("data")), [place])

    def check(self, index: ir.Value, length: ir.Value) -> None:
        """End the process, and say where, unless an index is one of an array of this length."""
        b, word = self.builder, ir.IntType(32)
        where: Any = self.loc
        with cgutils.if_unlikely(b, b.icmp_unsigned(">=", index, length)):
            cgutils.printf(b, f"{where.filename}:{where.line}: index %lld of %lld\n", index, length)
            everything = ir.Constant(cgutils.voidptr_t, None)
            flush = ir.FunctionType(word, [cgutils.voidptr_t])
            b.call(cgutils.get_or_insert_function(b.module, flush, "fflush"), [everything])
            b.call(cgutils.get_or_insert_function(b.module, ir.FunctionType(ir.VoidType(), []), "llvm.trap"), [])

    def lower_binop(self, resty: NumbaType, expr: Expr, op: object) -> ir.Value:
        signature = self.fndesc.calltypes[expr]
        kinds = signature.args
        one, other = (self._cast_var(given, kind) for given, kind in zip((expr.lhs, expr.rhs), kinds, strict=True))
        if op is operator.contains and isinstance(kinds[0], types.BaseTuple):
            done: ir.Value = ir.IntType(1)(0)
            for n, kind in enumerate(parts_of(kinds[0])):
                member = part_of(self.builder, one, n)
                done = self.builder.or_(done, self.operated(operator.eq, (kind, kinds[1]), (member, other)))
        else:
            done = self.operated(op, kinds, (one, other))
        return self.context.cast(self.builder, done, signature.return_type, resty)

    def operated(self, op: object, kinds: Sequence[NumbaType], values: Sequence[ir.Value]) -> ir.Value:
        """What an operator gives for these values."""
        context, typing = self.context, self.context.typing_context
        function = typing.resolve_value_type(op)
        found = typing.resolve_function_type(function, tuple(kinds), {})
        each = [context.cast(self.builder, *one) for one in zip(values, kinds, found.args, strict=True)]
        return context.get_function(function, found)(self.builder, each)

    def _find_singly_assigned_variable(self) -> None:
        """Numba keeps on the stack what is used in another block than it is assigned in. Here, what is assigned once is
        a value wherever no way leads around that."""
        dominators = compute_cfg_from_blocks(self.blocks).dominators()
        uses = compute_use_defs(self.blocks).usemap
        assigned: dict[str, int | None] = {}
        for offset, block in self.blocks.items():
            for one in block.find_insts(Assign):
                assigned[one.target.name] = None if one.target.name in assigned else offset
        for offset, names in uses.items():
            for name in names:
                at = assigned.get(name)
                if at is not None and not (at < offset and at in dominators[offset]):
                    assigned[name] = None
        self._singly_assigned_vars = {name for name, at in assigned.items() if at is not None}
        self._blk_local_varmap: dict[str, ir.Value] = {}

    def storevar(self, value: ir.Value, name: str, argidx: int | None = None) -> None:
        """Nothing is freed that a variable held before."""
        self._alloca_var(name, self.typeof(name))
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.varmap[name])

    def alloca_lltype(self, name: str, lltype: ir.Type, datamodel: object = None) -> ir.Value:
        return cgutils.alloca_once(self.builder, lltype, name=name)


def parts_of(kind: Any) -> tuple[Any, ...]:
    """The types of a tuple's values, or that of the only value."""
    several = isinstance(kind, types.BaseTuple)
    return tuple(kind) if several else (kind,)


def one_element(kind: NumbaType, indices: NumbaType) -> bool:
    """Whether these indices name one element of a contiguous array."""
    each = parts_of(indices)
    whole = isinstance(kind, types.Array) and kind.layout == "C" and kind.ndim == len(each)
    return whole and bool(each) and all(isinstance(one, types.Integer) for one in each)
