"""numba.vectorize and guvectorize for the target cuda."""

import math

import numpy as np
from numba import cuda, guvectorize, vectorize


@vectorize(["float64(float64, float64)", "float32(float32, float32)"], target="cuda")
def hypotenuse(a, b):
    return math.sqrt(a * a + b * b)


@guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->()", target="cuda")
def dot(a, b, out):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    out[0] = total


rng = np.random.default_rng(5)
a, b = rng.random((2, 300))
np.testing.assert_allclose(hypotenuse(a, b), np.hypot(a, b), rtol=1e-15)
single = hypotenuse(cuda.to_device(a.astype(np.float32)), cuda.to_device(b.astype(np.float32)))
assert single.dtype == np.float32
np.testing.assert_allclose(single.copy_to_host(), np.hypot(a, b), rtol=1e-6)
matrix = rng.random((20, 30))
np.testing.assert_allclose(dot(matrix, matrix[::-1].copy()), (matrix * matrix[::-1]).sum(1), rtol=1e-13)
print("ufuncs: equal to NumPy")
