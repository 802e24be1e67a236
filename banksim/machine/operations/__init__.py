"""What every opcode computes: one table, which both engines run.

Importing this package fills `OPERATIONS`. Control flow (branches, barriers, exits) is each engine's own.
"""

from banksim.machine.operations import (  # noqa: F401  (importing a room registers its rows)
    async_copies,
    conversion,
    double,
    driver_calls,
    floating,
    half,
    integer,
    ldmatrix,
    logic,
    matrix_product,
    mbarriers,
    memory,
    moves,
    special_functions,
    warp,
)
from banksim.machine.operations.memory import request
from banksim.machine.operations.table import OPERATIONS, Operation

__all__ = ["OPERATIONS", "Operation", "request"]
