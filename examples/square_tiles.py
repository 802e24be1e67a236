"""A tile of 32 × 32 ints, by rows and by columns: what a row that is 1 or 2 elements longer changes."""

import banksim
from banksim.report import text

trace = banksim.pattern(
    [
        "tile[y][x] = value",
        "tile[x][y] = value",
        "tile[y][x]",
        "tile[x][y]",
        "padded[x][y]",
        "padded_twice[x][y]",
    ],
    declare="int tile[32][32], padded[32][33], padded_twice[32][34];",
    let=["x = threadIdx.x", "y = threadIdx.y"],
    block=(32, 32),
)
judged = [banksim.replay(trace, arch) for arch in ("kepler-4", "kepler-8", "sm_90")]
print(text(judged, width=120, pictures="none"))
