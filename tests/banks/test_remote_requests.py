"""Accesses to other blocks' shared memory, as an H100 and an H200 counted them.

The rule was found in the first 351 requests, all to one block; the others, to several blocks, were held out.
"""

from __future__ import annotations

import numpy as np
import pytest
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
TIMES, FOUND_IN = 16, 351


@pytest.mark.parametrize("held_out", [False, True])
def test_lines_are_what_the_hardware_counted(held_out: bool) -> None:
    recorded = recordings.arrays("remote_requests")
    compared = mixed = 0
    for n in range(FOUND_IN, len(recorded["how"])) if held_out else range(FOUND_IN):
        if int(recorded["how"][n]) not in KINDS:
            continue
        op, width = KINDS[int(recorded["how"][n])], recorder.WIDTHS[int(recorded["how"][n])]
        mask, ranks = int(recorded["mask"][n]), recorded["rank"][n].astype(np.int64)
        address = (ranks << RANK_BIT) + recorded["address"][n]
        own = (ranks == 0) & (mask >> np.arange(32) & 1 == 1)
        if own.any():  # lanes that reach into the own block are not counted: of such requests no cost is told
            mask &= ~sum(1 << int(lane) for lane in np.flatnonzero(own))
            mixed += 1
        known = judge(address.tolist(), op, width, mask, HOPPER)
        assert known is not None
        assert TIMES * known[0] == recorded["lines"][n]
        compiled = compiled_judge(address.astype(np.uint32), np.uint32(mask), OP_CODES[op], width, rule_words(HOPPER))
        assert compiled[0] == known[0]
        assert compiled[2] == known[1]
        compared += 1
    assert compared >= (670 if held_out else 216)
    assert bool(mixed) == held_out


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
