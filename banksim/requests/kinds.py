"""The kinds of requests to shared memory, the bytes that one moves for a lane, and the lanes of a warp."""

import numpy as np

OPS: tuple[str, ...] = (
    "ld", "st", "atom", "red", "exch", "cas", "popc_inc",
    "ldmatrix_x1", "ldmatrix_x2", "ldmatrix_x4",
    "ldmatrix_x1_trans", "ldmatrix_x2_trans", "ldmatrix_x4_trans",
    "stmatrix_x1", "stmatrix_x2", "stmatrix_x4",
    "stmatrix_x1_trans", "stmatrix_x2_trans", "stmatrix_x4_trans",
    "cp_async", "cas_spin", "cp_async_gather", "bulk", "cp_async_bypass", "cp_async_bypass_zfill",
    "remote", "wgmma", "remote_ld", "remote_st", "remote_atom", "remote_cas", "remote_async", "probe",
)  # fmt: skip
"""Every kind of request, in the order of its code in `Trace.op`. cp_async copies through the L1 cache,
cp_async_bypass past it (`.cg`), cp_async_bypass_zfill too, with a number of bytes to read; the addresses of all three
tell of the source too. cp_async_gather is a copy whose source is not known, or of which lanes read nothing though no
number of bytes says so. bulk copies any amount by one thread (cp.async.bulk), whose first address counts. remote_ld,
remote_st, remote_atom and remote_cas reach into the shared memory of other blocks of the cluster, whose ranks stand
above the addresses; remote does so in any other way, or into the own one as well. remote_async is st.async and
red.async, into whichever block. wgmma reads core matrices of 8 rows of 16 bytes for a product of warp groups. probe is
an atomic of 8 bytes by generic addresses that shared memory refuses; the code after it does the work."""
REMOTE = {
    "ld": "remote_ld", "st": "remote_st", "remote_async": "remote_async",
    **dict.fromkeys(("cas", "cas_spin"), "remote_cas"),
    **dict.fromkeys(("atom", "red", "exch"), "remote_atom"),
}  # fmt: skip
"""By op in the own block: the op where all lanes reach into the shared memory of other blocks."""


def remote(op: str, own: bool) -> str:
    """The op of a request that reaches into the shared memory of other blocks; `own`: into the own one too."""
    return "remote" if own and op != "remote_async" else REMOTE.get(op, "remote")


ATOMICS = ("atom", "red", "exch", "cas", "cas_spin", "popc_inc", "probe")
"""Atomics in the own block's shared memory."""
BYPASSING = ("cp_async_bypass", "cp_async_bypass_zfill")
"""Copies past the L1 cache."""
IS_BYPASSING = np.isin(OPS, BYPASSING)
"""By the code of an op: whether it is one of these."""
UNTIMED = (*BYPASSING, *REMOTE.values())
"""Ops of which nobody knows how long one more transaction takes."""
IS_UNTIMED = np.isin(OPS, UNTIMED)
"""By the code of an op: whether it is one of these."""
COPIES = ("cp_async", "cp_async_gather", *BYPASSING)
"""Ops whose addresses tell of the source too, in the bits named below. These are 0 if the lanes read one run of bytes
in order, from a multiple of 128 on: then the addresses are just the places in shared memory that are written."""
SOURCE_BIT = 27
"""From this bit on, by how many banks of 4 bytes, modulo 32, a lane's source lies further on than in such a run."""
LINE_BIT = 22
"""From this bit on, in 5 bits, and only of copies past the L1 cache: which lane is the first that reads from the same
128 bytes, counted modulo 32 from the lane that it is in such a run."""
UNREAD = 1 << 21
"""Set where a lane of cp_async reads nothing and writes zeros."""
DESTINATION = UNREAD - 1
"""The bits of such an address that are the place in shared memory."""
BY_LINES = (*COPIES, "remote_ld", "remote_st")
"""Ops whose cost depends on the lines of 128 bytes that they touch: only moves by whole lines leave it as it is."""
BY_PLACES = ("remote_atom", "remote_cas", "remote_async")
"""Ops whose cost depends on the places themselves: no move leaves it as it is."""

OP_CODES: dict[str, int] = {name: code for code, name in enumerate(OPS)}
WIDTHS: tuple[int, ...] = (1, 2, 4, 8, 16)
"""Bytes that one lane may access."""
LANES = 32
FULL_MASK = 0xFFFFFFFF
ADDRESSED: tuple[int, ...] = tuple(
    (1 << 8 * int(op.partition("_x")[2][0])) - 1 if "matrix" in op else FULL_MASK for op in OPS
)
"""For every op the lanes that give addresses: the rows of ldmatrix and stmatrix x1 come from the first 8."""
SMALL = 8192
"""For up to so many requests, plain Python is faster than loading numba."""
