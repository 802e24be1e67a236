"""Operations that move values and compute nothing: copies, special registers, selections, no-ops."""

from banksim.kernels.kernel import Instruction, Operand
from banksim.machine.engine import Engine
from banksim.machine.operations.table import in_64_bits, operation, select

NOTHING_TO_DO = (
    "NOP DEPBAR LDGDEPBAR WARPGROUP MEMBAR ERRBAR CGAERRBAR FENCE CCTL CCTLL UBLKPF UTMACMDFLUSH ACQBULK PREEXIT PMTRIG"
)
OF_WHAT = "LE ARRIVE DEPBAR ALL SC GPU SYS CTA SM VC VIEW ASYNC S G T E C D U I L2"
OF_CACHES = "IVALL IVALLP IV WB RS PF1 PF2 PF1_5 LDCU LDC RML2 DML2 PML2"


@operation(NOTHING_TO_DO, f"{OF_WHAT} {OF_CACHES}")
def no_operation(x: Engine, i: Instruction) -> None:
    """Memory is coherent and in order here: fences, waits, prefetches and cache control change nothing, nor do an
    event for a profiler (PMTRIG) and the order of launches (ACQBULK, PREEXIT)."""


@operation("MOV UMOV", "64")
def mov(x: Engine, i: Instruction) -> None:
    to, source = i.operands
    if in_64_bits(i):
        return x.write64(to, x.wide(source))
    return x.write(to, x.value(source))


CLOCKS = {"SR_CLOCKLO": "SR_CLOCKHI", "SR_GLOBALTIMERLO": "SR_GLOBALTIMERHI"}
"""The special register with the upper word of each clock, by that with the lower word."""


@operation("S2R S2UR CS2R CS2UR", "32")
def read_special(x: Engine, i: Instruction) -> None:
    to, name = i.operands[0], i.operands[1].text
    v = x.const(0) if name == "SRZ" else x.special(name, to.kind == "UR")
    x.write(to, v)
    if i.name.startswith("CS2") and "32" not in i.modifiers:
        x.write(to, x.special(CLOCKS[name], False) if name in CLOCKS else x.const(0), word=1)


@operation("LEPC")
def load_pc(x: Engine, i: Instruction) -> None:
    """LEPC d, target: the address of `target`, here its pc. Before sm_90 it has no target and gives its own pc."""
    to, *place = i.operands
    x.write(to, x.raw(place[0]) if place else x.const(i.pc))
    x.write(to, x.const(0), word=1)


@operation("R2UR", "OR")
def to_uniform(x: Engine, i: Instruction) -> None:
    """R2UR: the value of the lowest executing lane. A predicate result says whether a lane's own value differs (with
    .OR: or the predicate was true already)."""
    *to, source = i.operands
    v = x.value(source)
    first = x.first(v)
    for o in to:
        if o.is_zero:
            continue
        if o.kind == "UR":
            x.write(o, first)
        else:
            x.write_predicate(o, x.predicate(o) | (v != first) if "OR" in i.modifiers else v != first)


@operation("SEL USEL", "64")
def sel(x: Engine, i: Instruction) -> None:
    to, a, b, p = i.operands
    if in_64_bits(i):
        return x.write64(to, select(x, p, x.wide(a), x.wide(b)))
    return x.write(to, select(x, p, x.value(a), x.value(b)))


PREDICATES = 7
BYTES = {"B1": 8, "B2": 16, "B3": 24}


def predicate_byte(i: Instruction) -> int:
    """By how many bits the byte of predicates is shifted, as the opcode or the register says."""
    marks = i.modifiers.union(*(o.modifiers for o in i.operands))
    return next((shift for name, shift in BYTES.items() if name in marks), 0)


@operation("P2R UP2UR", "B1 B2 B3", marks="B1 B2 B3")
def predicates_to_register(x: Engine, i: Instruction) -> None:
    """d = a with the masked bits of one byte replaced by the predicates."""
    to, (a, mask) = i.operands[0], i.operands[-2:]
    kind, shift = ("UP", "P")[i.name == "P2R"], predicate_byte(i)
    v = x.value(a) & (~(mask.number << shift) & 0xFFFFFFFF)
    for n in range(PREDICATES):
        if mask.number >> n & 1:
            v = v | x.number(x.read_predicate(kind, n)) << (n + shift)
    x.write(to, v)


@operation("R2P UR2UP", "B1 B2 B3", marks="B1 B2 B3")
def register_to_predicates(x: Engine, i: Instruction) -> None:
    a, mask = i.operands[-2:]
    kind, v = ("UP", "P")[i.name == "R2P"], x.value(a) >> predicate_byte(i)
    for n in range(PREDICATES):
        if mask.number >> n & 1:
            x.write_predicate(Operand(kind, n), (v & (1 << n)) != 0)
