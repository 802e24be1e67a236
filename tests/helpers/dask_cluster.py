"""A cluster of Dask that does not watch itself all the time, which takes a tenth of a core for two workers. These are
forked from one process, which has imported Dask for all."""

from collections.abc import Iterator
from contextlib import contextmanager

import dask
from distributed import LocalCluster

QUIET = {
    "distributed.worker.multiprocessing-method": "forkserver",
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "60s",
    "distributed.admin.tick.interval": "1s",
}


@contextmanager
def quiet_cluster(workers: int = 2) -> Iterator[LocalCluster]:
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with dask.config.set(QUIET), LocalCluster(**options) as cluster:
        yield cluster
