"""What a request to shared memory takes, by generation: single requests, where no model of the path is known.

sm_90 was measured on one H200. For the others stands what was published of their GPUs; that a transaction takes as
long on every GPU of a generation, and for every access, is assumed.
"""

from dataclasses import dataclass

from banksim.architectures.bank_rules import Architecture
from banksim.architectures.capabilities import capability
from banksim.requests.counts import Status

MEI = "Mei and Chu, Dissecting GPU Memory Hierarchy through Microbenchmarking (arXiv 1509.02308)"
JIA = "Jia et al., Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking (arXiv 1804.06826)"
TURING = "Jia et al., Dissecting the NVidia Turing T4 GPU via Microbenchmarking (arXiv 1903.07486)"
AMPERE = "Abdelkhalik et al., Demystifying the Nvidia Ampere Architecture (arXiv 2208.11174)"
GUIDE = "NVIDIA's guide: bits that a bank delivers in a clock cycle"
H200 = "one H200: tests/data/hardware/timing/latency.npz"


@dataclass(frozen=True)
class Rates:
    """Cycles: `latency` of a load of one word without conflicts until its result is used, `alone` for each transaction
    of a warp that has the path to itself, `busy` for each while many warps keep the banks busy. `sources`: of these
    three; `status` tells how well they are founded together."""

    latency: int
    alone: int
    busy: int
    status: Status
    sources: tuple[str, str, str]


_AMPERE = Rates(23, 2, 1, "assumed", (AMPERE, "taken from sm_90, where it was measured", GUIDE))
_RATES: dict[str, Rates | None] = {
    "tesla": None,
    "fermi": Rates(50, 37, 2, "assumed", (MEI, MEI, GUIDE)),
    "kepler-4": Rates(47, 14, 1, "assumed", (MEI, MEI, GUIDE)),
    "maxwell": Rates(28, 2, 1, "assumed", (MEI, MEI, GUIDE)),
    "pascal": Rates(24, 2, 1, "assumed", (JIA, "taken from compute capability 5.x", GUIDE)),
    "volta": Rates(19, 2, 1, "assumed", (JIA, "taken from sm_90, where it was measured", GUIDE)),
    "turing": Rates(19, 2, 1, "assumed", (TURING, "taken from sm_90, where it was measured", GUIDE)),
    "ampere": _AMPERE,
    "ada": _AMPERE,
    "hopper": Rates(23, 2, 1, "measured", (H200, H200, H200)),
    "blackwell": Rates(23, 2, 1, "assumed", ("taken from sm_90, where it was measured",) * 3),
}
"""By family; None: nothing was found. Mei and Chu's latencies, of a chain of loads, hold the addition between two."""


def rates(arch: Architecture) -> Rates | None:
    """The published rates of an architecture, or None."""
    return _RATES[capability(arch.capability).family]
