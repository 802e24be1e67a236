"""Races and uninitialized reads: planted ones are found at their lines, correct kernels give nothing."""

import json
import re
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numba import cuda, float32, int32

import banksim
from banksim.errors import InputError
from banksim.runs.resolve import list_numba_ahead
from cuda_kernels.kernels.products import tiled
from helpers import numba_kernels as kernels
from helpers.commands import err_of, reported
from helpers.places import EXAMPLES, SARIF_SCHEMA, loaded, written_to
from helpers.planted_races import MARKED, PLANTED, PROGRAM, kernel_command, numbers
from helpers.recordings import text


def found(kernel, grid, block, *args, check="races", **options):
    return banksim.run(kernel, grid, block, args, check=check, **options).findings


def test_marks_fit_the_names():
    assert len(MARKED) > 45
    assert all(bool(races) == name.startswith("racy_") for name, (races, _) in MARKED.items())


@pytest.mark.parametrize("name", MARKED)
def test_planted(name):
    races, barriers = MARKED[name]
    got = found(loaded(PLANTED)[name], 2, 128, *numbers())
    assert {side.site.line for race in got for side in (race.first, race.second)} == races
    assert {race.barrier.line for race in got if race.barrier} == barriers


RACECHECK = text("racecheck")["kernels"]
NOT_AS_RACECHECK = {
    "racy_same_value": "racecheck says nothing of threads that write the same value; here they are marked so",
    "racy_across_pairs_of_warps": "racecheck takes a barrier of some warps for one of the block",
    "racy_histogram_not_cleared": "racecheck looks at no atomics",
    "racy_histogram_read_early": "racecheck looks at no atomics",
    "racy_matrix_write": "racecheck does not see what stmatrix writes",
    "clean_producer_and_consumer": "racecheck does not see that bar.arrive orders reads before it (PTX ISA: barrier)",
    "clean_steps_without_syncwarp": "a warning of racecheck: lanes that run together are in order on the hardware",
    "clean_lanes_write_one_word": "racecheck counts lanes of one instruction as racing",
    "clean_lock": "racecheck does not see what atomics order",
    "clean_last_warp_sums": "racecheck does not see what atomics order",
    "clean_atomic_flag": "racecheck does not see what atomics order",
    "clean_acquire_and_release": "racecheck does not see what atomics order",
    "clean_flag_with_fences": "racecheck does not see what fences order",
}


@pytest.mark.parametrize("name", RACECHECK)
def test_racecheck(name):
    """compute-sanitizer's racecheck named the marked lines on an H200; test_planted shows that they are found."""
    races, _ = MARKED[name]
    text = dict(enumerate(PLANTED.read_text().splitlines(), 1))
    said = {line for _, accesses, _ in RACECHECK[name] for _, line in accesses}
    said = {line - text[line].strip().startswith(":") for line in said}  # nvcc 13.0 names the last line of an asm
    copies = {n for n in text if "memcpy_async" in text[n]}
    agrees = said == races - copies  # it names the lines of copies in the toolkit's headers
    assert agrees == (name not in NOT_AS_RACECHECK), NOT_AS_RACECHECK.get(name, said)


def test_a_race_names_threads_and_byte():
    (race,) = found(loaded(PLANTED)["racy_read_after_write"], 2, 128, *numbers())
    assert (race.first.kind, race.second.kind) == ("write", "read")
    thread, other = (32 * side.warp + side.lane for side in (race.first, race.second))
    assert race.address == 4 * thread == 4 * (127 - other)
    assert race.block == (0, 0, 0)
    assert race.count == 2 * 128  # for each word the later of the two accesses is reported, in both blocks


def test_where_it_races_only_in_one_block():
    assert not found(loaded(PLANTED)["racy_only_in_block_one"], (1, 2), 128, *numbers())
    (race,) = found(loaded(PLANTED)["racy_only_in_block_one"], 3, 128, *numbers())
    assert (race.block, race.count) == ((1, 0, 0), 2 * 128)


def test_same_value_and_copying_and_same_warp():
    def only(name):
        (race,) = found(loaded(PLANTED)[name], 2, 128, *numbers())
        return race

    assert only("racy_same_value").same_value
    assert not only("racy_two_writers").same_value
    assert only("racy_copy_not_awaited").copying
    assert not only("racy_copy_without_barrier").copying
    parted = only("racy_parted_lanes")
    assert parted.same_warp
    assert parted.barrier.what == "__syncwarp()"


