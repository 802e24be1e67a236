"""Launches that a program repeats on the same memory, as benchmarks do. What they do is known: it is done without
executing them.

What a launch does depends on its kernel, its shape, its constants with the parameters, and on the program's memory:
which allocations there are, and their bytes. All of that is compared, byte by byte, with what it was before the
same launch was executed. Where nothing differs, what that execution wrote is written again, and what it counted is
counted again. Nothing else runs meanwhile: only launches of programs with a single thread are compared.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from banksim.kernels.kernel import BYTES, Kernel
from banksim.machine.basic_blocks import basic_blocks
from banksim.machine.launch import Launch
from banksim.machine.program_memory import ProgramMemory
from banksim.runs.options import Options
from banksim.runs.outcome import Run
from banksim.runs.run import Rules, execute_launch

LEAST = 0.05
"""Seconds of an execution from which on it is looked at."""
BYTES_PER_SECOND = 5e8
"""So much memory is copied and compared in a part of the time that a launch takes, or it does not pay."""
MOST = 1 << 29
"""Bytes of the program's memory up to which it is copied."""
KEPT = 1 << 30
"""Bytes of all copies that are kept."""
LONGEST_WAIT = 64
"""So many launches that might be repeated are let pass, at most, before memory is copied again."""
CHUNK = 1 << 16
LEFT_OUT = ("SERVICE", "TEX", "TLD", "TXQ", "TXD", "TMML", "SULD", "SUST", "SUATOM", "SURED", "UBLK", "UTMA")
"""Beginnings of opcodes of which it is not plain that they depend on nothing else: printf and malloc, textures, copies
by the device's own engines."""
MOST_WATCHED = 256
CREDENTIALS = struct.Struct("3i")

Bytes = npt.NDArray[np.uint8]
Key = tuple[tuple[object, ...], Rules]


@lru_cache(maxsize=1)
def memcmp() -> Callable[[int, int, int], int]:
    function = ctypes.CDLL(None).memcmp
    function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t), ctypes.c_int
    compare: Callable[[int, int, int], int] = function
    return compare


def same(a: Bytes, b: Bytes) -> bool:
    return a.nbytes == b.nbytes and not memcmp()(a.ctypes.data, b.ctypes.data, a.nbytes)


