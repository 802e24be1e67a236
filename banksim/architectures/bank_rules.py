"""The architectures: how each cuts a request into parts and what its banks serve in one pass.

A family of architectures is one row of `_FAMILIES`; what its accesses do is one of the tables above it. Every rule
carries its source and whether it was measured, is documented, or is assumed because nobody has shown it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import product
from types import MappingProxyType
from typing import Literal

from banksim.architectures.capabilities import CAPABILITIES
from banksim.architectures.gpus import architecture_of, near_gpus
from banksim.errors import InputError
from banksim.requests.counts import Status
from banksim.requests.kinds import ATOMICS, BY_PLACES, BYPASSING, OPS

H200 = "counters of one H200: tests/data/h200_requests.npz"
COPIES = (
    "source page of one H200: tests/data/h200_copies.npz; the banks' own counter agrees unless lanes meet on both sides"
)
BYPASS = "source page of one H200: tests/data/h200_bypass.npz; what the banks do varies from run to run"
WGMMA = "gmma counter of one H200, by random descriptors too: tests/data/hardware/warpgroup_products.npz"
REMOTE = "dshared counter (set accesses of the L1) of one H100 and one H200: tests/data/hardware/remote_requests.npz"
PLACES = "the same counter of one H200, on requests held out too: tests/data/hardware/remote_atomics.npz"
WIDE = "counters of one H200, by 80 launches: tests/data/hardware/wide_atomics.npz"
GUIDE_1 = "CUDA C Programming Guide 4.2, compute capability 1.x, Shared Memory"
GUIDE_2 = "CUDA C Programming Guide 4.2, compute capability 2.x, Shared Memory"
GUIDE_3 = "CUDA C Programming Guide 10.2, compute capability 3.x, Shared Memory"
GUIDE_5 = "CUDA C Programming Guide 12, compute capability 5.x and later, Shared Memory"
AS_SM90 = "taken from sm_90, where it was measured"
KEPLER_4 = "4-byte mode, the default of the hardware: cudaSharedMemBankSizeFourByte"
KEPLER_8 = "8-byte mode: cudaSharedMemBankSizeEightByte"
MOST_PASSES = 4095

Serves = Literal["word", "lane", "once", "broadcast", "copy", "bypass", "line", "place", "half place"]


@dataclass(frozen=True)
class AccessRule:
    """How requests of one op and width are cut into parts, and what one bank serves in one pass of a part.

    `lanes` are judged together (32, 16 or 8); a load whose pairs merge has parts of `merged` lanes instead.
    `serves` is "word" where lanes in the same word share a pass, "lane" where each takes its own, "once" where a part
    takes one pass whatever its addresses are (lanes that meet in a bank fail, and the code tries again), "broadcast"
    where one word of all banks is shared and the other banks serve one lane each, "copy" where a part takes as many
    passes as lanes meet in a lane's banks, on either side of the copy, at the most, "bypass" where sectors that move
    alike share a pass (`banksim.banks.rule.bypassing`), "line" where lanes in one line of 128 bytes do, "place" and
    "half place" where lanes in a line, or half of one, do that meet no earlier lane (`banksim.banks.rule.by_places`).
    An access wider than `request_bytes` is sent as several requests. Only the first `rows` lanes give addresses.
    `passes` is what one lane or word takes. `also` are passes by another rule that come to these.
    """

    lanes: int
    status: Status
    source: str
    merged: int = 0
    serves: Serves = "word"
    request_bytes: int = 16
    rows: int = 32
    passes: int = 1
    also: AccessRule | None = None

    def requests(self, width: int) -> int:
        """How many an access of `width` bytes a lane is sent as."""
        return max(1, width // self.request_bytes)


@dataclass(frozen=True)
class Architecture:
    """Banks and access rules of one compute capability. Variants: `dataclasses.replace`.

    Successive words of `bank_width` bytes lie in successive banks; in one pass a bank delivers `pass_width`
    bytes, all of one aligned row of `banks` × `pass_width` bytes. `evidence` and `source` say how well these
    three figures are founded; `accesses` holds the rules that are known, by (op, width), each with its own.
    """

    name: str
    capability: tuple[int, int]
    banks: int
    bank_width: int
    pass_width: int
    evidence: Status
    source: str
    accesses: Mapping[tuple[str, int], AccessRule] = field(hash=False, repr=False)
    note: str = ""

    def __post_init__(self) -> None:
        for figure in (self.banks, self.bank_width, self.pass_width):
            if figure < 1 or figure & (figure - 1):
                raise InputError(f"{self.name}: {figure} is no power of two; banks and widths must be")
        if self.banks > 32 or self.bank_width not in (4, 8) or self.banks * self.bank_width < 16:
            raise InputError(f"{self.name}: give at most 32 banks of 4 or 8 bytes, at least 16 bytes in all")
        if self.pass_width not in (self.bank_width, 2 * self.bank_width):
            raise InputError(f"{self.name}: a pass delivers one or two words of a bank")
        for (op, width), access in self.accesses.items():
            unit = max(min(width, access.request_bytes), self.bank_width)
            parts = 32 // access.lanes
            if not 1 <= access.passes <= MOST_PASSES // access.requests(width):
                most = MOST_PASSES // access.requests(width)
                raise InputError(f"{self.name}: {access.passes} passes of {op}: give 1 to {most}")
            if parts * self.banks * self.bank_width > 32 * unit or parts > unit // 2:
                raise InputError(
                    f"{self.name}: parts of {access.lanes} lanes of {op}, {width} bytes, are too small for "
                    f"{self.banks} banks of {self.bank_width} bytes"
                )

    @property
    def row_bytes(self) -> int:
        """Bytes that all banks deliver in one pass."""
        return self.banks * self.pass_width

    @property
    def period(self) -> int:
        """Bytes, a power of two: moving all addresses of a request by a multiple of them changes no count."""
        return self.bank_width if self.pass_width == self.bank_width else self.row_bytes

    @cached_property
    def is_range(self) -> bool:
        """Whether counts are ranges, because the hardware's choice of a broadcast word is unspecified."""
        return any(access.serves == "broadcast" for access in self.accesses.values())

    def access(self, op: str, width: int) -> AccessRule | None:
        """The rule for `op` of `width` bytes, or None where nobody knows it.

        Raises `InputError` for an access that this architecture has no instruction for.
        """
        if reason := self.missing(op, width):
            raise InputError(reason)
        return self.accesses.get((op, width))

    def missing(self, op: str, width: int) -> str | None:
        """Why this architecture has no such access, or None if it has one."""
        if op not in OPS:
            return f"unknown op {op!r}: give one of {', '.join(OPS)}"
        kind = op.partition("_x")[0]
        (major, minor), what = _FIRST.get(kind, ((1, 0), ""))
        if self.capability < (major, minor):
            return f"{self.name} has no {op}: {what} came with sm_{major}{minor}"
        if width not in WIDTHS_OF[kind]:
            return f"there is no {op} of {width} bytes: give {' or '.join(map(str, WIDTHS_OF[kind]))}"
        return None

    def why_unknown(self, op: str, width: int) -> str:
        """One line for an `UnknownCountError`."""
        if op in ATOMICS and self.capability < (5, 0):
            return (
                f"{op} on {self.name}: before sm_50 a shared atomic is a loop of lock, load, store, unlock; "
                "nobody knows how many transactions it takes"
            )
        return f"{op} of {width} bytes on {self.name}: nobody has measured how many transactions it takes"

    def status(self, op: str, width: int) -> Status:
        """How well the count of such a request is founded; "unknown" where there is no count."""
        known = None if self.missing(op, width) else self.accesses.get((op, width))
        return known.status if known else "unknown"


