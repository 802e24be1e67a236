"""The launches of tests/data/timing/launches.cu that one H200 was measured with: kernels as people write them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import banksim
from banksim.runs.outcome import Run
from banksim.timing.whole_grid import estimate

IN_PLACE = {
    "sort_step": 1,
    "sort_shared": 1,
    "paths": 1,
    "breadth_first": 1,
    "insert_keys": 1,
    "merge_sort": 1,
    "cholesky": 60,
}
"""Kernels whose later launches, which were measured, find what so many before have left. Factors of factors come to
diverge: in the midst of those that were measured a fifth are no numbers, and divisions by these take longer."""
Grid = int | tuple[int, ...]


class Case(NamedTuple):
    """One launch, of a family of kernels; `name` stands in h200_launches.json."""

    family: str
    name: str
    kernel: str
    grid: Grid
    block: Grid
    given: list[Any]


def microseconds_of(run: Run) -> float:
    """The estimate for a launch that was timed."""
    assert run.cycles is not None
    found = estimate(run.launch, run.cycles).microseconds
    assert found is not None
    return found


def timed(case: Case, kernel: Any, **how: Any) -> Run:
    """A launch as it was measured."""
    for _ in range(IN_PLACE.get(case.kernel, 0)):
        banksim.run(kernel, case.grid, case.block, case.given)
    return banksim.run(kernel, case.grid, case.block, case.given, timing=True, **how)


def floats(n: int, seed: int = 1) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).random(n, dtype=np.float32)


def ints(n: int, most: int, seed: int = 2) -> npt.NDArray[np.int32]:
    return np.random.default_rng(seed).integers(0, most, n, dtype=np.int32)


def bytes_(n: int, seed: int = 2, most: int = 256) -> npt.NDArray[np.uint8]:
    return ints(n, most, seed).astype(np.uint8)


def zeros(n: int, kind: Any = np.float32) -> npt.NDArray[Any]:
    return np.zeros(n, kind)


def matrix(rows: int, each: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """A sparse one: where its rows begin, columns and values."""
    g = np.random.default_rng(3)
    lengths = g.integers(each // 2, each * 3 // 2 + 1, rows)
    begins = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return begins, g.integers(0, rows, begins[-1], dtype=np.int32), floats(int(begins[-1]))


def row(family: str, kernel: str, what: object, grid: Grid, block: Grid, *given: Any) -> Case:
    return Case(family, f"{kernel} {what}", kernel, grid, block, list(given))


def cases() -> Iterator[Case]:
    for n, blocks in ((1 << 17, 128), (1 << 20, 528), (1 << 22, 1056)):
        yield row("sums", "sum_strided", n, blocks, 256, zeros(1), floats(n), np.int32(n))
    for blocks in (60, 512, 4096):
        yield row("sums", "sum_tree", blocks, blocks, 512, zeros(blocks), floats(1024 * blocks))
    for blocks in (100, 1024, 3000):
        given = zeros(1024 * blocks, np.int32), zeros(blocks, np.int32), ints(1024 * blocks, 9)
        yield row("scans", "scan_blocks", blocks, blocks, 256, *given)
    for blocks in (132, 700, 4000):
        yield row("scans", "scan_shared", blocks, blocks, 256, zeros(512 * blocks), floats(512 * blocks))
    for n in (256, 1024, 2048):
        yield row("stencils", "heat", n, (n // 32, n // 8), (32, 8), zeros(n * n), floats(n * n), np.int32(n))
    for n in (64, 96, 160):
        yield row("stencils", "laplace3d", n, (n // 32, n // 4), (32, 4), zeros(n**3), floats(n**3), np.int32(n))
    for n in (256, 1024, 2048):
        given = zeros(n * n, np.uint8), ints(n * n, 2).astype(np.uint8), np.int32(n)
        yield row("stencils", "life", n, (n // 16, n // 16), (16, 16), *given)
    for n in (128, 256, 512):
        given = zeros(n * n), floats(n * n), floats(n * n, 5), np.int32(n)
        yield row("products", "product16", n, (n // 16, n // 16), (16, 16), *given)
    for n in (256, 512, 1024):
        given = zeros(n * n), floats(n * n), floats(n * n, 5), np.int32(n)
        yield row("products", "product64", n, (n // 64, n // 64), 256, *given)
    for rows, n in ((512, 512), (2048, 1024), (1024, 4096)):
        given = zeros(rows), floats(rows * n), floats(n, 5), np.int32(n)
        yield row("products", "vector_product", f"{rows} x {n}", rows // 8, 256, *given)
    for n in (256, 1024, 1792):
        yield row("transposes", "transpose", n, (n // 32, n // 32), (32, 8), zeros(n * n), floats(n * n), np.int32(n))
    for rows, each in ((4096, 16), (32768, 16), (65536, 32)):
        given = zeros(rows), *matrix(rows, each), floats(rows), np.int32(rows)
        yield row("sparse", "rows_of_matrix", f"{rows} x {each}", rows // 128, 128, *given)
        yield row("sparse", "warps_of_matrix", f"{rows} x {each}", rows // 8, 256, *given)
    for n, table in ((1 << 16, 1 << 16), (1 << 20, 1 << 18), (1 << 20, 1 << 22)):
        yield row("gathers", "gather", f"{n} of {table}", n // 256, 256, zeros(n), floats(table), ints(n, table))
        yield row("scatters", "scatter", f"{n} to {table}", n // 256, 256, zeros(table), floats(n), ints(n, table))
    for rows, table in ((2048, 8192), (32768, 8192), (65536, 32768)):
        given = zeros(rows * 64), floats(table * 64), ints(rows, table)
        yield row("gathers", "embed", f"{rows} of {table}", rows // 16, 256, *given)
    for n, blocks in ((1 << 18, 64), (1 << 21, 264), (1 << 23, 1056)):
        given = zeros(256, np.int32), ints(n, 256).astype(np.uint8), np.int32(n)
        yield row("histograms", "histogram_shared", n, blocks, 256, *given)
    for n, bins in ((1 << 16, 1024), (1 << 19, 256), (1 << 19, 65536)):
        given = zeros(bins, np.int32), ints(n, bins)
        yield row("histograms", "histogram_global", f"{n} to {bins}", n // 256, 256, *given)
    for n, places in ((1 << 16, 4096), (1 << 19, 4096), (1 << 20, 1 << 18)):
        given = zeros(places), ints(n, places), floats(n)
        yield row("additions", "add_scattered", f"{n} to {places}", n // 256, 256, *given)
    for n in (1 << 15, 1 << 18, 1 << 21):
        given = zeros(n, np.int32), zeros(1, np.uint32), ints(n, 1000), np.uint32(n - 1)
        yield row("additions", "compact", n, n // 256, 256, *given)
    for rows, n in ((128, 128), (1024, 256), (2048, 512)):
        given = zeros(rows * 64), floats(rows * 64), floats(n * 64), floats(n * 64), np.int32(n)
        yield row("attention", "attention", f"{rows} x {n}", rows // 4, 128, *given)
    for rows, n in ((128, 1000), (2000, 1000), (1000, 4000)):
        yield row("softmax", "softmax", f"{rows} x {n}", rows, 256, zeros(rows * n), floats(rows * n), np.int32(n))
    for rows in (512, 4096, 8192):
        yield row("softmax", "normalize", rows, rows // 4, 128, zeros(rows * 512), floats(rows * 512), floats(512))
    for n, j in ((1 << 17, 16), (1 << 20, 1 << 10), (1 << 22, 1 << 18)):
        yield row("sorts", "sort_step", f"{n} by {j}", n // 512, 512, ints(n, 1 << 30), np.int32(j), np.int32(2 * j))
    for blocks in (100, 528, 1500):
        yield row("sorts", "sort_shared", blocks, blocks, 512, ints(1024 * blocks, 1 << 30))
    for blocks in (64, 512, 2048):
        given = zeros(16 * blocks, np.int32), ints(2048 * blocks, 1 << 30).astype(np.uint32), np.int32(8)
        yield row("sorts", "digits", blocks, blocks, 256, *given)
    for n, stride in ((1 << 18, 2), (1 << 18, 8), (1 << 17, 33)):
        given = zeros(n), floats(n * stride), np.int32(stride)
        yield row("copies", "copy_strided", f"{n} by {stride}", n // 256, 256, *given)
    for n in (2000, 10000, 50000, 3000000):
        yield row("copies", "saxpy", n, -(-n // 256), 256, floats(n), floats(n, 5), np.float32(2), np.int32(n))
    for n in (1024, 8192, 24576):
        yield row("bodies", "bodies", n, n // 128, 128, zeros(4 * n), floats(4 * n), np.int32(min(n, 4096)))
    for blocks in (96, 1056, 8192):
        given = zeros(256 * blocks), floats(256 * blocks + 256), floats(33)
        yield row("stencils", "convolve", blocks, blocks, 256, *given)
    for blocks in (128, 2048, 8192):
        given = zeros(256 * blocks, np.uint8), ints(768 * blocks, 256).astype(np.uint8)
        yield row("copies", "gray", blocks, blocks, 256, *given)
    for blocks in (128, 1024, 4096):
        given = *(zeros(256 * blocks) for _ in range(3)), floats(768 * blocks)
        yield row("copies", "parts_of_structs", blocks, blocks, 256, *given)
    for n in (256, 1024, 2048):
        yield row("paths", "paths", n, (n // 16, n // 16), (16, 16), ints(n * n, 1000), np.int32(n), np.int32(n // 2))
    for blocks in (100, 800, 3000):
        yield row("transforms", "transform", blocks, blocks, 256, floats(1024 * blocks))
    for blocks, n in ((40, 1000), (1056, 200), (4000, 50)):
        yield row("darts", "darts", f"{blocks} x {n}", blocks, 256, zeros(1, np.uint32), np.int32(n))
    for nodes, each in ((1 << 14, 8), (1 << 17, 8), (1 << 19, 4)):
        begins, edges, _ = matrix(nodes, each)
        level = np.where(np.random.default_rng(4).random(nodes) < 0.2, 3, 1).astype(np.int32)
        given = level, begins, edges, np.int32(nodes), np.int32(3)
        yield row("graphs", "breadth_first", f"{nodes} x {each}", nodes // 256, 256, *given)
    for n, keys in ((1 << 12, 1 << 16), (1 << 20, 1 << 16), (1 << 20, 1 << 20)):
        given = zeros(keys, np.int32), np.arange(n, dtype=np.int32), ints(keys, n), np.int32(n)
        yield row("searches", "look_up", f"{keys} of {n}", keys // 256, 256, *given)


Sizes = tuple[int, ...]
Kind = tuple[str, str, str, Grid, tuple[Sizes, Sizes], Callable[..., tuple[Grid, list[Any]]]]
"""Family, kernel, how a size is written, block, two sizes; the grid and what is given for one."""


def cases_of(kinds: Iterable[Kind]) -> Iterator[Case]:
    for family, kernel, how, block, sizes, made in kinds:
        for size in sizes:
            grid, given = made(*size)
            yield row(family, kernel, how.format(*size), grid, block, *given)
