"""The rule over many requests: whole traces, and arrays of addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from banksim import banks
from banksim.arch import Architecture, architecture
from banksim.conflicts import Conflicts, Range, Request, SiteConflicts, ends, largest, total
from banksim.errors import InputError, UnknownCountError
from banksim.trace import FULL_MASK, OPS, Trace

if TYPE_CHECKING:
    from banksim.banks import Explanation

Counts = npt.NDArray[np.int64]


def transactions(
    address: npt.ArrayLike,
    *,
    op: object = "ld",
    width: object = 4,
    mask: object = FULL_MASK,
    arch: str | Architecture = "sm_90",
) -> int | Range[int] | Counts | Range[Counts]:
    """Transactions of one request, address (32,), or of n, address (n, 32): an int, or int64 of shape (n,).

    `address` holds byte offsets, multiples of `width`; `op` (a name of `banksim.trace.OPS`), `width` (bytes a
    lane) and `mask` (bit i for lane i) are one value or n of them. On compute capability 1.x the answer is a
    `Range` of two such. Raises `InputError` for wrong input and `UnknownCountError` where nobody knows.
    """
    return _columns(address, op, width, mask, arch, 0)


def ideal(
    address: npt.ArrayLike,
    *,
    op: object = "ld",
    width: object = 4,
    mask: object = FULL_MASK,
    arch: str | Architecture = "sm_90",
) -> int | Counts:
    """Transactions that the same requests would take with no conflict; arguments as for `transactions`."""
    found = _columns(address, op, width, mask, arch, 1)
    assert not isinstance(found, Range)
    return found


def _columns(
    address: npt.ArrayLike,
    op: object,
    width: object,
    mask: object,
    arch: str | Architecture,
    column: Literal[0, 1],
) -> int | Range[int] | Counts | Range[Counts]:
    rule = architecture(arch)
    trace = Trace.from_arrays(op, width, mask, address)
    found = []
    for lanes, code, size, active in zip(
        trace.address.tolist(), trace.op.tolist(), trace.width.tolist(), trace.mask.tolist(), strict=True
    ):
        judged = banks.judge(lanes, OPS[code], size, active, rule)
        if judged is None:
            raise UnknownCountError(rule.why_unknown(OPS[code], size))
        found.append(judged[column])
    if np.ndim(address) == 1:
        return found[0]
    if column == 0 and rule.is_range:
        both = [ends(count) for count in found]
        return Range(np.array([count.low for count in both]), np.array([count.high for count in both]))
    return np.array(found, np.int64)


def explain(
    address: npt.ArrayLike,
    *,
    op: str = "ld",
    width: int = 4,
    mask: int = FULL_MASK,
    arch: str | Architecture = "sm_90",
) -> Explanation:
    """One request, address (32,), pass by pass: the lanes, words and banks that each pass serves.

    Arguments and errors as for `transactions`, but where nobody knows the count there are no passes.
    """
    if np.ndim(address) != 1:
        raise InputError(f"address has shape {np.shape(address)}: explain takes one request, (32,)")
    trace = Trace.from_arrays(op, width, mask, address)
    return banks.explain(
        trace.address[0].tolist(), op, int(trace.width[0]), int(trace.mask[0]), architecture(arch)
    )


def replay(trace: Trace, arch: str | Architecture = "sm_90") -> Conflicts:
    """What the requests of `trace` cost on `arch`, per site, op and width.

    A request with no active lane is no request. Where an access does not exist on `arch`, or nobody knows its
    count, the site is there with its requests and status "unknown".
    """
    rule = architecture(arch)
    rows: dict[tuple[int, int, int], list[int]] = {}
    for row, key in enumerate(zip(trace.site.tolist(), trace.op.tolist(), trace.width.tolist(), strict=True)):
        if trace.mask[row]:
            rows.setdefault(key, []).append(row)
    return Conflicts(rule, tuple(_site(trace, rule, *key, rows[key]) for key in sorted(rows)))


def _site(
    trace: Trace, rule: Architecture, site: int, code: int, width: int, rows: list[int]
) -> SiteConflicts:
    op = OPS[code]
    status = rule.status(op, width)
    warps = len({(int(trace.block[row]), int(trace.warp[row])) for row in rows})
    place = trace.sites[site]
    if status == "unknown":
        return SiteConflicts(place, op, width, len(rows), None, None, None, warps, None, status)
    judged = [banks.judge(trace.address[row].tolist(), op, width, int(trace.mask[row]), rule) for row in rows]
    known = [found for found in judged if found is not None]
    excess = [(c.high if isinstance(c, Range) else c) - i for c, i, _ in known]
    worst = min(range(len(rows)), key=lambda k: (-excess[k], trace.block[rows[k]], trace.warp[rows[k]], k))
    row = rows[worst]
    return SiteConflicts(
        place,
        op,
        width,
        len(rows),
        total([c for c, _, _ in known]),
        sum(i for _, i, _ in known),
        largest([d for _, _, d in known]),
        warps,
        Request(
            op,
            width,
            int(trace.mask[row]),
            tuple(trace.address[row].tolist()),
            int(trace.block[row]),
            int(trace.warp[row]),
        ),
        status,
    )
