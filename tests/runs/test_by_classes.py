"""A launch of which only counts are asked for: executed if it is small, else counted by classes of blocks, with what is
wrong at their corners told."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.__main__ import main
from banksim.classes import counting
from banksim.classes.regions import Box
from banksim.commands.shared.argument_text import filled
from banksim.errors import AbsentError, Fault, InputError
from banksim.machine.host_memory import copied
from banksim.machine.parameters import LaunchBuffers
from banksim.report.text.kernel import report
from banksim.runs import by_classes
from helpers.commands import err_of, out_of
from helpers.fixtures import Patch, Said
from helpers.places import written_to

pytestmark = pytest.mark.usefixtures("by_nvrtc")

SOURCE = """\
extern "C" __global__ void copy(float* out, const float* in, unsigned n) {
    __shared__ float s[256];
    unsigned at = blockIdx.x * 256 + threadIdx.x;
    s[threadIdx.x] = 1;
    __syncthreads();
    if (at < n) out[at] = in[at] + s[threadIdx.x ^ 1];
}
extern "C" __global__ void gather(float* out, const float* in, const unsigned* places, unsigned n) {
    __shared__ float s[256];
    unsigned at = blockIdx.x * 256 + threadIdx.x;
    s[threadIdx.x * 2 & 255] = 1;
    out[at] = in[places[at] - 1u] + s[threadIdx.x];
}
extern "C" __global__ void apart(float* out) {
    __shared__ float s[256];
    unsigned at = blockIdx.x * blockIdx.x * 77 + threadIdx.x;
    for (int k = 0; k < 5; ++k) s[(at ^ at >> 9) * k & 255] = k;
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void late(unsigned x, unsigned y, unsigned z) {
    __shared__ volatile float s[256];
    s[threadIdx.x] = 1;
    if (blockIdx.x >= x && blockIdx.y >= y && blockIdx.z >= z) s[threadIdx.x * 32 & 255] = 1;
}
extern "C" __global__ void sort(unsigned* out) {
    __shared__ unsigned s[256];
    s[out[blockIdx.x * 256 + threadIdx.x] & 255] = 1;
}
extern "C" __global__ void half_apart(float* out) {
    __shared__ float s[256];
    unsigned at = blockIdx.x * blockIdx.x * 77 + threadIdx.x;
    if (blockIdx.x & 1)
        for (int k = 0; k < 40; ++k) s[(at ^ at >> 9) * k & 255] = k;
    out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x];
}
"""
MANY_APART = 5000
"""Blocks of which hardly any are alike."""
BLOCKS = 1 << 19
"""So many that executing them all is not small; each has 8 warps."""


@pytest.fixture(scope="module", name="file")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_to(tmp_path_factory.mktemp("by_classes") / "large.cu", SOURCE)


@pytest.fixture(scope="module", name="kernels")
def loaded(file: Path) -> Any:
    return banksim.load(file)


def zeros() -> np.ndarray:
    """Of all threads, of which nothing is there before it is touched."""
    return np.zeros(256 * BLOCKS, np.float32)


def test_a_small_launch_is_executed_on_copies(kernels: Any) -> None:
    out, given = np.zeros(1024, np.float32), np.ones(1024, np.float32)
    done = banksim.run(kernels["copy"], 4, 256, [out, given, np.uint32(1024)], values=False)
    assert (done.classes, done.whole, done.undecided, done.blocks) == (0, 0, "", 4)
    assert not out.any()
    with pytest.raises(Fault, match="out of bounds"):
        banksim.run(kernels["copy"], 5, 256, [out, given, np.uint32(2000)], values=False)


def test_a_large_launch_is_counted_by_classes(kernels: Any) -> None:
    out = zeros()
    done = banksim.run(kernels["copy"], BLOCKS, 256, [out, out, np.uint32(256 * BLOCKS - 300)], values=False)
    assert (done.classes, done.whole, done.blocks) == (3, 4, BLOCKS)
    assert not out[-1024:].any()
    said = report(done, 200).plain
    assert "524,288 blocks in 3 classes; global memory was not touched, and so not checked" in said
    assert ", but for 4 blocks executed whole" in said


def test_counts_are_exact_up_to_the_largest_grid_or_refused(kernels: Any) -> None:
    """Blocks stand in one class; twice the limit wraps around to a number that looks like a count."""
    largest = 2**31 - 1, 65535, 65535
    arguments = [np.zeros(1024, np.float32), np.zeros(1024, np.float32), 0]
    found = banksim.run(kernels["copy"], largest[:2], 256, arguments, values=False).conflicts
    assert found.requests == 8 * largest[0] * largest[1]
    for name, deep in (("copy", 3000), ("copy", 65535), ("apart", 65535)):  # the last would be executed block by block
        refused = rf"a grid of 2,147,483,647 × 65,535 × {deep:,} blocks: counts beyond 2\^62"
        given = arguments if name == "copy" else arguments[:1]
        with pytest.raises(InputError, match=refused):
            banksim.run(kernels[name], (*largest[:2], deep), 256, given, values=False)


def test_a_block_of_a_number_beyond_32_bits_is_named(kernels: Any) -> None:
    """That of the worst request; the blocks executed whole name the same."""
    places = [np.uint32(at) for at in (3, 17, 60_000)]
    done = banksim.run(kernels["late"], (5, 65535, 65535), 256, places, values=False)
    assert (done.undecided, done.classes > 1, done.whole > 4) == ("", True, True)
    worst = max(done.conflicts.sites, key=lambda site: site.degree).worst
    assert worst is not None
    assert worst.block == 3 + 5 * (17 + 65535 * 60_000)


def test_what_is_out_of_bounds_at_a_corner_is_told_as_executing_tells_it(kernels: Any) -> None:
    short = zeros()[:-5].copy()
    given = [zeros(), short, np.uint32(1 << 31)]
    with pytest.raises(Fault) as found:
        banksim.run(kernels["copy"], BLOCKS, 256, given, values=False)
    said = f"byte {4 * len(short)} of argument 2 ({4 * len(short)} bytes)"
    assert said in str(found.value)
    assert f"block ({BLOCKS - 1}, 0, 0), warp 7, lane 27" in str(found.value)


def test_blocks_of_too_many_classes_are_each_executed_as_far_as_counts_need_it(
    kernels: Any, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(by_classes, "is_small", lambda launch: False)
    nothing = banksim.absent(256 * MANY_APART, np.float32)
    done = banksim.run(kernels["apart"], MANY_APART, 256, [nothing], values=False)
    assert (done.blocks, done.classes) == (MANY_APART, MANY_APART)
    line = 1 + next(n for n, text in enumerate(SOURCE.splitlines()) if "blockIdx.x * 77" in text)
    assert re.fullmatch(rf"what \w+ of large.cu:{line} reads is alike in few blocks", done.undecided)
    assert done.whole > 8
    given = np.zeros(256 * MANY_APART, np.float32)
    full = banksim.run(kernels["apart"], MANY_APART, 256, [given])
    assert (done.judged, done.profile, done.hints) == (full.judged, full.profile, full.hints)
    said = report(done, 200).plain
    assert "5,000 blocks, each executed as far as counts need it (what " in said
    with pytest.raises(Fault, match=r"block \(4999, 0, 0\)"):
        banksim.run(kernels["apart"], MANY_APART, 256, [given[:-5].copy()], values=False)


@pytest.mark.parametrize(
    ("name", "blocks", "classes"),
    [
        ("apart", 1 << 11, counting.FEWEST),
        ("apart", 1 << 22, None),
        ("apart", 1 << 30, None),
        ("half_apart", 1 << 20, None),
    ],
)
def test_looking_for_classes_is_little_beside_executing_every_block(
    kernels: Any, name: str, blocks: int, classes: int | None, monkeypatch: Patch
) -> None:
    """The more blocks a launch has, the more classes are looked for before they are too many; of blocks that are alike
    counts what executing them takes, not what a block of another class takes."""
    looked = []

    def only_looked(*given: Any) -> counting.Undecided:
        looked.append(count(*given))
        return counting.Undecided(None, None, "no more is done")

    count = counting.count
    monkeypatch.setattr(counting, "count", only_looked)
    with pytest.raises(AbsentError, match="no more is done"):
        banksim.run(kernels[name], blocks, 256, [banksim.absent(256 * blocks, np.float32)], values=False)
    (found,) = looked
    assert isinstance(found, counting.TooMany)
    beyond = counting.MOST + counting.AT_ONCE
    assert found.classes == classes or (classes is None and counting.FEWEST < found.classes <= beyond)


def test_no_fault_is_told_that_memory_of_zeros_invented(kernels: Any) -> None:
    """In memory that nobody has filled every index is 0, and the kernel subtracts 1 from it."""
    places = banksim.absent(256 * BLOCKS, np.uint32, contents=lambda start, end: np.ones(end - start, np.uint32))
    done = banksim.run(kernels["gather"], BLOCKS, 256, [zeros(), zeros(), places, np.uint32(1)], values=False)
    assert (done.classes, done.whole) == (1, 0)
    assert report(done, 200).plain.count("global memory was not touched, and so not checked\n") == 1


def test_contents_are_made_only_where_they_are_needed(kernels: Any) -> None:
    made = []

    def contents(start: int, end: int) -> np.ndarray:
        made.append(1)
        return np.arange(start, end, dtype=np.uint32)

    out = banksim.absent(1024, np.uint32, contents)
    large = banksim.absent(256 * BLOCKS, np.float32, contents)
    assert banksim.run(kernels["copy"], BLOCKS, 256, [large, large, np.uint32(7)], values=False).classes
    assert not made
    done = banksim.run(kernels["sort"], 4, 256, [out], values=False)
    full = banksim.run(kernels["sort"], 4, 256, [contents(0, 1024)])
    assert done.judged == full.judged
    assert len(made) == 2
    assert banksim.run(kernels["sort"], 4, 256, [out]).judged == full.judged
    with pytest.raises(AbsentError, match="argument 1 is absent"):
        banksim.run(kernels["sort"], 4, 256, [banksim.absent(1024, np.uint32)])


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.reshape(32, 32),
        lambda a: a.reshape(32, 32).T,
        lambda a: a[256:512],
        lambda a: a.reshape(32, 32)[3:9],
        lambda a: a.view(np.uint16),
        lambda a: a[100:300].view(np.uint8)[4:],
    ],
)
def test_views_of_an_absent_array_have_its_contents(view: Callable[[np.ndarray], np.ndarray]) -> None:
    there = np.random.default_rng(3).integers(0, 1 << 32, 1024, np.uint32)
    known, absent = view(there), view(banksim.absent(1024, np.uint32, lambda start, end: there[start:end]))
    [copy] = copied([absent])
    assert np.array_equal(copy, known)
    memory = LaunchBuffers()
    memory.address(absent, "a")
    [buffer] = memory.buffers
    start = buffer.views[0].start
    assert np.array_equal(buffer.copy().data[start : start + known.nbytes], known.ravel("K").view(np.uint8))


def test_what_is_computed_from_an_absent_array_has_not_its_contents() -> None:
    absent = banksim.absent(1024, np.uint32, lambda start, end: np.arange(start, end))
    for other in (absent + 1, absent.copy(), np.empty_like(absent)):
        assert other.contents is None


def test_counts_that_blocks_executed_whole_do_not_confirm_are_not_given(kernels: Any, monkeypatch: Patch) -> None:
    monkeypatch.setattr(by_classes, "is_small", lambda launch: False)
    monkeypatch.setattr(Box, "corners", lambda box, grid: list(range(10)))  # all blocks are taken for alike
    given = [np.zeros(2560, np.float32), np.zeros(2560, np.float32), np.uint32(1500)]
    done = banksim.run(kernels["copy"], 10, 256, given, values=False)
    assert not done.classes
    assert done.undecided == by_classes.DIFFERENT
    assert done.profile == banksim.run(kernels["copy"], 10, 256, given).profile


def test_the_command_allocates_nothing_for_large_arrays(file: Path, monkeypatch: Patch, capsys: Said) -> None:
    def small(dtype: np.dtype, shape: tuple[int, ...], value: float) -> np.ndarray:
        assert np.prod(shape, dtype=int) <= 1 << 20, "an array was filled"
        return filled(dtype, shape, value)

    monkeypatch.setattr("banksim.commands.shared.argument_text.filled", small)
    array = "--arg=float32[16384,16384]"
    words = ["kernel", f"{file}:copy", "--grid", "1048576", "--block", "256", array, array, "--arg=268435456"]
    found = json.loads(out_of(capsys, [*words, "--json"]))
    assert (found["classes"], found["blocks"], found["blocks_executed_whole"]) == (1, 1 << 20, 2)
    assert main([*words[:-3], "--arg=float32[268435456]=7", "--arg=float32[1024,1024]", "--arg=4294967295"]) == 2
    assert "out of bounds" in capsys.readouterr().err
    assert "1e+39 is no float32" in err_of(capsys, [*words[:-1], "--arg=float32[268435456]=1e39"])


def test_the_command_executes_every_block_where_that_is_asked_for(
    file: Path, tmp_path: Path, monkeypatch: Patch, capsys: Said
) -> None:
    monkeypatch.setattr(by_classes, "is_small", lambda launch: False)
    words = ["kernel", f"{file}:copy", "--grid", "12", "--block", "256", *["--arg=float32[3000]"] * 2, "--arg=3000"]
    for more in ([], ["--execute"], ["--save-args", str(tmp_path / "saved")], ["--trace", str(tmp_path / "t.parquet")],
                 ["--check", "races"], ["--timing"], ["--max-instructions", "0"]):  # fmt: skip
        found = json.loads(out_of(capsys, [*words, *more, "--json"]))
        assert bool(found["classes"]) == (not more), more
    assert (np.load(tmp_path / "saved" / "0.npy") == 1).all()
