"""A request to shared memory, as code of the kernel: judged, written to the trace, shown to the race check."""

from collections.abc import Iterator
from contextlib import contextmanager

from banksim.machine.llvm import ir
from banksim.machine.llvm.data_movement import HALF
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.memory_call import MemoryCall
from banksim.machine.llvm.scratch import ADDRESSES, ROW, STORED
from banksim.machine.llvm.values import INT, POINTER, VOID, WORDS, splat, vector
from banksim.machine.state import CONTEXT, MEMO, REQUEST, TRACE_ROWS, WARP
from banksim.requests.copies import LINE
from banksim.requests.kinds import DESTINATION, FULL_MASK

FURTHEST = {4: 4, 8: 0, 16: 0}
"""Of loads of so many bytes a lane: how far apart the lanes of a half may lie, if not all in one place."""


@contextmanager
def asked(
    e: Emitter, a: MemoryCall, offsets: ir.Value, first: ir.Value, seen: ir.Value, stepwise: bool
) -> Iterator[None]:
    """Judge a request to shared memory, and build what else is done with a new one. Each site remembers its last
    request: one with the same mask, and addresses that differ by a common shift that no bank rule sees, costs the same:
    one that leaves the bits `seen` of the first address as they are."""
    b = e.b
    relative = b.sub(offsets, splat(b, first))
    phase = b.and_(first, seen)
    same = e.everywhere(b.icmp_unsigned("==", relative, e.get(a.memo, MEMO, "relative", as_type=WORDS)), b.not_(a.mask))
    same = b.and_(same, b.icmp_unsigned("==", e.get(a.memo, MEMO, "mask"), a.mask))
    same = b.and_(same, b.icmp_unsigned("==", e.get(a.memo, MEMO, "phase"), phase))
    with b.if_then(b.not_(same), likely=False):
        addresses = e.at(e.get(a.context, CONTEXT, "scratch", as_type=POINTER), ADDRESSES)
        e.store(offsets, addresses)
        e.call("judge_new", VOID, a.context, a.warp, a.memo, a.mask, addresses)
        e.set(a.memo, MEMO, "mask", a.mask)
        e.set(a.memo, MEMO, "phase", phase)
        e.set(a.memo, MEMO, "relative", relative)
        yield
    e.increase(e.field(a.memo, MEMO, "hits"), INT[64](1))
    if stepwise:
        e.set(a.context, CONTEXT, "asked", b.ptrtoint(a.memo, INT[64]))
        e.set(a.context, CONTEXT, "asked_at", first)


def remember(e: Emitter, a: MemoryCall, offsets: ir.Value, first: ir.Value, width: int, limit: ir.Value) -> None:
    """Note of a new request where loads that are shifted against it are; `limit`: the last place of one lane."""
    b = e.b
    step, second = (b.sub(b.extract_element(offsets, INT[32](lane)), first) for lane in (1, HALF))
    upper = b.select(vector([0] * HALF + [1] * HALF, 1), splat(b, second), ir.Constant(WORDS, None))
    steps = b.mul(splat(b, step), vector([*range(HALF)] * 2))
    even = e.everywhere(b.icmp_unsigned("==", offsets, b.add(b.add(splat(b, first), upper), steps)), INT[32](0))
    even = b.and_(even, b.icmp_signed("==", a.mask, INT[32](-1)))
    even = b.and_(even, b.or_(e.empty(step), b.icmp_unsigned("==", step, INT[32](FURTHEST[width]))))
    room = b.sub(limit, b.add(b.zext(second, INT[64]), INT[64](FURTHEST[width] * (HALF - 1) - 1)))
    fits = b.and_(even, b.icmp_signed(">", room, INT[64](0)))
    e.set(a.memo, MEMO, "second", second)
    e.set(a.memo, MEMO, "room", b.select(fits, b.trunc(room, INT[32]), INT[32](0)))


def seen_by_rules(e: Emitter, a: MemoryCall, space: str, copied: bool) -> ir.Value:
    """The bits of a request's first address that its cost may depend on. The place that a copy writes (`copied`), and
    may move by whole lines; what may be of another block, not at all; anything else by the rules' period."""
    if copied:
        return INT[32](FULL_MASK & ~(DESTINATION & -LINE))
    if space == "cluster":
        return INT[32](FULL_MASK)
    return e.b.sub(e.b.trunc(e.get(a.context, CONTEXT, "period"), INT[32]), INT[32](1))


def write_down(e: Emitter, a: MemoryCall, offsets: ir.Value) -> None:
    """Add the request to the trace, which is handed on when it is full."""
    b = e.b
    count = e.get(a.context, CONTEXT, "traced")
    row = e.at(e.get(a.context, CONTEXT, "trace", as_type=POINTER), b.mul(count, INT[64](REQUEST.itemsize)))
    e.set(row, REQUEST, "site", b.trunc(e.get(a.memo, MEMO, "site"), INT[32]))
    e.set(row, REQUEST, "block", b.trunc(e.get(a.context, CONTEXT, "block"), INT[32]))
    e.set(row, REQUEST, "warp", e.get(a.warp, WARP, "index"))
    e.set(row, REQUEST, "epoch", e.get(a.context, CONTEXT, "phase"))
    e.set(row, REQUEST, "mask", a.mask)
    e.set(row, REQUEST, "address", offsets)
    more = b.add(count, INT[64](1))
    e.set(a.context, CONTEXT, "traced", more)
    with b.if_then(b.icmp_signed("==", more, INT[64](TRACE_ROWS)), likely=False):
        e.call("hand_on", VOID, a.context)


def show(e: Emitter, a: MemoryCall, values: tuple[ir.Value, ...]) -> None:
    """Put the values of a store where the race check finds them."""
    scratch = e.get(a.context, CONTEXT, "scratch", as_type=POINTER)
    for word, v in enumerate(values):
        e.store(v, e.at(scratch, STORED + ROW * word))


def watch(e: Emitter, a: MemoryCall, offsets: ir.Value, width: int) -> None:
    """Have the race check compare the request with those before it."""
    scratch = e.get(a.context, CONTEXT, "scratch", as_type=POINTER)
    places = e.at(scratch, ADDRESSES)
    e.store(offsets, places)
    e.call("watch", VOID, a.context, a.warp, a.pc, a.mask, INT[32](width), places, e.at(scratch, STORED))


def touch(e: Emitter, a: MemoryCall, offsets: ir.Value, width: int) -> None:
    """While the kernel is probed for races, note which warps touch which words."""
    probing = e.get(a.context, CONTEXT, "probing")
    with e.b.if_then(e.b.icmp_signed(">", probing, INT[64](0)), likely=False):
        places = e.at(e.get(a.context, CONTEXT, "scratch", as_type=POINTER), ADDRESSES)
        e.store(offsets, places)
        e.call("touch", VOID, a.context, a.warp, a.pc, a.mask, INT[32](width), places)
