"""Which opcode of machine code makes which request to shared memory: the one table, for kernels and for traces alike.

Another opcode is one more row. What has no row makes no request: barriers in shared memory (SYNCS, ARRIVES), of which
the counters report none, and what moves tensors by descriptors (UTMALDG). A row whose (op, width) no rule of an
architecture knows makes requests of unknown cost.
"""

from functools import lru_cache
from typing import NamedTuple

from banksim.errors import InputError

BITS = {
    8: ("8", "U8", "S8"),
    16: ("16", "U16", "S16"),
    32: ("32", "U32", "S32", "F32"),
    64: ("64", "U64", "S64", "F64"),
}
WIDTHS = {name: bits // 8 for bits, names in BITS.items() for name in names} | {"128": 16}
"""Bytes that a modifier stands for."""
FUNCTIONS = ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR")
"""What an atomic does, where it is no exchange."""


class Row(NamedTuple):
    """What opcodes of one of `names`, separated by spaces, ask for if they have all of `modifiers`, joined by points.

    `width`: bytes a lane, as the modifiers say (None; 4 where none does) or always the same. `unused`: the op where no
    register takes the result.
    """

    names: str
    modifiers: str
    op: str
    width: int | None = None
    unused: str = ""


MATRICES = tuple(
    Row(name, f"16.{form}{count and '.'}{count}", f"{op}_x{count or 1}{trans}", 16)
    for name, op in (("LDSM", "ldmatrix"), ("STSM", "stmatrix"))
    for form, trans in (("M88", ""), ("MT88", "_trans"))
    for count in ("4", "2", "")
)
TABLE = (
    Row("LDS LD", "", "ld"),
    Row("STS ST", "", "st"),
    Row("ATOMS ATOM", "CAS", "cas"),
    Row("ATOMS ATOM", "CAST.SPIN", "cas_spin"),
    Row("ATOMS", "POPC.INC", "popc_inc", 4),
    Row("ATOMS ATOM", "EXCH", "exch"),
    *(Row("ATOMS ATOM", function, "atom", unused="red") for function in FUNCTIONS),
    *(Row("RED", function, "red") for function in FUNCTIONS),
    *MATRICES,
    Row("LDGSTS", "BYPASS.ZFILL", "cp_async_bypass_zfill"),
    Row("LDGSTS", "BYPASS", "cp_async_bypass"),
    Row("LDGSTS", "", "cp_async"),
    Row("UBLKCP UBLKRED UTMALDG UTMASTG UTMAREDG", "", "bulk", 16),
    Row("STAS REDAS", "", "remote_async"),
    Row("HGMMA QGMMA IGMMA BGMMA", "", "wgmma", 16),
)
"""Of the rows of an opcode the first that fits counts. cp_async is cp_async_gather where lanes read nothing
though no number of bytes says so."""
ROWS = {name: [row for row in TABLE if name in row.names.split()] for row in TABLE for name in row.names.split()}
GENERIC = frozenset({"LD", "ST", "ATOM", "RED"})
"""Opcodes whose addresses may be of any space: they make the request only where these are of shared memory."""
REACHING = GENERIC | {"STAS", "REDAS"}
"""Those that may reach into the shared memory of another block of the cluster, which is a request of its own kind."""
SHARED = ("LDS", "STS", "ATOMS", "REDS")
"""What opcodes of shared memory begin with: of these one without a row is not known (LDSLK of Kepler)."""


@lru_cache(maxsize=4096)
def request_of(opcode: str, has_result: bool = True) -> tuple[str, int] | None:
    """(op of `banksim.requests.kinds.OPS`, bytes a lane) of an opcode with its modifiers, such as `LDS.U.128`; None if
    it does not access shared memory.

    `has_result`: whether a register takes the result. Raises `InputError` for a form that is not known.
    """
    name, *modifiers = opcode.split(".")
    if name not in ROWS and not name.startswith(SHARED):
        return None
    fitting = (row for row in ROWS.get(name, ()) if {*row.modifiers.split(".")} - {""} <= {*modifiers})
    row = next(fitting, None)
    width = row and (row.width or width_of(modifiers))
    if not row or not width:
        raise InputError(f"{opcode}: this access to shared memory is not known")
    return (not has_result and row.unused) or row.op, width


def width_of(modifiers: list[str]) -> int | None:
    """Bytes that a lane moves; None if a modifier is a number that no width has."""
    found = [WIDTHS.get(modifier) for modifier in modifiers if modifier in WIDTHS or modifier.isdigit()]
    return found[0] if found else 4
