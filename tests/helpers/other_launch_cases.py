"""The launches of tests/data/timing/other_launches.cu: 37 further kinds, written before any was simulated."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from helpers.launch_cases import Case, Kind, bytes_, cases_of, floats, ints, matrix, zeros

i32, f32 = np.int32, np.float32


def words(n: int, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 32, n, dtype=np.uint32)


def long_words(n: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, 1 << 63, n)


def heavy_on_diagonals(n: int) -> np.ndarray:
    """Matrices of 32 x 32."""
    return (floats(1024 * n).reshape(-1, 32, 32) + 32 * np.eye(32, dtype=f32)).ravel()


def halves(n: int, seed: int = 1) -> np.ndarray:
    return (floats(n, seed) * 4 - 2).astype(np.float16)


def segments(n: int, mean: int) -> np.ndarray:
    """Where segments begin of which some are many times as long as most."""
    lengths = np.random.default_rng(6).geometric(1 / mean, n)
    return np.concatenate([[0], np.cumsum(lengths)]).astype(i32)


def summed(n: int, mean: int) -> list[Any]:
    begins = segments(n, mean)
    return [zeros(n), begins, floats(int(begins[-1])), i32(n)]


def ranked(nodes: int, each: int) -> list[Any]:
    begins, edges, _ = matrix(nodes, each)
    return [zeros(nodes), begins, edges, floats(nodes), ints(nodes, 16) + i32(1), i32(nodes)]


KINDS: list[Kind] = [
    ("streams", "triad", "{}", 256, ((1 << 20,), (1 << 23,)),
     lambda n: (n // 1024, [zeros(n), floats(n), floats(n, 2), f32(1.5)])),
    ("streams", "gelu", "{} x {}", 512, ((1 << 19, 264), (1 << 22, 528)),
     lambda n, blocks: (blocks, [zeros(2 * n, np.float16), halves(2 * n), halves(1024, 2), i32(n)])),
    ("streams", "im2col", "{}", 288, ((64,), (128,)),
     lambda n: (n * n // 2, [zeros(n * n * 144), floats(16 * n * n), i32(n)])),
    ("streams", "pack_signs", "{}", 1024, ((1 << 18,), (1 << 22,)),
     lambda n: (n // 1024, [zeros(n // 32, i32), floats(n), f32(0.5)])),
    ("sums", "min_max", "{} x {}", 1024, ((1 << 18, 132), (1 << 22, 132)),
     lambda n, blocks: (blocks, [np.array([1 << 30, 0], i32), floats(n), i32(n // 4)])),
    ("sums", "batch_norm", "{} x {}", 512, ((64, 1024), (512, 784)),
     lambda c, n: (c, [zeros(8 * c * n), floats(8 * c * n), floats(c, 2), i32(c), i32(n)])),
    ("sums", "softmax_gradient", "{} x {}", 128, ((4096, 512), (8192, 1000)),
     lambda r, n: (r // 4, [zeros(r * n), floats(r * n), floats(r * n, 2), i32(n)])),
    ("sums", "segment_sums", "{} x {}", 256, ((4096, 100), (100000, 40)),
     lambda n, mean: (-(-n // 8), summed(n, mean))),
    ("scans", "scan_rows", "{}", 512, ((200,), (2048,)),
     lambda n: (n, [zeros(2048 * n), floats(2048 * n)])),
    ("sorts", "merge_sort", "{}", 256, ((132,), (1500,)),
     lambda n: (n, [ints(512 * n, 1 << 30)])),
    ("sparse", "ell_product", "{} x {}", 256, ((8192, 24), (65536, 24)),
     lambda n, k: (n // 256, [zeros(n), ints(n * k, n) - i32(n // 8), floats(n * k), floats(n, 2), i32(n), i32(k)])),
    ("sparse", "coo_product", "{} of {}", 256, ((1 << 17, 8192), (1 << 20, 65536)),
     lambda n, r: (n // 256, [zeros(r), np.sort(ints(n, r)), ints(n, r, 3), floats(n), floats(r, 2), i32(n)])),
    ("graphs", "page_rank", "{} x {}", 256, ((1 << 15, 12), (1 << 18, 12)),
     lambda n, k: (n // 256, ranked(n, k))),
    ("graphs", "walks", "{} x {}", 128, ((1 << 14, 16), (1 << 17, 16)),
     lambda n, k: (n // 128, [zeros(n, i32), *matrix(1 << 16, 8)[:2], i32(1 << 16), i32(k)])),
    ("tables", "joint_histogram", "{} x {}", 512, ((1 << 19, 132), (1 << 22, 528)),
     lambda n, blocks: (blocks, [zeros(1024, i32), bytes_(n), bytes_(n, 3), i32(n)])),
    ("tables", "insert_keys", "{} of {}", 256, ((1 << 16, 1 << 18), (1 << 19, 1 << 20)),
     lambda n, size: (n // 256, [zeros(size, np.uint32), words(n), np.uint32(size - 1)])),
    ("tables", "hash_keys", "{}", 128, ((1 << 15,), (1 << 19,)),
     lambda n: (n // 128, [zeros(n, np.uint32), words(16 * n)])),
    ("stencils", "wave", "{}", (32, 16), ((256,), (1024,)),
     lambda n: ((n // 32, n // 16), [zeros(n * n), floats(n * n), floats(n * n, 2), i32(n)])),
    ("stencils", "seismic", "{}", (32, 8), ((64,), (192,)),
     lambda n: ((n // 32, n // 8), [zeros(n**3), floats(n**3), i32(n)])),
    ("pictures", "blur_columns", "{} by {}", 64, ((1024, 32), (2048, 64)),
     lambda n, rows: ((n // 64, n // rows), [zeros(n * n), floats(n * (n + 8)), i32(n), i32(rows)])),
    ("pictures", "bilateral", "{}", (32, 8), ((256,), (1024,)),
     lambda n: ((n // 32, n // 8), [zeros(n * n), floats((n + 4) ** 2), i32(n)])),
    ("pictures", "rotate_picture", "{}", (16, 16), ((512,), (2048,)),
     lambda n: ((n // 16, n // 16), [zeros(n * n), floats(n * n), i32(n), f32(0.8660254), f32(0.5)])),
    ("pictures", "median_picture", "{}", (32, 8), ((512,), (2048,)),
     lambda n: ((n // 32, n // 8), [zeros(n * n, np.uint8), bytes_((n + 2) ** 2), i32(n)])),
    ("pictures", "cosines", "{}", (32, 8), ((256,), (2048,)),
     lambda n: ((n // 32, n // 8), [zeros(n * n), floats(n * n), i32(n)])),
    ("pictures", "depthwise", "{}", (32, 8), ((32,), (64,)),
     lambda n: ((n // 8, n), [zeros(n * n * 128), floats((n + 4) ** 2 * 128), floats(25 * 128, 2), i32(n)])),
    ("pictures", "newton_picture", "{}", (32, 4), ((256,), (1024,)),
     lambda n: ((n // 32, n // 4), [zeros(n * n, i32), i32(n), f32(4)])),
    ("products", "product128", "{}", 256, ((512,), (1024,)),
     lambda n: ((n // 128, n // 128), [zeros(n * n), floats(n * n), floats(n * n, 2), i32(n)])),
    ("products", "product_bytes", "{}", (16, 16), ((256,), (768,)),
     lambda n: ((n // 32, n // 32), [zeros(n * n, i32), words(n * n // 4), words(n * n // 4, 3), i32(n)])),
    ("products", "distances", "{}", (16, 16), ((512,), (2048,)),
     lambda n: ((n // 16, n // 16), [zeros(n * n), floats(n * 32), floats(n * 32, 2), i32(n)])),
    ("products", "flash", "{} x {}", 128, ((16896, 128), (33792, 512)),
     lambda n, k: (n // 128, [zeros(n * 32), *(floats(r * 32, seed) for r, seed in ((n, 1), (k, 2), (k, 3))), i32(k)])),
    ("products", "lu_warps", "{}", 128, ((528,), (8192,)),
     lambda n: (n // 4, [zeros(1024 * n), heavy_on_diagonals(n)])),
    ("bodies", "lennard_jones", "{} x {}", 128, ((8192, 32), (65536, 32)),
     lambda n, k: (n // 128, [zeros(4 * n), floats(4 * n), ints(n * k, n), i32(n), i32(k)])),
    ("chances", "options_by_chance", "{} x {}", 256, ((132, 64), (1320, 32)),
     lambda blocks, n: (blocks, [zeros(blocks), i32(n), f32(0.01), f32(0.2)])),
    ("chances", "binomial_trees", "{} x {}", 256, ((264, 128), (2000, 128)),
     lambda n, steps: (n, [zeros(n), floats(n) + f32(0.5), i32(steps)])),
    ("texts", "viterbi", "{} x {}", 64, ((132, 64), (1056, 64)),
     lambda n, k: (n, [zeros(64 * n * k, np.uint8), floats(4096), floats(64 * 16, 2), bytes_(n * k, 2, 16), i32(k)])),
    ("texts", "common_letters", "{} x {}", 128, ((1 << 14, 64), (1 << 17, 128)),
     lambda n, k: (n // 128, [zeros(n, i32), bytes_(n * k), long_words(256), i32(k)])),
    ("texts", "sha256", "{}", 256, ((1 << 15,), (1 << 19,)),
     lambda n: (n // 256, [zeros(8 * n, np.uint32), words(16 * n), words(64, 3)])),
]  # fmt: skip


def other_cases() -> Iterator[Case]:
    return cases_of(KINDS)
