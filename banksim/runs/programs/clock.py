"""What events tell of time: the simulated time of the launches between two of them."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Clock:
    """A reading, after so many launches: the microseconds of those whose time is known; `unknown` have none."""

    launches: int = 0
    unknown: int = 0
    microseconds: float = 0.0

    def after(self, microseconds: float | None) -> Clock:
        """The next reading, one launch later; None: nobody knows what it takes."""
        missing = microseconds is None
        return Clock(self.launches + 1, self.unknown + missing, self.microseconds + (microseconds or 0))

    def until(self, later: Clock) -> float:
        """Milliseconds between two readings; not a number where no launch lies between them, or one that has no
        time. A GPU's copies and its host take time as well, which is not simulated."""
        if self.launches == later.launches or self.unknown != later.unknown:
            return math.nan
        return (later.microseconds - self.microseconds) / 1000
