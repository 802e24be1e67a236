"""Where a run met what nobody has established: which of the threads of a warp that have diverged the hardware then runs
together, and in which order; what lies in shared memory that is not the kernel's own; and clocks that nothing drives.

Code that compilers make hardly ever comes there, but by recursion and by threads that yield to each other. Of random
programs of one warp recorded on an H100, nearly all that run otherwise there have such a place
(tests/machine/test_convergence_barriers.py).
"""

from collections.abc import Iterable, Iterator

from banksim.kernels.kernel import BYTES, Instruction, Kernel
from banksim.machine.faults import place
from banksim.machine.launch import Launch
from banksim.requests.opcodes import REACHING
from banksim.wording import plural

STUCK, FOREIGN, ELSEWHERE, APART, YIELDED, GAVE_WAY, JOINED, OUTSIDE = 1, 2, 4, 8, 16, 32, 64, 128
"""Bits, of the instructions where something happened."""
WHY = {
    STUCK: "no thread of a warp could go on, so that some went past this barrier before all had come",
    FOREIGN: "threads of a warp met a convergence barrier that gathers others, and not them",
    ELSEWHERE: "a convergence barrier let threads go on while others that it gathers wait elsewhere",
    APART: "threads came to one convergence barrier at different instructions",
    YIELDED: "threads of a warp that had yielded ran on together",
    GAVE_WAY: "threads of a warp yielded to others that had parted from them",
    JOINED: "threads of a warp that had parted met at an instruction that is no barrier, and ran on together",
}
ATOMICS = frozenset({"ATOMS", "REDS"}) | REACHING - {"LD", "ST", "STAS"}
"""Opcodes of atomics that can be on shared memory."""
CLOCKS = frozenset({"SR_CLOCKLO", "SR_CLOCKHI", "SR_GLOBALTIMERLO", "SR_GLOBALTIMERHI"})
"""Special registers that tell the time."""
Doubts = dict[int, int]
"""Bits by the pc of an instruction."""


def notes(kernel: Kernel, doubts: Doubts) -> tuple[str, ...]:
    """What a report says of them: the first in the code, and how many more there are."""
    found = {pc: bits for pc, some in doubts.items() if (bits := told(kernel, pc, some))}
    if found:
        return (of_all_behind(kernel, found),)
    met = [kernel.instructions[pc // BYTES] for pc in sorted(pc for pc, bits in doubts.items() if bits & JOINED)]
    return (of_itself(met),) if met else ()


def together(met: Iterable[tuple[Kernel, Doubts]]) -> dict[str, tuple[Kernel, Doubts]]:
    """What several launches of one source met, by the architecture of the code."""
    found: dict[str, tuple[Kernel, Doubts]] = {}
    for kernel, doubts in met:
        add(found.setdefault(kernel.arch, (kernel, {}))[1], doubts.items())
    return found


def all_notes(met: dict[str, tuple[Kernel, Doubts]]) -> Iterator[str]:
    """The notes of several launches, by architectures if there are several."""
    for arch, (kernel, doubts) in met.items():
        yield from (f"{arch}: {note}" if len(met) > 1 else note for note in notes(kernel, doubts))


def of_all_behind(kernel: Kernel, doubts: Doubts) -> str:
    """Where other threads may run together from some instruction on."""
    pc = min(doubts)
    why = next(text for bit, text in WHY.items() if doubts[pc] & bit)
    more = and_at(len(doubts) - 1)
    where = place(kernel.instructions[pc // BYTES])
    return (
        f"Which threads of a warp run together is not established from {where} on{more}: {why}. "
        "How often warps execute instructions, and their requests, may be other than on a GPU."
    )


def of_itself(met: list[Instruction]) -> str:
    """Where nothing but an instruction's own executions may be others."""
    return (
        f"How often warps execute {place(met[0])}{and_at(len(met) - 1)} may be other than on a GPU, by a few times: "
        "threads that had parted came there together. Nothing else depends on it."
    )


def unsimulated_clock(kernel: Kernel) -> Iterator[str]:
    """Where a kernel whose time is not simulated reads a clock."""
    if met := [i for i in kernel.instructions if any(o.text in CLOCKS for o in i.operands)]:
        yield f"Reads a clock at {place(met[0])}{and_at(len(met) - 1)}: only --timing simulates what it tells."


def out_of_bounds(launch: Launch) -> Iterator[str]:
    """The places that accessed shared memory outside of the kernel's own, where a GPU lets that pass: of a line of the
    source, of which a compiler makes any number of instructions, the first of each name."""
    found: dict[tuple[object, ...], list[Instruction]] = {}
    for pc in sorted(pc for pc, bits in launch.doubts.items() if bits & OUTSIDE):
        i = launch.kernel.instructions[pc // BYTES]
        found.setdefault((i.name, i.site.file, i.site.line, i.site.inlined, i.site.inside), []).append(i)
    for first, *others in found.values():
        own = f"the {plural(launch.shared_bytes - launch.kernel.shared_base, 'byte')} of shared memory that a block has"
        why = "A GPU does not notice it, since it gives a block a little more; what is read there is not known."
        yield f"Outside of {own}: {place(first)}{and_at(len(others))}. {why}"


def and_at(others: int) -> str:
    return f" (and at {plural(others, 'more instruction')})" if others else ""


def told(kernel: Kernel, pc: int, bits: int) -> int:
    """For which reasons other threads may run together behind an instruction. Threads that meet at a BSYNC go on as one
    group in any case; only how often they execute it may be other, as in one of 31 recorded launches in which they met
    there. Behind an EXIT of all of them nobody goes on. Which threads go first behind a YIELD shows in what they do to
    the same shared memory: without atomics, recorded launches are equal. (Atomics on generic addresses count too: these
    may be shared memory.)"""
    bits &= ~OUTSIDE
    i = kernel.instructions[pc // BYTES]
    if i.name == "BSYNC" or (i.name == "EXIT" and i.predicate is None and not i.operands):
        bits &= ~JOINED
    return bits if ATOMICS & kernel.opcodes else bits & ~GAVE_WAY


def add(doubts: Doubts, found: Iterable[tuple[int, int]]) -> None:
    for pc, bits in found:
        doubts[pc] = doubts.get(pc, 0) | bits
