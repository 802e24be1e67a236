"""One process of a program, as banksim sees it: its memory, its modules, and what its stand-in for the driver asks for.

A message is a kind (one letter), a size, and so many bytes; connection.c writes them. These are answered, by a CUresult
and bytes:

A attributes of the device          M load a module       V place its variables     K what a kernel is
I bytes of the device's memory      L launch              O blocks on an SM         X a library's function
C what the launches so far take     Y memory is to be read    Z whether memory that is freed must stay
J a cubin, linked of parts          U parts of an image         E the first error of launches, and what they printed

and these are not:

B an allocation                     H size of malloc's heap      P size of a stack      R reset of the device
T time was asked for                F a function that is not provided               W a line for the user
G a launch; its end is asked for later                               l how many launches by kernels may wait
N names of a kernel's arguments     S why NVIDIA's own runtime cannot go on     D memory that the program changes
Q a graph begins or ends            c what a copy or a fill leaves in the L2 cache, or not
"""

import json
import math
import os
import select
import socket
import struct
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from banksim.errors import BanksimError, Fault, InputError, UnsupportedError
from banksim.kernels.global_addresses import PROGRAM
from banksim.machine.driver_calls import HEAP_BYTES, MOST_WAITING, Device
from banksim.machine.launch import DEFAULT_STACK, Buffer, Launch, prepare
from banksim.machine.program_memory import ProgramMemory
from banksim.runs.options import Options
from banksim.runs.programs import device, links, statuses
from banksim.runs.programs.argument_names import Named, called
from banksim.runs.programs.chosen_launches import Choice
from banksim.runs.programs.deferred_launches import DeferredLaunches
from banksim.runs.programs.device_memory_file import Mapped, whole_file
from banksim.runs.programs.kernel_launches import Shape
from banksim.runs.programs.launches import RequestsWriter
from banksim.runs.programs.modules import LoadedModule
from banksim.runs.programs.repeated_launches import RepeatedLaunches
from banksim.runs.programs.shared_by_processes import Shared
from banksim.runs.programs.standins import FIRST_SLOT, HEAP_SLOT

HEAD = struct.Struct("<QQ")
CLOCK = struct.Struct("<QQd")
LAUNCH = struct.Struct("<Q3I3I3I4I4x")
TAIL_LAUNCH = 3
"""The stream cudaStreamTailLaunch: its launches by a kernel come after all others."""
KINDS = ("allocation", "pinned allocation", "managed allocation", "variables of module")
SEEN_BY_THE_HOST = KINDS[1:3]
CMAKES_TRIAL = b"/CMakeDetermineCompilerABI_CUDA.bin "
MOST_PREPARED = 256
"""Launches of a process that are kept prepared, by their messages without the parameters."""
LAUNCHED, POSTED, END = map(ord, "LGE")
PATIENCE = 1.0
"""Seconds that a program waits for a launch that uses memory which both see: the kernel may wait for the program."""
WATCHED = getattr(select, "POLLRDHUP", 0) | getattr(select, "POLLHUP", 0)


