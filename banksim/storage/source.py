"""A trace that is read in pieces, and what reading it showed that the reader ought to know."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from banksim.errors import InputError
from banksim.requests.kinds import FULL_MASK, LANES, OP_CODES, OPS, WIDTHS
from banksim.requests.opcodes import request_of
from banksim.requests.trace import Piece, Site, Trace

ROWS = 1 << 16
"""Requests that a reader of text puts in a chunk."""


@dataclass
class Source:
    """A trace in a file. Iterating gives its chunks, whose `sites` are all that were met so far.

    `read` takes the list of notes and gives the pieces, of which several are read and judged at the same time where the
    format permits it. `notes`, complete after the last piece, say what was left out and what the format cannot tell.
    `requests`: how many there are, if known.
    """

    path: str
    read: Callable[[list[str]], Iterable[Piece]]
    requests: int | None = None
    notes: list[str] = field(default_factory=list)
    begun: bool = field(default=False, init=False)

    @property
    def pieces(self) -> Iterable[Piece]:
        """The pieces, from the file's beginning each time. `InputError` for standard input that has been read."""
        if self.path == "-" and self.begun:
            raise InputError("-: standard input can be read once")
        self.begun = True
        self.notes.clear()
        return self.read(self.notes)

    def __iter__(self) -> Iterator[Trace]:
        for piece in self.pieces:
            for _, trace in piece():
                yield trace


def stream(chunks: Iterable[Trace]) -> Iterator[Piece]:
    """Chunks that can only be read one after the other, as pieces."""
    first = 0
    for chunk in chunks:
        yield lambda at=first, trace=chunk: [(at, trace)]  # type: ignore[misc]
        first += len(chunk)


class Rows:
    """Requests one by one, on their way to chunks. `where()` names the place that is being read."""

    def __init__(self, where: Callable[[], str]) -> None:
        self.where = where
        self.sites: dict[Site, int] = {}
        self.left_out: Counter[str] = Counter()
        self.start()

    def start(self) -> None:
        self.numbers: list[tuple[int, int, int, int, int, int]] = []
        self.addresses: list[list[int]] = []

    def asked(self, opcode: str, has_result: bool = True) -> tuple[str, int] | None:
        """(op, width) of what an opcode asks of shared memory; counted as left out, and None, if lanes ask nothing."""
        try:
            found = request_of(opcode, has_result)
        except InputError as error:
            raise InputError(f"{self.where()}: {error}") from None
        if found is None or found[0] in ("bulk", "remote_async"):
            self.left_out[opcode.partition(".")[0]] += 1
            return None
        return found

    def add(
        self, site: Site, op: str, width: int, mask: int, address: list[int], block: int = 0, warp: int = 0
    ) -> Trace | None:
        """One request; a chunk when there are enough. `InputError`, with the place, for one that cannot be."""
        if op not in OP_CODES:
            raise InputError(f"{self.where()}: unknown op {op[:40]!r}: give one of {', '.join(OPS)}")
        if width not in WIDTHS:
            raise InputError(f"{self.where()}: width {width}: an access is 1, 2, 4, 8 or 16 bytes wide")
        if not 0 <= mask <= FULL_MASK:
            raise InputError(f"{self.where()}: mask {mask:#x} is beyond 32 lanes")
        if not (0 <= block < 1 << 31 and 0 <= warp < 1 << 31):
            raise InputError(f"{self.where()}: block {block}, warp {warp}: give numbers from 0 to 2147483647")
        if min(address) < 0 or max(address) > FULL_MASK:
            raise InputError(f"{self.where()}: an address is outside 0 to {FULL_MASK:#x}")
        if width > 1:
            for lane in range(LANES):
                if address[lane] % width and mask >> lane & 1:
                    raise InputError(
                        f"{self.where()}: lane {lane}: address {address[lane]:#x} is not a multiple of {width}, "
                        "the width in bytes"
                    )
        number = self.sites.setdefault(site, len(self.sites))
        self.numbers.append((number, OP_CODES[op], width, mask, block, warp))
        self.addresses.append(address)
        return self.chunk() if len(self.numbers) == ROWS else None

    def chunk(self) -> Trace:
        """What has come since the last chunk."""
        numbers = np.array(self.numbers, np.int64).reshape(-1, 6)
        site, op, width, mask, block, warp = numbers.T
        address = np.array(self.addresses, np.uint32).reshape(-1, LANES)
        self.start()
        return Trace.from_arrays(op, width, mask, address, warp, block, site, sites=tuple(self.sites))

    def rest(self) -> Iterator[Trace]:
        """The last chunk, if there is anything left."""
        if self.numbers:
            yield self.chunk()
