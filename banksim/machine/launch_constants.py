"""Constant bank 0: what a launch writes there. What else stands there on a GPU is refused, by its name or its place.

The values are those of a launch without clusters; on an H200 each of them was read back from the bank (from
sm_100 on those of `RESERVED` are assumed).
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from banksim.architectures.code_layout import CONSTANT_BANK, WINDOWS, machine
from banksim.kernels.kernel import Kernel

RESERVED = ("reserved end", "reserved part 1")
"""%reserved_smem_offset_end and _1 from sm_90 on: where parts of the system's memory lie."""
SIZES = {
    **dict.fromkeys(("%ntid", "%nctaid", "%cluster_nctaid", "1 / %cluster_nctaid", "%nclusterid"), 12),
    **dict.fromkeys((*WINDOWS, "variables", "workspace", "descriptor", "%current_graph_exec"), 8),
    **dict.fromkeys(("stack", "reserved shared", "%dynamic_smem_size", "%aggr_smem_size"), 4),
    **dict.fromkeys(RESERVED, 4),
    **dict.fromkeys(("%is_explicit_cluster", "%cluster_nctarank"), 4),
}
"""The bytes of what is written. `variables`: the generic address of the module's constant variables. `workspace`: the
upper, then the lower word of an address, at which the blocks of a cooperative launch meet. `descriptor` belongs to
accesses of global memory and changes nothing here. `reserved shared`: what the system takes of a block's memory."""
REFUSED = {
    **dict.fromkeys(("%envreg0", "%envreg16"), 64),
    "%gridid": 8,
    **dict.fromkeys(("%nsmid", "%reserved_smem_offset_end", "%reserved_smem_offset_1"), 4),
}
"""What a launch here has no value for, and its bytes."""


@lru_cache(256)
def written(kernel: Kernel) -> npt.NDArray[np.uint8]:
    """Of each byte of the bank 255 if a launch of this kernel writes it, else 0.

    Of the parameters' area all is: the compiler loads what lies between parameters too, in whole words.
    """
    mask = np.zeros(CONSTANT_BANK, np.uint8)
    for name, place in machine(kernel.arch).places.items():
        mask[place : place + SIZES.get(name, 0)] = 255
    end = max((parameter.offset + parameter.size for parameter in kernel.parameters), default=0)
    mask[kernel.parameter_base : kernel.parameter_base + -(-end // 4) * 4] = 255
    return mask


def called(arch: str, place: int) -> str:
    """A place of the bank in words, with the name of what stands there on a GPU if that is known."""
    where = f"constant bank 0 at {place:#x}"
    for name, start in machine(arch).places.items():
        if start <= place < start + REFUSED.get(name, 0):
            register = f"%envreg{int(name[7:]) + (place - start) // 4}" if name.startswith("%envreg") else name
            return f"{register} ({where})"
    return where
