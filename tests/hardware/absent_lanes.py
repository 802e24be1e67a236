"""Shuffles that read from lanes which do not execute them, and what a GPU gives there: PTX leaves it undefined.

`python absent_lanes.py compile` writes the kernels' cubin, `launch FOLDER` (on a machine with the GPU) runs them and
writes `absent_lanes.npz`: for each kernel of absent_lanes.cu and each row what its shuffle gave each lane, and whether
it was inside its segment; 0xDEAD where a lane took no part.
"""

from pathlib import Path
from typing import Any

import numpy as np
from driver import Driver
from recorder import DATA, commands, compile_kernels

ROWS = 96
THREADS = {"elsewhere": 32, "gone": 32, "guarded": 32, "never": 21}
"""The kernels, and how many threads a block of each has."""
SEGMENTS = (0x1F, 0x81F, 0x101F, 0x180F, 0x1C03, 0)
"""Third operands of shuffles: the last lane of a segment, and from bit 8 on the mask of segments."""


def rows() -> Any:
    """For each block: who takes part, mode and segment, and the second operand, as a start and a step over lanes."""
    random = np.random.default_rng(12)
    made = np.zeros((ROWS, 4), np.uint32)
    made[:, 0] = random.integers(1, 1 << 32, ROWS)
    made[::3, 0] = 1 << random.integers(0, 32, ROWS // 3)
    made[1::3, 0] = (1 << random.integers(1, 32, ROWS // 3)) - 1
    made[:, 1] = np.arange(ROWS) % 4 | random.choice(SEGMENTS, ROWS) << 8
    made[:, 2:] = random.integers(0, 32, (ROWS, 2))
    made[::2, 3] = 0
    return made


def launch(folder: Path) -> None:
    driver = Driver()
    module = driver.module((DATA / "absent_lanes.cubin").read_bytes())
    given, found = driver.upload(rows()), {}
    for name, threads in THREADS.items():
        result = np.full((ROWS, 2, 32), 0xDEAD, np.uint32)
        pointer = driver.upload(result)
        driver.launch(driver.function(module, name), (ROWS,), (threads,), [given, pointer])
        found[name] = driver.download(pointer, result)
    np.savez_compressed(folder / "absent_lanes.npz", **found)


def compile_all(nvcc: str = "nvcc") -> None:
    compile_kernels(nvcc, "absent_lanes.cu", DATA / "absent_lanes.cubin", "-lineinfo")


if __name__ == "__main__":
    commands(__doc__, compile=compile_all, launch=launch)
