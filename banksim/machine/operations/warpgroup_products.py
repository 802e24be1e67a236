"""Products of matrices by groups of four warps (wgmma): HGMMA, QGMMA, IGMMA, BGMMA.

D = A·B + D for A of 64 rows and B of up to 256 columns. Each warp of the group computes 16 rows, 8 columns at a time,
as HMMA, IMMA and BMMA do, whose fragments these are, and cuts sums of floats alike. B, and A unless it is in registers,
lie in shared memory as 64-bit descriptors say (PTX ISA, "Asynchronous warpgroup level matrix instructions"; CUTLASS,
mma_sm90_desc.hpp): 32 bytes of each row, in core matrices of 8 rows of 16 bytes. Each is simulated as if done at once.

The counters show one transaction for each 128 bytes that the group reads, a quarter in each warp: a core matrix, which
never conflicts. Results and counts are those of an H200 in all that tests/data/hardware/warpgroup_products.npz holds.
"""

from collections.abc import Sequence
from typing import NamedTuple

from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Instruction, Operand
from banksim.machine import codes
from banksim.machine.engine import Access, Engine, Routine, Value
from banksim.machine.operations.matrix_product import bit_product, byte_product, float_product
from banksim.machine.operations.table import operation, which

WARPS, ROWS = 4, 64
"""Warps of a group, and rows of A."""
CORE, PIECE = 8, 16
"""Rows of a core matrix, and bytes of a row."""
UNIT = 16
"""Bytes in which descriptors count."""
PITCHES = (16, 128, 64, 32)
"""Bytes from one row of a core matrix to the next, by the number of the swizzle; 16: there is none."""
SIGNS = {"TF32": 0x80000000, "E4M3": 0x80808080}
"""The bits that turn the signs of a word's numbers round, where they are not those of two halves."""
SHAPES = " ".join(f"64x{n}x{k}" for n in range(8, 257, 8) for k in (8, 16, 32, 64, 256, 512))


class Tile(NamedTuple):
    """An operand in shared memory: where it begins, how far core matrices lie apart along K and along its rows (those
    of A, columns of B), the number of its swizzle, and the line of 128 bytes, modulo 8, with which the pattern of that
    begins. `across`: rows run along the 16 bytes of a core matrix (transposed)."""

    start: Value
    leading: Value
    stride: Value
    swizzle: Value
    base: Value
    across: bool


def tile(x: Engine, descriptor: Operand, second: bool, across: bool) -> Tile:
    """The first or the second of the two descriptors that four uniform registers hold."""
    o = Operand("UR", descriptor.number + 2 * second)
    low, high = x.raw(o), x.raw(o, 1)
    own = x.special("SR_CgaCtaId", True) << codes.RANK_BIT
    start, leading, stride = ((v & 0x3FFF) * UNIT for v in (low, low >> 16, high))
    return Tile(own + start, leading, stride, high >> 30, high >> 17 & 7, across)


