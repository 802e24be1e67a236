"""Atomic operations of the LLVM engine, one lane after the other."""

from collections.abc import Callable

from banksim.machine.codes import BYTES_TO_COME, EXPECTED, PARITY, PENDING
from banksim.machine.llvm import ir
from banksim.machine.llvm.builder import Builder
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.scratch import ADDRESSES, COMPARE, RESULT, VALUES
from banksim.machine.llvm.values import INT, POINTER
from banksim.machine.state import CONTEXT

Sum = Callable[[ir.Value, ir.Value], ir.Value]
"""The sum of two floats, which are given and returned as bits."""


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
    float_sum: Sum | None,
) -> None:
    """End a function with the read-modify-writes of its lanes, lowest first; old values go to RESULT."""
    b = e.b
    scratch = e.get(context, CONTEXT, "scratch", as_type=POINTER)
    e.store(offsets, e.at(scratch, ADDRESSES))
    for row, v in zip((VALUES, COMPARE), values, strict=False):
        e.store(v, e.at(scratch, row))
    start = b.block
    loop, end = b.append_basic_block("lane"), b.append_basic_block("end")
    b.branch(loop)
    b.position_at_end(loop)
    left = b.phi(INT[32])
    left.add_incoming(mask, start)
    in_turns = function == "cas_spin" and space != "cluster"
    if in_turns:
        tried = b.phi(INT[64])
        tried.add_incoming(INT[64](0), start)
    lane = b.zext(e.first_lane(left), INT[64])
    place = b.load(e.at(e.at(scratch, ADDRESSES), lane, INT[32]), typ=INT[32])
    where = e.at(base, b.zext(place, INT[64]))
    taken = [
        b.load(e.at(e.at(scratch, row), lane, INT[bits]), typ=INT[bits])
        for row, _ in zip((VALUES, COMPARE), values, strict=False)
    ]
    if in_turns:
        old, tried_now = exchange_once(e, where, taken, bits, place, lane, tried)
    elif function == "cas_spin":  # other blocks' memory lets no lane fail that meets another (measured on one H200)
        old = exchange(b, where, taken, kind, bits, "cas", space, float_sum)
        old = b.zext(b.icmp_unsigned("==", old, taken[0]), INT[bits])
    else:
        old = exchange(b, where, taken, kind, bits, function, space, float_sum)
    b.store(old, e.at(e.at(scratch, RESULT), lane, INT[bits]))
    rest = b.and_(left, b.sub(left, INT[32](1)))
    if in_turns:
        tried.add_incoming(tried_now, b.block)
    left.add_incoming(rest, b.block)
    b.cbranch(e.empty(rest), end, loop)
    b.position_at_end(end)
    b.ret_void()


def exchange_once(
    e: Emitter, where: ir.Value, taken: list[ir.Value], bits: int, place: ir.Value, lane: ir.Value, tried: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """ATOMS.CAST.SPIN of one lane → (1 if it took place, banks tried so far): only the first lane of a bank is tried,
    of 8 bytes in each half of the warp (measured on one H200: the others fail and come again)."""
    b = e.b
    place = b.zext(b.and_(b.lshr(place, INT[32](2)), INT[32](31)), INT[64])
    if bits == 64:
        place = b.or_(place, b.shl(b.lshr(lane, INT[64](4)), INT[64](5)))
    bank = b.shl(INT[64](1), place)
    old = b.load(where, typ=INT[bits])
    equal = b.icmp_unsigned("==", old, taken[0])
    done = b.and_(equal, b.icmp_unsigned("==", b.and_(tried, bank), INT[64](0)))
    b.store(b.select(done, taken[1], old), where)
    return b.zext(done, INT[bits]), b.or_(tried, bank)


def exchange(
    b: Builder,
    where: ir.Value,
    taken: list[ir.Value],
    kind: str,
    bits: int,
    function: str,
    space: str,
    float_sum: Sum | None,
) -> ir.Value:
    """One lane's read-modify-write → the old value's bits. Blocks run on several workers: global memory needs
    real atomics, while a block's shared memory belongs to one worker."""
    v, own = taken[0], space in ("shared", "barrier")
    if own:
        plain: dict[str, Callable[[ir.Value], ir.Value]] = {
            "arrive": lambda old: arrived(b, old, v),
            "cas": lambda old: b.select(b.icmp_unsigned("==", old, v), taken[1], old),
            "add": lambda old: float_sum(old, v) if float_sum else b.add(old, v),
            "and": lambda old: b.and_(old, v),
            "or": lambda old: b.or_(old, v),
            "xor": lambda old: b.xor(old, v),
            "exch": lambda old: v,
        }
        if function in plain:
            old = b.load(where, typ=INT[bits])
            b.store(plain[function](old), where)
            return old
    if function == "cas":
        return b.extract_value(b.cmpxchg(where, v, taken[1], "monotonic", "monotonic"), 0)
    if float_sum:
        return replaced(b, where, lambda old: float_sum(old, v), bits)
    return b.atomic_rmw(atomic_name(kind, function), where, v, "monotonic")


def replaced(b: Builder, where: ir.Value, new: Callable[[ir.Value], ir.Value], bits: int) -> ir.Value:
    """Atomically replace the value at an address by new(value). Returns the old value."""
    first = b.load(where, typ=INT[bits])
    start = b.block
    again, done = b.append_basic_block("again"), b.append_basic_block("replaced")
    b.branch(again)
    b.position_at_end(again)
    old = b.phi(INT[bits])
    old.add_incoming(first, start)
    answer = b.cmpxchg(where, old, new(old), "monotonic", "monotonic")
    old.add_incoming(b.extract_value(answer, 0), b.block)
    b.cbranch(b.extract_value(answer, 1), done, again)
    b.position_at_end(done)
    return old


def arrived(b: Builder, old: ir.Value, change: ir.Value) -> ir.Value:
    """An mbarrier's word once arrivals and bytes are added; the phase ends when none are to come."""

    def part(field: int) -> ir.Value:
        mask = INT[64](field)
        return b.and_(b.add(b.and_(old, mask), b.and_(change, mask)), mask)

    pending, bytes_, expected = part(PENDING), part(BYTES_TO_COME), part(EXPECTED)
    rest = b.and_(old, INT[64](~(PENDING | BYTES_TO_COME | EXPECTED) & ((1 << 64) - 1)))
    rest = b.or_(rest, expected)
    renewed = b.and_(b.shl(rest, INT[64](42)), INT[64](PENDING))
    ended = b.icmp_unsigned("==", b.or_(pending, bytes_), INT[64](0))
    following = b.or_(b.xor(rest, INT[64](PARITY)), renewed)
    return b.select(ended, following, b.or_(rest, b.or_(pending, bytes_)))


def atomic_name(kind: str, function: str) -> str:
    """LLVM's name of an atomic operation."""
    if function in ("min", "max"):
        return ("" if kind[0] == "s" else "u") + function
    return {"exch": "xchg", "inc": "uinc_wrap", "dec": "udec_wrap"}.get(function, function)
