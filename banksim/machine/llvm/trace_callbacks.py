"""Handing the requests of a launch on while it runs: from the rows that workers fill to traces."""

import ctypes
import threading
from collections.abc import Callable, Sequence

import numpy as np

from banksim.kernels.kernel import BYTES
from banksim.machine.launch import Launch
from banksim.machine.state import REQUEST, TRACE_ROWS, aligned
from banksim.requests.kinds import LANES, OP_CODES
from banksim.requests.trace import Trace

Sink = Callable[[Trace], None]


class Collector:
    """The requests of one worker; `full` gives them to `sink`, one worker at a time."""

    def __init__(
        self,
        launch: Launch,
        sites: Sequence[tuple[int, str, int]],
        context: np.ndarray,
        sink: Sink,
        lock: threading.Lock,
    ) -> None:
        self.rows = aligned(REQUEST, TRACE_ROWS)
        self.context, self.sink, self.lock, self.base = context, sink, lock, launch.kernel.shared_base
        self.ops = np.array([OP_CODES[op] for _, op, _ in sites], np.uint8)
        self.widths = np.array([width for _, _, width in sites], np.uint8)
        self.sites = tuple(launch.kernel.instructions[pc // BYTES].site for pc, _, _ in sites)
        self.error: BaseException | None = None
        context[0]["trace"] = self.rows.ctypes.data
        _collectors[context.ctypes.data] = self

    def full(self) -> None:
        """Hand on the requests collected so far, and begin anew; nothing more after an error of the sink."""
        count = int(self.context[0]["traced"])
        self.context[0]["traced"] = 0
        if not count or self.error:
            return
        try:
            with self.lock:
                self.sink(self.trace(self.rows[:count]))
        except BaseException as error:  # it must not unwind through compiled code
            self.error = error

    def trace(self, rows: np.ndarray) -> Trace:
        active = (rows["mask"][:, None] >> np.arange(LANES, dtype=np.uint32) & np.uint32(1)).astype(bool)
        return Trace(
            site=rows["site"].copy(),
            block=rows["block"].copy(),
            warp=rows["warp"].copy(),
            op=self.ops[rows["site"]],
            width=self.widths[rows["site"]],
            mask=rows["mask"].copy(),
            address=np.where(active, rows["address"] - np.uint32(self.base), np.uint32(0)),
            epoch=rows["epoch"].copy(),
            sites=self.sites,
        )

    def close(self) -> None:
        """Hand on the rest. Raises what the sink raised."""
        self.full()
        del _collectors[self.context.ctypes.data]
        if self.error:
            raise self.error


_collectors: dict[int, Collector] = {}


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # type: ignore[untyped-decorator]
def hand_on(context: int) -> None:
    """Called by compiled code when a worker's rows are full."""
    _collectors[context].full()