_FIRST: dict[str, tuple[tuple[int, int], str]] = {
    **dict.fromkeys(ATOMICS, ((1, 2), "atomics on shared memory")),
    "ldmatrix": ((7, 5), "ldmatrix"),
    **dict.fromkeys(("cp_async", "cp_async_gather", *BYPASSING), ((8, 0), "cp.async")),
    "stmatrix": ((9, 0), "stmatrix"),
    "bulk": ((9, 0), "cp.async.bulk"),
    **dict.fromkeys(("remote", "remote_ld", "remote_st", *BY_PLACES), ((9, 0), "shared memory of other blocks")),
    "wgmma": ((9, 0), "wgmma"),
}
"""The first compute capability that has an op, where not all have it (PTX ISA; CUDA guide for atomics)."""
WIDTHS_OF: dict[str, tuple[int, ...]] = {
    "ld": (1, 2, 4, 8, 16), "st": (1, 2, 4, 8, 16), "atom": (4, 8), "red": (4, 8), "exch": (4, 8, 16),
    "cas": (4, 8, 16), "cas_spin": (4, 8), "popc_inc": (4,), "probe": (8,), "ldmatrix": (16,), "stmatrix": (16,),
    "cp_async": (4, 8, 16), "cp_async_gather": (4, 8, 16), **dict.fromkeys(BYPASSING, (16,)), "bulk": (16,),
    **dict.fromkeys(("remote", "remote_ld", "remote_st"), (1, 2, 4, 8, 16)), **dict.fromkeys(BY_PLACES, (4, 8, 16)),
    "wgmma": (16,),
}  # fmt: skip
"""Bytes that the machine's instructions of each kind have; narrower atomics are made of `cas` by compilers."""


