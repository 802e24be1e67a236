"""The rule over many requests: counts for arrays of addresses, conflicts of a trace.

Few requests are judged by rule.py itself, many by its compiled twin: to load numba takes longer than to
judge some thousand requests in plain Python.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import Architecture, architecture
from banksim.banks import rule as banks
from banksim.banks.conflicts import Conflicts, Request, SiteConflicts, Tally
from banksim.banks.rule import Explanation
from banksim.errors import InputError, UnknownCountError
from banksim.requests.checks import as_array, check_alignment, misaligned, request_columns
from banksim.requests.copies import of_known_cost, period_of
from banksim.requests.counts import Count, Range, ends
from banksim.requests.kinds import ADDRESSED, DESTINATION, FULL_MASK, OPS, SMALL
from banksim.requests.trace import Trace

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

    `address` holds byte offsets, multiples of `width` (of cp_async from other than one run of bytes what
    `banksim.requests.copies.with_source` gives); `op` (a name of `banksim.requests.kinds.OPS`), `width` (bytes a
    lane) and `mask` (bit i for lane i) are one value or n of them. On compute capability 1.x the answer is a
    `Range` of two such. Raises `InputError` for wrong input and `UnknownCountError` where nobody knows.

    >>> transactions([128 * lane for lane in range(32)])  # a column of a float array with rows of 32
    32
    """
    found = _counts(address, op, width, mask, architecture(arch), ideals=False)
    if np.ndim(address) != 1:
        return Range(*found) if len(found) == 2 else found[0]
    one = [int(column[0]) for column in found]
    return Range(*one) if len(one) == 2 else one[0]


def ideal(
    address: npt.ArrayLike,
    *,
    op: object = "ld",
    width: object = 4,
    mask: object = FULL_MASK,
    arch: str | Architecture = "sm_90",
) -> int | Counts:
    """Transactions that the same requests would take with no conflict; arguments as for `transactions`.

    >>> ideal([128 * lane for lane in range(32)])
    1
    """
    [found] = _counts(address, op, width, mask, architecture(arch), ideals=True)
    return int(found[0]) if np.ndim(address) == 1 else found


