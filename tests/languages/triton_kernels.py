"""Kernels of Triton, as its tutorials write them."""

import triton
import triton.language as tl


@triton.jit
def transpose(x, y, m, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tile = tl.load(x + i[:, None] * n + j[None, :])
    tl.store(y + j[:, None] * m + i[None, :], tl.trans(tile))


@triton.jit
def product(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        r = start + tl.arange(0, BK)
        left = tl.load(a + i[:, None] * k + r[None, :])
        right = tl.load(b + r[:, None] * n + j[None, :])
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(c + i[:, None] * n + j[None, :], total)


@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + at, mask=at < n, other=0)))


@triton.jit
def softmax(out, x, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + column, mask=column < n, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + column, values / tl.sum(values, axis=0), mask=column < n)


@triton.jit
def scaled(x, out, factor, n, BLOCK: tl.constexpr = 128):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 256}, num_warps=8)], key=["n"])
@triton.heuristics({"EVEN": lambda given: given["n"] % given["BLOCK"] == 0})
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + at, tl.load(x + at) + 1)
    else:
        tl.store(out + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


@triton.jit
def wrong(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), tl.arange(0, 3))


@triton.jit
def product_f16(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    r = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        left = tl.load(a + i[:, None] * k + (start + r)[None, :])
        right = tl.load(b + (start + r)[:, None] * n + j[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + i[:, None] * n + j[None, :], total)


@triton.jit
def running_total(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.cumsum(tl.load(x + at), 0))


@triton.jit
def sort(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at), 0))


@triton.jit
def histogram(x, out, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bins = tl.histogram(tl.load(x + at), BINS)
    tl.store(out + tl.program_id(0) * BINS + tl.arange(0, BINS), bins)


@triton.jit
def layer_norm(x, scale, shift, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < n
    values = tl.load(x + tl.program_id(0) * n + at, mask=inside, other=0)
    centred = tl.where(inside, values - tl.sum(values, 0) / n, 0)
    normal = centred / tl.sqrt(tl.sum(centred * centred, 0) / n + 1e-5)
    result = normal * tl.load(scale + at, mask=inside) + tl.load(shift + at, mask=inside)
    tl.store(out + tl.program_id(0) * n + at, result, mask=inside)


@triton.jit
def attention(q, k, v, out, n, T: tl.constexpr, D: tl.constexpr):
    i = tl.program_id(0) * T + tl.arange(0, T)
    d = tl.arange(0, D)
    query = tl.load(q + i[:, None] * D + d[None, :])
    high = tl.full((T,), -float("inf"), tl.float32)
    weights = tl.zeros((T,), tl.float32)
    total = tl.zeros((T, D), tl.float32)
    for start in range(0, n, T):
        j = start + tl.arange(0, T)
        keys = tl.load(k + j[None, :] * D + d[:, None])
        scores = tl.dot(query, keys) * 0.125
        higher = tl.maximum(high, tl.max(scores, 1))
        shrunk = tl.exp(high - higher)
        each = tl.exp(scores - higher[:, None])
        weights = weights * shrunk + tl.sum(each, 1)
        values = tl.load(v + j[:, None] * D + d[None, :])
        total = tl.dot(each.to(tl.float16), values, total * shrunk[:, None])
        high = higher
    tl.store(out + i[:, None] * D + d[None, :], total / weights[:, None])


@triton.jit
def by_descriptors(a, b, c, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for at in range(0, k, BK):
        total = tl.dot(a.load([i, at]), b.load([j, at]).T, total)
    c.store([i, j], total.to(tl.float16))


@triton.jit
def sums(parts, n, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(n):
        total += tl.load(tl.load(parts + i).to(tl.pointer_type(tl.float32)) + at)
    tl.store(out + at, total)
