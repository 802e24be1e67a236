"""GPUs that were not measured: what was published of them, and what the time model makes of it."""

import pytest

from banksim.architectures.code_layout import MACHINES
from banksim.architectures.latencies import FIGURES, H200
from banksim.architectures.occupancy import limits
from banksim.architectures.other_generations import H200_L2, H200_PEAK, figures, multiprocessors
from banksim.architectures.published_gpus import GPUS, published
from banksim.architectures.time_figures import Traffic
from banksim.errors import InputError
from banksim.runs.programs.device import ATTRIBUTES, attributes, name

PUBLISHED = [f"sm_{number}" for number in GPUS]


@pytest.mark.parametrize("arch", MACHINES)
def test_each_architecture_has_measured_figures_or_published_ones_or_none(arch: str) -> None:
    assert (arch in FIGURES) + (arch in PUBLISHED) <= 1
    if arch in FIGURES or arch in PUBLISHED:
        assert figures(arch).name == arch
    else:
        with pytest.raises(InputError, match=f"no time model for {arch}: there is one for sm_90, sm_75"):
            figures(arch)


@pytest.mark.parametrize("arch", PUBLISHED)
def test_what_is_published_is_assumed_of_each_figure(arch: str) -> None:
    gpu, found = published(arch), figures(arch)
    assert gpu is not None
    assert gpu.name in found.assumption
    behinds = [
        found.behind_dram(Traffic(1e6, 1e6, 0.5, 0.5 * cold, 0.5, 0.5, 0.5, 64, 1, 0.5, True), cold)
        for cold in (False, True)
    ]
    stated = [*found.figures.values(), *found.held.values(), found.launch, found.spread, found.event, found.graph]
    stated += [one for behind in behinds for one in (*behind.figures.values(), *behind.held.values())]
    assert {one.status for one in [*stated, found.in_graph]} == {"assumed"}
    assert all(one.source for one in stated)
    assert found.numbers(active=gpu.multiprocessors).service == H200.numbers().service
    assert found.at_once(1, 3) == 3 * gpu.multiprocessors
    assert found.at_once(2) == 0, "nobody knows how clusters spread over it"


@pytest.mark.parametrize("arch", PUBLISHED)
def test_dram_gives_what_is_published(arch: str) -> None:
    gpu, found = GPUS[arch.removeprefix("sm_")], figures(arch)
    reached = H200.clock_mhz / H200.dram.read * 1000 / H200_PEAK  # share of its peak: MHz by cycles of a megabyte
    assert found.clock_mhz / found.dram.read * 1000 == pytest.approx(reached * gpu.gb_per_s, rel=0.01)
    assert found.dram.all / gpu.l2_bytes == pytest.approx(H200.dram.all / H200_L2, rel=0.01)


@pytest.mark.parametrize("arch", PUBLISHED)
def test_the_l1_cache_lies_beside_shared_memory(arch: str) -> None:
    assert limits(arch).shared < GPUS[arch.removeprefix("sm_")].l1_kib << 10


@pytest.mark.parametrize("arch", PUBLISHED)
def test_programs_are_told_the_same_gpu(arch: str) -> None:
    gpu, told = GPUS[arch.removeprefix("sm_")], attributes(arch)
    assert name(arch) == f"NVIDIA {gpu.name}, simulated by banksim"
    assert told["MULTIPROCESSOR_COUNT"] == multiprocessors(arch) == gpu.multiprocessors
    assert told["CLOCK_RATE"] == 1000 * gpu.clock_mhz
    bandwidth = 2 * told["MEMORY_CLOCK_RATE"] * 1000 * told["GLOBAL_MEMORY_BUS_WIDTH"] / 8  # as programs reckon
    assert bandwidth == pytest.approx(gpu.gb_per_s * 1e9, rel=1e-3)


def test_what_is_not_published_is_an_h200s() -> None:
    assert attributes("sm_103")["MULTIPROCESSOR_COUNT"] == multiprocessors("sm_103") == 132
    told = ATTRIBUTES["MEMORY_CLOCK_RATE"] * ATTRIBUTES["GLOBAL_MEMORY_BUS_WIDTH"]
    assert (ATTRIBUTES["L2_CACHE_SIZE"], round(2 * told / 8e6)) == (H200_L2, H200_PEAK)
