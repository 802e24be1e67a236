"""The control fields of an instruction: bits 105 to 125 of its encoding, by which the compiler schedules."""

from dataclasses import dataclass

from banksim.kernels.kernel import Instruction

NONE = 7
"""The number that means no scoreboard."""
SCOREBOARDS = 6


@dataclass(frozen=True, slots=True)
class Control:
    """`stall`: cycles until the warp's next instruction may issue. `write`, `read`: the scoreboard that is held until
    the result is written, or until the operands are read (None: none). `wait`: mask of the scoreboards that must be
    free before issue. `yields`: another warp is preferred next. `reuse`: mask of the operands that are kept in the
    reuse cache."""

    stall: int
    yields: bool
    write: int | None
    read: int | None
    wait: int
    reuse: int


def control(i: Instruction) -> Control:
    """The fields of an instruction of compute capability 7.0 or newer. (Their layout was found by disassembly.)"""
    bits = i.encoding >> 105
    write, read = bits >> 5 & 7, bits >> 8 & 7
    return Control(
        stall=bits & 15,
        yields=not bits >> 4 & 1,
        write=None if write == NONE else write,
        read=None if read == NONE else read,
        wait=bits >> 11 & 63,
        reuse=bits >> 17 & 15,
    )
