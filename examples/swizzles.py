"""Layouts without padding in which a column is as cheap as a row: XOR the column with the row."""

import banksim
from banksim.report import text

# 32 × 32 floats, one a thread: a transpose.
transpose = banksim.pattern(
    ["plain[x][y]", "swizzled[y][x ^ y] = value", "swizzled[x][x ^ y]"],
    declare="float plain[32][32], swizzled[32][32];",
    let=["x = threadIdx.x", "y = threadIdx.y"],
    block=(32, 32),
)
print(text(banksim.replay(transpose), width=120, pictures="none"))

# Rows of 128 bytes in chunks of 16, as TMA's 128-byte swizzle lays them out: all lanes read chunk 3.
chunks = banksim.pattern(
    ["plain[lane][3]", "swizzled[lane][3 ^ lane % 8]"],
    declare="float4 plain[32][8], swizzled[32][8];",
)
print()
print(text(banksim.replay(chunks), width=120, pictures="none"))