def place(x: Engine, t: Tile, row: Value, byte: int | Value) -> Value:
    """Where byte 0 to 31 of a row lies: of a row of A or a column of B along K; of one that runs across, `byte` counts
    16 K's of one byte each, of which two lie in 16 bits: the row's 16 bits at K `byte`."""
    pitch = chosen(x, t.swizzle, PITCHES)
    plain = t.swizzle == 0
    if not t.across:
        core = (byte >> 4) * x.where(plain, t.leading, x.const(PIECE))
        at = (row & 7) * pitch + (row >> 3) * t.stride + core + (byte & 15)
    else:
        # Chunks of 8 rows fill a line of `pitch` bytes; K's are lines.
        chunk, wide = row >> 3, pitch >> 4
        logarithm = chosen(x, t.swizzle, [(pitch // PIECE).bit_length() - 1 for pitch in PITCHES])
        inside, beyond = chunk & wide - 1, chunk >> logarithm
        along_rows = inside * PIECE + beyond * x.where(plain, t.stride, t.leading)
        along_k = (byte & 7) * pitch + (byte >> 3) * x.where(plain, t.leading, t.stride)
        at = along_rows + along_k + (row & 7) * 2
    address = t.start + at
    phase = (address >> 7) - t.base & (pitch >> 4) - 1
    return address ^ phase << 4


def chosen(x: Engine, number: Value, values: Sequence[int]) -> Value:
    v: Value = x.const(values[0])
    for n, one in enumerate(values[1:], 1):
        v = x.where(number == n, x.const(one), v)
    return v


def word(x: Engine, i: Instruction, t: Tile, row: Value, number: int) -> Value:
    """The fragment's register of a row: 4 bytes at byte 4·t (number 0) or 16 behind (1), t the lane's place in four."""
    four = (x.lane() & 3) * 4
    if not t.across:
        (v,) = x.fetch(Access(i, "barrier", place(x, t, row, four + number * PIECE), 4))
        return v
    k = (x.lane() & 3) * 2 + 8 * number
    (low,), (high,) = (x.fetch(Access(i, "barrier", place(x, t, row, k + n), 2)) for n in (0, 1))
    return low | high << 16


def note(x: Engine, i: Instruction, tiles: Sequence[tuple[Tile, int]], warp: Value) -> None:
    """The requests of a warp: of the group's core matrices every fourth, four in a request."""
    total = sum(rows // CORE * 2 for _, rows in tiles)
    for first in range(0, total, WARPS * WARPS):
        number = (x.lane() >> 3) * WARPS + warp + first
        address, before = x.const(0), 0
        for t, rows in tiles:
            mine = number - before
            row, half = (mine >> 1) * CORE, mine & 1
            if t.across:
                there = place(x, t, row, half * CORE + (x.lane() & 7))
            else:
                there = place(x, t, row + (x.lane() & 7), half * PIECE)
            address = x.where(number < before, address, there)
            before += rows // CORE * 2
        x.fetch(Access(i, "shared", address, PIECE, number < total))


def multiply(x: Engine, i: Instruction, counts: Sequence[int], routine: Routine, sign: int = 0) -> None:
    to, *sources = i.operands
    at = next(n for n, o in enumerate(sources) if o.kind == "gdesc")
    descriptor, sum_ = sources[at], sources[at + 1]
    guard = next((o for o in sources[at + 2 :] if o.kind == "UP"), None)
    marks = set(descriptor.modifiers)
    columns = shape(i)[0]
    b = tile(x, descriptor, True, "tnspB" in marks)
    name = i.opcode.replace(f".64x{columns}x", ".")  # of the routine, which all numbers of columns share
    lane, warp = x.lane() >> 2, x.warp_number() & WARPS - 1
    if at == 0:
        a = tile(x, descriptor, False, "tnspA" in marks)
        first = warp * 16 + lane
        words = [word(x, i, a, first + 8 * (n & 1), n >> 1) for n in range(4)]
        note(x, i, [(a, ROWS), (b, columns)], warp)
    else:
        words = [x.raw(sources[0], n) for n in range(4)]
        note(x, i, [(b, columns)], warp)
    if "negA" in marks or (at and sources[0].negative):
        words = [v ^ sign for v in words]
    for n in range(columns // 8):
        right = [word(x, i, b, lane + 8 * n, half) for half in (0, 1)]
        if "negB" in marks:
            right = [v ^ sign for v in right]
        old = [x.raw(sum_, counts[2] * n + k) for k in range(counts[2])]
        if guard is not None:
            old = [x.where(x.predicate(guard), v, x.const(0)) for v in old]
        for k, v in enumerate(x.apart(name, routine, [*words, *right, *old])):
            x.write(to, v, counts[2] * n + k)


def shape(i: Instruction) -> tuple[int, int]:
    """Columns of B, and K."""
    _, columns, k = next(m for m in i.modifiers if m.startswith("64x")).split("x")
    return int(columns), int(k)


MARKS = "negA negB tnspA tnspB"


@operation("HGMMA", f"{SHAPES} F32 F16 BF16 TF32", MARKS)
def hgmma(x: Engine, i: Instruction) -> None:
    kind = which(i, ("BF16", "TF32"), "F16")
    result = "F32" if "F32" in i.modifiers else "F16"
    if shape(i)[1] != (8 if kind == "TF32" else 16):
        raise UnsupportedError(f"the form {i.opcode}")
    multiply(x, i, *float_product((kind, kind), result, shape(i)[1]), SIGNS.get(kind, 0x80008000))


@operation("QGMMA", f"{SHAPES} F32 F16 E4M3 E5M2", MARKS)
def qgmma(x: Engine, i: Instruction) -> None:
    result, first, second = i.opcode.split(".")[2:5]
    multiply(x, i, *float_product((first, second), result, shape(i)[1]), SIGNS["E4M3"])


@operation("IGMMA", f"{SHAPES} S8 U8 SAT", MARKS)
def igmma(x: Engine, i: Instruction) -> None:
    kinds = [mark for mark in i.opcode.split(".") if mark in ("S8", "U8")]
    multiply(x, i, *byte_product(16, 2, kinds, "SAT" in i.modifiers))


@operation("BGMMA", f"{SHAPES} AND POPC", MARKS)
def bgmma(x: Engine, i: Instruction) -> None:
    multiply(x, i, *bit_product(16, 2, True))
