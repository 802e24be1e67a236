"""A good file in every format of traces that banksim reads, as the programs of the format write it, to be damaged."""

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from banksim.requests.kinds import LANES, OPS
from banksim.requests.trace import Trace
from banksim.storage import schema, write_trace
from helpers.tracers import COLUMN, LAUNCH, MODES, access, traceg

Write = Callable[[Trace], bytes]
HEAD = "op,width,mask," + ",".join(f"a{lane}" for lane in range(LANES))
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
    ".bz2": bz2.compress,
}
"""How text may be packed, by the ending of its file. The last of these is not read."""


def csv(trace: Trace) -> bytes:
    rows = zip(trace.op, trace.width, trace.mask, trace.address, trace.block, trace.warp, trace.site, strict=True)
    lines = [
        f"{OPS[op]},{width},{mask:#x},{','.join(map(str, address))},{block},{warp},s{site}"
        for op, width, mask, address, block, warp, site in rows
    ]
    return "\n".join([f"{HEAD},block,warp,site", *lines, ""]).encode()


def ours(ending: str) -> Write:
    """As banksim writes it, with a launch."""

    def write(trace: Trace) -> bytes:
        with TemporaryDirectory() as folder:
            with write_trace(path := Path(folder, f"t{ending}")) as writer:
                writer.write(trace)
                writer.launches.append(schema.launch("k", (3, 1, 1), (32, 1, 1), 0))
            return path.read_bytes()

    return write


def table(trace: Trace) -> pa.Table:
    found = pa.Table.from_batches([schema.batch_of(trace)])
    return found.replace_schema_metadata(schema.metadata_of(trace.sites, []))


def parquet(compression: str, checksums: bool = False) -> Write:
    """As another program writes it, with checksums of pages or without."""

    def write(trace: Trace) -> bytes:
        file = io.BytesIO()
        kind = {"compression": compression, "use_dictionary": ["op"], "write_page_checksum": checksums}
        pq.write_table(table(trace), file, **kind)
        return file.getvalue()

    return write


def arrow(compression: str | None) -> Write:
    """As another program writes it."""

    def write(trace: Trace) -> bytes:
        file, rows = io.BytesIO(), table(trace)
        with pa.ipc.new_stream(file, rows.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as stream:
            stream.write_table(rows)
        return file.getvalue()

    return write


def npz(save: Callable[..., None]) -> Write:
    def write(trace: Trace) -> bytes:
        file = io.BytesIO()
        columns = {name: getattr(trace, name) for name in ("width", "mask", "address", "site", "block", "warp")}
        save(file, op=np.array(OPS)[trace.op], **columns)
        return file.getvalue()

    return write


FILES: dict[str, Write] = {
    "t.parquet": ours(".parquet"),
    "zstd.parquet": parquet("zstd"),
    "none.parquet": parquet("none"),
    "t.arrow": ours(".arrow"),
    "lz4.arrow": arrow("lz4"),
    "zstd.arrow": arrow("zstd"),
    "none.arrow": arrow(None),
    "stored.npz": npz(np.savez),
    "packed.npz": npz(np.savez_compressed),
    "t.csv": csv,
    "t.txt": lambda trace: (LAUNCH.format(id=0, x=1, y=1) + access("LDS", COLUMN) * 9).encode(),
    "t.traceg": lambda trace: traceg(*MODES.values()).encode(),
}
"""By a name whose ending tells the format. What tracers write holds requests of its own, whatever trace is given."""
