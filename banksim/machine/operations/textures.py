"""Fetches from textures.

What the CUDA Programming Guide documents ("Texture Fetching"): which element a coordinate means, address modes,
coordinates and results that are normalized, and linear filtering, whose weights are fixed-point numbers of 9 bits, 8 of
them behind the point. How it rounds them, also where two axes meet, was inferred: so the reference picture of NVIDIA's
sample simpleTexture, which a GPU drew, comes out, all 262,144 pixels of it. (With weights cut off, 1,800 differ; with
products of weights that are not rounded, 600.)

An H200 gave tests/data/hardware/texture_fetches.npz, which everything here equals bit for bit, and so it does 622,000
more filtered fetches, in every weight along three axes and in every fraction. Not known: how floats of two planes are
added that differ by orders of magnitude (the last digits differ in one of 1,000). The border of the second axis mixes
into textures that have one axis. There is one level, so that levels of detail and gradients choose nothing.
"""

from collections.abc import Sequence

from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Instruction, Operand
from banksim.machine.engine import Engine, Value
from banksim.machine.operations import texels
from banksim.machine.operations.table import operation
from banksim.machine.operations.texels import BORDER, CHANNELS, CLAMP, MIRROR, WRAP, Descriptor

AXES = {"1D": 1, "2D": 2, "3D": 3, "CUBE": 3, "ARRAY_1D": 1, "ARRAY_2D": 2, "ARRAY_CUBE": 3}
"""Coordinates of what an instruction says that it reads, beside the layer; of a cube map, a direction."""
FACES = 6
"""Layers of a cube map: those of x, -x, y, -y, z and -z."""
STEPS = 256
"""Of a weight, from 0 to 1."""
FRACTIONS = 1 << 21
"""Of a normalized coordinate, from 0 to 1: what is between two of them is cut off (measured on an H200)."""
COMPONENTS = ("R", "G", "B", "A")
CORNERS = ((0, 1), (1, 1), (1, 0), (0, 0))
"""Of a gather: (right, below) of the elements that its four results are of."""
SIZES = {"TEX_HEADER_DIMENSION": (2, 3, 4)}
"""The words of a descriptor that a query is answered from."""
Place = tuple[Value, ...]


def form(i: Instruction) -> str:
    """What kind of texture the instruction reads: 1D, ARRAY_2D …"""
    found = next((o.text for o in i.operands if o.kind == "other" and o.text in AXES), None)
    if found is None:
        raise UnsupportedError(f"the form {next((o.text for o in i.operands if o.kind == 'other'), i.opcode)}")
    return found


def handle_of(x: Engine, i: Instruction) -> Value | None:
    """The object that an instruction names by a uniform register, or by a word of constant bank 0 (to sm_8x); None
    where it names it by another register."""
    named = [o for o in i.operands if o.kind in ("UR", "imm", "other")]
    uniform = next((n for n, o in enumerate(named) if o.kind == "UR"), None)
    if uniform is not None:
        if named[uniform + 1 :] and named[uniform + 1].kind == "imm" and named[uniform + 1].number:
            raise UnsupportedError(f"the form {i.text}")
        return x.raw(named[uniform])
    if i.name == "TXQ":
        named = named[1:]
    if [o.kind for o in named[:2]] != ["imm", "imm"]:
        return None
    return x.raw(Operand("const", named[0].number, parts=(Operand("imm", 4 * named[1].number),)))