TILE = 16


@cache
def product(first, second):
    """One with its first barrier, and with its second."""

    @cuda.jit
    def product(a, b, c):
        sa = cuda.shared.array((TILE, TILE), float32)
        sb = cuda.shared.array((TILE, TILE), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x, y = cuda.grid(2)
        acc = float32(0)
        for m in range(a.shape[1] // TILE):
            sa[ty, tx] = a[y, m * TILE + tx]
            sb[ty, tx] = b[m * TILE + ty, x]  # the store
            if first:
                cuda.syncthreads()
            for q in range(TILE):
                acc += sa[ty, q] * sb[q, tx]  # the load
            if second:
                cuda.syncthreads()
        c[y, x] = acc

    return product


@cuda.jit
def half_written(out):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    if t < 32:
        s[t] = t
    cuda.syncthreads()
    out[t] = s[63 - t]
    cuda.syncthreads()
    cuda.atomic.add(s, 32 + t % 8, 1)
    cuda.syncthreads()
    out[t] += s[32 + t % 16]


BARRIERS = [(True, True), (False, True), (True, False), (False, False)]


def launches():
    """Of some of the kernels in numba_kernels (a product stands above): grid, block, arguments."""
    a = [kernels.random("f4", 64, 64, seed=s) for s in range(2)]
    keys = kernels.random("u1", 10_000).astype("i4")
    return {
        kernels.transpose: ((2, 2), (32, 32), *a),
        kernels.reduction: (64, 256, np.zeros(64, "f4"), kernels.random("f4", 64 * 256)),
        kernels.histogram: (4, 256, np.zeros(256, "i4"), keys),
    }


@pytest.fixture(scope="module")
def listed():
    """The kernels of Numba, with one start of nvdisasm."""
    a = np.zeros((64, 64), "f4")
    listed = [(kernel, args) for kernel, (_, _, *args) in launches().items()]
    list_numba_ahead(
        [*listed, *((product(*both), (a, a, a)) for both in BARRIERS), (half_written, [np.zeros(64, "i4")])]
    )


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize(("first", "second"), BARRIERS)
def test_product_without_its_barriers(first, second):
    lines = Path(__file__).read_text().splitlines()
    store, load = (next(n for n, line in enumerate(lines, 1) if f"# the {what}" in line) for what in ("store", "load"))
    a = [kernels.random("f4", 64, 64, seed=s) for s in range(3)]
    got = found(product(first, second), (4, 4), (TILE, TILE), *a)
    wanted = [(store, load)] * (not first) + [(load, store)] * (not second)
    assert sorted((race.first.site.line, race.second.site.line) for race in got) == sorted(wanted)
    assert {(b.what, b.line, b.next_pass) for race in got if (b := race.barrier)} == {
        ("cuda.syncthreads()", second_line, second_line == store) for _, second_line in wanted
    }


@pytest.mark.usefixtures("listed")
def test_correct_kernels_of_numba():
    for kernel, launch in launches().items():
        assert not found(kernel, *launch, check="races,uninitialized"), kernel


def test_findings_do_not_depend_on_workers():
    def seen(workers):
        got = []
        for name in ("racy_write_after_read", "racy_beside_the_lock", "racy_only_in_block_one"):
            got += found(loaded(PLANTED)[name], 60, 128, *numbers(), workers=workers)
        return [race.to_json() for race in got]

    assert seen(1) == seen(2) == seen(5)


@pytest.mark.usefixtures("listed")
def test_uninitialized():
    reads = found(half_written, 3, 64, np.zeros(64, np.int32), check="uninitialized")
    assert [(one.access.kind, one.access.site.text.strip(), one.count) for one in reads] == [
        ("read", "out[t] = s[63 - t]", 3 * 32),
        ("atomic", "cuda.atomic.add(s, 32 + t % 8, 1)", 3 * 8),
        ("read", "out[t] += s[32 + t % 16]", 3 * 8 * 4),
    ]
    assert reads[0].address == 4 * 63
    assert (reads[0].access.warp, reads[0].access.lane) == (0, 0)


def test_nothing_else_changes():
    """Counts and results are those of the plain run."""
    for name in ("clean_reduction", "clean_lock", "clean_two_stages_of_copies", "racy_parted_lanes"):
        (plain_out, a), (checked_out, _) = numbers(), numbers()
        plain = banksim.run(loaded(PLANTED)[name], 2, 128, (plain_out, a))
        checked = banksim.run(loaded(PLANTED)[name], 2, 128, (checked_out, a), check=("races", "uninitialized"))
        assert plain.profile == checked.profile
        assert plain.conflicts == checked.conflicts
        np.testing.assert_array_equal(plain_out, checked_out)


def test_wrong_use():
    with pytest.raises(InputError, match=r"--check speed: there is no such check, choose races or uninitialized"):
        found(loaded(PLANTED)["clean_copy"], 1, 128, *numbers(), check="speed")
    with pytest.raises(InputError, match="NumPy engine does not watch"):
        found(loaded(PLANTED)["clean_copy"], 1, 128, *numbers(), engine="numpy")


@pytest.mark.parametrize("width", [80, 160])
def test_report(width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    assert kernel_command("racy_write_after_read", "--check", "races", "--check", "uninitialized") == 1
    out = capsys.readouterr().out
    write, read = sorted(MARKED["racy_write_after_read"][0])
    assert "1 race in shared memory" in out
    said = " ".join(out.split())
    assert re.search(rf"__syncthreads\(\) is missing before \S*races\.cu:{write} of the loop's next pass\.", said)
    assert re.search(rf"^  read   \S*races\.cu:{read}  out\[threadIdx\.x\] \+= ", out, re.M)
    assert re.search(r"^         warp \d, lane \d+$", out, re.M)
    assert "No read of uninitialized shared memory." in out
    assert all(len(line) <= width for line in out.splitlines())


def test_report_of_a_correct_kernel(capsys):
    assert kernel_command("clean_copy", "--check", "races,uninitialized") == 0
    assert "No races" in capsys.readouterr().out


def test_json(capsys):
    assert kernel_command("racy_read_after_write", "--check", "races", "--json") == 1
    report = json.loads(capsys.readouterr().out)
    (race,) = report["findings"]
    assert race["barrier"]["what"] == "__syncthreads()"
    assert race["barrier"]["line"] == race["second"]["line"] == max(MARKED["racy_read_after_write"][0])
    assert report["checks"] == ["races"]


def test_review(capsys):
    import jsonschema

    assert kernel_command("racy_read_after_write", "--check", "races", "--format", "github") == 1
    line = max(MARKED["racy_read_after_write"][0])
    assert f"line={line},title=Shared-memory race::race: write at" in capsys.readouterr().out
    assert kernel_command("racy_read_after_write", "--check", "races", "--format", "sarif") == 1
    log = json.loads(capsys.readouterr().out)
    jsonschema.validate(log, json.loads((SARIF_SCHEMA).read_text()))
    (result,) = [one for one in log["runs"][0]["results"] if one["ruleId"] == "shared-memory-race"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == line


def test_program(tmp_path, capsys):
    program = written_to(tmp_path / "racy.py", PROGRAM)
    status, report = reported(tmp_path, "--check", "races", program)
    assert status == 1
    (kernel,) = report["kernels"]
    (race,) = kernel["findings"]
    assert (race["first"]["line"], race["second"]["line"], race["count"]) == (8, 9, 3 * 64)
    assert "cuda.syncthreads() is missing before" in err_of(capsys, ["run", "--check", "races", str(program)], status=1)


def test_the_guide_tells_how_many_kernels_racecheck_agrees_on():
    guide = (EXAMPLES / "guide" / "races.md").read_text(encoding="utf-8")
    agree = len(RACECHECK) - len(NOT_AS_RACECHECK)
    assert f"Of {len(RACECHECK)} kernels, {agree} get from" in " ".join(guide.split())


def test_a_check_costs_little():
    """tests/benchmarks/bench_checks.py measures it; here only that it stays in that order on a busy machine."""
    a = [kernels.random("f4", 128, 128, seed=s) for s in range(3)]
    product = tiled(16, 0)
    shortest = {}
    for check in ((), ("races", "uninitialized")):
        taken = []
        for _ in range(4):
            start = time.process_time()
            banksim.run(product, (8, 8), (16, 16), a, check=check, workers=1)
            taken.append(time.process_time() - start)
        shortest[check] = min(taken)
    plain, checked = shortest.values()
    assert checked < 12 * plain
