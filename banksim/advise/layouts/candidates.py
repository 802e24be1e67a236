"""The layouts that are tried: every swizzle that changes something, and paddings, as CuTe and as Gluon spell them."""

from collections.abc import Iterator, Sequence
from itertools import permutations
from math import prod
from typing import NamedTuple

import numpy as np

from banksim.errors import InputError
from banksim.layouts.algebra import Layout, Nested, Numbers, Strided, Swizzle, leaves
from banksim.layouts.build import GluonShared
from banksim.layouts.gluon import NVMMASharedLayout, PaddedSharedLayout, SwizzledSharedLayout, vectors

PADDINGS = (1, 2, 4, 8, 16, 32, 64)
"""Elements of a gap; Triton's are powers of two."""
WIDEST_SWIZZLE = 5
"""Bits of a swizzle: of 32 banks."""


class Candidate(NamedTuple):
    """A layout: `places` of all elements, counted in elements, of which it takes `size`. `vectors`: as in `Copy`."""

    cute: str
    gluon: str
    places: Numbers
    size: int
    vectors: tuple[Numbers, int] | None = None

    @property
    def name(self) -> str:
        """As CuTe writes it, where it can; else as Gluon does."""
        return self.cute or self.gluon

    @property
    def names(self) -> str:
        """As CuTe writes it and as Gluon does, as far as they can."""
        return " = ".join(filter(None, (self.cute, self.gluon)))


def candidates(shared: Layout | GluonShared, element: int) -> Iterator[Candidate]:
    """The layouts that are tried in place of `shared`, the simplest first, each mapping once; `element`: its bytes."""
    found = of_gluon(shared, element) if isinstance(shared, GluonShared) else of_cute(shared)
    seen: set[tuple[int, bytes]] = set()
    for one in found:
        key = one.size, one.places.tobytes()
        if key not in seen:
            seen.add(key)
            yield one


# ---- CuTe
def of_cute(shared: Layout) -> Iterator[Candidate]:
    """The strides of a layout without its swizzles, with others, and with gaps."""
    base = shared.domain
    if not isinstance(base, Strided):
        raise InputError(f"{shared}: its strides are not known: write it in CuTe's notation")
    places = base.at(np.arange(shared.size))
    size = int(places.max()) + 1
    flat = flat_order(base)
    gluon = python(SwizzledSharedLayout(1, 1, 1, list(flat))) if len(flat) == len(shared.sizes) and flat else ""
    yield Candidate(str(base), gluon, places, size)
    for swizzle in swizzles(size):
        yield Candidate(
            f"{swizzle} o {base}",
            gluon_swizzle(swizzle, shared.sizes, flat),
            swizzle.at(places),
            rounded(size, swizzle),
        )
    for interval, gap in gaps(base, places):
        longer = Strided(base.shape, padded(base.stride, interval, gap))
        spread = longer.at(np.arange(shared.size))
        gluon = padded_gluon(interval, gap, shared.sizes, flat) if flat else ""
        yield Candidate(str(longer), gluon, spread, int(spread.max()) + 1)


def swizzles(size: int) -> Iterator[Swizzle]:
    """Every S<b,m,s> that changes a place below `size`, the fewest bits first."""
    known = (size - 1).bit_length()
    for bits in range(1, WIDEST_SWIZZLE + 1):
        for base in range(known):
            for shift in range(bits, known - base):
                yield Swizzle(bits, base, shift)


