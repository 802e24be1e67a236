"""Device arrays: views, assignment, kinds of memory, structures, tuples, hints, and arrays of others."""

import numpy as np
from numba import cuda

POINT = np.dtype([("x", np.float32), ("y", np.float32), ("id", np.int64)], align=True)


@cuda.jit
def copy(source, target):
    i, j = cuda.grid(2)
    if i < source.shape[0] and j < source.shape[1]:
        target[i, j] = source[i, j]


@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@cuda.jit
def combine(pair, weight, flag, out):
    i = cuda.grid(1)
    if i < out.size and flag:
        out[i] = pair[0][i] + weight * pair[1][i]


@cuda.jit
def move(points, by):
    i = cuda.grid(1)
    if i < points.size:
        points[i].x += by.real
        points[i]["y"] += by.imag
        points[i].id = i


class Foreign:
    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__


a = np.arange(48, dtype=np.float32).reshape(6, 8)
d = cuda.to_device(a)
assert d.shape == (6, 8)
assert d.dtype == np.float32
assert d[2, 3] == a[2, 3]
assert (d[1:3].copy_to_host() == a[1:3]).all()
assert (d.reshape(4, 12).copy_to_host() == a.reshape(4, 12)).all()
assert (d.ravel()[5:9].copy_to_host() == a.ravel()[5:9]).all()
assert (d.T.copy_to_host() == a.T).all()

part = cuda.device_array((3, 4), np.float32)
copy[(1, 1), (8, 8)](d[::2, 4:], part)
assert (part.copy_to_host() == a[::2, 4:]).all()
backwards = cuda.to_device(np.zeros(8, np.float32))
copy[(1, 1), (8, 8)](d[:1], backwards.reshape(1, 8))
add_one[1, 32](backwards[2:5])
assert (backwards.copy_to_host() == a[0] + [0, 0, 1, 1, 1, 0, 0, 0]).all()

d[0] = 7
d[1, 2:4] = np.array([1, 2], np.float32)
d[5, 5] = -1
a[0], a[1, 2:4], a[5, 5] = 7, (1, 2), -1
assert (d.copy_to_host() == a).all()
d.copy_to_device(a * 2)
assert (np.asarray(d) == a * 2).all()
fortran = cuda.to_device(np.asfortranarray(a))
assert fortran.is_f_contiguous()
copied = np.zeros_like(a)
copy[(1, 1), (8, 8)](fortran, copied)
assert (copied == a).all()

mapped = cuda.mapped_array(16, dtype=np.int32)
managed = cuda.managed_array(16, dtype=np.int32)
mapped[:], managed[:] = 1, np.arange(16)
add_one[1, 16](mapped)
add_one[1, 16](managed)
cuda.synchronize()
assert (mapped == 2).all()
assert (managed == np.arange(1, 17)).all()
like = cuda.mapped_array_like(np.zeros((2, 3)))
assert like.shape == (2, 3)
here = np.zeros(10, np.int32)
with cuda.mapped(here) as there:
    add_one[1, 32](there)
assert (here == 1).all()

assert cuda.is_cuda_array(Foreign(d))
assert not cuda.is_cuda_array(a)
seen = cuda.as_cuda_array(Foreign(backwards))
add_one[1, 32](seen)
add_one[1, 32](Foreign(backwards))
assert backwards.copy_to_host()[-1] == 9

x = np.ones(8, np.float32)
kept = x.copy()
add_one[1, 8](cuda.In(kept))
assert (kept == x).all()
out = np.full(8, np.nan, np.float32)
combine[1, 8]((x, cuda.to_device(2 * x)), 10, True, cuda.Out(out))
assert (out == 21).all()
both = x.copy()
add_one[1, 8](cuda.InOut(both))
assert (both == 2).all()
empty = np.zeros(0, np.float32)
add_one[1, 8](empty)

points = np.zeros(5, POINT)
points["x"] = np.arange(5)
move[1, 32](points, 1 - 2j)
assert (points["x"] == np.arange(1, 6)).all()
assert (points["y"] == -2).all()
assert (points["id"] == np.arange(5)).all()
d_points = cuda.to_device(points)
assert d_points[3]["id"] == 3
print("arrays: as expected")
