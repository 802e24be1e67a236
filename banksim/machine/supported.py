"""Which instructions and modifiers are known: everything else is refused before a kernel runs."""

from banksim.errors import BanksimError, UnsupportedError
from banksim.kernels.control_opcodes import CONTROL, Predicates, predicates
from banksim.kernels.kernel import Instruction, Kernel
from banksim.machine.codes import WARPSYNC
from banksim.machine.operations import OPERATIONS
from banksim.system.paths import from_here

FEATURES = {
    "LDGMC": "the memory of several GPUs at one address (multimem)",
    "TMML": "the use of levels of textures",
    "SUATOM SUQUERY": "the use of surfaces",
    "UTC LDTM STTM UTCHMMA": "a matrix product in tensor memory (tcgen05)",
}
"""What instructions of these names belong to, none of which a launch here can be given."""


def in_one_register(i: Instruction) -> bool:
    """Whether one register tells which barrier of the block is meant, and for how many threads: `BAR.SYNC R7, R7`."""
    registers = [o for o in i.operands if o.kind in ("R", "UR")]
    return len(registers) == 2 and registers[0] == registers[1]


def barrier_number(i: Instruction) -> int:
    """Which convergence barrier an instruction names."""
    number = next(o.number for o in i.operands if o.kind == "B")
    if number >= WARPSYNC:
        raise UnsupportedError(f"convergence barrier B{number}")
    return number


OLDER = ("sm_90", "sm_80", "sm_75")
"""Architectures whose code is tried, newest first, where that of a newer one is refused."""


def check(kernel: Kernel) -> None:
    """Raise `UnsupportedError` for the first instruction or modifier that is not known; it says which older
    architecture's code of the same source has none, if there is a source."""
    try:
        check_code(kernel)
    except UnsupportedError as error:
        known = next((arch for arch in OLDER if is_older(arch, kernel.arch) and is_known(kernel, arch)), None)
        if known is None:
            raise
        raise UnsupportedError(f"{error}; the code for {known} has nothing of that kind: --arch {known}") from None


def is_older(arch: str, than: str) -> bool:
    return int(arch.removeprefix("sm_")) < int(than.removeprefix("sm_").rstrip("af"))


def is_known(kernel: Kernel, arch: str) -> bool:
    """Whether a kernel can be compiled for an architecture, and all its code there is known."""
    if kernel.for_arch is None:
        return False
    try:
        check_code(kernel.for_arch(arch))
    except BanksimError:
        return False
    return True


def check_code(kernel: Kernel) -> None:
    """Raise `UnsupportedError` for the first instruction or modifier that is not known."""
    for i in kernel.instructions:
        known = OPERATIONS.get(i.name) or CONTROL.get(i.name)
        if known is None:
            feature = next((what for names, what in FEATURES.items() if i.name.startswith(tuple(names.split()))), None)
            raise refused(kernel, i, feature or f"instruction {i.name}", "simulated" if feature else "known")
        if i.name in CONTROL and CONTROL[i.name].predicates == Predicates.UNKNOWN and predicates(i):
            raise refused(kernel, i, f"the predicate operand of {i.name}", "known")
        if "SP" in i.modifiers:
            raise refused(kernel, i, "a sparse matrix product", "simulated")
        if i.name in ("LDG", "LDS", "LDL", "LD", "STG", "STS", "STL", "ST") and (odd := unaligned(i)):
            raise refused(kernel, i, f"{odd}, which a GPU stops at as at an illegal instruction,")
        strange = sorted(i.modifiers - known.modifiers)
        if strange:
            raise refused(kernel, i, f"modifier .{strange[0]} of {i.name}")


def unaligned(i: Instruction) -> str | None:
    """The registers of a load or store that do not begin where registers of its width may. (ptxas makes such code of
    values that were never written.)"""
    words = next((n for mark, n in (("64", 2), ("128", 4)) if mark in i.modifiers), 1)
    registers = (o for o in i.operands if o.kind == "R" and not o.is_zero)
    return next((f"{words} registers from R{o.number} on" for o in registers if o.number % words), None)


FORMS = (LookupError, TypeError, ValueError, AttributeError, StopIteration)
"""What is raised where an instruction has not the operands that a function takes apart."""


class Naming:
    """Refuses an instruction of a kernel, by name, where what is done within finds something that it does not know."""

    def __init__(self, kernel: Kernel, i: Instruction) -> None:
        self.kernel, self.i = kernel, i

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, UnsupportedError):
            raise refused(self.kernel, self.i, str(error)) from None
        if isinstance(error, FORMS) and not isinstance(error, BanksimError):
            raise refused(self.kernel, self.i, f"this form of {self.i.name}") from error


def refused(kernel: Kernel, i: Instruction, what: str, how: str = "known") -> UnsupportedError:
    where = from_here(f"{i.site.file}:{i.site.line}") if i.site.file else "no source line"
    return UnsupportedError(
        f"{kernel.plain_name}: {what} is not {how} (SASS {i.pc:#06x} {i.text or i.opcode}; {where})"
    )
