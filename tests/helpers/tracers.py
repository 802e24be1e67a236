"""Traces as NVBit's mem_trace and Accel-Sim write them."""

from pathlib import Path

from banksim.requests.trace import Trace, concatenated
from banksim.storage import open_trace


def read(path: Path, format: str | None = None) -> tuple[Trace, list[str]]:
    found = open_trace(path, format)
    return concatenated(list(found)), found.notes


COLUMN = [128 * lane for lane in range(32)]
WINDOW = 0x7F1D2A000000
"""Where shared memory lies among generic addresses."""

# ---- NVBit
LAUNCH = (
    "MEMTRACE: CTX 0x000055d0c0de0000 - LAUNCH - Kernel pc 0x00007f1d2afa2600 - Kernel name add(float*, int) - "
    "grid launch id {id} - grid size {x},{y},1 - block size 64,1,1 - nregs 16 - shmem 4096 - cuda stream id 0\n"
)


def access(opcode: str, addresses: list[int], block: str = "0,0,0", warp: int = 0, launch: int = 0) -> str:
    listed = " ".join(f"0x{address:016x}" for address in addresses)
    place = f"grid_launch_id {launch} - CTA {block} - warp {warp}"
    return f"MEMTRACE: CTX 0x000055d0c0de0000 - {place} - {opcode} - {listed} \n"


# ---- Accel-Sim
TRACEG = """\
-kernel name = _Z6reducePf
-kernel id = 1
-grid dim = (2,2,1)
-block dim = (64,1,1)
-shmem = 4096
-nregs = 16
-binary version = 70
-cuda stream id = 0
-shmem base_addr = 0x00007f1d2a000000
-local mem base_addr = 0x00007f1d28000000
-nvbit version = 1.7.5
-accelsim tracer version = {version}
-enable lineinfo = {lines}

{format}

"""
FORMAT = (
    "#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width "
    "[adrrescompress?] [mem_addresses]"
)
BLOCK = """
#BEGIN_TB

thread block = {block}

warp = 1
insts = {count}
{body}
#END_TB
"""


def traceg(*body: str, version: int = 5, lines: int = 0, block: str = "1,1,0", count: int | None = None) -> str:
    immediate = " 0" if version == 5 else ""
    text = "".join(f"{line}{immediate} \n" for line in body)
    head = TRACEG.format(version=version, lines=lines, format=FORMAT + (immediate and " immediate"))
    return head + BLOCK.format(block=block, count=len(body) if count is None else count, body=text)


LISTED = " ".join(f"0x{WINDOW + address:016x}" for address in COLUMN)
MODES = {
    "list": f"0050 ffffffff 1 R4 LDS 1 R2 4 0 {LISTED}",
    "stride": f"0050 ffffffff 1 R4 LDS 1 R2 4 1 {WINDOW:#x} 128",
    "delta": f"0050 ffffffff 1 R4 LDS 1 R2 4 2 {WINDOW:#x} {' '.join(['128'] * 31)}",
    "offsets": "0050 ffffffff 1 R4 LDS 1 R2 4 1 0x0 128",
    "generic": f"0050 ffffffff 1 R4 LD.E.SYS 1 R2 4 1 {WINDOW:#x} 128",
}
