"""What single requests take, by generation: sm_90 against its recorded chains and streams, the rest as published."""

import pytest

from banksim.architectures.bank_rules import presets
from banksim.architectures.published_rates import rates
from banksim.banks.rule import explain
from banksim.timing.block_cycles import transfers
from helpers import recordings

RECORDED = recordings.arrays("timing/latency")
ACCESSES = {"lds": ("ld", 4), "lds64": ("ld", 8), "lds128": ("ld", 16), "sts": ("st", 4), "atoms_add": ("atom", 4)}


def slope(kernel: str, active: int, stride: int) -> float:
    """Cycles of the SM for an instruction, from launches of 4 and 12 rounds of 16."""
    lasted = {}
    warps = [w for w in range(32) if active >> w & 1]
    for (on, rounds, words), clocks in zip(RECORDED[f"{kernel}_config"].tolist(), RECORDED[kernel], strict=True):
        if (on, words) == (active, stride):
            lasted[rounds] = clocks[warps, -1, 1].max() - clocks[warps, -1, 0].min()
    return float(lasted[12] - lasted[4]) / 128 / len(warps)


def cost(name: str, stride: int) -> int:
    op, width = ACCESSES[name]
    address = [4 * ((lane * stride) & 1023) for lane in range(32)]
    found = transfers(explain(address, op, width, 0xFFFFFFFF, presets()["sm_90"]))
    assert found is not None
    return found


@pytest.mark.parametrize(("name", "stride"), [(n, s) for n in ACCESSES for s in (4, 8, 16, 32)])
def test_one_warp_and_a_busy_sm_take_what_was_measured(name: str, stride: int) -> None:
    known = rates(presets()["sm_90"])
    assert known is not None
    assert known.busy * cost(name, stride) == pytest.approx(slope(f"rate_{name}", 0xFFFFFFFF, stride), rel=0.03)
    alone = known.alone * cost(name, stride)
    if alone >= 16:  # below, issue is the limit
        assert alone == pytest.approx(slope(f"rate_{name}", 1, stride), abs=4)


@pytest.mark.parametrize("stride", [2, 4, 8, 16, 32])
def test_each_transaction_lengthens_a_chain_by_what_one_warp_waits(stride: int) -> None:
    known = rates(presets()["sm_90"])
    assert known is not None
    longer = slope("chain_lds", 1, stride) - slope("chain_lds", 1, 1)
    assert longer == pytest.approx(known.alone * (cost("lds", stride) - 1), abs=0.1)


def test_the_latency_is_that_of_the_chain_without_its_addition() -> None:
    known = rates(presets()["sm_90"])
    assert known is not None
    assert slope("chain_lds", 1, 1) - known.latency == pytest.approx(5.5, abs=0.5)


def test_a_load_takes_a_transfer_for_each_part_idle_or_not() -> None:
    address = list(range(0, 512, 16))
    for mask, expected in ((0xFFFFFFFF, 4), (0xFF, 4), (0x1, 2)):
        assert transfers(explain(address, "ld", 16, mask, presets()["sm_90"])) == expected
    assert transfers(explain(address, "st", 16, 0xFF, presets()["sm_90"])) == 1


@pytest.mark.parametrize("name", presets())
def test_only_what_was_measured_says_so(name: str) -> None:
    arch = presets()[name]
    known = rates(arch)
    assert (known is None) == (arch.capability < (2, 0))
    if known is not None:
        assert (known.status == "measured") == (arch.capability == (9, 0))
        assert all(known.sources)
        assert known.alone >= known.busy
