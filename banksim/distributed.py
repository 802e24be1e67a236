"""Judging a Parquet trace on many workers with Dask; what comes out does not depend on how many they are.

A task is a stretch of row groups, which its worker reads by itself: all need to see the file under the same name,
be it a shared folder or a URL. What a task costs is added up in the order in which tasks end; the sum is the same in
every order (`banksim.partial.merge`). Dask gives the tasks of a worker that is lost to others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from banksim.arch import Architecture, architecture
from banksim.conflicts import Conflicts
from banksim.errors import BanksimError, InputError
from banksim.partial import Partial, Progress, judge_piece, merge
from banksim.storage import format_of

if TYPE_CHECKING:
    from distributed import Client

TASKS = 256
"""Tasks that are made of a trace with enough row groups: enough for workers to take turns, few enough to keep."""
PATIENCE = 20
"""Seconds to wait for the scheduler, and for the first worker."""


def replay(
    path: str | os.PathLike[str],
    arch: str | Architecture | Sequence[str | Architecture] = "sm_90",
    *,
    scheduler: str | Client | None = None,
    workers: int | None = None,
    dedup: bool = True,
    progress: Progress | None = None,
) -> tuple[Conflicts, ...]:
    """What the requests of a Parquet trace cost by each architecture, judged on Dask workers.

    `scheduler`: the address of one, or a client; without it `workers` processes of this machine are started (by
    default as many as it has cores). `progress` is told how many more requests have been judged.
    Raises `InputError` for a file or a row group that cannot be read, with its position.
    """
    path = os.fspath(path)
    path = path if "://" in path else os.path.abspath(path)
    if format_of(path) != "parquet":
        raise InputError(f"{path}: only Parquet traces are judged on several machines: their row groups are the unit")
    rules = [architecture(one) for one in ([arch] if isinstance(arch, (str, Architecture)) else arch)]
    rows = row_groups(path)
    names = [rule.name for rule in rules]
    if [architecture(name) for name in names] != rules:
        raise InputError("variants of architectures cannot be sent to workers: give names")
    found = Partial()
    with client(scheduler, workers) as connected:
        from distributed import as_completed

        prepare(connected)
        futures = [
            connected.submit(judge_stretch, *stretch, path, names, dedup, pure=False, key=f"banksim-{uuid4()}")
            for stretch in stretches(rows)
        ]
        try:
            for future in as_completed(futures):
                part, count = result(future, path)
                found = merge(found, part, rules)
                if progress:
                    progress(count)
                future.release()
        except BaseException:
            connected.cancel(futures)
            raise
    return found.conflicts(rules)


def prepare(connected: Client) -> None:
    """Wait for a worker, and let all load what judging needs."""
    try:
        connected.wait_for_workers(1, timeout=PATIENCE)
        connected.run(ready)
    except TimeoutError:
        raise InputError(f"{connected.scheduler.address}: no worker came within {PATIENCE} s") from None  # type: ignore[union-attr]
    except ImportError as error:
        raise InputError(f"a worker lacks {error.name}: install banksim[distributed] there too") from None


def result(future: Any, path: str) -> Any:
    """A task's result, or its error as one of banksim."""
    from distributed.scheduler import KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        raise BanksimError(
            f"{path}: {error.task}: every worker that took it was lost: give them more memory or look at their logs"
        ) from None


def row_groups(path: str) -> list[int]:
    """Requests of every row group."""
    from banksim.storage.parquet import described

    footer, _ = described(path)
    return [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]


def stretches(rows: Sequence[int]) -> list[tuple[int, int, int]]:
    """(first row group, row group behind the last, first request) of each task."""
    groups = len(rows)
    cuts = sorted({groups * n // TASKS for n in range(TASKS + 1)})
    found = []
    first_request = 0
    for first, last in pairwise(cuts):
        found.append((first, last, first_request))
        first_request += sum(rows[first:last])
    return found


def judge_stretch(
    first: int, last: int, first_request: int, path: str, names: Sequence[str], dedup: bool
) -> tuple[Partial, int]:
    """On a worker: what the requests of these row groups cost, and how many they are."""
    from banksim.storage.parquet import described, piece

    footer, sites = described(path)
    rules = [architecture(name) for name in names]
    found, at = Partial(), first_request
    for group in range(first, last):
        found = merge(found, judge_piece(piece(path, group, at, sites, footer), rules, dedup), rules)
        at += footer.row_group(group).num_rows
    return found, at - first_request


def ready() -> None:
    """On a worker: load what judging needs, once."""
    import banksim.alike
    import banksim.storage.parquet
    import banksim.sweep  # noqa: F401


@contextmanager
def client(scheduler: str | Client | None, workers: int | None) -> Iterator[Client]:
    """A client of the scheduler; where none is named, of workers that are started for this."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError("several workers need Dask: pip install 'banksim[distributed]'") from None
    if isinstance(scheduler, Client):
        yield scheduler
        return
    if scheduler is not None:
        try:
            connected = Client(scheduler, timeout=PATIENCE)
        except (OSError, ValueError, TypeError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"no scheduler at {scheduler}: {reason}") from None
        with connected:
            yield connected
        return
    from banksim.sweep import cores

    options = {"n_workers": workers or cores(), "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster) as connected:
        yield connected
