"""Adds two vectors: with a bound check, with a grid-stride loop, and by forall."""

import numpy as np
from numba import cuda


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


@cuda.jit("void(float64[::1], float64[::1], float64[::1])")
def add_strided(x, y, out):
    start = cuda.grid(1)
    for i in range(start, out.shape[0], cuda.gridsize(1)):
        out[i] = x[i] + y[i]


def main():
    if not cuda.is_available():
        raise SystemExit("no CUDA device")
    n = 10_000
    rng = np.random.default_rng(1)
    x, y = rng.random(n), rng.random(n)
    expected = x + y

    out = np.zeros(n)
    add[(n + 255) // 256, 256](x, y, out)
    np.testing.assert_array_equal(out, expected)

    d_x, d_y = cuda.to_device(x), cuda.to_device(y)
    d_out = cuda.device_array_like(d_x)
    add_strided[16, 128](d_x, d_y, d_out)
    np.testing.assert_array_equal(d_out.copy_to_host(), expected)

    d_single = cuda.device_array(n, dtype=np.float32)
    add.forall(n)(x.astype(np.float32), y.astype(np.float32), d_single)
    np.testing.assert_array_equal(d_single.copy_to_host(), x.astype(np.float32) + y.astype(np.float32))
    cuda.synchronize()
    print("vector_add: all sums are right")


if __name__ == "__main__":
    main()
