"""What a trace file of banksim holds, version 1: one row a request, in Parquet and as an Arrow stream.

| column  | type                            | meaning                                                          |
|---------|---------------------------------|------------------------------------------------------------------|
| site    | int32                           | number of the site in the file's metadata                        |
| block   | int32                           | number of the block in the grid, x fastest, of all launches      |
| warp    | int32                           | number of the warp in the block                                  |
| epoch   | int32                           | barriers that the block has passed                               |
| op      | dictionary of strings           | ld, st, atom, …: `banksim.requests.kinds.OPS`                    |
| width   | uint8                           | bytes that a lane accesses                                       |
| mask    | uint32                          | bit i: lane i is active                                          |
| address | list of 32 uint32 (fixed size)  | byte offsets in the block's shared memory, of each lane |

Nothing is null. The five highest bits of an address of cp_async tell of its source; see
`banksim.requests.kinds.SOURCE_BIT`.

The metadata (of the Parquet file, of the Arrow schema) has

- `banksim.schema`: this version;
- `banksim.sites`: a JSON list with an object for each site, the fields of `banksim.requests.trace.Site`;
- `banksim.launches`, where kernels were launched: a JSON list of the launches in their order, each with `kernel`,
  `grid`, `block`, `dynamic_shared` and `first_block`. Blocks are numbered on from launch to launch: block b is of the
  last launch whose `first_block` is at most b.

The head of an Arrow stream is written before its sites and launches are known, so each batch that has new ones repeats
all. Every byte has a checksum, which is compared when it is read (`banksim.storage.checksums`).

Files of other programs need op, width, mask and address only. The other columns default to 0, integers may be of any
size, and sites that the metadata does not tell are known by their numbers.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from banksim.errors import InputError
from banksim.requests.kinds import FULL_MASK, LANES, OP_CODES, OPS
from banksim.requests.trace import Site, Trace

VERSION = 1
VERSION_KEY, SITES_KEY, LAUNCHES_KEY = b"banksim.schema", b"banksim.sites", b"banksim.launches"
ADDRESS = pa.list_(pa.field("element", pa.uint32(), nullable=False), LANES)
TYPES = dict.fromkeys(("site", "block", "warp", "epoch"), pa.int32())
TYPES |= {"op": pa.dictionary(pa.int8(), pa.string()), "width": pa.uint8(), "mask": pa.uint32(), "address": ADDRESS}
SCHEMA = pa.schema(
    [pa.field(name, type, nullable=False) for name, type in TYPES.items()],
    metadata={VERSION_KEY: str(VERSION).encode()},
)
MOST_NUMBERED = 1 << 16
NEEDED = ("op", "width", "mask", "address")


def batch_of(trace: Trace) -> pa.RecordBatch:
    """The requests of a trace as a batch of `SCHEMA`."""
    columns: list[pa.Array] = []
    for column in SCHEMA:
        values = np.ascontiguousarray(getattr(trace, column.name))
        if column.name == "op":
            columns.append(pa.DictionaryArray.from_arrays(array_of(values.view(np.int8)), op_names()))
        elif column.name == "address":
            columns.append(pa.FixedSizeListArray.from_arrays(array_of(values.reshape(-1)), type=ADDRESS))
        else:
            columns.append(array_of(values))
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def array_of(values: npt.NDArray[Any]) -> pa.Array:
    """`values`, not copied. `pa.array` and `to_numpy` would import pandas, which takes longer than most traces."""
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def op_names() -> pa.Array:
    starts = np.cumsum([0, *map(len, OPS)], dtype=np.int32)
    return pa.Array.from_buffers(
        pa.string(), len(OPS), [None, pa.py_buffer(starts), pa.py_buffer("".join(OPS).encode())]
    )


def trace_of(
    batch: pa.RecordBatch, sites: Sequence[Site], address: npt.NDArray[np.uint32] | None = None, bits: int = FULL_MASK
) -> Trace:
    """The trace that a batch holds, checked; `address` where it was read before, and the only bits that it has. Without
    `sites` they have numbers.

    Raises `InputError` or pyarrow's errors for wrong types or values.
    """
    columns: dict[str, Any] = {}
    for name in SCHEMA.names:
        if name == "address" and address is not None:
            columns[name] = address
            continue
        if name not in batch.schema.names:
            columns[name] = 0
            continue
        column = batch.column(name)
        if column.null_count:
            raise InputError(f"column {name} has nulls")
        columns[name] = READERS.get(name, integers_of)(name, column)
    return Trace.from_arrays(**columns, sites=sites or numbered(columns["site"]), bits=bits)


def numbered(site: Any) -> tuple[Site, ...]:
    """The sites of a file that another program wrote, which has lost what they are."""
    last = int(np.max(site, initial=0))
    if last >= MOST_NUMBERED:
        raise InputError(f"site {last}, of which the metadata tells nothing: give {MOST_NUMBERED:,} at most")
    return tuple(Site(text=f"site {number}") for number in range(last + 1)) if last else (Site(),)


def integers_of(name: str, column: pa.Array) -> npt.NDArray[np.integer]:
    if not pa.types.is_integer(column.type):
        raise InputError(f"column {name} is {column.type}: it must hold integers")
    return values_of(column)


def values_of(column: pa.Array) -> npt.NDArray[Any]:
    """The numbers of a column without nulls, not copied."""
    return np.from_dlpack(column)


def ops_of(name: str, column: pa.Array) -> npt.NDArray[np.uint8]:
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode() if is_text(column.type) else column
    if not pa.types.is_dictionary(column.type) or not is_text(column.type.value_type):
        raise InputError(f"column {name} is {column.type}: it must hold strings such as ld, st, atom")
    names = column.dictionary.to_pylist()
    codes = np.array([OP_CODES.get(name, len(OPS)) for name in names], np.uint8)
    found = codes.take(values_of(column.indices)) if len(names) else np.zeros(0, np.uint8)
    if found.size and found.max() == len(OPS):
        unknown = next(name for name in names if name not in OP_CODES)
        raise InputError(f"unknown op {str(unknown)[:40]!r}: give one of {', '.join(OPS)}")
    return found


def is_text(type: pa.DataType) -> bool:
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type))


def addresses_of(name: str, column: pa.Array) -> npt.NDArray[np.integer]:
    type = column.type
    lists = pa.types.is_list(type) or pa.types.is_large_list(type)
    if not (lists or pa.types.is_fixed_size_list(type)):
        raise InputError(f"column {name} is {type}: it must hold lists of {LANES} integers")
    lengths = np.diff(values_of(column.offsets)) if lists else np.array([type.list_size])
    if (lengths != LANES).any():
        raise InputError(f"column {name} has a list of {lengths[lengths != LANES][0]} addresses: give {LANES}")
    values = column.flatten()
    if values.null_count:
        raise InputError(f"column {name} has nulls")
    return integers_of(name, values).reshape(-1, LANES)


READERS = {"op": ops_of, "address": addresses_of}


class SiteNumbers:
    """Numbers for the sites of all traces that go into one file."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[Site, int], int] = {}

    @property
    def all(self) -> tuple[Site, ...]:
        return tuple(site for site, _ in self.numbers)

    def renumbered(self, trace: Trace) -> Trace:
        """The trace with the file's numbers. Sites that are alike within a trace stay apart."""
        seen: Counter[Site] = Counter()
        here = []
        for site in trace.sites:
            here.append(self.numbers.setdefault((site, seen[site]), len(self.numbers)))
            seen[site] += 1
        if here == list(range(len(here))):
            return trace
        return replace(trace, site=np.array(here, np.int32)[trace.site])