def rounded(size: int, swizzle: Swizzle) -> int:
    """How many elements a swizzled layout takes: whole groups of 2^(bits + base), within which a swizzle permutes."""
    period = 1 << swizzle.bits + swizzle.base
    return -(-size // period) * period


def gaps(base: Strided, places: Numbers) -> Iterator[tuple[int, int]]:
    """(interval, gap) of each padding: some strides are multiples of the interval, and all others stay below it."""
    strides = list(zip(leaves(base.shape), leaves(base.stride), strict=True))
    for bit in range(1, int(places.max()).bit_length()):
        interval = 1 << bit
        inside = sum((size - 1) * stride for size, stride in strides if stride % interval)
        if inside < interval and any(stride and stride % interval == 0 for _, stride in strides):
            yield from ((interval, gap) for gap in PADDINGS)


def padded(stride: Nested, interval: int, gap: int) -> Nested:
    """Strides with a gap behind every `interval` elements."""
    if isinstance(stride, int):
        return stride + stride // interval * gap if stride % interval == 0 else stride
    return tuple(padded(one, interval, gap) for one in stride)


# ---- Gluon's words for CuTe's layouts
def flat_order(base: Strided) -> tuple[int, ...]:
    """The axes of a tensor whose elements lie one behind the other, the fastest first; empty for any other, and for
    sizes that Triton does not have."""
    if isinstance(base.shape, int) or not all(isinstance(mode, int) for mode in base.shape):
        return ()
    sizes, strides = list(leaves(base.shape)), list(leaves(base.stride))
    order = sorted(range(len(sizes)), key=lambda axis: (strides[axis], sizes[axis]))
    expected = 1
    for axis in order:
        if strides[axis] != expected or sizes[axis] & sizes[axis] - 1:
            return ()
        expected *= sizes[axis]
    return tuple(order)


def gluon_swizzle(swizzle: Swizzle, sizes: Sequence[int], order: Sequence[int]) -> str:
    """Triton's words for a swizzle of rows, where it has any."""
    if len(order) < 2:
        return ""
    columns, rows = (sizes[axis].bit_length() - 1 for axis in order[:2])
    phase = swizzle.base + swizzle.shift - columns
    if phase < 0 or swizzle.base + swizzle.bits > columns or phase + swizzle.bits > rows:
        return ""
    return python(SwizzledSharedLayout(1 << swizzle.base, 1 << phase, 1 << swizzle.bits, list(order)))


def padded_gluon(interval: int, gap: int, shape: Sequence[int], order: Sequence[int]) -> str:
    return f"PaddedSharedLayout.with_identity_for([[{interval}, {gap}]], {list(shape)}, {list(order)})"


def python(layout: SwizzledSharedLayout | NVMMASharedLayout) -> str:
    """The Gluon layout as one writes it in Python."""
    if isinstance(layout, SwizzledSharedLayout):
        return f"SwizzledSharedLayout({layout.vec}, {layout.per_phase}, {layout.max_phase}, {list(layout.order)})"
    turned = ", transposed=True" if layout.transposed else ""
    return f"NVMMASharedLayout({layout.swizzle_byte_width}, {layout.element_bitwidth}, {layout.rank}{turned})"


# ---- Gluon
def of_gluon(shared: GluonShared, element: int) -> Iterator[Candidate]:
    """Every swizzled layout, what TMA knows, and paddings, in every order of two axes."""
    shape, size = shared.shape, prod(shared.shape)
    rank = len(shape)
    own = tuple(getattr(shared.layout, "order", range(rank)[::-1]))
    orders = list(permutations(range(rank))) if rank == 2 else [own]
    for order in sorted(orders, key=lambda one: one != own):
        strides = [prod(shape[axis] for axis in order[: order.index(number)]) for number in range(rank)]
        base = f"({','.join(map(str, shape))}):({','.join(map(str, strides))})"
        plain = SwizzledSharedLayout(1, 1, 1, list(order))
        yield Candidate(base, python(plain), plain.places(shape), size)
        columns = shape[order[0]].bit_length() - 1
        rows = shape[order[1]].bit_length() - 1 if rank > 1 else 0
        for bits in range(1, min(rows, columns) + 1):
            for vec in range(columns - bits + 1):
                for phase in range(rows - bits + 1):
                    layout = SwizzledSharedLayout(1 << vec, 1 << phase, 1 << bits, list(order))
                    shift = columns + phase - vec
                    yield Candidate(f"S<{bits},{vec},{shift}> o {base}", python(layout), layout.places(shape), size)
        for bit in range(1, size.bit_length() - 1):
            for gap in PADDINGS:
                spread = PaddedSharedLayout.with_identity_for([[1 << bit, gap]], shape, order)
                places, name = spread.places(shape), padded_gluon(1 << bit, gap, shape, order)
                yield Candidate("", name, places, int(places.max()) + 1, vectors(spread, shape, element))
    yield from of_tma(shape, element)


def of_tma(shape: Sequence[int], element: int) -> Iterator[Candidate]:
    """The layouts that TMA and the tensor cores of sm_90 know, where the tensor is large enough."""
    for width in (32, 64, 128):
        for transposed in (False, True) if len(shape) == 2 else (False,):
            layout = NVMMASharedLayout(width, 8 * element, len(shape), transposed)
            try:
                yield Candidate("", python(layout), layout.places(shape), prod(shape))
            except InputError:
                continue
