"""What launches counted is added up before conflicts are made of it, with the sums that the conflicts would have."""

from typing import Any

import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import architecture
from banksim.banks.conflicts import Conflicts, merge, repeated
from banksim.machine.llvm.counts import by_site, numbers_of
from banksim.machine.state import TALLY, aligned
from banksim.runs.counts_to_conflicts import Judged
from banksim.runs.programs.kernel_launches import KernelLaunches, Shape, in_order
from helpers.executed_launches import run_by_hand
from helpers.places import H200, loaded

RULES = tuple(map(architecture, ("sm_90", "sm_75")))
SITES = [(48, "ld", 4), (16, "st", 4), (48, "ld", 8), (16, "st", 4), (16, "ld", 4), (80, "red", 4)]
"""One of them twice, as of an instruction that was translated twice."""
ONCE = Shape((1, 1, 1), (32, 1, 1), 0)


def tallies(random: np.random.Generator, base: int) -> npt.NDArray[Any]:
    """Of few values, so that requests are often of one excess, block and warp, and some are the same."""
    found = aligned(TALLY, len(SITES) * len(RULES)).reshape(len(SITES), len(RULES))
    for t in found.reshape(-1)[random.random(found.size) < 0.7]:
        t["requests"], t["low"], t["ideal"] = random.integers(1, 4, 3)
        t["high"] = t["low"] + (random.random() < 0.2)
        t["unknown"] = random.random() < 0.1
        t["degree"], t["worst_excess"], t["worst_block"], t["worst_warp"] = random.integers(0, 2, 4)
        t["worst_mask"] = random.integers(1, 4)
        t["worst_address"] = random.integers(0, 2 * base, 32) if random.random() < 0.3 else base + 4
    return found.reshape(len(SITES), len(RULES))


def bare(conflicts: Conflicts) -> object:
    return conflicts.arch, sorted(conflicts.sites, key=lambda one: (one.site.offset or 0, one.op, one.width))


def test_sums_of_launches_are_those_of_their_conflicts() -> None:
    numbers, random = numbers_of(SITES), np.random.default_rng(15)
    kernel = loaded(H200 / "barriers.cubin")["barrier_3d"]
    for launches in (1, 2, 12, 80):
        found = KernelLaunches("many", (), [Conflicts(rule, ()) for rule in RULES], kernel=kernel)
        expected = [Conflicts(rule, ()) for rule in RULES]
        for _ in range(launches):
            judged = Judged(kernel, tuple(numbers), by_site(numbers, tallies(random, kernel.shared_base)), RULES)
            times = int(random.integers(1, 4))
            run = run_by_hand(kernel, judged)
            for _ in range(times):
                found.add(run, ONCE)
            assert "conflicts" not in vars(judged), "was made before anybody looked"
            alone = Judged(kernel, judged.sites, judged.tallies, RULES)
            expected = [merge(a, repeated(b, times)) for a, b in zip(expected, alone, strict=True)]
        found.settle()
        assert [bare(in_order(one)) for one in expected] == [bare(one) for one in found.judged]