def _plain(lanes: dict[int, int], rules: dict[int, tuple[Status, str]]) -> dict[tuple[str, int], AccessRule]:
    """Loads and stores alike: `lanes` judged together by width, status and source by width."""
    return {(op, width): AccessRule(lanes[width], *rules[width]) for op in ("ld", "st") for width in (1, 2, 4, 8, 16)}


def _tesla() -> dict[tuple[str, int], AccessRule]:
    stores = "the guide describes reads; writes are taken to go the same way"
    table = {}
    for width in (1, 2, 4, 8, 16):
        load = AccessRule(16, "documented", GUIDE_1, serves="broadcast", request_bytes=4)
        table["ld", width] = load
        table["st", width] = replace(load, status="assumed", source=stores)
    return table


def _fermi() -> dict[tuple[str, int], AccessRule]:
    known: tuple[Status, str] = ("documented", GUIDE_2)
    summed: tuple[Status, str] = ("assumed", f"{GUIDE_2}, gives the degree of a part; the sum is assumed")
    return _plain({1: 32, 2: 32, 4: 32, 8: 16, 16: 8}, {1: known, 2: known, 4: known, 8: summed, 16: summed})


def _kepler() -> dict[tuple[str, int], AccessRule]:
    known: tuple[Status, str] = ("documented", GUIDE_3)
    halves: tuple[Status, str] = ("assumed", "the guide is silent on 16 bytes: a part is what one pass can carry")
    return _plain({1: 32, 2: 32, 4: 32, 8: 32, 16: 16}, {1: known, 2: known, 4: known, 8: known, 16: halves})


def _hopper() -> dict[tuple[str, int], AccessRule]:
    measured: tuple[Status, str] = ("measured", H200)
    table = _plain({1: 32, 2: 32, 4: 32, 8: 16, 16: 8}, dict.fromkeys((1, 2, 4, 8, 16), measured))
    table["ld", 8] = replace(table["ld", 8], merged=32)
    table["ld", 16] = replace(table["ld", 16], merged=16)
    for op in ("atom", "red", "exch"):
        table[op, 4] = AccessRule(32, *measured, serves="lane")
    for op in ("atom", "exch"):  # 8-byte "atom" was measured as atom.exch.b64
        table[op, 8] = AccessRule(16, *measured, serves="lane")
    for width, lanes in ((4, 32), (8, 16), (16, 8)):
        table["cp_async", width] = AccessRule(lanes, "measured", COPIES, serves="copy")
    bypass = AccessRule(32, "Nsight's", BYPASS, serves="bypass")
    table["cp_async_bypass", 16] = bypass
    table["cp_async_bypass_zfill", 16] = AccessRule(8, "Nsight's", BYPASS, serves="copy", also=bypass)
    table["wgmma", 16] = AccessRule(8, "measured", WGMMA)
    for op, width in product(("remote_ld", "remote_st"), (1, 2, 4, 8, 16)):
        table[op, width] = AccessRule(32, "measured", REMOTE, serves="line")
    for op, width in product(BY_PLACES, (4, 8, 16)):
        serves: Serves = "half place" if op == "remote_cas" else "place"
        table[op, width] = AccessRule(32, "measured", PLACES, serves=serves)
    atomics: tuple[Status, str] = ("measured", "counters of one H200: tests/data/hardware/atomics.json")
    table["cas", 4] = AccessRule(32, *measured, serves="lane", passes=2)
    table["cas", 8] = AccessRule(16, *atomics, serves="lane", passes=2)
    for width, lanes in ((4, 32), (8, 16)):
        table["cas_spin", width] = AccessRule(lanes, *atomics, serves="once", passes=2)
    for op, passes in (("exch", 1), ("cas", 2)):
        table[op, 16] = AccessRule(8, "measured", WIDE, serves="lane", passes=passes)
    table["popc_inc", 4] = AccessRule(32, *measured)
    for count in (1, 2, 4):
        rows = AccessRule(8, *measured, rows=8 * count)
        alike = replace(rows, status="assumed", source="taken to go as the same matrices measured otherwise")
        table[f"ldmatrix_x{count}", 16] = table[f"stmatrix_x{count}", 16] = rows
        table[f"ldmatrix_x{count}_trans", 16] = rows if count == 4 else alike
        table[f"stmatrix_x{count}_trans", 16] = alike
    return table


