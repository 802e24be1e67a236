"""Stores and reductions in the shared memory of a block of the cluster, whose bytes an mbarrier there counts (st.async,
red.async). They are simulated as if each were done at once; how many transactions they take no counter tells.
"""

from banksim.kernels.kernel import Instruction
from banksim.machine.engine import Access, Engine, Value
from banksim.machine.operations.loads_and_stores import atomic_kind, bytes_of, function, memory_operand, width
from banksim.machine.operations.mbarriers import arrive, changed
from banksim.machine.operations.table import operation
from banksim.requests.opcodes import FUNCTIONS


def ends(x: Engine, i: Instruction) -> tuple[Value, Value]:
    """The address, and that of the mbarrier, which the next register holds."""
    x.need_cluster(i)
    at = memory_operand(i)
    return x.address(at, False), x.raw(at.parts[0], 1)


@operation("STAS", "64 128")
def store(x: Engine, i: Instruction) -> None:
    address, barrier = ends(x, i)
    x.store(Access(i, "cluster", address, width(i)), i.operands[-1])
    complete(x, i, barrier, width(i))


@operation("REDAS", f"{' '.join(FUNCTIONS)} 32 64 U32 S32 U64 S64")
def reduce(x: Engine, i: Instruction) -> None:
    address, barrier = ends(x, i)
    kind, source = atomic_kind(i), i.operands[-1]
    size = bytes_of(kind)
    value = x.wide(source) if size == 8 else x.value(source)
    x.atomic(Access(i, "cluster", address, size), kind, function(i).lower(), (value,), None)
    complete(x, i, barrier, size)


def complete(x: Engine, i: Instruction, barrier: Value, size: int) -> None:
    arrive(x, i, barrier, changed(x, x.const(0), 0, -size))
