"""Loads, stores, atomics and copies at any address, one instruction a kernel; run as a program, with memory that no
access may leave: `hostile.py` runs every instruction at every kind of address while each buffer of the LLVM engine
ends (or begins) at a page that cannot be accessed, so that a byte read or written outside ends the process.
"""

import ctypes
import mmap
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

import banksim
from banksim.architectures.code_layout import CONSTANT_WINDOW, HEAP, LOCAL_WINDOW, SHARED_WINDOW
from banksim.errors import BanksimError
from banksim.kernels.kernel import Kernel
from banksim.machine.llvm import worker
from banksim.requests.kinds import LANES
from helpers import assembler
from helpers.assembler import PARAMETERS

SHARED, LOCAL, BUFFER = 320, 64, 256
"""Bytes of a block's shared memory, of a thread's local memory and of the buffer that addresses are aimed at."""
WIDTHS = (".U8", ".S8", ".U16", ".S16", "", ".64", ".128")
LOADS = [f"{name}{width} R12, [R4{'.64' if name in ('LD.E', 'LDG.E') else ''}]"
         for name in ("LD.E", "LDG.E", "LDS", "LDL") for width in WIDTHS]  # fmt: skip
STORES = [f"{name}{width} [R4{'.64' if name in ('ST.E', 'STG.E') else ''}], R8"
          for name in ("ST.E", "STG.E", "STS", "STL") for width in (".U8", ".U16", "", ".64", ".128")]  # fmt: skip
OTHERS = """
    ATOMG.E.ADD.STRONG.GPU PT, R12, [R4.64], R8     ATOMG.E.ADD.F64.RN.STRONG.GPU PT, R12, [R4.64], R8
    ATOMG.E.CAS.64.STRONG.GPU PT, R12, [R4.64], R8, R10
    ATOM.E.MAX.S32.STRONG.GPU PT, R12, [R4.64], R8  ATOM.E.EXCH.64.STRONG.GPU PT, R12, [R4.64], R8
    REDG.E.ADD.F32.FTZ.RN.STRONG.GPU [R4.64], R8    RED.E.ADD.64.STRONG.GPU [R4.64], R8
    ATOMS.ADD R12, [R4], R8                         ATOMS.CAS.64 R12, [R4], R8, R10
    ATOMS.POPC.INC.32 R12, [R4]                     ATOMS.CAST.SPIN R12, [R4], R8, R10
    ATOMS.MIN.S32 R12, [R4], R8                     LDS.64 R12, [R4+UR8]
    LDG.E.128 R12, [R4.64+-0x10]                    STG.E.64 [R4.64+0x7ffff8], R8
    LDS.128 R12, [R4.X16+0x10]                      STL [R4+0xfffffc], R8
    LDC R12, c[0x0][R4]                             LDC.U8 R12, c[0x3][R4+0x4]
    LDC.S16 R12, c[0x0][R4]                         LDC.64 R12, c[0x0][R4]
    LDC R12, c[0x5][R4]                             IMAD.MOV.U32 R12, RZ, RZ, c[0x0][0xfffc]
    IMAD.MOV.U32 R12, RZ, RZ, c[0x5][0x0]           ULDC UR12, c[0x0][UR8]
    LDSM.16.M88.4 R12, [R4]                         LDSM.16.MT88.2 R12, [R4]
    STSM.16.M88.4 [R4], R8                          LDGSTS.E.BYPASS.128 [R6], [R4.64]
    LDGSTS.E [R4], [R6.64]                          LDGSTS.E.64 [R6], [R4.64]
    SYNCS.EXCH.64 URZ, [UR8], UR10                  SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R4], R8
    SYNCS.ARRIVE.TRANS64 RZ, [R4], R8               QSPC.E.S P0, [R4]
"""
INSTRUCTIONS = [*LOADS, *STORES, *(w for line in OTHERS.splitlines() for w in line.strip().split("  ") if w.strip())]