def arguments(x: Engine, i: Instruction, count: int) -> tuple[Value, list[Value]]:
    """The object, and the first `count` values that the instruction is given: layer and coordinates.

    They begin in the first register behind the results, and go on, with the object where a register names it and then
    the level of detail, in the next. SCR: the first row holds half of all of these, rounded up. TXD: all stand in the
    first row, behind the object where a register names it, and the layer stands last."""
    registers = [o for o in i.operands[2:] if o.kind == "R"]
    handle = handle_of(x, i)
    if i.name == "TXD":
        named = [x.raw(registers[0], n) for n in range(count + (handle is None))]
        return named.pop(0) if handle is None else handle, named
    first = count
    if "SCR" in i.modifiers:
        first = min((count + (handle is None) + ("LL" in i.modifiers) + 1) // 2, count)
    values = [x.raw(registers[0], n) for n in range(first)]
    values += [x.raw(registers[1], n) for n in range(count - first)]
    return x.raw(registers[1], count - first) if handle is None else handle, values


def write(x: Engine, i: Instruction, found: Sequence[Value]) -> None:
    """The results that the mask (the last operand) asks for: two behind operand two, the others behind operand one."""
    last = i.operands[-1]
    mask = last.number if last.kind == "imm" else 0xF
    asked = [v for n, v in enumerate(found) if mask >> n & 1]
    upper, lower = i.operands[:2]
    for n, v in enumerate(asked):
        x.write(lower if n < 2 else upper, v, n % 2)


# ---- coordinates
def scaled(x: Engine, d: Descriptor, v: Value, axis: int) -> Value:
    """A coordinate, f32, in elements, as f64; 0 for what is no number. Where the texture repeats, it is one of the
    first turn, and where it is mirrored too, of the first two."""
    normalized, mode, size = d.field("normalized") != 0, d.field(f"mode{axis}"), x.to_f64(d.size[axis])
    v = x.to_f64(v)
    v = x.where(v == v, v, x.const(0.0, 64))
    v = x.where(normalized, x.round(v * float(FRACTIONS), "floor") * (1 / FRACTIONS), v)
    turns = x.where(mode == MIRROR, x.const(2.0, 64), x.const(1.0, 64))
    repeats = normalized & ((mode == WRAP) | (mode == MIRROR))
    within = v - x.round(x.divide(v, turns), "floor") * turns
    v = x.where(repeats, x.where(within == within, within, x.const(0.0, 64)), v)
    v = x.where(normalized, v * size, v)
    first, last = x.const(0.5, 64), size - 0.5
    nearest = x.where(v < first, first, x.where(v > last, last, v))
    return x.where((mode == CLAMP) & (d.field("linear") != 0), nearest, v)


def whole(x: Engine, v: Value) -> Value:
    """f64 as s32, so far from its ends that neighbours are numbers too."""
    limit = float(1 << 30)
    v = x.where(v > limit, x.const(limit, 64), x.where(v < -limit, x.const(-limit, 64), v))
    return x.to_integer(v, 32, True)


def addressed(x: Engine, d: Descriptor, n: Value, axis: int) -> tuple[Value, Value]:
    """The element that index `n`, s32, means by the address mode, and whether it is one of the texture."""
    mode, size = d.field(f"mode{axis}"), x.signed(d.size[axis])
    zero = x.signed(x.const(0))
    inside = (n >= zero) & (n < size)
    nearest = x.where(n < zero, zero, x.where(n < size, n, size - 1))
    around = x.where(n < zero, n + size, x.where(n < size, n, n - size))
    turned = x.where(n < zero, -1 - n, x.where(n < size, n, x.where(n < size * 2, size * 2 - 1 - n, n - size * 2)))
    normalized = d.field("normalized") != 0
    element = x.where((mode == WRAP) & normalized, around, x.where((mode == MIRROR) & normalized, turned, nearest))
    return x.unsigned(element), inside | (mode != BORDER)


def axes_of(x: Engine, d: Descriptor) -> Value:
    """How many axes a filter has: a texture of one axis, without layers, is one row of two."""
    axes = d.field("axes")
    return x.where((axes == 1) & (d.field("layered") == 0), x.const(2), axes)


def at(x: Engine, i: Instruction, d: Descriptor, place: Place, layer: Value, lanes: Value | None = None) -> Place:
    """The channels of the element at indices `place`, as `texels.channels` gives them."""

    def routine(x: Engine, *values: Value) -> Place:
        own = Descriptor(values[: texels.DESCRIPTOR_WORDS])
        *indices, layer = values[texels.DESCRIPTOR_WORDS :]
        axes = axes_of(x, own)
        elements: list[Value] = []
        inside = axes == axes
        for axis, index in enumerate(indices):
            element, holds = addressed(x, own, x.signed(index), axis)
            there = axes > axis
            elements.append(x.where(there, element, x.const(0)))
            inside = inside & (holds | ~there)
        last = own.size[2] - 1
        kept = x.where(layer < last, layer, last)
        elements[2] = x.where(own.field("layered") != 0, kept, elements[2])
        return texels.channels(x, i, own, tuple(elements), inside)

    values = [*d.words, *(x.unsigned(v) for v in place), layer]
    return x.read_apart(i, "texture_element", routine, values, lanes)


# ---- fetches
def in_steps(x: Engine, weight: Value) -> Value:
    """A weight, f64, as a multiple of 1 / STEPS: the nearest, of two the greater."""
    return x.round(weight * float(STEPS) + 0.5, "floor") * (1 / STEPS)


def shares(x: Engine, weights: Sequence[Value]) -> list[Value]:
    """What each of eight neighbours has in the sum, x changing first, by the weights of the upper ones of each axis.
    All are multiples of 1 / STEPS, and they add up to 1. The planes share it first, then the columns of each, then the
    rows of those; of two nearest multiples an upper column takes the greater, and so does its upper row."""
    a, b, c = weights
    found = []
    for plane in (1.0 - c, c):
        right = in_steps(x, a * plane)
        left = plane - right
        above = in_steps(x, right * b)
        beside = left - in_steps(x, left * (1.0 - b))
        found += [left - beside, right - above, beside, above]
    return found


def added(
    x: Engine, d: Descriptor, channels: Sequence[Value], weights: Sequence[Value], needed: Sequence[Value]
) -> Value:
    """The weighted sum of a channel of neighbours in one plane, f64. Floats are cut behind the largest that has a
    weight; what is no number counts whatever its weight is. The sum of nothing but -0 is -0; any other number that is
    `needed` and whose weight was rounded to 0 adds 0 (measured on an H200)."""
    values = [texels.weighed(x, d, v) for v in channels]
    largest, total = x.const(0, 64), x.const(-0.0, 64)
    for v, weight in zip(values, weights, strict=True):
        exponent = texels.exponent(x, v)
        largest = x.where((weight != 0.0) & (exponent > largest), exponent, largest)
    for v, weight, is_needed in zip(values, weights, needed, strict=True):
        v = x.where(d.is_float, texels.cut(x, d, v, largest), v)
        none = x.where(is_needed & (x.bits(v) != x.const(texels.SIGN, 64)), x.const(0.0, 64), x.const(-0.0, 64))
        share = x.where(weight != 0.0, v * weight, none)
        total = total + x.where(texels.is_number(x, v), share, v)
    return total


def sampled(x: Engine, i: Instruction, coordinates: Sequence[Value], handle: Value, layer: Value) -> Place:
    """What is read at coordinates (f32, three), filtered if the texture says so."""

    def routine(x: Engine, handle: Value, layer: Value, *values: Value) -> Place:
        d = texels.descriptor(x, i, handle)
        linear = d.field("linear") != 0
        lowest, weights = [], []
        for axis, v in enumerate(values):
            there = scaled(x, d, x.as_float(v), axis)
            v = x.where(linear, in_steps(x, there - 0.5), there)
            floor = x.round(v, "floor")
            part = x.where(linear, v - floor, x.const(0.0, 64))
            part = x.where(part == part, part, x.const(0.0, 64))
            lowest.append(whole(x, floor))
            weights.append(x.where(axes_of(x, d) > axis, part, x.const(0.0, 64)))
        first = at(x, i, d, tuple(lowest), layer)
        neighbours, asked = [first], [linear]
        for corner in range(1, 8):
            steps = [corner >> axis & 1 for axis in range(3)]
            needed = linear
            for axis, step in enumerate(steps):
                needed = needed & (weights[axis] != 0.0) if step else needed
            place = tuple(index + step if step else index for index, step in zip(lowest, steps, strict=True))
            found = at(x, i, d, place, layer, needed)
            neighbours.append(tuple(x.where(needed, v, x.const(0)) for v in found))
            asked.append(needed)
        every = shares(x, weights)
        planes = [(neighbours[:4], every[:4], asked[:4]), (neighbours[4:], every[4:], asked[4:])]
        sums = [
            sum((added(x, d, [v[n] for v in those], *own) for those, *own in planes), x.const(-0.0, 64))
            for n in range(CHANNELS)
        ]
        plain = [read(x, d, v) for v in first]
        return tuple(x.where(linear, texels.filtered(x, d, s), v) for v, s in zip(plain, sums, strict=True))

    def read(x: Engine, d: Descriptor, element: Value) -> Value:
        """Of an element that is not filtered, its bits, unless it is to be a fraction."""
        return x.where(d.field("as_float") == 0, element, texels.as_read(x, d, number(x, d, element)))

    number = texels.number
    return x.read_apart(i, "texture_sample", routine, [handle, layer, *coordinates])


def on_face(x: Engine, d: Descriptor, cube: Value, direction: Sequence[Value]) -> tuple[Value, list[Value]]:
    """Where a direction, f32, meets a cube: the layer, and two coordinates from 0 to 1 ("Cubemap Textures").

    The greatest of its three numbers, which the kernel has divided all by, chooses the face by its sign. Of two as
    great it is the later, and what is no number is the middle (measured on an H200)."""
    a, b, c = (x.to_f64(x.as_float(v)) for v in direction)
    wide, high, deep = (x.absolute(v) for v in (a, b, c))
    on_z, on_y = ~((wide > deep) | (high > deep)), ~(wide > high)
    main = x.where(on_z, c, x.where(on_y, b, a))
    back = main < 0.0
    right = x.where(on_z, x.where(back, -a, a), x.where(on_y, a, x.where(back, c, -c)))
    below = x.where(on_z | ~on_y, -b, x.where(back, -c, c))
    face = x.where(on_z, x.const(4), x.where(on_y, x.const(2), x.const(0))) + x.number(back)
    layer, depth = cube * FACES + face, d.size[2]
    layer = x.where(layer < depth, layer, depth - FACES + face)
    parts = [x.where(v == v, v, x.const(0.0, 64)) * 0.5 + 0.5 for v in (right, below)]
    return layer, [x.bits(x.to_f32(x.round(v * float(FRACTIONS), "trunc") * (1 / FRACTIONS))) for v in parts]


def place_of(x: Engine, i: Instruction) -> tuple[Value, Value, list[Value]]:
    """Object, layer and three coordinates of a fetch; 0 for what it is not given."""
    kind = form(i)
    layered = kind.startswith("ARRAY")
    handle, values = arguments(x, i, AXES[kind] + layered)
    layer = values.pop(-1 if i.name == "TXD" else 0) & 0xFFFF if layered else x.const(0)
    if kind.endswith("CUBE"):
        if i.name != "TEX":
            raise UnsupportedError(f"the form {i.opcode} of a cube map")
        layer, values = on_face(x, texels.descriptor(x, i, handle), layer, values)
    return handle, layer, values + [x.const(0)] * (3 - len(values))


@operation("TEX TXD", "SCR B LL LZ")
def sample(x: Engine, i: Instruction) -> None:
    handle, layer, coordinates = place_of(x, i)
    write(x, i, sampled(x, i, coordinates, handle, layer))


@operation("TLD", "SCR B LL LZ")
def load(x: Engine, i: Instruction) -> None:
    """An element by its indices, never filtered."""
    handle, layer, indices = place_of(x, i)
    d = texels.descriptor(x, i, handle)
    found = at(x, i, d, tuple(indices), layer)
    fraction = d.field("as_float") != 0
    write(x, i, [x.where(fraction, texels.as_read(x, d, texels.number(x, d, v)), v) for v in found])


@operation("TLD4", f"SCR B {' '.join(COMPONENTS)}")
def gather(x: Engine, i: Instruction) -> None:
    """One channel of the four elements that a filter would weigh."""
    handle, layer, coordinates = place_of(x, i)
    d = texels.descriptor(x, i, handle)
    channel = COMPONENTS.index(next(m for m in i.opcode.split(".") if m in COMPONENTS))
    lowest = [whole(x, x.round(scaled(x, d, x.as_float(v), n) - 0.5, "floor")) for n, v in enumerate(coordinates)]
    found = []
    for right, below in CORNERS:
        place = (lowest[0] + right, lowest[1] + below, lowest[2])
        v = at(x, i, d, place, layer)[channel]
        fraction = d.field("as_float") != 0
        found.append(x.where(fraction, texels.as_read(x, d, texels.number(x, d, v)), v))
    write(x, i, found)


@operation("TXQ", "SCR B")
def query(x: Engine, i: Instruction) -> None:
    what = next((o.text for o in i.operands if o.kind == "other"), "")
    if what not in SIZES:
        raise UnsupportedError(f"a query of {what or i.opcode}")
    handle = handle_of(x, i)
    d = texels.descriptor(x, i, x.raw(i.operands[2]) if handle is None else handle)
    write(x, i, [*(d.words[n] for n in SIZES[what]), x.const(1)])
