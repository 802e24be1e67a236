"""What NVBit's tool mem_trace prints: a line for each memory instruction of a warp, with 32 addresses.

    MEMTRACE: CTX 0x… - LAUNCH - Kernel pc 0x… - Kernel name reduce(float*) - grid launch id 0 - grid size 8,1,1 - …
    MEMTRACE: CTX 0x… - grid_launch_id 0 - CTA 0,0,0 - warp 3 - LDS.U.128 - 0x00007f8000000400 0x… …

Blocks are numbered on from launch to launch. The format tells neither masks (an inactive lane shows as 0, which is an
address too where addresses are offsets) nor where an instruction stands; the notes say so. Addresses may be those of
the generic window, which is taken to begin at a multiple of 16 MiB. The warp's number is that of its slot in the
multiprocessor. LDGSTS (cp.async) has two lines, one for each of its addresses, in the order of its operands.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from banksim.errors import InputError
from banksim.requests.copies import with_source
from banksim.requests.kinds import FULL_MASK, LANES
from banksim.requests.opcodes import GENERIC
from banksim.requests.trace import Site, Trace
from banksim.storage.files import lines
from banksim.storage.shared_windows import Window, left_out
from banksim.storage.source import Rows, Source, stream

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
    return Source(path, lambda notes: stream(chunks(path, notes)))


def chunks(path: str, notes: list[str]) -> Iterator[Trace]:
    number = doubtful = copied = seen = 0
    rows, copies = Rows(lambda: f"{path}, line {number}"), Copies()
    kernels: dict[int, tuple[str, int, int, int]] = {}
    blocks = 0  # of all launches so far
    unplaced: dict[tuple[int, ...], int] = {}  # blocks of launches whose grid no line tells

    def add(op: str, width: int, line: TraceLine, mask: int, source: TraceLine | None = None) -> Trace | None:
        nonlocal doubtful
        window = line.window
        if window is None:
            raise InputError(f"{rows.where()}: {line.opcode}: the addresses are not of one window of shared memory")
        mask = mask or FULL_MASK  # every active lane is at offset 0: only an atomic's count asks how many
        doubtful += mask != FULL_MASK and window.base == 0 and not op.startswith("cp_async")
        if line.launch in kernels:
            kernel, before, across, down = kernels[line.launch]
            x, y, z = line.block
            block = before + (z * down + y) * across + x
        else:
            kernel, block = "", unplaced.setdefault((line.launch, *line.block), len(unplaced))
        offsets = [window.offset(address) if address else 0 for address in line.addresses]
        if source is not None:
            offsets = with_source(offsets, source.addresses, width, op).tolist()
        site = Site(line.opcode, text=line.opcode, function=kernel)
        return rows.add(site, op, width, mask, offsets, block, line.warp)

    def copy(to: TraceLine, source: TraceLine | None) -> Trace | None:
        nonlocal copied
        copied += 1
        op, width = rows.asked(to.opcode) or ("", 0)
        return add(op, width, to, source.mask, source) if source else add("cp_async_gather", width, to, to.mask)

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
        wanted = rows.asked(opcode)
        if wanted is None:
            continue
        if (name := opcode.partition(".")[0]) in GENERIC:
            rows.left_out[name] += 1
            continue
        access = TraceLine(launch_id, (x, y, z), warp, opcode, addresses_of(text, rows.where()))
        if name == "LDGSTS":
            found = [copy(*pair) for pair in copies.joined(access)]
        else:
            found = [add(*wanted, access, access.mask)]
        yield from filter(None, found)
    if not seen:
        raise InputError(f"{path}: no line of mem_trace (CTX … - grid_launch_id … - CTA … - warp … - …)")
    yield from filter(None, (copy(*pair) for pair in copies.rest()))
    notes += left_out(rows.left_out)
    notes.append("mem_trace tells no offsets of instructions: those of one opcode in a kernel are one site")
    if doubtful:
        notes.append(
            f"{doubtful:,} requests have lanes at 0, which mem_trace writes for inactive lanes too: taken as inactive"
        )
    if copied:
        notes.append(f"{copied:,} LDGSTS (cp.async) are taken to copy all that their lanes name: no predicate is told")
    yield from rows.rest()


@dataclass(frozen=True)
class TraceLine:
    """A line of mem_trace: one address operand of an instruction that a warp executed."""

    launch: int
    block: tuple[int, int, int]
    warp: int
    opcode: str
    addresses: list[int]

    @property
    def mask(self) -> int:
        """The lanes that show an address."""
        return sum(1 << lane for lane, address in enumerate(self.addresses) if address)

    @property
    def window(self) -> Window | None:
        return Window.of([address for address in self.addresses if address])


class Copies:
    """Joins the two lines of each LDGSTS (cp.async): where to in shared memory, then where from; those of other warps
    may stand between them."""

    def __init__(self) -> None:
        self.waiting: dict[tuple[object, ...], TraceLine] = {}

    def joined(self, line: TraceLine) -> Iterator[tuple[TraceLine, TraceLine | None]]:
        """The copies that this line completes: (to, from), of which the second is missing where no line tells it."""
        warp = (line.launch, line.block, line.warp)
        to = self.waiting.pop(warp, None)
        if to is not None and to.opcode == line.opcode and to.window != line.window:
            yield to, line
            return
        if to is not None:
            yield to, None
        self.waiting[warp] = line

    def rest(self) -> Iterator[tuple[TraceLine, TraceLine | None]]:
        yield from ((to, None) for to in self.waiting.values())


def addresses_of(text: str, where: str) -> list[int]:
    words = text.split()
    if len(words) != LANES:
        raise InputError(f"{where}: {len(words)} addresses: a line of mem_trace has {LANES}")
    try:
        return [int(word, 16) for word in words]
    except ValueError:
        raise InputError(f"{where}: an address is no hexadecimal number") from None
