"""Runs a little of everything, so that what banksim compiles for a machine is there before the first real run."""

import numpy as np

from banksim.banks.pieces import replay
from banksim.requests.kinds import SMALL
from banksim.requests.trace import Trace

PTX = b"""\
.version 8.0
.target sm_90
.address_size 64
.visible .entry warm(.param .u64 out)
{
    .shared .align 4 .b8 words[256];
    .reg .b32 %r<6>;
    .reg .b64 %d<4>;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, words;
    mad.lo.s32 %r3, %r1, 4, %r2;
    st.shared.u32 [%r3], %r1;
    bar.sync 0;
    xor.b32 %r4, %r1, 1;
    mad.lo.s32 %r4, %r4, 4, %r2;
    ld.shared.u32 %r5, [%r4];
    ld.param.u64 %d1, [out];
    cvta.to.global.u64 %d1, %d1;
    mul.wide.s32 %d2, %r1, 4;
    add.s64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r5;
    ret;
}
"""
"""Two warps change places through shared memory."""
THREADS = 64


def warm() -> None:
    """Judge a trace, and execute a kernel: plainly, traced, checked, timed."""
    from banksim.kernels.compilers import assemble
    from banksim.kernels.cubin import decode
    from banksim.runs.run import run

    address = np.arange(32 * (SMALL + 1), dtype=np.uint32).reshape(-1, 32) * 4
    replay(Trace.from_arrays("ld", 4, 0xFFFFFFFF, address % 4096), "sm_90")
    kernel = decode(assemble(PTX, "sm_90", name="warm"))["warm"]
    out = np.zeros(THREADS, np.int32)
    run(kernel, 2, THREADS, [out])
    run(kernel, 2, THREADS, [out], trace=lambda trace: None)
    run(kernel, 2, THREADS, [out], check="races,uninitialized")
    run(kernel, 2, THREADS, [out], timing=True)