def check(schema: pa.Schema, metadata: Mapping[bytes, bytes]) -> None:
    """Raise `InputError` for a schema that is not of this version or lacks a column."""
    version = metadata.get(VERSION_KEY)
    if version is not None and version != str(VERSION).encode():
        written = version.decode("ascii", "backslashreplace")[:20]
        raise InputError(f"trace schema version {written}, but this banksim reads version {VERSION}")
    for name in NEEDED:
        if name not in schema.names:
            raise InputError(f"no column {name}: a trace has {', '.join(NEEDED)} (and site, block, warp, epoch)")
    for name in SCHEMA.names:
        if schema.names.count(name) > 1:
            raise InputError(f"{schema.names.count(name)} columns {name}: give one")


def launch(
    kernel: str, grid: Sequence[int], block: Sequence[int], dynamic_shared: int, first: int = 0
) -> dict[str, Any]:
    """What a file tells of a launch; `first`: the number of its first block."""
    sizes = {"grid": [*grid], "block": [*block], "dynamic_shared": dynamic_shared}
    return {"kernel": kernel, **sizes, "first_block": first}


def metadata_of(sites: Sequence[Site], launches: Sequence[dict[str, object]]) -> dict[bytes, bytes]:
    """What a file tells besides its requests."""
    found = {SITES_KEY: [asdict(site) for site in sites]}
    if launches:
        found[LAUNCHES_KEY] = [*launches]
    return {key: json.dumps(value, separators=(",", ":")).encode() for key, value in found.items()}


def sites_of(metadata: Mapping[bytes, bytes] | None) -> tuple[Site, ...]:
    """The sites in the metadata of a file or a batch. `InputError` for nonsense."""
    if not metadata or SITES_KEY not in metadata:
        return ()
    try:
        found = json.loads(metadata[SITES_KEY])
        return tuple(site_of(one) for one in found)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise InputError(f"the metadata {SITES_KEY.decode()} is no list of sites") from None


def site_of(found: dict[str, Any]) -> Site:
    """A site from plain data. Where it is none, raises ValueError, TypeError and the like."""
    calls = tuple((str(name), str(file), int(line)) for name, file, line in found.get("inlined", ()))
    inside = tuple((str(file), int(line)) for file, line in found.get("inside", ()))
    offset, line, file = found.get("offset"), found.get("line"), found.get("file")
    return Site(
        opcode=str(found.get("opcode", "")),
        offset=None if offset is None else int(offset),
        file=None if file is None else str(file),
        line=None if line is None else int(line),
        text=str(found.get("text", "")),
        function=str(found.get("function", "")),
        inlined=calls,
        inside=inside,
    )
