"""A product of tiles in Warp, without libmathdx, whose licence is for systems with NVIDIA's GPUs."""

import warp as wp

wp.set_module_options({"enable_mathdx_gemm": False})

ROWS, COLUMNS, DEPTH = wp.constant(16), wp.constant(16), wp.constant(8)


@wp.kernel
def product(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    total = wp.tile_zeros(shape=(ROWS, COLUMNS), dtype=float)
    for k in range(a.shape[1] // DEPTH):
        left = wp.tile_load(a, shape=(ROWS, DEPTH), offset=(i * ROWS, k * DEPTH))
        right = wp.tile_load(b, shape=(DEPTH, COLUMNS), offset=(k * DEPTH, j * COLUMNS))
        wp.tile_matmul(left, right, total)
    wp.tile_store(c, total, offset=(i * ROWS, j * COLUMNS))
