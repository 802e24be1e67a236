"""Advice on large launches: counted by classes of blocks, results compared of some blocks, and the same advice."""

from pathlib import Path

import numpy as np
import pytest

import banksim
from banksim.advise.kernels.advice import KernelAdvice, advise_kernel
from banksim.advise.kernels.cuda_source import CudaSource
from banksim.advise.kernels.measure import Bench
from banksim.advise.kernels.source import rewritten
from banksim.advise.kernels.source_layouts import groups
from banksim.architectures.bank_rules import architecture
from banksim.classes.needed import heeds_data
from banksim.timing.whole_grid import whole
from helpers.places import written_to

SOURCE = """
extern "C" __global__ void transpose(float* out, const float* in, int rows, int columns) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < columns && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * columns + x];
    BARRIER
    x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < rows && y + j < columns) out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j] + EXTRA;
}
"""
ROWS, COLUMNS = 131, 165


GRID, BLOCK = (6, 5), (32, 8)


def source(folder: Path, barrier: str = "__syncthreads();", extra: str = "0") -> CudaSource:
    file = written_to(folder / "k.cu", SOURCE.replace("BARRIER", barrier).replace("EXTRA", extra))
    return CudaSource(file, "transpose")


def arguments() -> list[object]:
    given = np.random.default_rng(1).random((ROWS, COLUMNS), np.float32)
    return [np.zeros((COLUMNS, ROWS), np.float32), given, np.int32(ROWS), np.int32(COLUMNS)]


def advice(folder: Path, arch: str = "sm_90", **parts: str) -> KernelAdvice:
    """All layouts are listed with one start of nvdisasm: the search itself asks ahead only for what it tries anyway."""
    args, kernel = arguments(), source(folder, **parts)
    layouts = [(change,) for array in kernel.declared for group in groups(array, 0) for change in group]
    kernel.ahead([kernel.content, *(rewritten(kernel.content, changes) for changes in layouts)], args, ())
    found = advise_kernel(kernel, GRID, BLOCK, args, arch=arch.split(","))
    assert all(np.array_equal(mine, given) for mine, given in zip(args, arguments(), strict=True))  # type: ignore[arg-type]
    return found


