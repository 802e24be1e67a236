"""A run that fills the cache with every kind of file; a program of its own imports it too."""

from typing import Any

import numpy as np

import banksim
from banksim.kernels import cubin
from banksim.machine.llvm.compile import compile_kernel
from banksim.machine.llvm.objects import ROUTINES
from helpers.places import KERNELS, TRITON

CUBIN, PTX = TRITON / "transpose.cubin", KERNELS / "plain.ptx"


def forget() -> None:
    """Drop what this process knows of kernels."""
    cubin._decode.cache_clear()
    compile_kernel.cache_clear()
    ROUTINES.clear()


def run() -> tuple[Any, ...]:
    forget()
    kernels = banksim.load(PTX)
    x, out = np.arange(64 * 32, dtype=np.float32).reshape(64, 32), np.zeros((32, 64), np.float32)
    done = banksim.run(banksim.load(CUBIN)["transpose"], (2, 1), None, [out, x, 64, 32])
    np.testing.assert_array_equal(out, x.T)
    conflicts = [(s.opcode, s.requests, s.transactions) for s in done.conflicts.sites]
    return sorted(kernels), [i.text for k in kernels.values() for i in k.instructions], conflicts, done.instructions
