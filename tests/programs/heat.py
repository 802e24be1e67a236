"""The heat equation on a rod: a constant array of coefficients, slices of device arrays, halo in shared memory."""

import numpy as np
from numba import cuda, float32

BLOCK = 64
WITH_HALO = BLOCK + 2
COEFFICIENTS = np.array([0.25, 0.5, 0.25], np.float32)


@cuda.jit
def step(now, after):
    weights = cuda.const.array_like(COEFFICIENTS)
    rod = cuda.shared.array(WITH_HALO, float32)
    t = cuda.threadIdx.x + 1
    i = cuda.grid(1)
    n = now.size
    if i < n:
        rod[t] = now[i]
    if t == 1:
        rod[0] = now[max(i - 1, 0)]
    if t == BLOCK or i == n - 1:
        rod[t + 1] = now[min(i + 1, n - 1)]
    cuda.syncthreads()
    if i < n:
        value = float32(0)
        for k in range(3):
            value += weights[k] * rod[t - 1 + k]
        after[i] = value


n, steps = 200, 50
rod = np.zeros(n, np.float32)
rod[n // 2] = 100
both = cuda.to_device(np.stack([rod, rod]))
for k in range(steps):
    step[-(-n // BLOCK), BLOCK](both[k % 2], both[(k + 1) % 2])
result = both[steps % 2].copy_to_host()

expected = rod.copy()
for _ in range(steps):
    padded = np.pad(expected, 1, mode="edge")
    expected = sum(COEFFICIENTS[k] * padded[k : k + n] for k in range(3))
np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
assert abs(result.sum() - 100) < 1e-3
print("warmest point:", result.argmax())
