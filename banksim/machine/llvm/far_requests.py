"""A request to global or local memory, as code of a kernel that is timed: its places, for the model of the caches."""

from banksim.machine.llvm import ir
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.memory_call import MemoryCall
from banksim.machine.llvm.values import INT, LANES, LONGS, splat, vector
from banksim.machine.state import CONTEXT, LOCAL_PLACES, WARP


def note(e: Emitter, a: MemoryCall, places: ir.Value, width: int) -> None:
    """Add the lanes to those that this instruction has let access memory."""
    noted = e.field(a.context, CONTEXT, "far_places")
    before = e.load(noted, LONGS)
    e.store(e.b.select(e.as_bools(a.mask), places, before), noted)
    e.set(a.context, CONTEXT, "far_mask", e.b.or_(e.get(a.context, CONTEXT, "far_mask"), a.mask))
    e.set(a.context, CONTEXT, "far_width", INT[32](width))


def in_local(e: Emitter, a: MemoryCall) -> ir.Value:
    """The places of addresses in local memory: a word of all lanes of a warp lies together, that of warps and blocks
    one behind the other."""
    b = e.b
    words = b.lshr(b.zext(a.address, LONGS), vector([2] * LANES, 64))
    of_lanes = b.add(b.shl(words, vector([7] * LANES, 64)), vector([4 * lane for lane in range(LANES)], 64))
    of_block = b.mul(e.get(a.context, CONTEXT, "block"), e.get(a.context, CONTEXT, "warp_count"))
    warp = b.add(of_block, b.zext(e.get(a.warp, WARP, "index"), INT[64]))
    of_warp = b.mul(b.mul(warp, e.get(a.context, CONTEXT, "local_size")), INT[64](LANES))
    return b.add(of_lanes, splat(b, b.add(of_warp, INT[64](LOCAL_PLACES))))
