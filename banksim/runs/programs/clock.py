"""What events tell of time: the simulated time of the launches between two of them, and of themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Clock:
    """A reading of the clock: launches so far, the microseconds of those with known time, the number of the others; and
    copies and fills so far, whose time is not simulated."""

    launches: int = 0
    unknown: int = 0
    microseconds: float = 0.0
    copies: int = 0

    def after(self, microseconds: float | None) -> Clock:
        """The next reading, one launch later. None: the time of that launch is not known."""
        missing = microseconds is None
        return Clock(self.launches + 1, self.unknown + missing, self.microseconds + (microseconds or 0))

    def later(self, nanoseconds: float) -> Clock:
        """A reading that is so much later, with no launch between."""
        return replace(self, microseconds=self.microseconds + nanoseconds / 1000)

    def until(self, later: Clock) -> float:
        """Milliseconds between two readings; NaN where a launch lies between them whose time is not known, or nothing
        but copies."""
        of_copies = self.launches == later.launches and self.copies != later.copies
        if of_copies or self.unknown != later.unknown:
            return math.nan
        return (later.microseconds - self.microseconds) / 1000
