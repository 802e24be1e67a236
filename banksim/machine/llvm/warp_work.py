"""How many instructions each warp of a launch executes, for whoever wants to know (timing/uneven_blocks.py)."""

from banksim.machine.llvm import ir
from banksim.machine.llvm.builder import Builder
from banksim.machine.llvm.emit import APART, Emitter
from banksim.machine.llvm.values import INT, POINTER, VOID
from banksim.machine.state import CONTEXT


def add_note_work(module: ir.Module) -> None:
    """Add `note_work(context, warp)`, which adds to what a warp has executed what its worker's counters have more than
    when it was called last: when the warp has ended or its turn is over, not at barriers. So what warps that wait for
    each other execute is right only in sum."""
    e = Emitter(module)
    function = ir.Function(module, VOID, [POINTER, INT[64]], "note_work")
    function.attributes.add(APART)
    context, warp = function.args
    e.function, e.b = function, Builder(function.append_basic_block("entry"))
    b = e.b
    counters, lengths, work = (e.get(context, CONTEXT, n, as_type=POINTER) for n in ("counters", "lengths", "work"))
    count = e.get(context, CONTEXT, "length_count")
    start, adding, end = b.block, b.append_basic_block("adding"), b.append_basic_block("end")
    b.branch(adding)
    b.position_at_end(adding)
    n, total = b.phi(INT[64]), b.phi(INT[64])
    for value in (n, total):
        value.add_incoming(INT[64](0), start)
    times = e.load(e.at(counters, b.mul(n, INT[64](16))), INT[64])
    length = e.load(e.at(lengths, n, INT[64]), INT[64])
    following, sum_ = b.add(n, INT[64](1)), b.add(total, b.mul(times, length))
    n.add_incoming(following, adding)
    total.add_incoming(sum_, adding)
    b.cbranch(b.icmp_unsigned("<", following, count), adding, end)
    b.position_at_end(end)
    place = b.add(b.mul(e.get(context, CONTEXT, "block"), e.get(context, CONTEXT, "warp_count")), warp)
    e.increase(e.at(work, place, INT[64]), b.sub(sum_, e.get(context, CONTEXT, "noted")))
    e.set(context, CONTEXT, "noted", sum_)
    b.ret_void()
