"""Which swizzle of a tensor map fits a tile, and how it is read: every access of the whole tile is replayed in each."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import Architecture, architecture
from banksim.architectures.occupancy import limits
from banksim.banks.replay import ideal, transactions
from banksim.errors import InputError
from banksim.layouts.algebra import Swizzle
from banksim.requests.kinds import FULL_MASK, LANES
from banksim.wording import plural

LINE, CHUNK = 128, 16
"""Bytes of a line, and of what a swizzle moves."""
SWIZZLES = {32: Swizzle(1, 4, 3), 64: Swizzle(2, 4, 3), 128: Swizzle(3, 4, 3)}
"""TMA's swizzles by their names in bytes, of places in bytes: bits of a line's number are xored into its chunks'."""
ALIGNED = 128
"""Bytes: a box begins at a multiple of these."""
MOST_IN_BOX = 256
"""Elements of a box along an axis."""
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TileLayout:
    """A tile as copies by a tensor map leave it: boxes of `rows` by `columns` elements one after the other, each row by
    row, and all of it swizzled by TMA's swizzle of so many bytes (0: by none)."""

    swizzle: int
    rows: int
    columns: int
    copies: int
    places: Places
    """(row, column): the byte where an element lies."""

    @property
    def name(self) -> str:
        return f"{self.swizzle} B" if self.swizzle else "none"


@dataclass(frozen=True)
class Requests:
    """The requests that read a whole tile: `address` (request, lane), in bytes."""

    op: str
    width: int
    address: Places


class Descriptor(NamedTuple):
    """What wgmma's descriptor of a tile says besides its start: bytes, and the number of the swizzle."""

    leading: int
    stride: int
    swizzle: int


@dataclass(frozen=True)
class Reading:
    """What one way of reading costs in one layout; `transactions` None where it does not fit, for the reason `why`."""

    way: str
    transactions: int | None
    ideal: int | None = None
    why: str = ""
    descriptor: Descriptor | None = None

    @property
    def is_free(self) -> bool:
        return self.transactions is not None and self.transactions == self.ideal


@dataclass(frozen=True)
class JudgedTile:
    layout: TileLayout
    readings: tuple[Reading, ...]

    @property
    def misfits(self) -> int:
        return sum(one.transactions is None for one in self.readings)

    @property
    def excess(self) -> int:
        return sum((one.transactions or 0) - (one.ideal or 0) for one in self.readings)


@dataclass(frozen=True)
class TileAdvice:
    """The layouts of a tile, that which fits best first: in which the fewest ways of reading do not fit, then with the
    fewest transactions beyond the least, then of the fewest copies."""

    rows: int
    columns: int
    element: int
    arch: Architecture
    judged: tuple[JudgedTile, ...]

    @property
    def best(self) -> JudgedTile:
        return self.judged[0]

    @property
    def verdict(self) -> str:
        """One sentence."""
        best = self.best
        where = f"a swizzle of {best.layout.name}" if best.layout.swizzle else "no swizzle"
        boxes = f"boxes of {best.layout.rows} × {best.layout.columns}"
        if best.misfits:
            rest = "not every way of reading fits in it"
        else:
            rest = "no conflict is left" if not best.excess else "conflicts are left in it"
        return f"Take {where}, {boxes}: {rest}."

    def to_json(self) -> dict[str, object]:
        return {
            "rows": self.rows,
            "columns": self.columns,
            "element_bytes": self.element,
            "architecture": self.arch.name,
            "layouts": [
                {
                    "swizzle": one.layout.swizzle,
                    "box": [one.layout.rows, one.layout.columns],
                    "copies": one.layout.copies,
                    "readings": [
                        {"way": r.way, "transactions": r.transactions, "ideal": r.ideal}
                        | ({"why": r.why} if r.why else {})
                        | ({"descriptor": r.descriptor._asdict()} if r.descriptor else {})
                        for r in one.readings
                    ],
                }
                for one in self.judged
            ],
            "verdict": self.verdict,
        }


