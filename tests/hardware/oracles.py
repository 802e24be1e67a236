"""What the kernels of libraries.py compute, by NumPy: for each kernel the arrays that it leaves, by argument number.

Some kernels add numbers in an order of their own. libraries.py gives them numbers whose sums need no rounding."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from itertools import pairwise, permutations
from typing import Any

import numpy as np

Expected = dict[int, Any]
ORACLES: dict[str, Callable[..., Expected]] = {}
"""By the kernel's name, or by the launch's."""


def oracle(*names: str) -> Callable[[Callable[..., Expected]], Callable[..., Expected]]:
    def register(function: Callable[..., Expected]) -> Callable[..., Expected]:
        ORACLES.update(dict.fromkeys(names, function))
        return function

    return register


def square(*flat: Any) -> list[Any]:
    n = round(len(flat[0]) ** 0.5)
    return [a.reshape(n, n) for a in flat]


# ---- products
@oracle(
    "gemm_stages<half, 2>",
    "gemm_stages<half, 3>",
    "gemm_tf32",
    "gemm_doubles",
    "product_ahead",
    "product_pipeline",
    "product_barrier",
)
def product(a: Any, b: Any, c: Any, n: int) -> Expected:
    x, y = square(a.astype(np.float64), b.astype(np.float64))
    return {2: (x @ y).astype(c.dtype)}


@oracle("gemm_stages<bfloat16, 4>")
def product_bfloat(a: Any, b: Any, c: Any, n: int) -> Expected:
    return product(widened(a), widened(b), c, n)


def widened(bits: Any) -> Any:
    return (bits.astype(np.uint32) << 16).view(np.float32)


@oracle("gemm_bytes")
def product_transposed(a: Any, b: Any, c: Any, n: int) -> Expected:
    x, y = square(a.astype(c.dtype), b.astype(c.dtype))
    return {2: x @ y.T}


def fragments(factor: float) -> Callable[..., Expected]:
    def compute(a: Any, b: Any, c: Any, n: int) -> Expected:
        wide = widened if a.dtype == np.uint16 else lambda v: v
        x, y, z = square(*(wide(v).astype(np.float64) for v in (a, b)), c.astype(np.float64))
        return {2: (factor * (x @ y.T) + z).astype(c.dtype)}

    return compute


for kernel, factor in (
    ("bfloat", 0.5),
    ("bytes", 3),
    ("unsigned_wide", -1),
    ("doubles", 0.25),
    ("tf32", 2),
    ("halves_tall", 1.5),
):
    ORACLES[f"wmma_{kernel}"] = fragments(factor)


@oracle("product_tiles")
def product_tiles(a: Any, b: Any, c: Any, m: int, n: int, k: int) -> Expected:
    return {2: a.reshape(m, k) @ b.reshape(k, n)}


@oracle("product_blocks")
def product_blocks(c: Any, a: Any, b: Any, wa: int, wb: int) -> Expected:
    return {0: a.reshape(-1, wa) @ b.reshape(-1, wb)}


@oracle("product_dot4")
def product_dot4(a: Any, b: Any, c: Any, words: int) -> Expected:
    x, y = (v.view(np.int8).reshape(-1, 4 * words).astype(np.int32) for v in (a, b))
    return {2: x @ y.T}


@oracle("product_complex")
def product_complex(a: Any, b: Any, c: Any, n: int) -> Expected:
    x, y = square(a.view(np.complex64), b.view(np.complex64))
    return {2: (x @ y).view(np.float32)}


@oracle("sparse_rows")
def sparse_rows(start: Any, column: Any, value: Any, x: Any, y: Any, rows: int) -> Expected:
    terms = value * x[column]
    return {4: [terms[i:j].sum() for i, j in pairwise(start)]}


@oracle("cholesky_solve")
def cholesky_solve(matrix: Any, right: Any, out: Any) -> Expected:
    return {2: np.linalg.solve(matrix.reshape(-1, 16, 16), right.reshape(-1, 16, 1))}


@oracle("eliminate")
def eliminate(rows: Any, out: Any, n: int) -> Expected:
    systems = rows.reshape(-1, n, n + 1).astype(np.float64)
    return {1: np.linalg.solve(systems[:, :, :n], systems[:, :, n:])}


@oracle("cyclic_reduction")
def cyclic_reduction(lower: Any, middle: Any, upper: Any, right: Any, out: Any) -> Expected:
    systems = zip(*(v.reshape(-1, 128).astype(np.float64) for v in (lower, middle, upper, right)), strict=True)
    return {4: [np.linalg.solve(np.diag(a[1:], -1) + np.diag(b) + np.diag(c[:-1], 1), d) for a, b, c, d in systems]}


# ---- sorts
@oracle("bitonic_pairs", "odd_even_merge")
def sort_pairs(keys: Any, values: Any, given: Any, number: Any, length: int, up: int) -> Expected:
    """Keys sorted in runs of `length`. A sorting network is not stable, so each value must only be one that came with
    its key."""
    runs = np.sort(given.reshape(-1, length), axis=1)
    return {0: runs if up else runs[:, ::-1]}


@oracle("bitonic_merge_global")
def merge_global(
    keys: Any, values: Any, given: Any, number: Any, length: int, size: int, stride: int, up: int
) -> Expected:
    pairs = np.stack([given, number], -1).reshape(-1, 2, stride, 2)
    first = np.arange(len(given) // 2).reshape(-1, stride)
    turn = up ^ ((first & (length // 2 - 1) & (size // 2)) != 0)
    swap = (pairs[:, 0, :, 0] > pairs[:, 1, :, 0]) == turn
    merged = np.where(swap[:, None, :, None], pairs[:, ::-1], pairs).reshape(-1, 2)
    return {0: merged[:, 0], 1: merged[:, 1]}


@oracle("sample_ranks")
def sample_ranks(a: Any, b: Any, keys: Any, stride: int, n: int, threads: int) -> Expected:
    ranks_a, ranks_b = [], []
    for x, y in keys.reshape(-1, 2, stride):
        places = np.arange(0, stride, 64)
        ranks_a += [*places, *np.searchsorted(x, y[places], "right")]
        ranks_b += [*np.searchsorted(y, x[places], "left"), *places]
    return {0: ranks_a, 1: ranks_b}


@oracle("merge_pieces")
def merge_pieces(out: Any, values: Any, keys: Any, number: Any, a: Any, b: Any, stride: int, n: int) -> Expected:
    order = np.argsort(keys.reshape(-1, 2 * stride), axis=1, kind="stable") + np.arange(0, n, 2 * stride)[:, None]
    return {0: keys[order], 1: number[order]}


@oracle("radix_digits")
def radix_digits(keys: Any, out: Any, bits: int) -> Expected:
    return {1: np.sort(keys.reshape(-1, 1024), axis=1)}


@oracle("sort_in_registers<1, false>", "sort_in_registers<4, true>")
def sort_in_registers(keys: Any, out: Any) -> Expected:
    rows = np.sort(keys.reshape(4, -1), axis=1)
    return {1: rows if len(keys) == 128 else rows[:, ::-1]}


@oracle("scan_fours")
def scan_fours(out: Any, numbers: Any, size: int) -> Expected:
    rows = numbers.reshape(-1, size)
    return {0: np.cumsum(rows, axis=1, dtype=np.uint32) - rows}


@oracle("scan_last")
def scan_last(buffer: Any, out: Any, numbers: Any, n: int, length: int) -> Expected:
    last = (out + numbers)[511::512][:n]
    expected = buffer.copy()
    expected[:n] = np.cumsum(last, dtype=np.uint32) - last
    return {0: expected}


@oracle("add_uniform")
def add_uniform(data: Any, buffer: Any) -> Expected:
    return {0: data.reshape(2, -1) + buffer[:, None]}


@oracle("scan_shuffles")
def scan_shuffles(data: Any, width: int, sums: Any) -> Expected:
    if width == 32:
        scanned = np.cumsum(data.reshape(2, -1), axis=1)
        return {0: scanned, 2: scanned[:, -1]}
    # lanes from the width on add what shuffles of that width leave in them, as in the sample
    v, lane = data.reshape(-1, 32).astype(np.int64), np.arange(32)
    k = 1
    while k <= width:
        source = np.where(lane % width >= k, lane - k, lane)
        v = v + np.where(lane >= k, v[:, source], 0)
        k *= 2
    rows = v.reshape(2, 8, 32)
    before = np.cumsum(rows[:, :, -1], axis=1) - rows[:, :, -1]
    rows = rows + before[:, :, None]
    return {0: rows, 2: rows[:, -1, -1]}


@oracle("scan_groups")
def scan_groups(numbers: Any, out: Any) -> Expected:
    rows = numbers.reshape(-1, 16)
    before = np.maximum.accumulate(rows, axis=1)
    none = np.zeros((len(rows), 1), np.int32)
    expected = [np.cumsum(rows, axis=1), np.hstack([none, before[:, :-1]]), np.bitwise_xor.accumulate(rows, axis=1)]
    warps = numbers.reshape(-1, 32)
    odd = np.where(warps & 1, warps, 0)
    sums = np.cumsum(odd, axis=1) - odd + odd.sum(axis=1, keepdims=True) * 1000
    return {1: np.concatenate([*(e.reshape(-1) for e in expected), np.where(warps & 1, sums, 0).reshape(-1)])}


@oracle("scan_segments")
def scan_segments(numbers: Any, flags: Any, out: Any) -> Expected:
    sums = np.cumsum(numbers)
    heads = (flags != 0) | (np.arange(len(numbers)) % 256 == 0)
    start = np.maximum.accumulate(np.where(heads, np.arange(len(numbers)), 0))
    return {2: sums - (sums - numbers)[start]}


@oracle("scan_chained")
def scan_chained(numbers: Any, out: Any, state: Any, ticket: Any) -> Expected:
    return {1: np.cumsum(numbers)}


@oracle("histogram_bytes")
def histogram_bytes(partial: Any, numbers: Any, n: int) -> Expected:
    """Each block counts the vectors of four words that its threads read."""
    fours, expected = numbers.reshape(-1, 4)[:n], []
    for block in range(2):
        words = fours[np.arange(n) // 64 % 2 == block]
        bins = (words[..., None] >> np.uint32([2, 10, 18, 26])) & 63
        expected.append(np.bincount(bins.reshape(-1), minlength=64))
    return {0: expected}


@oracle("histogram_join")
def histogram_join(out: Any, partial: Any, count: int) -> Expected:
    return {0: partial.reshape(count, 64).sum(axis=0)}


@oracle("histogram_warps")
def histogram_warps(partial: Any, numbers: Any, n: int) -> Expected:
    blocks = [numbers[np.arange(n) // 192 % 2 == block] for block in range(2)]
    return {0: [np.bincount(words.view(np.uint8), minlength=256) for words in blocks]}


@oracle("histogram_tagged")
def histogram_tagged(numbers: Any, out: Any, n: int) -> Expected:
    return {1: np.bincount(numbers & 63, minlength=64)}


@oracle("aggregate_partition")
def aggregate_partition(numbers: Any, odd: Any, even: Any, n: int) -> Expected:
    return {1: np.sum(numbers & 1), 2: numbers[numbers % 2 == 0].sum()}


@oracle("aggregate_labels")
def aggregate_labels(keys: Any, counts: Any, order: Any, n: int) -> Expected:
    return {1: np.bincount(keys, minlength=6), 2: [np.sum(keys[:i] == key) for i, key in enumerate(keys)]}


@oracle("hash_count")
def hash_count(keys: Any, out: Any, n: int) -> Expected:
    return {1: np.bincount(keys, minlength=100)}


@oracle("breadth_first")
def breadth_first(start: Any, neighbours: Any, depth: Any, source: int) -> Expected:
    expected, frontier, level = depth.copy(), {source}, 0
    while frontier:
        expected[list(frontier)] = level
        reached = {int(v) for u in frontier for v in neighbours[start[u] : start[u + 1]]}
        frontier, level = {v for v in reached if expected[v] < 0}, level + 1
    return {2: expected}


@oracle("greatest")
def greatest(numbers: Any, values: Any, places: Any, n: int, k: int) -> Expected:
    rows = numbers.reshape(-1, n)
    order = np.argsort(-rows, axis=1, kind="stable")[:, :k]
    return {1: np.take_along_axis(rows, order, 1), 2: order}


@oracle("run_lengths")
def run_lengths(numbers: Any, value: Any, length: Any, count: Any, n: int) -> Expected:
    heads = np.flatnonzero(np.diff(numbers, prepend=-1))
    values, lengths = np.zeros_like(value), np.zeros_like(length)
    values[: len(heads)], lengths[: len(heads)] = numbers[heads], np.diff(heads, append=n)
    return {1: values, 2: lengths, 3: len(heads)}


# ---- transforms
@oracle("fourier_256")
def fourier_256(numbers: Any, out: Any) -> Expected:
    return {1: np.fft.fft(numbers.view(np.complex64).reshape(-1, 256)).astype(np.complex64).view(np.float32)}


@oracle("fourier_doubles")
def fourier_doubles(numbers: Any, out: Any) -> Expected:
    return {1: np.fft.fft(numbers.view(np.complex128).reshape(-1, 128)).view(np.float64)}


@oracle("transform_modular")
def transform_modular(numbers: Any, out: Any) -> Expected:
    p, n = 998244353, len(numbers)
    root = pow(3, (p - 1) // n, p)
    powers = np.array([pow(root, k, p) for k in range(n)], dtype=object)
    matrix = powers[np.outer(np.arange(n), np.arange(n)) % n]
    return {1: ((matrix @ numbers.astype(object)) % p).astype(np.uint32)}


def cosines() -> Any:
    k, j = np.mgrid[:8, :8]
    return np.cos((2 * j + 1) * k * np.pi / 16) * np.where(k == 0, 8**-0.5, 0.5)


def in_blocks(image: Any, left: Any, right: Any) -> Any:
    n = round(image.size**0.5)
    blocks = image.reshape(n // 8, 8, n // 8, 8).transpose(0, 2, 1, 3).astype(np.float64)
    return (left @ blocks @ right).transpose(0, 2, 1, 3)


@oracle("cosine_blocks<false>")
def cosine_blocks(out: Any, image: Any, stride: int) -> Expected:
    return {0: in_blocks(image, cosines(), cosines().T)}


@oracle("cosine_blocks<true>")
def cosine_blocks_back(out: Any, image: Any, stride: int) -> Expected:
    return {0: in_blocks(image, cosines().T, cosines())}


@oracle("cosine_plain")
def cosine_plain(out: Any, image: Any, width: int) -> Expected:
    return {0: in_blocks(image - 128, cosines(), cosines().T)}


def quanta(n: int) -> Any:
    rows = "32 33 51 81 66 39 34 17/33 36 48 47 28 23 12 12/51 48 47 28 23 12 12 12/81 47 28 23 12 12 12 12/"
    rows += "66 28 23 12 12 12 12 12/39 23 12 12 12 12 12 12/34 12 12 12 12 12 12 12/17 12 12 12 12 12 12 12"
    return np.tile(np.array([row.split() for row in rows.split("/")], np.int32), (n // 8, n // 8)).reshape(-1)


@oracle("quantize_floats")
def quantize_floats(data: Any, stride: int) -> Expected:
    q = quanta(stride).astype(np.float32)
    parts = data / q
    return {0: np.trunc(parts + np.copysign(np.float32(0.5), parts)) * q}


@oracle("quantize_shorts")
def quantize_shorts(data: Any, stride: int) -> Expected:
    q = quanta(stride)
    return {0: np.sign(data) * ((np.abs(data.astype(np.int32)) + q // 2) // q) * q}


@oracle("cosine_whole")
def cosine_whole(data: Any, stride: int) -> Expected:
    def high(x: Any, y: int) -> Any:
        return (x * y + 0x4000) >> 15

    def line(a: Any) -> Any:
        p, q, r, s = (a[k] + a[7 - k] for k in range(4))
        t, u, v, w = (a[k] - a[7 - k] for k in range(4))
        rows = [
            high(p + q + r + s, 11585),
            high(t, 16069) + high(u, 13623) + high(v, 9102) + high(w, 3196),
            high(p - s, 15137) + high(q - r, 6270),
            high(t, 13623) - high(u, 3196) - high(v, 16069) - high(w, 9102),
            high(p - q - r + s, 11585),
            high(t, 9102) - high(u, 16069) + high(v, 3196) + high(w, 13623),
            high(p - s, 6270) - high(q - r, 15137),
            high(t, 3196) - high(u, 9102) + high(v, 13623) - high(w, 16069),
        ]
        return np.stack(rows).astype(np.int16).astype(np.int32)

    n = stride // 8
    blocks = data.reshape(n, 8, n, 8).astype(np.int32)  # row of blocks, y, column of blocks, x
    across = line(blocks.transpose(3, 0, 1, 2)).transpose(2, 1, 3, 0)  # y, row of blocks, column of blocks, x
    return {0: line(across).transpose(1, 0, 2, 3)}


@oracle("walsh_step")
def walsh_step(out: Any, numbers: Any, stride: int) -> Expected:
    p, q, r, s = np.moveaxis(numbers.reshape(-1, 4, stride), 1, 0)
    return {0: np.stack([p + r + q + s, p + r - q - s, p - r + q - s, p - r - q + s], axis=1)}


@oracle("modulate")
def modulate(a: Any, b: Any, n: int) -> Expected:
    return {0: a * (b * (np.float32(1) / np.float32(n)))}


@oracle("haar_levels")
def haar_levels(numbers: Any, decomposed: Any, approximation: Any, levels: int, half: int) -> Expected:
    v, expected = numbers, decomposed.copy()
    for _ in range(levels):
        a, b = v[0::2], v[1::2]
        v, expected[len(a) : 2 * len(a)] = (a + b) * np.float32(0.70710678), (a - b) * np.float32(0.70710678)
    return {1: expected, 2: v}


TAPS = np.array([1, 3, -2, 5, 7, 1, -4, 6, 9, 2, 4, -1, 3, 8, -5, 2, 1], np.float32)


@oracle("convolve_rows")
def convolve_rows(out: Any, image: Any, width: int, height: int, pitch: int) -> Expected:
    return {0: [np.convolve(row, TAPS, "same") for row in image.reshape(height, width)]}


@oracle("convolve_columns_8")
def convolve_columns(out: Any, image: Any, width: int, height: int, pitch: int) -> Expected:
    return {0: np.transpose([np.convolve(column, TAPS, "same") for column in image.reshape(height, width).T])}


@oracle("convolve_channels")
def convolve_channels(image: Any, weight: Any, out: Any, n: int) -> Expected:
    padded = np.pad(image.reshape(4, n, n), ((0, 0), (1, 1), (1, 1)))
    shifted = [padded[:, k // 3 : k // 3 + n, k % 3 : k % 3 + n] for k in range(9)]
    return {2: np.einsum("kcyx,fck->fyx", shifted, weight.reshape(8, 4, 9))}


@oracle("march_volume")
def march_volume(out: Any, volume: Any, dx: int, dy: int, dz: int) -> Expected:
    r = next(r for r in (1, 4) if (dx + 2 * r) * (dy + 2 * r) * (dz + 2 * r) == volume.size)
    v = volume.reshape(dz + 2 * r, dy + 2 * r, dx + 2 * r)
    factors = (0.5, 0.25, -0.125, 0.0625, 2.0)

    def shifted(*distance: int) -> Any:
        z, y, x = (r + d for d in distance)
        return v[z : z + dz, y : y + dy, x : x + dx]

    inner = factors[0] * shifted(0, 0, 0)
    for k in range(1, r + 1):
        steps = [(k, 0, 0), (0, k, 0), (0, 0, k)]
        inner = inner + factors[k] * sum(shifted(*step) + shifted(*(-s for s in step)) for step in steps)
    expected = np.zeros_like(v)
    expected[r : r + dz, r : r + dy, r : r + dx] = inner
    return {0: expected}


@oracle("stencil_27")
def stencil_27(volume: Any, out: Any, n: int) -> Expected:
    padded = np.pad(volume.reshape(n, n, n), 1)
    total = np.zeros((n, n, n), np.int32)
    for z, y, x in np.ndindex(3, 3, 3):
        total += padded[z : z + n, y : y + n, x : x + n] * (4 - abs(z - 1) - abs(y - 1) - abs(x - 1))
    return {1: total}


@oracle("transpose_diagonal")
def transposed(out: Any, matrix: Any, width: int, height: int) -> Expected:
    return {0: matrix.reshape(height, width).T}


@oracle("transpose_fine")
def transpose_fine(out: Any, matrix: Any, width: int, height: int) -> Expected:
    return {0: matrix.reshape(2, 32, 2, 32).transpose(0, 3, 2, 1)}


@oracle("transpose_coarse")
def transpose_coarse(out: Any, matrix: Any, width: int, height: int) -> Expected:
    return {0: matrix.reshape(2, 32, 2, 32).transpose(2, 1, 0, 3)}


@oracle("copy_shared")
def copy_shared(out: Any, matrix: Any, width: int, height: int) -> Expected:
    rows = matrix.reshape(-1, 32, width)
    return {0: np.where(np.arange(32)[:, None] < 16, rows, 0)}


@oracle("transpose_fours")
def transpose_fours(matrix: Any, out: Any, n: int) -> Expected:
    return {1: matrix.reshape(n, n, 4).transpose(1, 0, 2)}


@oracle("transpose_shorts")
def transpose_shorts(words: Any, out: Any, count: int) -> Expected:
    return {1: words.view(np.uint16).reshape(2 * count, -1).T.copy().view(np.uint32)}


def windows(image: Any, height: int, width: int) -> Any:
    padded = np.pad(image.reshape(height, width), 1, mode="edge").astype(np.int32)
    return [padded[k // 3 : k // 3 + height, k % 3 : k % 3 + width] for k in range(9)]


@oracle("median_3x3")
def median_3x3(image: Any, out: Any, n: int) -> Expected:
    return {1: np.median(windows(image, n, n), axis=0)}


@oracle("sobel_edges")
def sobel_edges(image: Any, out: Any, width: int, height: int, scale: float) -> Expected:
    w = windows(image, height, width)
    h = w[2] + 2 * w[5] + w[8] - w[0] - 2 * w[3] - w[6]
    v = w[0] + 2 * w[1] + w[2] - w[6] - 2 * w[7] - w[8]
    return {1: np.clip(np.trunc(scale * (abs(h) + abs(v))), 0, 255)}


@oracle("box_columns")
def box_columns(image: Any, out: Any, n: int, height: int, r: int) -> Expected:
    rows = np.pad(image.reshape(height, n), ((r, r), (0, 0)), mode="edge")
    return {1: sum(rows[k : k + height] for k in range(2 * r + 1)) * np.float32(1 / (2 * r))}


@oracle("recursive_filter")
def recursive_filter(image: Any, out: Any, width: int, height: int, a: float) -> Expected:
    rows = image.view(np.uint8).reshape(height, width, 4) / np.float32(255)

    def packed(v: Any) -> Any:
        return np.trunc(np.clip(abs(v), 0, 1) * np.float32(255)).astype(np.uint8)

    def filtered(rows: Any) -> Any:
        y, found = rows[0], []
        for row in rows:
            y = row + np.float32(a) * (y - row)
            found.append(y)
        return np.array(found)

    forth = packed(filtered(rows)) / np.float32(255)
    return {1: packed(forth + filtered(rows[::-1])[::-1]).view(np.uint32)}


@oracle("disparity")
def disparity(left: Any, right: Any, out: Any, width: int, height: int, lowest: int, highest: int) -> Expected:
    """In each block's tile (with 4 more on each side), only the inner numbers become sums of columns; then the sums of
    rows are taken."""
    expected = np.zeros((height, width), np.uint32)

    def at(image: Any, x: Any, y: Any) -> Any:
        inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
        word = np.where(inside, image.reshape(height, width)[y.clip(0, height - 1), x.clip(0, width - 1)], 0)
        return np.ascontiguousarray(word, np.uint32)[..., None].view(np.uint8).astype(np.int16)

    for by, bx in np.ndindex(-(-height // 8), -(-width // 32)):
        y, x = np.mgrid[by * 8 - 4 : by * 8 + 12, bx * 32 - 4 : bx * 32 + 36]
        best, where = np.full((8, 32), 9999999), np.zeros((8, 32), np.uint32)
        for d in range(lowest, highest + 1):
            bytes_ = abs(at(left, x, y) - at(right, x + d, y))
            s = bytes_.sum(axis=-1)
            s[:, :32] = (bytes_.astype(np.uint8).view(np.uint32)[:, :32, 0] * np.uint32(0x01010101)) >> 24
            s[4:12, 4:36] = sum(s[k : k + 8, 4:36] for k in range(9))
            total = sum(s[4:12, k : k + 32] for k in range(9))
            best, where = np.minimum(best, total), np.where(total < best, d + 16, where)
        part = expected[by * 8 : by * 8 + 8, bx * 32 : bx * 32 + 32]
        part[...] = where[: part.shape[0], : part.shape[1]]
    return {2: expected}


@oracle("integral_columns")
def integral_columns(image: Any, width: int, height: int) -> Expected:
    return {0: np.cumsum(image.reshape(height, width), axis=0)}


@oracle("bilateral")
def bilateral(image: Any, out: Any, n: int, r: int, e: float) -> Expected:
    padded = np.pad(image.reshape(n, n).astype(np.float64), r, mode="edge")
    center, total, weight = image.reshape(n, n), np.zeros((n, n)), np.zeros((n, n))
    for i, j in np.ndindex(2 * r + 1, 2 * r + 1):
        v = padded[i : i + n, j : j + n]
        f = np.exp(-((i - r) ** 2 + (j - r) ** 2) * 0.1 - (v - center) ** 2 / (2 * e * e))
        total, weight = total + f * v, weight + f
    return {1: total / weight}


@oracle("relax_flow")
def relax_flow(u: Any, v: Any, ix: Any, iy: Any, iz: Any, u1: Any, v1: Any, w: int, h: int, alpha: float) -> Expected:
    """Beyond its first row and column the field is mirrored; beyond the last ones of a tile, its last values
    continue."""

    def mean(field: Any) -> Any:
        p = np.pad(np.pad(field.reshape(h, w), ((1, 0), (1, 0)), mode="reflect"), ((0, 1), (0, 1)), mode="edge")
        return (p[1:-1, :-2] + p[1:-1, 2:] + p[:-2, 1:-1] + p[2:, 1:-1]) / 4

    a, b, c = (g.reshape(h, w).astype(np.float64) for g in (ix, iy, iz))
    f = (a * mean(u) + b * mean(v) + c) / (a * a + b * b + alpha)
    return {5: mean(u) - a * f, 6: mean(v) - b * f}


# ---- sums
@oracle("reduce_first", "reduce_ballot", "reduce_group", "reduce_barrier")
def reduced(numbers: Any, out: Any, n: int) -> Expected:
    """The sum of what all blocks find."""
    return {1: numbers.sum()}


@oracle("reduce_wide_tiles")
def reduce_wide_tiles(numbers: Any, out: Any, n: int) -> Expected:
    threads = np.pad(numbers, (0, 1024 - n)).reshape(2, 512).sum(axis=0, dtype=np.int32).reshape(-1, 128)
    return {1: np.stack([threads.sum(axis=1), threads.max(axis=1)], axis=1)}


@oracle("reduce_operators")
def reduce_operators(numbers: Any, out: Any, floats: Any) -> Expected:
    warps, eights, fours = (numbers.reshape(-1, k).astype(np.int64) for k in (32, 8, 4))
    least = np.repeat(warps.min(axis=1), 32)
    bits = np.repeat(np.bitwise_or.reduce(eights, axis=1) + np.bitwise_and.reduce(eights, axis=1), 8)
    whole = least ^ bits
    part = np.repeat(eights.max(axis=1) * 0.25, 8) + np.repeat(warps.sum(axis=1) * 0.5, 32)
    ballot = ((fours & 1) << np.arange(4)).sum(axis=1)
    extra = fours[:, 2] + (fours > 50).any(axis=1) + (fours > 5).all(axis=1) + ballot
    part = part + np.where(np.arange(len(numbers)) // 4 % 2 == 1, np.repeat(extra, 4), 0)
    for w, row in enumerate(warps):
        big = np.flatnonzero(row > 30)
        v = row[big]
        up, down = np.concatenate([v[:1], v[:-1]]), np.concatenate([v[1:], v[-1:]])
        whole[w * 32 + big] += v.sum() * 7 + np.arange(len(big)) + up + down * 3
    return {1: whole, 2: part}


@oracle("reduce_last_block<false>")
def reduce_last_block(numbers: Any, partial: Any, out: Any, n: int) -> Expected:
    blocks = np.pad(numbers, (0, 3072 - n)).reshape(-1, 4, 256).sum(axis=(0, 2))
    return {1: blocks, 2: numbers.sum()}


@oracle("norm_layer")
def norm_layer(rows: Any, gain: Any, bias: Any, out: Any, fours: int, epsilon: float) -> Expected:
    x = rows.reshape(-1, 4 * fours).astype(np.float64)
    scaled = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + epsilon)
    return {3: scaled * gain + bias}


@oracle("norm_welford")
def norm_welford(rows: Any, mean: Any, variance: Any, pairs: int) -> Expected:
    x = rows.reshape(-1, 2 * pairs).astype(np.float64)
    return {1: x.mean(axis=1), 2: x.var(axis=1)}


def softmax(rows: Any) -> Any:
    e = np.exp(rows - rows.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@oracle("softmax_warps")
def softmax_warps(rows: Any, out: Any, count: int, n: int) -> Expected:
    return {1: softmax(rows.reshape(count, n).astype(np.float64))}


@oracle("softmax_online")
def softmax_online(rows: Any, out: Any, n: int) -> Expected:
    return {1: softmax(rows.reshape(-1, n).astype(np.float64))}


@oracle("cross_entropy")
def cross_entropy(rows: Any, target: Any, loss: Any, gradient: Any, n: int) -> Expected:
    x, real = rows.reshape(-1, n).astype(np.float64), (target >= 0)
    goal = np.arange(n) == target[:, None]
    losses = np.log(np.exp(x).sum(axis=1)) - np.where(goal, x, 0).sum(axis=1)
    return {2: np.where(real, losses, 0), 3: np.where(real[:, None], softmax(x) - goal, 0)}


@oracle("gated")
def gated(pairs: Any, out: Any, n: int) -> Expected:
    a, b = pairs.astype(np.float64).reshape(2, -1)
    return {1: np.clip((a / (1 + np.exp(-a))) * b, -3, 3)}


@oracle("rotate_pairs")
def rotate_pairs(pairs: Any, out: Any, heads: int) -> Expected:
    z = pairs.astype(np.float64).view(np.complex128).reshape(-1, heads, 32)
    angle = 2.0 ** (-np.arange(32) / 4) * np.arange(len(z))[:, None, None]
    return {1: (z * np.exp(1j * angle)).view(np.float64)}


@oracle("flash_attention")
def flash_attention(q: Any, k: Any, v: Any, out: Any, n: int, scale: float) -> Expected:
    a, b, c = (m.astype(np.float64).reshape(n, 64) for m in (q, k, v))
    scores = np.where(np.tri(n, dtype=bool), a @ b.T * scale * np.log(2), -np.inf)
    return {3: softmax(scores) @ c}


@oracle("bodies")
def bodies(given: Any, out: Any, n: int, tiles: int) -> Expected:
    p = given.astype(np.float64).reshape(-1, 4)
    blocks = 128 if tiles == 4 else 64  # the bodies that the launch moves
    r = p[None, :, :3] - p[:blocks, None, :3]
    a = (r * (p[:, 3] / ((r**2).sum(axis=2) + 0.01) ** 1.5)[..., None]).sum(axis=1)
    expected = np.zeros((n, 4))
    expected[:blocks] = np.hstack([a, p[:blocks, 3:]])
    return {1: expected}


@oracle("options")
def options(
    call: Any, put: Any, price: Any, strike: Any, years: Any, rate: float, volatility: float, n: int
) -> Expected:
    from math import erf

    def cumulative(d: Any) -> Any:
        return np.array([(1 + erf(v / 2**0.5)) / 2 for v in d])

    s, x, t = price * 25.0 + 5, strike * 99.0 + 1, years * 9.75 + 0.25
    d1 = (np.log(s / x) + (rate + 0.5 * volatility**2) * t) / (volatility * np.sqrt(t))
    d2, e = d1 - volatility * np.sqrt(t), np.exp(-rate * t)
    p, q = cumulative(d1), cumulative(d2)
    return {0: s * p - x * e * q, 1: x * e * (1 - q) - s * (1 - p)}


@oracle("binomial_registers")
def binomial_registers(price: Any, out: Any, up: float, down: float, step: float) -> Expected:
    s = price.astype(np.float64)[:, None] * 20 + 20
    v = np.maximum(s * np.exp(step * (2.0 * np.arange(513) - 511)) - 30, 0)[:, :512]
    edge = np.maximum(s * np.exp(step * (2.0 * 512 - 511)) - 30, 0)
    for _ in range(511):
        v = up * np.hstack([v[:, 1:], edge]) + down * v
    return {1: v[:, 0]}


@oracle("bisect")
def bisect(diagonal: Any, side: Any, out: Any, n: int, left: float, right: float, precision: float) -> Expected:
    s = side[1:].astype(np.float64)
    return {2: np.linalg.eigvalsh(np.diag(diagonal * 4.0) + np.diag(s, 1) + np.diag(s, -1))}


@oracle("jacobi_rows")
def jacobi_rows(a: Any, b: Any, x: Any, following: Any, error: Any) -> Expected:
    m = a.reshape(64, 64).astype(np.float64)
    d = (b - m @ x) / (m.diagonal() + 100)
    return {3: x + d, 4: abs(d).sum()}


@oracle("copy_by_group")
def copy_by_group(numbers: Any, out: Any, n: int) -> Expected:
    expected = np.zeros(128, np.int64)
    for base in range(0, n, 512):
        part = numbers[base : base + 512][::-1]
        np.add.at(expected, np.arange(len(part)) % 128, part * (np.arange(len(part)) + 1))
    return {1: expected}


@oracle("vote_kinds")
def vote_kinds(numbers: Any, out: Any, width: int) -> Expected:
    warps, t = numbers.reshape(-1, 32) != 0, np.arange(128)
    late = t >= width * 3 // 2
    wide = late.reshape(-1, 32)
    info = [np.repeat(wide.any(axis=1), 32), late, np.repeat(wide.all(axis=1), 32)]
    flags = np.stack(info, axis=1).astype(np.uint8).reshape(-1).view(np.uint32)
    return {1: np.concatenate([np.repeat(warps.any(axis=1), 32), np.repeat(warps.all(axis=1), 32), flags])}


@oracle("atomic_kinds")
def atomic_kinds(out: Any) -> Expected:
    """As if the threads came one after another."""
    n, five, six = 128, 0, 0
    masks = 255
    for i in range(n):
        five = 0 if five >= 17 else five + 1
        six = 137 if six == 0 or six > 137 else six - 1
        masks &= 2 * i + 7
    found = [10 * n, -10 * n, 77, n - 1, 0, five, six, n - 1, masks, -1, 0, 3 * n, 5 * n]
    return {0: found}


@oracle("interpolate")
def interpolate(table: Any, at: Any, out: Any, n: int) -> Expected:
    x = np.clip(at * np.float64(70) - 3, 0, 63.99)
    return {2: np.interp(x, np.arange(65), table)}


# ---- copies
@oracle("copy_patterns")
def copy_patterns(given: Any, source: Any, target: Any, out: Any) -> Expected:
    """Of several copies to one place, the last stays."""
    size = given.size // 2048
    pieces, expected = given.reshape(-1, size), np.zeros((out.size // size, size), np.uint8)
    for k, (a, b) in enumerate(zip(source, target, strict=True)):
        if b >= 0:
            expected[b] = pieces[a]
            assert (target[k // 32 * 32 : k // 32 * 32 + 32] == b).sum() == 1, "two lanes copy to one place"
    return {3: expected}


@oracle("shuffle_absent")
def shuffle_absent(given: Any, out: Any, n: int) -> Expected:
    """Shuffles among the first n threads get zeros from threads beyond. Among the first n, the odd threads shuffle by
    themselves."""
    lane = np.arange(32)
    there = np.where(lane < n, given, 0)
    inside = lane + 3 < 32
    down = np.where(inside, there[np.minimum(lane + 3, 31)], given)
    up = np.where(lane % 8 >= 2, there[lane - 2], given)
    others = np.where(lane & 1, 0, -1)
    rows = [down, there[lane ^ 9], there[(lane * 5 + 2) & 31], up]
    last = [others, *(np.full(32, -1) for _ in range(3))]
    return {1: np.where(lane < n, rows, last)}


@oracle("stream_groups")
def stream_groups(numbers: Any, out: Any, rows: int) -> Expected:
    parts = numbers.reshape(2, rows, 256)[:, :, (np.arange(128) * 2 + 1) % 256]
    return {1: (parts * (np.arange(rows) + 1)[:, None]).sum(axis=1)}


# ---- blocks
@oracle("reduce_cub")
def reduce_cub(numbers: Any, out: Any) -> Expected:
    rows = numbers.reshape(2, -1, 2)
    most = np.bitwise_xor.reduce(rows[:, :100], axis=2).max(axis=1)
    return {1: np.stack([rows.sum(axis=(1, 2)), most], axis=1)}


@oracle("scan_cub")
def scan_cub(numbers: Any, out: Any) -> Expected:
    rows = numbers.reshape(2, -1)
    return {1: np.cumsum(rows, axis=1) - rows + rows.sum(axis=1, keepdims=True) * 1000}


@oracle("radix_sort_cub")
def radix_sort_cub(keys: Any, out: Any, values: Any, end: int) -> Expected:
    """A stable sort, the greatest first."""
    order = np.argsort(-keys.reshape(2, -1).astype(np.int64), axis=1, kind="stable") + np.array([[0], [256]])
    return {1: keys[order], 2: order}


@oracle("merge_sort_cub")
def merge_sort_cub(keys: Any, out: Any) -> Expected:
    return {1: np.sort(keys.reshape(2, -1), axis=1)}


@oracle("merge_sort_warps")
def merge_sort_warps(keys: Any, out: Any) -> Expected:
    return {1: np.sort(keys.reshape(-1, 32), axis=1)[:, ::-1]}


@oracle("histogram_cub")
def histogram_cub(numbers: Any, out: Any) -> Expected:
    return {1: [np.bincount(row, minlength=64) for row in numbers.reshape(2, -1)]}


@oracle("exchange_cub")
def exchange_cub(numbers: Any, out: Any) -> Expected:
    """From runs of each thread to stripes, to the ranks, from stripes to runs, to stripes of each warp."""
    found = []
    for row in numbers.reshape(2, 256):
        striped = row.reshape(4, 64).T.reshape(-1)  # thread t holds t, t + 64, …
        ranked = np.empty(256, np.int32)
        ranked[np.arange(256) * 37 % 256] = striped
        runs = ranked.reshape(64, 4).T.reshape(-1)  # they were held as stripes, and are runs now
        found.append(runs.reshape(2, 4, 32).transpose(0, 2, 1))
    return {1: found}


@oracle("flags_cub")
def flags_cub(numbers: Any, out: Any, differences: Any) -> Expected:
    rows = numbers.reshape(2, -1)
    heads, tails = np.ones_like(rows), np.ones_like(rows)
    heads[:, 1:] = tails[:, :-1] = rows[:, 1:] != rows[:, :-1]
    halves = rows * 0.5
    return {1: heads * 2 + tails, 2: np.hstack([halves[:, :1], np.diff(halves, axis=1)])}


@oracle("warps_cub")
def warps_cub(numbers: Any, out: Any, counts: Any) -> Expected:
    t = np.arange(64) + np.zeros((2, 1), int)
    rows = numbers.reshape(2, 64).astype(np.int64)
    head = (t % 7 == 0) | (t % 32 == 0)
    segment = np.cumsum(head, axis=1)
    sums = [[row[part == p].sum() for p in part] for row, part in zip(rows, segment, strict=True)]
    return {1: np.maximum.accumulate(numbers.reshape(-1, 16), axis=1), 2: np.where(head, sums, 0)}


# ---- kernels of Numba's: each array takes several parameters
def arrays(*arguments: Any) -> list[Any]:
    return [a for a in arguments if np.ndim(a)]


@oracle("py_product")
def py_product(*arguments: Any) -> Expected:
    a, b, _ = arrays(*arguments)
    return {22: a.reshape(40, 29) @ b.reshape(29, 50)}


@oracle("py_reduce")
def py_reduce(*arguments: Any) -> Expected:
    return {11: arrays(*arguments)[0].sum()}


@oracle("py_scan")
def py_scan(*arguments: Any) -> Expected:
    (values, _) = arrays(*arguments)
    return {11: np.concatenate([np.cumsum(values[:256]), np.cumsum(values[256:])])}


@oracle("py_histogram")
def py_histogram(*arguments: Any) -> Expected:
    return {11: np.bincount(arrays(*arguments)[0], minlength=256)}


@oracle("py_bitonic")
def py_bitonic(*arguments: Any) -> Expected:
    return {4: np.sort(arrays(*arguments)[0].reshape(2, -1), axis=1)}


@oracle("py_stencil")
def py_stencil(*arguments: Any) -> Expected:
    p = np.pad(arrays(*arguments)[0].reshape(20, 50), 1, mode="edge")
    return {13: p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * p[1:-1, 1:-1]}


@oracle("py_transpose")
def py_transpose(*arguments: Any) -> Expected:
    return {13: arrays(*arguments)[0].reshape(64, 64).T}


@oracle("py_warps")
def py_warps(*arguments: Any) -> Expected:
    v = arrays(*arguments)[0].reshape(-1, 32)
    odd = v & 1
    big = v > 40
    first = v[np.arange(len(v)), big.argmax(axis=1)]
    own = np.where(big, first[:, None] * 3, v)
    return {11: v.sum(axis=1, keepdims=True) + (np.cumsum(odd, axis=1) - odd) * 1000 + own}


@oracle("py_jacobi")
def py_jacobi(*arguments: Any) -> Expected:
    a, b, _ = arrays(*arguments)
    return {20: np.linalg.solve(a.reshape(64, 64), b)}


@oracle("py_search")
def py_search(*arguments: Any) -> Expected:
    table, wanted, _ = arrays(*arguments)
    steps = []
    for n in wanted + 1:
        count = 0
        while n != 1 and count <= 60:
            n, count = n // 2 if n % 2 == 0 else 3 * n + 1, count + 1
        steps.append(count)
    return {18: np.searchsorted(table, wanted) * 100 + steps}


# ---- programs
@oracle("lud_diagonal")
def lud_diagonal(matrix: Any, n: int, offset: int) -> Expected:
    m = matrix.reshape(n, n).astype(np.float64)
    for k in range(15):
        m[k + 1 : 16, k] /= m[k, k]
        m[k + 1 : 16, k + 1 : 16] -= np.outer(m[k + 1 : 16, k], m[k, k + 1 : 16])
    return {0: m}


@oracle("lud_perimeter")
def lud_perimeter(matrix: Any, n: int, offset: int) -> Expected:
    m = matrix.reshape(n, n).astype(np.float64)
    d = m[:16, :16].copy()
    m[:16, 16:] = np.linalg.solve(np.tril(d, -1) + np.eye(16), m[:16, 16:])
    m[16:, :16] = np.linalg.solve(np.triu(d).T, m[16:, :16].T).T
    return {0: m}


@oracle("path_rows")
def path_rows(rows: int, wall: Any, source: Any, out: Any, columns: int, start: int, border: int) -> Expected:
    best = source
    for row in wall.reshape(-1, columns)[start : start + rows]:
        p = np.pad(best, 1, mode="edge")
        best = np.minimum(np.minimum(p[:-2], p[1:-1]), p[2:]) + row
    return {3: best}


@oracle("layer_forward")
def layer_forward(node: Any, weight: Any, partial: Any, hidden: int) -> Expected:
    rows = weight[: 17 * 65].reshape(65, 17)[1:, 1:] * node[1:, None]
    return {2: rows.reshape(4, 16, 16).sum(axis=1)}


@oracle("hash_messages")
def hash_messages(messages: Any, out: Any, length: int) -> Expected:
    found = [hashlib.sha256(row.tobytes()).digest() for row in messages.reshape(-1, length)]
    return {1: np.frombuffer(b"".join(found), ">u4")}


@oracle("check_sums")
def check_sums(messages: Any, length: Any, out: Any, pitch: int) -> Expected:
    return {2: [zlib.crc32(row[:n].tobytes()) for row, n in zip(messages.reshape(-1, pitch), length, strict=True)]}


@oracle("queens")
def queens(out: Any, n: int) -> Expected:
    boards = (np.array(board) for board in permutations(range(n)))
    return {0: sum(all(len({*(b + s * np.arange(n))}) == n for s in (1, -1)) for b in boards)}


@oracle("quick_sort")
def quick_sort(data: Any, other: Any, n: int) -> Expected:
    return {0: np.sort(data.reshape(-1, n), axis=1)}


@oracle("automaton")
def automaton(text: Any, moves: Any, out: Any, n: int) -> Expected:
    found = np.full(len(out), -1)
    for first in range(n):
        state = 1
        for k in range(first, n):
            state = moves[state * 4 + (text[k] & 3)]
            if state >= 12:
                found[first] = k + 1 - first
            if state in (0, 15):
                break
    return {2: found}


@oracle("price_paths")
def price_paths(out: Any, paths: int, steps: int) -> Expected:
    gains = np.zeros(256, np.int64)
    squares = np.zeros(256, np.int64)
    state = np.arange(256, dtype=np.uint32) * np.uint32(747796405) + np.uint32(2891336453)
    for path in range(0, paths, 128):
        runs = np.arange(256) % 128 + path < paths
        v = np.full(256, 64)
        for _ in range(steps):
            moves = runs & (v > 0)
            state = np.where(moves, state * np.uint32(1664525) + np.uint32(1013904223), state)
            v = np.where(moves, v + (state >> 30).astype(int) - 1, v)
        gain = np.where(runs, np.maximum(v - 60, 0), 0)
        gains, squares = gains + gain, squares + gain * gain
    return {0: np.stack([gains.reshape(2, -1).sum(axis=1), squares.reshape(2, -1).sum(axis=1)], axis=1)}


@oracle("neighbours")
def neighbours(place: Any, start: Any, end: Any, out: Any, n: int, cells: int, reach: int) -> Expected:
    x, y = place.reshape(-1, 2).T
    p = np.arange(n)
    known = (start[p // 8] >= 0) & (p < end[p // 8])
    near = (abs(x[:, None] // 16 - x // 16) <= 1) & (abs(y[:, None] // 16 - y // 16) <= 1)
    close = (x[:, None] - x) ** 2 + (y[:, None] - y) ** 2 <= reach
    return {3: (near & close & known & (p[:, None] != p)).sum(axis=1)}


@oracle("contours")
def contours(height: Any, out: Any, count: Any, n: int, level: int) -> Expected:
    above, found = height.reshape(n, n) > level, []
    for y, x in np.ndindex(8, 16):
        corner = above[y, x], above[y, x + 1], above[y + 1, x + 1], above[y + 1, x]
        found += [(y * n + x) * 4 + e for e in range(4) if corner[e] != corner[(e + 1) % 4]]
    return {1: [*found, *[-1] * (len(out) - len(found))], 2: len(found)}
