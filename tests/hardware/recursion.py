"""Recursive calls of different depth on a GPU, without a profiler: who runs together, and which threads B6 gathers.

`python recursion.py record FOLDER`, on a machine with the GPU, launches schedule_recursion (schedule.cu) twice, once
with its readings of the active threads replaced by readings of B6, and writes recursion.npz: for each block that lanes
call to different depths the `script`, what was logged as `active` and as `masks`, and the `order`: the rank of a log in
time and, in its three lowest bits, its place in the code.
"""

import io
import random
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
from driver import Driver, raw
from elftools.elf.elffile import ELFFile
from recorder import DATA, commands

CUBIN = DATA / "schedule.cubin"
LENGTH, BLOCKS, DEEPEST = 16, 384, 6
"""Bytes of a lane's script; blocks; levels that a lane calls down at most."""
KEPT = [1, 2, 3, 5, 8, 11, 14, 17]
"""The blocks that are written."""
WHO, MASKS = 0x350, {0x4B0: 8, 0x5C0: 10}
"""Where the kernel moves its mask to R10, and where it reads the active threads, into which registers."""


def scripts() -> Any:
    """(blocks, lanes, bytes): how deep each lane calls, in four kinds of mixture."""
    made = np.zeros((BLOCKS, 32, LENGTH), np.uint8)
    for n in range(BLOCKS):
        r = random.Random(n)
        top, kind = r.randrange(1, DEEPEST + 1), r.randrange(4)
        few = [r.randrange(top + 1) for _ in range(r.randrange(2, 4))]
        for lane in range(32):
            mixtures = r.randrange(top + 1), r.choice(few), few[lane * len(few) // 32], few[lane % len(few)]
            made[n, lane, 0] = mixtures[kind]
    return made


def patched() -> bytes:
    """The cubin that logs B6. The registers are those of the code as it was compiled."""
    content = bytearray(CUBIN.read_bytes())
    section = ELFFile(io.BytesIO(bytes(content))).get_section_by_name(".text.schedule_recursion")

    def put(at: int, low: int, high: int, control: int) -> None:
        start = section["sh_offset"] + at
        content[start : start + 16] = struct.pack("<QQ", low, high & (1 << 41) - 1 | control << 41)

    def controlled(at: int) -> tuple[int, int, int]:
        start = section["sh_offset"] + at
        low, high = struct.unpack("<QQ", content[start : start + 16])
        return low, high, high >> 41

    scoreboards = 7 << 5
    control = controlled(WHO)[2]
    put(WHO, 22 << 32 | 10 << 16 | 0x7202, 0xF00, control & ~(31 | scoreboards) | 12 | 7 << 5 | 1 << 11)
    for at, register in MASKS.items():
        control = controlled(at)[2]
        put(at, 6 << 24 | register << 16 | 0x7355, 0, control & ~(31 | scoreboards) | 13)
        low, high, control = controlled(at + 16)
        put(at + 16, low, high, control | 1 << 11)  # wait for the reading
    return bytes(content)


def record(folder: Path) -> None:
    driver, script = Driver(), scripts()
    found: dict[str, Any] = {}
    for name, cubin in (("active", CUBIN.read_bytes()), ("masks", patched())):
        logs = np.zeros((BLOCKS, 32, 4 * LENGTH, 2), np.uint32)
        given, pointer = driver.upload(script), driver.upload(logs)
        function = driver.function(driver.module(cubin), "schedule_recursion")
        driver.launch(function, (BLOCKS,), (32,), [given, pointer, raw(struct.pack("<i", LENGTH))])
        driver.download(pointer, logs)
        found[name] = logs[..., 0]
        if name == "active":
            found["order"] = np.stack([ranked(block) for block in logs[..., 1]])
        time.sleep(1)
    kept = {name: values[KEPT] for name, values in {"script": script, **found}.items()}
    np.savez_compressed(folder / "recursion.npz", **kept)


def ranked(clock: Any) -> Any:
    """Readings of one block as their rank in time from 1 on, above the three bits of the place. The clock may pass
    zero."""
    rank, used = np.zeros(clock.shape, np.uint16), clock != 0
    since = clock.astype(np.int64) - int(clock[used].min(initial=1 << 32))
    if (since[used] > 1 << 31).any():
        since = (since + (1 << 31)) % (1 << 32)
    rank[used] = (np.unique(since[used] & ~7, return_inverse=True)[1] + 1) * 8 + (clock[used] & 7)
    return rank


if __name__ == "__main__":
    commands(__doc__, record=record)
