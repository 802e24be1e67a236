"""Traces for tests: random ones with every kind of request, and files damaged in every way."""

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import strategies as st

from banksim.architectures.bank_rules import WIDTHS_OF
from banksim.banks.conflicts import Conflicts
from banksim.banks.pieces import replay
from banksim.errors import BanksimError
from banksim.requests.kinds import FULL_MASK, LANES, OPS
from banksim.requests.trace import Site, Trace

KINDS = [(op, width) for op in OPS for width in WIDTHS_OF[op.partition("_x")[0]]]
SITES = (
    Site("LDS", 0x40, "reduce.cu", 12, "s[t] += s[t + n];", "reduce", (("sum", "sum.cuh", 3),)),
    Site("STS.64", 0x50, "reduce.cu", 12, "s[t] += s[t + n];", "reduce"),
    Site(text="tile[y][x]"),
    Site(text="tile[y][x]"),
    Site(text="“µ”, a\nline"),
)


def random_trace(
    seed: int, requests: int, kinds: Sequence[tuple[str, int]] = KINDS, sites: tuple[Site, ...] = SITES, alike: int = 0
) -> Trace:
    """Requests of random kinds, masks and places; with `alike`, no more than so many different ones."""
    random = np.random.default_rng(seed)
    kind = random.integers(0, len(kinds), requests)
    op = np.array([kinds[k][0] for k in kind], dtype=str)
    width = np.array([kinds[k][1] for k in kind], np.int64)
    steps = random.choice([0, 1, 2, 4, 31, 32, 33, 64], (requests, 1)) * np.arange(LANES)
    noise = random.integers(0, 256, (requests, LANES)) * random.integers(0, 2, (requests, 1))
    address = (steps + noise + random.integers(0, 512, (requests, 1))) * width[:, None]
    mask = np.where(random.integers(0, 2, requests), 0xFFFFFFFF, random.integers(0, 1 << 32, requests))
    mask[random.integers(0, 20, requests) == 0] = 0
    site = random.integers(0, len(sites), requests)
    if alike:
        pick = random.integers(0, min(alike, requests), requests)
        op, width, address, mask, site = op[pick], width[pick], address[pick], mask[pick], site[pick]
        address += 1024 * random.integers(0, 8, (requests, 1))
    return Trace.from_arrays(
        op,
        width,
        mask,
        address,
        warp=random.integers(0, 70, requests),
        block=random.integers(0, 9, requests),
        site=site,
        epoch=random.integers(0, 3, requests),
        sites=sites,
    )


def strided(
    *strides: int, file: object = None, text: str = "s[STRIDE * t]", width: int = 4, arch: str = "sm_90"
) -> Conflicts:
    """What a load of each stride costs, each on a line of its own of the file, from 1 on. `text`: of all lines."""
    sites = [
        Site("LDS", 16 * line, file and str(file), line if file else None, text.replace("STRIDE", str(stride)))
        for line, stride in enumerate(strides, 1)
    ]
    address = np.array([np.arange(LANES) * width * stride for stride in strides])
    trace = Trace.from_arrays("ld", width, FULL_MASK, address, site=np.arange(len(strides)), sites=sites)
    return replay(trace, arch)


def same(a: Trace, b: Trace) -> bool:
    """Whether two traces are equal in all."""
    names = ("site", "block", "warp", "op", "width", "mask", "address", "epoch")
    return a.sites == b.sites and all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


@st.composite
def damages(draw: st.DrawFn, size: int) -> list[tuple[int, int]]:
    """Places in a file of `size` bytes with other bytes for them; a place −n: cut off n bytes before the end."""
    if draw(st.booleans()):
        return [(-draw(st.integers(1, size)), 0)]
    return draw(st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, 255)), min_size=1, max_size=8))


def complaint(work: Callable[[], object]) -> str | None:
    """What banksim complains of while it does something, None if it does not."""
    try:
        work()
    except BanksimError as error:
        return str(error)
    return None


def damaged(data: bytes, damage: list[tuple[int, int]]) -> bytes:
    found = bytearray(data)
    for place, value in damage:
        if place < 0:
            return bytes(found[:place])
        found[place] = value
    return bytes(found)