@cache
def kernel(text: str) -> Kernel:
    """Each lane takes its address from parameter 1 into R4:R5 (all the first one's into UR8:UR9), runs the
    instruction with the third buffer's address in R6:R7, and writes R12 to R15 to parameter 2."""
    lines = [
        "S2R R0, SR_LANEID",
        "IMAD.WIDE.U32 R2, R0, 0x8, c[0x0][0x210]",
        "LDG.E.64 R4, [R2.64]",
        "LDG.E.64 R8, [R2.64]",
        "LDG.E.64 R10, [R2.64]",
        "R2UR UR8, R4",
        "R2UR UR9, R5",
        "UMOV UR10, 0x7ff",
        "UMOV UR11, 0x0",
        "IMAD.MOV.U32 R6, RZ, RZ, c[0x0][0x220]",
        "IMAD.MOV.U32 R7, RZ, RZ, c[0x0][0x224]",
        *(f"IMAD.MOV.U32 R{n}, RZ, RZ, 0x11111111" for n in (12, 13, 14, 15)),
        "IMAD.WIDE.U32 R2, R0, 0x4, c[0x0][0x218]",
        text.strip(),
        *(f"STG.E [R2.64+{4 * LANES * n:#x}], R{12 + n}" for n in range(4)),
        "EXIT",
    ]
    banks = {0: bytes(PARAMETERS + 24), 3: bytes(range(64))}
    return assembler.kernel(lines, 3, shared_bytes=SHARED, local_bytes=LOCAL, registers=24, banks=banks)


def attempt(text: str, addresses: Any, engine: str, target: Any) -> tuple[Any, ...]:
    """What the instruction does at 32 addresses: the error that it is refused with, or R12 to R15. `target` changes."""
    addresses = np.array(addresses, np.uint64)
    results = np.zeros((4, LANES), np.uint32)
    try:
        banksim.run(kernel(text), 1, LANES, [addresses, results, target], engine=engine, max_instructions=10_000)
    except BanksimError as error:
        return type(error), *str(error).split(" at ")[:1]
    return "ran", results.tolist()


def places() -> list[int]:
    """Addresses near every edge that there is."""
    starts = [0, 1 << 31, 1 << 32, 1 << 63, 1 << 64, SHARED, LOCAL, 1 << 16, SHARED_WINDOW, SHARED_WINDOW + SHARED]
    starts += [LOCAL_WINDOW, LOCAL_WINDOW + LOCAL, CONSTANT_WINDOW, HEAP - (1 << 32), HEAP + (4 << 32)]
    starts += [HEAP + (3 << 32), HEAP + (3 << 32) + BUFFER, HEAP + (3 << 32) + (1 << 31), HEAP + (1 << 40)]
    near = [-(1 << 24), -16, -8, -4, -1, 0, 1, 2, 4, 8, 12, 16]
    return sorted({start + n & ((1 << 64) - 1) for start in starts for n in near})


def vectors() -> Iterator[list[int]]:
    """32 addresses at a time: all the same, neighbours of 4 to 16 bytes upward and downward, and mixed ones."""
    every = places()
    mask = (1 << 64) - 1
    for first in every:
        yield [first] * LANES
    for stride in (4, 8, 16, -4, -16):
        for first in every[:: 3 if stride > 0 else 7]:
            yield [first + stride * lane & mask for lane in range(LANES)]
    for first in range(0, len(every), 5):
        yield [every[(first + 11 * lane) % len(every)] for lane in range(LANES)]
        yield [every[first] if lane == 17 else HEAP + (3 << 32) + 8 * lane for lane in range(LANES)]


# ---- memory that ends where it ends
PAGE = mmap.PAGESIZE
KEPT: list[mmap.mmap] = []
LIBC = ctypes.CDLL(None, use_errno=True)


def guarded(kind: np.dtype, count: int, behind: bool = True) -> Any:
    """Zeroed records whose end (or, not `behind`, whose start) lies at a page that cannot be accessed."""
    size = -(-kind.itemsize * count // 64) * 64
    pages = -(-size // PAGE)
    memory = mmap.mmap(-1, (pages + 2) * PAGE)
    KEPT.append(memory)
    raw = np.frombuffer(memory, np.uint8)
    for page in (0, pages + 1):
        if LIBC.mprotect(ctypes.c_void_p(raw.ctypes.data + page * PAGE), PAGE, 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    start = (pages + 1) * PAGE - size if behind else PAGE
    return raw[start : start + kind.itemsize * count].view(kind)


def main(step: int) -> None:
    """Every `step`-th address vector, for each instruction others."""
    every = list(vectors())
    ran = refused = 0
    for number, text in enumerate(INSTRUCTIONS):
        behind = number % 2 == 0
        worker.aligned = lambda kind, count, behind=behind: guarded(kind, count, behind)
        target = guarded(np.dtype(np.uint8), BUFFER, behind)
        kept = len(KEPT)
        for addresses in every[number % step :: step]:
            outcome, *_ = attempt(text, addresses, "llvm", target)
            ran, refused = ran + (outcome == "ran"), refused + (outcome != "ran")
            del KEPT[kept:]
    print(f"{ran} ran, {refused} refused")


if __name__ == "__main__":
    main(int(sys.argv[1]))
