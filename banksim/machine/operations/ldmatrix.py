"""Matrices of 8 rows of 16 bytes: between shared memory and the registers of a warp, and transposed.

A row is eight halves. Lane l holds halves 2·(l mod 4) and 2·(l mod 4) + 1 of row l / 4 in one register; of a transposed
matrix those rows' halves of column l / 4 (PTX ISA, ldmatrix and stmatrix).
"""

from collections.abc import Sequence

from banksim.kernels.kernel import Instruction
from banksim.machine.engine import Access, Engine, Value
from banksim.machine.operations.loads_and_stores import memory_operand
from banksim.machine.operations.table import operation
from banksim.requests.kinds import LANES

ROWS = 8
WIDTH = 16
"""Bytes of a row."""


def matrices(i: Instruction) -> int:
    return next((n for n in (2, 4) if str(n) in i.modifiers), 1)


def transposed(i: Instruction) -> bool:
    return "MT88" in i.modifiers


def choose(x: Engine, number: Value, values: Sequence[Value]) -> Value:
    """In each lane values[number]."""
    chosen = values[0]
    for n, v in enumerate(values[1:], 1):
        chosen = x.where(number == n, v, chosen)
    return chosen


def half(v: Value, number: Value) -> Value:
    """Half 0 or 1 of each register."""
    return v >> (number << 4) & 0xFFFF


@operation("LDSM", "16 M88 MT88 2 4")
def load_matrices(x: Engine, i: Instruction) -> None:
    """Row r of matrix m lies where lane 8·m + r says."""
    to, count, lane = i.operands[0], matrices(i), x.lane()
    address = x.address(memory_operand(i), False)
    words = x.fetch(Access(i, "shared", address, WIDTH, lane < ROWS * count))
    for m in range(count):
        if transposed(i):
            column, v = lane >> 2, x.const(0)
            for side in (0, 1):
                row = [ROWS * m + 2 * (n % 4) + side for n in range(LANES)]
                word = choose(x, column >> 1, [x.permute(w, row) for w in words])
                v = half(word, column & 1) << 16 * side | v
        else:
            row = [ROWS * m + n // 4 for n in range(LANES)]
            v = choose(x, lane & 3, [x.permute(w, row) for w in words])
        x.write(to, v, m)


@operation("STSM", "16 M88 MT88 2 4")
def store_matrices(x: Engine, i: Instruction) -> None:
    """Row r of matrix m goes where lane 8·m + r says."""
    count, lane = matrices(i), x.lane()
    address = x.address(memory_operand(i), False)
    registers = [x.raw(i.operands[-1], m) for m in range(count)]
    words = []
    for w in range(WIDTH // 4):
        v: Value = x.const(0)
        if transposed(i):
            for side in (0, 1):
                holder = [4 * (2 * w + side) + n % ROWS // 2 for n in range(LANES)]
                rows = choose(x, lane >> 3, [x.permute(r, holder) for r in registers])
                v = half(rows, lane & 1) << 16 * side | v
        else:
            holder = [4 * (n % ROWS) + w for n in range(LANES)]
            v = choose(x, lane >> 3, [x.permute(r, holder) for r in registers])
        words.append(v)
    x.put(Access(i, "shared", address, WIDTH, lane < ROWS * count), words)


@operation("MOVM", "16 MT88")
def transpose(x: Engine, i: Instruction) -> None:
    """A matrix in registers, transposed."""
    to, source = i.operands
    v, column = x.raw(source), x.lane() >> 2
    result: Value = x.const(0)
    for side in (0, 1):
        holder = [4 * (2 * (n % 4) + side) + n // 8 for n in range(LANES)]
        result = half(x.permute(v, holder), column & 1) << 16 * side | result
    x.write(to, result)
