"""The host's memory behind arrays: all that an array is a view of, in which a kernel may step out of the array."""

import copy
import math
import mmap
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import byte_bounds

from banksim.errors import AbsentError, InputError
from banksim.machine.structs import Struct
from banksim.machine.tensor_maps import MappedArray

BUFFER_LIMIT = 1 << 31
"""Bytes that one piece of a launch's memory may have."""
Stretch = tuple[int, int]
"""Memory from an address of the host up to another."""
NO_RESERVE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000 if sys.platform == "linux" else None
"""Memory that is there only once it is touched, however much it is (0x4000: Linux's MAP_NORESERVE)."""


Contents = Callable[[int, int], np.ndarray]
"""Makes the elements of an array from one number up to another, in the order of C."""


class Absent(np.ndarray):
    """An array of which nothing is known but its type and shape; see `absent`. Views of it have its contents."""

    contents: Contents | None = None
    place, kind = 0, np.dtype(np.uint8)
    """Where the elements of the array that `contents` makes begin, and what they are."""

    def __array_finalize__(self, other: object) -> None:
        if isinstance(other, Absent) and np.may_share_memory(self, other):
            self.contents, self.place, self.kind = other.contents, other.place, other.kind

    def part(self, stretch: Stretch) -> npt.NDArray[np.uint8]:
        """What some of its memory would hold. `AbsentError` where nobody knows it."""
        if self.contents is None:
            raise AbsentError("an array is absent, and its contents are needed: pass an array")
        start, end = (place - self.place for place in stretch)
        first = start // self.kind.itemsize
        elements = np.ascontiguousarray(self.contents(first, -(-end // self.kind.itemsize)), self.kind)
        return elements.reshape(-1).view(np.uint8)[start - first * self.kind.itemsize :][: end - start]


def absent(shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32, contents: Contents | None = None) -> Absent:
    """Stands for an array in `banksim.run(…, values=False)`: it has a type and a shape, but no contents, and takes no
    memory. Where these are needed, `contents(start, stop)` makes the elements from one number up to another, in the
    order of C; `AbsentError` without it.

    >>> absent((16384, 16384), np.float32).nbytes
    1073741824
    """
    sizes = shape if isinstance(shape, Sequence) else (shape,)
    if min(sizes, default=0) < 0:
        raise InputError(f"an absent array of shape {shape}: sizes are 0 or more")
    size = math.prod(sizes) * np.dtype(dtype).itemsize
    found = np.ndarray(shape, dtype, reserved(max(size, 1))).view(Absent)
    found.contents, found.place, found.kind = contents, found.ctypes.data, found.dtype
    return found


def reserved(size: int) -> mmap.mmap:
    """So many bytes of zeros, which take no room before they are touched."""
    try:
        return mmap.mmap(-1, size) if NO_RESERVE is None else mmap.mmap(-1, size, flags=NO_RESERVE)
    except (OSError, OverflowError):
        why = "more than this machine, or a limit such as ulimit -v, has addresses for"
        raise InputError(f"an absent array of {size:,} bytes is {why}") from None


def arrays(arguments: Iterable[object]) -> Iterator[np.ndarray]:
    """The arrays among arguments, those in tuples, lists, structs and tensor maps too."""
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            yield argument
        elif isinstance(argument, tuple | list | Struct):
            yield from arrays(argument)
        elif isinstance(argument, MappedArray):
            yield argument.array


def bounds(array: np.ndarray) -> Stretch:
    return byte_bounds(array) if array.size else (array.ctypes.data, array.ctypes.data)


def extent(array: np.ndarray) -> Stretch:
    """Where the memory begins and ends that an array is a view of, as far as its owner says; that of the array alone
    where that is more than one piece of a launch's memory may have."""
    own = found = bounds(array)
    owner: object = array
    while (owner := getattr(owner, "obj" if isinstance(owner, memoryview) else "base", None)) is not None:
        try:
            low, high = bounds(owner if isinstance(owner, np.ndarray) else np.frombuffer(owner, np.uint8))
        except (TypeError, ValueError, BufferError):
            continue
        if low <= found[0] and found[1] <= high:
            found = low, high
    return found if found[1] - found[0] <= BUFFER_LIMIT else own


class Stretches:
    """The memory behind some arrays, in the order of the arrays: what overlaps is one stretch."""

    def __init__(self, arguments: Iterable[object] = ()) -> None:
        self.all: list[Stretch] = []
        for array in arrays(arguments):
            self.add(extent(array))

    def add(self, stretch: Stretch) -> Stretch:
        """Add memory; with all that it overlaps it becomes one stretch."""
        near = [s for s in self.all if s == stretch or max(s[0], stretch[0]) < min(s[1], stretch[1])]
        whole = min(s[0] for s in (stretch, *near)), max(s[1] for s in (stretch, *near))
        if whole[1] - whole[0] <= BUFFER_LIMIT:
            self.all = [*(s for s in self.all if s not in near), whole]
            return whole
        self.all.append(stretch)
        return stretch

    def of(self, array: np.ndarray) -> Stretch:
        """The stretch that an array lies in."""
        low, high = bounds(array)
        return next((s for s in self.all if s[0] <= low and high <= s[1]), None) or self.add((low, high))


class Raw:
    """Memory between two addresses, as NumPy takes it; `owner` keeps it alive."""

    def __init__(self, low: int, high: int, owner: object) -> None:
        self.__array_interface__ = {"data": (low, False), "shape": (high - low,), "typestr": "|u1", "version": 3}
        self.owner = owner


def bytes_of(stretch: Stretch, owner: object) -> np.ndarray:
    """The bytes of memory, not copied; the result keeps the memory's owner alive."""
    low, high = stretch
    return np.asarray(Raw(low, high, owner)) if low < high else np.zeros(0, np.uint8)


def writable(arguments: Iterable[object]) -> list[np.ndarray]:
    """The memory behind all arrays that a kernel can change, as bytes in place."""
    changing = [array for array in arrays(arguments) if array.flags.writeable and not array.dtype.hasobject]
    return [bytes_of(stretch, changing) for stretch in Stretches(changing).all]


def whole(given: npt.NDArray[np.uint8], array: np.ndarray) -> npt.NDArray[np.uint8]:
    """A copy of the memory of an array; of one that is absent what it would hold."""
    return array.part(bounds(given)) if isinstance(array, Absent) else given.copy()


def copied(
    arguments: Iterable[object],
    memory: Callable[[npt.NDArray[np.uint8], np.ndarray], npt.NDArray[np.uint8]] = whole,
) -> list[object]:
    """The same arguments over memory of their own, laid out alike; `memory` makes that of each stretch, by its bytes
    and an array there."""
    given = list(arguments)
    known = Stretches(given)
    copies: dict[Stretch, np.ndarray] = {}

    def one(value: object) -> object:
        if isinstance(value, tuple | list):
            return type(value)(map(one, value)) if type(value) in (tuple, list) else copy.deepcopy(value)
        if isinstance(value, Struct):
            return value.holding(map(one, value))
        if isinstance(value, MappedArray):
            return value.over(array(value.array))
        if not isinstance(value, np.ndarray) or value.dtype.hasobject:
            return copy.deepcopy(value)
        return array(value)

    def array(value: np.ndarray) -> np.ndarray:
        stretch = known.of(value)
        if stretch not in copies:
            copies[stretch] = memory(bytes_of(stretch, given), value)
        start = value.ctypes.data - stretch[0]
        same = np.ndarray(value.shape, value.dtype, copies[stretch].data, start, value.strides)
        same.flags.writeable = value.flags.writeable
        return same

    return [one(value) for value in given]
