"""Textures and surfaces in memory: what their descriptors say, and what lies at an element.

An object of the program is a number of 32 bits that its kernels are handed; what it means is between the machine and
the stand-in for the driver (runs/programs/cuda/textures.c), which both are ours: the upper half of the global address
of a descriptor, of 48 bytes. Elements lie in memory as in an array of C, row after row and layer after layer.

word    of a descriptor
0, 1    address of the first element
2 to 4  width, height, depth in elements; of a layered one the depth is the number of layers
5, 6    bytes between rows, and between layers
7       how it is read: the fields of `FIELDS`
8 to 11 the colour of the border, as the elements' channels are
"""

from dataclasses import dataclass

from banksim.kernels.kernel import Instruction
from banksim.machine.engine import Access, Engine, Value
from banksim.machine.operations.half import FLOAT16, from_half, to_half

FIELDS = {
    "bytes": (0, 7), "channels": (4, 7), "kind": (8, 3), "axes": (10, 3), "layered": (12, 1), "normalized": (13, 1),
    "linear": (14, 1), "as_float": (15, 1), "mode0": (16, 3), "mode1": (18, 3), "mode2": (20, 3),
}  # fmt: skip
"""Lowest bit and mask of what word 7 says: bytes of a channel, channels, what a channel is, axes that have coordinates,
whether there are layers beside, whether coordinates are normalized, filtered, integers read as fractions of their
greatest, and the address mode of each axis, numbered as CUDA does."""
UNSIGNED, SIGNED, FLOAT = range(3)
WRAP, CLAMP, MIRROR, BORDER = range(4)
DESCRIPTOR_WORDS, CHANNELS = 12, 4
NO_NUMBER, LEAST, LEAST_HALF = 0x7FF, 1023 - 126, 1023 - 14
"""Exponents of f64: of infinities and NaNs; the least that float32 and half have, but for denormals."""
SIGN = 1 << 63
"""The bit of an f64."""
GUARD = 4
"""Binary digits that a filter keeps behind those of its largest number."""


@dataclass
class Descriptor:
    """A descriptor as lanes have read it: each its own."""

    words: tuple[Value, ...]

    def field(self, name: str) -> Value:
        lowest, mask = FIELDS[name]
        return self.words[7] >> lowest & mask

    @property
    def size(self) -> tuple[Value, ...]:
        return self.words[2:5]

    @property
    def is_float(self) -> Value:
        return self.field("kind") == FLOAT

    def greatest(self, x: Engine) -> Value:
        """The greatest integer that a channel holds: what is read as 1."""
        whole = x.where(self.field("bytes") == 1, x.const(0xFF), x.const(0xFFFF))
        return whole >> x.number(self.field("kind") == SIGNED)


def descriptor(x: Engine, i: Instruction, handle: Value) -> Descriptor:
    address = x.zext(handle) << 32
    words = [
        word for at in range(0, 4 * DESCRIPTOR_WORDS, 16) for word in x.fetch(Access(i, "global", address + at, 16))
    ]
    return Descriptor(tuple(words))


def address_of(x: Engine, d: Descriptor, element: tuple[Value, ...], byte: Value) -> Value:
    """The address of `byte` of row and layer `element`, (y, z)."""
    row, layer = element
    distance = layer * d.words[6] + row * d.words[5] + byte
    return (x.zext(d.words[0]) | x.zext(d.words[1]) << 32) + x.zext(distance)


def channels(x: Engine, i: Instruction, d: Descriptor, place: tuple[Value, ...], inside: Value) -> tuple[Value, ...]:
    """The four channels of the element at (x, y, z), integers extended to 32 bits and halves as float32; the border's
    where it does not lie `inside`. A channel that there is none of is 0."""
    column, *row_and_layer = place
    of_channel, count = d.field("bytes"), d.field("channels")
    whole = of_channel * count
    address = address_of(x, d, tuple(row_and_layer), column * whole)
    words: list[Value] = [x.const(0)] * CHANNELS
    for width in (1, 2, 4, 8, 16):
        those = whole == width
        for n, word in enumerate(x.fetch(Access(i, "global", address, width, those & inside))):
            words[n] = x.where(those, word, words[n])
    unused = 32 - of_channel * 8
    found = []
    for n, word in enumerate(words):
        halves = words[n >> 1] >> 16 * (n & 1) & 0xFFFF
        v = x.where(of_channel == 4, word, x.where(of_channel == 2, halves, words[0] >> 8 * n & 0xFF))
        extended = x.unsigned(x.signed(v << unused) >> x.signed(unused))
        v = x.where(d.field("kind") == SIGNED, extended, v)
        v = x.where(d.is_float & (of_channel == 2), x.bits(from_half(x, v, FLOAT16)), v)
        v = x.where(inside, v, d.words[8 + n])
        found.append(x.where(count > n, v, x.const(0)))
    return tuple(found)


