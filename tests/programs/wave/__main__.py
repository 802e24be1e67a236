"""A string swings; its ends are fast."""

import sys

import numpy as np

from .kernels import advance

n, steps = 128, int(sys.argv[1])
shape = np.sin(np.linspace(0, np.pi, n))
before, now, after = shape.copy(), shape.copy(), np.zeros(n)
for _ in range(steps):
    advance[2, 64](before, now, after, 0.25)
    before, now, after = now, after, before
omega = 2 * np.arcsin(0.5 * np.sin(np.pi / (n - 1) / 2))
phase = np.cos(omega * (steps + 0.5)) / np.cos(omega / 2)
np.testing.assert_allclose(now[1:-1], shape[1:-1] * phase, rtol=1e-9)
print("wave: after", steps, "steps", f"{now.max():.6f}")