def bench(folder: Path, **parts: str) -> Bench:
    return Bench(source(folder, **parts), GRID, BLOCK, arguments(), (architecture("sm_90"),), 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the kernel as it is: its layouts are compiled once."""
    return tmp_path_factory.mktemp("transpose")


@pytest.fixture(scope="module", name="small")
def as_small(folder: Path) -> KernelAdvice:
    return advice(folder, arch="sm_90,kepler-8")


@pytest.mark.usefixtures("by_classes")
def test_advice_is_that_of_executing_every_block(small: KernelAdvice, folder: Path) -> None:
    found = advice(folder, arch="sm_90,kepler-8")
    assert (small.compared, found.compared) == (0, 9)
    assert found.best
    assert small.best
    assert found.content == small.content
    figures = [[one.before, *(tried.measured for tried in one.tried if tried.measured)] for one in (found, small)]
    for mine, theirs in zip(*figures, strict=True):
        assert [(c.transactions, c.ideal, c.cycles, c.microseconds) for c in mine.costs] == [
            (c.transactions, c.ideal, c.cycles, c.microseconds) for c in theirs.costs
        ]
        assert (mine.requests, mine.instructions, mine.size) == (theirs.requests, theirs.instructions, theirs.size)
    assert [one.refused for one in found.tried] == [one.refused for one in small.tried]
    assert found.verdict.startswith("Results of 9 blocks at the corners of classes are the same bit for bit")


@pytest.mark.usefixtures("by_classes")
def test_a_change_of_the_result_is_refused(tmp_path: Path) -> None:
    """An array's size is part of the result here."""
    found = advice(tmp_path, extra="sizeof(tile)")
    assert found.best is None
    assert {one.refused for one in found.tried if "column" not in one.name} == {"the results differ"}


@pytest.mark.usefixtures("by_classes")
def test_a_race_is_named(tmp_path: Path) -> None:
    _, races = bench(tmp_path, barrier="").checked()
    assert races


@pytest.mark.usefixtures("by_classes")
def test_counts_that_depend_on_data_need_every_block(folder: Path, tmp_path: Path) -> None:
    assert len(bench(folder).typical()) == 9
    assert not bench(tmp_path, extra="tile[(int)in[0] & 31][threadIdx.x]").typical()


@pytest.mark.usefixtures("by_classes")
def test_of_long_blocks_those_are_timed_that_are_resident_at_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def timed() -> int:
        rows, columns = 128 * 32, 66 * 32
        array = np.zeros(rows * columns, np.float32)
        grid, numbers = (columns // 32, rows // 32), (np.int32(rows), np.int32(columns))
        one = Bench(source(folder), grid, BLOCK, [array, array.copy(), *numbers], (architecture("sm_90"),), 0)
        cycles = one.timed(one.checked()[0]).run.cycles
        return len(cycles.blocks) if cycles else 0

    assert timed() == 32
    monkeypatch.setattr("banksim.advise.kernels.measure.LONG", 1)
    assert timed() == 8


@pytest.mark.usefixtures("by_classes")
@pytest.mark.parametrize("second", [0, 1024])
def test_the_beginning_of_long_blocks_is_timed_where_all_of_them_is_like_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: int
) -> None:
    file = written_to(
        tmp_path / "k.cu",
        """
        extern "C" __global__ void passes(float* out, const float* in, int first, int second) {
            __shared__ float tile[32][32];
            int x = threadIdx.x, y = threadIdx.y, n = blockIdx.x * 1024 + 32 * y + x;
            float sum = 0;
            for (int j = 0; j < first; ++j) {
                tile[x][y] = in[n] * j;
                __syncthreads();
                sum += tile[y][x];
                __syncthreads();
            }
            for (int j = 0; j < second; ++j) sum = sum * in[n + j] + 1;
            out[n] = sum;
        }""",
    )
    array = np.zeros(1 << 20, np.float32)
    numbers = (np.int32(1024), np.int32(second))
    one = Bench(CudaSource(file, "passes"), 512, (32, 32), [array, array.copy(), *numbers], (architecture("sm_90"),), 0)
    monkeypatch.setattr("banksim.advise.kernels.measure.LONG", 1)
    before = one.checked()[0]

    def timed(beginning: int) -> tuple[int, float]:
        """Cycles of the launch, and the share of their instructions that blocks had executed then."""
        monkeypatch.setattr("banksim.advise.kernels.measure.BEGINNING", beginning)
        run = one.timed(before).run
        assert run.cycles
        executed = run.cycles.warp_instructions / len(run.cycles.blocks)
        return whole(run.launch, run.cycles, 2), executed * run.blocks / run.instructions

    cycles, share = timed(1 << 30)
    assert share == 1
    of_part, share = timed(1 << 17)
    assert of_part == pytest.approx(cycles, rel=0.02)
    assert share == 1 if second else share < 0.5


@pytest.mark.usefixtures("by_classes")
def test_no_more_contents_are_made_than_the_results_need(tmp_path: Path) -> None:
    """Nor does the advice differ, though places of `order` that are read lie in `first`, which begins as zeros."""
    file = written_to(
        tmp_path / "k.cu",
        """
        extern "C" __global__ void gather(float* out, const int* first, const float* order) {
            __shared__ float tile[32][32];
            int x = threadIdx.x, y = threadIdx.y, n = blockIdx.x * 1024;
            tile[y][x] = order[first[n + 32 * y + x] - 1];
            __syncthreads();
            out[n + 32 * y + x] = tile[x][y];
        }""",
    )
    size = 1 << 18
    made = [0, 0]

    def places(start: int, end: int) -> np.ndarray:
        made[0] += end - start
        return (np.arange(start, end, dtype=np.int32) ^ 77) + 1

    def values(start: int, end: int) -> np.ndarray:
        made[1] += end - start
        return np.arange(start, end).astype(np.float32)

    assert heeds_data(CudaSource(file, "gather").kernel(file.read_bytes()))  # so its time needs contents too
    absent = [banksim.absent(size, t, c) for t, c in ((np.int32, places), (np.float32, values))]
    whole = [places(0, size), values(0, size)]
    made[:] = 0, 0
    out = np.zeros(size, np.float32)
    found, other = (
        advise_kernel(CudaSource(file, "gather"), size // 1024, (32, 32), [out, *one]) for one in (absent, whole)
    )
    assert found.best
    assert found.to_json() == other.to_json()
    assert found.after.results == other.after.results
    assert found.after.places == other.after.places
    assert 0 < max(made) < size // 8
