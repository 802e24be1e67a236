"""What a fault says: the kernel, the instruction, the source line, who did it, to which address, near which buffer."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from banksim.architectures import code_layout
from banksim.architectures.code_layout import LOCAL_WINDOW, SHARED_WINDOW
from banksim.banks.source_lines import within
from banksim.errors import BanksimError, Fault, UnsupportedError
from banksim.kernels.embedded_ptx import uses_dynamic_shared
from banksim.kernels.kernel import BYTES, Instruction, Kernel
from banksim.machine import codes
from banksim.machine.addresses import layout_of
from banksim.machine.driver_calls import Refusal, of_ended_block
from banksim.machine.launch import Launch
from banksim.machine.launch_constants import called
from banksim.machine.operations.loads_and_stores import memory_operand, request, width
from banksim.system.paths import from_here

ADVICE = {
    codes.BAD_TARGET: "a branch led to where no instruction begins",
    codes.BAD_COUNT: "a barrier for a number of threads that is no multiple of 32, which is an illegal instruction",
    codes.TRAP: "the kernel called trap (an assertion failed)",
    codes.LIMIT: "the instruction limit is used up: an endless loop, or give a larger --max-instructions (0: no limit)",
}

VERBS = {
    ("LDGSTS", "UBLK", "UTMA"): "asynchronous copy",
    ("LD", "SULD"): "load",
    ("ST", "SUST"): "store",
    ("T",): "fetch",
}
"""What an instruction does whose name begins so; all others that access memory are atomic."""
BELOW = 1 << 32
"""Bytes below a window from which on an address has nothing to do with it."""
OF_WAITS = {codes.AT_WORD: "a barrier in shared memory", codes.AT_CLUSTER: "the barrier of their cluster"}
STACK = 1
"""The register that says where a thread's stack ends."""


@dataclass
class Stop:
    """Why and where a worker stopped early."""

    code: int
    block: int
    error: npt.NDArray[np.void]
    warps: npt.NDArray[np.void]
    message: str
    """What a function of driver_calls.py has refused, in words."""


def raise_unless_interrupted(launch: Launch, stop: Stop | None) -> None:
    """Raise the fault that ended a launch early; an interrupt is none."""
    if stop is not None and stop.code != codes.INTERRUPTED:
        raise fault(launch, stop)


def fault(launch: Launch, stop: Stop) -> BanksimError:
    """The exception that tells why a worker stopped."""
    if stop.code == codes.UNKNOWN_CONSTANT:  # a GPU would not stop
        return UnsupportedError(told(launch, stop))
    found = Fault(told(launch, stop))
    found.output = launch.device.output
    return found


