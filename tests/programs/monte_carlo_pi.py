"""Pi by counting random points in the circle, every thread with a generator of its own."""

import numpy as np
from numba import cuda
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_normal_float64, xoroshiro128p_uniform_float32


@cuda.jit
def compute_pi(rng_states, iterations, out):
    thread_id = cuda.grid(1)
    inside = 0
    for _ in range(iterations):
        x = xoroshiro128p_uniform_float32(rng_states, thread_id)
        y = xoroshiro128p_uniform_float32(rng_states, thread_id)
        if x**2 + y**2 <= 1.0:
            inside += 1
    out[thread_id] = 4.0 * inside / iterations


@cuda.jit
def draw(rng_states, out):
    thread_id = cuda.grid(1)
    out[thread_id] = xoroshiro128p_normal_float64(rng_states, thread_id)


threads_per_block = 64
blocks = 24
n = threads_per_block * blocks
rng_states = create_xoroshiro128p_states(n, seed=1)
out = np.zeros(n, dtype=np.float32)
compute_pi[blocks, threads_per_block](rng_states, 200, out)
print("pi:", out.mean())
assert abs(out.mean() - np.pi) < 0.02

first = np.zeros(n)
draw[blocks, threads_per_block](rng_states, first)
second = np.zeros(n)
draw[blocks, threads_per_block](rng_states, second)
assert (first != second).all()
assert abs(first.mean()) < 0.1
assert abs(second.std() - 1) < 0.1

again = create_xoroshiro128p_states(n, seed=1)
repeated = np.zeros(n, dtype=np.float32)
compute_pi[blocks, threads_per_block](again, 200, repeated)
assert (repeated == out).all()
