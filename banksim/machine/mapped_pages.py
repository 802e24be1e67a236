"""The pages in which a device maps its memory. An access beyond an allocation that stays within one passes on a GPU."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

PAGE_SHIFT = 21
PAGE = 1 << PAGE_SHIFT
"""Bytes of a page (cuMemGetAllocationGranularity on one H200)."""


@dataclass
class MappedPages:
    """Pages that lie one behind the other from address `start` of this process on: whether each is mapped. `strays`
    tells by kernel and instruction which accesses beyond an allocation passed: of each launch the first."""

    start: int
    mapped: npt.NDArray[np.uint8]
    strays: dict[tuple[str, int], str] = field(default_factory=dict)
