"""What every opcode computes: one table, which both engines run.

Importing this package fills `OPERATIONS`. Control flow (branches, barriers, exits) is each engine's own.
"""

from banksim.sass.operations import (  # noqa: F401  (importing a room registers its rows)
    asynchronous,
    conversion,
    double,
    floating,
    half,
    integer,
    logic,
    matrix,
    memory,
    moves,
    product,
    services,
    special,
    transactions,
    warp,
)
from banksim.sass.operations.memory import request
from banksim.sass.operations.table import OPERATIONS, Operation

__all__ = ["OPERATIONS", "Operation", "request"]
