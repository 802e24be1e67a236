"""A line on standard error that says how far a long piece of work is."""

import sys
import time
from threading import Lock

AFTER = 1.0
"""Seconds of work after which progress is shown."""
EVERY = 0.1
"""Seconds between two updates."""
BAR = 24


class ProgressBar:
    """Shows how much work is done; any thread may add to it. `total`: all the work, if that is known."""

    def __init__(self, what: str, total: int | None = None) -> None:
        self.what, self.total = what, total
        self.began = self.last = time.perf_counter()
        self.done = 0
        self.shown = False
        self.lock = Lock()

    def __call__(self, more: int) -> None:
        with self.lock:
            self.done += more
            self.show()

    def show(self) -> None:
        now = time.perf_counter()
        if now - self.began > AFTER and now - self.last > EVERY:
            self.last, self.shown = now, True
            print(f"\r{self.text(now - self.began)}\x1b[K", end="", file=sys.stderr, flush=True)

    def text(self, seconds: float) -> str:
        """`[#####   ] 50,000,000 of 200,000,000 requests, 12.5 M/s, 12 s left`."""
        parts = [f"{self.done:,} {self.what}", *self.speed(seconds)]
        if self.total:
            filled = BAR * min(self.done, self.total) // self.total
            parts[0] = f"[{'#' * filled}{' ' * (BAR - filled)}] {self.done:,} of {self.total:,} {self.what}"
            if 0 < self.done < self.total:
                parts.append(f"{duration(seconds / self.done * (self.total - self.done))} left")
        return ", ".join(parts)

    def speed(self, seconds: float) -> list[str]:
        return [f"{scaled(self.done / seconds)}/s"]

    def clear(self) -> None:
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class BlocksProgress(ProgressBar):
    """Is told how many blocks of a launch are done, and how many thread instructions it took so far."""

    def __init__(self, blocks: int) -> None:
        super().__init__("blocks", blocks)
        self.instructions: int | None = None

    def __call__(self, blocks: int, instructions: int = 0) -> None:
        with self.lock:
            if self.instructions is None:  # what came before was no part of the launch
                self.began = time.perf_counter()
            self.done, self.instructions = blocks, instructions
            self.show()

    def speed(self, seconds: float) -> list[str]:
        instructions = self.instructions or 0
        return [f"{scaled(instructions)} thread instructions", f"{scaled(instructions / seconds)}/s"]


class TranslationProgress(ProgressBar):
    """Is told how many instructions of a kernel are translated; LLVM works on all of them at once afterwards."""

    def __init__(self, kernel: str, instructions: int) -> None:
        super().__init__(kernel, instructions)

    def text(self, seconds: float) -> str:
        if self.done == self.total:
            return f"compiling {self.what}: {self.total:,} instructions"
        return f"translating {self.what}: {self.done:,} of {self.total:,} instructions"


def scaled(number: float) -> str:
    """A number in three digits with its prefix: 1.25 G, 47.3 k, 0.5."""
    for factor, name in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= 999.5 * factor:
            return f"{number / factor:,.0f}{name}"
        if number >= 0.9995 * factor:
            return f"{number / factor:#.3g}".rstrip(".") + name
    return f"{number:.3g}"


def duration(seconds: float) -> str:
    """`45 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{max(whole, 1)} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
