"""Blocks that end without touching memory are counted, not executed: nothing else may change by that."""

import random
from collections.abc import Callable, Mapping
from math import inf

import numpy as np
import pytest

import banksim
from banksim.kernels.kernel import Kernel
from banksim.kernels.load import load
from banksim.machine.llvm import chunks
from banksim.machine.llvm.chunks import in_chunks, runs_of
from banksim.runs import quiet_blocks
from banksim.runs.options import Call, Options
from banksim.runs.outcome import Run
from banksim.runs.resolve import launched
from helpers.fixtures import Patch
from helpers.places import written_to

pytestmark = pytest.mark.usefixtures("by_nvrtc")

SOURCE = """\
extern "C" __global__ void line(unsigned* out, unsigned n, unsigned a, unsigned b) {
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) out[at] = at * a + b + out[at];
}
extern "C" __global__ void plane(unsigned* out, unsigned n, unsigned a, unsigned b) {
    __shared__ unsigned s[64];
    unsigned x = blockIdx.x, y = blockIdx.y, z = blockIdx.z;
    if (x < n % 12 || y >= a * 4) return;
    s[threadIdx.x * 2 & 63] = x + y + z;
    atomicAdd(out + threadIdx.x, s[threadIdx.x & 31]);
}
extern "C" __global__ void sums(unsigned* out, unsigned n, unsigned a, unsigned b) {
    if (blockIdx.x % a == b % a && threadIdx.x < n) atomicAdd(out + threadIdx.x, blockIdx.x);
}
extern "C" __global__ void fourth(unsigned* out, unsigned n, unsigned a, unsigned b) {
    if (blockIdx.x % 4 == 0) atomicAdd(out + threadIdx.x, n + blockIdx.x);
}
extern "C" __global__ void loop(unsigned* out, unsigned n, unsigned a, unsigned b) {
    unsigned sum = threadIdx.x;
    for (unsigned k = 0; k < blockIdx.x % 4; ++k) sum = sum * a + b;
    if (sum == 1234567) out[0] = sum;
}
extern "C" __global__ void timed(unsigned* out, unsigned n, unsigned a, unsigned b) {
    if (blockIdx.x > a) return;
    out[threadIdx.x] = clock64() > 0;
}
extern "C" __global__ void endless(unsigned* out, unsigned n, unsigned a, unsigned b) {
    if (blockIdx.x > a) return;
    for (unsigned k = 1; k; k = k * 5 + n * 4) out[k & 31] = k;
}
extern "C" __global__ void data(unsigned* out, unsigned n, unsigned a, unsigned b) {
    if (blockIdx.x >= out[0]) return;
    out[1 + threadIdx.x] = 5;
}
"""
NAMES = ("line", "plane", "sums", "fourth", "loop", "timed", "data")


@pytest.fixture(scope="module", name="kernels")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Kernel]:
    return load(written_to(tmp_path_factory.mktemp("quiet") / "quiet.cu", SOURCE))


@pytest.fixture(autouse=True)
def small_grids_too(monkeypatch: Patch) -> None:
    """Nothing is known yet, and no grid is too small or too much in pieces to be looked at."""
    for name, value in (("_known", {}), ("OF_A_RUN", 1), ("LEAST", 1)):
        monkeypatch.setattr(quiet_blocks, name, value)


def seen(run: Run, out: np.ndarray) -> tuple[object, ...]:
    counts = run.counts.tolist()
    return run.judged, counts, run.blocks, run.partial, run.hints, run.notes, run.instructions, out.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_nothing_changes(kernels: Mapping[str, Kernel], name: str, monkeypatch: Patch) -> None:
    random.seed(name)
    for _ in range(4):
        grid = tuple(random.randint(1, 40) for _ in range(3)) if name == "plane" else random.randint(1, 3000)
        block, numbers = random.choice((32, 40, 128)), [random.randint(1, 9000), random.randint(1, 9), 7]
        both = []
        for least in (1, 1 << 60):
            monkeypatch.setattr(quiet_blocks, "LEAST", least)
            out = np.arange(5, 9005, dtype=np.uint32)
            both.append(seen(banksim.run(kernels[name], grid, block, [out, *map(np.uint32, numbers)]), out))
        assert both[0] == both[1]


