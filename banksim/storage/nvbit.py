"""What NVBit's tool mem_trace prints: a line for each memory instruction of a warp, with 32 addresses.

    MEMTRACE: CTX 0x… - LAUNCH - Kernel pc 0x… - Kernel name reduce(float*) - grid launch id 0 - grid size 8,1,1 - …
    MEMTRACE: CTX 0x… - grid_launch_id 0 - CTA 0,0,0 - warp 3 - LDS.U.128 - 0x00007f8000000400 0x… …

Blocks are numbered on from launch to launch. What the format does not tell is said in
the notes: neither masks (an inactive lane shows as 0, which is an address too where addresses are offsets) nor
where an instruction stands; addresses may be those of the generic window, which is taken to begin at a
multiple of 16 MiB. The warp's number is that of its slot in the multiprocessor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from banksim.errors import InputError
from banksim.requests.kinds import FULL_MASK, LANES
from banksim.storage.files import lines
from banksim.storage.opcodes import BULK, GENERIC, request_of
from banksim.storage.source import Rows, Source, stream
from banksim.storage.windows import Window, left_out
from banksim.trace import Site, Trace

ACCESS = re.compile(
    r"(?:MEMTRACE: )?CTX (?:0x)?[0-9a-fA-F]+ - (?:grid_launch_id (\d+) - )?"
    r"CTA (\d+),(\d+),(\d+) - warp (\d+) - (\S+) - (.*)"
)
LAUNCH = re.compile(
    r"MEMTRACE: CTX .*? - LAUNCH - .*?Kernel name (.*) - grid launch id (\d+) - grid size (\d+),(\d+),(\d+)"
)
GPGPU_SIM = re.compile(r"\s*(\*\*\* GPGPU-Sim|GPGPU-Sim (PTX|uArch|Cycle|API)\b|\[thd=\d+\] : \()")
OF_LINE = re.compile(r"(?:MEMTRACE: )?CTX (?:0x)?[0-9a-fA-F]+ - (?:grid_launch_id|CTA)")


def source(path: str) -> Source:
    """The requests to shared memory in the output of mem_trace, which may be compressed (`-`: standard input)."""
    found = Source(path, ())
    found.pieces = stream(chunks(path, found.notes))
    return found


def chunks(path: str, notes: list[str]) -> Iterator[Trace]:
    number = doubtful = seen = 0
    rows = Rows(lambda: f"{path}, line {number}")
    kernels: dict[int, tuple[str, int, int, int]] = {}
    blocks = 0  # of the launches so far
    unplaced: dict[tuple[int, ...], int] = {}  # blocks of launches of which no line tells the grid
    for line in lines(path):
        number += 1
        if GPGPU_SIM.match(line):
            raise InputError(
                f"{path}, line {number}: this is GPGPU-Sim's, which writes no addresses of shared memory: "
                "record a .traceg with Accel-Sim's tracer"
            )
        if launch := LAUNCH.match(line):
            name, *numbers = launch.groups()
            launch_id, x, y, z = map(int, numbers)
            kernels[launch_id] = name, blocks, x, y
            blocks += x * y * z
            continue
        match = ACCESS.match(line)
        if match is None:
            if OF_LINE.match(line):
                raise InputError(f"{path}, line {number}: the line is cut off or no line of mem_trace")
            continue
        seen += 1
        *place, opcode, text = match.groups()
        launch_id, x, y, z, warp = (int(number or 0) for number in place)
        wanted = request_of(opcode, rows.where())
        if wanted is None or opcode.split(".")[0] in (*GENERIC, *BULK):
            rows.left_out[opcode.split(".")[0]] += 1
            continue
        addresses = addresses_of(text, rows.where())
        window = Window.of([address for address in addresses if address])
        if window is None:
            raise InputError(f"{rows.where()}: {opcode}: the addresses are not of one window of shared memory")
        mask = sum(1 << lane for lane, address in enumerate(addresses) if address)
        if mask == 0:  # all lanes that are active are at offset 0: their number changes no count but an atomic's
            mask = FULL_MASK
        doubtful += mask != FULL_MASK and window.base == 0
        if launch_id in kernels:
            kernel, before, width, height = kernels[launch_id]
            block = before + (z * height + y) * width + x
        else:
            kernel, block = "", unplaced.setdefault((launch_id, x, y, z), len(unplaced))
        offsets = [window.offset(address) if address else 0 for address in addresses]
        chunk = rows.add(Site(opcode, text=opcode, function=kernel), *wanted, mask, offsets, block, warp)
        if chunk:
            yield chunk
    if not seen:
        raise InputError(f"{path}: no line of mem_trace (CTX … - grid_launch_id … - CTA … - warp … - …)")
    notes += left_out(rows.left_out)
    notes.append("mem_trace tells no offsets of instructions: those of one opcode in a kernel are one site")
    if doubtful:
        notes.append(
            f"{doubtful:,} requests have lanes at 0, which mem_trace writes for inactive lanes too: taken as inactive"
        )
    yield from rows.rest()


def addresses_of(text: str, where: str) -> list[int]:
    words = text.split()
    if len(words) != LANES:
        raise InputError(f"{where}: {len(words)} addresses: a line of mem_trace has {LANES}")
    try:
        return [int(word, 16) for word in words]
    except ValueError:
        raise InputError(f"{where}: an address is no hexadecimal number") from None