def _modern() -> dict[tuple[str, int], AccessRule]:
    """The rules of sm_90 where nobody measured them: documented for words, assumed for the rest."""
    words = {("ld", 1), ("ld", 2), ("ld", 4), ("st", 1), ("st", 2), ("st", 4)}
    return {
        key: replace(access, status="documented", source=GUIDE_5)
        if key in words
        else replace(access, status="assumed", source=AS_SM90)
        for key, access in _hopper().items()
        if key[0] not in ("wgmma", *BY_PLACES)  # of sm_90 alone, and by a hash that others need not have
    }


_FAMILIES: tuple[Architecture, ...] = (
    Architecture("tesla", (1, 3), 16, 4, 4, "documented", GUIDE_1, _tesla()),
    Architecture("fermi", (2, 0), 32, 4, 4, "documented", GUIDE_2, _fermi()),
    Architecture("kepler-4", (3, 5), 32, 4, 8, "documented", GUIDE_3, _kepler(), KEPLER_4),
    Architecture("kepler-8", (3, 5), 32, 8, 8, "documented", GUIDE_3, _kepler(), KEPLER_8),
    Architecture("maxwell", (5, 0), 32, 4, 4, "documented", GUIDE_5, _modern()),
    Architecture("pascal", (6, 0), 32, 4, 4, "documented", GUIDE_5, _modern()),
    Architecture("volta", (7, 0), 32, 4, 4, "documented", GUIDE_5, _modern()),
    Architecture("turing", (7, 5), 32, 4, 4, "documented", GUIDE_5, _modern()),
    Architecture("ampere", (8, 0), 32, 4, 4, "documented", GUIDE_5, _modern()),
    Architecture("ada", (8, 9), 32, 4, 4, "documented", GUIDE_5, _modern()),
    Architecture("hopper", (9, 0), 32, 4, 4, "measured", H200, _hopper()),
    Architecture("blackwell", (10, 0), 32, 4, 4, "documented", GUIDE_5, _modern()),
)
"""Every family; `banksim.architectures.capabilities` says which sm_NN share its rules."""


@cache
def presets() -> Mapping[str, Architecture]:
    """Every architecture by name: the families first, then every sm_NN."""
    families = {family.name: family for family in _FAMILIES}
    table = dict(families)
    for row in CAPABILITIES:
        for suffix in ("", *row.suffixes):
            name = f"sm_{row.number}{suffix}"
            table[name] = replace(families[row.family], name=name, capability=row.version)
    return MappingProxyType(table)


def architectures(names: str | Architecture | Iterable[str | Architecture]) -> tuple[Architecture, ...]:
    """The architectures of one name or several. `InputError` for an unknown name, and where no name is given."""
    if not isinstance(names, str | Architecture | Iterable):
        raise InputError("give architectures as names, such as sm_90")
    found = tuple(architecture(name) for name in ([names] if isinstance(names, str | Architecture) else names))
    if not found:
        raise InputError("no architecture was given: name at least one, such as sm_90")
    return found


def architecture(name: str | Architecture) -> Architecture:
    """The preset of this name or of the GPU of this name, or `name` itself if it is an architecture.

    `InputError` lists near names.
    """
    if isinstance(name, Architecture):
        return name
    if isinstance(name, str) and name not in presets():
        name = architecture_of(name) or name
    if not isinstance(name, str) or name not in presets():
        near = near_gpus(str(name)) + difflib.get_close_matches(str(name), presets(), n=6, cutoff=0.5)
        families = [family.name for family in _FAMILIES]
        raise InputError(f"unknown architecture {name!r}: give {', '.join(near or [*families, 'sm_90'])}")
    return presets()[name]