def quiet(
    kernels: Mapping[str, Kernel],
    name: str,
    grid: object,
    *numbers: int,
    progress: Callable[[int, int], None] | None = None,
) -> quiet_blocks.Quiet | None:
    options = Options(progress=progress)
    call = Call(kernels[name], grid, 32, [np.zeros(9000, np.uint32), *map(np.uint32, numbers)])  # type: ignore[arg-type]
    rules = (banksim.architecture("sm_90"),)
    return quiet_blocks.quiet_blocks(launched(call, rules, options), options)


def test_all_but_the_first_of_each_class_are_left_out(kernels: Mapping[str, Kernel]) -> None:
    found = quiet(kernels, "line", 3000, 1000, 1, 1)
    assert found
    assert found.rest.tolist() == list(range(33))
    assert found.blocks == 3000 - 33
    found = quiet(kernels, "plane", (10, 40, 4), 5, 1, 1)
    assert found
    loud = [x + 10 * (y + 40 * z) for z in range(4) for y in range(4) for x in range(5, 10)]
    assert set(loud) <= set(found.rest.tolist())
    assert len(found.rest) + found.blocks == 1600
    assert found.blocks > 1500


def test_the_same_launch_is_looked_at_once(kernels: Mapping[str, Kernel], monkeypatch: Patch) -> None:
    monkeypatch.setattr(quiet_blocks, "MOST_KNOWN", 2)
    first, other = quiet(kernels, "line", 3000, 1000, 1, 1), quiet(kernels, "line", 3000, 500, 1, 1)
    assert first
    assert other
    assert first.blocks != other.blocks
    assert quiet(kernels, "line", 3000, 1000, 1, 1) is first
    assert quiet(kernels, "line", 2999, 1000, 1, 1) is not first
    assert len(quiet_blocks._known) == 2


@pytest.mark.parametrize("name", ["data", "timed"])
def test_where_it_is_not_known(kernels: Mapping[str, Kernel], name: str) -> None:
    """Blocks that read memory are executed, and so are those of a grid of which few are quiet."""
    assert quiet(kernels, name, 3000, 1, 2000, 1) is None


def test_many_short_runs_of_others_are_not_worth_it(kernels: Mapping[str, Kernel], monkeypatch: Patch) -> None:
    """Each is handed to a worker by itself."""
    found = quiet(kernels, "fourth", 3000, 1, 5, 1)
    assert found
    assert len(found.rest) > 500
    for name, less in (("OF_A_RUN", 64), ("MOST_RUNS", 500)):
        monkeypatch.setattr(quiet_blocks, "_known", {})
        with monkeypatch.context() as patched:
            patched.setattr(quiet_blocks, name, less)
            assert quiet(kernels, "fourth", 3000, 1, 5, 1) is None
    monkeypatch.setattr(quiet_blocks, "OF_A_RUN", 64)
    assert quiet(kernels, "line", 3000, 1000, 1, 1)


def test_looking_for_them_can_be_interrupted(kernels: Mapping[str, Kernel]) -> None:
    def interrupt(blocks: int, instructions: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quiet(kernels, "endless", 3000, 1, 2000, 1, progress=interrupt)


def test_runs_of_numbers() -> None:
    assert runs_of(np.array([0, 1, 2, 5, 7, 8])) == [range(3), range(5, 6), range(7, 9)]
    assert runs_of(np.array([], np.int64)) == []
    assert list(in_chunks([1, 2, 3, 4, 9], 2, {3})) == [range(1, 3), range(4, 5), range(9, 10)]


def test_runs_of_blocks_that_take_no_time_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch of 17 short blocks is a few calls of compiled code; workers that join one of long blocks find some."""
    for quick, lengths in ((inf, [1, 2, 4, 4, 4, 2]), (0, [1] * 17)):
        monkeypatch.setattr(chunks, "QUICK", quick)
        runs = [*in_chunks(range(17), chunks.growing(1, 4), ())]
        assert [number for run in runs for number in run] == [*range(17)]
        assert [*map(len, runs)] == lengths
