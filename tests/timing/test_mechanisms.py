"""One mechanism of a multiprocessor at a time: micro-kernels on 1 to 32 warps, beside what one H200 took for them."""

import json
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import banksim
from helpers.places import DATA, loaded
from helpers.recordings import clocked, span

PASSES = 3
ALL = 0xFFFFFFFF


@cache
def recorded() -> dict[str, list[list[int]]]:
    kernels: dict[str, list[list[int]]] = json.loads((DATA / "timing" / "h200_clock.json").read_text())["kernels"]
    return kernels


module = partial(loaded, DATA / "timing" / "clock.cubin")


chains = partial(clocked, "hardware/timing/latency")

YIELDS = pytest.mark.xfail(
    strict=True,
    reason="6 to 14 % too long: loops of eight warps that yield hold each other's requests up",
)


def simulated(kernel: Any, active: int, rounds: int, stride: int) -> int:
    """Cycles of the last pass."""
    time, some, buffer = np.zeros(64 * PASSES, np.uint32), np.zeros(64, np.uint32), np.zeros(1 << 14, np.uint32)
    given = [*map(np.uint32, (active, rounds, 1, stride)), time, some, buffer]
    banksim.run(kernel, 1, 32 * active.bit_length(), given, dynamic_shared=41 * 1024, timing=True)
    return span(time.reshape(32, PASSES, 2)[:, -1], active)


def error(name: str, active: int, stride: int) -> float:
    rounds, measured = next((r, m) for a, r, s, m in recorded()[name] if (a, s) == (active, stride))
    return simulated(module()[name], active, rounds, stride) / measured - 1


@pytest.mark.parametrize(("values", "active"), [(1, 1), (8, 1), (32, 1), (8, ALL), (32, ALL)])
def test_match_takes_longer_with_each_different_value(values: int, active: int) -> None:
    assert abs(error("chain_matchc", active, values)) <= 0.03


@pytest.mark.parametrize("name", ["chain_copy4", "chain_copy8", "chain_copy16", "chain_st16_ld16"])
@pytest.mark.parametrize("active", [0x1])
def test_what_follows_a_store_waits_until_its_data_have_come_from_the_registers(name: str, active: int) -> None:
    assert abs(error(name, active, 1)) <= 0.01


@pytest.mark.parametrize(("name", "within"), [("chain_bar_bar", 0.005), ("chain_bar_f4", 0.04)])
@pytest.mark.parametrize("active", [0x1, 0xFF, ALL])
def test_instructions_behind_a_barrier_issue_before_it_blocks(name: str, within: float, active: int) -> None:
    assert abs(error(name, active, 1)) <= within


@pytest.mark.parametrize("name", ["chain_imad_xor_shf", "chain_xor_xor", "chain_fma_max"])
@pytest.mark.parametrize("active", [0x1, 0x11111111])
def test_chains_of_several_pipes(name: str, active: int) -> None:
    assert abs(error(name, active, 1)) <= 0.06


@pytest.mark.parametrize("name", ["fadd", "lop3", "imad", "branch_not_taken", "f16_f32", "ex2"])
def test_eight_warps_of_a_sub_core_share_it_fairly(name: str) -> None:
    arrays, kernels = chains()
    kernel = f"chain_{name}"
    config = arrays[f"{kernel}_config"].tolist()
    row = next(n for n, (active, rounds, _) in enumerate(config) if active == 0x11111111)
    _, rounds, stride = config[row]
    measured = span(arrays[kernel][row, :, -1], 0x11111111)
    assert simulated(kernels[kernel], 0x11111111, rounds, stride) == pytest.approx(measured, rel=0.03)


def slope(name: str, active: int, measured: bool) -> float:
    """Cycles of a step of all warps: between the least and the most rounds that were recorded."""
    arrays, kernels = chains()
    config = arrays[f"{name}_config"]
    stride = int(config[:, 2].min())
    rows = {int(r): n for n, (a, r, s) in enumerate(config) if a & ALL == active and s == stride}
    ends = []
    for rounds in (min(rows), max(rows)):
        took = span(arrays[name][rows[rounds]][:, -1], active)
        ends.append(took if measured else simulated(kernels[name], active, rounds, stride))
    return (ends[1] - ends[0]) / (16 * (max(rows) - min(rows)))


