"""The launches of tests/data/timing/daily_launches.cu: 28 kinds that courses and samples have, written before any was
simulated."""

from collections.abc import Iterator

import numpy as np

from helpers.launch_cases import Case, Kind, bytes_, cases_of, floats, ints, zeros

i32, f32 = np.int32, np.float32


KINDS: list[Kind] = [
    ("streams", "add_vectors", "{}", 256, ((50000,), (1 << 22,)),
     lambda n: (-(-n // 256), [zeros(n), floats(n), floats(n, 2), i32(n)])),
    ("streams", "black_scholes", "{}", 128, ((1 << 16,), (1 << 21,)),
     lambda n: (n // 128, [zeros(n), zeros(n), floats(n), floats(n, 2), floats(n, 3), f32(0.02), f32(0.3)])),
    ("streams", "move_particles", "{}", 256, ((1 << 15,), (1 << 19,)),
     lambda n: (n // 256, [floats(8 * n), f32(0.01)])),
    ("streams", "gray_of_bytes", "{}", 256, ((1 << 18,), (1 << 22,)),
     lambda n: (n // 256, [zeros(n, np.uint8), bytes_(3 * n), i32(n)])),
    ("streams", "relu_of_halves", "{} x {}", 256, ((1 << 18, 528), (1 << 22, 1056)),
     lambda n, blocks: (blocks, [(floats(2 * n) - f32(0.5)).astype(np.float16), i32(n)])),
    ("sums", "sum_interleaved", "{}", 256, ((1024,), (16384,)),
     lambda blocks: (blocks, [zeros(blocks), floats(256 * blocks)])),
    ("sums", "sum_unrolled", "{} x {}", 512, ((1 << 18, 64), (1 << 22, 528)),
     lambda n, blocks: (blocks, [zeros(blocks), floats(n), i32(n)])),
    ("sums", "dot_product", "{} x {}", 256, ((1 << 18, 128), (1 << 22, 1024)),
     lambda n, blocks: (blocks, [zeros(1), floats(n), floats(n, 2), i32(n)])),
    ("sums", "layer_norm", "{} x {}", 256, ((512, 768), (4096, 1024)),
     lambda rows, n: (rows, [zeros(rows * n), floats(rows * n), floats(n, 2), floats(n, 3), i32(n)])),
    ("sums", "softmax_rows", "{} x {}", 256, ((256, 1024), (4096, 512)),
     lambda rows, n: (rows, [zeros(rows * n), floats(rows * n), i32(n)])),
    ("scans", "scan_hillis", "{}", 512, ((128,), (2048,)),
     lambda blocks: (blocks, [zeros(512 * blocks, i32), zeros(blocks, i32), ints(512 * blocks, 9)])),
    ("scans", "add_of_blocks", "{}", 512, ((256,), (8192,)),
     lambda blocks: (blocks, [ints(512 * blocks, 9), ints(blocks, 9)])),
    ("products", "product_naive", "{}", (16, 16), ((256,), (1024,)),
     lambda n: ((n // 16, n // 16), [zeros(n * n), floats(n * n), floats(n * n, 2), i32(n)])),
    ("products", "product_in_tiles", "{}", (32, 32), ((256,), (1024,)),
     lambda n: ((n // 32, n // 32), [zeros(n * n), floats(n * n), floats(n * n, 2), i32(n)])),
    ("products", "vector_by_threads", "{} x {}", 128, ((4096, 256), (32768, 512)),
     lambda rows, n: (rows // 128, [zeros(rows), floats(rows * n), floats(n, 2), i32(n)])),
    ("products", "batched_products", "{}", 256, ((1000,), (16000,)),
     lambda n: (n // 4, [zeros(64 * n), floats(64 * n), floats(64 * n, 2)])),
    ("transposes", "transpose_naive", "{}", (32, 8), ((512,), (2048,)),
     lambda n: ((n // 32, n // 32), [zeros(n * n), floats(n * n), i32(n)])),
    ("transposes", "transpose_shared", "{}", (32, 8), ((512,), (2048,)),
     lambda n: ((n // 32, n // 32), [zeros(n * n), floats(n * n), i32(n)])),
    ("stencils", "jacobi", "{}", (16, 16), ((512,), (2048,)),
     lambda n: ((n // 16, n // 16), [zeros(n * n), floats(n * n), i32(n)])),
    ("stencils", "stencil_of_27", "{}", (8, 8, 8), ((64,), (128,)),
     lambda n: ((n // 8, n // 8, n // 8), [zeros((n + 2) ** 3), floats((n + 2) ** 3), i32(n)])),
    ("pictures", "sobel", "{}", (16, 16), ((512,), (2048,)),
     lambda n: ((n // 16, n // 16), [zeros(n * n, np.uint8), bytes_((n + 2) ** 2), i32(n)])),
    ("pictures", "largest_of_fours", "{}", (32, 8), ((256,), (1024,)),
     lambda n: ((n // 32, n // 8), [zeros(n * n), floats(4 * n * n), i32(n)])),
    ("pictures", "convolve_picture", "{}", (32, 8), ((256,), (1024,)),
     lambda n: ((n // 32, n // 8), [zeros(n * n), floats(n * n), floats(49, 2), i32(n)])),
    ("pictures", "julia", "{}", (16, 16), ((256,), (1024,)),
     lambda n: ((n // 16, n // 16), [zeros(n * n, np.uint8), i32(n), f32(-0.8), f32(0.156)])),
    ("tables", "count_letters", "{} x {}", 256, ((1 << 18, 132), (1 << 23, 528)),
     lambda n, blocks: (blocks, [zeros(26, np.uint32), bytes_(n, most=26), i32(n)])),
    ("points", "assign_means", "{} x {}", 256, ((1 << 16, 16), (1 << 20, 32)),
     lambda n, k: (n // 256, [zeros(n, i32), floats(2 * n), floats(2 * k, 2), i32(n), i32(k)])),
    ("points", "forces", "{} x {}", 256, ((8192, 1024), (65536, 1024)),
     lambda n, m: (n // 256, [zeros(4 * n), floats(4 * n), i32(m), f32(0.01)])),
    ("points", "darts_of_threads", "{} x {}", 256, ((132, 200), (1320, 100)),
     lambda blocks, n: (blocks, [zeros(1, np.uint32), i32(n)])),
]  # fmt: skip


def daily_cases() -> Iterator[Case]:
    return cases_of(KINDS)
