"""A worker's scratch memory: what wide loads and atomics return, what is handed to run-time functions. Byte offsets."""

from banksim.sass.llvm.values import LANES

ROW = 4 * LANES
RESULT, ADDRESSES, VALUES, COMPARE, SHUFFLE, TARGETS = 0, 4 * ROW, 5 * ROW, 7 * ROW, 9 * ROW, 10 * ROW
SERVED, SERVED_ROWS = 16 * ROW, 10
"""What services are handed."""
SCRATCH_BYTES = SERVED + SERVED_ROWS * ROW
