"""Bank rules as numbers, as compiled code reads them."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from banksim.architectures.bank_rules import AccessRule, Architecture
from banksim.requests.kinds import OPS, WIDTHS
from banksim.system.native_code import callback

HERE = "banksim.banks.compiled.one_request"
"""The module of the functions that a rule may name."""
WORD, LANE, ONCE, BROADCAST, COPY, BYPASS, COPY_AND_BYPASS, BY_LINE, BY_PLACE, BY_HALF_PLACE = range(10)
SERVED = {
    "word": WORD, "lane": LANE, "once": ONCE, "broadcast": BROADCAST, "copy": COPY, "bypass": BYPASS, "line": BY_LINE,
    "place": BY_PLACE, "half place": BY_HALF_PLACE,
}  # fmt: skip
UNKNOWN = -1
SHIFT, GROUPS, PART, MERGED, SERVES, PASSES, ROWS, FIELDS = range(8)
"""Fields of the record of an op and width. SHIFT: log2 of the bytes of a word that lanes share without a conflict.
GROUPS: groups of banks. PART: log2 of the lanes of a part; MERGED: the same where pairs merge (0: they never do).
SERVES: whom a pass serves (WORD … BY_HALF_PLACE). PASSES: how many each of those takes, in all requests that an access
is sent as (`judge_broadcast` counts these one by one). ROWS: lanes that give addresses."""
KEEP, BROADCASTS, COPIES, HEADER = 0, 1, 2, 3
"""A rule begins with the address bits that tell words apart (KEEP) and the addresses of `judge_broadcast` (BROADCASTS)
and `judge_copy` (COPIES); from HEADER on follow the records."""
RULE_WORDS = HEADER + len(OPS) * len(WIDTHS) * FIELDS
"""Length of what `rule_words` returns."""


def serving(access: AccessRule) -> int:
    """Whom a pass serves, as a number."""
    if access.also:
        assert (access.serves, access.also.serves) == ("copy", "bypass")
        return COPY_AND_BYPASS
    return SERVED[access.serves]


@lru_cache
def rule_words(arch: Architecture, ops: Sequence[str] = OPS) -> npt.NDArray[np.int64]:
    """`rule_records` with the addresses of the functions that some records need, those of `ops` (so they are of this
    process only): what `judge` reads."""
    rule = rule_records(arch).copy()
    serves = rule[HEADER:].reshape(len(OPS), -1, FIELDS)[[OPS.index(op) for op in ops], :, SERVES]
    if (serves == BROADCAST).any():
        rule[BROADCASTS] = callback(HERE, "judge_broadcast").address
    if (serves >= COPY).any():
        rule[COPIES] = callback(HERE, "judge_copy").address
    rule.flags.writeable = False
    return rule


@lru_cache
def rule_records(arch: Architecture) -> npt.NDArray[np.int64]:
    """`arch` as numbers: which address bits tell words apart, then the records."""
    rule = np.zeros(RULE_WORDS, np.int64)
    # Where a row has two words of a bank, they share a pass: the address bit that parts them is dropped.
    rule[KEEP] = 0xFFFFFFFF & ~(0 if arch.pass_width == arch.bank_width else arch.banks * arch.bank_width)
    records = rule[HEADER:].reshape(len(OPS), len(WIDTHS), FIELDS)
    records[..., SERVES] = UNKNOWN
    for code, op in enumerate(OPS):
        for column, width in enumerate(WIDTHS):
            access = None if arch.missing(op, width) else arch.accesses.get((op, width))
            if access is not None:
                unit = max(min(width, access.request_bytes), arch.bank_width)
                records[code, column] = (
                    unit.bit_length() - 1,
                    arch.banks * arch.bank_width // unit,
                    access.lanes.bit_length() - 1,
                    max(access.merged.bit_length() - 1, 0),
                    serving(access),
                    access.passes * (1 if access.serves == "broadcast" else access.requests(width)),
                    access.rows,
                )
    rule.flags.writeable = False
    return rule
