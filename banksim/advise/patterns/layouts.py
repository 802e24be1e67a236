"""The layouts that are tried for an array: each maps a byte's offset in the declared array to one in the new layout."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod

import numpy as np
import numpy.typing as npt

from banksim.advise.patterns.spelling import LETTERS, Spelling, access, declaration, numba_type, together
from banksim.patterns.types import Record, Scalar, round_up

Offsets = npt.NDArray[np.int64]
LONGEST_PADDING = 32
"""The most elements by which a row is padded."""
VECTOR = 16
"""Bytes of the widest access."""


@dataclass(frozen=True)
class SharedArray:
    """An array as it is declared: `base` is its byte offset in the block's shared memory."""

    name: str
    base: int
    lengths: tuple[int, ...]
    element: Scalar | Record

    @property
    def size(self) -> int:
        return prod(self.lengths) * self.element.size

    @property
    def words(self) -> list[str]:
        """Names for the indices."""
        return list(LETTERS[: len(self.lengths)])

    @property
    def declaration(self) -> Spelling:
        return declaration(self.name, self.lengths, self.element)


@dataclass(frozen=True)
class Layout:
    """A way to store an array. `move` maps byte offsets in the declared array to those in this layout, which takes
    `size` bytes and begins at a multiple of `align`. `operations`: integer operations that each access needs in
    addition. `piece`: wider loads and stores become several of so many bytes (0: all stay whole)."""

    name: str
    size: int
    operations: int
    spelling: Spelling
    move: Callable[[Offsets], Offsets]
    align: int = 1
    piece: int = 0
    also: tuple[str, ...] = ()
    """Other names of the same mapping."""


def mapping(layout: Layout, array: SharedArray) -> tuple[object, ...]:
    """A key that two layouts of an array share if every byte lies at the same place in both."""
    return layout.size, layout.align, layout.piece, layout.move(np.arange(array.size)).tobytes()


def layouts(array: SharedArray) -> Iterator[Layout]:
    """Every layout that is tried; the simplest to write first."""
    if len(array.lengths) > 1:
        yield from padded(array)
        yield from swapped(array)
        yield from xored(array)
    else:
        yield from skewed(array)
    if isinstance(array.element, Record):
        yield from structs(array)
    yield from halved(array)
    yield from swizzled(array)


def as_declared(array: SharedArray) -> Layout:
    return Layout("as written", array.size, 0, array.declaration, lambda offset: offset)


# ---- dimensions
def parts(array: SharedArray, offset: Offsets) -> tuple[list[Offsets], Offsets]:
    """The indices of the elements at byte offsets, and the bytes within them."""
    element, byte = np.divmod(offset, array.element.size)
    return list(np.unravel_index(element, array.lengths)), byte


def offsets(indices: Sequence[Offsets], lengths: Sequence[int], byte: Offsets, size: int) -> Offsets:
    """The byte offsets of elements in an array of other lengths."""
    element: Offsets = np.zeros_like(byte)
    for index, length in zip(indices, lengths, strict=True):
        element = element * length + index
    moved: Offsets = element * size + byte
    return moved


def ordered(array: SharedArray, order: Sequence[int], lengths: tuple[int, ...]) -> Callable[[Offsets], Offsets]:
    """The dimensions of an array in another order, and longer."""

    def move(offset: Offsets) -> Offsets:
        indices, byte = parts(array, offset)
        return offsets([indices[axis] for axis in order], lengths, byte, array.element.size)

    return move


