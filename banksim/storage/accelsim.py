"""Traces of Accel-Sim's tracer, versions 3 to 5: `kernelslist.g`, or one `kernel-N.traceg`, also compressed.

A .traceg has a head of lines `-name = value`, then for each block `#BEGIN_TB`, `thread block = x,y,z`, for each of its
warps `warp = n`, `insts = n` and so many lines, and `#END_TB`. A line is

    [line_num] PC mask dest_num [dests] opcode src_num [srcs] mem_width [mode addresses] [immediate]

with PC, mask and addresses in hexadecimal. mode 0: the address of every active lane. 1: the first and the distance from
lane to lane; the active lanes are neighbours. 2: the first, then for each further active lane the distance from the one
before. The width is that of the opcode. The head's `#traces format` says whether lines end with an immediate.

Addresses are generic ones or offsets; the head tells where the generic window begins. Of LDGSTS (cp.async) the
tracer's post-processing keeps the global addresses only, so these requests are left out, and the notes say so.
"""

import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from os.path import dirname, join

from banksim.errors import InputError
from banksim.requests.kinds import LANES
from banksim.requests.opcodes import GENERIC
from banksim.requests.trace import Site, Trace
from banksim.storage.files import is_remote, lines
from banksim.storage.shared_windows import Window, left_out
from banksim.storage.source import Rows, Source, stream

VERSIONS = (3, 4, 5)
LIST, STRIDE, DELTAS = range(3)
COPIES = ("MemcpyHtoD", "MemcpyDtoH", "MemcpyDtoD", "cudaMalloc", "cudaFree", "Memset")
TRIPLE = re.compile(r"\(?(\d+),(\d+),(\d+)\)?")


@dataclass
class Kernel:
    """The head of a .traceg, and where in it the reader is."""

    name: str = ""
    grid: tuple[int, int, int] = (0, 0, 0)
    version: int = 0
    shared_base: int = 0
    has_lines: bool = False
    immediates: tuple[int, ...] = (0, 1)
    block: int | None = None
    blocks: set[int] = field(default_factory=set)
    warp: int | None = None
    due: int = 0


def source(path: str) -> Source:
    """The requests to shared memory of all kernels of a kernelslist.g, or of one .traceg."""
    return Source(path, lambda notes: stream(chunks(path, notes)))


def chunks(path: str, notes: list[str]) -> Iterator[Trace]:
    file, number = path, 0
    rows = Rows(lambda: f"{file}, line {number}")
    blocks = copies = 0
    for file in kernels(path):
        kernel = Kernel()
        for number, line in enumerate(lines(file), 1):  # noqa: B007 (rows reads it)
            if line.startswith(("-", "#")) or "=" in line or not line.strip():
                head(kernel, line.strip(), rows.where)
                continue
            access = instruction(kernel, line.split(), rows)
            if access is None:
                continue
            if access is COPY:
                copies += 1
                continue
            chunk = rows.add(*access, blocks + (kernel.block or 0), kernel.warp or 0)
            if chunk:
                yield chunk
        finish(kernel, file)
        x, y, z = kernel.grid
        blocks += x * y * z
    notes += left_out(rows.left_out)
    if copies:
        notes.append(f"{copies:,} LDGSTS (cp.async) left out: the tracer keeps only their global addresses")
    yield from rows.rest()


def kernels(path: str) -> Iterator[str]:
    """The .traceg files that `path` is or lists."""
    if ".traceg" in path.rsplit("/", 1)[-1]:
        yield path
        return
    number = found = 0
    for line in lines(path):
        number += 1
        name = line.strip()
        if not name or name.startswith(COPIES):
            continue
        if not name.startswith("kernel") or "/" in name or ".traceg" not in name:
            raise InputError(f"{path}, line {number}: {name[:60]!r} is neither a copy nor a kernel-N.traceg")
        found += 1
        yield f"{path.rpartition('/')[0]}/{name}" if is_remote(path) else join(dirname(path), name)
    if not found:
        raise InputError(f"{path}: it names no kernel-N.traceg")


def head(kernel: Kernel, line: str, where: Callable[[], str]) -> None:
    """Take in a line that is no instruction."""
    name, _, value = (part.strip() for part in line.partition("="))
    if kernel.due and line:
        raise InputError(f"{where()}: warp {kernel.warp} lacks {kernel.due} of the instructions that it claims")
    try:
        if name == "-kernel name":
            kernel.name = value
        elif name == "-grid dim":
            kernel.grid = triple(value)
        elif name == "-accelsim tracer version":
            kernel.version = int(value)
        elif name == "-shmem base_addr":
            kernel.shared_base = int(value, 16)
        elif name == "-enable lineinfo":
            kernel.has_lines = bool(int(value))
        elif line.startswith("#traces format"):
            kernel.immediates = (int(line.endswith("immediate")),)
        elif line == "#BEGIN_TB":
            begin(kernel, where)
        elif line == "#END_TB":
            if kernel.block is None:
                raise InputError(f"{where()}: #END_TB without #BEGIN_TB and a thread block")
            kernel.block = kernel.warp = None
        elif name == "thread block":
            enter(kernel, triple(value), where)
        elif name == "warp":
            kernel.warp = int(value)
        elif name == "insts":
            kernel.due = int(value)
            if kernel.block is None or kernel.warp is None or kernel.due < 0:
                raise InputError(f"{where()}: insts = {value} outside a warp of a thread block")
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{where()}: {name.lstrip('-')} is {value[:40]!r}") from None


