"""Hints at races by a run without checks: nothing that a check does not find, and nothing about correct kernels."""

import json
import time
from copy import deepcopy

import numpy as np
import pytest

import banksim
from banksim.machine.races import probe
from banksim.machine.races.findings import hinted
from banksim.runs.resolve import list_numba_ahead
from cuda_kernels import catalogue
from cuda_kernels.kernels.products import tiled
from helpers import numba_kernels as kernels
from helpers.commands import err_of, reported
from helpers.html_page import Page
from helpers.places import loaded, written_to
from helpers.planted_races import MARKED, PLANTED, PROGRAM, kernel_command, numbers

UNSEEN = {
    "racy_only_in_block_one": "block 0 is looked at",
    "racy_parted_lanes": "lanes of one warp",
    "racy_histogram_not_cleared": "atomics are left out",
    "racy_histogram_read_early": "atomics are left out",
    "racy_beside_the_lock": "an atomic whose result is used counts as a barrier",
    "racy_copy_not_awaited": "a copy by the warp that reads",
    "racy_two_stages_one_awaited_late": "a copy by the warp that reads",
    "racy_transaction_barrier_not_awaited": "kernels with transaction barriers are not looked at",
    "racy_bulk_copy_awaited_by_one_warp": "kernels with transaction barriers are not looked at",
}
"""Planted races that give no hint."""


@pytest.mark.parametrize("name", MARKED)
def test_planted(name):
    """A hint names lines that race; a correct kernel gives none."""
    hints = banksim.run(loaded(PLANTED)[name], 2, 128, numbers()).hints
    assert len(hints) == (name.startswith("racy_") and name not in UNSEEN)
    for hint in hints:
        sides = (hint.first, hint.second)
        assert {side.site.line for side in sides if side.site.file == str(PLANTED)} <= MARKED[name][0]
        assert len({side.warp for side in sides}) == 2
        assert any("write" in side.kind for side in sides)


CATALOGUED = ["productNoBarrier16", "productTiled16", "reduceSequential", "scanWorkEfficient", "histogramShared"]


@pytest.fixture(scope="module")
def catalogued():
    """The launches of these, whose kernels are listed with one start of nvdisasm."""
    launches = {entry.name: (entry, entry.launch()) for entry in catalogue.find(CATALOGUED)}
    list_numba_ahead((launch.kernel, launch.arguments) for _, launch in launches.values())
    return launches


@pytest.mark.parametrize("name", CATALOGUED)
def test_catalogue(name, catalogued):
    entry, launch = catalogued[name]
    done = banksim.run(
        launch.kernel, launch.grid, launch.block, deepcopy(list(launch.arguments)), dynamic_shared=launch.dynamic_shared
    )
    assert bool(done.hints) == bool(entry.race)


def test_where_each_side_is_told():
    (hint,) = banksim.run(loaded(PLANTED)["racy_write_after_read"], 2, 128, numbers()).hints
    write, read = sorted(MARKED["racy_write_after_read"][0])
    assert {hint.first.site.line, hint.second.site.line} == {write, read}
    assert hint.block == (0, 0, 0)
    assert 0 <= hint.address < 4 * 128
    said = hinted(hint)
    assert "touched the same shared word between barriers, one writing" in said
    assert said.endswith("--check races tells whether anything orders them")


@pytest.mark.parametrize("blocks", [1, 2, 511, 512, 4095, 100_000])
def test_few_blocks_are_looked_at(blocks):
    looked_at = len(range(0, blocks, probe.every(blocks)))
    assert 1 <= looked_at <= min(probe.MOST_BLOCKS, 1 + blocks // probe.OF_BLOCKS)


def test_hints_do_not_depend_on_workers():
    kernel = loaded(PLANTED)["racy_shift_in_place"]
    runs = [banksim.run(kernel, 4096, 128, (np.zeros(1 << 20, np.int32), numbers()[1]), workers=n) for n in (1, 3)]
    assert runs[0].hints == runs[1].hints != ()


def test_a_check_needs_no_hint():
    checked = banksim.run(loaded(PLANTED)["racy_shift_in_place"], 2, 128, numbers(), check="races")
    assert checked.findings
    assert not checked.hints


def test_timed():
    timed = banksim.run(loaded(PLANTED)["racy_shift_in_place"], 2, 128, numbers(), timing=True)
    assert timed.cycles is not None
    assert timed.hints


def test_every_report_says_it(capsys, tmp_path):
    page = tmp_path / "report.html"
    name = "racy_read_after_write"
    line = max(MARKED[name][0])
    said = "touched the same shared word between barriers"
    assert kernel_command(name, "--html", str(page)) == 0
    assert said in " ".join(capsys.readouterr().out.split())
    assert said in " ".join(Page(page.read_text()).texts)
    assert kernel_command(name, "--json") == 0
    (hint,) = json.loads(capsys.readouterr().out)["hints"]
    assert said in hint["hint"]
    assert line in (hint["first"]["line"], hint["second"]["line"])
    assert kernel_command(name, "--format", "github") == 0
    assert "::notice file=" in capsys.readouterr().out
    assert kernel_command(name, "--format", "sarif") == 0
    log = json.loads(capsys.readouterr().out)["runs"][0]
    (result,) = [one for one in log["results"] if one["ruleId"] == "shared-memory-hint"]
    assert result["level"] == "note"
    assert log["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_program(tmp_path, capsys):
    program = written_to(tmp_path / "racy.py", PROGRAM)
    page = tmp_path / "r.html"
    status, report = reported(tmp_path, "--html", page, program)
    assert status == 0
    (hint,) = report["kernels"][0]["hints"]
    assert {hint[side]["line"] for side in ("first", "second")} == {8, 9}
    assert "touched the same shared word" in " ".join(Page(page.read_text()).texts)
    assert "touched the same shared word" in " ".join(err_of(capsys, ["run", str(program)], status=0).split())


def test_a_look_costs_little(monkeypatch):
    """Measured, it is below 10 % of launches of 64 blocks; here only that it stays in that order on a busy machine."""
    a = [kernels.random("f4", 256, 256, seed=s) for s in range(3)]
    product = tiled(16, 0)
    shortest = {False: float("inf"), True: float("inf")}
    looking = probe.every
    for _ in range(8):
        for looks in shortest:
            monkeypatch.setattr(probe, "every", looking if looks else lambda blocks: 0)
            start = time.process_time()
            banksim.run(product, (16, 16), (16, 16), a, workers=1)
            shortest[looks] = min(shortest[looks], time.process_time() - start)
    assert shortest[True] < 1.3 * shortest[False]
