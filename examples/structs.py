"""Arrays of char, double and structs, one element a thread: the first architecture and sm_90."""

import banksim
from banksim.report import text

trace = banksim.pattern(
    ["letter[i]", "letter[4 * i]", "number[i]", "lo[i]", "hi[i]", "vector[i]", "point[i]", "pair[i]"],
    declare="""
        char letter[128];
        double number[32];
        int lo[32], hi[32];
        struct { float x, y, z; } vector[32];
        struct { float x, y; } point[32];
        struct { float f; char c; } pair[32];
    """,
    let={"i": "threadIdx.x"},
    block=32,
)
judged = [banksim.replay(trace, arch) for arch in ("tesla", "sm_90")]
print(text(judged, width=120, pictures="none"))
