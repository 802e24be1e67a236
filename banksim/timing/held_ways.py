"""Ways that are held for hundredths of a cycle: to and from the L2, to other blocks, and what DRAM reads."""

from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import inlined


@inlined
def hold(held: Integers, way: Integer, cost: Integer, t: Integer) -> Integer:
    """Have something of that cost take one of several ways from cycle t on; `held`: until when each is held, in
    hundredths of a cycle. Returns the cycle in which it is through."""
    held[way] = max(held[way], 100 * t) + cost
    through: Integer = held[way] // 100
    return through
