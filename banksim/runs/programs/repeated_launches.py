"""Launches that a program repeats on the same memory, as benchmarks do: their effect is known without executing them.

What a launch does depends on its kernel, its shape, its constants with the parameters, and on the program's memory:
which allocations there are, and their bytes. If any of that is not as it was when the launch was executed before, it is
executed again. Otherwise what that execution wrote is then what memory holds, though it is written only when somebody
looks, and what it counted is counted again. So a loop of launches that has come back to a state of memory goes on with
no work. A launch that read nothing of what it wrote has come back at once: it would write the same to the same places.
Nothing else runs meanwhile: only launches of programs with a single thread are followed.
"""

import os
import socket
import struct
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from banksim.kernels.kernel import BYTES, Instruction, Kernel
from banksim.machine.basic_blocks import basic_blocks
from banksim.machine.launch import Launch
from banksim.machine.program_memory import ProgramMemory
from banksim.runs.options import Options
from banksim.runs.outcome import Run
from banksim.runs.programs import libraries
from banksim.runs.programs.libraries import Called
from banksim.runs.programs.memory_contents import Contents
from banksim.runs.run import Rules, execute_launch

LEAST = 0.05
"""Seconds that the launches of one kernel take, all together, before a program's launches are followed."""
SHARE = 0.25
"""The part of the time of launches in which memory may be looked at,"""
BYTES_PER_SECOND = 2e9
"""and how much of it."""
AT_LEAST = 1 << 20
"""Following a launch takes as long as looking at so many bytes, where it is not known."""
MOST_BUFFERS = 1000
"""Allocations of a program up to which its launches are followed: what each holds is looked up at every launch."""
KEPT = 1 << 30
"""Bytes of all copies that are kept,"""
MOST_KNOWN = 1 << 14
"""and launches."""
LONGEST_WAIT = 1 << 12
"""At most so many launches are let pass before they are followed again, where following them was in vain."""
UNTOLD = ("SERVICE", "SULD", "SUST", "SUATOM", "SURED", "UBLK", "UTMA")
"""Beginnings of opcodes that may write to memory and do not tell where: printf and malloc, surfaces, copies by the
device's own engines."""
TEXTURES = ("TEX", "TLD", "TXQ", "TXD", "TMML")
"""Opcodes that may depend on more than constants and memory."""
CREDENTIALS = struct.Struct("3i")

Key = tuple[tuple[object, ...], Rules]


