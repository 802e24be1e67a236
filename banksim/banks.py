"""The rule itself, one request at a time: the living definition of banksim's counts. Read this first.

A request is cut into parts, the lanes that are judged together (`Architecture.access` says how). Each part
takes passes through the banks; in one pass a bank serves one row, hence one word, of shared memory.
Transactions are the passes of all parts; the ideal is what they would be without a conflict; the degree is
the most that one part needs (n of an n-way conflict).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from banksim.arch import Access, Architecture
from banksim.conflicts import Count, Range, Status, ends, total

Place = tuple[int, int]
"""Bank and row of a word: two accesses to one place share a pass."""


@dataclass(frozen=True)
class Pass:
    """What one pass of one part serves: `lanes`, the `words` (address // bank width) and the `banks`."""

    part: int
    lanes: tuple[int, ...]
    words: tuple[int, ...]
    banks: tuple[int, ...]


@dataclass(frozen=True)
class Explanation:
    """One request pass by pass; no pass and no count where the count is unknown.

    Where the count is a range, the passes are those of the luckiest choice of broadcast words.
    """

    arch: Architecture
    op: str
    width: int
    mask: int
    address: tuple[int, ...]
    passes: tuple[Pass, ...]
    transactions: Count | None
    ideal: int | None
    degree: Count | None
    status: Status


def pairs_merge(address: Sequence[int], mask: int) -> bool:
    """Whether every active lane finds lane ^ 1 inactive or at its address; or every one lane ^ 2."""
    active = [lane for lane in range(32) if mask >> lane & 1]
    return any(
        all(not mask >> (lane ^ other) & 1 or address[lane] == address[lane ^ other] for lane in active)
        for other in (1, 2)
    )


def parts(address: Sequence[int], mask: int, access: Access) -> list[tuple[int, ...]]:
    """The active lanes of each part that has some."""
    size = access.merged if access.merged and pairs_merge(address, mask) else access.lanes
    cut = [range(first, first + size) for first in range(0, access.rows, size)]
    groups = [tuple(lane for lane in lanes if mask >> lane & 1) for lanes in cut]
    return [lanes for lanes in groups if lanes]


def places(address: int, width: int, arch: Architecture) -> list[Place]:
    """Where the words lie that an access of `width` bytes touches."""
    words = range(address // arch.bank_width, (address + width - 1) // arch.bank_width + 1)
    return [(word % arch.banks, word * arch.bank_width // arch.row_bytes) for word in words]


def queues(address: Sequence[int], width: int, lanes: Sequence[int], arch: Architecture) -> Queues:
    """By bank and row, the lanes that want something there."""
    wanted: Queues = {}
    for lane in lanes:
        for bank, row in places(address[lane], width, arch):
            wanted.setdefault(bank, {}).setdefault(row, []).append(lane)
    return wanted


Queues = dict[int, dict[int, list[int]]]


def count(wanted: Queues, access: Access) -> Count:
    """Passes that a part needs, before a factor of the op: the longest queue of a bank."""
    if access.serves == "word":
        return max(len(rows) for rows in wanted.values())
    if access.serves == "lane":
        return max(sum(len(lanes) for lanes in rows.values()) for rows in wanted.values())
    banks = tuple(sorted(tuple(sorted(map(len, rows.values()))) for rows in wanted.values()))
    return Range(search(banks, False), search(banks, True))


@cache
def search(banks: tuple[tuple[int, ...], ...], most: bool) -> int:
    """The fewest or most passes, over all choices, with one broadcast word a pass (compute capability 1.x).

    `banks` holds for each bank how many lanes want each of its words. A pass serves all lanes of one word,
    the broadcast word, and one lane of every other bank; nobody has specified which.
    """
    if not banks:
        return 0
    found = set()
    for chosen, bank in enumerate(banks):
        for word in range(len(bank)):
            others = [
                _without_one(other) if i != chosen else {bank[:word] + bank[word + 1 :]}
                for i, other in enumerate(banks)
            ]
            for rest in product(*others):
                found.add(search(tuple(sorted(b for b in rest if b)), most))
    return 1 + (max(found) if most else min(found))


def _without_one(bank: tuple[int, ...]) -> set[tuple[int, ...]]:
    return {tuple(sorted(n for n in (*bank[:i], bank[i] - 1, *bank[i + 1 :]) if n)) for i in range(len(bank))}


def judge(
    address: Sequence[int], op: str, width: int, mask: int, arch: Architecture
) -> tuple[Count, int, Count] | None:
    """Transactions, ideal and degree of a request; None where nobody knows them.

    `address` has 32 byte offsets, multiples of `width`; bit i of `mask` says that lane i is active. `op` is
    one of `banksim.trace.OPS`. Raises `InputError` for an access that `arch` has no instruction for.
    """
    access = arch.access(op, width)
    if access is None:
        return None
    lanes = parts(address, mask, access)
    step = min(width, access.request_bytes)
    counts = [
        count(queues([a + offset for a in address], step, part, arch), access)
        for offset in range(0, width, step)
        for part in lanes
    ]
    if not counts:
        return 0, 0, 0
    return total(counts * access.passes), len(counts) * access.passes, worst(counts)


def worst(counts: Sequence[Count]) -> Count:
    """The largest of counts, end by end."""
    if any(isinstance(found, Range) for found in counts):
        return Range(max(ends(found).low for found in counts), max(ends(found).high for found in counts))
    return max(ends(found).high for found in counts)


def transactions(address: Sequence[int], op: str, width: int, mask: int, arch: Architecture) -> Count | None:
    """Transactions of a request, or None where nobody knows; arguments as for `judge`."""
    known = judge(address, op, width, mask, arch)
    return known and known[0]


def ideal(address: Sequence[int], op: str, width: int, mask: int, arch: Architecture) -> int | None:
    """Transactions that the request would take without a conflict: its parts that have an active lane."""
    known = judge(address, op, width, mask, arch)
    return known and known[1]


def explain(address: Sequence[int], op: str, width: int, mask: int, arch: Architecture) -> Explanation:
    """The request pass by pass; arguments and errors as for `judge`."""
    known = judge(address, op, width, mask, arch)
    status = arch.status(op, width)
    request = (arch, op, width, mask, tuple(address))
    access = arch.access(op, width)
    if known is None or access is None:
        return Explanation(*request, (), None, None, None, status)
    passes = []
    step = min(width, access.request_bytes)
    for offset in range(0, width, step):
        moved = [a + offset for a in address]
        for number, lanes in enumerate(parts(address, mask, access)):
            passes += _passes(moved, step, number, lanes, arch, access)
    return Explanation(*request, tuple(passes), *known, status)


def _passes(
    address: Sequence[int], width: int, part: int, lanes: tuple[int, ...], arch: Architecture, access: Access
) -> list[Pass]:
    left = list(lanes)
    found = []
    while left:
        served: list[int] = []
        for bank in queues(address, width, left, arch).values():
            if access.serves == "lane":
                served.append(min(min(waiting) for waiting in bank.values()))
            else:
                served += next(iter(bank.values()))
        served = sorted(set(served))
        words = sorted(
            {
                word
                for lane in served
                for word in range(
                    address[lane] // arch.bank_width, (address[lane] + width - 1) // arch.bank_width + 1
                )
            }
        )
        one = Pass(part, tuple(served), tuple(words), tuple(sorted({word % arch.banks for word in words})))
        found += [one] * access.passes
        left = [lane for lane in left if lane not in served]
    return found
