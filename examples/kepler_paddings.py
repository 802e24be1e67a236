"""Which row lengths let a warp read a column of ints at no cost: that depends on Kepler's bank mode."""

import banksim

ARCHITECTURES = ("kepler-4", "kepler-8", "sm_90")

print("row", *(f"{name:>9}" for name in ARCHITECTURES))
for row in range(32, 41):
    trace = banksim.pattern("tile[threadIdx.x][0]", declare=f"int tile[32][{row}]", block=32)
    print(f"{row:3}", *(f"{banksim.replay(trace, name).transactions:9}" for name in ARCHITECTURES))
