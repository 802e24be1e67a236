"""cuda.reduce: of arrays on either side, of parts of them, with results that stay on the device."""

import numpy as np
from numba import cuda


@cuda.reduce
def sum_reduce(a, b):
    return a + b


A = (np.arange(1234, dtype=np.float64)) + 1
assert sum_reduce(A) == A.sum()
assert sum_reduce(A[:100]) == A[:100].sum()
assert sum_reduce(A[:5], init=10) == 25
result = cuda.device_array(1, np.float64)
assert sum_reduce(cuda.to_device(A), res=result) is None
assert result[0] == A.sum()
assert cuda.Reduce is type(sum_reduce)
assert sum_reduce(np.zeros(0)) == 0
print("reduce: as expected")
