"""--timing: cycles by source line, what limits a kernel, the estimate for the launch; as text, JSON and HTML."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.architectures.latencies import H200
from banksim.architectures.occupancy import occupancy
from banksim.report.text.cycles import as_json, launch, page, timing
from banksim.runs.outcome import Run
from banksim.timing.whole_grid import estimate
from helpers.commands import err_of, out_of, reported
from helpers.fixtures import Said, source_file
from helpers.places import PROGRAMS

SOURCE = """
extern "C" __global__ void turn(float *out, const float *in, int rounds) {
    __shared__ float tile[32][32 + PAD];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    float sum = 0;
    for (int r = 0; r < rounds; r++) sum += tile[threadIdx.x][(threadIdx.y + r) % 8];
    out[(blockIdx.x * 8 + threadIdx.y) * 32 + threadIdx.x] = sum;
}
extern "C" __global__ void grow(float *out, int first) {
    float sum = 0;
    #pragma unroll 1
    for (int r = 0; r < (blockIdx.x < first ? 10 : 100); r++) sum = sum * 2 + 1;
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
"""
RESTS = "the L2 cache has all of global memory, and every SM does as this one"


source = source_file("turn.cu", SOURCE)


def launched(source: Path, blocks: int, rounds: int, pad: int = 0, **how: Any) -> Run:
    kernel = banksim.load(source, defines=[f"PAD={pad}"])["turn"]
    given = [np.zeros(blocks * 256, np.float32), np.ones(256, np.float32), np.int32(rounds)]
    return banksim.run(kernel, blocks, (32, 8), given, timing=True, **how)


@pytest.fixture(scope="module")
def run(source: Path) -> Run:
    return launched(source, 3000, 64)


def test_conflicts_stand_at_their_line_and_are_the_limit(run: Run) -> None:
    cycles = run.cycles
    assert cycles is not None
    assert len(cycles.blocks) == 23  # all of the 3,000 that the SM gets
    assert occupancy("sm_90", 256, run.kernel.registers, 4096).blocks == 8
    text = timing(run, 120).plain
    assert "Time of 23 blocks on one SM of sm_90; the other 2,977 were counted, not timed" in text
    assert "Limited by shared memory" in text
    first = next(line for line in text.split("cycles of all warps")[1].splitlines() if line.startswith("turn.cu"))
    assert first.startswith("turn.cu:7  for (int r")
    assert cycles.conflict > 0.9 * cycles.total
    for width in (80, 160):
        assert max(map(len, timing(run, width).plain.splitlines())) <= width


def test_padding_takes_as_long_as_the_ideal_says(source: Path, run: Run) -> None:
    padded = launched(source, 3000, 64, pad=1).cycles
    assert padded is not None
    assert run.cycles is not None
    assert padded.conflict == 0
    assert padded.total == pytest.approx(run.cycles.ideal, rel=0.05)


def test_time_is_that_of_the_machine_whoever_judges(source: Path) -> None:
    alone, others = launched(source, 2, 8), launched(source, 2, 8, arch=["kepler-4", "sm_90"])
    assert alone.cycles is not None
    assert others.cycles is not None
    assert (others.cycles.total, others.cycles.ideal) == (alone.cycles.total, alone.cycles.ideal)
    assert [c.arch.name for c in others.judged] == ["kepler-4", "sm_90"]
    assert others.judged[1] == alone.judged[0]
    assert others.judged[0].transactions < others.judged[1].transactions


def test_the_launch_is_estimated_by_waves(run: Run) -> None:
    assert run.cycles is not None
    found = estimate(run.launch, run.cycles)
    assert (found.together, found.waves) == (8, 3)  # 3,000 blocks on 132 SMs, 8 on each at a time
    assert found.cycles == run.cycles.total + run.cycles.left
    assert found.microseconds == pytest.approx((found.cycles / 1980) + H200.around(132, accesses=True) / 1000)
    assert "3,000 blocks on 132 SMs, 8 resident on each (limited by warps" in timing(run, 1000).plain
    assert f"3 waves, about {found.cycles:,} cycles" in timing(run, 1000).plain


def test_blocks_that_were_not_timed_follow_at_the_distance_of_the_last(source: Path) -> None:
    run = launched(source, 132 * 62, 2)
    assert run.cycles is not None
    assert run.cycles.each is not None
    assert len(run.cycles.blocks) == 3 * 8 + 6  # three rounds, and the last one, which is not full
    starts = sorted(block.start for block in run.cycles.blocks)
    assert run.cycles.each == pytest.approx((np.mean(starts[24:]) - np.mean(starts[16:22])) / 8)
    each = min(run.cycles.each, (run.cycles.total + run.cycles.left) / 30)  # at most the mean distance of all
    cycles = run.cycles.total + 32 * each + run.cycles.left
    assert estimate(run.launch, run.cycles).cycles == round(cycles)


def test_blocks_that_do_more_than_those_timed_take_longer(source: Path) -> None:
    kernel = banksim.load(source, defines=["PAD=0"])["grow"]
    blocks, timed = 132 * 64, 32
    given = [np.zeros(blocks * 256, np.float32), np.int32(timed * 132)]
    run = banksim.run(kernel, blocks, 256, given, timing=True)
    assert run.cycles is not None
    assert run.cycles.each is not None
    assert run.cycles.work == run.instructions * timed / (run.cycles.warp_instructions * blocks) > 3
    found = estimate(run.launch, run.cycles)
    all_alike = run.cycles.total + timed * run.cycles.each
    assert run.cycles.unequal is not None
    assert found.cycles == run.cycles.unequal + run.cycles.left
    assert found.cycles == pytest.approx(run.cycles.work * all_alike, rel=0.05)
    assert f"execute {found.work:.2f} times as many" in timing(run, 1000).plain
    assert "not all alike: by a rough schedule" in timing(run, 1000).plain
    assert "much longer" in launch(replace(found, unequal=False))


def test_no_estimate_where_most_is_assumed(source: Path) -> None:
    run = launched(source, 1, 1, global_latency=20_000)
    assert run.cycles is not None
    assert estimate(run.launch, run.cycles).cycles is None
    text = timing(run, 1000).plain
    assert "No estimate of its time" in text
    assert "global memory answers 20,000 cycles later than shared (--global-latency)" in text
    assert as_json(run)["launch"]["microseconds"] is None


def test_plain_data_adds_up(run: Run) -> None:
    plain = json.loads(json.dumps(as_json(run)))
    assert plain["total"] == run.cycles.total if run.cycles else False
    for what in ("issue", "shared", "conflict", "barrier", "memory"):
        assert sum(line[what] for line in plain["lines"]) == plain["spent"][what]
    assert plain["figures"]["global_latency"]["status"] == "assumed"
    assert plain["figures"]["queue"]["status"] == "measured"
    shares = [row["share"] for row in page(run)["rows"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1)


def test_the_command_shows_it_as_text_json_and_html(source: Path, tmp_path: Path, capsys: Said) -> None:
    command = ["kernel", f"{source}:turn", "--define", "PAD=0", "--grid", "2", "--block", "32,8", "--no-picture"]
    command += ["--arg", "float32[512]", "--arg", "float32[256]=1", "--arg", "int32=8", "--timing"]
    page_file = tmp_path / "report.html"
    text = out_of(capsys, [*command, "--html", str(page_file), "--global-latency", "100"])
    assert "Time of 1 block on one SM of sm_90; the other 1 were counted" in text
    assert "conflicts" in text
    assert ">Time on sm_90</h2>" in page_file.read_text()
    assert json.loads(out_of(capsys, [*command, "--json"]))["cycles"]["total"] > 0


def test_cold_caches_are_said(source: Path, capsys: Said) -> None:
    command = ["kernel", f"{source}:turn", "--define", "PAD=0", "--grid", "1", "--block", "32,8", "--no-picture"]
    command += ["--arg", "float32[512]", "--arg", "float32[256]=1", "--arg", "int32=8", "--timing", "--json"]
    warm, cold = (json.loads(out_of(capsys, [*command, *more]))["cycles"] for more in ([], ["--cold"]))
    assert RESTS in warm["assumptions"]
    assert any(text.startswith("no cache has anything of global memory at first") for text in cold["assumptions"])
    assert cold["total"] - warm["total"] in H200.dram.later  # one load, which all warps wait for


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["kernel", "x.cu", "--global-latency", "9"], "--global-latency: give --timing too"),
        (["kernel", "x.cu", "--timing", "--global-latency", "fast"], "--global-latency fast: give a whole number"),
        (["kernel", "x.cu", "--cold"], "--cold: give --timing too"),
        (["kernel", "x.cu", "--timing", "--cold", "--global-latency", "9"], "--cold and --global-latency: a constant"),
        (["kernel", "x.cu", "--timing", "--workers", "2"], "--timing: for a simulation in one process"),
        (["run", "--global-latency", "9", "x.py"], "--global-latency: give --timing too"),
        (["run", "--timing", "--trace", "x.parquet", "x.py"], "--timing and --trace: a timed run writes no trace"),
        (
            ["run", "--timing", "--arch", "sm_103", str(PROGRAMS / "transpose.py")],
            "no time model for sm_103",
        ),
    ],
)
def test_wrong_use_is_one_line(words: list[str], message: str, capsys: Said) -> None:
    assert err_of(capsys, words).startswith(f"banksim: {message}")


def test_a_program_is_timed_kernel_by_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, report = reported(tmp_path, "--timing", PROGRAMS / "transpose.py")
    plain, padded = (kernel["time"] for kernel in report["kernels"])
    assert plain["cycles"] > 1.5 * plain["without_conflicts"]
    assert padded["cycles"] == padded["without_conflicts"]
    assert plain["microseconds"] > padded["microseconds"]
    assert plain["bottleneck"].startswith("Limited by shared memory")
    assert plain["assumptions"] == padded["assumptions"] == [RESTS]


def test_a_program_says_once_what_its_times_rest_on(tmp_path: Path, capsys: Said) -> None:
    page_file = tmp_path / "page.html"
    said = err_of(capsys, ["run", "--timing", "--html", str(page_file), str(PROGRAMS / "transpose.py")], 0)
    assert " ".join(said.split()).count(f"assumed: {RESTS}") == 1
    assert f"assumed: {RESTS}" in page_file.read_text()
