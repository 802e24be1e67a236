"""A histogram with a private copy of the bins in each block's shared memory."""

import numpy as np
from numba import cuda, int32

BINS = 64


@cuda.jit
def histogram(values, low, high, bins):
    private = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    for b in range(t, BINS, cuda.blockDim.x):
        private[b] = 0
    cuda.syncthreads()
    width = (high - low) / BINS
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        b = int((values[i] - low) / width)
        if 0 <= b < BINS:
            cuda.atomic.add(private, b, 1)
    cuda.syncthreads()
    for b in range(t, BINS, cuda.blockDim.x):
        cuda.atomic.add(bins, b, private[b])


@cuda.jit
def extremes(values, result):
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.min(result, 0, values[i])
        cuda.atomic.max(result, 1, values[i])


rng = np.random.default_rng(7)
values = rng.normal(size=20_000).astype(np.float64)
d_values = cuda.to_device(values)
result = np.array([np.inf, -np.inf])
extremes[4, 64](d_values[:5_000], result)
assert (result == (values[:5_000].min(), values[:5_000].max())).all()

bins = np.zeros(BINS, np.int32)
histogram[8, 128](d_values, -4.0, 4.0, bins)
expected, _ = np.histogram(values, BINS, (-4.0, 4.0))
assert (bins == expected).all()
print("most frequent bin:", bins.argmax())
