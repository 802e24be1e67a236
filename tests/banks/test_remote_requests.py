"""Accesses to other blocks' shared memory, as an H100 and an H200 counted them.

The rule of loads and stores was found in the first 351 requests, all to one block; the others, to several blocks, were
held out. That of atomics and of stores that an mbarrier counts was found in all of these, to ranks below 4 and lines
below 512, and what the two upper bits of a rank do in every second of the requests of `remote_atomics` to ranks above;
all others there were held out: other operations, all lines and ranks, 16 bytes, several clusters at once.
"""

from typing import Any

import numpy as np
import pytest
import remote_atomics
import remote_requests as recorder

from banksim.architectures.bank_rules import architecture
from banksim.banks.compiled.one_request import judge as compiled_judge
from banksim.banks.compiled.rule_words import rule_words
from banksim.banks.rule import explain, judge
from banksim.machine.codes import RANK_BIT
from banksim.requests.copies import LINE
from banksim.requests.kinds import OP_CODES
from helpers import recordings

HOPPER = architecture("sm_90")
KINDS = dict.fromkeys((0, 1, 2, 11, 13), "remote_ld") | dict.fromkeys((3, 4, 5, 12, 14), "remote_st")
"""The recorder's cases that the rule is about."""
ATOMICS = {6: "atom", 7: "atom", 8: "atom", 9: "cas", 10: "atom", 15: "async", 16: "async", 17: "async"}
"""Those that are atomics, or that an mbarrier counts."""
TIMES, FOUND_IN = 16, 351
RESERVE = 1024
"""Bytes of shared memory before the kernel's own; in the recordings behind the first 351 as many hold its mbarrier."""


def equal(op: str, width: int, address: Any, mask: int, counted: float) -> None:
    known = judge(address.tolist(), op, width, mask, HOPPER)
    assert known is not None
    assert known[0] == counted
    compiled = compiled_judge(address.astype(np.uint32), np.uint32(mask), OP_CODES[op], width, rule_words(HOPPER))
    assert (compiled[0], compiled[2]) == known[:2]


def without_own(ranks: Any, own: int, mask: int) -> int:
    """The lanes that reach into other blocks. Those that reach into the own one are not counted; of requests with such,
    but for those that an mbarrier counts, no cost is told."""
    return mask & ~sum(1 << int(lane) for lane in np.flatnonzero(ranks == own))


@pytest.mark.parametrize("held_out", [False, True])
def test_lines_are_what_the_hardware_counted(held_out: bool) -> None:
    recorded = recordings.arrays("remote_requests")
    compared = 0
    for n in range(FOUND_IN, len(recorded["how"])) if held_out else range(FOUND_IN):
        if int(recorded["how"][n]) not in KINDS:
            continue
        op, width = KINDS[int(recorded["how"][n])], recorder.WIDTHS[int(recorded["how"][n])]
        ranks = recorded["rank"][n].astype(np.int64)
        mask = without_own(ranks, 0, int(recorded["mask"][n]))
        equal(op, width, (ranks << RANK_BIT) + recorded["address"][n], mask, recorded["lines"][n] / TIMES)
        compared += 1
    assert compared >= (670 if held_out else 216)


def test_passes_of_atomics_are_what_the_hardware_counted() -> None:
    recorded = recordings.arrays("remote_requests")
    compared = 0
    for n, how in enumerate(recorded["how"].tolist()):
        if how in ATOMICS:
            op, ranks, mask = f"remote_{ATOMICS[how]}", recorded["rank"][n].astype(np.int64), int(recorded["mask"][n])
            mask = mask if ATOMICS[how] == "async" else without_own(ranks, 0 if n >= FOUND_IN else -1, mask)
            address = (ranks << RANK_BIT) + recorded["address"][n] + RESERVE * (1 + (n >= FOUND_IN))
            equal(op, recorder.WIDTHS[how], address, mask, recorded["lines"][n] / TIMES)
            compared += 1
    assert compared == 911


def test_passes_of_held_out_atomics_are_what_the_hardware_counted() -> None:
    recorded = recordings.arrays("remote_atomics")
    compared = 0
    for n, how in enumerate(recorded["how"].tolist()):
        if how == remote_atomics.LOAD_AND_STORE:
            continue
        kind = "async" if how in remote_atomics.COUNTED else "cas" if how in remote_atomics.COMPARING else "atom"
        ranks, mask = recorded["rank"][n].astype(np.int64), int(recorded["mask"][n])
        mask = mask if kind == "async" else without_own(ranks, int(recorded["source"][n]), mask)
        address = (ranks << RANK_BIT) + recorded["address"][n] + RESERVE
        clusters = int(recorded["grid"][n]) // int(recorded["cluster"][n])
        equal(f"remote_{kind}", remote_atomics.WIDTHS[how], address, mask, recorded["lines"][n] / TIMES / clusters)
        compared += 1
    assert compared == 1045


def test_a_wide_access_of_neighbouring_lanes_takes_no_more_lines_than_its_bytes_need() -> None:
    for width in (1, 2, 4, 8, 16):
        address = [width * lane for lane in range(32)]
        least = max(1, 32 * width // LINE)
        assert judge(address, "remote_ld", width, 0xFFFFFFFF, HOPPER) == (least, least, 1)
        assert judge([LINE * lane for lane in range(32)], "remote_st", width, 0xFFFFFFFF, HOPPER) == (
            32,
            least,
            32 // least,
        )


def test_each_pass_is_a_line() -> None:
    found = explain([64 * lane for lane in range(32)], "remote_ld", 4, 0xFFFFFFFF, HOPPER)
    assert [one.lanes for one in found.passes] == [(2 * n, 2 * n + 1) for n in range(16)]
    assert (found.status, found.ideal) == ("measured", 1)
