"""Parts of programs of Numba's, as text."""

COLUMNS = """
import numpy as np
from numba import cuda

@cuda.jit
def columns(out):
    tile = cuda.shared.array((32, 32), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = out[y, x]
    cuda.syncthreads()
    out[y, x] = tile[x, y]
"""
"""A kernel whose loads have the worst of conflicts."""
ENDLESS = """
from numba import cuda

@cuda.jit
def endless(out):
    while out[0] == 0:
        out[1] += 1
"""
LAUNCHES = """
import numpy as np
endless[1, 32](np.ones(2))
print("launching", flush=True)
endless[1, 32](np.zeros(2))
"""
"""A launch of `endless` that ends, and one that does not."""
