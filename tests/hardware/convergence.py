"""What programs of one warp log about their convergence barriers on a GPU: who runs together, when, and the masks.

The programs (convergence_programs.py) are written here in SASS of sm_90, one for each block, into the code of
convergence.cu. Where nvcc is, `python convergence.py compile FOLDER` compiles that; on a machine with the GPU,
`record FOLDER` runs the programs, in one process for each module, since some never end; `convert FOLDER` makes
convergence.npz of those that ask one question each and of some random ones that end: `programs` (SASS and the lanes'
words, as JSON in LZMA) and an array for each: (logs, 5, 32), the active threads, the masks of B0 to B2, and a rank in
time; 0xDEAD where a thread did not come.
"""

import ctypes
import io
import json
import lzma
import os
import re
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from convergence_programs import BARRIERS, Operation, programs
from driver import Driver
from elftools.elf.elffile import ELFFile
from recorder import DATA, commands, compile_kernels

BYTES, FIRST, LOGGED = 16, 32, 2 + BARRIERS
"""Of an instruction; the first register of a log; words of one log."""
ROOM = 1 << 15
"""Bytes that the logs of a program take, at most."""
NOWHERE = 0xDEAD
NO_MASK = 0x3800000
"""Bits of control instructions without a predicate operand."""
PROLOGUE = 64
"""More instructions than a module's begin has, but for two of each program."""
SECONDS = 20
"""Limit for a process."""
RANDOM, KEPT = ("apart", "calls"), 120
"""How the names of random programs begin, and how many of each kind are kept at most."""


def word(low: int, high: int = 0, guard: str = "PT", scoreboard: int = 7) -> bytes:
    """An instruction that waits for all scoreboards, and for itself as long as any takes."""
    predicate = 7 if guard == "PT" else int(guard[1:])
    control = 13 | scoreboard << 5 | 7 << 8 | 0x3F << 11
    return struct.pack("<QQ", low & ~(0xF << 12) | predicate << 12, high | control << 41)


def branch(distance: int, guard: str) -> bytes:
    """BRA forwards, over a distance from the next instruction."""
    quarter = distance // 4
    low = (quarter & 0xFF) << 16 | (quarter >> 8 & (1 << 30) - 1) << 34 | 0x7947
    return word(low, NO_MASK | quarter >> 38, guard)


class Code:
    """The code of one program: bytes, and the same as text, with places counted from its begin."""

    def __init__(self, operations: list[Operation]) -> None:
        self.parts: list[tuple[Any, str]] = []
        self.marks: dict[str, int] = {}
        self.logs = sum(one[0] == "log" for one in operations)
        self.register = FIRST
        for n in range(LOGGED * self.logs):
            self.mov(FIRST + n, NOWHERE)
        for kind, *rest in operations:
            getattr(self, kind)(*rest)
        self.mark("LAST")
        for n in range(LOGGED * self.logs):
            self.put(
                word(128 * n << 40 | FIRST + n << 32 | 6 << 24 | 0x7986, 0xC101904),
                f"STG.E [R6.64+{128 * n:#x}], R{FIRST + n}",
            )
        self.exit()

    @property
    def at(self) -> int:
        return BYTES * len(self.parts)

    @property
    def bytes(self) -> bytes:
        return b"".join(part() if callable(part) else part for part, _ in self.parts)

    def text(self, before: int) -> list[str]:
        """The instructions, where so many stand before the first."""
        return [
            re.sub(r"<(\w+)>", lambda found: hex(self.marks[found[1]] + BYTES * before), text) for _, text in self.parts
        ]

    def put(self, made: Any, text: str, guard: str = "PT") -> None:
        self.parts.append((made, text if guard == "PT" else f"@{guard} {text}"))

    # ---- the operations
    def log(self) -> None:
        """Log the active threads, the masks and the clock."""
        at = self.register
        self.vote(at)
        for b in range(BARRIERS):
            self.put(word(b << 24 | at + 1 + b << 16 | 0x7355, scoreboard=0), f"BMOV.32 R{at + 1 + b}, B{b}")
        last = at + LOGGED - 1
        self.put(word(last << 16 | 0x7805, 0x5000), f"CS2R.32 R{last}, SR_CLOCKLO")
        self.register += LOGGED

    def mov(self, register: int, value: int) -> None:
        self.put(word(value << 32 | register << 16 | 0x7802, 0xF00), f"MOV R{register}, {value:#x}")

    def bit(self, predicate: int, bit: int) -> None:
        """Whether a bit of the lane's word is set."""
        low = 1 << bit + 32 | 2 << 24 | 0xFF << 16 | 0x7812
        text = f"LOP3.LUT P{predicate}, RZ, R2, {1 << bit:#x}, RZ, 0xc0, !PT"
        self.put(word(low, 0x780C0FF | predicate << 17), text)

    def vote(self, register: int) -> None:
        self.put(word(register << 16 | 0x7806, 0x38E0100), f"VOTE.ANY R{register}, PT, PT")

    def mark(self, label: str) -> None:
        self.marks[label] = self.at

    def bra(self, label: str, guard: str) -> None:
        behind = self.at + BYTES
        self.put(lambda: branch(self.marks[label] - behind, guard), f"BRA <{label}>", guard)

    def bssy(self, b: int, label: str) -> None:
        behind = self.at + BYTES
        self.put(
            lambda: word((self.marks[label] - behind) % (1 << 32) << 32 | b << 16 | 0x7945, NO_MASK),
            f"BSSY B{b}, <{label}>",
        )

    def bsync(self, b: int) -> None:
        self.put(word(b << 16 | 0x7941, NO_MASK), f"BSYNC B{b}")

    def set(self, b: int, register: int) -> None:
        self.put(word(b << 24 | register << 32 | 0x7356), f"BMOV.32 B{b}, R{register}")

    def clear(self, register: int, b: int) -> None:
        self.put(word(b << 24 | register << 16 | 0x7355, 1 << 20, scoreboard=0), f"BMOV.32.CLEAR R{register}, B{b}")

    def warpsync(self, register: int | None = None) -> None:
        if register is None:
            self.put(word(0x7948, NO_MASK), "WARPSYNC.ALL")
        else:
            self.put(word(0x7348 | register << 24, NO_MASK), f"WARPSYNC R{register}")

    def exit(self, guard: str = "PT") -> None:
        self.put(word(0x794D, NO_MASK, guard), "EXIT", guard)


