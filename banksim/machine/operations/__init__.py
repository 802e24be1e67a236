"""What every opcode computes: one table, which both engines run.

Importing this package fills `OPERATIONS`. Control flow (branches, barriers, exits) is each engine's own.

table.py              the table: how an opcode names the function that computes it
integer.py            integers: sums, products, shifts, comparisons
logic.py              bits: logic functions, permutations, counts
floating.py           float32
double.py             float64
half.py               float16 and bfloat16 in pairs
rounding.py           rounding modes, denormals and NaN
conversion.py         from one kind of number to another
special_functions.py  MUFU: reciprocals, roots, exponentials, sines
special_function_tables.py  the coefficients that it reads
matrix_product.py     HMMA, IMMA, BMMA, DMMA
warpgroup_products.py HGMMA, IGMMA, BGMMA (wgmma)
moves.py              moves between registers, and what changes nothing here
warp.py               votes, shuffles, matches, reductions of a warp
loads_and_stores.py   loads, stores and atomics
bulk_copies.py        cp.async.bulk, and copies of tensors (TMA)
cluster_accesses.py   stores into the shared memory of other blocks
float_atomics.py      what atomic additions of floats compute
ldmatrix.py           loads and stores of matrices
async_copies.py       cp.async
mbarriers.py          barriers in shared memory
texels.py             textures and surfaces: descriptors, elements and their formats
textures.py           fetches from textures
surfaces.py           loads, stores and atomics of surfaces
driver_calls.py       what needs the host: printf, malloc
"""

from banksim.machine.operations import (  # noqa: F401  (importing a room registers its rows)
    async_copies,
    bulk_copies,
    cluster_accesses,
    conversion,
    double,
    driver_calls,
    floating,
    half,
    integer,
    ldmatrix,
    loads_and_stores,
    logic,
    matrix_product,
    mbarriers,
    moves,
    special_functions,
    surfaces,
    textures,
    warp,
    warpgroup_products,
)
from banksim.machine.operations.loads_and_stores import request
from banksim.machine.operations.table import OPERATIONS, Operation

__all__ = ["OPERATIONS", "Operation", "request"]
