"""Prices of options by Black and Scholes: double precision, a device function, transcendental functions."""

import math

import numpy as np
from numba import cuda, float64

RISKFREE, VOLATILITY = 0.02, 0.30


@cuda.jit(float64(float64), device=True, inline="always")
def cnd(d):
    return 0.5 * (1.0 + math.erf(d / math.sqrt(2.0)))


@cuda.jit("void(f8[:], f8[:], f8[:], f8[:], f8[:], f8, f8)")
def black_scholes(call, put, S, X, T, R, V):
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    if i >= S.shape[0]:
        return
    root = math.sqrt(T[i])
    d1 = (math.log(S[i] / X[i]) + (R + 0.5 * V * V) * T[i]) / (V * root)
    d2 = d1 - V * root
    discount = math.exp(-R * T[i])
    call[i] = S[i] * cnd(d1) - X[i] * discount * cnd(d2)
    put[i] = X[i] * discount * (1.0 - cnd(d2)) - S[i] * (1.0 - cnd(d1))


rng = np.random.default_rng(0)
n = 1000
price, strike, years = rng.uniform(5, 30, n), rng.uniform(1, 100, n), rng.uniform(0.25, 10, n)
call, put = np.zeros(n), np.zeros(n)
stream = cuda.stream()
d_call, d_put = cuda.to_device(call, stream), cuda.to_device(put, stream)
d_price, d_strike, d_years = (cuda.to_device(a, stream) for a in (price, strike, years))
black_scholes[(n + 127) // 128, 128, stream](d_call, d_put, d_price, d_strike, d_years, RISKFREE, VOLATILITY)
d_call.copy_to_host(call, stream)
d_put.copy_to_host(put, stream)
stream.synchronize()

d1 = (np.log(price / strike) + (RISKFREE + 0.5 * VOLATILITY**2) * years) / (VOLATILITY * np.sqrt(years))
normal = np.vectorize(lambda d: 0.5 * math.erfc(-d / math.sqrt(2)))
discounted = strike * np.exp(-RISKFREE * years)
expected = price * normal(d1) - discounted * normal(d1 - VOLATILITY * np.sqrt(years))
np.testing.assert_allclose(call, expected, rtol=1e-9, atol=1e-12)
np.testing.assert_allclose(call - put, price - discounted, rtol=1e-9, atol=1e-12)  # the parity of put and call
print(f"dearest call: {call.max():.6f}")
