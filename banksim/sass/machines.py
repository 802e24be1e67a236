"""The architectures whose machine code is executed: where each keeps what a launch hands to a kernel.

Which architecture has which is a column of `banksim.capabilities`. The places were read from the code that ptxas 13.4
makes of small kernels for each; where parameters lie a cubin itself says (.nv.info, PARAM_CBANK).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from banksim.capabilities import CAPABILITIES
from banksim.errors import UnsupportedError
from banksim.sass.program import CONSTANT_WINDOW, LOCAL_WINDOW, SHARED_WINDOW


@dataclass(frozen=True)
class Machine:
    """What one architecture's code takes for granted. Places are byte offsets in constant bank 0.

    `block` and `grid` are where the three sizes begin, `stack` is where the first stack pointer stands, `windows` where
    64-bit generic addresses stand, of each. `variables` is where that of the module's constant variables stands.
    `first_shared` is where the compiler puts a block's first shared variable. `workspace` is where the lower and the
    upper word of an address stand, at which the blocks of a cooperative launch meet (None: not known). `reserved` are
    the places that tell where the shared memory of CUDA's own code is, below `first_shared`.
    """

    block: int
    grid: int
    stack: int
    windows: dict[int, int] = field(hash=False)
    variables: int
    first_shared: int
    workspace: tuple[int, int] | None = None
    reserved: tuple[int, ...] = ()


TURING = Machine(0x0, 0xC, 0x28, {0x18: SHARED_WINDOW, 0x20: LOCAL_WINDOW}, 0x50, 0)
HOPPER = Machine(0x0, 0xC, 0x28, {0x20: LOCAL_WINDOW, 0x198: CONSTANT_WINDOW}, 0xD0, 0x400, (0x48, 0x44), (0x68, 0x6C))
BLACKWELL = Machine(
    0x360, 0x370, 0x37C, {0x2F8: LOCAL_WINDOW, 0x348: CONSTANT_WINDOW}, 0x120, 0x400, reserved=(0x278, 0x27C)
)

LAYOUTS = {"turing": TURING, "hopper": HOPPER, "blackwell": BLACKWELL}
MACHINES = {f"sm_{row.number}": LAYOUTS[row.code] for row in CAPABILITIES if row.code}


def machine(arch: str) -> Machine:
    """That of the architecture that a cubin names. `UnsupportedError` if its code cannot be executed."""
    try:
        return MACHINES[arch]
    except KeyError:
        known = ", ".join(MACHINES)
        raise UnsupportedError(f"code of {arch} is not executed: compile for one of {known}") from None
