"""The launches of tests/data/timing/later_meetings.cu: kernels of further kinds whose accesses to shared memory go on
while data come from global memory or leave for it. They were written when the model of these was done."""

from collections.abc import Iterator

import numpy as np

from helpers.meeting_cases import Meeting, integers, meeting, nothing, numbers


def later_meeting_cases() -> Iterator[Meeting]:
    for blocks in (264, 2112, 16384):
        n = 256 * blocks
        yield meeting("apart", blocks, blocks, 256, nothing(n), nothing(n), nothing(n), numbers(3 * n))
    for a, b, c in ((64, 32, 64), (128, 64, 256), (256, 128, 256)):
        given = nothing(a * b * c), numbers(a * b * c), np.int32(a), np.int32(b), np.int32(c)
        yield meeting("turned", f"{a} x {b} x {c}", (c // 32, a // 32, b), (32, 16), *given)
    for n in (512, 2048, 4096):
        given = nothing(n * n, np.uint8), integers(n * n, 256, np.uint8), np.int32(n)
        yield meeting("median", n, (n // 64, n // 16), (64, 8), *given)
    for blocks in (132, 2112, 8448):
        yield meeting(
            "weighted", blocks, blocks, 256, nothing(512 * blocks), numbers(512 * blocks + 32), numbers(33, 2)
        )
    for blocks in (528, 4224):
        n = 512 * blocks
        yield meeting("sorted", blocks, blocks, 256, nothing(n, np.uint32), integers(n, 1 << 30, np.uint32))
    for n in (1 << 20, 1 << 23):
        given = nothing(64, np.uint32), integers(n, 1 << 30, np.uint32), np.int32(n)
        yield meeting("private_bins", n, 1056, 256, *given)
    for n in (256, 512, 1024):
        given = nothing(n * n), numbers(n * n), numbers(n * n, 5), np.int32(n)
        yield meeting("product_turned", n, (n // 32, n // 32), (32, 16), *given)
    for blocks, rounds in ((132, 32), (1056, 8), (3960, 4)):
        n = blocks * rounds * 1024
        given = nothing(n), numbers(n), numbers(n, 3), np.int32(rounds)
        yield meeting("three_stages", f"{blocks} x {rounds}", blocks, 256, *given)
    for n in (512, 2048, 4096):
        yield meeting(
            "scores",
            n,
            (n // 32, n // 32),
            (32, 8),
            nothing(n * n),
            numbers(64 * n),
            numbers(64 * n, 2),
            np.int32(n),
        )
    for blocks, each in ((264, 8192), (4096, 2048)):
        given = nothing(blocks), nothing(blocks, np.int32), numbers(blocks * each), np.int32(each)
        yield meeting("largest_at", f"{blocks} x {each}", blocks, 256, *given)
    for n in (8192, 67584):
        yield meeting("attracted", n, n // 256, 256, nothing(4 * n), numbers(4 * n), np.int32(n // 8))
    for blocks in (1056, 8448):
        yield meeting("walsh", blocks, blocks, 128, nothing(1024 * blocks), numbers(1024 * blocks))
    for rows, width in ((4224, 1024), (16896, 512)):
        yield meeting(
            "row_sums",
            f"{rows} x {width}",
            rows // 32,
            (32, 8),
            nothing(rows),
            numbers(rows * width),
            np.int32(width),
        )
    for n in (2048, 4096):
        yield meeting("column_scan", n, n // 32, (32, 8), nothing(n * n), numbers(n * n), np.int32(n))
