"""Copies past the L1 cache of which an operand turns lanes off: these write zeros, and read nothing.

The recording is of instructions whose operand is not P0: that one the profiler takes for false. Its `address` tells of
both places, as `banksim.requests.copies` has them, as if all lanes read; bit i of `reads` says that lane i does.
"""

import numpy as np

from banksim.architectures.bank_rules import architecture
from banksim.banks.compiled.one_request import judge as compiled_judge
from banksim.banks.compiled.rule_words import rule_words
from banksim.banks.rule import judge
from banksim.requests.kinds import OP_CODES, UNREAD
from helpers.places import DATA

HOPPER = architecture("sm_90")


def test_transactions_are_the_source_pages() -> None:
    recorded, compared = np.load(DATA / "h200_turned_off.npz"), 0
    for address, mask, reads, transactions in zip(*(recorded[name] for name in recorded.files), strict=True):
        op = "cp_async_bypass" if reads == mask else "cp_async_bypass_zfill"
        off = (reads >> np.arange(32, dtype=np.uint32) & 1) == 0
        places = np.where(off & (reads != mask), address | UNREAD, address).astype(np.uint32)
        found = judge([int(one) for one in places], op, 16, int(mask), HOPPER)
        compiled = compiled_judge(places, np.uint32(mask), OP_CODES[op], 16, rule_words(HOPPER))
        if found is None:  # 16 bytes go to two places of one line
            assert compiled[0] < 0
            continue
        assert found[0] == transactions
        assert (compiled[0], compiled[2]) == found[:2]
        compared += 1
    assert compared == 257
