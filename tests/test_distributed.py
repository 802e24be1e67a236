"""Judging on Dask workers: the same bytes for any number of them, whatever happens to one."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster

from banksim import distributed
from banksim.architectures.bank_rules import architecture
from banksim.banks.conflicts import Conflicts
from banksim.banks.pieces import judge_pieces
from banksim.errors import BanksimError, InputError
from banksim.storage import open_trace, parquet, write_trace
from banksim.system import processes
from helpers.commands import out_of, refused
from helpers.dask_cluster import quiet_cluster
from helpers.fixtures import Patch, Said
from helpers.places import EXAMPLES
from helpers.tasks import deadly, failing
from helpers.traces import random_trace

RULES = ["kepler-4", "tesla", "sm_90"]
KINDS = [("ld", 4), ("st", 4), ("ld", 1)]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of 40 row groups."""
    path = tmp_path_factory.mktemp("traces") / "t.parquet"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "GROUP", 2000)
        with write_trace(path) as writer:
            for seed in range(4):
                writer.write(random_trace(seed, 20_000, KINDS))
    return path


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with quiet_cluster() as cluster:
        yield cluster


def text(judged: Sequence[Conflicts]) -> str:
    return json.dumps([one.to_json() for one in judged])


def alone(path: Path) -> str:
    return text(judge_pieces(open_trace(path).pieces, [architecture(name) for name in RULES]))


def test_workers_give_the_same_bytes(trace: Path, cluster: LocalCluster) -> None:
    progress: list[int] = []
    with Client(cluster) as client:
        assert text(distributed.replay(trace, RULES, scheduler=client, progress=progress.append)) == alone(trace)
    assert sum(progress) == 80_000


def test_the_command_gives_the_same_bytes_for_any_number_of_workers(
    trace: Path, cluster: LocalCluster, capsys: Said
) -> None:
    words = ["replay", str(trace), "--json", "--arch", ",".join(RULES)]
    one = out_of(capsys, words)
    assert out_of(capsys, [*words, "--scheduler", cluster.scheduler_address]) == one
    for workers in ("1", "3"):
        assert out_of(capsys, [*words, "--workers", workers]) == one


def test_a_killed_worker_loses_nothing(trace: Path) -> None:
    """One of two workers is killed when a quarter of the work is done, while it holds results and a task."""
    with quiet_cluster() as cluster:
        victims = [worker.process.process.pid for worker in cluster.workers.values()]
        done = killed = 0

        def kill(more: int) -> None:
            nonlocal done, killed
            done += more
            if done >= 20_000 and not killed:
                killed = victims[0]
                os.kill(killed, signal.SIGKILL)

        with Client(cluster) as client:
            found = distributed.replay(trace, RULES, scheduler=client, progress=kill)
            assert text(found) == alone(trace)
            assert (done, killed) == (80_000, victims[0])
            os.kill(victims[1], 0)


KERNEL = ["kernel", str(EXAMPLES / "transpose.py") + ":transpose", "--grid", "4,4", "--block", "32,32"]
KERNEL += ["--arg", "float32[128,128]", "--arg", "float32[128,128]=random"]


@pytest.mark.parametrize("what", ["replay", "kernel"])
@pytest.mark.parametrize("seconds", [(0, 0, 0.02, 0.05, 0.1, 0.2), (0.3, 0.6, 1.2, 2)])
def test_processes_may_be_killed_at_any_time(
    trace: Path, capsys: Said, monkeypatch: Patch, what: str, seconds: tuple[float, ...]
) -> None:
    """The first, and those that follow it, so many seconds after their start."""
    words = [*(["replay", str(trace)] if what == "replay" else KERNEL), "--json"]
    wanted = out_of(capsys, words)
    left, timers = [*seconds], []
    start = processes.Pool.process

    def doomed(pool: processes.Pool) -> subprocess.Popen[bytes]:
        process = start(pool)
        if left:
            timers.append(threading.Timer(left.pop(0), process.kill))
            timers[-1].start()
        return process

    monkeypatch.setattr(processes.Pool, "process", doomed)
    assert out_of(capsys, [*words, "--workers", "2"]) == wanted
    assert len(timers) == len(seconds) or seconds[0] > 0  # all may be done before the last ones are needed
    for timer in timers:
        timer.cancel()


