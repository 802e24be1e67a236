"""Races between the blocks of a cluster: planted ones are found at their lines, correct kernels give nothing."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.machine.races.findings import Race
from banksim.project.from_plain import finding
from banksim.report.text.races import report
from helpers.places import KERNELS, loaded
from helpers.planted_races import marked

FILE = KERNELS / "cluster_races.cu"
MARKED = marked(FILE, r"(?:KERNEL\(|template <bool \w+> DEVICE void )(\w+?)(?:_by)?[()]")
CLEAN = ("ring", "blocks_alone", "work_between", "histogram", "mailbox", "letters", "multicast")


kernels = partial(loaded, FILE, "sm_90a")


def found(name: str, cluster: int, check: str = "races", block: int = 128) -> list[Any]:
    arguments = [np.zeros(1024, np.int32), np.arange(1024, dtype=np.int32)]
    return list(banksim.run(kernels()[name], 8, block, arguments, cluster=cluster, check=check).findings)


@pytest.mark.parametrize("cluster", [2, 8])
@pytest.mark.parametrize("name", [name for name in MARKED if name.startswith("racy_")])
def test_planted(name: str, cluster: int) -> None:
    races, barriers = MARKED[name]
    got = found(name, cluster)
    assert {side.site.line for race in got for side in (race.first, race.second)} == races
    assert {race.barrier.line for race in got} == barriers
    across = {race.across for race in got}
    assert across == ({False} if name == "racy_own" else {True, False} if name == "racy_multicast" else {True})
    for race in got:
        between = race.first.block != race.second.block
        assert ("cluster.sync()" in race.barrier.what) == (between and not race.copying)


@pytest.mark.parametrize("cluster", [2, 8])
@pytest.mark.parametrize("name", CLEAN)
def test_clean(name: str, cluster: int) -> None:
    assert not found(name, cluster)


def test_all_kernels_are_tried() -> None:
    assert {*kernels()} == {*MARKED, *CLEAN}


def test_a_cluster_of_one_block() -> None:
    """Nobody else is there: what the block does to itself is in order behind its barriers."""
    assert not found("ring", 1)
    assert not found("histogram", 1)
    (race,) = found("racy_own", 1)
    assert race.first.block is None


def test_whose_memory_and_whose_threads() -> None:
    (race,) = found("racy_histogram", 4)
    assert race.block == (0, 0, 0)
    assert (race.first.kind, race.second.kind) == ("atomic", "read")
    assert race.first.block != race.second.block == race.block
    assert race.address == 4 * (32 * race.second.warp + race.second.lane)
    read = finding(race.to_json(), lambda name: name)
    assert isinstance(read, Race)
    assert (read.first.block, read.second.block, read.across) == (race.first.block, race.second.block, True)
    said = "\n".join(text.plain for text in report([race], ["races"], 200))
    assert f"warp {race.first.warp}, lane {race.first.lane} of block {race.first.block}" in said
    assert f"shared memory in block {race.block};" in said


def test_what_another_block_should_have_written() -> None:
    (read,) = found("unwritten", 4, "uninitialized")
    assert (read.block, read.address, read.access.block) == ((0, 0, 0), 400, (3, 0, 0))
    assert not found("unwritten", 4)


def test_a_cluster_in_two_dimensions() -> None:
    arguments = [np.zeros(1024, np.int32), np.arange(1024, dtype=np.int32)]
    for name, races in (("ring", 0), ("racy_histogram", 1)):
        run = banksim.run(kernels()[name], (4, 4), 96, arguments, cluster=(2, 2), check=("races",))
        assert len(run.findings) == races
