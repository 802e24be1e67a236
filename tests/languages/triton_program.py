"""A program that launches a kernel of Triton. It has no tensors: those would be PyTorch's."""

import triton
import triton.language as tl


@triton.jit
def squares(n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.device_print("sum of squares", tl.sum(at * at + n))


squares[(2,)](3, BLOCK=256)
