"""Gluon's layouts against Triton: what it prints of them, and the machine code that it makes of loads and stores."""

from __future__ import annotations

import random
import re
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
import triton.experimental.gluon.language as gl

import banksim
from banksim import layout_pattern
from banksim.errors import BanksimError
from banksim.layouts import gluon
from languages import gluon_kernels as kernels

PAIR = re.compile(r"Offset: (\d+) -> \(([^)]*)\)")
COORDINATE = re.compile(r"\(([^)]*)\)")


def numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def shared_layouts(seed: int) -> Any:
    """Layouts of shared memory and shapes, at random."""
    chance = random.Random(seed)
    for _ in range(25):
        rank = chance.choice([1, 2, 2, 3])
        shape = [1 << chance.randint(0, 6) for _ in range(rank)]
        order = chance.sample(range(rank), rank)
        powers = [1 << chance.randint(0, 4) for _ in range(3)]
        yield gl.SwizzledSharedLayout(*powers, order), shape
        shape = [1 << chance.randint(3, 9), 1 << chance.randint(4, 7)]
        width, bits = chance.choice([0, 32, 64, 128]), chance.choice([8, 16, 32])
        yield gl.NVMMASharedLayout(width, bits, 2, chance.random() < 0.4), shape
        bases = [[1 << bit, 0] for bit in range(4)] + [[0, 1 << bit] for bit in range(5)]
        chance.shuffle(bases)
        yield gl.SharedLinearLayout(bases), [16, 32]


@pytest.mark.parametrize("seed", range(4))
def test_places_are_tritons(seed: int) -> None:
    compared = 0
    for layout, shape in shared_layouts(seed):
        if prod(shape) > 1 << 14:
            continue
        try:
            found = gluon.native(layout).places(shape)
        except BanksimError:
            assert isinstance(layout, gl.NVMMASharedLayout)  # of which small ones do not exist
            continue
        told = {numbers(at): int(place) for place, at in PAIR.findall(layout.format_hardware_view(shape))}
        assert found.tolist() == [told[at] for at in product(*map(range, shape))], (layout, shape)
        compared += 1
    assert compared > 30


@pytest.mark.parametrize("seed", range(4))
def test_threads_hold_what_tritons_do(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(15):
        rank = chance.choice([1, 2, 3])
        shape = [1 << chance.randint(0, 5) for _ in range(rank)]

        def split(bits: int, rank: int = rank) -> list[int]:
            sizes = [1] * rank
            for _ in range(bits):
                sizes[chance.randrange(rank)] *= 2
            return sizes

        order = chance.sample(range(rank), rank)
        layout = gl.BlockedLayout(split(chance.randint(0, 3)), split(5), split(chance.randint(0, 2)), order)
        found = gluon.native(layout).held(shape)
        for warp, text in enumerate(layout.format_hardware_view(shape).split("Warp")[1:]):
            rows = [[numbers(at) for at in COORDINATE.findall(line)] for line in text.splitlines()[1:] if "(" in line]
            told = np.array(rows)
            if told.shape[1] == 32:
                told = told.transpose(1, 0, 2)
            for lane in range(32):
                mine = found[32 * warp + lane].tolist()
                assert {tuple(at) for at in mine} == {tuple(at) for at in told[lane].tolist()}, (layout, shape)


def identity(interval: int, gap: int) -> Any:
    return gl.PaddedSharedLayout.with_identity_for([[interval, gap]], [64, 64], [1, 0])


@pytest.mark.parametrize(
    "shared",
    [
        gl.SwizzledSharedLayout(1, 1, 1, [1, 0]),
        gl.SwizzledSharedLayout(8, 8, 8, [1, 0]),
        gl.SwizzledSharedLayout(2, 1, 16, [0, 1]),
        gl.NVMMASharedLayout(128, 16),
        gl.NVMMASharedLayout(32, 16, transposed=True),
        identity(64, 8),
        identity(512, 8),
    ],
    ids=str,
)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_machine_code_asks_for_what_was_told(shared: Any, arch: str) -> None:
    """The same tile by layouts alone and by the code that Triton makes: requests, widths and transactions."""
    x = np.random.default_rng(1).random((64, 64)).astype(np.float16)
    out = np.zeros_like(x)
    const = {"M": 64, "N": 64, "A": kernels.ROWS, "B": kernels.COLUMNS, "S": shared}
    done = banksim.run(kernels.exchange, 1, None, [x, out], arch=arch, const=const)
    assert (out == x).all()
    executed: dict[tuple[str, int], tuple[int, int]] = {}
    for site in done.conflicts.sites:  # instructions of one load or store
        before = executed.get((site.op, site.width), (0, 0))
        executed[site.op, site.width] = before[0] + site.requests, before[1] + site.transactions
    told = {}
    for held, op in ((kernels.ROWS, "st"), (kernels.COLUMNS, "ld")):
        trace = layout_pattern(shared, held, shape=(64, 64), dtype="half", op=op)
        [site] = banksim.replay(trace, arch).sites
        told[op, site.width] = site.requests, site.transactions
    assert executed == told
