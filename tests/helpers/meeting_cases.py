"""The launches of tests/data/timing/meetings.cu: kernels whose accesses to shared memory go on while data come from
global memory or leave for it. They were written before any of their conflicts was predicted."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from helpers.launch_cases import Grid, floats, ints, zeros

Array = Callable[[], Any]
"""An argument that is made when it is wanted."""


class Meeting(NamedTuple):
    """One launch; `name` stands in h200_meetings.json."""

    name: str
    kernel: str
    grid: Grid
    block: Grid
    given: tuple[Any, ...]
    dynamic: int

    @property
    def arguments(self) -> list[Any]:
        return [one() if callable(one) else one for one in self.given]


def meeting(kernel: str, what: object, grid: Grid, block: Grid, *given: Any, dynamic: int = 0) -> Meeting:
    return Meeting(f"{kernel} {what}", kernel, grid, block, given, dynamic)


def nothing(n: int, kind: Any = np.float32) -> Array:
    return lambda: zeros(n, kind)


def numbers(n: int, seed: int = 1, kind: Any = np.float32) -> Array:
    return lambda: floats(n, seed).astype(kind)


def integers(n: int, most: int, kind: Any = np.int32) -> Array:
    return lambda: ints(n, most).astype(kind)


def meeting_cases() -> Iterator[Meeting]:
    for n in (256, 768, 1536):
        given = nothing(n * n), numbers(n * n), numbers(n * n, 5), np.int32(n)
        yield meeting("stages2", n, (n // 64, n // 64), 256, *given, dynamic=2 * 8192)
        yield meeting("stages4", n, (n // 64, n // 64), 256, *given, dynamic=4 * 8192)
        yield meeting("two_buffers", n, (n // 32, n // 32), (32, 8), *given)
    for n in (512, 1024):
        given = nothing(n * n), numbers(n * n), numbers(n * n, 5), np.int32(n)
        yield meeting("product_wide", n, (n // 128, n // 128), 256, *given)
    for w, h in ((512, 512), (1024, 2048), (4096, 2048)):
        sizes = np.int32(w), np.int32(h)
        yield meeting(
            "transpose_columns", f"{w} x {h}", (w // 32, h // 32), (32, 8), nothing(w * h), numbers(w * h), *sizes
        )
        given = nothing(w * h, np.float64), numbers(w * h, 1, np.float64), *sizes
        yield meeting("transpose_doubles", f"{w} x {h}", (w // 16, h // 16), (16, 16), *given)
        given = nothing(w * h), numbers(w * h), *sizes, np.int32(w * h // 1024)
        yield meeting("many_tiles", f"{w} x {h}", 264, (32, 8), *given)
    for blocks, rounds in ((132, 16), (1056, 32), (4000, 8)):
        n = blocks * rounds * 512
        yield meeting("smooth_stages", f"{blocks} x {rounds}", blocks, 128, nothing(n), numbers(n), np.int32(rounds))
    for rows, width in ((264, 4096), (4096, 1024), (2048, 3000)):
        n = rows * width
        given = nothing(n), numbers(n), np.int32(width)
        yield meeting("row_softmax", f"{rows} x {width}", rows, 256, *given, dynamic=4 * width)
    for blocks in (132, 1024, 4096):
        yield meeting("scan_tree", blocks, blocks, 512, nothing(1024 * blocks, np.int32), integers(1024 * blocks, 9))
    for n in (512, 2048):
        yield meeting("stencil_tile", n, (n // 32, n // 16), (32, 16), nothing(n * n), numbers(n * n), np.int32(n))
    for n in (1 << 20, 1 << 24):
        yield meeting("bins", n, 528, 256, nothing(528 * 256, np.int32), integers(n, 256, np.uint8), np.int32(n))
    for blocks, rounds in ((264, 8), (4096, 2)):
        n = 2 * blocks * rounds * 256
        yield meeting("exchange", f"{blocks} x {rounds}", blocks, 256, nothing(n), numbers(n), np.int32(rounds))
    for blocks in (1056, 16384):
        n = 256 * blocks
        yield meeting("small_products", blocks, blocks, (16, 16), nothing(n), numbers(n), numbers(n, 3))
    for n in (1024, 4096):
        yield meeting(
            "matrix_vector", n, 264, 256, nothing(n), numbers(n * n), numbers(n, 3), np.int32(n), dynamic=4 * n
        )