def instructions(kernel: Kernel) -> Iterator[Instruction]:
    """Those that threads can reach."""
    for block in basic_blocks(kernel).values():
        yield from kernel.instructions[block.start // BYTES : block.end // BYTES]


@lru_cache(maxsize=256)
def tells_what_it_writes(kernel: Kernel) -> bool:
    """Whether `Launch.touched` is all that a kernel writes to."""
    return not any(i.name.startswith(UNTOLD) for i in instructions(kernel))


@lru_cache(maxsize=256)
def depends_on_memory_alone(kernel: Kernel) -> bool:
    """Whether nothing but constants and memory decides what a kernel does: no clock, no service of the driver."""
    return tells_what_it_writes(kernel) and not any(
        i.name.startswith(TEXTURES)
        or any(o.kind == "special" and ("CLOCK" in o.text or "TIMER" in o.text) for o in i.operands)
        for i in instructions(kernel)
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
        return os.stat(f"/proc/{process}/task").st_nlink == 3  # its own two, and one of each thread
    except (OSError, AttributeError):
        return False


Done = TypeVar("Done", Run, Called)


class Used(NamedTuple):
    """The allocations that a launch or a call of a library wrote to, and read."""

    written: set[int]
    read: set[int]


Execute = Callable[[], tuple[Done, Used | None]]
"""Executes a launch or a call of a library; and what it used, None if that is more than allocations."""


@dataclass(frozen=True)
class Known(Generic[Done]):
    """An execution: the numbers of the contents of each allocation it wrote to, once it was over; what it counted."""

    written: Mapping[int, int]
    done: Done


@dataclass
class RepeatedLaunches:
    """Executes the launches of one process. `shared`: the numbers of the allocations that the program's own code sees;
    `variables`: of those that hold modules' variables, some of which it may see.
    `seconds`: what the launches of each kernel took; `credit`: the seconds in which memory may still be looked at.
    `wait`: so many launches are let pass before any is followed; the longer, the more often that was in vain."""

    memory: ProgramMemory
    connection: socket.socket
    shared: set[int] = field(default_factory=set)
    variables: set[int] = field(default_factory=set)
    seconds: defaultdict[Kernel, float] = field(default_factory=lambda: defaultdict(float))
    known: dict[tuple[Hashable, Hashable], Known[Any]] = field(default_factory=dict)
    follows: bool = False
    credit: float = 0.05
    wait: int = 0
    patience: int = 64
    hits: int = 0
    last: Launch | None = None
    same: Run | Called | None = None
    """What was known of the `last` launch, if that left memory as it was: repeated at once, it does the same."""
    waits: bool = True
    """Whether the program waits for the launch that is executed, and writes nothing to what it sees."""

    def __post_init__(self) -> None:
        self.contents = Contents(self.memory)

    def execute(self, launch: Launch, rules: Rules, options: Options) -> Run:
        """Execute a launch, or do what is known of it."""
        self.last, self.same = launch, None
        told = tells_what_it_writes(launch.kernel) and counts_alone(options) and has_one_thread(self.connection)
        followed = told and self.follows and not self.wait and len(self.memory) <= MOST_BUFFERS
        followed = followed and launch.apart and depends_on_memory_alone(launch.kernel)
        if not followed or not self.pays(AT_LEAST):
            self.wait = max(self.wait - 1, 0)
            self.contents.everything |= not told
            self.contents.settle()
            return self.executed(launch, rules, options)[0]
        return self.repeated((launch.key, rules), lambda: self.executed(launch, rules, options))

    def call(self, content: bytes) -> Called:
        """Compute a library's function, or do what is known of it."""
        followed = libraries.depends_on_memory_alone(content) and len(self.memory) <= MOST_BUFFERS
        if not followed or not has_one_thread(self.connection) or not self.pays(AT_LEAST):
            self.contents.settle()
            return self.called(content)[0]
        return self.repeated(content, lambda: self.called(content))

    def repeated(self, key: Hashable, execute: Execute[Done]) -> Done:
        """Execute what does the same on the same memory, or do what is known of it."""
        self.contents.changed |= self.shared | self.variables
        self.contents.look(self.pays)
        state = key, self.contents.key()
        known: Known[Done] | None = self.known.get(state)
        if known is None:
            return self.learned(state, execute)
        now = self.contents.now
        self.same = known.done if all(now.get(slot) == number for slot, number in known.written.items()) else None
        self.contents.becomes(known.written)
        self.contents.settle(self.variables)
        self.credit += SHARE * known.done.seconds + AT_LEAST / BYTES_PER_SECOND
        self.hits += 1
        return known.done

    def called(self, content: bytes) -> tuple[Called, Used]:
        """Compute a library's function; and the allocations that it may have used."""
        contents, everything = self.contents, self.contents.everything
        contents.everything = True
        done = libraries.called(content, self.memory)
        contents.everything = everything
        contents.changed |= done.used
        self.credit += SHARE * done.seconds
        return done, Used(done.used, done.used)

    def done_again(self, launch: Launch) -> Run | None:
        """What a launch did, if it is the last one and does the same again where nothing was asked for in between."""
        if launch is not self.last or not isinstance(self.same, Run) or self.shared:
            return None
        return self.same if has_one_thread(self.connection) else None

    def executed(self, launch: Launch, rules: Rules, options: Options) -> tuple[Run, Used | None]:
        """Execute a launch; and the allocations that it used, None if it went beyond them as well."""
        contents, everything = self.contents, self.contents.everything
        contents.everything = True
        launch.touched, launch.read = (np.zeros(len(self.memory), np.uint8) for _ in range(2))
        run = execute_launch(launch, rules, options)
        self.seconds[launch.kernel] += run.seconds
        self.follows = self.follows or self.seconds[launch.kernel] >= LEAST
        self.credit += SHARE * run.seconds
        if run.partial or (launch.pages is not None and launch.pages.strays):
            return run, None
        contents.everything = everything
        used = Used(*(set(np.flatnonzero(noted).tolist()) for noted in (launch.touched, launch.read)))
        contents.changed |= used.written
        return run, used

    def learned(self, state: tuple[Hashable, Hashable], execute: Execute[Done]) -> Done:
        """Execute a launch, and keep what it does."""
        self.contents.settle()
        run, used = execute()
        if used is None or (self.shared and not self.waits) or not self.shared.isdisjoint(used.written):
            return run
        written = used.written
        if self.contents.kept > KEPT or len(self.known) > MOST_KNOWN:
            self.forget()
        elif self.pays(sum(self.memory[slot].data.nbytes for slot in written)):
            for slot in written:
                self.contents.hold(slot, self.contents.number_of(slot))
            self.contents.changed -= written
            self.known[state] = known = Known({slot: self.contents.now[slot] for slot in written}, run)
            if written.isdisjoint(used.read):
                self.known[state[0], self.contents.key()] = known
        return run

    def pays(self, size: int) -> bool:
        """Whether so many bytes may be looked at now, which costs time; and kept, as what was looked at is."""
        if size > min(KEPT, self.credit * BYTES_PER_SECOND):
            return False
        self.credit -= size / BYTES_PER_SECOND
        return True

    def forget(self) -> None:
        """Begin anew; after a while, if nothing that was known came again."""
        self.known.clear()
        self.contents.forget()
        self.patience = 64 if self.hits else min(2 * self.patience, LONGEST_WAIT)
        self.wait, self.hits = 0 if self.hits else self.patience, 0
