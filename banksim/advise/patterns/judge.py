"""What the requests to an array cost in a layout, by the bank rule, and the least that they could cost in any."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.advise.patterns.layouts import Layout, Offsets, SharedArray, keeps
from banksim.architectures.bank_rules import Architecture
from banksim.architectures.occupancy import blocks_per_sm
from banksim.banks.replay import ideal, transactions
from banksim.errors import UnknownCountError
from banksim.patterns.types import round_up
from banksim.requests.kinds import LANES, OPS


@dataclass(frozen=True)
class Judged:
    """What all accesses of an array cost in one layout. `transactions` and `blocks` have a figure for each
    architecture: the transactions (of a range the most), and the blocks that an SM holds by their threads and shared
    memory. `size` is the shared memory of the block, `bytes` how much more that is."""

    layout: Layout
    transactions: tuple[int, ...]
    size: int
    bytes: int
    blocks: tuple[int, ...]

    @property
    def names(self) -> str:
        """`column ^ row = Swizzle<5, 0, 5>`: the layout by all its names."""
        return " = ".join((self.layout.name, *self.layout.also))

    def to_json(self) -> dict[str, object]:
        return {
            "layout": self.layout.name,
            "also": list(self.layout.also),
            "transactions": list(self.transactions),
            "bytes_added": self.bytes,
            "blocks_per_sm": list(self.blocks),
            "operations_added": self.layout.operations,
            "c": list(self.layout.spelling.c),
            "numba": list(self.layout.spelling.numba),
        }


class BlockShape(NamedTuple):
    """What the arrays of a block share: its threads, and its bytes of shared memory as declared."""

    threads: int
    size: int


class DistinctRequests(NamedTuple):
    """The different requests to one array, each `times` as often; `address` is relative to the array."""

    op: npt.NDArray[np.uint8]
    width: npt.NDArray[np.uint8]
    mask: npt.NDArray[np.uint32]
    address: Offsets
    times: npt.NDArray[np.int64]


def judge(
    layout: Layout, array: SharedArray, requests: DistinctRequests, archs: Sequence[Architecture], block: BlockShape
) -> Judged | None:
    """What the requests cost in a layout; None if it breaks one of them."""
    moved = laid_out(layout, requests)
    if moved is None:
        return None
    base = base_of(layout, array)
    size = block.size + (base - array.base) + layout.size - array.size
    return Judged(
        layout=layout,
        transactions=tuple(int(cost(moved, moved.address + base, arch) @ moved.times) for arch in archs),
        size=size,
        bytes=size - block.size,
        blocks=tuple(blocks_per_sm(size, arch, block.threads) for arch in archs),
    )


def laid_out(layout: Layout, requests: DistinctRequests) -> DistinctRequests | None:
    """The requests as a layout moves them, some perhaps in pieces; None if it would split or misalign one of them."""
    found = parted(requests, layout.piece) if layout.piece else requests
    if found is None:
        return None
    moved = np.empty_like(found.address)
    for width in np.unique(found.width):
        rows = found.width == width
        moved[rows] = layout.move(found.address[rows])
        if not keeps(layout, found.address[rows], int(width), moved[rows]):
            return None
    return found._replace(address=moved)


def parted(requests: DistinctRequests, piece: int) -> DistinctRequests | None:
    """Loads and stores of more than `piece` bytes as several of these; None if another operation is as wide."""
    wide = requests.width > piece
    if not wide.any():
        return requests
    if not np.isin(requests.op[wide], [OPS.index(op) for op in ("ld", "st")]).all():
        return None
    parts = [DistinctRequests._make(column[~wide] for column in requests)]
    for start in range(0, int(requests.width.max()), piece):
        rows = wide & (requests.width > start)
        part = DistinctRequests._make(column[rows] for column in requests)
        parts.append(part._replace(address=part.address + start, width=np.full_like(part.width, piece)))
    return DistinctRequests._make(np.concatenate(columns) for columns in zip(*parts, strict=True))


def base_of(layout: Layout, array: SharedArray, shift: int = 0) -> int:
    """Where an array in this layout begins, if those before it take `shift` bytes more."""
    return round_up(array.base + shift, max(layout.align, array.element.align))


def cost(requests: DistinctRequests, address: Offsets, arch: Architecture) -> npt.NDArray[np.int64]:
    """Transactions of each request, of a range the most."""
    found = transactions(address, op=requests.op, width=requests.width, mask=requests.mask, arch=arch)
    most: npt.NDArray[np.int64] = np.asarray(found[1] if isinstance(found, tuple) else found)
    return most


def require_known(requests: DistinctRequests, archs: Sequence[Architecture]) -> None:
    """Refuse requests whose cost nobody knows."""
    for op, width in {*zip(requests.op.tolist(), requests.width.tolist(), strict=True)}:
        for arch in archs:
            if arch.access(OPS[op], width) is None:
                raise UnknownCountError(arch.why_unknown(OPS[op], width))


def bound(requests: DistinctRequests, arch: Architecture) -> int:
    """The fewest transactions that the requests need in any layout: their ideal or, of atomics that serve one lane in a
    pass, as many passes as lanes have one address. No layout changes which lanes share an address."""
    least = np.asarray(
        ideal(requests.address, op=requests.op, width=requests.width, mask=requests.mask, arch=arch)
    ).copy()
    for row, (op, width) in enumerate(zip(requests.op.tolist(), requests.width.tolist(), strict=True)):
        access = arch.access(OPS[op], width)
        if access is not None and access.serves == "lane":
            least[row] = access.passes * sum(crowds(requests, row, access.lanes))
    return int(least @ requests.times)


def crowds(requests: DistinctRequests, row: int, lanes: int) -> Iterator[int]:
    """For each group of `lanes` of a request with an active lane, the most lanes that want one address."""
    for start in range(0, LANES, lanes):
        wanted = [
            int(requests.address[row, lane])
            for lane in range(start, start + lanes)
            if int(requests.mask[row]) >> lane & 1
        ]
        if wanted:
            yield max(map(wanted.count, wanted))
