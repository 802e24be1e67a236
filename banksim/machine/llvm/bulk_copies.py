"""Bulk copies in compiled code. What it cannot do, or may not, is left to driver_calls.py, which knows why."""

from banksim.kernels.global_addresses import AddressMap
from banksim.machine.codes import RANK_BIT
from banksim.machine.llvm import ir
from banksim.machine.llvm.buffers import find_buffer
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.values import INT, POINTER, VOID
from banksim.machine.state import CLUSTER, CONTEXT

COPIES = ("copy_in", "copy_out")
"""The functions of driver_calls.py that `bulk_copy` can be done for."""


def bulk_copy(e: Emitter, name: str, shared_start: int, layout: AddressMap) -> ir.Function:
    """(context, lanes, shared address, global address, bytes) → whether it is done: not where either end is out of
    bounds or the address is not one of global memory, nor where the use of global memory is noted."""

    def build(context: ir.Value, lanes: ir.Value, shared: ir.Value, outside: ir.Value, size: ir.Value) -> None:
        b = e.b
        with b.if_then(e.empty(lanes), likely=False):
            b.ret(INT[1](1))
        shared, size = b.zext(shared, INT[64]), b.zext(size, INT[64])
        known, _, base, length = find_buffer(e, context, layout, b.trunc(b.lshr(outside, INT[64](32)), INT[32]))
        offset = b.and_(outside, INT[64]((1 << 32) - 1))
        inside = b.icmp_unsigned("<=", b.add(offset, size), length)
        rank, start = b.lshr(shared, INT[64](RANK_BIT)), b.and_(shared, INT[64]((1 << RANK_BIT) - 1))
        above = b.icmp_unsigned(">=", start, INT[64](shared_start))
        above = b.and_(above, b.icmp_unsigned("<", rank, e.get(context, CONTEXT, "cluster_blocks")))
        ended = e.get(e.get(context, CONTEXT, "cluster", as_type=POINTER), CLUSTER, "ended")
        gone = b.lshr(ended, b.and_(b.trunc(rank, INT[32]), INT[32](31)))
        above = b.and_(above, e.empty(b.and_(gone, INT[32](1))))
        below = b.icmp_unsigned("<=", b.add(start, size), e.get(context, CONTEXT, "shared_size"))
        unnoted = b.icmp_unsigned("==", e.get(context, CONTEXT, "notes"), INT[64](0))
        good = b.and_(b.and_(b.and_(known, inside), b.and_(above, below)), unnoted)
        with b.if_then(good, likely=True):
            ends = e.at(e.get(context, CONTEXT, "shared", as_type=POINTER), shared), e.at(base, offset)
            to, source = ends if name == "copy_in" else reversed(ends)
            e.call("llvm.memcpy.p0.p0.i64", VOID, to, source, size, INT[1](0))
        b.ret(good)

    return e.outline(f"bulk_{name}", INT[1], [POINTER, INT[32], INT[32], INT[64], INT[32]], build)
