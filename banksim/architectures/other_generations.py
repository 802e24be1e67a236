"""The figures of the time model for architectures of which nobody has measured them in such detail.

They are one H200's, with what was published of a GPU of that compute capability in their place. All are assumed.
"""

from dataclasses import replace
from functools import cache

from banksim.architectures.bank_rules import architecture
from banksim.architectures.capabilities import capability
from banksim.architectures.latencies import FIGURES, H200
from banksim.architectures.published_gpus import GPUS, Gpu, published
from banksim.architectures.published_rates import rates
from banksim.architectures.time_figures import Dram, Figure, Figures
from banksim.errors import InputError

TAKEN = "taken from sm_90, where it was measured"
H200_L2 = 60 << 20
"""Bytes of an H200's L2 cache (cuDeviceGetAttribute)."""
H200_PEAK = 4814
"""GB/s of its DRAM: 6,016 bits at 3,201 MHz, twice a cycle (cuDeviceGetAttribute)."""
L2 = {
    "turing": (188, "Jia et al., Dissecting the NVidia Turing T4 GPU via Microbenchmarking (arXiv 1903.07486)"),
    "ampere": (200, "Abdelkhalik et al., Demystifying the Nvidia Ampere Architecture (arXiv 2208.11174), an A100"),
}
"""Cycles of a load that the L2 cache has, by family, and where that was published."""
UNTIL_SERVED = 20
"""Of these, the cycles until its request is served."""


@cache
def figures(arch: str) -> Figures:
    """The figures of an architecture. Raises `InputError` where none were measured, and none are published."""
    if arch in FIGURES:
        return FIGURES[arch]
    gpu = published(arch)
    if gpu is None:
        known = ", ".join([*FIGURES, *(f"sm_{number}" for number in GPUS)])
        raise InputError(f"no time model for {arch}: there is one for {known}")
    return replace(
        H200,
        name=arch,
        clock_mhz=gpu.clock_mhz,
        multiprocessors=gpu.multiprocessors,
        l1_and_shared=gpu.l1_kib << 10,
        figures={name: assumed(figure) for name, figure in H200.figures.items()} | published_latencies(arch),
        together=(1,) * gpu.multiprocessors,
        dram=scaled(H200.dram, gpu),
        held={name: held._replace(status="assumed", source=TAKEN) for name, held in H200.held.items()},
        assumption=f"the multiprocessor is an H200's, at the rates that are published of the {gpu.name}",
        launch=assumed(H200.launch),
        spread=assumed(H200.spread),
        accesses=(assumed(H200.accesses[0]), assumed(H200.accesses[1])),
        first_launch=assumed(H200.first_launch),
        new_code=assumed(H200.new_code),
        event=assumed(H200.event),
        graph=assumed(H200.graph),
        in_graph=assumed(H200.in_graph),
    )


def multiprocessors(arch: str) -> int:
    """Of the GPU that stands for an architecture; an H200's where there is none."""
    gpu = published(arch)
    return gpu.multiprocessors if gpu else H200.multiprocessors


def assumed(figure: Figure) -> Figure:
    return figure._replace(status="assumed", source=TAKEN)


def published_latencies(arch: str) -> dict[str, Figure]:
    """The latencies of shared memory and of the L2 cache, of what was published of them."""
    rule = architecture(arch)
    own, of_h200 = rates(rule), rates(architecture(H200.name))
    found = {}
    if own and of_h200:
        result = H200.figures["result"].value + own.latency - of_h200.latency
        found["result"] = Figure(result, "assumed", own.sources[0])
    if of_l2 := L2.get(capability(rule.capability).family):
        cycles, source = of_l2
        found["l2"] = Figure(cycles - UNTIL_SERVED, "assumed", source)
    return found


def scaled(of_h200: Dram, gpu: Gpu) -> Dram:
    """What a GPU has of DRAM: caches in proportion to their size, bytes a second to the published peak, and as many
    nanoseconds until they come; what a line counts as is the same."""
    size, clock = gpu.l2_bytes / H200_L2, gpu.clock_mhz / H200.clock_mhz
    each = clock * H200_PEAK / gpu.gb_per_s
    times = dict.fromkeys(("all", "none", "kept", "lost", "stays", "parts"), size) | dict.fromkeys(
        ("read", "write", "turn"), each
    )
    times |= dict.fromkeys(("first", "first_at_once", "late"), clock)
    return of_h200._replace(**{name: round(getattr(of_h200, name) * factor) for name, factor in times.items()})
