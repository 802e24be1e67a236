"""Compiled functions that generated code calls by name."""

from banksim.system.native_code import callback

DEFINED = {
    "banksim.machine.llvm.scheduler": (
        "schedule", "part", "end_collective", "scatter", "sync_by_mask", "meet", "leave_barrier", "give_way",
    ),
    "banksim.machine.llvm.arrivals": ("arrive", "cluster_arrive", "cluster_release", "leave"),
    "banksim.machine.llvm.request_counts": ("judge_new", "note", "settle"),
    "banksim.machine.races.probed_requests": ("touch",),
    "banksim.machine.races.watched_requests": ("watch", "watch_bulk", "watch_pieces", "watch_sent"),
    "banksim.machine.races.ordering_events": (
        "watch_block", "commit_copies", "await_copies", "commit_products", "await_products", "fence_proxies",
    ),
}  # fmt: skip
"""The functions, by the modules that define them. Imported is none before its code must be compiled."""
MODULES = {name: module for module, names in DEFINED.items() for name in names}


def address(name: str) -> int:
    return callback(MODULES[name], name).address
