"""The architectures whose machine code is executed: where each keeps what a launch hands to a kernel.

Which architecture has which is a column of `banksim.architectures.capabilities`. The places were read from the code
that ptxas 13.5 makes for each of one kernel for every special register of the PTX ISA; where parameters lie a cubin
itself says (.nv.info, PARAM_CBANK).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from banksim.architectures.capabilities import CAPABILITIES
from banksim.errors import UnsupportedError

HEAP = 0x7F00 << 32
"""Address of the first global buffer (the module's own variables); `machine.addresses` tells where others lie."""
SHARED_WINDOW = 0x7E00 << 32
LOCAL_WINDOW = 0x7D00 << 32
CONSTANT_WINDOW = 0x7C00 << 32
"""Where shared and local memory appear among generic addresses, and the parameters in constant memory."""
WINDOWS = {"shared window": SHARED_WINDOW, "local window": LOCAL_WINDOW, "parameter window": CONSTANT_WINDOW}
"""The same by the names of the places in constant bank 0 at which a launch finds them."""
CONSTANT_BANKS, CONSTANT_BANK = 8, 1 << 16
"""How many constant banks a kernel can have here, and the bytes of each."""


@dataclass(frozen=True)
class Machine:
    """What one architecture's code takes for granted.

    `places`: what stands where in constant bank 0, by the names of `launch_constants.SIZES`. `first_shared` is where
    the compiler puts a block's first shared variable. `passes_in_shared`: whether it is known that accesses to shared
    memory pass wherever a block has been given some, up to the unit of allocation and in the part that is reserved
    (measured on one H200: tests/machine/test_beyond_shared.py). `registers`: the content of special registers, as far
    as an H200 showed it: of SR_VIRTCFG the bits 8 to 15, %nwarpid.
    """

    places: Mapping[str, int] = field(hash=False)
    first_shared: int = 0
    passes_in_shared: bool = False
    registers: Mapping[str, int] = field(default_factory=dict, hash=False)


TURING = Machine(
    {
        "%ntid": 0x0, "%nctaid": 0xC, "shared window": 0x18, "local window": 0x20, "stack": 0x28,
        "%dynamic_smem_size": 0x2C, "%gridid": 0x30, "parameter window": 0x40, "variables": 0x50, "%envreg0": 0x88,
        "%envreg16": 0xC8, "workspace": 0x8C, "%nsmid": 0x10C, "%current_graph_exec": 0x120,
    }
)  # fmt: skip
AMPERE = replace(
    TURING,
    places={
        **TURING.places, "reserved shared": 0x114, "descriptor": 0x118, "%reserved_smem_offset_end": 0x120,
        "%reserved_smem_offset_1": 0x124, "%current_graph_exec": 0x130,
    },
)  # fmt: skip
HOPPER = Machine(
    {
        "%ntid": 0x0, "%nctaid": 0xC, "local window": 0x20, "stack": 0x28, "%dynamic_smem_size": 0x2C, "%gridid": 0x30,
        "%envreg0": 0x40, "%envreg16": 0x80, "workspace": 0x44, "reserved end": 0x68, "reserved part 1": 0x6C,
        "variables": 0xD0, "%nsmid": 0x10C,
        "reserved shared": 0x114, "%aggr_smem_size": 0x13C, "%is_explicit_cluster": 0x140, "%cluster_nctaid": 0x144,
        "1 / %cluster_nctaid": 0x150, "%nclusterid": 0x15C, "%cluster_nctarank": 0x188, "%current_graph_exec": 0x190,
        "parameter window": 0x198, "descriptor": 0x208,
    },
    first_shared=0x400,
    passes_in_shared=True,
    registers={"SR_VIRTCFG": 64 << 8},
)  # fmt: skip
BLACKWELL = Machine(
    {
        "%envreg16": 0xD0, "variables": 0x120, "%gridid": 0x140, "reserved shared": 0x16C, "%envreg0": 0x250,
        "workspace": 0x254, "reserved end": 0x278, "reserved part 1": 0x27C,
        "%cluster_nctaid": 0x2A0, "%dynamic_smem_size": 0x2AC, "1 / %cluster_nctaid": 0x2B0,
        "%aggr_smem_size": 0x2BC, "%nclusterid": 0x2C0, "%cluster_nctarank": 0x2CC, "%nsmid": 0x2D0,
        "%current_graph_exec": 0x2E8, "local window": 0x2F8, "parameter window": 0x348, "descriptor": 0x358,
        "%ntid": 0x360, "%is_explicit_cluster": 0x36C, "%nctaid": 0x370, "stack": 0x37C,
    },
    first_shared=0x400,
)  # fmt: skip

LAYOUTS = {"turing": TURING, "ampere": AMPERE, "hopper": HOPPER, "blackwell": BLACKWELL}
MACHINES = {f"sm_{row.number}": LAYOUTS[row.code] for row in CAPABILITIES if row.code}


def executed(arch: str) -> str | None:
    """The architecture that code for `arch` names: sm_90 for sm_90a. None where such code is not executed."""
    plain = arch.rstrip("af")
    return plain if plain in MACHINES else None


def runs_as(arch: str, code: str) -> bool:
    """Whether GPUs of `arch` execute code for `code` as it is: those of sm_90a code for sm_90."""
    return executed(arch) == code


def machine(arch: str) -> Machine:
    """The code layout of the architecture that a cubin names. `UnsupportedError` if its code cannot be executed."""
    try:
        return MACHINES[arch]
    except KeyError:
        known = ", ".join(MACHINES)
        raise UnsupportedError(f"code of {arch} is not executed: compile for one of {known}") from None
