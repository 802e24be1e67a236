"""Atomic operations of the LLVM engine, one lane after the other."""

from __future__ import annotations

import llvmlite.ir as ir

from banksim.sass.llvm.emit import Emitter
from banksim.sass.llvm.scratch import ADDRESSES, COMPARE, RESULT, VALUES
from banksim.sass.llvm.values import FLOAT, INT, POINTER
from banksim.sass.state import CONTEXT


def lane_by_lane(
    e: Emitter,
    context: ir.Value,
    mask: ir.Value,
    base: ir.Value,
    offsets: ir.Value,
    values: tuple[ir.Value, ...],
    kind: str,
    bits: int,
    function: str,
    space: str,
) -> None:
    """End a function with the read-modify-writes of its lanes, lowest first; old values go to RESULT."""
    b = e.b
    scratch = e.get(context, CONTEXT, "scratch", as_type=POINTER)
    e.store(offsets, e.at(scratch, ADDRESSES))
    for place, v in zip((VALUES, COMPARE), values, strict=False):
        e.store(v, e.at(scratch, place))
    start = b.block
    loop, end = b.append_basic_block("lane"), b.append_basic_block("end")
    b.branch(loop)
    b.position_at_end(loop)
    left = b.phi(INT[32])
    left.add_incoming(mask, start)
    lane = b.zext(e.first_lane(left), INT[64])
    where = e.at(base, b.zext(b.load(e.at(e.at(scratch, ADDRESSES), lane, INT[32]), typ=INT[32]), INT[64]))
    taken = [
        b.load(e.at(e.at(scratch, place), lane, INT[bits]), typ=INT[bits])
        for place, _ in zip((VALUES, COMPARE), values, strict=False)
    ]
    old = exchange(b, where, taken, kind, bits, function, space)
    b.store(old, e.at(e.at(scratch, RESULT), lane, INT[bits]))
    rest = b.and_(left, b.sub(left, INT[32](1)))
    left.add_incoming(rest, b.block)
    b.cbranch(e.empty(rest), end, loop)
    b.position_at_end(end)
    b.ret_void()


def exchange(
    b: ir.IRBuilder, where: ir.Value, taken: list[ir.Value], kind: str, bits: int, function: str, space: str
) -> ir.Value:
    """One lane's read-modify-write → the old value's bits. Blocks run on several workers: global memory needs
    real atomics, while a block's shared memory belongs to one worker."""
    if function == "cas":
        if space == "shared":
            old = b.load(where, typ=INT[bits])
            b.store(b.select(b.icmp_unsigned("==", old, taken[0]), taken[1], old), where)
            return old
        return b.extract_value(b.cmpxchg(where, taken[0], taken[1], "monotonic", "monotonic"), 0)
    name = atomic_name(kind, function)
    v = b.bitcast(taken[0], FLOAT[bits]) if kind[0] == "f" else taken[0]
    if space == "shared" and name in ("add", "and", "or", "xor", "xchg", "fadd"):
        old = b.load(where, typ=v.type)
        plain = {
            "add": b.add,
            "fadd": b.fadd,
            "and": b.and_,
            "or": b.or_,
            "xor": b.xor,
            "xchg": lambda _, n: n,
        }
        b.store(plain[name](old, v), where)
    else:
        old = b.atomic_rmw(name, where, v, "monotonic")
    return b.bitcast(old, INT[bits])


def atomic_name(kind: str, function: str) -> str:
    """LLVM's name of an atomic operation."""
    if function in ("min", "max"):
        return {"u": "u", "s": "", "f": "f"}[kind[0]] + function
    if kind[0] == "f" and function == "add":
        return "fadd"
    return {
        "add": "add",
        "and": "and",
        "or": "or",
        "xor": "xor",
        "exch": "xchg",
        "inc": "uinc_wrap",
        "dec": "udec_wrap",
    }[function]
