"""Loads, stores and atomics of surfaces: elements by their indices, the first in bytes.

What happens outside a surface, the instruction says: a fault (TRAP), nothing, and 0 for a load (IGN), or the access of
the nearest element (PTX ISA, "Surface Instructions").
"""

from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Instruction
from banksim.machine.engine import Access, Engine, Value
from banksim.machine.operations import texels
from banksim.machine.operations.loads_and_stores import CACHE, is_signed, memory_operand, width
from banksim.machine.operations.table import operation, which
from banksim.machine.operations.textures import handle_of

AXES = {"1D_ARRAY": 1, "2D_ARRAY": 2, "1D": 1, "2D": 2, "3D": 3}
"""Coordinates of each form, beside the layer."""
FORMS = " ".join(AXES)
ACCESS = f"D BA {FORMS} U8 S8 U16 S16 64 128 TRAP IGN {CACHE}"
ATOMICS = ("ADD", "MIN", "MAX", "AND", "OR", "XOR")


def located(x: Engine, i: Instruction, size: int) -> tuple[Value, Value]:
    """Where each lane accesses memory, and whether it does. A fault is an address of nothing."""
    if "D" not in i.modifiers:
        raise UnsupportedError("a surface access that converts")
    form = which(i, tuple(AXES))
    handle = handle_of(x, i)
    d = texels.descriptor(x, i, x.raw(i.operands[-1]) if handle is None else handle)
    (register,) = memory_operand(i).parts
    given = [x.raw(register, n) for n in range(AXES[form] + form.endswith("ARRAY"))]
    if form == "1D_ARRAY":  # its layer lies where others have theirs
        given.insert(1, x.const(0))
    of_element = d.field("bytes") * d.field("channels")
    limits = [d.size[0] * of_element, d.size[1], d.size[2]]
    inside: Value = limits[0] == limits[0]
    place: list[Value] = [x.const(0)] * 3
    for axis, v in enumerate(given):
        last = limits[axis] - (size if axis == 0 else 1)
        inside = inside & (v <= last) & (limits[axis] > last)
        beyond = x.where(x.signed(v) < x.signed(x.const(0)), x.const(0), last)
        place[axis] = x.where(v <= last, v, beyond)
    column, row, layer = place
    address = texels.address_of(x, d, (row, layer), column)
    everywhere: Value = limits[0] == limits[0]
    if "TRAP" in i.modifiers:
        return x.where(inside, address, x.const(0, 64)), everywhere
    return address, inside if "IGN" in i.modifiers else everywhere


@operation("SULD", ACCESS)
def load(x: Engine, i: Instruction) -> None:
    size = width(i)
    address, lanes = located(x, i, size)
    for n, v in enumerate(x.fetch(Access(i, "global", address, size, lanes))):
        word = x.where(lanes, v, x.const(0))
        if is_signed(i):
            word = x.unsigned(x.signed(word << 32 - 8 * size) >> 32 - 8 * size)
        x.write(i.operands[0], word, n)


@operation("SUST", ACCESS)
def store(x: Engine, i: Instruction) -> None:
    size = width(i)
    address, lanes = located(x, i, size)
    x.store(Access(i, "global", address, size, lanes), i.operands[1])


@operation("SURED", f"D BA {FORMS} {' '.join(ATOMICS)} U32 S32 64 U64 S64 TRAP IGN {CACHE}")
def reduce(x: Engine, i: Instruction) -> None:
    """An atomic with no result."""
    if i.modifiers & {"64", "U64", "S64"}:
        raise UnsupportedError(f"the form {i.opcode}")
    address, lanes = located(x, i, 4)
    kind = "s32" if "S32" in i.modifiers else "u32"
    one = Access(i, "global", address, 4, lanes)
    x.atomic(one, kind, which(i, ATOMICS).lower(), (x.value(i.operands[1]),), None)
