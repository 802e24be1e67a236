"""A worker's scratch memory: what wide loads and atomics return, what is handed to run-time functions. Byte offsets."""

from banksim.machine.llvm.values import LANES

ROW = 4 * LANES
RESULT, ADDRESSES, VALUES, COMPARE, TARGETS, STORED = 0, *(n * ROW for n in (4, 5, 9, 13, 14))
SERVED, SERVED_ROWS = 19 * ROW, 11
"""What services are handed."""
MET, MET_BYTES, MET_SITES = SERVED + SERVED_ROWS * ROW, 32, 64
"""The buffers that loads met last. Each has an entry, which loads share that lie this number of instructions apart;"""
STORE_MET = MET + MET_BYTES * MET_SITES
"""… and those that stores met."""
SCRATCH_BYTES = STORE_MET + MET_BYTES * MET_SITES
