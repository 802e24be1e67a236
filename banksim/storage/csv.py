"""Traces as CSV: a head `op,width,mask,a0,…,a31` in any order, with site, block and warp if wanted; one row a request.

Numbers are decimal or 0x…; an address may be empty where the lane is inactive; without the column `mask` the lanes with
an address are the active ones. `site` is any text and names the site. # begins a comment.
"""

import csv
from collections.abc import Iterator

from banksim.errors import InputError
from banksim.requests.kinds import FULL_MASK, LANES
from banksim.requests.trace import Site, Trace
from banksim.storage.files import lines
from banksim.storage.source import Rows, Source, stream

ADDRESSES = [f"a{lane}" for lane in range(LANES)]
OTHERS = ("op", "width", "mask", "site", "block", "warp")


def source(path: str) -> Source:
    """The trace in a CSV file, which may be compressed (`-`: standard input)."""
    return Source(path, lambda notes: stream(chunks(path)))


def chunks(path: str) -> Iterator[Trace]:
    number = 0

    def counted() -> Iterator[str]:
        nonlocal number
        for line in lines(path):
            number += 1
            if not line.startswith("#"):
                yield line

    def where() -> str:
        return f"{path}, line {number}"

    table = csv.reader(counted(), strict=True)
    rows = Rows(where)
    try:
        head = [name.strip() for name in next(table, [])]
        place = columns(head, where())
        for cells in table:
            if not cells:
                continue
            if len(cells) != len(head):
                raise InputError(f"{where()}: {len(cells)} values, but the head names {len(head)}")
            chunk = rows.add(*request(cells, place, where()))
            if chunk:
                yield chunk
    except csv.Error as error:
        raise InputError(f"{where()}: {error}") from None
    yield from rows.rest()


def columns(head: list[str], where: str) -> dict[str, int]:
    """The place of each column."""
    for name in head:
        if name not in ADDRESSES and name not in OTHERS:
            raise InputError(f"{where}: unknown column {name[:40]!r}: give {', '.join(OTHERS)} and a0 to a31")
        if head.count(name) > 1:
            raise InputError(f"{where}: {head.count(name)} columns {name}: give one")
    for name in ("op", "width", *ADDRESSES):
        if name not in head:
            raise InputError(f"{where}: no column {name}: the head must name op, width, mask and a0 to a31")
    return {name: head.index(name) for name in head}


def request(cells: list[str], place: dict[str, int], where: str) -> tuple[Site, str, int, int, list[int], int, int]:
    """The arguments of `Rows.add`."""

    def value(name: str, otherwise: int | None) -> int:
        text = cells[place[name]].strip() if name in place else ""
        if not text and otherwise is not None:
            return otherwise
        try:
            return int(text, 16) if text[:2] in ("0x", "0X") else int(text)
        except ValueError:
            raise InputError(f"{where}: {name} is {text[:40]!r}: give a whole number") from None

    given = sum(1 << lane for lane, name in enumerate(ADDRESSES) if cells[place[name]].strip())
    mask = value("mask", None) if "mask" in place else given
    if missing := mask & ~given & FULL_MASK:
        lane = (missing & -missing).bit_length() - 1
        raise InputError(f"{where}: lane {lane} is active, but a{lane} is empty")
    op = cells[place["op"]].strip()
    site = Site(opcode=op, text=cells[place["site"]].strip()) if "site" in place else Site(opcode=op)
    addresses = [value(name, 0) for name in ADDRESSES]
    return site, op, value("width", None), mask, addresses, value("block", 0), value("warp", 0)
