"""Layouts as Triton's Gluon names them: which elements each thread holds, and where shared memory holds them.

The classes have the names and the fields of Gluon's own, whose objects are taken as well; Triton need not be installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from math import prod
from typing import Any

import numpy as np

from banksim.errors import InputError, UnsupportedError
from banksim.layouts.algebra import MOST_ELEMENTS, Numbers
from banksim.requests.kinds import LANES

Sizes = Sequence[int]
Bases = Sequence[Sequence[int]]
SWIZZLED_ROWS = 8
"""Rows after which the pattern of NVMMASharedLayout repeats."""
LONGEST_BOX = 256
"""Elements along one side of what TMA copies at once, which NVMMASharedLayout lays one behind the other."""


@dataclass(frozen=True)
class BlockedLayout:
    """Neighbouring elements to a thread, neighbouring threads to a warp, neighbouring warps to a block."""

    size_per_thread: Sizes
    threads_per_warp: Sizes
    warps_per_cta: Sizes
    order: Sizes
    cga_layout: Bases = ()

    def held(self, shape: Sizes) -> Numbers:
        """The coordinates that each thread holds, [thread, value, axis]."""
        parts = (self.size_per_thread, self.threads_per_warp, self.warps_per_cta)
        require_ranks(self, shape, (*parts, self.order))
        require_powers(self, [*self.size_per_thread, *self.threads_per_warp, *self.warps_per_cta])
        require_one_block(self)
        require_order(self, self.order)
        require_lanes(self, prod(self.threads_per_warp))
        tile = [prod(sizes) for sizes in zip(*parts, strict=True)]
        repeats = [max(1, size // one) for size, one in zip(shape, tile, strict=True)]
        value, lane, warp, again = (unravel(sizes, self.order) for sizes in (*parts, repeats))
        of_thread = lane[None] + np.array(self.threads_per_warp) * warp[:, None]
        of_thread = of_thread.reshape(-1, len(shape))
        of_value = (value[None] + np.array(tile) * again[:, None]).reshape(-1, len(shape))
        found = of_thread[:, None] * np.array(self.size_per_thread) + of_value[None]
        inside: Numbers = found % np.array(shape)
        return inside


@dataclass(frozen=True)
class SliceLayout:
    """What is left of another layout when one of its axes is taken away."""

    dim: int
    parent: Any

    def held(self, shape: Sizes) -> Numbers:
        if not 0 <= self.dim <= len(shape):
            raise InputError(f"{self}: there is no axis {self.dim} among {len(shape) + 1}")
        found = native(self.parent).held((*shape[: self.dim], 1, *shape[self.dim :]))
        without: Numbers = np.delete(found, self.dim, axis=2)
        return without


@dataclass(frozen=True)
class DistributedLinearLayout:
    """The coordinates at each bit of the register, lane and warp."""

    reg_bases: Bases
    lane_bases: Bases
    warp_bases: Bases
    block_bases: Bases
    shape: Sizes

    def held(self, shape: Sizes) -> Numbers:
        if tuple(shape) != tuple(self.shape):
            raise InputError(f"{self} is of the shape {list(self.shape)}, and {list(shape)} is given")
        if self.block_bases:
            raise UnsupportedError(f"{self}: clusters of blocks are not known")
        require_lanes(self, 1 << len(self.lane_bases))
        thread = combined([*self.lane_bases, *self.warp_bases], len(shape))
        return thread[:, None] ^ combined(self.reg_bases, len(shape))[None]


@dataclass(frozen=True)
class SwizzledSharedLayout:
    """Rows whose vectors of `vec` elements are xored with the row's phase."""

    vec: int
    per_phase: int
    max_phase: int
    order: Sizes
    cga_layout: Bases = ()

    def places(self, shape: Sizes) -> Numbers:
        """The places of all elements, counted in elements, in C's order."""
        require_ranks(self, shape, [self.order])
        require_powers(self, [self.vec, self.per_phase, self.max_phase])
        require_one_block(self)
        require_order(self, self.order)
        index = list(np.indices(shape).reshape(len(shape), -1))
        if len(shape) > 1:
            column, row = self.order[:2]
            index[column] ^= self.vec * (index[row] // self.per_phase % self.max_phase) % shape[column]
        return in_order(index, shape, self.order)


@dataclass(frozen=True)
class PaddedSharedLayout:
    """Elements in the order of `offset_bases`, with gaps after every so many."""

    interval_padding_pairs: Bases
    offset_bases: Bases
    cga_layout: Bases
    shape: Sizes

    @staticmethod
    def with_identity_for(
        interval_padding_pairs: Bases, shape: Sizes, order: Sizes, cga_layout: Bases = ()
    ) -> PaddedSharedLayout:
        """Elements in the order of the axes, the first running fastest."""
        bases = [
            [1 << bit if other == axis else 0 for other in range(len(shape))]
            for axis in order
            for bit in range(shape[axis].bit_length() - 1)
        ]
        return PaddedSharedLayout(interval_padding_pairs, bases, cga_layout, shape)

    def places(self, shape: Sizes) -> Numbers:
        require_one_block(self)
        if tuple(shape) != tuple(self.shape):
            raise InputError(f"{self} is of the shape {list(self.shape)}, and {list(shape)} is given")
        if not all(len(pair) == 2 for pair in self.interval_padding_pairs) or not self.interval_padding_pairs:
            raise InputError(f"{self}: give pairs of an interval and a padding")
        require_powers(self, [number for pair in self.interval_padding_pairs for number in pair])
        offset = self.unpadded(shape)
        return offset + sum(offset // interval * padding for interval, padding in self.interval_padding_pairs)

    def unpadded(self, shape: Sizes) -> Numbers:
        """The places without gaps."""
        return inverse_of(self, self.offset_bases, shape)


@dataclass(frozen=True)
class SharedLinearLayout:
    """The coordinates at each bit of the place."""

    offset_bases: Bases
    block_bases: Bases = ()
    alignment: int = 16

    def places(self, shape: Sizes) -> Numbers:
        if self.block_bases:
            raise UnsupportedError(f"{self}: clusters of blocks are not known")
        return inverse_of(self, self.offset_bases, shape)


@dataclass(frozen=True)
class NVMMASharedLayout:
    """What TMA and the tensor cores of sm_90 read: panels of `swizzle_byte_width` bytes, swizzled by vectors of 16."""

    swizzle_byte_width: int
    element_bitwidth: int
    rank: int = 2
    transposed: bool = False
    fp4_padded: bool = False
    cga_layout: Bases = ()

    def places(self, shape: Sizes) -> Numbers:
        require_one_block(self)
        if self.fp4_padded or (self.transposed and len(shape) != 2):
            raise UnsupportedError(f"{self}: padded fp4, and transposed layouts of other than two axes, are not known")
        if self.swizzle_byte_width not in (0, 32, 64, 128) or self.element_bitwidth not in (8, 16, 32, 64):
            raise InputError(f"{self}: give 0, 32, 64 or 128 bytes, and elements of 8, 16, 32 or 64 bits")
        if len(shape) != self.rank:
            raise InputError(f"{self} has the rank {self.rank}, and the shape {list(shape)} has {len(shape)} axes")
        axes = [*range(1, len(shape)), 0] if self.transposed else [*range(len(shape))]
        sizes = [shape[axis] for axis in axes]
        bits = self.element_bitwidth
        panel = 8 * self.swizzle_byte_width // bits or LONGEST_BOX
        box = [*(min(size, LONGEST_BOX) for size in sizes[:-1]), min(sizes[-1], panel)]
        if self.swizzle_byte_width and (sizes[-1] < panel or prod(box[:-1]) < SWIZZLED_ROWS):
            raise InputError(
                f"{self}: {list(shape)} is smaller than {SWIZZLED_ROWS} rows of {panel} elements, which it is made of"
            )
        index = list(np.indices(shape).reshape(len(shape), -1))
        inner = [index[axis] % one for axis, one in zip(axes, box, strict=True)]
        row = in_order(inner[:-1], box[:-1], range(len(box) - 1)[::-1])
        vector, phases = 128 // bits, self.swizzle_byte_width // 16
        if phases:
            inner[-1] = inner[-1] ^ vector * (row // (8 // phases) % phases)
        place: Numbers = row * box[-1] + inner[-1]
        outer = [index[axis] // box[axes.index(axis)] for axis in range(len(shape))]
        repeats = [shape[axis] // box[axes.index(axis)] for axis in range(len(shape))]
        place += prod(box) * in_order(outer, repeats, range(len(shape)))
        return place


Shared = SwizzledSharedLayout | PaddedSharedLayout | SharedLinearLayout | NVMMASharedLayout
CLASSES: dict[str, Any] = {
    one.__name__: one
    for one in (
        BlockedLayout, SliceLayout, DistributedLinearLayout, SwizzledSharedLayout, PaddedSharedLayout,
        SharedLinearLayout, NVMMASharedLayout,
    )
}  # fmt: skip


def is_size(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < 1 << 31


def are_sizes(value: object) -> bool:
    return isinstance(value, list | tuple) and all(map(is_size, value))


FORMS: dict[str, Callable[[Any], bool]] = {
    "int": is_size,
    "bool": lambda value: isinstance(value, bool),
    "Sizes": are_sizes,
    "Bases": lambda value: isinstance(value, list | tuple) and all(map(are_sizes, value)),
    "Any": lambda value: True,
}
"""For each type of a field, a test whether a value is of it."""
WORDS = {
    "int": "a whole number", "bool": "True or False", "Sizes": "a list of whole numbers",
    "Bases": "a list of lists of whole numbers",
}  # fmt: skip


def is_gluon(value: object) -> bool:
    """Whether it is one of Gluon's layouts, or of those here."""
    module = type(value).__module__
    return module == __name__ or module.startswith("triton.experimental.gluon")


def native(value: Any) -> Any:
    """The layout here that means the same as one of Gluon's."""
    kind = CLASSES.get(type(value).__name__)
    if kind is None:
        raise UnsupportedError(f"{value!r}: of Gluon's layouts those known are {', '.join(CLASSES)}")
    found = value if type(value) is kind else kind(**{one.name: getattr(value, one.name) for one in fields(kind)})
    for one in fields(kind):
        if not FORMS[str(one.type)](getattr(found, one.name)):
            raise InputError(f"{found}: {one.name} has to be {WORDS[str(one.type)]}")
    return found


def elements_of_threads(shared: Any, distributed: Any, shape: Sizes) -> tuple[Numbers, Numbers]:
    """The numbers in C's order of the elements that each thread holds, [thread, value], less repeats that all threads
    have; and the places of all elements."""
    shape = tuple(shape)
    if any(size < 1 or size & size - 1 for size in shape) or not shape:
        raise InputError(f"the shape {list(shape)}: Triton's sizes are powers of two")
    if prod(shape) > MOST_ELEMENTS:
        raise InputError(f"the shape {list(shape)} has {prod(shape)} elements; the limit is {MOST_ELEMENTS}")
    where, who = native(shared), native(distributed)
    if not hasattr(where, "places") or not hasattr(who, "held"):
        raise InputError("give a layout of shared memory, and one of threads: SwizzledSharedLayout, BlockedLayout …")
    held = np.ravel_multi_index(tuple(np.moveaxis(who.held(shape), 2, 0)), shape)
    _, first = np.unique(held, axis=1, return_index=True)
    return held[:, np.sort(first)], where.places(shape)


def vectors(shared: Any, shape: Sizes, element: int) -> tuple[Numbers, int] | None:
    """For a padded layout: the byte of each element as without padding, and the bytes between two paddings."""
    if not isinstance(shared, PaddedSharedLayout):
        return None
    interval = min(interval for interval, _ in shared.interval_padding_pairs)
    return shared.unpadded(shape) * element, interval * element


# ---- coordinates
def unravel(sizes: Sizes, order: Sizes) -> Numbers:
    """All coordinates of some sizes, [number, axis], the first axis of `order` running fastest."""
    number = np.arange(prod(sizes))
    found = np.zeros((len(number), len(sizes)), np.int64)
    for axis in order:
        number, found[:, axis] = np.divmod(number, sizes[axis])
    return found


def in_order(index: Sequence[Numbers], sizes: Sizes, order: Sizes) -> Numbers:
    """The numbers of coordinates, the first axis of `order` running fastest."""
    found: Numbers = np.zeros_like(index[0]) if len(index) else np.zeros(1, np.int64)
    for axis in reversed(order):
        found = found * sizes[axis] + index[axis]
    return found


def combined(bases: Bases, rank: int) -> Numbers:
    """The coordinates of 0, 1, 2, …: of each the bases at its bits, xored."""
    if any(len(one) != rank for one in bases):
        raise InputError(f"{bases}: each basis has {rank} numbers, one for each axis")
    found = np.zeros((1, rank), np.int64)
    for basis in bases:
        found = np.concatenate([found, found ^ np.array(basis, np.int64)])
    return found


def inverse_of(layout: object, bases: Bases, shape: Sizes) -> Numbers:
    """The places of all elements in C's order, from the coordinates at each bit of a place."""
    if len(bases) > MOST_ELEMENTS.bit_length():
        raise InputError(f"{layout}: more bases than shared memory has places")
    found = combined(bases, len(shape))
    if (found >= np.array(shape)).any():
        raise InputError(f"{layout}: its bases go beyond the shape {list(shape)}")
    element = np.ravel_multi_index(tuple(found.T), tuple(shape))
    if len(element) != prod(shape) or not np.array_equal(np.sort(element), np.arange(prod(shape))):
        raise InputError(f"{layout}: its bases do not lay each element of the shape {list(shape)} once")
    return np.argsort(element)


# ---- checks
def require_ranks(layout: object, shape: Sizes, given: Sequence[Sizes]) -> None:
    if any(len(one) != len(shape) for one in given):
        raise InputError(f"{layout} does not fit the shape {list(shape)}: give as many numbers as it has axes")


def require_powers(layout: object, numbers: Sizes) -> None:
    for number in numbers:
        if not isinstance(number, int) or number < 1 or number & number - 1:
            raise InputError(f"{layout}: {number!r} is no power of two")


def require_order(layout: object, order: Sizes) -> None:
    if sorted(order) != list(range(len(order))):
        raise InputError(f"{layout}: the order {list(order)} does not name each axis once")


def require_lanes(layout: object, lanes: int) -> None:
    if lanes != LANES:
        raise InputError(f"{layout} gives a warp {lanes} threads: it has {LANES}")


def require_one_block(layout: Any) -> None:
    if layout.cga_layout:
        raise UnsupportedError(f"{layout}: clusters of blocks (cga_layout) are not known")
