"""Kernels of cuTile, as its documentation writes them."""

import cuda.tile as ct


@ct.kernel
def transpose(x, y, T: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    tile = ct.load(x, index=(i, j), shape=(T, T))
    ct.store(y, index=(j, i), tile=ct.transpose(tile))


@ct.kernel
def product(a, b, c, steps: int, T: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.full((T, T), 0.0, ct.float32)
    for k in range(steps):
        left = ct.load(a, index=(i, k), shape=(T, T), allow_tma=False)
        right = ct.load(b, index=(k, j), shape=(T, T), allow_tma=False)
        total = ct.mma(left, right, total)
    ct.store(c, index=(i, j), tile=total, allow_tma=False)


@ct.kernel
def total(x, out, T: ct.Constant[int]):
    tile = ct.load(x, index=(ct.bid(0),), shape=(T,), allow_tma=False)
    ct.store(out, index=(ct.bid(0),), tile=ct.sum(tile, axis=0, keepdims=True), allow_tma=False)


@ct.kernel
def softmax(x, out, T: ct.Constant[int]):
    row = ct.load(x, index=(ct.bid(0), 0), shape=(1, T), allow_tma=False)
    each = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(out, index=(ct.bid(0), 0), tile=each / ct.sum(each, axis=1, keepdims=True), allow_tma=False)


@ct.kernel
def scaled(x, out, factor, T: ct.Constant[int]):
    tile = ct.load(x, index=(ct.bid(0),), shape=(T,), allow_tma=False)
    ct.store(out, index=(ct.bid(0),), tile=tile * factor, allow_tma=False)


@ct.kernel
def by_tma(x, out, T: ct.Constant[int]):
    tile = ct.load(x, index=(ct.bid(0),), shape=(T,))
    ct.store(out, index=(ct.bid(0),), tile=ct.sum(tile, axis=0, keepdims=True))
