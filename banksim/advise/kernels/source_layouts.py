"""The layouts that are tried for a shared array of a kernel, written as its source writes lengths and indices.

C++ and Python agree on what `+`, `*`, `&`, `^` and `>>` mean and which binds first, so one text serves both.
"""

import re
from collections.abc import Iterator

from banksim.advise.kernels.source import LayoutChange, SourceArray, SourceSpan, Texts

VECTOR = 16
"""Bytes of the widest access."""
PADDINGS = (1, 2, 4, 8)
"""By how many elements rows become longer."""
ATOM = re.compile(r"[\w.]+")
Group = list[LayoutChange]


def groups(array: SourceArray, dynamic: int) -> Iterator[Group]:
    """The layouts of an array in groups, the simplest to write first. The rest of a group that has a cure is not tried.

    `dynamic`: bytes of dynamic shared memory.
    """
    if len(array.lengths) > 1:
        yield list(paddings(array))
    if array.fixed:
        return
    if len(array.lengths) > 1:
        yield list(xored(array))
        yield list(orders(array))
    else:
        yield list(gaps(array))
        yield list(swizzles(array, dynamic))


def paddings(array: SourceArray) -> Iterator[LayoutChange]:
    for more in PADDINGS:
        if not (array.is_wide and array.size and more * array.size % VECTOR):
            yield padded(array, more)


def padded(array: SourceArray, more: int) -> LayoutChange:
    row = array.lengths[-1].longer(more)
    return LayoutChange(array, f"rows of {row}", (*(one.text for one in array.lengths[:-1]), row))


def orders(array: SourceArray) -> Iterator[LayoutChange]:
    """The last two dimensions swapped, with longer rows or without."""
    *outer, rows, columns = array.lengths
    if array.is_wide:
        return
    for more in (0, *PADDINGS[:2]):
        row = rows.longer(more) if more else rows.text
        lengths = (*(one.text for one in outer), columns.text, row)
        name = "dimensions swapped" + (f", rows of {row}" if more else "")
        yield LayoutChange(array, name, lengths, lambda index: (*index[:-2], index[-1], index[-2]))


def xored(array: SourceArray) -> Iterator[LayoutChange]:
    """`column ^ row`, in units of one element or of a 16-byte vector; also with row / 2 and row / 4."""
    *_, rows, columns = array.lengths
    for unit in units(array):
        for shift in (0, 1, 2):
            if columns.value is None:
                mask, requires = f"({bracketed(columns.text)} - 1)", power_of_two(columns.text, 2 * unit)
                all_rows = unit == 1 and not shift and rows.text == columns.text
                mask = mask if unit == 1 else f"({bracketed(columns.text)} / {unit} - 1)"
            else:
                slots = (columns.value & -columns.value) // unit
                if slots < (4 if unit == 1 else 2):
                    continue
                mask, requires = str(slots - 1), ()
                all_rows = rows.value is not None and rows.value <= slots << shift
            name = f"column ^ {bracketed(term('row', shift, '' if all_rows else mask, unit))}"
            mask = "" if all_rows else mask

            def index(given: Texts, shift: int = shift, mask: str = mask, unit: int = unit) -> Texts:
                *outer, row, column = given
                return (*outer, row, f"{bracketed(column)} ^ {bracketed(term(bracketed(row), shift, mask, unit))}")

            yield LayoutChange(array, name, tuple(one.text for one in array.lengths), index, requires)


def units(array: SourceArray) -> Iterator[int]:
    """The units of elements in which indices are xored: 1 if every access is to one, and as many as 16 bytes hold."""
    if not array.is_wide:
        yield 1
    if array.size is not None and array.size < VECTOR:
        yield VECTOR // array.size


def gaps(array: SourceArray) -> Iterator[LayoutChange]:
    """One or two unused elements behind every 16, 32 or 64."""
    for shift, gap in ((5, 1), (4, 1), (5, 2), (6, 1)):
        if array.is_wide and (array.size is None or gap * array.size % VECTOR):
            continue
        (length,) = array.lengths or (None,)

        def index(given: Texts, shift: int = shift, gap: int = gap) -> Texts:
            more = f"({bracketed(given[0])} >> {shift})"
            return (f"{bracketed(given[0])} + {more}" + (f" * {gap}" if gap > 1 else ""),)

        def after(before: int, shift: int = shift, gap: int = gap) -> int:
            return before + -(-before // (VECTOR << shift)) * VECTOR * gap

        name = f"a gap of {gap} behind every {1 << shift}"
        if length is None:
            yield LayoutChange(array, name, (), index, bytes_after=after)
        elif length.value is None or length.value >> shift:
            yield LayoutChange(array, name, (with_gaps(length, shift, gap),), index)


def with_gaps(length: SourceSpan, shift: int, gap: int) -> str:
    """The length of an array with gaps."""
    if length.value is not None:
        return str(length.value + ((length.value - 1) >> shift) * gap)
    text = bracketed(length.text)
    return f"{text} + ({text} >> {shift})" + (f" * {gap}" if gap > 1 else "")


def swizzles(array: SourceArray, dynamic: int) -> Iterator[LayoutChange]:
    """CUTLASS's Swizzle<bits, low, distance> of the index."""
    wide = array.is_wide
    if wide and array.size is None:
        return
    low = (VECTOR // (array.size or 1)).bit_length() - 1 if wide else 0
    for row in (5, 4, 6):  # the index of a row begins at this bit
        distance, bits = row - low, min(row, 5) - low
        whole = 1 << low + bits
        (length,) = array.lengths or (None,)
        requires: Texts = ()
        if length is None:
            if dynamic % (whole * (array.size or VECTOR)):
                continue
        elif length.value is None:
            requires = (f"{bracketed(length.text)} % {whole} == 0", f"{length.text} has to be a multiple of {whole}")
        elif length.value % whole:
            continue

        def index(given: Texts, low: int = low, bits: int = bits, distance: int = distance) -> Texts:
            element = bracketed(given[0])
            return (f"{element} ^ (({element} >> {distance}) & {((1 << bits) - 1) << low})",)

        lengths = tuple(one.text for one in array.lengths)
        yield LayoutChange(array, f"Swizzle<{bits}, {low}, {distance}>", lengths, index, requires)


# ---- texts
def bracketed(text: str) -> str:
    """The text as an operand, in brackets if it needs them."""
    return text if ATOM.fullmatch(text) else f"({text})"


def term(row: str, shift: int, mask: str, unit: int) -> str:
    """`(row >> shift & mask) * unit`, without the parts that change nothing."""
    found = f"{row} >> {shift}" if shift else row
    if mask:
        found = f"{bracketed(found)} & {mask}"
    return f"{bracketed(found)} * {unit}" if unit > 1 else found


def power_of_two(text: str, least: int) -> Texts:
    """That a length is a power of two, as C++ says it and in words."""
    name = bracketed(text)
    condition = f"{name} >= {least} && ({name} & ({name} - 1)) == 0"
    return condition, f"{text} has to be a power of two" + (f", at least {least}" if least > 2 else "")