def test_a_task_that_kills_every_worker_is_an_error() -> None:
    outcomes = dict(processes.spread(deadly, 7, [(n,) for n in range(6)], 2, "t.parquet"))
    assert [outcomes[n].value for n in range(6) if n != 3] == [7, 8, 9, 11, 12]
    with pytest.raises(BanksimError, match=r"t\.parquet: 5 workers in a row were lost at one task: "):
        outcomes[3].result()


def test_an_error_of_a_task_comes_back() -> None:
    [(_, outcome)] = processes.spread(failing, None, [(1,)], 1, "t")
    with pytest.raises(RuntimeError, match="OddError: 1 and 2"):
        outcome.result()


def test_no_process_outlives_an_interruption(trace: Path, monkeypatch: Patch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = processes.Pool.process

    def noted(pool: processes.Pool) -> subprocess.Popen[bytes]:
        started.append(start(pool))
        return started[-1]

    def interrupt(requests: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(processes.Pool, "process", noted)
    with pytest.raises(KeyboardInterrupt):
        distributed.replay(trace, RULES, workers=2, progress=interrupt)
    assert started
    assert all(process.poll() is not None for process in started)


def test_nothing_listens(trace: Path) -> None:
    """No process of the command has a port open to others, be it of this machine."""
    words = [sys.executable, "-m", "banksim", "replay", str(trace), "--workers", "2", "--json"]
    command = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    listening, most = [], 0
    while command.poll() is None:
        with suppress(psutil.Error):
            family = [psutil.Process(command.pid), *psutil.Process(command.pid).children(recursive=True)]
            most = max(most, len(family))
            listening += [one for process in family for one in process.net_connections() if one.status == "LISTEN"]
        time.sleep(0.02)
    assert (command.returncode, most, listening) == (0, 3, [])


def test_a_bad_row_group_fails_with_file_and_position(
    trace: Path, tmp_path: Path, cluster: LocalCluster, capsys: Said
) -> None:
    column = pq.ParquetFile(trace).metadata.row_group(17).column(7)
    data = bytearray(trace.read_bytes())
    data[column.data_page_offset : column.data_page_offset + 40] = b"\xff" * 40
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(data)
    error = refused(capsys, ["replay", str(bad), "--scheduler", cluster.scheduler_address])
    assert error.startswith(f"banksim: {bad}: row group 17, from request 34,000 on: ")


def test_a_url_is_read_by_the_workers(trace: Path, cluster: LocalCluster) -> None:
    found = distributed.replay(f"file://{trace}", RULES, scheduler=cluster.scheduler_address)
    assert text(found) == alone(trace)


def test_an_empty_trace(tmp_path: Path, cluster: LocalCluster) -> None:
    with write_trace(tmp_path / "t.parquet"):
        pass
    [found] = distributed.replay(tmp_path / "t.parquet", scheduler=cluster.scheduler_address)
    assert found.sites == ()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["CSV", "--workers", "1"], "only Parquet traces"),
        (["TRACE", "--scheduler", "tcp://127.0.0.1:9"], "no scheduler at tcp://127.0.0.1:9"),
        (["TRACE", "--scheduler", "hello://x"], "no scheduler at hello://x"),
        (["TRACE", "--scheduler", "tcp://127.0.0.1:9", "--workers", "2"], "give one of them"),
        (["TRACE", "--workers", "many"], "give a whole number"),
        (["TRACE", "--workers", "0"], "give a whole number"),
        (["nope.parquet", "--workers", "1"], "nope.parquet: no such file"),
    ],
)
def test_wrong_use_is_one_line(
    tmp_path: Path, trace: Path, capsys: Said, monkeypatch: Patch, words: list[str], message: str
) -> None:
    monkeypatch.setattr(distributed, "PATIENCE", 1)
    csv = tmp_path / "t.csv"
    csv.touch()
    files = {"TRACE": str(trace), "CSV": str(csv)}
    assert message in refused(capsys, ["replay", *(files.get(word, word) for word in words)])


def test_variants_are_not_sent(trace: Path) -> None:
    from dataclasses import replace

    with pytest.raises(InputError, match="variants of architectures"):
        distributed.replay(trace, replace(architecture("sm_90"), note="mine"))


@pytest.mark.parametrize("groups", [1, 2, 40, 255, 256, 257, 1000])
def test_stretches_cover_every_row_group_once(groups: int) -> None:
    rows = [1 + group % 3 for group in range(groups)]
    found = distributed.stretches(rows)
    assert [group for first, last, _ in found for group in range(first, last)] == list(range(groups))
    assert [start for *_, start in found] == [sum(rows[:first]) for first, *_ in found]
    assert len(found) == min(groups, distributed.TASKS)
