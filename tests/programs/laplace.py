"""Laplace's equation on a plate by Jacobi's iteration, the two arrays changing their parts after each step."""

import numpy as np
from numba import cuda, float64

SIDE, TILE = 34, 8


@cuda.jit("(float64[:,:], float64[:,:], float64[:])")
def jacobi(A, Anew, error):
    err_sm = cuda.shared.array((TILE, TILE), dtype=float64)
    ty, tx = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = cuda.grid(2)
    n, m = A.shape
    err_sm[ty, tx] = 0
    if 1 <= i < n - 1 and 1 <= j < m - 1:
        Anew[i, j] = 0.25 * (A[i, j + 1] + A[i, j - 1] + A[i - 1, j] + A[i + 1, j])
        err_sm[ty, tx] = abs(Anew[i, j] - A[i, j])
    cuda.syncthreads()
    t = TILE // 2
    while t > 0:
        if ty < t:
            err_sm[ty, tx] = max(err_sm[ty, tx], err_sm[ty + t, tx])
        t //= 2
        cuda.syncthreads()
    t = TILE // 2
    while t > 0:
        if ty == 0 and tx < t:
            err_sm[ty, tx] = max(err_sm[ty, tx], err_sm[ty, tx + t])
        t //= 2
        cuda.syncthreads()
    if ty == 0 and tx == 0:
        cuda.atomic.max(error, 0, err_sm[0, 0])


A = np.zeros((SIDE, SIDE))
A[0] = 1.0
expected = A.copy()
blocks = (-(-SIDE // TILE), -(-SIDE // TILE))
stream = cuda.stream()
with stream.auto_synchronize():
    d_A = cuda.to_device(A, stream)
    d_Anew = cuda.to_device(A, stream)
    for _ in range(40):
        error = cuda.to_device(np.zeros(1), stream)
        jacobi[blocks, (TILE, TILE), stream](d_A, d_Anew, error)
        d_A, d_Anew = d_Anew, d_A
    result = d_A.copy_to_host(stream=stream)
for _ in range(40):
    before = expected.copy()
    expected[1:-1, 1:-1] = 0.25 * (before[1:-1, 2:] + before[1:-1, :-2] + before[:-2, 1:-1] + before[2:, 1:-1])
np.testing.assert_allclose(result, expected, rtol=1e-14)
last = error.copy_to_host()[0]
assert last == np.abs(expected - before).max()
print(f"error after 40 steps: {last:.3e}")
