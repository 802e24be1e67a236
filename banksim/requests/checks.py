"""Turns what a caller gives as requests into columns of integers, or refuses it and names the first bad one."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from banksim.errors import InputError
from banksim.requests.kinds import ADDRESSED, FULL_MASK, LANES, OPS, SMALL, WIDTHS

Number = TypeVar("Number", bound=np.integer)
CODES = np.argsort(OPS).astype(np.uint8)
"""The codes of all ops in the order of their names, `SORTED_OPS`."""
SORTED_OPS = np.array(OPS)[CODES]


def request_columns(
    op: object, width: object, mask: object, address: npt.ArrayLike
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Codes, widths, masks and addresses of n requests from what `Trace.from_arrays` takes; checked as there,
    all but the alignment."""
    addresses = np.atleast_2d(integers(address, "address", 0, 2**32 - 1)).astype(np.uint32, copy=False)
    if addresses.ndim != 2 or addresses.shape[1] != LANES:
        raise InputError(f"address has shape {np.shape(address)}: give (n, 32), one column per lane")
    n = len(addresses)
    codes = column(op_codes(op), "op", n, len(OPS) - 1, np.uint8)
    widths = column(width, "width", n, 255, np.uint8)
    given = widths if widths.strides[0] else widths[:1]
    wrong = (np.bitwise_count(given) != 1) | (given > WIDTHS[-1])
    if wrong.any():
        raise InputError(f"width {given[wrong][0]}: an access is 1, 2, 4, 8 or 16 bytes wide")
    return codes, widths, column(mask, "mask", n, FULL_MASK, np.uint32), addresses


def column(value: object, name: str, n: int, high: int, dtype: type[Number]) -> npt.NDArray[Number]:
    """One value for all or n of them, from 0 to `high`, as an array of shape (n,); else an `InputError`."""
    array: npt.NDArray[Number] = integers(value, name, 0, high).astype(dtype, copy=False)
    if array.shape not in ((), (1,), (n,)):
        raise InputError(f"{name} has shape {array.shape}: give one value or {n}, one per request")
    return array if array.shape == (n,) else np.broadcast_to(array, (n,))


def integers(value: object, name: str, low: int, high: int) -> npt.NDArray[np.integer]:
    """`value` as an integer array with every element in [low, high], or an `InputError` that names it."""
    array: npt.NDArray[np.integer] = as_array(value, name)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all() or (array != np.floor(array)).any():
            raise InputError(f"{name} must be whole numbers, and {array.dtype} values here are not")
    elif array.dtype.kind not in "iu":
        raise InputError(f"{name} must be whole numbers, not {array.dtype}")
    if array.dtype.kind in "iu" and low <= np.iinfo(array.dtype).min and np.iinfo(array.dtype).max <= high:
        return array
    if array.size and (array.min() < low or array.max() > high):
        bad = array.min() if array.min() < low else array.max()
        raise InputError(f"{name} {bad} is outside {low} to {high:#x}")
    return array.astype(np.int64) if array.dtype.kind == "f" else array


def as_array(value: object, name: str) -> np.ndarray:
    """`value` as an array, or an `InputError` that names it."""
    try:
        return np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{name}: {error}") from None


def op_codes(op: object) -> npt.NDArray[np.integer]:
    """Codes for one op name, an array of names, or codes themselves."""
    names = as_array(op, "op")
    if names.dtype.kind not in "US":
        return integers(op, "op", 0, len(OPS) - 1)
    if names.dtype.kind == "S":
        names = np.char.decode(names, "latin-1")
    place = np.minimum(np.searchsorted(SORTED_OPS, names), len(OPS) - 1)
    unknown = names[SORTED_OPS[place] != names]
    if unknown.size:
        raise InputError(f"unknown op {str(unknown.flat[0])!r}: give one of {', '.join(OPS)}")
    codes: npt.NDArray[np.integer] = CODES[place]
    return codes


def check_alignment(
    op: npt.NDArray[np.uint8],
    width: npt.NDArray[np.uint8],
    mask: npt.NDArray[np.uint32],
    address: npt.NDArray[np.uint32],
    bits: int = FULL_MASK,
) -> None:
    """Raise `InputError` for the first active lane whose address is not a multiple of the access width.

    `bits`: those that addresses may have. Where none of them could be odd, no address is looked at.
    """
    if not bits & int(width.max(initial=1)) - 1:
        return
    if len(address) > SMALL:
        from banksim.requests.columns import first_misaligned

        first = first_misaligned(address, op, width, mask)
    else:
        odd = np.zeros(len(address), np.uint32)
        for lane in range(LANES):
            odd |= (address[:, lane] % width != 0).astype(np.uint32) << np.uint32(lane)
        rows = np.flatnonzero(odd & mask & np.array(ADDRESSED, np.uint32)[op])
        first = int(rows[0]) if len(rows) else -1
    if first >= 0:
        raise misaligned(first, address[first], int(op[first]), int(width[first]), int(mask[first]))


def misaligned(row: int, address: npt.NDArray[np.uint32], op: int, width: int, mask: int) -> InputError:
    """The error for request `row`, which has an active lane at no multiple of the width."""
    active = mask & ADDRESSED[op]
    lane = next(lane for lane in range(LANES) if active >> lane & 1 and address[lane] % width)
    return InputError(
        f"request {row}, lane {lane}: address {address[lane]} is not a multiple of {width}, "
        f"the width of this {OPS[op]} in bytes"
    )
