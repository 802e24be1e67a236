"""Where the buffers of a launch lie among global addresses, and which addresses of shared memory a kernel may use."""

from collections.abc import Sequence

from banksim.architectures.code_layout import machine
from banksim.kernels.global_addresses import ARGUMENTS, PROGRAM, AddressMap
from banksim.kernels.kernel import Kernel


def layout_of(kernel: Kernel) -> AddressMap:
    """The address map that a kernel's code is compiled for."""
    return ARGUMENTS if kernel.slot is None else PROGRAM


def address_of(index: int) -> int:
    """The global address at which buffer `index` of a launch begins; arguments' buffers count from 1."""
    return ARGUMENTS.address_of(index)


def shared_start(kernel: Kernel) -> int:
    """The first byte of shared memory that a kernel may use: that of its own variables; where it asks for the part
    that is reserved for CUDA's own code below them (%reserved_smem_offset), as groups of several warps of
    cooperative_groups do, the first of all."""
    places = machine(kernel.arch).places
    reserved = [places[name] for name in ("reserved end", "reserved part 1") if name in places]
    return 0 if reads(kernel, reserved) else kernel.shared_base


def passes_in_shared(kernel: Kernel) -> bool:
    """Whether accesses outside of a kernel's own shared memory go on, within what its block is given."""
    return machine(kernel.arch).passes_in_shared


def reads(kernel: Kernel, places: Sequence[int]) -> bool:
    """Whether an instruction names one of these places of constant bank 0, by themselves or behind a register."""
    return not kernel.constants_named.isdisjoint(places)
