"""Numbers by which compiled code, scheduler and reference engine tell each other what happened."""

LANES = 32
GROUPS = 40
"""Places for groups of one warp: 32 threads can part into 32, and a branch parks two at a time."""

# ---- barriers
CONVERGENCE = 18
"""Convergence barriers of a warp: B0 to B15 of BSSY and BSYNC, then WARPSYNC and COLLECTIVE."""
WARPSYNC = 16
"""The convergence barrier at which WARPSYNC gathers threads."""
COLLECTIVE = 17
"""The convergence barrier at which WARPSYNC.COLLECTIVE gathers threads."""
BLOCK_BARRIERS = 16
"""Barriers of a block: that of __syncthreads() (0) and the named ones of PTX's `barrier.sync`. Of a register that names
one, and of a number of threads, the lowest bits count (measured on one H200: 77 is barrier 13, 4128 threads are 32)."""
THREADS_BIT = 16
"""Where one register tells the barrier and how many threads, from this bit on it has the latter."""
BARRIER_THREADS = (1 << 12) - 1
"""The bits of a number of threads that count."""
RANK_BIT = 24
"""From this bit on, an address of shared memory names the rank of a block in its cluster, as compiled code has it."""
OF_CLUSTER = BLOCK_BARRIERS
"""The number under which the race check knows the barrier of a cluster."""

# ---- what a group waits for (`group_wait`): the number of a convergence barrier, or one of these
APART = -3
"""It waits for nothing, and no other group may join it when it goes on."""
YIELDED = -2
"""It waits for nothing, but has yielded: every other group that can go on goes first."""
READY = -1
"""It waits for nothing; groups that are ready at the same pc go on together."""
AT_BARRIER = 64
"""AT_BARRIER + n: it waits at barrier n of the block."""
AT_WORD = 128
"""It waits for the end of an mbarrier's phase. `group_phase`: the mbarrier's address, plus 1 for odd parity."""
AT_CLUSTER = 129
"""It waits at the barrier of the cluster for the end of the phase `group_phase`."""

# ---- the fields of an mbarrier's 64 bits (operations/mbarriers.py); each number is stored negated
PENDING = 0xFFFFF << 43
"""How many arrivals the phase still waits for."""
BYTES_TO_COME = 0x3FFFFF << 21
"""How many bytes of asynchronous copies the phase still waits for."""
EXPECTED = 0xFFFFF << 1
"""How many arrivals each phase waits for."""
PARITY = 1 << 63
"""Whether the phase is an odd one."""

# ---- what the code of a warp returns
RUN = 0
"""The warp goes on."""
BLOCKED = 1
"""Every group of the warp waits for other warps."""
DONE = 2
"""All threads of the warp have exited."""
SWITCH = 3
"""The warp's turn is over: others are to run."""
FAULT = 16
"""FAULT + code: the launch ends, for the reason that one of the following codes gives."""

OUT_OF_SHARED, OUT_OF_GLOBAL, OUT_OF_LOCAL, OUT_OF_CONSTANT = range(1, 5)
"""An address out of bounds, or misaligned, in the memory that the name says."""
BAD_TARGET = 5
"""A branch to where no instruction begins."""
BLOCK_DEADLOCK = 6
"""No warp of the block can go on."""
LIMIT = 7
"""The limit on instructions is reached."""
INTERRUPTED = 8
"""The user interrupted the run."""
TRAP = 9
"""The kernel executed a trap."""
ASSERTION = 10
"""An assert() of the kernel failed."""
NOT_SIMULATED = 11
"""The kernel called a function of the driver that is not simulated."""
UNKNOWN_CONSTANT = 12
"""The kernel read a byte of constant bank 0 whose content is not known."""
UNDECIDED = 13
"""What is not followed from block to block decides a guard, a branch or a request."""
LONGER_STEP = 14
"""Of the blocks that are looked at only every so many-th is alike."""
BAD_COUNT = 15
"""A barrier of the block for a number of threads that is no multiple of a warp's."""
ENDED_BLOCK = 16
"""An access to the shared memory of a block of the cluster that has ended."""

# ---- events that the race check is told of
TOGETHER = 0
"""Threads go on as one group."""
WAITED = 1
"""Threads have waited for each other."""
ARRIVED = 2
"""Threads arrive at a barrier of the block."""
PASSED = 3
"""The phase of a barrier of the block ends."""
RELEASED = 4
"""Threads leave the barrier of the cluster."""

# ---- how a byte of global memory was used (bits)
READ = 1
WRITTEN = 2
ADDED = 4
"""By an integer addition of 4 bytes whose result the kernel does not use."""
ADDED_LONG = 8
"""By such an addition of 8 bytes."""

AND, OR, POPC, NO_REDUCTION = range(4)
"""How a barrier of the block reduces its threads' predicates: __syncthreads_and, _or, _count, and not at all."""
READING = 64
"""Cycles by which every reading of a clock moves it on where no time is simulated."""
TURN = 1 << 14
"""Instructions on backward branches after which a warp lets others run, so that a spin loop sees what they write."""
SHORT_TURN = 1 << 6
"""The same where blocks wait for each other in this way."""
