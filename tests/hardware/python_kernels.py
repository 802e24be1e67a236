"""Numba kernels that were recorded on the hardware, with the types of their arguments; `assembled`: their cubin."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from numba import cuda, float32, float64, int32, uint8, uint32

KERNELS: dict[str, tuple[Callable[..., None], tuple[Any, ...]]] = {}


def kernel(*types: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def register(function: Callable[..., None]) -> Callable[..., None]:
        KERNELS[function.__name__] = (function, types)
        return function

    return register


@kernel(float32[:, ::1], float32[:, ::1], float32[:, ::1])
def py_product(a, b, c):
    """A product of matrices of any size by tiles, with bounds checked."""
    sa = cuda.shared.array((16, 16), float32)
    sb = cuda.shared.array((16, 17), float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k in range((a.shape[1] + 15) // 16):
        sa[y, x] = 0
        sb[y, x] = 0
        if row < a.shape[0] and k * 16 + x < a.shape[1]:
            sa[y, x] = a[row, k * 16 + x]
        if column < b.shape[1] and k * 16 + y < b.shape[0]:
            sb[y, x] = b[k * 16 + y, column]
        cuda.syncthreads()
        for j in range(16):
            total += sa[y, j] * sb[j, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@kernel(float64[::1], float64[::1])
def py_reduce(values, out):
    s = cuda.shared.array(128, float64)
    t = cuda.threadIdx.x
    total = 0.0
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        total += values[i]
    s[t] = total
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, s[0])


@kernel(int32[::1], int32[::1])
def py_scan(values, out):
    s = cuda.shared.array(256, int32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    i = cuda.grid(1)
    s[t] = values[i] if i < values.size else 0
    offset = 1
    while offset < n:
        cuda.syncthreads()
        left = s[t - offset] if t >= offset else 0
        cuda.syncthreads()
        s[t] += left
        offset *= 2
    if i < values.size:
        out[i] = s[t]


@kernel(uint8[::1], uint32[::1])
def py_histogram(values, out):
    s = cuda.shared.array(256, uint32)
    t = cuda.threadIdx.x
    s[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(s, values[i], 1)
    cuda.syncthreads()
    if s[t]:
        cuda.atomic.add(out, t, s[t])


@kernel(uint32[::1])
def py_bitonic(keys):
    s = cuda.shared.array(256, uint32)
    t = cuda.threadIdx.x
    base = cuda.blockIdx.x * 256
    s[t] = keys[base + t]
    k = 2
    while k <= 256:
        j = k // 2
        while j > 0:
            cuda.syncthreads()
            other = t ^ j
            if other > t and (s[t] > s[other]) == ((t & k) == 0):
                s[t], s[other] = s[other], s[t]
            j //= 2
        k *= 2
    cuda.syncthreads()
    keys[base + t] = s[t]


@kernel(float32[:, ::1], float32[:, ::1])
def py_stencil(a, out):
    s = cuda.shared.array((10, 34), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x + 1, cuda.threadIdx.y + 1
    h, w = a.shape
    s[ty, tx] = a[min(y, h - 1), min(x, w - 1)]
    if tx == 1:
        s[ty, 0] = a[min(y, h - 1), max(x - 1, 0)]
    if tx == 32:
        s[ty, 33] = a[min(y, h - 1), min(x + 1, w - 1)]
    if ty == 1:
        s[0, tx] = a[max(y - 1, 0), min(x, w - 1)]
    if ty == 8:
        s[9, tx] = a[min(y + 1, h - 1), min(x, w - 1)]
    cuda.syncthreads()
    if y < h and x < w:
        out[y, x] = s[ty - 1, tx] + s[ty + 1, tx] + s[ty, tx - 1] + s[ty, tx + 1] - 4 * s[ty, tx]


@kernel(float32[:, ::1], float32[:, ::1])
def py_transpose(a, out):
    tile = cuda.shared.array((32, 33), float32)
    for j in range(0, 32, 8):
        tile[cuda.threadIdx.y + j, cuda.threadIdx.x] = a[
            cuda.blockIdx.y * 32 + cuda.threadIdx.y + j, cuda.blockIdx.x * 32 + cuda.threadIdx.x
        ]
    cuda.syncthreads()
    for j in range(0, 32, 8):
        out[cuda.blockIdx.x * 32 + cuda.threadIdx.y + j, cuda.blockIdx.y * 32 + cuda.threadIdx.x] = tile[
            cuda.threadIdx.x, cuda.threadIdx.y + j
        ]


@kernel(int32[::1], int32[::1])
def py_warps(values, out):
    lane = cuda.laneid
    i = cuda.grid(1)
    v = values[i]
    total = v
    step = 16
    while step:
        total += cuda.shfl_xor_sync(0xFFFFFFFF, total, step)
        step //= 2
    odd = cuda.ballot_sync(0xFFFFFFFF, v & 1)
    before = cuda.popc(odd & ((1 << lane) - 1))
    if v > 40:
        v = cuda.shfl_sync(cuda.activemask(), v, cuda.ffs(cuda.activemask()) - 1) * 3
    out[i] = total + before * 1000 + v


@kernel(float64[:, ::1], float64[::1], float64[::1], int32)
def py_jacobi(a, b, x, rounds):
    """Rounds of Jacobi's method, in one block with one row for each thread."""
    s = cuda.shared.array(64, float64)
    t = cuda.threadIdx.x
    s[t] = 0.0
    for _ in range(rounds):
        total = b[t]
        cuda.syncthreads()
        for k in range(64):
            if k != t:
                total -= a[t, k] * s[k]
        cuda.syncthreads()
        s[t] = total / a[t, t]
    x[t] = s[t]


@kernel(int32[::1], int32[::1], int32[::1])
def py_search(table, wanted, found):
    """Bisections and Collatz steps: loops that end at different times in different lanes."""
    i = cuda.grid(1)
    if i >= wanted.size:
        return
    low, high = 0, table.size
    while low < high:
        middle = (low + high) // 2
        if table[middle] < wanted[i]:
            low = middle + 1
        else:
            high = middle
    steps, n = 0, wanted[i] + 1
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        if steps > 60:
            break
    found[i] = low * 100 + steps


def assembled() -> bytes:
    """One cubin of all kernels, under their Python names."""
    from banksim.kernels.compilers.numba import compile_numba
    from banksim.kernels.compilers.ptx import assemble

    codes = []
    for name, (function, types) in KERNELS.items():
        made = compile_numba(function, types)
        codes.append(made.ptx[0].replace(made.name, name).replace("_cudapy_", f"{name}_"))
    return assemble(joined(codes))


def joined(codes: Iterable[str]) -> str:
    """PTX of several modules as one, without lines."""
    found: list[str] = []
    for one in codes:
        code = re.sub(r"^\s*\.(loc|file)\b.*$", "", one, flags=re.M)
        code = re.sub(r"^\s*\.section\b.*?^\s*}\n", "", code, flags=re.M | re.S)
        found.append(code if not found else re.sub(r"^\s*\.(version|target|address_size)\b.*\n", "", code, flags=re.M))
    return "\n".join(found)
