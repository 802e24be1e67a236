"""The operand collector of a sub-core: in which cycles it reads the registers of instructions, from two banks.

Found by measuring one H200 with sequences that were written at random: all 1,974 of floats and integers take one warp
exactly as many cycles here [h200_collector has 70]. An instruction takes its sources from latches three cycles behind
its issue, one for each bank and place among the sources. Until then each is read in a cycle of its bank. Products of 64
bits and doubles are less exact.
"""

from banksim.system.compiled_types import Integer
from banksim.system.jit import inlined
from banksim.timing.issue_records import Multiprocessor

FROZEN, SINCE, READS, LATCHES = 0, 1, 2, 5
"""`Multiprocessor.collectors`: for how many cycles a sub-core's operand collector has stood still; its time (the cycle
without these) of the last instruction; how often each bank (READS, and the one behind it) is read in each of the
cycles from that one on, and how much oftener than once it can be (behind both), four bits a cycle; and from LATCHES on,
for the even bank and then for the odd one, when the last instruction came that fills the latch of each source."""
WINDOW, SOURCES = 3, 3
"""Cycles from its issue on in which an instruction's registers are read: behind them it takes what its latches hold."""
ONE = 6
"""Bits of `IssueRow.reads` for one register: EVEN_BANK or ODD_BANK, from PLACES on the sources that it is, and KEPT if
it is not read, since the reuse cache has it."""
EVEN_BANK, ODD_BANK, PLACES, KEPT = 1, 2, 2, 32
COUNT = 4
"""Bits for the reads of one cycle."""
MOST = 15
"""Cycles ahead for which the reads of banks are known."""


@inlined
def room(taken: Integer, more: Integer, at: Integer) -> bool:
    """Whether a bank can be read once more in a cycle."""
    each = (1 << COUNT) - 1
    return bool((taken >> COUNT * at & each) <= (more >> COUNT * at & each))


@inlined
def come_to(sm: Multiprocessor, core: Integer, t: Integer) -> Integer:
    """Have the reads of banks counted from cycle t of the clock on. Returns the collector's time then, which is no
    earlier than that of the second half of a product of 64 bits."""
    collector = sm.collectors[core]
    now: Integer = max(t - collector[FROZEN], collector[SINCE])
    passed = COUNT * min(now - collector[SINCE], MOST)
    for n in range(READS, LATCHES):
        collector[n] >>= passed
    collector[SINCE] = now
    return now


@inlined
def collect(sm: Multiprocessor, core: Integer, reads: Integer, t: Integer) -> Integer:
    """Read the registers of an instruction that comes at cycle t of the clock: each in the first cycle in which its
    bank is free, but not before an earlier instruction has taken what the same latch of that bank holds. Where none is
    left in the window, the collector stands still in the last one, and each bank is read once more. Returns for how
    many cycles."""
    now, collector = come_to(sm, core, t), sm.collectors[core]
    even, odd, more = collector[READS], collector[READS + 1], collector[READS + 2]
    begins: Integer = 0  # of each register the first cycle, from one on, in two bits
    for n in range(SOURCES):
        one = reads >> ONE * n & (1 << ONE) - 1
        first: Integer = 0
        for source in range(SOURCES if one else 0):
            if one >> PLACES + source & 1:
                if one & EVEN_BANK:
                    first = max(first, collector[LATCHES + source] + WINDOW - now)
                    collector[LATCHES + source] = now
                if one & ODD_BANK:
                    first = max(first, collector[LATCHES + SOURCES + source] + WINDOW - now)
                    collector[LATCHES + SOURCES + source] = now
        if one and not one & KEPT:
            begins |= (min(first, WINDOW - 1) + 1) << 2 * n
    late: Integer = 0
    for begin in range(WINDOW if begins else 0):
        for n in range(SOURCES):
            if begins >> 2 * n & 3 == begin + 1:
                one, at = reads >> ONE * n, begin
                while at < WINDOW and not (
                    (one & EVEN_BANK == 0 or room(even, more, at)) and (one & ODD_BANK == 0 or room(odd, more, at))
                ):
                    at += 1
                if at == WINDOW:
                    at, late = WINDOW - 1, late + 1
                    more += 1 << COUNT * at
                even += (one & EVEN_BANK) << COUNT * at
                odd += (one >> 1 & 1) << COUNT * at
    collector[READS], collector[READS + 1], collector[READS + 2] = even, odd, more
    collector[FROZEN] += late
    return late


@inlined
def reserve(sm: Multiprocessor, core: Integer, even: Integer, odd: Integer, t: Integer) -> None:
    """Have banks read in cycles behind cycle t, of the clock, which are counted as in `collectors`."""
    come_to(sm, core, t)
    sm.collectors[core, READS] += even
    sm.collectors[core, READS + 1] += odd
