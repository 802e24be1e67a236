"""From layouts as text or objects to the requests of copies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from banksim.errors import InputError
from banksim.layouts import copies, gluon, gluon_text, notation, thread_values
from banksim.layouts.algebra import Called, Layout, Numbers
from banksim.patterns.types import ALIASES, FUNDAMENTAL, NUMBA
from banksim.requests.trace import Site, Trace

OTHER_NAMES = {
    "bf16": 2, "f16": 2, "fp16": 2, "half_t": 2, "bfloat16_t": 2, "f32": 4, "fp32": 4, "tf32": 4, "tfloat32_t": 4,
    "f64": 8, "fp64": 8, "fp8": 1, "f8": 1, "float8_e4m3": 1, "float8_e5m2": 1, "float8e4nv": 1, "float8e5": 1,
    "float_e4m3_t": 1, "float_e5m2_t": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "uint128_t": 16, "float4": 16,
    "float2": 8,
}  # fmt: skip
"""Element types by the names that CuTe and Triton have for them, and their bytes."""
MOST_REQUESTS = 1 << 22


@dataclass(frozen=True)
class Copy:
    """One copy between shared memory and threads, of elements of so many bytes.

    `index[thread, value]`: which elements; `places`: the byte of each in shared memory; `any_order`: a thread's values
    may be taken in any order. `vectors`: the places without padding, by which Triton chooses how wide its accesses are,
    with the bytes between two paddings.
    """

    text: str
    index: Numbers
    places: Numbers
    element: int
    op: str
    atom: str
    any_order: bool = False
    vectors: tuple[Numbers, int] | None = None

    def accesses(self) -> copies.Accesses:
        """What the threads access."""
        try:
            self.check_vectors()
            return copies.accesses(self.places[self.index], self.element, self.atom, self.op, self.any_order)
        except InputError as error:
            raise InputError(f"{self.text}: {error}") from None

    def check_vectors(self) -> None:
        """`InputError` where padding moves what Triton accesses at once to where no such access can be."""
        if self.vectors is None:
            return
        plain, interval = self.vectors
        width = min(copies.widest_vector(plain[self.index], self.element), interval)
        reason = copies.consecutive(self.places[self.index], self.element, width)
        if isinstance(reason, str):
            raise InputError(
                f"Triton accesses {width} bytes at once here, as if there were no padding, and {reason}: the kernel "
                f"would be stopped; pad by multiples of {width} bytes"
            )


def layout(given: object) -> Layout:
    """A layout from CuTe's notation, such as `S<3,3,3> o (8,64):(64,1)`; or one of another library that is called with
    an index and has a shape, as tensor-layouts' are.

    Also `Swizzle<3,3,3>` and `Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)`, as CuTe prints it; a shape alone
    lies one behind the other, the first mode fastest. Call it with a coordinate; its text is the notation again.
    Raises `PatternError`, which points at what is wrong.

    >>> print(layout("Swizzle<2, 0, 3> o ((2, 4), 8)"))
    S<2,0,3> o ((2,4),8):((1,2),8)
    """
    if isinstance(given, Layout):
        return given
    if isinstance(given, str):
        return notation.parse(given)
    shape: object = getattr(given, "shape", None)
    if callable(given) and isinstance(shape, int | tuple):
        return Layout((Called(given, shape),))
    raise InputError(f"{given!r} is no layout: give CuTe's notation, or an object that has a shape and can be called")


def layout_pattern(
    shared: object,
    threads: object,
    *,
    values: object = None,
    shape: Sequence[int] = (),
    dtype: object = "float",
    op: str = "ld",
    atom: str | int = "widest",
) -> Trace:
    """The requests of a copy between threads and shared memory that is laid out as `shared` says.

    `threads` is a layout of (thread, value): its places are indices of `shared`, as CuTe's `composition` takes them.
    With `values`, both are the layouts that `make_tiled_copy` takes: coordinates of a tile → thread, and → value; the
    tile is repeated over the whole.

    `dtype`: the elements, by C's, CuTe's or NumPy's name. `op`: ld or st. `atom`: 1, 2, 4, 8 or 16 bytes, ldmatrix_x1,
    _x2, _x4 (also with _trans) and stmatrix, or CuTe's name (SM75_U32x4_LDSM_N); `threads` then gives the rows, one of
    16 bytes from each lane. `widest`: the widest of 1 to 16 bytes that neighbouring values of every thread allow, as
    `cute::copy` finds it. Shared memory begins at a multiple of every swizzle.

    Layouts of Gluon are taken too, as objects (of Triton, or of `banksim.layouts.gluon`, which needs no Triton) or as
    they are printed: `shared` of shared memory, `threads` a distributed one, for a tensor of this `shape`. Triton
    orders a thread's registers as it likes, and so does `widest` then.

    One site; a request of each warp for each atom of its threads' values.

    >>> tile, rows = "S<3,3,3> o (8,64):(64,1)", "((8,4),8):((1,64),8)"
    >>> len(layout_pattern(tile, rows, dtype="half", atom="ldmatrix_x4"))
    1
    """
    return trace([copy_of(shared_layout(shared, shape), threads, values, dtype, op, str(atom))])


@dataclass(frozen=True)
class GluonShared:
    """A layout of Gluon's, and the shape of the tensor that it lays out."""

    layout: object
    shape: tuple[int, ...]