def paddings(lengths: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Lengths with longer rows, or with another dimension but the first made longer."""
    for axis in range(len(lengths) - 1, 0, -1):
        for more in range(1, LONGEST_PADDING + 1):
            yield (*lengths[:axis], lengths[axis] + more, *lengths[axis + 1 :])


def padded(array: SharedArray) -> Iterator[Layout]:
    """The array with longer rows."""
    for lengths in paddings(array.lengths):
        what = f"rows of {lengths[-1]}" if lengths[-1] != array.lengths[-1] else f"lengths {lengths}"
        yield reordered(array, what, range(len(lengths)), lengths)


def swapped(array: SharedArray) -> Iterator[Layout]:
    """The dimensions in another order, with longer rows or without."""
    axes = range(len(array.lengths))
    for order in permutations(axes):
        if order == tuple(axes):
            continue
        lengths = tuple(array.lengths[axis] for axis in order)
        name = "dimensions swapped" if len(order) == 2 else f"order {''.join(LETTERS[axis] for axis in order)}"
        yield reordered(array, name, order, lengths)
        for longer in paddings(lengths):
            if longer[-1] != lengths[-1]:
                yield reordered(array, f"{name}, rows of {longer[-1]}", order, longer)


def reordered(array: SharedArray, name: str, order: Sequence[int], lengths: tuple[int, ...]) -> Layout:
    words = array.words
    spelling = declaration(array.name, lengths, array.element)
    if list(order) != sorted(order):
        spelling = together(spelling, access(array.name, words, [words[axis] for axis in order]))
    return Layout(name, prod(lengths) * array.element.size, 0, spelling, ordered(array, order, lengths))


def skewed(array: SharedArray) -> Iterator[Layout]:
    """Gaps in an array of one dimension: one or more unused elements behind every so many."""
    (length,), size = array.lengths, array.element.size
    for shift in range(2, 8):
        for gap in (1, 2, 4):
            if 1 << shift >= length:
                continue
            longer = length + ((length - 1) >> shift) * gap

            def move(offset: Offsets, shift: int = shift, gap: int = gap) -> Offsets:
                element, byte = np.divmod(offset, size)
                moved: Offsets = (element + (element >> shift) * gap) * size + byte
                return moved

            step = f"i / {1 << shift}" + (f" * {gap}" if gap > 1 else "")
            spelling = together(
                declaration(array.name, (longer,), array.element), access(array.name, ["i"], [f"i + {step}"])
            )
            yield Layout(f"a gap of {gap} behind every {1 << shift}", longer * size, 2, spelling, move)


# ---- swizzles
def xored(array: SharedArray) -> Iterator[Layout]:
    """`column ^ row`, in units of one element, or of as many as 8 or 16 bytes hold."""
    columns, size = array.lengths[-1], array.element.size
    block = columns & -columns
    words = array.words
    for unit in dict.fromkeys((1, max(1, VECTOR // size), max(1, VECTOR // 2 // size))):
        for shift in range(4):
            slots = block // unit
            if slots < 2 or (shift and array.lengths[-2] >> shift < 2):
                continue

            def move(offset: Offsets, unit: int = unit, shift: int = shift, slots: int = slots) -> Offsets:
                indices, byte = parts(array, offset)
                indices[-1] = indices[-1] ^ ((indices[-2] >> shift) % slots * unit)
                return offsets(indices, array.lengths, byte, size)

            row = words[-2] if not shift else f"{words[-2]} / {1 << shift}"
            masked = array.lengths[-2] > slots << shift
            row = f"({row}) % {slots}" if masked and shift else f"{row} % {slots}" if masked else row
            factor = f"({row})" if unit > 1 and (masked or shift) else row
            term = f"{factor} * {unit}" if unit > 1 else row
            wrapped = f"({term})" if " " in term else term
            yield Layout(
                f"column ^ {term.replace(words[-2], 'row')}",
                array.size,
                1 + bool(shift) + masked + (unit > 1),
                together(array.declaration, access(array.name, words, [*words[:-1], f"{words[-1]} ^ {wrapped}"])),
                move,
            )


def swizzled(array: SharedArray) -> Iterator[Layout]:
    """CUTLASS's Swizzle<B, M, S> of the element's number, and TMA's swizzles of 32, 64 and 128 bytes."""
    size, count = array.element.size, prod(array.lengths)
    for bits in range(1, 6):
        for low in range(5):
            for distance in range(bits, 8):
                if count % (1 << low + bits) or count >> low + distance < 2:
                    continue

                def move(offset: Offsets, bits: int = bits, low: int = low, distance: int = distance) -> Offsets:
                    element, byte = np.divmod(offset, size)
                    return swizzle(element, bits, low, distance) * size + byte

                name = f"Swizzle<{bits}, {low}, {distance}>"
                yield Layout(name, array.size, 3, swizzle_spelling(array, bits, low, distance), move)
    for span in (128, 64, 32):
        bits = {128: 3, 64: 2, 32: 1}[span]
        if array.size % span == 0 and isinstance(array.element, Scalar):

            def chunks(offset: Offsets, bits: int = bits) -> Offsets:
                return swizzle(offset, bits, low=4, distance=3)

            mode = f"CU_TENSOR_MAP_SWIZZLE_{span}B: TMA lays it so; 16-byte chunk c of 128-byte row r is at c ^ r"
            c = Spelling((*array.declaration.c, f"byte a at a ^ ((a >> 3) & {((1 << bits) - 1) << 4}); {mode}"), ())
            yield Layout(f"TMA swizzle of {span} B", array.size, 3, c, chunks, align=1024)


def swizzle(number: Offsets, bits: int, low: int, distance: int) -> Offsets:
    """Bits [low, low + bits) xored with those `distance` higher: CUTLASS's Swizzle<bits, low, distance>."""
    return number ^ ((number >> distance) & (((1 << bits) - 1) << low))


def swizzle_spelling(array: SharedArray, bits: int, low: int, distance: int) -> Spelling:
    """The array with one dimension, and its index."""
    index = array.words[0]
    for word, length in zip(array.words[1:], array.lengths[1:], strict=True):
        index = f"({index}) * {length} + {word}" if "+" in index else f"{index} * {length} + {word}"
    mask = ((1 << bits) - 1) << low
    flat = declaration(array.name, (prod(array.lengths),), array.element)
    moved = f"e ^ ((e >> {distance}) & {mask})"
    numba = numba_type(array.element) if isinstance(array.element, Scalar) else None
    return Spelling(
        (*flat.c, f"{array.name}[{moved}] with e = {index}"),
        (*flat.numba, f"{array.name}[{moved}] with e = {index}") if numba else (),
    )


# ---- structs
def structs(array: SharedArray) -> Iterator[Layout]:
    """An array of structs as a struct of arrays, and structs with a gap behind each."""
    record, count = array.element, prod(array.lengths)
    assert isinstance(record, Record)
    dimensions = "".join(f"[{length}]" for length in array.lengths)
    starts: dict[str, int] = {}
    end = 0
    for member in record.members:
        starts[member.name] = round_up(end, member.type.align)
        end = starts[member.name] + count * member.type.size

    def apart(offset: Offsets) -> Offsets:
        element, byte = np.divmod(offset, record.size)
        moved = offset.copy()
        for member in record.members:
            inside = (byte >= member.offset) & (byte < member.offset + member.type.size)
            place = starts[member.name] + element * member.type.size + byte - member.offset
            moved = np.where(inside, place, moved)
        return moved

    if all(isinstance(member.type, Scalar) for member in record.members):
        members = [(member.name, member.type) for member in record.members if isinstance(member.type, Scalar)]
        first = members[0][0]
        indices = "".join(f"[{word}]" for word in array.words)
        yield Layout(
            "struct of arrays",
            end,
            0,
            Spelling(
                (
                    "__shared__ struct { "
                    + " ".join(f"{type_.name} {name}{dimensions};" for name, type_ in members)
                    + f" }} {array.name};",
                    f"{array.name}.{first}{indices} for {array.name}{indices}.{first}",
                ),
                tuple(
                    f"{array.name}_{name} = cuda.shared.array({shape(array.lengths)}, {numba_type(type_)})"
                    for name, type_ in members
                ),
            ),
            apart,
            piece=members[0][1].size if record.unit and len({type_.size for _, type_ in members}) == 1 else 0,
        )
    for more in range(1, 5):
        larger = record.size + more * record.align

        def spread(offset: Offsets, larger: int = larger) -> Offsets:
            element, byte = np.divmod(offset, record.size)
            return element * larger + byte

        gap = f"{more * record.align} bytes more at the end of the struct"
        yield Layout(f"structs of {larger} B", count * larger, 0, Spelling((gap,), ()), spread)


def halved(array: SharedArray) -> Iterator[Layout]:
    """8-byte words as two arrays of 4-byte words, each load or store as two: the cure on compute capability 1.x."""
    element, count = array.element, prod(array.lengths)
    if isinstance(element, Scalar) and element.size == 8:
        low, high = (f"{array.name}_{part}" for part in ("lo", "hi"))
        words = array.words
        index = "".join(f"[{word}]" for word in words)
        place = f"[{', '.join(words)}]"
        brackets = "".join(f"[{length}]" for length in array.lengths)
        parts = [f"{name} = cuda.shared.array({shape(array.lengths)}, int32)" for name in (low, high)]
        if element.integer:
            sign = "" if element.integer.startswith("i") else "unsigned "
            c = (f"{low}{index} = (int)v; {high}{index} = (int)(v >> 32);",
                 f"v = ({sign}long long){high}{index} << 32 | (unsigned){low}{index};")  # fmt: skip
            numba = (f"{low}{place} = int32(v); {high}{place} = int32(v >> 32)",
                     f"v = int64({high}{place}) << 32 | uint32({low}{place})")  # fmt: skip
        else:
            c = (f"{low}{index} = __double2loint(v); {high}{index} = __double2hiint(v);",
                 f"v = __hiloint2double({high}{index}, {low}{index});")  # fmt: skip
            numba = (f"{low}{place} = libdevice.double2loint(v); {high}{place} = libdevice.double2hiint(v)",
                     f"v = libdevice.hiloint2double({high}{place}, {low}{place})")  # fmt: skip

        def move(offset: Offsets) -> Offsets:
            number, byte = np.divmod(offset, 8)
            moved: Offsets = (byte >> 2) * (4 * count) + number * 4 + byte % 4
            return moved

        spelling = Spelling((f"__shared__ int {low}{brackets}, {high}{brackets};", *c), (*parts, *numba))
        yield Layout("8-byte words in halves", array.size, 1, spelling, move, piece=4)


def shape(lengths: Sequence[int]) -> str:
    return f"({', '.join(map(str, lengths))})" if len(lengths) > 1 else str(lengths[0])


def keeps(layout: Layout, offset: Offsets, width: int, moved: Offsets) -> bool:
    """Whether accesses of `width` bytes stay whole and aligned."""
    if (moved % width).any():
        return False
    steps = range(1, width)
    return all(bool((layout.move(offset + step) == moved + step).all()) for step in steps)