# `yield` and `break` are Python's own words.
setattr(Code, "yield", lambda self: self.put(word(0x7946, NO_MASK), "YIELD"))
setattr(Code, "break", lambda self, b, guard: self.put(word(b << 16 | 0x7942, NO_MASK, guard), f"BREAK B{b}", guard))


# ---- modules
def prologue(codes: list[bytes]) -> bytes:
    """R2 = the lane's word; R6: the place of its logs; block n goes on in code n, which follow."""
    block, lane, given, logs = 3, 0, 4, 6

    def wide(to: int, a: int, factor: int) -> bytes:
        return word(factor << 32 | a << 24 | to << 16 | 0x7825, 0x78E0200 | to)

    def parameter(to: int, place: int) -> bytes:
        return word((place << 38 & (1 << 64) - 1) | 0xFF << 24 | to << 16 | 0x7B82, 0xA00, scoreboard=0)

    made = word((0x208 << 38 & (1 << 64) - 1) | 4 << 16 | 0x7AB9, 0xA00, scoreboard=0)  # ULDC.64 UR4
    made += word(0x7919 | lane << 16, scoreboard=0) + word(0x7919 | block << 16, 0x2500, scoreboard=0)
    made += parameter(given, 0x210) + parameter(logs, 0x218)
    made += wide(given, block, 128) + wide(given, lane, 4) + wide(logs, block, ROOM) + wide(logs, lane, 4)
    made += word(4 << 32 | given << 24 | 2 << 16 | 0x7981, 0xC1E1900, scoreboard=0)  # LDG R2
    place = len(made) + 2 * BYTES * len(codes)
    for n, code in enumerate(codes):
        made += word(n << 32 | block << 24 | 0x780C, 0x3F02070)  # P0 = the block's number is n
        made += branch(place - len(made) - BYTES, "P0")
        place += len(code)
    return made + b"".join(codes)