def number(x: Engine, d: Descriptor, channel: Value) -> Value:
    """A channel as f64. Of the smallest negative integer and that above it, both are read as -1 (documented)."""
    least, v = -x.to_f64(d.greatest(x)), weighed(x, d, channel)
    return x.where((d.field("as_float") != 0) & (v < least), least, v)


def weighed(x: Engine, d: Descriptor, channel: Value) -> Value:
    """A channel as f64, as a filter weighs it."""
    integer = x.where(d.field("kind") == SIGNED, x.to_f64(x.signed(channel)), x.to_f64(channel))
    return x.where(d.is_float, x.to_f64(x.as_float(channel)), integer)


def exponent(x: Engine, v: Value) -> Value:
    """Of an f64, as its bits have it, u64."""
    return x.bits(v) >> 52 & NO_NUMBER


def is_number(x: Engine, v: Value) -> Value:
    return exponent(x, v) != NO_NUMBER


def cut(x: Engine, d: Descriptor, v: Value, largest: Value) -> Value:
    """A float, f64, as a filter adds it: nothing where float32 has no exponent for it, else cut toward zero four binary
    digits behind the last of a number with the exponent `largest`, float32 or half (measured on an H200)."""
    digits = x.where(d.field("bytes") == 2, x.const(10 + GUARD, 64), x.const(23 + GUARD, 64))
    lowest = x.const(LEAST, 64)
    unit = x.as_float(x.where(largest > lowest, largest, lowest) - digits << 52)
    return x.where(exponent(x, v) < lowest, zero_of(x, v), x.round(x.divide(v, unit), "trunc") * unit)


def zero_of(x: Engine, v: Value) -> Value:
    """A zero with the sign of an f64."""
    return x.as_float(x.bits(v) & x.const(SIGN, 64))


def nearest(x: Engine, v: Value, dropped: int) -> Value:
    """An f64 without so many of its last digits, the nearest, of two the one farther from zero."""
    bits = x.bits(v) + (1 << dropped - 1)
    return x.as_float(bits >> dropped << dropped)


def filtered(x: Engine, d: Descriptor, v: Value) -> Value:
    """The bits of float32 that are read for a weighted sum, f64: of fractions a multiple of 1/65535 (or, of signed
    ones, 1/32767), of halves a half, of float32 no denormal (measured on an H200). The multiple is the nearest; that of
    signed bytes is the sum in 1/256 of their unit, and 257/32768 of that without its last four binary digits."""
    is_signed = d.field("kind") == SIGNED
    units = x.where(is_signed, x.const(32767.0, 64), x.const(65535.0, 64))
    fraction = x.round(x.divide(v * units, x.to_f64(d.greatest(x))) + 0.5, "floor")
    more = x.round(v * 16.0, "floor") * (257 / 2048) + 0.5
    fraction = x.where(is_signed & (d.field("bytes") == 1), v * 256.0 + x.round(more, "floor"), fraction)
    fraction = x.where(fraction < -units, -units, fraction)
    sign = x.bits(v) & x.const(SIGN, 64)
    small = x.bits(x.round(x.as_float(x.bits(v) ^ sign) * 2.0**24 + 0.5, "floor") * 2.0**-24) | sign
    half = x.where(exponent(x, v) < x.const(LEAST_HALF, 64), x.as_float(small), nearest(x, v, 42))
    half = from_half(x, to_half(x, half, FLOAT16), FLOAT16)
    single = nearest(x, v, 29)
    single = x.where(exponent(x, single) < x.const(LEAST, 64), zero_of(x, v), single)
    v = x.where(d.is_float & (d.field("bytes") == 2), x.to_f64(half), single)
    return x.bits(x.to_f32(x.where(d.field("as_float") != 0, x.divide(fraction, units), v)))


def as_read(x: Engine, d: Descriptor, v: Value) -> Value:
    """The bits of float32 that are read for a number of f64."""
    fraction = x.where(d.field("as_float") != 0, x.divide(v, x.to_f64(d.greatest(x))), v)
    return x.bits(x.to_f32(fraction))
