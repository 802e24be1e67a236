"""A tile of 16 × 32 ints and a block of 32 × 16 threads: a transpose with rows of 32, 33 and 34 elements."""

import banksim
from banksim.report import text

trace = banksim.pattern(
    ["tile[y][x] = value", "tile[column][row]", "padded[column][row]", "padded_twice[column][row]"],
    declare="int tile[16][32], padded[16][33], padded_twice[16][34];",
    let=["x = threadIdx.x", "y = threadIdx.y", "i = 32 * y + x", "row = i / 16", "column = i % 16"],
    block=(32, 16),
)
judged = [banksim.replay(trace, arch) for arch in ("kepler-4", "kepler-8", "sm_90")]
print(text(judged, width=120, pictures="none"))