class Process:
    """`buffers[n]` is the memory of slot n of `addresses.PROGRAM`; empty where nothing lies, or nothing any more."""

    def __init__(self, connection: socket.socket, program: Shared) -> None:
        self.connection, self.program = connection, program
        _, files, _, _ = socket.recv_fds(connection, 1, 1)
        if len(files) != 1:
            raise EOFError
        self.memory = whole_file(files[0])
        self.mapped = Mapped(self.memory)
        self.buffers = ProgramMemory(FIRST_SLOT)
        self.repeats = RepeatedLaunches(self.buffers, connection)
        self.deferred = DeferredLaunches(self.buffers, self.repeats)
        self.modules: list[LoadedModule] = []
        self.named: dict[str, Named] = {}
        self.prepared: dict[bytes, tuple[LoadedModule, Launch, Shape]] = {}
        self.kept: dict[Any, Any] = {}
        self.tick: Callable[[int, int], None] | None = None
        self.stopped = ""
        self.received = bytearray()
        """The bytes of messages that are not handled yet."""
        self.last = b""
        """The last message, if it posted a launch and all launches are counted alike."""
        self.last_launch: tuple[Launch, Shape, Options, RequestsWriter | None, tuple[str, ...]] | None = None
        self.posted, self.patience = False, math.inf
        """Whether the program does not wait for the launch that is executed; and the time until which it does."""
        self.ended_with: tuple[int, bytes] = statuses.SUCCESS, b""
        """The first error of launches that the program has not been told yet, behind which none is executed, and what
        they printed."""
        self.most_waiting = MOST_WAITING
        self.heap(HEAP_BYTES.to_bytes(8, "little"))
        self.stack = DEFAULT_STACK
        connection.sendall(HEAD.pack(statuses.SUCCESS, 0))

    # ---- messages
    def receive(self, size: int) -> bytes:
        while len(self.received) < size:
            part = self.connection.recv(max(size - len(self.received), 1 << 16))
            if not part:
                raise EOFError
            self.received += part
        content = bytes(self.received[:size])
        del self.received[:size]
        return content

    def serve(self) -> None:
        """Answer messages until the process ends."""
        self.options, kind = replace(self.program.options, progress=self.step), 0
        asked: dict[str, Callable[[bytes], bytes]] = {
            "A": self.attributes, "I": self.total, "M": self.load, "V": self.place, "K": self.function,
            "O": self.blocks, "X": self.library, "C": self.clock, "Y": self.settle, "Z": self.free, "J": self.link,
            "U": self.add,
        }  # fmt: skip
        told: dict[str, Callable[[bytes], None]] = {
            "B": self.allocation, "H": self.heap, "R": self.reset, "T": self.time, "F": self.missing, "W": self.words,
            "G": self.launch, "N": self.names, "S": self.without_tables, "D": self.change, "P": self.stack_size,
            "Q": self.graph, "l": self.waiting, "c": self.copied,
        }  # fmt: skip
        try:
            while True:
                self.last = self.last if kind == POSTED else b""
                kind, size = HEAD.unpack(self.receive(HEAD.size))
                content = self.receive(size)
                self.posted, self.repeats.waits, self.patience = kind == POSTED, True, math.inf
                if chr(kind) in told:
                    told[chr(kind)](content)
                    continue
                if kind == LAUNCHED:
                    self.patience = time.monotonic() + PATIENCE
                    self.launch(content)
                    if self.posted:  # it was answered
                        continue
                ends = kind in (LAUNCHED, END)
                status, answer = self.end() if ends else self.answered(asked[chr(kind)], content)
                self.connection.sendall(HEAD.pack(status, len(answer)) + answer)
        except (EOFError, ConnectionError):
            if self.stopped and not self.modules and len(self.buffers) == FIRST_SLOT:
                self.program.failed(InputError(self.stopped))
        finally:
            del self.options, self.last_launch  # they refer to this object, as `kept` does:
            self.kept.clear()  # otherwise the process' memory would stay, as it does in launches yet to be added:
            self.program.launches.settle()

    def answered(self, answer: Callable[[bytes], bytes], content: bytes) -> tuple[int, bytes]:
        """Answer one message. An error is printed here, like the report, and its CUresult is returned."""
        try:
            return statuses.SUCCESS, answer(content)
        except KeyError:
            return statuses.NOT_FOUND, b""
        except Fault as error:
            self.program.failed(error)
            return statuses.status_of(error), error.output.encode()
        except BanksimError as error:
            self.program.failed(error)
            if isinstance(error, links.NotLinked):
                return error.status, b""
            if isinstance(error, UnsupportedError):
                return statuses.NOT_SUPPORTED, b""
            return (statuses.NO_BINARY if answer == self.load else statuses.LAUNCH_FAILED), b""
        except KeyboardInterrupt:
            return statuses.UNKNOWN, b""
        except Exception as error:
            if "BANKSIM_TRACEBACK" in os.environ:
                traceback.print_exc()
            self.program.failed(error)
            return statuses.UNKNOWN, b""

    # ---- the device
    def attributes(self, _: bytes) -> bytes:
        return device.described(self.program.launches.code, self.program.attribute_numbers)

    def total(self, _: bytes) -> bytes:
        return f"{device.kept()} {device.MEMORY}".encode()

    def blocks(self, content: bytes) -> bytes:
        return str(device.at_once(self.program.launches.code, *struct.unpack("<4Q", content))).encode()

    def clock(self, _: bytes) -> bytes:
        """A reading of the clock, for an event; nothing where no time is simulated."""
        if not self.options.timing:
            return b""
        now = self.program.launches.mark()
        return CLOCK.pack(now.launches, now.unknown, now.microseconds)

    def graph(self, begins: bytes) -> None:
        self.program.launches.graph(bool(begins[0]))

    def time(self, _: bytes) -> None:
        self.program.launches.time_was_asked = True

    def library(self, content: bytes) -> bytes:
        """Compute what a library of NVIDIA's would."""
        done = self.repeats.call(content)
        self.program.launches.called(done.name)
        return done.answer

    def missing(self, name: bytes) -> None:
        status = statuses.of_missing(name.decode())
        self.program.failed(UnsupportedError(f"{name.decode()}: not provided: it returned {status}"))

    def words(self, line: bytes) -> None:
        self.program.failed(InputError(line.decode()))

    def without_tables(self, line: bytes) -> None:
        """Note why NVIDIA's own runtime, which some libraries contain, cannot go on. Some programs (cuda.bindings) ask
        it for nothing but its version, and CMake's trial of nvcc, which has the static runtime whatever CMake is told,
        for GPUs that need not be there."""
        if CMAKES_TRIAL not in line:
            self.stopped = line.decode()

    def names(self, content: bytes) -> None:
        told = json.loads(content)
        arrays = {int(number): name for number, name in told["arrays"].items()}
        self.named[told["kernel"]] = Named(tuple(told["signature"]), arrays)

    # ---- memory
    def allocation(self, content: bytes) -> None:
        slot, offset, size, kind, live = struct.unpack("<5Q", content)
        number = slot - FIRST_SLOT + 1 if slot >= FIRST_SLOT else slot
        self.mapped.holds(slot, offset, size)
        gone = "whose pool gives kernels no access (cudaMemPoolSetAccess)" if live else "which was freed"
        name = f"{KINDS[kind]} {number}" + ("" if size else f", {gone}")
        of_host = KINDS[kind] in SEEN_BY_THE_HOST
        buffer = Buffer(self.memory[offset : offset + size], name, of_host=of_host)
        buffer.place = self.mapped.pages.start + offset, size  # of an empty array NumPy does not tell the address
        self.buffers.hold(slot, buffer)
        if size:
            self.buffers.recent.begin(slot)
        self.repeats.contents.replaced(slot)
        (self.repeats.shared.add if of_host else self.repeats.shared.discard)(slot)

    def heap(self, content: bytes) -> None:
        """The heap of malloc in kernels. Its content stays from launch to launch."""
        size = min(int.from_bytes(content, "little"), 1 << 31)
        attributes = device.by_number(self.program.launches.code, self.program.attribute_numbers)
        self.device = Device(heap=PROGRAM.address_of(HEAP_SLOT), heap_bytes=size, attributes=attributes)
        self.buffers.hold(HEAP_SLOT, Buffer(np.zeros(size, np.uint8), "the heap of malloc"))
        self.repeats.contents.replaced(HEAP_SLOT)

    def stack_size(self, content: bytes) -> None:
        self.stack = int.from_bytes(content, "little")
        self.prepared.clear()

    def waiting(self, content: bytes) -> None:
        self.most_waiting = int.from_bytes(content, "little")

    def settle(self, _: bytes) -> bytes:
        """Execute the launches that wait: somebody looks at memory."""
        self.deferred.settle(Options(progress=self.step))
        self.repeats.contents.settle()
        return b""

    def change(self, slot: bytes) -> None:
        self.repeats.contents.changed.add(int.from_bytes(slot, "little"))

    def copied(self, content: bytes) -> None:
        """Note a copy or a fill: whether the L2 cache has these bytes now."""
        slot, size, cached, stored = struct.unpack("<4Q", content)
        if cached:
            self.buffers.recent.use(slot, size, size * stored)
        else:
            self.buffers.recent.copy(slot, size)

    def free(self, slot: bytes) -> bytes:
        return b"stays" if self.deferred.free(int.from_bytes(slot, "little")) else b""

    def reset(self, _: bytes) -> None:
        self.deferred.forget()
        self.repeats.contents.everything = True
        for module in self.modules:
            if module.data.size:
                module.place(module.slot, module.data)

    # ---- modules and kernels
    def load(self, image: bytes) -> bytes:
        module = LoadedModule(image, self.program.launches.code, self.program.name)
        self.modules.append(module)
        lines = [f"N {len(self.modules) - 1} {module.size} {len(module.names)}"]
        lines += [f"V {at} {size} {name}" for name, at, size in module.variables]
        return "\n".join(lines).encode()

    def add(self, content: bytes) -> bytes:
        return links.added(content, self.program.launches.code, self.program.name)

    def link(self, content: bytes) -> bytes:
        return links.completed(content, self.program.launches.code)

    def place(self, content: bytes) -> bytes:
        number, slot = struct.unpack("<2Q", content)
        self.modules[number].place(slot, self.buffers[slot].data)
        self.repeats.variables.add(slot)
        self.deferred.read_at_once.add(slot)
        return b""

    def function(self, content: bytes) -> bytes:
        module = self.modules[int.from_bytes(content[:8], "little")]
        return module.described(module.kernel(content[8:].decode())).encode()

    def launch(self, content: bytes) -> None:
        status, output = self.ended_with
        if status:
            return
        if content == self.last and self.last_launch and (known := self.repeats.done_again(self.last_launch[0])):
            self.program.launches.execute(*self.last_launch, execute=lambda *_: known)
            return
        self.last = content if self.program.launches.choice == Choice() else b""
        status, more = self.answered(self.launched, content)
        self.ended_with = status, output + more

    def end(self) -> tuple[int, bytes]:
        """How the launches ended so far."""
        found, self.ended_with = self.ended_with, (statuses.SUCCESS, b"")
        return found

    def launched(self, content: bytes) -> bytes:
        number, gx, gy, gz, bx, by, bz, *cluster, shared, _, size, _ = LAUNCH.unpack_from(content)
        parameters, name = content[LAUNCH.size :][:size], content[LAUNCH.size + size :]
        form = content[: LAUNCH.size] + name
        if form in self.prepared:
            module, launch, shape = self.prepared[form]
            pieces = [parameters[one.offset : one.offset + one.size] for one in launch.kernel.parameters]
            return self.execute(module, launch.anew(pieces), shape, pieces)
        module = self.modules[number]
        kernel, shape = module.kernel(name.decode()), Shape((gx, gy, gz), (bx, by, bz), shared)
        pieces = [parameters[one.offset : one.offset + one.size] for one in kernel.parameters]
        launch = prepare(
            kernel, shape.grid, shape.block, pieces, self.buffers, shared, cluster if any(cluster) else None, self.stack
        )
        launch.pages, launch.kept = self.mapped.pages, self.kept
        if launch.block != shape.block:
            shape = replace(shape, block=launch.block)
        if launch.buffers is self.buffers:
            if len(self.prepared) == MOST_PREPARED:
                self.prepared.clear()
            self.prepared[form] = module, launch, shape
        return self.execute(module, launch.anew(pieces), shape, pieces)

    def execute(self, module: LoadedModule, launch: Launch, shape: Shape, pieces: Sequence[bytes]) -> bytes:
        kernel, program = launch.kernel, self.program
        self.repeats.contents.settle([module.slot])
        module.into(launch)
        self.device.printed, self.device.size, self.device.launched = {}, 0, []
        self.device.parameter_bytes, self.device.errors = module.parameter_bytes, {}
        self.device.most_waiting = self.most_waiting
        launch.device = self.device
        shown = program.progress(kernel.plain_name, launch.blocks) if program.progress else nullcontext()
        named = self.named.get(kernel.name, Named())
        with shown as self.tick:
            try:
                with called(self.buffers, named.arrays, pieces) if named.arrays else nullcontext():
                    self.last_launch = launch, shape, self.options, program.requests, named.signature
                    program.launches.execute(*self.last_launch, self.deferred.execute)
            finally:
                self.device.parameter_bytes = None  # it refers to the memory, and launches are kept without that
                program.strayed(self.mapped.pages)
        output = launch.device.output.encode()
        return output + self.by_kernels(module) if self.device.launched else output

    def by_kernels(self, module: LoadedModule) -> bytes:
        """Execute what a kernel launched, block by block, each launch with those of its own; what they print."""
        self.last, output = b"", b""
        for one in sorted(self.device.launched, key=lambda one: (one.stream == TAIL_LAUNCH, one.block)):
            name = module.names[one.kernel - 1].encode()
            *shape, shared = one.shape
            head = LAUNCH.pack(self.modules.index(module), *shape, 0, 0, 0, shared, 0, len(one.parameters), len(name))
            output += self.launched(head + one.parameters + name)
        return output

    def step(self, blocks: int, instructions: int) -> None:
        """Is called while a launch is executed, which need not go on once its program has ended."""
        if self.program.ending.is_set() or (has_ended(self.connection) and self.waited()):
            raise KeyboardInterrupt
        if self.repeats.shared and time.monotonic() > self.patience:
            self.posted, self.repeats.waits, self.patience = True, False, math.inf
            self.connection.sendall(HEAD.pack(statuses.NOT_READY, 0))
        if self.tick:
            self.tick(blocks, instructions)

    def waited(self) -> bool:
        """Whether the program, which has ended, waited for the launch that is executed, or the launch for the
        program: such a launch is stopped. Any other that it posted is executed to its end."""
        while self.posted and (more := self.connection.recv(1 << 16)):
            self.received += more
        return not self.posted or not self.repeats.waits or self.received.endswith(HEAD.pack(END, 0))


def has_ended(connection: socket.socket) -> bool:
    """Whether the other end has closed the connection."""
    poll = select.poll()
    poll.register(connection, WATCHED)
    return bool(poll.poll(0))