def told(launch: Launch, stop: Stop) -> str:
    kernel = launch.kernel
    block = block_index(launch, stop.block)
    if stop.code == codes.BLOCK_DEADLOCK:
        return f"{kernel.plain_name}: {deadlock(launch, stop)}, block {block}"
    if stop.code == codes.LIMIT:
        return f"{kernel.plain_name}: {ADVICE[stop.code]}{where_it_was(launch, stop)}, block {block}"
    error = stop.error
    i = kernel.instructions[min(int(error["pc"]) // BYTES, len(kernel.instructions) - 1)]
    lane = (int(error["mask"]) & -int(error["mask"])).bit_length() - 1 if error["mask"] else 0
    if stop.code == codes.BAD_TARGET and nowhere(kernel, pc := int(error["pc"])):
        what = astray(pc)
    else:
        what = stop.message or ADVICE.get(stop.code) or wrong(launch, i, int(error["address"][lane]), stop.code)
        what = located(what, i)
    return f"{kernel.plain_name}: {what}, block {block}, warp {int(error['warp'])}, lane {lane}"


def nowhere(kernel: Kernel, pc: int) -> bool:
    """Whether no instruction begins there."""
    return bool(pc % BYTES) or not 0 <= pc < BYTES * len(kernel.instructions)


def astray(pc: int) -> str:
    """Of a group that is there: which branch led it is not kept."""
    return f"a branch, call or return led to {pc:#x}, where no instruction begins"


def where_it_was(launch: Launch, stop: Stop) -> str:
    """Where the group of threads stood that ran last, as far as the engine noted it."""
    warp = int(stop.error["warp"])
    w = stop.warps[warp] if warp < len(stop.warps) else None
    if w is not None and w["running"]:
        mask, pc = int(w["active"]), int(w["pc"])
    elif w is not None and w["groups"]:
        group = int(w["groups"]) - 1
        mask, pc = int(w["group_mask"][group]), int(w["group_pc"][group])
    else:
        return ""
    lane = (mask & -mask).bit_length() - 1
    i = launch.kernel.instructions[min(pc // BYTES, len(launch.kernel.instructions) - 1)]
    return f", at {place(i)}, warp {warp}, lane {lane}"


def located(what: str, i: Instruction) -> str:
    """`what`, and where its instruction stands; a function of the driver has no place in the source."""
    return what if i.name == "SERVICE" else f"{what}, at {place(i)}"


def of_call(launch: Launch, i: Instruction, why: Refusal, words: npt.NDArray[np.uint32]) -> str:
    """What the host has refused. Of a function of the driver, whose last word is where it returns to, with the place of
    the call, unless it names one itself."""
    call = int(words[-1, why.lane]) // BYTES - 1
    if i.name != "SERVICE" or why.code == codes.ASSERTION or not 0 <= call < len(launch.kernel.instructions):
        return str(why)
    return f"{why}, at {place(launch.kernel.instructions[call])}"


def block_index(launch: Launch, number: int) -> str:
    x, y, _ = launch.grid
    return f"({number % x}, {number // x % y}, {number // x // y})"


def place(i: Instruction) -> str:
    source = from_here(f"{i.site.file}:{i.site.line} ") if i.site.file else ""
    return f"{source}(SASS {i.pc:#06x} {i.text or i.opcode}){within(i.site)}"


def wrong(launch: Launch, i: Instruction, address: int, code: int) -> str:
    """What is wrong with an address."""
    verb = next((verb for names, verb in VERBS.items() if i.name.startswith(names)), "atomic operation")
    asked = request(i)
    size = asked[1] if asked else width(i)
    if code == codes.OUT_OF_CONSTANT:
        misaligned = address % size and address < code_layout.CONSTANT_BANK
        return f"{'misaligned read' if misaligned else 'read beyond the end'} of constant memory, at byte {address}"
    if code == codes.OUT_OF_GLOBAL and i.name.startswith("SU") and not address:
        return f"{verb} of {size} bytes out of bounds of its surface"
    if code == codes.OUT_OF_GLOBAL:
        return outside_global(launch, verb, size, address)
    if code == codes.UNKNOWN_CONSTANT:
        return f"{called(launch.kernel.arch, address)} is not known"
    if code == codes.OUT_OF_SHARED:
        return outside_shared(launch, verb, size, address)
    if code == codes.ENDED_BLOCK:
        return f"{verb} of {size} bytes in {of_ended_block(address >> codes.RANK_BIT)}"
    byte, bytes_there = signed(address), launch.local_bytes
    if byte < 0 and any(o.kind == "R" and o.number == STACK for o in memory_operand(i).parts):
        return f"stack overflow: calls nest too deep for the {bytes_there:,} bytes of a thread's stack"
    if byte < 0 and not launch.kernel.local_bytes:  # a stack whose depth no compiler knew
        end = f"{-byte} bytes below the {bytes_there:,} bytes of a thread's stack"
        return f"{verb} of {size} bytes {end}: calls nest too deep, or an index is negative"
    if byte % size:
        return f"misaligned {verb} of {size} bytes in local memory, at byte {byte}"
    return f"{verb} of {size} bytes out of bounds in local memory, at byte {byte} of {bytes_there}"


def signed(address: int) -> int:
    """A 32-bit address that wrapped below 0, as the negative number that it was."""
    return address - (1 << 32) if address >> 31 else address


def outside_shared(launch: Launch, verb: str, size: int, address: int) -> str:
    """Of an address in shared memory. What lies below a kernel's own is reserved for CUDA's own code."""
    start, whose = launch.kernel.shared_base, ""
    if launch.cluster_blocks > 1 and address >> 31 == 0:
        rank, address = divmod(address, 1 << codes.RANK_BIT)
        whose = f" of the block of rank {rank} in the cluster"
        if rank >= launch.cluster_blocks:
            return f"{verb} of {size} bytes in shared memory{whose}, which has {launch.cluster_blocks}"
    byte, bytes_there = signed(address) - start, launch.shared_bytes - start
    below = f", {-byte} bytes below the kernel's own"
    if address % size and 0 <= signed(address) < launch.shared_reach:
        return f"misaligned {verb} of {size} bytes in shared memory{whose}{below if byte < 0 else f', at byte {byte}'}"
    if byte < 0:
        return f"{verb} of {size} bytes out of bounds in shared memory{whose}{below}"
    wants = not launch.dynamic_shared and (
        not bytes_there or uses_dynamic_shared(launch.kernel.cubin, launch.kernel.name)
    )
    hint = " (no dynamic shared memory was given: --dynamic-shared)" if wants else ""
    return f"{verb} of {size} bytes out of bounds in shared memory, at byte {byte} of {bytes_there}{whose}{hint}"


def outside_global(launch: Launch, verb: str, size: int, address: int) -> str:
    for space, window in ("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW):
        if address >> 32 == window >> 32:
            return f"global {verb} of {size} bytes at an address of {space} memory ({address - window:+#x})"
        if 0 < window - address <= BELOW:
            return f"global {verb} of {size} bytes {window - address} bytes below the addresses of {space} memory"
    places = layout_of(launch.kernel)
    number = places.nearest(address, len(launch.buffers))
    if number is None:
        return f"global {verb} of {size} bytes at {address:#x}, which lies in no buffer"
    buffer, byte = launch.buffers[number], address - places.address_of(number)
    view = buffer.nearest(byte)
    at = f"at byte {byte - view.start} of {view.name}"
    if byte % size and 0 <= byte < buffer.data.nbytes:
        return f"misaligned global {verb} of {size} bytes, {at}"
    part = f", in an array of {buffer.data.nbytes}" if view.nbytes < buffer.data.nbytes else ""
    return f"global {verb} of {size} bytes out of bounds, {at} ({view.nbytes} bytes{part})"


def deadlock(launch: Launch, stop: Stop) -> str:
    """What each warp waits for when none can go on."""
    waiting: Counter[tuple[str, int]] = Counter()
    for w in stop.warps:
        for g in range(int(w["groups"])):
            wait = int(w["group_wait"][g])
            what = f"barrier {wait - codes.AT_BARRIER}" if wait >= codes.AT_BARRIER else "other threads of their warp"
            what = OF_WAITS.get(wait, what)
            waits_at = int(w["group_pc"][g]) - BYTES * (wait != codes.AT_WORD)
            waiting[what, waits_at] += int(w["group_mask"][g]).bit_count()
    return unreachable(launch, waiting)


def unreachable(launch: Launch, waiting: Counter[tuple[str, int]]) -> str:
    """How many threads wait for what, at which pc; those in which most do come first."""
    code = launch.kernel.instructions
    parts = [
        f"{threads} threads wait for {what} at {place(code[max(pc, 0) // BYTES])}"
        for (what, pc), threads in waiting.most_common()
    ]
    return "a barrier that not all can reach: " + "; ".join(parts[:3])
