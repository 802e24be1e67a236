"""Which opcodes of machine code access shared memory, as the op and width of a request."""

from __future__ import annotations

from banksim.errors import InputError

BITS = {"8": 1, "U8": 1, "S8": 1, "16": 2, "U16": 2, "S16": 2, "32": 4, "U32": 4, "S32": 4, "64": 8, "128": 16}
BITS |= {"U64": 8, "S64": 8}
MATRICES = {"": 1, "2": 2, "4": 4}
GENERIC = ("LD", "ST", "ATOM", "RED")
"""Opcodes whose addresses may be of any space."""
BULK = ("UBLKCP", "UBLKRED", "UTMALDG", "UTMASTG", "UTMAREDG")
"""Opcodes that move whole tiles by a unit of their own: no requests of lanes."""


def request_of(opcode: str, where: str, has_result: bool = True) -> tuple[str, int] | None:
    """(op, width in bytes) of an opcode with its modifiers, such as `LDS.U.128`; None if not of shared memory.

    `has_result`: whether an atomic writes a register. Raises `InputError`, with the place `where`, for an
    opcode of shared memory that is not known.
    """
    name, *modifiers = opcode.split(".")
    if name in ("LDS", "LD"):
        return "ld", width_of(modifiers)
    if name in ("STS", "ST"):
        return "st", width_of(modifiers)
    if name in ("ATOMS", "ATOM", "RED"):
        return atomic(name, modifiers, has_result), 8 if "64" in {m.lstrip("USF") for m in modifiers} else 4
    if name in ("LDSM", "STSM"):
        if not {"M88", "MT88"} & set(modifiers):
            raise InputError(f"{where}: {opcode}: this access to shared memory is not known")
        return matrix(name, modifiers), 16
    if name == "LDGSTS":
        return "cp_async", width_of(modifiers)
    return None


def width_of(modifiers: list[str]) -> int:
    return next((BITS[modifier] for modifier in modifiers if modifier in BITS), 4)


def atomic(name: str, modifiers: list[str], has_result: bool) -> str:
    for modifier, op in (("CAS", "cas"), ("CAST", "cas"), ("EXCH", "exch"), ("POPC", "popc_inc")):
        if modifier in modifiers:
            return op
    return "atom" if has_result and name != "RED" else "red"


def matrix(name: str, modifiers: list[str]) -> str:
    """ldmatrix and stmatrix: `LDSM.16.M88.4`, transposed `LDSM.16.MT88.4`."""
    count = next((modifier for modifier in modifiers if modifier in MATRICES), "")
    op = f"{'ldmatrix' if name == 'LDSM' else 'stmatrix'}_x{MATRICES[count]}"
    return op + ("_trans" if "MT88" in modifiers else "")