# ---- layouts


def layouts(rows: int, columns: int, element: int) -> Iterator[TileLayout]:
    """Those that tensor maps can give a tile: without a swizzle as wide as it is, and in columns of 16 bytes (core
    matrices); with each swizzle in columns of its bytes."""
    widths = [(0, columns * element), (0, CHUNK), *((swizzle, swizzle) for swizzle in SWIZZLES)]
    for number, (swizzle, width) in enumerate(widths):
        whole = columns * element
        if whole % width or width > MOST_IN_BOX * element or (number == 1 and whole == width):
            continue
        across, box = whole // width, next(n for n in range(min(rows, MOST_IN_BOX), 0, -1) if rows % n == 0)
        copies = across * (rows // box)
        if copies > 1 and box * width % ALIGNED:
            continue
        row, byte = np.arange(rows)[:, None], element * np.arange(columns)[None, :]
        places = byte // width * (rows * width) + row * width + byte % width
        if swizzle:
            places = SWIZZLES[swizzle].at(places)
        yield TileLayout(swizzle, box, width // element, copies, places)


# ---- ways of reading

Way = Callable[[TileLayout, int], Requests]


def by_rows(layout: TileLayout, element: int, *, lanes: tuple[int, int], width: int, op: str) -> Requests:
    """Requests that read a whole tile, each with a grid of `lanes` (rows, pieces of a row) of `width` bytes a lane."""
    rows, columns = layout.places.shape
    deep, across = lanes
    each = width // element
    if rows % deep or columns % (each * across):
        raise InputError(f"needs multiples of {deep} rows and {width * across} bytes of a row")
    pieces = layout.places[:, ::each].reshape(rows // deep, deep, columns // each // across, across)
    return Requests(op, width, pieces.transpose(0, 2, 3, 1).reshape(-1, LANES))


def along_rows(layout: TileLayout, element: int) -> Requests:
    """Neighbouring lanes take neighbouring 16 bytes of a row, as far as it goes."""
    pieces = layout.places[:, :: CHUNK // element].reshape(-1)
    if pieces.size % LANES:
        raise InputError(f"needs a multiple of {LANES * CHUNK} bytes")
    return Requests("ld", CHUNK, pieces.reshape(-1, LANES))


def fragments(layout: TileLayout, element: int) -> Requests:
    """The words of a fragment of mma: lane l takes word l % 4 of row l / 4."""
    rows, columns = layout.places.shape
    if element > 4:
        raise InputError("needs elements of at most 4 bytes")
    if rows % 8 or columns * element % CHUNK:
        raise InputError(f"needs multiples of 8 rows and {CHUNK} bytes of a row")
    words = layout.places[:, :: 4 // element]
    return Requests("ld", 4, words.reshape(rows // 8, 8, -1, 4).transpose(0, 2, 1, 3).reshape(-1, LANES))


WAYS: dict[str, Way] = {
    "ldmatrix": lambda t, e: by_rows(t, e, lanes=(16, 2), width=CHUNK, op="ldmatrix_x4"),
    "fragments": fragments,
    "rows": along_rows,
    "columns": lambda t, e: by_rows(t, e, lanes=(32, 1), width=CHUNK, op="ld"),
    "transposed": lambda t, e: by_rows(t, e, lanes=(32, 1), width=e, op="ld"),
}
WHAT = {
    "ldmatrix": "ldmatrix.x4 of 16 rows by 32 bytes, with .trans or without",
    "fragments": "fragments of mma by words: lane l takes word l % 4 of row l / 4",
    "rows": "16 bytes a lane, neighbouring lanes along rows",
    "columns": "16 bytes a lane, neighbouring lanes down rows",
    "transposed": "an element a lane, neighbouring lanes down rows",
    "wgmma": "wgmma with rows along M or N, and K along columns",
    "wgmma_mn": "wgmma with rows along K, and M or N along columns (transposed)",
}
"""Each way of reading with what it is."""


def judge(layout: TileLayout, element: int, way: str, arch: Architecture) -> Reading:
    if way.startswith("wgmma"):
        return by_warp_groups(layout, element, way, arch)
    try:
        found = WAYS[way](layout, element)
    except InputError as error:
        return Reading(way, None, why=str(error))
    given = {"op": found.op, "width": found.width, "mask": FULL_MASK}
    counted = transactions(found.address, arch=arch, **given)
    most = np.asarray(counted[1] if isinstance(counted, tuple) else counted)
    return Reading(way, int(most.sum()), int(np.asarray(ideal(found.address, arch=arch, **given)).sum()))


def by_warp_groups(layout: TileLayout, element: int, way: str, arch: Architecture) -> Reading:
    """What wgmma takes to read a tile, where its descriptor can name the layout: a transaction for each 128 bytes."""
    rows, columns = layout.places.shape
    width = layout.columns * element
    if ("wgmma", CHUNK) not in arch.accesses:
        return Reading(way, None, why=f"{arch.name} has no wgmma")
    if not layout.swizzle and width != CHUNK:
        return Reading(way, None, why="without a swizzle it takes boxes of 16 bytes a row")
    if way == "wgmma":
        if rows % 8 or columns * element % 32:
            return Reading(way, None, why="needs multiples of 8 rows and 32 bytes of a row")
        leading, stride = (CHUNK, 8 * width) if layout.swizzle else (rows * CHUNK, 8 * CHUNK)
    else:
        if element != 2:
            return Reading(way, None, why="only types of 16 bits can be transposed")
        if rows % 16 or columns % 8:
            return Reading(way, None, why="needs multiples of 16 rows and 16 bytes of a row")
        leading, stride = (rows * width, 8 * width) if layout.swizzle else (8 * CHUNK, rows * CHUNK)
    number = {0: 0, 128: 1, 64: 2, 32: 3}[layout.swizzle]
    count = rows * columns * element // LINE
    return Reading(way, count, count, descriptor=Descriptor(leading, stride, number))


def advise_tile(
    rows: int, columns: int, element: int, ways: tuple[str, ...] = (), arch: str | Architecture = "sm_90"
) -> TileAdvice:
    """Advice on a tile of so many rows and columns of elements of so many bytes, which is read in all these ways (none:
    in any). `InputError` for what no tensor map can copy."""
    known = architecture(arch)
    if rows < 1 or columns < 1 or element not in (1, 2, 4, 8):
        what = f"a tile of {rows} × {columns} elements of {plural(element, 'byte')}"
        raise InputError(f"{what}: give sizes from 1 on, and 1, 2, 4 or 8 bytes")
    if not known.capability[0] >= 9:
        raise InputError(f"{known.name} has no tensor maps: they begin with sm_90")
    if columns * element % CHUNK:
        raise InputError(f"a tile's rows of {columns * element} bytes: a tensor map copies multiples of {CHUNK}")
    strange = next((way for way in ways if way not in WHAT), None)
    if strange is not None:
        raise InputError(f"{strange!r} is no way of reading: give {', '.join(WHAT)}")
    most = limits(known).block_shared
    if rows * columns * element > most:
        what = f"a tile of {rows:,} × {columns:,} elements of {plural(element, 'byte')}"
        raise InputError(f"{what}: a block of {known.name} has {most:,} bytes of shared memory")
    judged = [
        JudgedTile(layout, tuple(judge(layout, element, way, known) for way in ways or WHAT))
        for layout in layouts(rows, columns, element)
    ]
    if not judged:
        what = f"a tile of {rows:,} × {columns:,}"
        raise InputError(f"{what}: boxes of up to {MOST_IN_BOX} rows cannot all begin at multiples of {ALIGNED} bytes")
    judged.sort(key=lambda one: (one.misfits, one.excess, one.layout.copies))
    return TileAdvice(rows, columns, element, known, tuple(judged))
