"""Mandelbrot's set: a device function with a signature, complex numbers, several signatures of one kernel."""

import numpy as np
from numba import cuda, types


@cuda.jit("uint32(float64, float64, uint32)", device=True)
def mandel(x, y, max_iters):
    c = complex(x, y)
    z = 0.0j
    for i in range(max_iters):
        z = z * z + c
        if (z.real * z.real + z.imag * z.imag) >= 4:
            return i
    return max_iters


@cuda.jit(
    [
        "void(float64, float64, float64, float64, uint8[:,:], uint32)",
        types.void(types.float64, types.float64, types.float64, types.float64, types.uint16[:, :], types.uint32),
    ]
)
def mandel_kernel(min_x, max_x, min_y, max_y, image, iters):
    height, width = image.shape
    step_x, step_y = (max_x - min_x) / width, (max_y - min_y) / height
    start_x, start_y = cuda.grid(2)
    grid_x, grid_y = cuda.gridsize(2)
    for x in range(start_x, width, grid_x):
        for y in range(start_y, height, grid_y):
            image[y, x] = mandel(min_x + x * step_x, min_y + y * step_y, iters)


def on_host(image, iters):
    height, width = image.shape
    for y in range(height):
        for x in range(width):
            z, c = 0j, complex(-2.0 + x * (3.0 / width), -1.0 + y * (2.0 / height))
            image[y, x] = iters
            for i in range(iters):
                z = z * z + c
                if abs(z) >= 2:
                    image[y, x] = i
                    break
    return image


image = np.zeros((48, 72), dtype=np.uint8)
d_image = cuda.to_device(image)
mandel_kernel[(4, 2), (32, 8)](-2.0, 1.0, -1.0, 1.0, d_image, 20)
d_image.copy_to_host(image)
assert (image == on_host(np.zeros_like(image), 20)).mean() > 0.999
wide = np.zeros((48, 72), dtype=np.uint16)
mandel_kernel[(4, 2), (32, 8)](-2.0, 1.0, -1.0, 1.0, wide, 20)
assert (wide == image).all()
assert len(mandel_kernel.signatures) == 2
print("points inside:", int((image == 20).sum()))