def triple(text: str) -> tuple[int, int, int]:
    match = TRIPLE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    x, y, z = map(int, match.groups())
    return x, y, z


def begin(kernel: Kernel, where: Callable[[], str]) -> None:
    if kernel.version not in VERSIONS:
        known = ", ".join(map(str, VERSIONS))
        raise InputError(f"{where()}: tracer version {kernel.version or 'unknown'}: versions {known} are read")
    if not all(kernel.grid):
        raise InputError(f"{where()}: the head tells no grid dim")
    if kernel.block is not None:
        raise InputError(f"{where()}: #BEGIN_TB before the #END_TB of the block before")
    kernel.warp = None


def enter(kernel: Kernel, index: tuple[int, int, int], where: Callable[[], str]) -> None:
    """Enter a block of the grid, each once."""
    if any(i >= n for i, n in zip(index, kernel.grid, strict=True)) or kernel.block is not None:
        raise InputError(f"{where()}: thread block {index} where the grid is {kernel.grid}")
    kernel.block = (index[2] * kernel.grid[1] + index[1]) * kernel.grid[0] + index[0]
    if kernel.block in kernel.blocks:
        raise InputError(f"{where()}: thread block {index} comes twice")
    kernel.blocks.add(kernel.block)


def finish(kernel: Kernel, file: str) -> None:
    if kernel.due or kernel.block is not None:
        raise InputError(f"{file}: cut off within a thread block: its #END_TB is missing")
    if not kernel.version:
        raise InputError(f"{file}: no .traceg: its head tells no accelsim tracer version")


LineRequest = tuple[Site, str, int, int, list[int]]
COPY: LineRequest = (Site("LDGSTS"), "cp_async", 4, 0, [])
"""Stands for an LDGSTS, whose shared addresses are not in the file."""


def instruction(kernel: Kernel, words: list[str], rows: Rows) -> LineRequest | None:
    """What one line asks of shared memory, None if nothing."""
    if not kernel.due:
        raise InputError(f"{rows.where()}: an instruction more than its warp claims, or outside of one")
    kernel.due -= 1
    try:
        line = int(words.pop(0)) if kernel.has_lines else None
        pc, mask = int(words[0], 16), int(words[1], 16)
        results = int(words[2])
        opcode = words[3 + results]
        sources = int(words[4 + results])
        width, *rest = words[5 + results + sources :]
        memory = int(width)
    except (ValueError, IndexError):
        raise InputError(f"{rows.where()}: this is no instruction, or it is cut off") from None
    name = opcode.split(".")[0]
    wanted = rows.asked(opcode, results > 0 and words[3] != "R255")
    if wanted is None:
        return None
    if not memory:
        rows.left_out[name] += 1
        return None
    if name == "LDGSTS":
        return COPY
    if not mask:
        return None
    try:
        addresses = decompressed(rest, mask, kernel.immediates)
    except (ValueError, IndexError):
        raise InputError(f"{rows.where()}: {opcode}: its addresses are not as its mask and mode say") from None
    active = [address for lane, address in enumerate(addresses) if mask >> lane & 1]
    window = Window.of(active, kernel.shared_base)
    if name in GENERIC and (not kernel.shared_base or window is None or window.base != kernel.shared_base):
        rows.left_out[f"{name} of other memory"] += 1
        return None
    if window is None:
        raise InputError(f"{rows.where()}: {opcode}: the addresses are not of one window of shared memory")
    offsets = [window.offset(address) if mask >> lane & 1 else 0 for lane, address in enumerate(addresses)]
    return Site(opcode, pc, None, line, opcode, kernel.name), *wanted, mask, offsets


def decompressed(words: list[str], mask: int, immediates: Container[int] = (0, 1)) -> list[int]:
    """The addresses of 32 lanes, 0 where inactive; how many `immediates` may stand behind them.

    `ValueError` or `IndexError` where something does not fit.
    """
    mode, *values = words
    lanes = [lane for lane in range(LANES) if mask >> lane & 1]
    if int(mode) == LIST:
        used, found = len(lanes), [int(value, 16) for value in values[: len(lanes)]]
    elif int(mode) == STRIDE:
        used, first, stride = 2, int(values[0], 16), int(values[1])
        if lanes[-1] - lanes[0] + 1 != len(lanes):
            raise ValueError(mask)
        found = [first + stride * n for n in range(len(lanes))]
    elif int(mode) == DELTAS:
        used, found = len(lanes), [int(values[0], 16)]
        for value in values[1 : len(lanes)]:
            found.append(found[-1] + int(value))
    else:
        raise ValueError(mode)
    if len(found) != len(lanes) or len(values) - used not in immediates:
        raise ValueError(values)
    addresses = [0] * LANES
    for lane, address in zip(lanes, found, strict=True):
        addresses[lane] = address
    return addresses