def nsight_ideal(
    address: npt.ArrayLike,
    *,
    op: object = "ld",
    width: object = 4,
    mask: object = FULL_MASK,
    arch: str | Architecture = "sm_90",
) -> int | Counts:
    """What Nsight Compute's source page calls ideal; arguments as for `transactions`.

    It does not ask which lanes are judged together, as `ideal` does: the bytes of all active lanes at 128 a pass (twice
    for a compare-and-swap), and never more than the transactions. (Of some 16-byte loads that page shows other
    transactions than the hardware's counters, and then another ideal too.)

    >>> two_lanes = {"op": "st", "width": 8, "mask": 1 << 30 | 1}
    >>> ideal([8 * lane for lane in range(32)], **two_lanes)  # one in each half of the warp
    2
    >>> nsight_ideal([8 * lane for lane in range(32)], **two_lanes)
    1
    """
    rule = architecture(arch)
    found = _counts(address, op, width, mask, rule, ideals=False)[-1]
    codes, widths, masks, _ = request_columns(op, width, mask, address)
    lanes = np.bitwise_count(masks & np.array(ADDRESSED, np.uint32)[codes]).astype(np.int64)
    passes = np.ones(len(found), np.int64)
    for code, size in {*zip(codes.tolist(), widths.tolist(), strict=True)}:
        access = rule.access(OPS[code], size)
        passes[(codes == code) & (widths == size)] = access.passes if access else 1
    least = np.minimum(-(-lanes * widths // 128) * passes, found)
    return int(least[0]) if np.ndim(address) == 1 else least


def explain(
    address: npt.ArrayLike, *, op: str = "ld", width: int = 4, mask: int = FULL_MASK, arch: str | Architecture = "sm_90"
) -> Explanation:
    """One request, address (32,), pass by pass: the lanes, words and banks that each pass serves.

    Arguments and errors as for `transactions`; but where nobody knows the count, there are just no passes.

    >>> found = explain([8 * lane for lane in range(32)])  # every second float
    >>> found.transactions, found.degree
    (2, 2)
    """
    address = as_array(address, "address")
    if address.ndim != 1:
        raise InputError(f"address has shape {address.shape}: explain takes one request; give (32,)")
    codes, widths, masks, addresses = request_columns(op, width, mask, address)
    check_alignment(codes, widths, masks, addresses)
    return banks.explain(addresses[0].tolist(), OPS[codes[0]], int(widths[0]), int(masks[0]), architecture(arch))


def judged(trace: Trace, rule: Architecture) -> Conflicts:
    """What the requests of `trace` cost, by site, op and width, in this order: `banksim.replay` of it."""
    trace = replace(trace, op=of_known_cost(trace.op, trace.mask, trace.address))
    if _is_small(len(trace)):
        found = _tally(trace, rule)
    else:
        from banksim.banks.compiled.site_sums import tally

        found = tally(trace, rule)
    return Conflicts(rule, tuple(site_conflicts(trace, rule, *key, figures) for key, figures in found.items()))


def _is_small(requests: int) -> bool:
    """Whether so few are judged sooner in plain Python; where the compiled rule is loaded, few are."""
    return requests <= (SMALL if "banksim.banks.compiled.arrays" not in sys.modules else SMALL // 64)


def _counts(
    address: npt.ArrayLike, op: object, width: object, mask: object, arch: Architecture, *, ideals: bool
) -> list[Counts]:
    """[ideals], [transactions], or [low, high], each (n,)."""
    addresses = as_array(address, "address")
    if addresses.ndim == 2 and not _is_small(n := len(addresses)):
        from banksim.banks.compiled.arrays import counts

        columns = as_array(op, "op"), as_array(width, "width"), as_array(mask, "mask")
        found, trouble = counts(addresses, *columns, arch=arch, ideals=ideals)
        if trouble < 0:
            return found
        op, width, mask = (column[trouble] if column.shape == (n,) else column for column in columns)
        codes, widths, masks, addresses = request_columns(op, width, mask, addresses[trouble])
        _known(arch, OPS[codes[0]], int(widths[0]))
        refuse_unknown_copies(trouble, codes, masks, addresses)
        raise misaligned(trouble, addresses[0], int(codes[0]), int(widths[0]), int(masks[0]))
    codes, widths, masks, addresses = request_columns(op, width, mask, addresses)
    check_alignment(codes, widths, masks, addresses)
    for code, size in {*zip(codes.tolist(), widths.tolist(), strict=True)}:
        _known(arch, OPS[code], size)
    refuse_unknown_copies(0, codes, masks, addresses)
    judged = list(_judge(codes, widths, masks, addresses, arch))
    if ideals:
        return [np.array([ideal for _, ideal, _ in judged], np.int64)]
    both = [ends(count) for count, _, _ in judged]
    low = np.array([count.low for count in both], np.int64)
    return [low, np.array([count.high for count in both], np.int64)] if arch.is_range else [low]


def refuse_unknown_copies(
    first: int, codes: npt.NDArray[np.uint8], masks: npt.NDArray[np.uint32], addresses: npt.NDArray[np.uint32]
) -> None:
    """Raise an error for a copy whose cost is not known because of how it spreads; `first`: the number of row 0."""
    changed = np.flatnonzero(of_known_cost(codes, masks, addresses) != codes)
    if len(changed):
        raise UnknownCountError(
            f"request {first + changed[0]}: this {OPS[codes[changed[0]]]} writes 16 bytes to two places of one "
            "128-byte line: nobody has found how many transactions that takes"
        )


def _known(arch: Architecture, op: str, width: int) -> None:
    """Raise an error if there is no such access, or no count of it."""
    if arch.access(op, width) is None:
        raise UnknownCountError(arch.why_unknown(op, width))


def _judge(
    codes: npt.NDArray[np.uint8],
    widths: npt.NDArray[np.uint8],
    masks: npt.NDArray[np.uint32],
    addresses: npt.NDArray[np.uint32],
    arch: Architecture,
) -> Iterator[tuple[Count, int, Count]]:
    """`rule.judge` of requests whose counts are known. Those that differ by whole periods are judged once."""
    period = np.array([period_of(op, arch.period) for op in OPS])[codes]
    bases = (addresses & np.uint32(DESTINATION)).min(axis=1) // period * period
    judged: dict[tuple[int, int, int, bytes], tuple[Count, int, Count]] = {}
    rows = zip(codes.tolist(), widths.tolist(), masks.tolist(), addresses - bases[:, None], strict=True)
    for code, width, mask, address in rows:
        key = code, width, mask, address.tobytes()
        if key not in judged:
            found = banks.judge(address.tolist(), OPS[code], width, mask, arch)
            assert found is not None
            judged[key] = found
        yield judged[key]


def _tally(trace: Trace, arch: Architecture) -> dict[tuple[int, int, int], Tally]:
    """By (site, op, width), in this order, what the requests of a short trace cost."""
    active = np.flatnonzero(trace.mask)
    rows: dict[tuple[int, int, int], list[int]] = {}
    columns = (trace.site, trace.op, trace.width)
    for row, key in zip(active.tolist(), zip(*(c[active].tolist() for c in columns), strict=True), strict=True):
        rows.setdefault(key, []).append(row)
    return {key: _tally_rows(trace, np.array(rows[key]), arch) for key in sorted(rows)}


def _tally_rows(trace: Trace, rows: npt.NDArray[np.intp], arch: Architecture) -> Tally:
    blocks = trace.block[rows].tolist()
    requests = len(rows)
    if arch.status(OPS[trace.op[rows[0]]], int(trace.width[rows[0]])) == "unknown":
        return Tally(requests, 0, 0, 0, 0, 0, 0, 0)
    judged = list(_judge(trace.op[rows], trace.width[rows], trace.mask[rows], trace.address[rows], arch))
    counts, ideals, degrees = zip(*judged, strict=True)
    low, high = zip(*map(ends, counts), strict=True)
    degree_low, degree_high = zip(*map(ends, degrees), strict=True)
    worst = min(range(requests), key=lambda k: (ideals[k] - high[k], blocks[k], rows[k]))
    degrees_most = max(degree_low), max(degree_high)
    excess = high[worst] - ideals[worst]
    return Tally(requests, sum(low), sum(high), sum(ideals), *degrees_most, int(rows[worst]), excess)


def site_conflicts(
    trace: Trace, arch: Architecture, site: int, code: int, width: int, found: Tally, first: int = 0
) -> SiteConflicts:
    """A tally of the requests of one site, op and width as a user reads it. `first`: number of the first request."""
    op = OPS[code]
    status = arch.status(op, width)
    if status == "unknown":
        return SiteConflicts(trace.sites[site], op, width, found.requests, None, None, None, None, status)
    row = found.worst
    mask, block, warp = (int(column[row]) for column in (trace.mask, trace.block, trace.warp))
    worst = Request(op, width, mask, tuple(trace.address[row].tolist()), block, warp, found.excess, first + row)
    total = Range(found.low, found.high) if arch.is_range else found.low
    degree = Range(found.degree_low, found.degree_high) if arch.is_range else found.degree_high
    return SiteConflicts(trace.sites[site], op, width, found.requests, total, found.ideal, degree, worst, status)