def patched(template: bytes, name: str, code: bytes) -> bytes:
    """A cubin whose kernel has other instructions."""
    section = ELFFile(io.BytesIO(template)).get_section_by_name(f".text.{name}")
    start, size = section["sh_offset"], section["sh_size"]
    assert len(code) <= size, (len(code), size)
    code += word(0x7918) * ((size - len(code)) // BYTES)  # NOP
    return template[:start] + code + template[start + size :]


def batches(size: int) -> list[list[str]]:
    """The names of the programs of each module."""
    made: list[list[str]] = [[]]
    room = size
    for name, (operations, _) in programs().items():
        length = len(Code(operations).bytes) + 2 * BYTES
        if length > room - PROLOGUE * BYTES:
            made.append([])
            room = size
        made[-1].append(name)
        room -= length
    return made


# ---- on the GPU
def launch(folder: Path, number: int) -> None:
    """Run the programs of a module and write what they logged."""
    template = (folder / "template.cubin").read_bytes()
    size = ELFFile(io.BytesIO(template)).get_section_by_name(".text.k")["sh_size"]
    names = batches(size)[number]
    chosen = [programs()[name] for name in names]
    codes = [Code(operations) for operations, _ in chosen]
    driver = Driver()
    cubin = patched(template, "k", prologue([code.bytes for code in codes]))
    function = driver.function(driver.module(cubin), "k")
    given = driver.upload(np.array([words for _, words in chosen], np.uint32))
    # The host sees what has been written while other blocks never end.
    host, stream = ctypes.c_void_p(), ctypes.c_void_p()
    driver("cuMemHostAlloc", ctypes.byref(host), ctypes.c_size_t(ROOM * len(names)), 3)
    ctypes.memset(host, 0, ROOM * len(names))
    driver("cuStreamCreate", ctypes.byref(stream), 1)
    values = given, ctypes.c_uint64(host.value)
    addresses = (ctypes.c_void_p * 2)(*(ctypes.addressof(one) for one in values))
    driver("cuLaunchKernel", function, len(names), 1, 1, 32, 1, 1, 0, stream, addresses, None)
    time.sleep(4)
    assert host.value
    whole = np.ctypeslib.as_array((ctypes.c_uint32 * (ROOM // 4 * len(names))).from_address(host.value)).copy()
    logs = whole.reshape(len(names), -1, 32)
    found = {
        name: ranked(logs[n, : LOGGED * code.logs].reshape(-1, LOGGED, 32))
        for n, (name, code) in enumerate(zip(names, codes, strict=True))
    }
    np.savez_compressed(folder / f"masks{number}.npz", **found)
    os._exit(0)


def ranked(logs: Any) -> Any:
    """Logs with clocks as their rank among all that there are, from 1 on. The 32-bit clock may pass zero."""
    clock = logs[:, -1]
    seen = (logs[:, 0] != NOWHERE) & (logs[:, 0] != 0)
    if seen.any():
        since = (clock[seen].astype(np.int64) - int(clock[seen][0]) + (1 << 31)) % (1 << 32)
        clock[seen] = np.unique(since, return_inverse=True)[1] + 1
    clock[~seen] = 0
    return logs


def record(folder: Path) -> None:
    template = (folder / "template.cubin").read_bytes()
    size = ELFFile(io.BytesIO(template)).get_section_by_name(".text.k")["sh_size"]
    command = ["timeout", str(SECONDS), sys.executable, __file__, "launch", str(folder)]
    environment = {**os.environ, "CUDA_MODULE_LOADING": "EAGER"}
    for number in range(len(batches(size))):  # together, they would wait for those that never end
        print(f"module {number}: {subprocess.run([*command, str(number)], env=environment).returncode}", flush=True)


def ended(logs: Any) -> bool:
    """Whether every thread has stored what it logged."""
    return not (logs == 0).all(axis=(0, 1)).any()


def convert(folder: Path) -> None:
    found = {name: logs for file in folder.glob("masks*.npz") for name, logs in np.load(file).items()}
    code = {
        name: {"code": PARAMETERS + Code(operations).text(len(PARAMETERS)), "words": words}
        for name, (operations, words) in programs().items()
        if name in found and (not name.startswith(RANDOM) or (int(name.split()[1]) < KEPT and ended(found[name])))
    }
    packed = np.frombuffer(lzma.compress(json.dumps(code).encode()), np.uint8)
    np.savez_compressed(DATA / "convergence.npz", programs=packed, **{name: found[name] for name in code})


PARAMETERS = [
    "S2R R0, SR_LANEID",
    "IMAD.WIDE.U32 R4, R0, 0x4, c[0x0][0x210]",
    "IMAD.WIDE.U32 R6, R0, 0x4, c[0x0][0x218]",
    "LDG.E R2, [R4.64]",
]
"""What stands before a program that is run by itself."""


def compile_template(folder: Path, nvcc: str = "nvcc") -> None:
    compile_kernels(nvcc, "convergence.cu", folder.resolve() / "template.cubin")


if __name__ == "__main__":
    commands(__doc__, compile=compile_template, record=record, convert=convert, launch=launch)
