"""Which registers an instruction reads: by the places of its sources, the banks and their cycles, and whose results."""

from banksim.kernels.kernel import Instruction, Operand
from banksim.machine.operations.loads_and_stores import width
from banksim.timing.operand_collector import COUNT, EVEN_BANK, KEPT, ODD_BANK, ONE, PLACES
from banksim.timing.register_reads import RECENT


def slots(i: Instruction) -> dict[int, int]:
    """The registers that an instruction reads, by the place of the operand among its sources."""
    operands = [o for o in i.operands if o.kind not in ("P", "UP")]
    if i.operands and i.operands[0].kind in ("R", "UR"):
        operands = operands[1:]
    return {slot: o.number for slot, o in enumerate(operands[:3]) if o.kind == "R" and not o.is_zero}


WIDE = "IMAD.WIDE", "IMAD.HI"
ADDEND = 2
"""Its place among the sources of a multiplication,"""
SUMS = "FADD", "HADD2", "DADD"
"""… where these have their second source."""


def reads(i: Instruction, sources: dict[int, int], fresh: dict[int, int], double: bool) -> tuple[int, int]:
    """The registers that an instruction reads (operand_collector.ONE), each once, or has in the reuse cache, and those
    of its second half. A product of 64 bits is made in two halves: each reads both factors, and its half of the addend.
    A double takes both banks (tests/data/timing/h200_parts.npz, h200_uniform.npz there)."""
    places: dict[tuple[int, bool], int] = {}
    for slot, number in sources.items():
        place, one = ADDEND if slot == 1 and i.name in SUMS else slot, (number, slot not in fresh)
        places[one] = places.get(one, 0) | 1 << PLACES + place
    wide = i.opcode.startswith(WIDE)
    packed = again = 0
    for n, ((number, kept), latches) in enumerate(places.items()):
        bank = EVEN_BANK | ODD_BANK if double else ODD_BANK if number & 1 else EVEN_BANK
        other = (EVEN_BANK | ODD_BANK) ^ bank if wide and sources.get(ADDEND) == number else bank
        packed |= (bank | latches | kept * KEPT) << ONE * n
        again |= (other | latches | kept * KEPT) << ONE * n
    return packed, again if wide else 0


def fresh_results(n: int, sources: dict[int, int], written: dict[int, int]) -> tuple[int, int]:
    """How many instructions before number n those stand that wrote two registers of one bank which it reads."""
    for parity in (0, 1):
        back = sorted({n - written.get(number, -RECENT) for number in sources.values() if number & 1 == parity})
        if len(back) > 1 and back[1] < RECENT:
            return back[0], back[1]
    return 0, 0


def of_memory(i: Instruction) -> tuple[list[Operand], list[Operand]]:
    """The operands in registers of a memory instruction: those of its addresses, and what it stores, adds, exchanges or
    shuffles."""
    addresses = [part for o in i.operands if o.kind == "memory" for part in o.parts if part.kind == "R"]
    places = [n for n, o in enumerate(i.operands) if o.kind == "memory"]
    written = 0 if places else next(n for n, o in enumerate(i.operands) if o.kind == "R") + 1
    data = i.operands[places[-1] + 1 if places else written :]
    return [part for part in addresses if not part.is_zero], [o for o in data if o.kind == "R" and not o.is_zero]


READ_BEHIND = "STS", "SHFL"
"""What reads its registers in the banks' cycles, behind its issue: so measured (h200_requests.npz). The address of a
load takes none. Of what goes to global memory see register_reads.readable."""
FIRST_READ, BETWEEN_READS = 4, 2
"""Cycles from its issue until it reads the first of them, and between them."""


def reads_behind(i: Instruction) -> tuple[int, int]:
    """How many registers of even and of odd numbers a request reads in each cycle behind its issue (COUNT bits each):
    first those of its data, then that of its address."""
    behind = [0, 0]
    if i.name in READ_BEHIND:
        addresses, data = of_memory(i)
        numbers = [o.number + k for o in data for k in range(max(width(i) // 4, 1))]
        for n, number in enumerate([*numbers, *(part.number for part in addresses)]):
            behind[number & 1] += 1 << COUNT * (FIRST_READ + BETWEEN_READS * n)
    return behind[0], behind[1]


def registers(i: Instruction) -> int:
    """How many registers a memory instruction reads: of its addresses, and of what it stores, adds or exchanges."""
    addresses, data = of_memory(i)
    wide = i.name == "STSM" and next((int(m) for m in ("2", "4") if m in i.modifiers), 1)
    return sum(1 + part.text.endswith(".64") for part in addresses) + len(data) * (wide or max(width(i) // 4, 1))
