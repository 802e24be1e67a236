"""The instructions that decide which threads go on where: one table, for the decoder and for both engines.

Another one is one more row, and the method that it names in machine/reference/warp.py and machine/llvm/control_flow.py.
"""

from enum import Enum
from typing import NamedTuple

from banksim.kernels.kernel import Instruction, Operand


class Then(Enum):
    """Where a warp may go behind an instruction, if not to the next one alone."""

    SAME = "on within the basic block"
    NEXT = "on, after a wait or a turn of others"
    TARGET = "where an operand says"
    LISTED = "to one of the places that the cubin lists"
    CALLED = "into a function, and back"
    BACK = "behind a call"
    GATHERED = "where the threads came from that gathered here"
    NOWHERE = "to its end"


class Predicates(Enum):
    """What an instruction makes of a predicate among its operands (`@!P0 EXIT P1`)."""

    UNKNOWN = "nobody has seen one"
    GUARD = "one more guard"
    OWN = "what its method says"


class Control(NamedTuple):
    """`does` names the method of each engine that executes it, `modifiers` what this heeds or may ignore; `names_code`
    says that the last operand, where it is a number or a symbol, is a place in the code."""

    does: str
    then: Then
    modifiers: frozenset[str] = frozenset()
    names_code: bool = False
    predicates: Predicates = Predicates.UNKNOWN


def row(
    does: str, then: Then, modifiers: str = "", names_code: bool = False, predicates: Predicates = Predicates.UNKNOWN
) -> Control:
    return Control(does, then, frozenset(modifiers.split()), names_code, predicates)


CONTROL = {
    "BRA": row("branch", Then.TARGET, "U DIV CONV INC ANY", names_code=True, predicates=Predicates.GUARD),
    "JMP": row("branch", Then.TARGET, names_code=True, predicates=Predicates.GUARD),
    "BRX": row("indirect", Then.LISTED, names_code=True),
    "BRXU": row("indirect", Then.LISTED, names_code=True),
    "CALL": row("call", Then.CALLED, "REL ABS NOINC", names_code=True),
    "RET": row("give_back", Then.BACK, "REL ABS NODEC", names_code=True),
    "EXIT": row("exit", Then.NOWHERE, predicates=Predicates.GUARD),
    "BPT": row("trap", Then.NOWHERE, "TRAP DRAIN PAUSE_QUIET"),
    "BSSY": row("gather", Then.SAME, "RECONVERGENT RELIABLE", names_code=True),
    "BSYNC": row("converge", Then.NEXT, "RECONVERGENT RELIABLE"),
    "BREAK": row("break_away", Then.NEXT, "RECONVERGENT RELIABLE", predicates=Predicates.OWN),
    "BMOV": row("move_convergence", Then.SAME, "32 CLEAR"),
    "WARPSYNC": row("warpsync", Then.NEXT, "ALL COLLECTIVE EXCLUSIVE", names_code=True),
    "ENDCOLLECTIVE": row("end_collective", Then.GATHERED),
    "BAR": row("barrier", Then.NEXT, "SYNC ARV RED DEFER_BLOCKING POPC AND OR", predicates=Predicates.OWN),
    "UCGABAR_ARV": row("cluster_arrive", Then.SAME),
    "UCGABAR_WAIT": row("cluster_wait", Then.NEXT),
    "B2R": row("barrier_result", Then.SAME, "RESULT", predicates=Predicates.OWN),
    "YIELD": row("give_way", Then.NEXT),
    "NANOSLEEP": row("sleep", Then.NEXT, "U32 WARP SYNCS"),
}
ENDS = frozenset(name for name, control in CONTROL.items() if control.then != Then.SAME)
"""Instructions behind which a warp may go elsewhere, wait, or let others run."""


def predicates(i: Instruction) -> list[Operand]:
    """The predicates among an instruction's operands."""
    return [o for o in i.operands if o.kind in ("P", "UP")]


def further_guards(i: Instruction) -> list[Operand]:
    """The predicates that must hold besides the guard for a thread to go where the instruction says."""
    return predicates(i) if CONTROL[i.name].predicates == Predicates.GUARD else []