def shared_layout(given: object, shape: Sequence[int]) -> Layout | GluonShared:
    """A layout of shared memory, in CuTe's words or in Gluon's."""
    sizes = tuple(shape)
    if gluon.is_gluon(given) or (isinstance(given, str) and gluon_text.looks_like(given)):
        if not sizes:
            raise InputError(f"{given}: give the shape of the tensor too, such as 64,64")
        return GluonShared(gluon_text.parse_or_native(given, sizes), sizes)
    if sizes:
        raise InputError("a shape is for layouts of Gluon: CuTe's have theirs")
    return layout(given)


def copy_of(shared: Layout | GluonShared, threads: object, values: object, dtype: object, op: str, atom: str) -> Copy:
    """A copy as layouts describe it."""
    if isinstance(shared, GluonShared):
        return gluon_copy(shared, threads, values, dtype, op, atom)
    if gluon.is_gluon(threads):
        raise InputError(f"{threads}: with a distributed layout of Gluon, give one of Gluon's of shared memory")
    held = layout(threads)
    if values is None:
        text = str(held)
        index = thread_values.of_thread_value_layout(held, shared)
    else:
        each = layout(values)
        text = f"{held} threads, {each} values"
        index = thread_values.of_tiled_copy(held, each, shared)
    element = element_bytes(dtype)
    if shared.element_bits not in (None, 8 * element):
        raise InputError(f"{shared}: elements have {shared.element_bits} bits, and those of {dtype} {8 * element}")
    places = shared.at(np.arange(shared.size)) * (1 if shared.is_in_bytes else element)
    return Copy(f"{op} {text}", index, places, element, op, atom)


def gluon_copy(shared: GluonShared, threads: object, values: object, dtype: object, op: str, atom: str) -> Copy:
    """A load or store of one distributed layout of Gluon's."""
    if values is not None:
        raise InputError("values are for CuTe's tiled copies: a distributed layout of Gluon tells them")
    if "matrix" in atom or "LDSM" in atom or "STSM" in atom:
        raise InputError(f"{atom}: Triton takes matrices where it can; banksim kernel counts what it took")
    held = gluon_text.parse_or_native(threads, shared.shape)
    element = element_bytes(dtype)
    bits = getattr(shared.layout, "element_bitwidth", 8 * element)
    if bits != 8 * element:
        raise InputError(f"{shared.layout}: elements have {bits} bits, and those of {dtype} {8 * element}")
    index, places = gluon.elements_of_threads(shared.layout, held, shared.shape)
    vectors = gluon.vectors(gluon.native(shared.layout), shared.shape, element)
    return Copy(f"{op} {held}", index, places * element, element, op, atom, any_order=True, vectors=vectors)


def grid_of(shared: Layout | GluonShared, dtype: object) -> tuple[str, Numbers, int]:
    """A layout to draw: its text, the places of its elements by their coordinates, and bytes of an element."""
    element = element_bytes(dtype)
    if isinstance(shared, GluonShared):
        where = gluon.native(shared.layout)
        if not hasattr(where, "places"):
            raise InputError(f"{where} is of threads: give one of shared memory")
        return str(where), where.places(shared.shape).reshape(shared.shape), element
    places = shared.at(np.arange(shared.size)) // (element if shared.is_in_bytes else 1)
    return str(shared), places.reshape(shared.sizes, order="F"), element


def element_bytes(dtype: object) -> int:
    """Bytes of an element of a type, by its name."""
    name = str(dtype).strip()
    known = ALIASES.get(name) or FUNDAMENTAL.get(name) or NUMBA.get(name)
    size = known.size if known else OTHER_NAMES.get(name)
    if size is None:
        try:
            size = np.dtype(dtype).itemsize  # type: ignore[call-overload]
        except TypeError:
            size = 0
    if size not in (1, 2, 4, 8, 16):
        raise InputError(f"{name!r} is no type of 1, 2, 4, 8 or 16 bytes: give one such as half, float or int8_t")
    return size


def trace(found: Sequence[Copy]) -> Trace:
    """The requests of copies, one site for each."""
    parts, sites = [], []
    for number, copy in enumerate(found):
        made = copy.accesses()
        parts.append(copies.columns(made, number))
        sites.append(Site(text=f"{copy.text}, {words(made)}"))
    columns: dict[str, Any] = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if columns["address"].min() < 0 or columns["address"].max() >= 1 << 31:
        raise InputError("a place is outside of what shared memory can have")
    return Trace.from_arrays(**columns, sites=sites)


def words(made: copies.Accesses) -> str:
    """The atom that was taken."""
    if "matrix" in made.atom.op:
        return made.atom.op
    return f"{made.atom.width} byte{'s' if made.atom.width > 1 else ''} at once"
