"""The kernels of races.cu, in which races are planted: which lines are marked as racing, and how they are run."""

import re

import numpy as np

from banksim.__main__ import main
from helpers.places import KERNELS

PLANTED = KERNELS / "races.cu"


def marked(path, start_of_kernel):
    """Of each kernel in a file, which begins with a line of this form: the lines marked RACE and BARRIER."""
    lines: dict[str, tuple[set[int], set[int]]] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if start := re.match(start_of_kernel, line):
            races, barriers = lines[start[1]] = set(), set()
        mark = line.partition("//")[2]
        if lines and "RACE" in mark:
            races.add(number)
        if lines and "BARRIER" in mark:
            barriers.add(number)
    return lines


PROGRAM = """\
import numpy as np
from numba import cuda, int32


@cuda.jit
def turn(out):
    s = cuda.shared.array(64, int32)
    s[cuda.threadIdx.x] = 1
    out[cuda.threadIdx.x] = s[63 - cuda.threadIdx.x]


out = np.zeros(64, np.int32)
turn[1, 64](out)
turn[2, 64](out)
"""
"""A program of Numba's whose lines 8 and 9 race."""
MARKED = marked(PLANTED, r"__global__ void (\w+)\(")


def numbers():
    return np.zeros(1024, np.int32), np.arange(1024, dtype=np.int32)


# ---- commands
def kernel_command(name, *more):
    arguments = ["--arg", "int32[1024]", "--arg", "int32[1024]=arange"]
    return main(
        ["kernel", f"{PLANTED}:{name}", "--grid", "2", "--block", "128", *arguments, "--picture", "none", *more]
    )