@pytest.mark.parametrize(
    "name",
    [
        "atoms_cas",
        "stsm2",
        "stsm4",
        "lds_stg",
        "shfl_idx",
        "sts_lds",
        pytest.param("ldg64", marks=YIELDS),
    ],
)
def test_a_memory_instruction_holds_its_sub_core_for_each_register_that_it_reads(name: str) -> None:
    """Eight warps of one sub-core."""
    taken = slope(f"rate_{name}", 0x11111111, measured=False)
    assert taken == pytest.approx(slope(f"rate_{name}", 0x11111111, measured=True), rel=0.055)


@pytest.mark.parametrize("name", ["sts", "stg", "lds_sts", "lds_lds_sts"])
def test_a_warp_that_yields_keeps_the_requests_of_its_sub_core(name: str) -> None:
    """Loops with a YIELD in each round, of eight warps of one sub-core: requests stay in its queue for eight cycles."""
    taken = slope(f"rate_{name}", 0x11111111, measured=False)
    assert taken == pytest.approx(slope(f"rate_{name}", 0x11111111, measured=True), rel=0.035)


@pytest.mark.parametrize("active", [0xF, 0xFF, ALL])
def test_what_is_stored_to_a_line_that_waits_for_the_l2_goes_with_it(active: int) -> None:
    """All warps store to the same eight lines; these took three and four times as long while each store went alone."""
    taken = slope("rate_stg_plain", active, measured=False)
    assert taken == pytest.approx(slope("rate_stg_plain", active, measured=True), rel=0.02)


def test_short_branches_find_the_lines_that_came_ahead_of_them() -> None:
    """Sixteen links of two halves in a loop of 60 lines, each over lines that its sub-core lacks again."""
    arrays, kernels = chains()
    config = arrays["chain_either_half_config"]
    row = next(n for n, (a, r, s) in enumerate(config) if (a, r) == (1, config[:, 1].max()))
    measured = int(np.diff(arrays["chain_either_half"][row, 0, -1].astype(np.int64))[0])
    taken = simulated(kernels["chain_either_half"], 1, int(config[row, 1]), int(config[row, 2]))
    assert taken == pytest.approx(measured, rel=0.035)


@pytest.mark.parametrize(
    ("name", "active", "within"),
    [
        ("membar_cta", 0xF, 0.06),
        ("membar_cta", 0x11111111, 0.1),
        ("membar_cta", ALL, 0.13),
        ("call", 0xF, 0.02),
        # those of the GPU, alone and behind a store each: they took no longer than those of a block
        ("membar_gl", 1, 0.02),
        ("membar_gl", 0xF, 0.03),
        ("membar_gl", 0x11111111, 0.05),
        ("stg_membar", 1, 0.02),
        ("stg_membar", 0xF, 0.03),
        ("stg_membar", 0x11, 0.03),
    ],
)
def test_fences_and_calls_of_several_warps_wait_for_each_other(name: str, active: int, within: float) -> None:
    arrays, kernels = chains()
    config = arrays[f"chain_{name}_config"].tolist()
    row, rounds, stride = next((n, r, s) for n, (a, r, s) in enumerate(config) if a & ALL == active)
    measured = span(arrays[f"chain_{name}"][row][:, -1], active)
    assert simulated(kernels[f"chain_{name}"], active, rounds, stride) == pytest.approx(measured, rel=within)


@pytest.mark.parametrize("name", ["dfma_imad", "dfma_prmt", "ffma_dfma", "hfma2_imad", "f16_f32", "hmnmx2"])
def test_doubles_and_halves_beside_other_instructions(name: str) -> None:
    """Eight warps of one sub-core."""
    taken = slope(f"rate_{name}", 0x11111111, measured=False)
    assert taken == pytest.approx(slope(f"rate_{name}", 0x11111111, measured=True), rel=0.05)


def test_what_barriers_and_special_registers_take_of_one_warp() -> None:
    """Readings of one warp's clock between S2UR, barriers, barriers with a result, arrivals and loads."""
    arrays, kernels = chains()
    row = next(n for n, (a, _, s) in enumerate(arrays["barrier_skew_config"].tolist()) if (a, s) == (1, 0))
    time, some, buffer = np.zeros(32 * PASSES * 49, np.uint32), np.zeros(64, np.uint32), np.zeros(1 << 14, np.uint32)
    given = [*map(np.uint32, (1, 1, 1, 0)), time, some, buffer]
    banksim.run(kernels["barrier_skew"], 1, 32, given, dynamic_shared=41 * 1024, timing=True)
    simulated = np.diff(time.reshape(32, PASSES, 49)[0, -1, :19].astype(np.int64))
    measured = np.diff(arrays["barrier_skew"][row, 0, -1].astype(np.int64))
    assert np.abs(simulated - measured).max() <= 5
    assert abs(int(simulated.sum() - measured.sum())) <= 3
