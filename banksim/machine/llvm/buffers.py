"""Which buffer of global memory an address lies in, and what becomes of one that lies in none, as compiled code."""

from collections.abc import Callable
from dataclasses import dataclass

from banksim.kernels.global_addresses import AddressMap
from banksim.machine import codes
from banksim.machine.codes import READ
from banksim.machine.llvm import ir
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.memory_call import MemoryCall
from banksim.machine.llvm.values import INT, LANES, LONGS, POINTER, WORDS, splat, vector
from banksim.machine.mapped_pages import PAGE_SHIFT
from banksim.machine.state import CONTEXT, ERROR, WARP


def record(e: Emitter, a: MemoryCall, where: str, code: int, good: ir.Value) -> None:
    """Record in one of the context's errors, unless it holds one, what the lanes did that are not `good`."""
    error = e.get(a.context, CONTEXT, where, as_type=POINTER)
    with e.b.if_then(e.b.icmp_unsigned("==", e.get(error, ERROR, "code"), INT[32](0))):
        e.set(error, ERROR, "code", INT[32](code))
        e.set(error, ERROR, "block", e.get(a.context, CONTEXT, "block"))
        e.set(error, ERROR, "pc", a.pc)
        e.set(error, ERROR, "mask", e.b.and_(a.mask, e.b.not_(e.as_mask(good))))
        e.set(error, ERROR, "warp", e.get(a.warp, WARP, "index"))
        e.b.store(a.whole(e.b), e.field(error, ERROR, "address"), align=8)


def find_buffer(
    e: Emitter, context: ir.Value, layout: AddressMap, upper: ir.Value
) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value]:
    """(whether it is there, its number, place and bytes) of the buffer whose addresses have these upper 32 bits."""
    b = e.b
    slot = b.sub(upper, INT[32](layout.first >> 32))
    number = b.mul(slot, INT[32](layout.inverse))
    if layout.slots < 1 << 32:
        number = b.urem(number, INT[32](layout.slots))
    known = b.icmp_unsigned("<", number, b.trunc(e.get(context, CONTEXT, "buffer_count"), INT[32]))
    if layout.slots < 1 << 32:
        known = b.and_(known, b.icmp_unsigned("<", slot, INT[32](layout.slots)))
    place = b.shl(b.zext(b.select(known, number, INT[32](0)), INT[64]), INT[64](4))
    entry = e.at(e.get(context, CONTEXT, "buffers", as_type=POINTER), place)
    return known, number, b.load(entry, typ=POINTER), b.load(e.at(entry, 8), typ=INT[64])


def note_use(e: Emitter, a: MemoryCall, use: int, number: ir.Value) -> None:
    """Note that the buffer of this number is read or written."""
    noted = e.get(a.context, CONTEXT, "read" if use == READ else "touched", as_type=POINTER)
    e.store(INT[8](use), e.at(noted, e.b.zext(number, INT[64])))


@dataclass
class Checked:
    """Addresses with the same upper words, and what is known of them: the buffer, if it is `known`; in which lanes
    the access fits into it; whether it does in all, which makes the request `good`."""

    upper: ir.Value
    known: ir.Value
    base: ir.Value
    offsets: ir.Value
    width: int
    fits: ir.Value
    good: ir.Value


def beyond(e: Emitter, layout: AddressMap, a: MemoryCall, c: Checked, refuse: Callable[[ir.Value], None]) -> ir.Value:
    """The base that the addresses of a request count from. Where the request is not good, but stays within pages that
    are mapped, it goes on, as on a GPU, with what lies there, and is recorded. Else `refuse` builds the end of the
    function, from the lanes that pass."""
    b = e.b
    start, apart, placed = b.block, b.append_basic_block("beyond"), b.append_basic_block("placed")
    b.cbranch(c.good, placed, apart)
    b.position_at_end(apart)
    # What lies before a buffer has the upper word before its own.
    follows, _, following, _ = find_buffer(e, a.context, layout, b.add(c.upper, INT[32](1)))
    origin = b.select(c.known, c.base, e.at(following, -(1 << 32)))
    distance = b.sub(b.ptrtoint(origin, INT[64]), e.get(a.context, CONTEXT, "mapped_start"))
    pages = b.lshr(b.add(splat(b, distance), b.zext(c.offsets, LONGS)), vector([PAGE_SHIFT] * LANES, 64))
    passes = b.icmp_unsigned("<", pages, splat(b, e.get(a.context, CONTEXT, "mapped_pages")))
    passes = b.and_(passes, splat(b, b.or_(c.known, follows)))
    table = e.get(a.context, CONTEXT, "mapped", as_type=POINTER)
    states = e.gather(table, b.trunc(pages, WORDS), b.and_(passes, e.as_bools(a.mask)), 8)
    passes = b.and_(passes, b.icmp_unsigned("!=", states, ir.Constant(states.type, None)))
    low_bits = b.and_(c.offsets, vector([c.width - 1] * LANES))
    passes = b.and_(passes, b.icmp_unsigned("==", low_bits, ir.Constant(WORDS, None)))
    with b.if_then(b.not_(e.everywhere(passes, b.not_(a.mask))), likely=False):
        refuse(b.or_(c.fits, passes))
    record(e, a, "stray", codes.OUT_OF_GLOBAL, c.fits)
    passed = b.block
    b.branch(placed)
    b.position_at_end(placed)
    base = b.phi(POINTER)
    base.add_incoming(c.base, start)
    base.add_incoming(origin, passed)
    return base
