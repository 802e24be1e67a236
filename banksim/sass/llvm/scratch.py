"""A worker's scratch memory: what wide loads and atomics return, what is handed to run-time functions. Byte offsets."""

from banksim.sass.llvm.values import LANES

ROW = 4 * LANES
RESULT, ADDRESSES, VALUES, COMPARE, SHUFFLE, TARGETS = 0, 4 * ROW, 5 * ROW, 7 * ROW, 9 * ROW, 10 * ROW
SCRATCH_BYTES = 16 * ROW
