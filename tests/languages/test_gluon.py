"""Gluon's layouts against Triton: what it prints of them, and the machine code that it makes of loads and stores."""

import inspect
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
from banksim.errors import BanksimError, CompileError
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


@pytest.mark.parametrize(
    "shared",
    [
        kernels.PLAIN,
        kernels.SWIZZLED,
        gl.SwizzledSharedLayout(2, 1, 16, [0, 1]),
        kernels.NVMMA,
        gl.NVMMASharedLayout(32, 16, transposed=True),
        kernels.PADDED,
        gl.PaddedSharedLayout.with_identity_for([[512, 8]], [64, 64], [1, 0]),
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
    told = {}
    for held, op in ((kernels.ROWS, "st"), (kernels.COLUMNS, "ld")):
        trace = layout_pattern(shared, held, shape=(64, 64), dtype="half", op=op)
        [site] = banksim.replay(trace, arch).sites
        told[op, site.width] = site.requests, site.transactions
    assert counted(done) == told  # of one load or store there are several instructions


@pytest.mark.parametrize(
    ("held", "pairs", "shape", "dtype"),
    [
        (gl.BlockedLayout([2, 8], [2, 16], [1, 2], [0, 1]), [[16, 4]], (32, 32), np.float32),
        (gl.BlockedLayout([8, 2], [4, 8], [2, 4], [0, 1]), [[16, 16]], (64, 32), np.float16),
    ],
)
def test_padding_and_the_width_of_an_access(held: Any, pairs: Any, shape: Any, dtype: Any) -> None:
    """Where registers are not in the order of memory, LLVM joins the accesses."""
    shared = gl.PaddedSharedLayout.with_identity_for(pairs, list(shape), [1, 0])
    x, warps = np.arange(shape[0] * shape[1]).astype(dtype).reshape(shape), prod(held.warps_per_cta)
    const = {"M": shape[0], "N": shape[1], "A": held, "B": held, "S": shared, "num_warps": warps}
    done = banksim.run(kernels.exchange, 1, None, [x, np.zeros_like(x)], const=const)
    told = {}
    for op in ("st", "ld"):
        [site] = banksim.replay(layout_pattern(shared, held, shape=shape, dtype=dtype, op=op)).sites
        told[op, site.width] = site.requests, site.transactions
    assert counted(done) == told


def test_padding_that_stops_the_kernel() -> None:
    """Triton accesses 16 bytes at once, whatever the padding: the GPU takes no such access at a multiple of 4."""
    held = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    shared = gl.PaddedSharedLayout.with_identity_for([[32, 1]], [32, 32], [1, 0])
    x = np.zeros((32, 32), np.float32)
    const = {"M": 32, "N": 32, "A": held, "B": held, "S": shared}
    with pytest.raises(BanksimError, match="misaligned store of 16 bytes"):
        banksim.run(kernels.exchange, 1, None, [x, np.zeros_like(x)], const=const)


# ---- kernels
def counted(done: Any) -> dict[tuple[str, int], tuple[int, int]]:
    """Requests and transactions of a run by operation and width."""
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for site in done.conflicts.sites:
        before = found.get((site.op, site.width), (0, 0))
        found[site.op, site.width] = before[0] + site.requests, before[1] + site.transactions
    return found


def line_of(text: str, kernel: Any) -> int:
    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(number for number, line in enumerate(lines) if text in line)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_transpose(arch: str) -> None:
    x = np.arange(128 * 64, dtype=np.float16).reshape(128, 64)
    y = np.zeros((64, 128), np.float16)
    const = {"T": 64, "A": kernels.ROWS, "S": kernels.SWIZZLED}
    done = banksim.run(kernels.transpose, (2, 1), None, [x, y, 128, 64], arch=arch, const=const)
    assert (y == x.T).all()
    lines = {site.op: site.line for site in done.conflicts.sites}
    assert lines == {op: line_of(text, kernels.transpose) for op, text in (("st", "shared.store"), ("ld", "turned ="))}
    assert counted(done) == {("st", 16): (32, 128), ("ld", 2): (256, 256)}


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_a_reduction_and_softmax(arch: str) -> None:
    x, out = np.arange(1024, dtype=np.float32), np.zeros(1, np.float32)
    done = banksim.run(kernels.total, 2, None, [x, out], arch=arch, const={"N": 512, "L": kernels.LINE})
    assert out[0] == x.sum()
    assert counted(done) == {("st", 4): (8, 8), ("ld", 4): (8, 8)}
    assert {site.line for site in done.conflicts.sites} == {line_of("gl.sum", kernels.total)}
    x = np.random.default_rng(2).random((3, 200), np.float32)
    out = np.zeros_like(x)
    done = banksim.run(kernels.softmax, 3, None, [out, x, 200], arch=arch, const={"N": 256, "L": kernels.LINE})
    expected = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, expected / expected.sum(axis=1, keepdims=True), rtol=1e-5)
    assert counted(done) == {("st", 4): (24, 24), ("ld", 4): (24, 24)}


def test_a_descriptor_for_im2col() -> None:
    """An image a row further down: what lies above it reads as zeros."""
    hopper = pytest.importorskip("triton.experimental.gluon.nvidia.hopper")
    torch = pytest.importorskip("torch")
    image = torch.arange(4 * 4 * 32, dtype=torch.float32).reshape(1, 4, 4, 32)
    out = torch.full((16, 32), -1.0)
    layout = gl.NVMMASharedLayout(128, 32, 2)
    given = hopper.TensorDescriptorIm2Col.from_tensor(
        image, [16, 32], layout, pixel_box_lower_corner=[-1, 0], pixel_box_upper_corner=[-1, 0]
    )
    into = hopper.TensorDescriptor.from_tensor(out, [16, 32], layout)
    banksim.run(kernels.pixels, 1, None, [given, into, -1, 0], arch="sm_90", const={"num_warps": 1})
    expected = np.concatenate([np.zeros((4, 32), np.float32), image.numpy().reshape(16, 32)[:12]])
    assert (out.numpy() == expected).all()


def products(k: int) -> tuple[list[Any], np.ndarray]:
    """Arguments of a product of 128 × k and k × 64, and what it is."""
    chance = np.random.default_rng(3)
    a, b = (chance.integers(-4, 5, shape).astype(np.float16) for shape in ((128, k), (k, 64)))
    return [a, b, np.zeros((128, 64), np.float32), 64, k], a.astype(np.float32) @ b.astype(np.float32)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize(("shared", "each"), [("MATRICES", {4}), ("PLAIN", {16, 32})])
def test_a_tiled_product(arch: str, shared: str, each: set[int]) -> None:
    """The operands' ldmatrix: free in the swizzled layout, four or eight rows in the same banks in the plain one."""
    args, expected = products(64)
    const = {"M": 64, "N": 64, "K": 64, "A": kernels.ROWS, "ACC": kernels.MMA_V2, "S": getattr(kernels, shared)}
    done = banksim.run(kernels.product, (2, 1), None, args, arch=arch, const=const)
    assert (args[2] == expected).all()
    matrices = [site for site in done.conflicts.sites if (site.opcode or "").startswith("LDSM")]
    assert {site.transactions / site.requests for site in matrices} == each
    assert {site.line for site in matrices} == {line_of("mma_v2", kernels.product)}


def test_a_product_of_warp_groups() -> None:
    args, expected = products(128)
    const = {"M": 64, "N": 64, "K": 64, "A": kernels.ROWS, "ACC": kernels.MMA_V3, "S": kernels.NVMMA}
    done = banksim.run(kernels.warpgroup_product, (2, 1), None, args, arch="sm_90", const=const)
    assert (args[2] == expected).all()
    assert counted(done)["st", 16] == (128, 512)
    assert any((site.opcode or "").startswith("HGMMA") for site in done.conflicts.sites)


def test_a_compiler_that_ends_its_process_is_survived() -> None:
    """There is no wgmma before sm_90, and LLVM then ends the process."""
    args, _ = products(128)
    const = {"M": 64, "N": 64, "K": 64, "A": kernels.ROWS, "ACC": kernels.MMA_V3, "S": kernels.NVMMA}
    with pytest.raises(CompileError) as caught:
        banksim.run(kernels.warpgroup_product, (2, 1), None, args, arch="sm_80", const=const)
    first = str(caught.value).splitlines()[0]
    assert (
        "warpgroup_product: its compiler gave up on code for sm_80 (Cannot select: intrinsic %llvm.nvvm.wgmma" in first
    )
