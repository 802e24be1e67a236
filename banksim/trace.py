"""Requests to shared memory, as a structure of arrays: what every producer hands to every judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from banksim.errors import InputError

OPS: tuple[str, ...] = (
    "ld", "st", "atom", "red", "exch", "cas", "popc_inc",
    "ldmatrix_x1", "ldmatrix_x2", "ldmatrix_x4",
    "ldmatrix_x1_trans", "ldmatrix_x2_trans", "ldmatrix_x4_trans",
    "stmatrix_x1", "stmatrix_x2", "stmatrix_x4",
    "stmatrix_x1_trans", "stmatrix_x2_trans", "stmatrix_x4_trans",
    "cp_async",
)  # fmt: skip
"""Every kind of request, in the order of its code in `Trace.op`."""

OP_CODES: dict[str, int] = {name: code for code, name in enumerate(OPS)}
WIDTHS: tuple[int, ...] = (1, 2, 4, 8, 16)
"""Bytes that one lane may access."""
LANES = 32
FULL_MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class Site:
    """The place that requests come from: an instruction of a kernel, or one access of a pattern.

    `offset` is the instruction's byte offset in its function; `text` the source line (or the access as the
    user wrote it); `inlined` the call chain for inlined code, innermost first, as (function, file, line).
    """

    opcode: str = ""
    offset: int | None = None
    file: str | None = None
    line: int | None = None
    text: str = ""
    function: str = ""
    inlined: tuple[tuple[str, str, int], ...] = ()


@dataclass(frozen=True)
class Trace:
    """n requests, one row each.

    `site`, `block`, `warp`, `epoch` (barriers passed so far) are int32 of shape (n,); `op` uint8, an index
    into `OPS`; `width` uint8, bytes a lane; `mask` uint32, bit i for lane i; `address` uint32 (n, 32), byte
    offsets into the block's shared memory, ignored where the mask has no bit. `sites[site[k]]` says where
    request k comes from. Build one with `Trace.from_arrays`, which checks and broadcasts.
    """

    site: npt.NDArray[np.int32]
    block: npt.NDArray[np.int32]
    warp: npt.NDArray[np.int32]
    op: npt.NDArray[np.uint8]
    width: npt.NDArray[np.uint8]
    mask: npt.NDArray[np.uint32]
    address: npt.NDArray[np.uint32]
    epoch: npt.NDArray[np.int32]
    sites: tuple[Site, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.op)

    @classmethod
    def from_arrays(
        cls,
        op: object,
        width: object,
        mask: object,
        address: npt.ArrayLike,
        warp: object = 0,
        block: object = 0,
        site: object = 0,
        epoch: object = 0,
        sites: Sequence[Site] | None = None,
    ) -> Trace:
        """A trace from arrays: `address` (n, 32) or (32,); all else one value or n of them.

        `op` is a name of `OPS`, n names, or n codes. Raises `InputError` for an unknown op, a width that is
        not 1, 2, 4, 8 or 16, a mask beyond 32 bits, an address that is negative, not an integer, beyond 32
        bits, or not a multiple of the width on an active lane.
        """
        addresses = np.atleast_2d(integers(address, "address", 0, 2**32 - 1)).astype(np.uint32, copy=False)
        if addresses.ndim != 2 or addresses.shape[1] != LANES:
            raise InputError(f"address has shape {np.shape(address)}: give (n, 32), one column per lane")
        n = len(addresses)

        def column(value: object, name: str, low: int, high: int, dtype: type) -> npt.NDArray[np.generic]:
            array: npt.NDArray[np.generic] = integers(value, name, low, high).astype(dtype, copy=False)
            if array.shape not in ((), (1,), (n,)):
                raise InputError(f"{name} has shape {array.shape}: give one value or {n}, one per request")
            return np.broadcast_to(array, (n,))

        codes = column(op_codes(op), "op", 0, len(OPS) - 1, np.uint8)
        widths = column(width, "width", 0, 255, np.uint8)
        if not np.isin(widths, WIDTHS).all():
            bad = widths[~np.isin(widths, WIDTHS)][0]
            raise InputError(f"width {bad}: an access is 1, 2, 4, 8 or 16 bytes wide")
        masks = column(mask, "mask", 0, FULL_MASK, np.uint32)
        numbers = column(site, "site", 0, 2**31 - 1, np.int32)
        if sites is None:
            sites = tuple(Site() for _ in range(int(numbers.max(initial=-1)) + 1))
        elif n and int(numbers.max()) >= len(sites):
            raise InputError(f"site {numbers.max()} names no entry of sites, which has {len(sites)}")
        check_alignment(codes, widths, masks, addresses)
        return cls(
            site=numbers,  # type: ignore[arg-type]
            block=column(block, "block", 0, 2**31 - 1, np.int32),  # type: ignore[arg-type]
            warp=column(warp, "warp", 0, 2**31 - 1, np.int32),  # type: ignore[arg-type]
            op=codes,  # type: ignore[arg-type]
            width=widths,  # type: ignore[arg-type]
            mask=masks,  # type: ignore[arg-type]
            address=addresses,
            epoch=column(epoch, "epoch", 0, 2**31 - 1, np.int32),  # type: ignore[arg-type]
            sites=tuple(sites),
        )


def integers(value: object, name: str, low: int, high: int) -> npt.NDArray[np.integer]:
    """`value` as an integer array with every element in [low, high], or an `InputError` that names it."""
    try:
        array: npt.NDArray[np.integer] = np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{name}: {error}") from None
    if array.dtype.kind == "f":
        if not np.isfinite(array).all() or (array != np.floor(array)).any():
            raise InputError(f"{name} must be whole numbers, and {array.dtype} values here are not")
    elif array.dtype.kind not in "iu":
        raise InputError(f"{name} must be whole numbers, not {array.dtype}")
    if array.size and (array.min() < low or array.max() > high):
        bad = array.min() if array.min() < low else array.max()
        raise InputError(f"{name} {bad} is outside {low} to {high:#x}")
    return array.astype(np.int64) if array.dtype.kind == "f" else array


def op_codes(op: object) -> npt.NDArray[np.integer]:
    """Codes for one op name, an array of names, or codes themselves."""
    names = np.asarray(op)
    if names.dtype.kind not in "US":
        return integers(op, "op", 0, len(OPS) - 1)
    codes = np.empty(names.shape, np.uint8)
    for name in np.unique(names):
        text = name.decode() if isinstance(name, bytes) else str(name)
        if text not in OP_CODES:
            raise InputError(f"unknown op {text!r}: give one of {', '.join(OPS)}")
        codes[names == name] = OP_CODES[text]
    return codes


def check_alignment(
    op: npt.NDArray[np.generic],
    width: npt.NDArray[np.generic],
    mask: npt.NDArray[np.generic],
    address: npt.NDArray[np.uint32],
) -> None:
    """Raise `InputError` for the first active lane whose address is not a multiple of the access width."""
    if not len(address):
        return
    odd = np.zeros(len(address), np.uint32)
    for lane in range(LANES):  # column by column: no temporary of the trace's size
        wrong = address[:, lane] % np.asarray(width, np.uint32) != 0
        odd |= wrong.astype(np.uint32) << np.uint32(lane)
    odd &= np.asarray(mask, np.uint32)
    # The rows of ldmatrix and stmatrix x1 and x2 come from the first 8 and 16 lanes; the rest point nowhere.
    rows = np.full(len(OPS), FULL_MASK, np.uint32)
    for code, name in enumerate(OPS):
        if "matrix_x" in name:
            rows[code] = (1 << 8 * int(name.partition("_x")[2][0])) - 1
    odd &= rows[np.asarray(op)]
    if odd.any():
        first = int(np.flatnonzero(odd)[0])
        lane = int(odd[first] & -odd[first]).bit_length() - 1
        size = np.broadcast_to(width, odd.shape)[first]
        raise InputError(
            f"request {first}, lane {lane}: address {address[first, lane]} is not a multiple of {size}, "
            f"the width of this {OPS[int(np.broadcast_to(op, odd.shape)[first])]} in bytes"
        )
