"""What threads that copy elements at known places ask of shared memory: accesses of one atom each."""

import re
from typing import NamedTuple

import numpy as np

from banksim.errors import InputError
from banksim.layouts.algebra import Numbers
from banksim.requests.kinds import ADDRESSED, FULL_MASK, LANES, OP_CODES, OPS

WIDEST = 16
"""Bytes of the widest access of a thread."""
ROW = 16
"""Bytes of a row of ldmatrix and stmatrix, of which a lane gives the address."""
DIRECTIONS = ("ld", "st")
MATRIX = {
    **{f"SM75_U32x{n}_LDSM_N": f"ldmatrix_x{n}" for n in (1, 2, 4)},
    **{f"SM75_U16x{2 * n}_LDSM_T": f"ldmatrix_x{n}_trans" for n in (1, 2, 4)},
    **{f"SM90_U32x{n}_STSM_N": f"stmatrix_x{n}" for n in (1, 2, 4)},
    **{f"SM90_U16x{2 * n}_STSM_T": f"stmatrix_x{n}_trans" for n in (1, 2, 4)},
}
"""Atoms as CuTe names them."""
UNIVERSAL = re.compile(r"(?:Auto|Universal)Copy<uint(8|16|32|64|128)_t>")


class Atom(NamedTuple):
    """One kind of access: `op`, and the bytes that a thread gives or takes (of ldmatrix: a row)."""

    op: str
    width: int


class Accesses(NamedTuple):
    """Accesses of all threads: byte addresses of shape (access, thread), and which threads take part."""

    atom: Atom
    address: Numbers
    active: np.ndarray


def atoms(atom: str, op: str, element: int) -> list[Atom]:
    """What `atom` may mean: the widest first."""
    if op not in DIRECTIONS:
        raise InputError(f"{op!r} is no copy: give ld or st")
    name = MATRIX.get(atom, atom)
    if "matrix" in name:
        if name not in OPS:
            raise InputError(f"{atom!r} is no atom: give {', '.join(o for o in OPS if 'matrix' in o)}")
        if name.startswith("ldmatrix") != (op == "ld"):
            raise InputError(f"{atom}: ldmatrix loads and stmatrix stores, and the copy is {op}")
        return [Atom(name, ROW)]
    if atom == "widest":
        widths = [width for width in (16, 8, 4, 2, 1) if width >= element]
        return [Atom(op, width) for width in widths] or [Atom(op, WIDEST)]
    match = UNIVERSAL.fullmatch(atom)
    text = str(int(match[1]) // 8) if match else atom
    if text not in ("1", "2", "4", "8", "16"):
        raise InputError(f"{atom!r} is no atom: give 1, 2, 4, 8 or 16 bytes, ldmatrix_x4 or the like, or widest")
    if int(text) % element:
        raise InputError(f"an atom of {text} bytes holds no whole element of {element}")
    return [Atom(op, int(text))]


def accesses(place: Numbers, element: int, atom: str, op: str, any_order: bool) -> Accesses:
    """The accesses that copy the elements at byte addresses `place[thread, value]`, of the widest atom that fits.

    An atom takes values that lie one behind the other, aligned: values with neighbouring numbers, or (`any_order`)
    whichever do so in every thread, as a compiler finds them. InputError where the atom does not fit, and where a
    compiler would find a wider one for some of the values alone.
    """
    wrong = ""
    for one in atoms(atom, op, element):
        groups = (grouped if any_order else consecutive)(place, element, one.width)
        if isinstance(groups, str):
            wrong = wrong or f"{groups}: an atom of {one.width} bytes does not fit"
            continue
        if any_order and atom == "widest" and one.width < WIDEST and some_join(groups, one.width):
            raise InputError(
                f"some accesses of {one.width} bytes lie side by side in every thread, and others do not: which of "
                "them Triton's compiler joins is not known; let banksim kernel count them"
            )
        active = np.ones(groups.shape, bool)
        if one.width == ROW and "matrix" in one.op:
            lanes = np.arange(groups.shape[1]) % LANES
            active &= (ADDRESSED[OP_CODES[one.op]] >> lanes & 1).astype(bool)
            if groups.shape[1] % LANES:
                raise InputError(f"{one.op} takes whole warps, and {groups.shape[1]} threads are none")
        return Accesses(one, groups, active)
    raise InputError(wrong)


def consecutive(place: Numbers, element: int, width: int) -> Numbers | str:
    """The addresses of atoms made of neighbouring values; or what is in the way."""
    count = width // element
    threads, values = place.shape
    if values % count:
        return f"{values} values of a thread make no whole atoms of {count}"
    parts = place.reshape(threads, -1, count)
    whole = (parts == parts[..., :1] + element * np.arange(count)).all(-1) & (parts[..., 0] % width == 0)
    if not whole.all():
        thread, part = np.argwhere(~whole)[0]
        return f"{why(parts[thread, part], width)} of values {part * count} to {part * count + count - 1}{of(thread)}"
    return parts[..., 0].T


def grouped(place: Numbers, element: int, width: int) -> Numbers | str:
    """As `consecutive`, with the values of all threads in the order of the first thread's places."""
    order = np.argsort(place[0], kind="stable")
    return consecutive(place[:, order], element, width)


def some_join(address: Numbers, width: int) -> bool:
    """Whether two accesses of `width` bytes could be one of twice as many in every thread: addresses [access, thread],
    in the order of the first thread's."""
    beside = (address[1:] - address[:-1] == width) & (address[:-1] % (2 * width) == 0)
    return bool(beside.all(1).any())


def widest_vector(place: Numbers, element: int) -> int:
    """The bytes of the widest access for which neighbouring values of every thread lie one behind the other."""
    return next(n for n in (16, 8, 4, 2, 1) if n <= element or not isinstance(consecutive(place, element, n), str))


def why(places: Numbers, width: int) -> str:
    """What is wrong with the places that should make one access."""
    if places[0] % width:
        return f"byte {places[0]}, no multiple of {width}, is the first"
    return f"bytes {', '.join(map(str, places[:4]))}{', …' if len(places) > 4 else ''} are the places"


def of(thread: int) -> str:
    return f" of thread {thread}"


def columns(found: Accesses, site: int) -> dict[str, np.ndarray]:
    """The columns of a `Trace`: a request of each warp for each access."""
    count, threads = found.address.shape
    warps = -(-threads // LANES)
    more = warps * LANES - threads
    address = np.pad(found.address, ((0, 0), (0, more))).reshape(count * warps, LANES)
    active = np.pad(found.active, ((0, 0), (0, more))).reshape(count * warps, LANES)
    mask = np.packbits(active, axis=-1, bitorder="little").view("<u4")[..., 0]
    return {
        "site": np.full(len(mask), site),
        "warp": np.tile(np.arange(warps), count),
        "op": np.full(len(mask), OP_CODES[found.atom.op]),
        "width": np.full(len(mask), found.atom.width),
        "mask": np.where("matrix" in found.atom.op, FULL_MASK, mask),
        "address": np.where(active, address, 0),
    }
