"""Which threads take part: blocks, warps, lanes, iterations; and the names by which expressions know them."""

import operator
from collections.abc import Iterable, Sequence
from itertools import islice
from math import prod
from typing import NamedTuple, SupportsIndex, TypeVar

import numpy as np
import numpy.typing as npt

from banksim.errors import InputError
from banksim.patterns.integers import Numbers, Value, number
from banksim.requests.kinds import LANES

BLOCK_LIMITS = (1024, 1024, 64)
GRID_LIMITS = (2**31 - 1, 65535, 65535)
THREAD_LIMIT = 1024
MOST_REQUESTS = 1 << 20
"""The most requests of one pattern: 128 MiB of addresses."""

AXES = ("x", "y", "z")
Linear = TypeVar("Linear", int, Numbers)


class Loop(NamedTuple):
    """A loop variable and the values that it takes in turn."""

    name: str
    values: npt.NDArray[np.integer]


class Threads(NamedTuple):
    """The threads of a launch. A *point* is one iteration of one block; iterations run fastest.

    Arrays over threads are padded to whole warps: threads from `prod(block)` on do not exist.
    """

    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    loops: tuple[Loop, ...]

    @property
    def warps(self) -> int:
        """Warps of a block, a partial last one included."""
        return -(-prod(self.block) // LANES)

    @property
    def iterations(self) -> int:
        """Iterations of all loops together."""
        return prod(len(loop.values) for loop in self.loops)

    @property
    def points(self) -> int:
        """Iterations of all blocks."""
        return prod(self.grid) * self.iterations

    def exist(self) -> npt.NDArray[np.bool_]:
        """Shape (1, threads): which threads of the padded block exist."""
        return np.arange(self.warps * LANES)[np.newaxis] < prod(self.block)

    def names(self, first: int, last: int) -> dict[str, Value]:
        """Values of the built-in names and loop variables at points `first` to `last` (not included).

        All built-in names are unsigned int, as in CUDA C++, but warpSize, an int.
        """
        thread = np.arange(self.warps * LANES)[np.newaxis]
        block, iteration = np.divmod(np.arange(first, last)[:, np.newaxis], self.iterations)
        if prod(self.grid) == 1:
            block = np.zeros((1, 1), np.int64)
        found = {
            "tid": unsigned(thread),
            "lane": unsigned(thread % LANES),
            "warp": unsigned(thread // LANES),
            "warpSize": number(LANES, "i4"),
        }
        for axis, letter in enumerate(AXES):
            found[f"threadIdx.{letter}"] = found[f"t{letter}"] = unsigned(along(thread, self.block, axis))
            found[f"blockIdx.{letter}"] = found[f"b{letter}"] = unsigned(along(block, self.grid, axis))
            found[f"blockDim.{letter}"] = number(self.block[axis], "u4")
            found[f"gridDim.{letter}"] = number(self.grid[axis], "u4")
        first_thread = found["blockIdx.x"].numbers.astype(np.int64) * self.block[0]
        found["grid(1)"] = Value(first_thread + found["threadIdx.x"].numbers)
        found["laneid"], found["warpsize"] = found["lane"], found["warpSize"]  # as Numba names them
        for loop in reversed(self.loops):
            iteration, index = np.divmod(iteration, len(loop.values))
            found[loop.name] = Value(loop.values[index])
        return found

    def describe(self, point: int, thread: int) -> str:
        """`thread (3, 0, 0), lane 3 of warp 0`, with block and loop variables where there are several."""
        position = ", ".join(str(along(thread, self.block, axis)) for axis in range(3))
        text = f"thread ({position}), lane {thread % LANES} of warp {thread // LANES}"
        block, iteration = divmod(point, self.iterations)
        if prod(self.grid) > 1:
            text += f", block ({', '.join(str(along(block, self.grid, axis)) for axis in range(3))})"
        values = []
        for loop in reversed(self.loops):
            iteration, index = divmod(iteration, len(loop.values))
            values.append(f", {loop.name} = {loop.values[index]}")
        return text + "".join(reversed(values))


def unsigned(numbers: Numbers) -> Value:
    """The numbers as unsigned int."""
    return Value(numbers.astype(np.uint32))


def along(linear: Linear, sizes: tuple[int, int, int], axis: int) -> Linear:
    """The coordinate along `axis` of a linear index, x running fastest."""
    return linear // prod(sizes[:axis]) % sizes[axis]


def sizes(value: int | Sequence[int], what: str, limits: tuple[int, int, int]) -> tuple[int, int, int]:
    """One to three sizes as three, checked against CUDA's limits."""
    try:
        given = [*map(operator.index, value if isinstance(value, Iterable) else [value])]
    except TypeError:
        raise InputError(f"{what} {value!r}: give one to three whole numbers") from None
    if not 1 <= len(given) <= 3:
        raise InputError(f"{what} has {len(given)} sizes: give one to three")
    x, y, z = [*given, 1, 1][:3]
    for letter, size, limit in zip(AXES, (x, y, z), limits, strict=True):
        if not 1 <= size <= limit:
            raise InputError(f"{what}.{letter} is {size}: CUDA takes 1 to {limit}")
    return x, y, z


def block_sizes(value: int | Sequence[int]) -> tuple[int, int, int]:
    """The block's three sizes."""
    block = sizes(value, "block", BLOCK_LIMITS)
    if prod(block) > THREAD_LIMIT:
        shape = " x ".join(map(str, block))
        raise InputError(f"a block of {shape} = {prod(block)} threads: CUDA takes at most {THREAD_LIMIT}")
    return block


def grid_sizes(value: int | Sequence[int]) -> tuple[int, int, int]:
    """The grid's three sizes."""
    return sizes(value, "grid", GRID_LIMITS)


def loop_values(name: str, values: Iterable[SupportsIndex]) -> Loop:
    """A loop over explicit values: int if they all fit, else long long."""
    try:
        taken = [operator.index(value) for value in islice(values, MOST_REQUESTS + 1)]
        array = np.array(taken, np.int64)
    except (TypeError, OverflowError):
        raise InputError(f"loop {name}: give whole numbers of 64 bits, such as range(32)") from None
    if not 1 <= len(taken) <= MOST_REQUESTS:
        count = "no value" if not taken else f"more than {MOST_REQUESTS} values"
        raise InputError(f"loop {name} has {count}: give between 1 and {MOST_REQUESTS}")
    fits = min(taken) >= -(2**31) and max(taken) < 2**31
    return Loop(name, array.astype(np.int32) if fits else array)


def check_requests(threads: Threads, accesses: int) -> None:
    """Raise `InputError` when the pattern makes more requests than fit."""
    requests = threads.points * threads.warps * max(accesses, 1)
    if requests > MOST_REQUESTS:
        raise InputError(
            f"{prod(threads.grid)} blocks x {threads.iterations} iterations x {threads.warps} warps x "
            f"{max(accesses, 1)} accesses are {requests} requests; the limit is {MOST_REQUESTS}: "
            "give a smaller grid or fewer iterations"
        )
