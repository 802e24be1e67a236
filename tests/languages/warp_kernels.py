"""Kernels of Warp, as its documentation writes them."""

from typing import Any

import warp as wp

TILE = wp.constant(32)
ROW = wp.constant(128)


@wp.kernel
def scale(x: wp.array(dtype=float), y: wp.array(dtype=float), factor: float):
    i = wp.tid()
    y[i] = x[i] * factor


@wp.kernel
def transpose(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    tile = wp.tile_load(x, shape=(TILE, TILE), offset=(i * TILE, j * TILE), storage="shared")
    wp.tile_store(y, wp.tile_transpose(tile), offset=(j * TILE, i * TILE))


@wp.kernel
def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    tile = wp.tile_load(x, shape=ROW, offset=i * ROW)
    wp.tile_atomic_add(out, wp.tile_sum(tile))


@wp.kernel
def softmax(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    row = wp.tile_load(x[i], shape=ROW)
    high = wp.tile_max(row)
    each = wp.tile_map(wp.exp, row - wp.tile_broadcast(high, shape=(ROW,)))
    wp.tile_store(out[i], each / wp.tile_broadcast(wp.tile_sum(each), shape=(ROW,)))


@wp.kernel
def moved(points: wp.array(dtype=wp.vec3), by: wp.vec3, out: wp.array(dtype=wp.vec3), n: wp.int64):
    i = wp.tid()
    if wp.int64(i) < n:
        out[i] = points[i] + by


@wp.kernel
def generic(x: wp.array(dtype=Any), factor: Any):
    i = wp.tid()
    x[i] = x[i] * factor


@wp.struct
class Line:
    x: wp.array(dtype=float)
    slope: float
    start: wp.vec3


@wp.kernel
def on_line(line: Line, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = line.x[i] * line.slope + line.start[1]
