"""Numbers by which compiled code, scheduler and reference engine tell each other what happened."""

from __future__ import annotations

LANES = 32


GROUPS = 40
"""Places for groups of one warp: 32 threads can part into 32, and a branch parks two at a time."""


CONVERGENCE = 18
"""Convergence barriers B0 to B15, and two more on which WARPSYNC and WARPSYNC.COLLECTIVE wait."""


WARPSYNC, COLLECTIVE = 16, 17


BLOCK_BARRIERS = 16


APART, READY, YIELDED = -3, -1, -2
"""What a group waits for: nothing, but it joins no other; nothing; nothing, but others go first; 0 to 17 a
convergence barrier …"""


AT_BARRIER = 64
"""… AT_BARRIER + n the block's barrier n …"""


AT_WORD = 128
"""… the end of a phase of a transaction barrier: `group_phase` is its address, plus 1 if the phase's parity is odd."""


PENDING, BYTES_TO_COME, EXPECTED, PARITY = 0xFFFFF << 43, 0x3FFFFF << 21, 0xFFFFF << 1, 1 << 63
"""Fields of a transaction barrier: operations/transactions.py."""


RUN, BLOCKED, DONE, SWITCH = 0, 1, 2, 3
"""What a warp answers: run on; waits for other warps; all threads have left; has used up its turn."""


FAULT = 16
"""… or FAULT + one of these."""


OUT_OF_SHARED, OUT_OF_GLOBAL, OUT_OF_LOCAL, OUT_OF_CONSTANT, BAD_TARGET = range(1, 6)


BLOCK_DEADLOCK, LIMIT, INTERRUPTED, TRAP, ASSERTION, NOT_SIMULATED, UNKNOWN_CONSTANT = range(6, 13)


TOGETHER, WAITED, ARRIVED, PASSED = range(4)
"""What is told to those who watch: threads that go on as one group, that have waited for each other, that come to a
barrier of the block, and that a barrier's phase ends."""


READ, WRITTEN, ADDED, ADDED_LONG = 1, 2, 4, 8
"""How a byte of global memory was used; the last two: by integer additions of 4 or 8 bytes with no result."""


AND, OR, POPC, NO_REDUCTION = range(4)
"""How a barrier reduces the predicates it collects."""


READING = 64
"""By how much a reading moves a clock on where no time is simulated."""


TURN, SHORT_TURN = 1 << 14, 1 << 6
"""Instructions of backward branches after which a warp lets others run: spin loops must see others move. Short where
whole blocks wait for each other so."""
