"""The wave equation's step."""

from numba import cuda


@cuda.jit
def advance(before, now, after, c2):
    i = cuda.grid(1)
    if 0 < i < now.size - 1:
        after[i] = 2 * now[i] - before[i] + c2 * (now[i - 1] - 2 * now[i] + now[i + 1])
