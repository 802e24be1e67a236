"""A line on standard error that says how far a long piece of work is."""

from __future__ import annotations

import sys
import time
from threading import Lock

AFTER = 1.0
"""Seconds after which it is shown."""
EVERY = 0.1
"""Seconds between two showings."""
BAR = 24


class Progress:
    """Is told of more and more work done, from any thread; `total`: how much there is, if that is known."""

    def __init__(self, what: str, total: int | None = None) -> None:
        self.what, self.total = what, total
        self.began = self.last = time.perf_counter()
        self.done = 0
        self.shown = False
        self.lock = Lock()

    def __call__(self, more: int) -> None:
        with self.lock:
            self.done += more
            now = time.perf_counter()
            if now - self.began > AFTER and now - self.last > EVERY:
                self.last, self.shown = now, True
                print(f"\r{self.text(now - self.began)}\x1b[K", end="", file=sys.stderr, flush=True)

    def text(self, seconds: float) -> str:
        """`[#####   ] 50,000,000 of 100,000,000 requests, 12.5 M/s`."""
        speed = f"{self.done / seconds / 1e6:.1f} M/s"
        if not self.total:
            return f"{self.done:,} {self.what}, {speed}"
        filled = BAR * min(self.done, self.total) // self.total
        return f"[{'#' * filled}{' ' * (BAR - filled)}] {self.done:,} of {self.total:,} {self.what}, {speed}"

    def clear(self) -> None:
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
