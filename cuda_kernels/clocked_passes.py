"""Kernels of one block that take the time of their own work.

They do it in `PASSES` passes of `ROUNDS` rounds. A pass begins behind a barrier reduction, whose result
must arrive before the clock is read (a reading behind a plain barrier may come before the barrier's release), and each
warp leaves when it began and ended in `clocks[pass, warp]`. The first pass meets a cold instruction cache.
"""

import numpy as np
from numba import int32

from cuda_kernels.catalogue import Launch
from cuda_kernels.clocked_kernels import clock
from cuda_kernels.numba_cuda import INSTALLED, Array, Dispatcher, cuda

PASSES, ROUNDS = 4, 4
started: Dispatcher = None
ended: Dispatcher = None

if INSTALLED:
    read = clock()

    @cuda.jit(device=True)  # type: ignore[untyped-decorator]
    def started(number: int) -> int:
        """The clock, when all warps have come to this pass."""
        if cuda.syncthreads_count(int32(number < 0)) > 0:
            return 0
        return read()  # type: ignore[no-any-return]

    @cuda.jit(device=True)  # type: ignore[untyped-decorator]
    def ended(clocks: Array, number: int, began: int) -> None:
        """Leave when this warp began and ended a pass."""
        now = read()
        thread = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
        if thread % 32 == 0:
            clocks[number, thread // 32, 0] = began
            clocks[number, thread // 32, 1] = now


def launch(
    kernel: Dispatcher, block: tuple[int, ...], *given: Array, expected: np.ndarray, tolerance: float = 0.0
) -> Launch:
    """A launch of one block: (out, what is given, rounds, clocks)."""
    warps = -(-int(np.prod(block)) // 32)
    clocks = np.zeros((PASSES, warps, 2), np.int64)
    out = np.zeros_like(expected)
    arguments = (out, *given, np.int32(ROUNDS), clocks)
    return Launch(kernel, (1,), block, arguments, {0: expected}, tolerance=tolerance, clocks=len(arguments) - 1)
