"""Requests to shared memory, as a structure of arrays: what every producer hands to every judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from banksim.errors import InputError
from banksim.requests.checks import check_alignment, column, request_columns
from banksim.requests.kinds import FULL_MASK
from banksim.system.reported import Shown


@dataclass(frozen=True)
class Site:
    """The place that requests come from: an instruction of a kernel, or one access of a pattern.

    `offset` is the instruction's byte offset in its function; `text` the source line (or the access as the
    user wrote it); `inlined` the call chain for inlined code, innermost first, as (function, file, line). Of a
    library's inlined code, file and line are the user's own that call it; `inside` are the places in the library
    (file, line), innermost first.
    """

    opcode: str = ""
    offset: int | None = None
    file: str | None = None
    line: int | None = None
    text: str = ""
    function: str = ""
    inlined: tuple[tuple[str, str, int], ...] = ()
    inside: tuple[tuple[str, int], ...] = ()


COLUMNS = ("site", "block", "warp", "op", "width", "mask", "address", "epoch")


@dataclass(frozen=True, repr=False)
class Trace(Shown):
    """n requests, one row each.

    `site`, `block`, `warp`, `epoch` (barriers passed so far) are int32 of shape (n,); `op` uint8, an index
    into `OPS`; `width` uint8, bytes a lane; `mask` uint32, bit i for lane i; `address` uint32 (n, 32), byte
    offsets into the block's shared memory, ignored where the mask has no bit (of copies they tell of the source too:
    `banksim.requests.copies`). `sites[site[k]]` says where
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

    def __repr__(self) -> str:
        counts = ((len(self), "request"), (len(self.sites), "site"))
        return f"<Trace of {' from '.join(f'{count:,} {what}' + 's' * (count != 1) for count, what in counts)}>"

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
        bits: int = FULL_MASK,
    ) -> Trace:
        """A trace from arrays: `address` (n, 32) or (32,); all else one value or n of them.

        `op` is a name of `OPS`, n names, or n codes. `bits`: the only ones that addresses have, if that is known.
        Raises `InputError` for an unknown op, a width that is not 1, 2, 4, 8 or 16, a mask beyond 32 bits, an address
        that is negative, not an integer, beyond 32 bits, or not a multiple of the width on an active lane.

        >>> trace = Trace.from_arrays("ld", 4, 0xFFFFFFFF, [[4 * lane for lane in range(32)]] * 3, warp=[0, 1, 2])
        >>> len(trace), trace.address.shape
        (3, (3, 32))
        """
        codes, widths, masks, addresses = request_columns(op, width, mask, address)
        n = len(addresses)
        numbers = column(site, "site", n, 2**31 - 1, np.int32)
        if sites is None:
            sites = tuple(Site() for _ in range(int(numbers.max(initial=-1)) + 1))
        elif n and int(numbers.max()) >= len(sites):
            raise InputError(f"site {numbers.max()} names no entry of sites, which has {len(sites)}")
        check_alignment(codes, widths, masks, addresses, bits)
        return cls(
            site=numbers,
            block=column(block, "block", n, 2**31 - 1, np.int32),
            warp=column(warp, "warp", n, 2**31 - 1, np.int32),
            op=codes,
            width=widths,
            mask=masks,
            address=addresses,
            epoch=column(epoch, "epoch", n, 2**31 - 1, np.int32),
            sites=tuple(sites),
        )


Piece = Callable[[], Iterable[tuple[int, Trace]]]
"""Reads some chunks of a trace, each with the number of its first request."""
Chunk = tuple[int, Trace]


def concatenated(traces: Sequence[Trace]) -> Trace:
    """Chunks of one trace as one; the last one has all the sites."""
    if len(traces) == 1:
        return traces[0]
    if not traces:
        return Trace.from_arrays("ld", 4, 0, np.zeros((0, 32), np.uint32), sites=())
    columns = {name: np.concatenate([getattr(trace, name) for trace in traces]) for name in COLUMNS}
    return Trace(**columns, sites=traces[-1].sites)
