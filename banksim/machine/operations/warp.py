"""Operations across the lanes of a warp: votes, shuffles, matches, reductions."""

import operator
from collections.abc import Callable

from banksim.kernels.kernel import Instruction
from banksim.machine.engine import Engine, Value
from banksim.machine.operations.table import operation, which

WORD = 32


def executing(x: Engine, lane: Value) -> Value:
    """Whether `lane` executes the instruction."""
    return (x.active() >> lane & 1) != 0


@operation("VOTE VOTEU", "ANY ALL EQ")
def vote(x: Engine, i: Instruction) -> None:
    """VOTE: a register result is the ballot, a predicate result is the vote."""
    *to, source = i.operands
    ballot, active = x.ballot(x.predicate(source)), x.active()
    if "ANY" in i.modifiers:
        result = ballot != 0
    elif "ALL" in i.modifiers:
        result = ballot == active
    else:
        result = (ballot == active) | (ballot == 0)
    for o in to:
        if o.kind in ("R", "UR"):
            x.write(o, ballot)
        elif not o.is_zero:
            x.write_predicate(o, result)


@operation("USETMAXREG", "TRY_ALLOC DEALLOC CTAPOOL")
def set_registers(x: Engine, i: Instruction) -> None:
    """setmaxnreg: there are always registers enough."""
    for o in i.operands:
        if o.kind in ("P", "UP") and not o.is_zero:
            x.write_predicate(o, x.const(1) != 0)


@operation("SHFL", "IDX UP DOWN BFLY")
def shfl(x: Engine, i: Instruction) -> None:
    """P, d, a, b, c: c holds a segment's last lane in bits 0 to 4, the mask of segments in bits 8 to 12. A lane that
    does not take part gives zero (measured on one H200: reduce_ballot in tests/hardware/sums.cu)."""
    p, to, a, b, c = i.operands
    lane, step = x.lane(), x.value(b) & 31
    mask, clamp = x.value(c) >> 8 & 31, x.value(c) & 31
    first = lane & mask
    last = first | (clamp & ~mask)
    mode = which(i, ("IDX", "UP", "DOWN", "BFLY"))
    source = {
        "IDX": lambda: first | (step & ~mask),
        "UP": lambda: lane - step,
        "DOWN": lambda: lane + step,
        "BFLY": lambda: lane ^ step,
    }[mode]()
    inside = x.signed(source) >= x.signed(last) if mode == "UP" else x.signed(source) <= x.signed(last)
    given = x.where((x.active() >> lane & 1) != 0, x.value(a), x.const(0))
    x.write(to, x.shuffle(given, x.where(inside, source, lane)))
    if not p.is_zero:
        x.write_predicate(p, inside)


@operation("MATCH", "ANY ALL U64")
def match(x: Engine, i: Instruction) -> None:
    """ANY: the executing lanes that hold this lane's value. ALL: all of them if all hold one."""
    *_, to, source = i.operands
    words = [x.raw(source)] + ([x.raw(source, 1)] if "U64" in i.modifiers else [])
    if "ALL" in i.modifiers:
        alike = words[0] == x.first(words[0])
        for word in words[1:]:
            alike = alike & (word == x.first(word))
        same = x.ballot(alike) == x.active()
        result = x.where(same, x.active(), x.const(0))
        if not i.operands[0].is_zero:
            x.write_predicate(i.operands[0], same)
        return x.write(to, result)
    return x.write(to, alike_lanes(x, *words))


def alike_lanes(x: Engine, *words: Value) -> Value:
    """For each lane the mask of the executing lanes that hold the same words."""
    # Less the first, which changes no answer, and is the same for every block where all lanes move alike.
    moved = [word - x.first(word) for word in words]
    return x.apart(f"alike_lanes_{len(words)}", peers, [x.active(), *moved])[0]


def peers(x: Engine, among: Value, *words: Value) -> tuple[Value]:
    """For each lane the mask of those of `among` that hold the same words: no few instructions."""
    mask = x.const(0)
    for lane in range(WORD):
        alike = words[0] == x.permute(words[0], [lane] * WORD)
        for word in words[1:]:
            alike = alike & (word == x.permute(word, [lane] * WORD))
        mask = mask | x.where(alike, x.const(1 << lane), x.const(0))
    return (mask & among,)


@operation("REDUX CREDUX", "AND OR XOR SUM MIN MAX S32")
def redux(x: Engine, i: Instruction) -> None:
    """A uniform register = the reduction over the executing lanes; of no name: AND."""
    to, source = i.operands
    kind = which(i, ("OR", "XOR", "SUM", "MIN", "MAX"), "AND")
    signed = "S32" in i.modifiers
    view: Callable[[Value], Value] = x.signed if signed else x.unsigned
    combine: dict[str, Callable[[Value, Value], Value]] = {
        "AND": operator.and_,
        "OR": operator.or_,
        "XOR": operator.xor,
        "SUM": operator.add,
        "MIN": lambda a, b: x.where(view(a) < view(b), a, b),
        "MAX": lambda a, b: x.where(view(a) > view(b), a, b),
    }
    largest, smallest = (0x7FFFFFFF, 0x80000000) if signed else (0xFFFFFFFF, 0)
    identity = {"AND": 0xFFFFFFFF, "MIN": largest, "MAX": smallest}.get(kind, 0)
    v = x.where(executing(x, x.lane()), x.value(source), x.const(identity))
    for distance in (16, 8, 4, 2, 1):
        v = combine[kind](v, x.shuffle(v, x.lane() ^ distance))
    x.write(to, x.first(v))


@operation("ELECT")
def elect(x: Engine, i: Instruction) -> None:
    """P: this lane is the lowest executing one; the uniform register is that lane's number."""
    p, to, _ = i.operands
    leader = x.first(x.lane())
    x.write(to, leader)
    if not p.is_zero:
        x.write_predicate(p, x.lane() == leader)
