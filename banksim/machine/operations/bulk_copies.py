"""Bulk copies (cp.async.bulk) and copies of tensors by descriptors (TMA), by the lowest executing lane.

They are simulated as if each were done at once, its bytes taken off those that its mbarrier waits for: a program that
waits for them, as it must, sees no difference. Counters report none of them; `bulk` requests have no count.
"""

from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Instruction, Operand
from banksim.machine.bulk_calls import REDUCTIONS
from banksim.machine.engine import Access, Engine, Value
from banksim.machine.operations.mbarriers import arrive, changed
from banksim.machine.operations.table import operation, which
from banksim.machine.tensor_maps import AXES

UNIT = 16
"""Bytes that bulk copies count in."""
SIZES_OF_AXES = " ".join(f"{n}D" for n in range(1, AXES + 1))


def size_and_mask(x: Engine, units: Operand) -> tuple[Value, Value]:
    """The lower half of a register counts units, the upper half names the blocks of a multicast."""
    v = x.value(units)
    return (v & 0xFFFF) * UNIT, v >> 16


@operation("UBLKCP", "S G MULTICAST")
def bulk_copy(x: Engine, i: Instruction) -> None:
    """S.G: [shared, and behind it the mbarrier], [global], units; S.S: the same from the block's own shared memory;
    G.S: [global], [shared], units. A fourth operand is a hint to the cache."""
    to, source, units = i.operands[:3]
    size, mask = size_and_mask(x, units)
    if i.opcode.endswith(".G.S"):
        return copy(x, i, "copy_out", x.address(source, False), x.address(to, True), size)
    if "MULTICAST" in i.modifiers or "G" not in i.modifiers:
        return to_cluster(x, i, "copy_to_cluster", size, mask)
    copy(x, i, "copy_in", x.address(to, False), x.address(source, True), size)
    first = x.lane() == x.first(x.lane())
    change = changed(x, size, 0, "-R")
    return arrive(x, i, x.raw(to.parts[0], 1), change, lanes=first)


@operation("UBLKRED", f"G S {' '.join(REDUCTIONS)} 64 U32 S32 U64 S64 F16 BF16 F32 F64 RN")
def bulk_reduction(x: Engine, i: Instruction) -> None:
    to, source, units = i.operands[:3]
    if not which(i, tuple(REDUCTIONS)):
        raise UnsupportedError(f"the form {i.opcode}")
    size, mask = size_and_mask(x, units)
    if "G" not in i.modifiers:
        return to_cluster(x, i, "reduce_in_cluster", size, mask)
    return copy(x, i, "reduce_out", x.address(source, False), x.address(to, True), size)


def copy(x: Engine, i: Instruction, name: str, shared: Value, outside: Value, size: Value) -> None:
    note(x, i, shared)
    x.bulk_copy(i, name, shared, outside, size)


def to_cluster(x: Engine, i: Instruction, name: str, size: Value, mask: Value) -> None:
    """Into the shared memory of blocks of the cluster, whose addresses name their ranks."""
    to, source = i.operands[:2]
    if "G" in i.modifiers:
        end = x.address(source, True)
        ends = [x.low(end), x.high(end)]
    else:
        x.need_cluster(i)
        note(x, i, x.address(source, False))
        ends = [x.address(source, False), x.special("SR_SWINHI", True)]
    x.service(i, name, [x.address(to, False), x.raw(to.parts[0], 1), *ends, size, mask])


def note(x: Engine, i: Instruction, shared: Value) -> None:
    """The request, which has no count."""
    x.fetch(Access(i, "shared", shared, UNIT, x.lane() == x.first(x.lane())))


# ---- tensors


@operation("UTMALDG", f"{SIZES_OF_AXES} MULTICAST IM2COL")
def tensor_load(x: Engine, i: Instruction) -> None:
    """[shared, mbarrier, coordinates], [map], and for a multicast the blocks in the upper half of a register, for
    im2col the offsets in the lower half."""
    to, tensor, *others = i.operands
    both: Value = x.value(others[0]) if i.modifiers & {"MULTICAST", "IM2COL"} else x.const(0)
    first = to.parts[0]
    words = [x.address(to, False), x.raw(first, 1), *map_of(x, tensor), *coordinates(x, i, first, 2), both]
    note(x, i, words[0])
    x.service(i, "tensor_in", words)


@operation("UTMASTG", f"{SIZES_OF_AXES} IM2COL")
def tensor_store(x: Engine, i: Instruction) -> None:
    """[shared, coordinates], [map]."""
    source, tensor = i.operands[:2]
    first = source.parts[0]
    note(x, i, x.address(source, False))
    words = [x.address(source, False), x.const(0), *map_of(x, tensor), *coordinates(x, i, first, 1), x.const(0)]
    x.service(i, "tensor_out", words)


@operation("UTMAREDG", f"{SIZES_OF_AXES} {' '.join(REDUCTIONS)}")
def tensor_reduction(x: Engine, i: Instruction) -> None:
    if not which(i, tuple(REDUCTIONS)):
        raise UnsupportedError(f"the form {i.opcode}")
    tensor_store(x, i)


@operation("UTMAPF UTMACCTL", f"{SIZES_OF_AXES} L2 PF IV IM2COL")
def tensor_prefetch(x: Engine, i: Instruction) -> None:
    """Prefetches of tensors and of maps, and the fence before a map that another thread has changed: nothing here."""


def map_of(x: Engine, tensor: Operand) -> tuple[Value, Value]:
    address = x.address(tensor, True)
    return x.low(address), x.high(address)


def coordinates(x: Engine, i: Instruction, first: Operand, start: int) -> list[Value]:
    """Five of them, from the register on that is `start` behind the first."""
    axes = int(which(i, tuple(SIZES_OF_AXES.split()))[0])
    return [x.raw(first, start + n) if n < axes else x.const(0) for n in range(AXES)]
