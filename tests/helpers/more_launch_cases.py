"""The launches of tests/data/timing/more_launches.cu: kernels of 28 more kinds, written before any was simulated."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from helpers.launch_cases import Case, floats, row, zeros


def ints(n: int, most: int, seed: int = 2, kind: npt.DTypeLike = np.int32) -> npt.NDArray[np.int32]:
    return np.random.default_rng(seed).integers(0, most, n).astype(kind)


def hash_table(size: int, looked_up: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Half full, with open addresses; and keys of which half are there."""
    g = np.random.default_rng(5)
    table = np.full((size, 2), -1, np.int32)
    keys = g.integers(0, 1 << 30, size // 2).astype(np.int32)
    at = (keys.astype(np.uint32) * np.uint32(2654435761)) & np.uint32(size - 1)
    while len(keys):  # those whose place is free, then the others a place further
        free = table[at, 0] < 0
        first = np.unique(at[free], return_index=True)[1]
        where = np.flatnonzero(free)[first]
        table[at[where], 0], table[at[where], 1] = keys[where], where
        left = np.ones(len(keys), bool)
        left[where] = False
        keys, at = keys[left], (at[left] + np.uint32(1)) & np.uint32(size - 1)
    others = g.integers(0, 1 << 30, size // 2).astype(np.int32)
    return table, g.choice(np.concatenate([table[table[:, 0] >= 0, 0], others]), looked_up).astype(np.int32)


def more_cases() -> Iterator[Case]:
    for n in (256, 4096, 24576):
        yield row("norm", "layer_norm", n, n, 256, zeros(n * 1024), floats(n * 1024), floats(1024), floats(1024, 2))
    for n, h in ((512, 32), (4096, 32)):
        yield row("rotate", "rotate", f"{n} x {h}", n, 256, floats(n * h * 64), ints(n, 2048), np.int32(h))
    for n, each in ((256, 8192), (1024, 32000)):
        yield row(
            "loss", "cross_entropy", f"{n} x {each}", n, 128, zeros(n), floats(n * each), ints(n, each), np.int32(each)
        )
    for n in (1 << 18, 1 << 22):
        yield row("random", "dropout", n, n // 1024, 256, zeros(n), floats(n), np.uint32(7), np.uint32(3435973836))
    for n in (1 << 18, 1 << 21, 1 << 24):
        yield row(
            "steps",
            "adam",
            n,
            n // 256,
            256,
            floats(n),
            floats(n, 2),
            floats(n, 3),
            floats(n, 4),
            np.float32(1e-4),
            np.int32(n),
        )
    for n in (256, 1024):
        yield row("stencils", "pool", n, (n // 32, n // 8), (32, 8), zeros(n * n), floats(4 * n * n), np.int32(n))
    for n, c, d in ((64, 16, 16), (128, 32, 8)):
        yield row(
            "stencils",
            "convolve2d",
            f"{n} x {c} to {d}",
            (n // 16, n // 16, d),
            (16, 16),
            zeros(n * n * d),
            floats((n + 2) ** 2 * c),
            floats(c * d * 9),
            np.int32(n),
            np.int32(c),
        )
    for n in (512, 1024):
        halves = [floats(n * n, k).astype(np.float16) for k in (1, 2)]
        yield row("products", "product_halves", n, (n // 64, n // 64), 128, zeros(n * n), *halves, np.int32(n))
    for rows_, pairs in ((1024, 2048), (16384, 1024)):
        yield row(
            "vectors",
            "vector_halves",
            f"{rows_} x {pairs}",
            rows_ // 8,
            256,
            zeros(rows_),
            floats(2 * rows_ * pairs).astype(np.float16),
            floats(2 * pairs, 2).astype(np.float16),
            np.int32(pairs),
        )
    for n in (1 << 16, 1 << 20):
        yield row("clusters", "nearest_centre", n, n // 256, 256, zeros(n, np.int32), floats(4 * n), floats(256, 2))
    for n, k in ((1 << 15, 64), (1 << 18, 1024)):
        yield row(
            "clusters",
            "add_to_centres",
            f"{n} to {k}",
            n // 256,
            256,
            zeros(4 * k),
            zeros(k, np.int32),
            floats(4 * n),
            ints(n, k),
        )
    for n, table, each in ((2048, 8192, 16), (8192, 1 << 18, 16), (4096, 1 << 17, 8)):
        yield row(
            "gathers",
            "bag",
            f"{n} of {table} x {each}",
            n // 8,
            256,
            zeros(n * 128),
            floats(table * 128),
            ints(n * each, table),
            np.int32(each),
        )
    for n, size in ((1 << 17, 1 << 16), (1 << 20, 1 << 24)):
        table, keys = hash_table(size, n)
        given = zeros(n, np.int32), table.ravel(), keys, np.uint32(size - 1)
        yield row("gathers", "probe", f"{n} of {size}", n // 256, 256, *given)
    for r, c, y in ((1024, 1024, 16), (4096, 4096, 64)):
        yield row(
            "sums", "column_sums", f"{r} x {c}", (c // 128, y), 128, zeros(c), floats(r * c), np.int32(r), np.int32(c)
        )
    for n in (1 << 20, 1 << 24):
        yield row("sums", "dot", n, 264, 512, zeros(1), floats(n), floats(n, 2), np.int32(n // 4))
    for blocks in (128, 2048):
        yield row("trees", "largest", blocks, blocks, 512, zeros(blocks, np.int32), floats(1024 * blocks))
    for blocks in (132, 1056, 4224):
        yield row("transforms", "hadamard", blocks, blocks, 256, floats(1024 * blocks))
    for blocks in (256, 4224):
        yield row(
            "texts",
            "align",
            blocks,
            blocks,
            64,
            zeros(blocks, np.int32),
            ints(64 * blocks, 4, kind=np.uint8),
            ints(64 * blocks, 4, 3, np.uint8),
        )
    for blocks in (264, 2640):
        matrix = (floats(256 * blocks).reshape(-1, 16, 16) + 16 * np.eye(16, dtype=np.float32)).ravel()
        yield row("solvers", "cholesky", blocks, blocks, 256, matrix.astype(np.float32))
    for n in (256, 1024):
        yield row(
            "lattices",
            "lattice",
            n,
            (n // 128, n),
            128,
            zeros(9 * n * n),
            floats(9 * n * n) + np.float32(1),
            np.int32(n),
        )
    for n, systems in ((128, 8192), (64, 65536)):
        yield row(
            "solvers",
            "tridiagonal",
            f"{n} x {systems}",
            systems // 128,
            128,
            zeros(n * systems),
            floats(n * systems),
            np.int32(n),
            np.int32(systems),
        )
    for n in (1 << 17, 1 << 21):
        yield row(
            "options",
            "options",
            n,
            n // 256,
            256,
            zeros(n),
            zeros(n),
            floats(n) + np.float32(1),
            floats(n, 2) + np.float32(1),
            floats(n, 3) + np.float32(0.1),
        )
    for n in (2048, 16384):
        yield row("halves", "quantize", n, n // 4, 128, zeros(n * 512, np.int8), zeros(n), floats(n * 512))
    for b, t, h in ((1, 1024, 16), (4, 2048, 16)):
        yield row(
            "transposes",
            "permute",
            f"{b} x {t} x {h}",
            (t, b),
            256,
            zeros(b * t * h * 64),
            floats(b * t * h * 64),
            np.int32(h),
        )
    for n in (128, 384):
        yield row(
            "products",
            "product_doubles",
            n,
            (n // 16, n // 16),
            (16, 16),
            zeros(n * n, np.float64),
            floats(n * n).astype(np.float64),
            floats(n * n, 2).astype(np.float64),
            np.int32(n),
        )
    for width, n in ((256, 64), (1024, 64)):
        s = np.stack(
            [floats(n, k) * (2 if k < 4 else 1) - (1 if k < 3 else 0) + (3 if k == 3 else 0) for k in (1, 2, 3, 4)], 1
        ).astype(np.float32)
        s[:, 3] = floats(n, 4) * np.float32(0.3)
        yield row(
            "pictures",
            "spheres",
            f"{width} x {n}",
            (width // 16, width // 16),
            (16, 16),
            zeros(width * width),
            s.ravel(),
            np.int32(n),
            np.int32(width),
        )
    for n in (1 << 16, 1 << 20):
        yield row(
            "sorts",
            "merge",
            n,
            2 * n // 8 // 256,
            256,
            zeros(2 * n, np.int32),
            np.sort(ints(n, 1 << 30)),
            np.sort(ints(n, 1 << 30, 3)),
            np.int32(n),
        )
    for n in (512, 2048):
        yield row(
            "stencils",
            "sobel",
            n,
            (n // 32, n // 8),
            (32, 8),
            zeros(n * n, np.uint8),
            ints((n + 2) ** 2, 256, kind=np.uint8),
            np.int32(n),
        )
