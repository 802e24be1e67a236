"""Compiled functions that generated code calls by name."""

from __future__ import annotations

from banksim.machine.llvm.arrivals import arrive, cluster_arrive, leave
from banksim.machine.llvm.request_counts import judge_new, note, settle
from banksim.machine.llvm.scheduler import (
    end_collective,
    give_way,
    leave_barrier,
    meet,
    part,
    scatter,
    schedule,
    sync_by_mask,
)
from banksim.system.jit import Callback

CALLED = (
    schedule, part, end_collective, scatter, sync_by_mask, meet, leave_barrier, give_way, arrive, cluster_arrive, leave,
    judge_new, note, settle,
)  # fmt: skip


SYMBOLS: dict[str, Callback] = {f.name: f for f in CALLED}
"""The functions that LLVM code calls."""