@lru_cache(maxsize=256)
def depends_on_memory_alone(kernel: Kernel) -> bool:
    """Whether nothing but constants and memory decides what a kernel does: no clock, no service of the driver."""
    return not any(
        i.name.startswith(LEFT_OUT)
        or any(o.kind == "special" and ("CLOCK" in o.text or "TIMER" in o.text) for o in i.operands)
        for block in basic_blocks(kernel).values()
        for i in kernel.instructions[block.start // BYTES : block.end // BYTES]
    )


def counts_alone(options: Options) -> bool:
    """Whether nothing is asked of a launch but what it writes and counts."""
    plain = not options.checks and not options.timing and options.trace is None and options.engine == "llvm"
    return plain and options.max_instructions is None


def has_one_thread(connection: socket.socket) -> bool:
    """Whether the process at the other end has a single thread, which waits for the launch and so writes nothing."""
    try:
        process, _, _ = CREDENTIALS.unpack(
            connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
        )
        return len(os.listdir(f"/proc/{process}/task")) == 1
    except (OSError, AttributeError):
        return False


class Copy:
    """All memory of a program as it is now: where each allocation lies, and its bytes, the small ones first: most often
    it is these that have changed."""

    def __init__(self, memory: ProgramMemory) -> None:
        self.places = memory.places.tobytes()
        numbers = sorted(np.flatnonzero(memory.places[:, 1]).tolist(), key=lambda n: memory[n].data.nbytes)
        self.pieces = {n: memory[n].data.copy() for n in numbers}

    @property
    def nbytes(self) -> int:
        return sum(piece.nbytes for piece in self.pieces.values())

    def is_of(self, memory: ProgramMemory) -> bool:
        """Whether memory is as it was."""
        return self.places == memory.places.tobytes() and all(
            same(piece, memory[n].data) for n, piece in self.pieces.items()
        )

    def changes(self, memory: ProgramMemory) -> list[tuple[int, int, Bytes]]:
        """What has been written since: the number of an allocation, a place in it, and the bytes from there on."""
        return [
            (n, at, now.copy())
            for n, piece in self.pieces.items()
            for at in range(0, piece.nbytes, CHUNK)
            if not same(piece[at : at + CHUNK], now := memory[n].data[at : at + CHUNK])
        ]


@dataclass
class Known:
    """An execution: memory before it, what it wrote, what it counted."""

    before: Copy
    written: list[tuple[int, int, Bytes]]
    run: Run


@dataclass
class Watched:
    """A launch that comes again and again, and the `seconds` that it took at first. `wait`: so many of them are let
    pass before memory is copied; the longer, the more often it was copied in vain."""

    seconds: float
    known: Known | None = None
    wait: int = 0
    patience: int = 0

    def forget(self) -> None:
        self.known, self.wait = None, self.patience
        self.patience = min(max(2 * self.patience, 1), LONGEST_WAIT)


@dataclass
class Repeats:
    """Executes the launches of one process. `shared`: the numbers of the allocations that the program's own code sees.
    `repeated`: how many launches were not executed."""

    memory: ProgramMemory
    connection: socket.socket
    shared: set[int] = field(default_factory=set)
    repeated: int = 0
    slow: set[Kernel] = field(default_factory=set)
    watched: OrderedDict[Key, Watched] = field(default_factory=OrderedDict)

    def execute(self, launch: Launch, rules: Rules, options: Options) -> Run:
        """Execute a launch, or do what is known of it."""
        if launch.kernel not in self.slow:
            run = execute_launch(launch, rules, options)
            if run.seconds < LEAST or not depends_on_memory_alone(launch.kernel):
                return run
            self.slow.add(launch.kernel)
            self.watched[launch.key, rules] = Watched(run.seconds)
            return run
        if not self.may_repeat(launch, options):
            return execute_launch(launch, rules, options)
        key = launch.key, rules
        one = self.watched.get(key)
        if one is None:
            run = execute_launch(launch, rules, options)
            self.watched[key] = Watched(run.seconds)
            if len(self.watched) > MOST_WATCHED:
                self.watched.popitem(last=False)
            return run
        self.watched.move_to_end(key)
        if one.known and one.known.before.is_of(self.memory):
            return self.again(one, one.known)
        if one.known:
            one.forget()
        if one.wait or self.bytes > one.seconds * BYTES_PER_SECOND:
            one.wait = max(one.wait - 1, 0)
            return execute_launch(launch, rules, options)
        return self.learned(one, launch, rules, options)

    def again(self, one: Watched, known: Known) -> Run:
        """What an execution did and counted, once more."""
        for number, at, content in known.written:
            self.memory[number].data[at : at + content.nbytes] = content
        one.patience = 0
        self.repeated += 1
        return known.run

    def learned(self, one: Watched, launch: Launch, rules: Rules, options: Options) -> Run:
        """Execute a launch, and keep what it does."""
        before = self.copy()
        run = execute_launch(launch, rules, options)
        written = before.changes(self.memory)
        strayed = launch.pages is not None and launch.pages.strays
        if run.partial or strayed or not self.shared.isdisjoint(number for number, _, _ in written):
            one.forget()
            return run
        one.known = Known(before, written, run)
        self.make_room()
        return run

    def may_repeat(self, launch: Launch, options: Options) -> bool:
        if not counts_alone(options) or not launch.apart:
            return False
        return self.bytes <= MOST and has_one_thread(self.connection)

    @property
    def bytes(self) -> int:
        """Those of all allocations."""
        return int(self.memory.places[:, 1].sum())

    def copy(self) -> Copy:
        """A copy of memory: one that is kept, if memory is as it was."""
        kept = {id(one.known.before): one.known.before for one in self.watched.values() if one.known}
        return next((copy for copy in kept.values() if copy.is_of(self.memory)), None) or Copy(self.memory)

    def make_room(self) -> None:
        """Forget the launches that have not come for the longest time, as long as too much is kept."""
        for one in self.watched.values():
            if sum(self.sizes().values()) <= KEPT:
                return
            one.known = None

    def sizes(self) -> Mapping[int, int]:
        """The bytes of what is kept; what several launches share counts once."""
        found = [one.known for one in self.watched.values() if one.known]
        written = {id(known): sum(content.nbytes for _, _, content in known.written) for known in found}
        return written | {id(known.before): known.before.nbytes for known in found}
