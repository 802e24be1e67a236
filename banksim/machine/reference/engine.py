"""The engine that computes operations with NumPy: a value is an array of 32 lanes, or a scalar for the whole warp.

This is the arithmetic of the reference; `warp.py`, `block.py` and `memory.py` are the machine around it.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Instruction, Operand
from banksim.machine.engine import Engine, Routine, Table, Value
from banksim.machine.operations.rounding import round_to_odd, two_sum
from banksim.requests.kinds import LANES

Lanes = np.ndarray
LANE = np.arange(LANES, dtype=np.uint32)
UNSIGNED: Mapping[int, type[np.generic]] = {1: np.uint32, 4: np.uint32, 8: np.uint64}
SIGNED: Mapping[int, type[np.generic]] = {4: np.int32, 8: np.int64}
FLOAT: Mapping[int, type[np.generic]] = {4: np.float32, 8: np.float64}
ROUND: dict[str, np.ufunc] = {
    "nearest": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
}  # fmt: skip


@lru_cache(maxsize=1 << 12)
def lanes_of(mask: int) -> npt.NDArray[np.bool_]:
    """A mask as 32 booleans, lane 0 first; not to be written to."""
    lanes = (np.uint32(mask) >> LANE & 1).astype(bool)
    lanes.flags.writeable = False
    return lanes


def spread(v: Value) -> Value:
    """A value as 32 lanes."""
    return v if np.shape(v) == (LANES,) else np.broadcast_to(v, LANES)  # which takes longer than most operations


def mask_of(lanes: Lanes) -> int:
    return int.from_bytes(np.packbits(lanes, bitorder="little").tobytes(), "little")


def view(v: Value, kinds: Mapping[int, type[np.generic]]) -> Value:
    """The same bits as another kind of number."""
    v = np.asarray(v)
    return v.view(kinds[v.itemsize])


class NumpyEngine(Engine):
    """Registers of one warp and arithmetic on them. `executing` are the lanes that run the instruction."""

    def __init__(self) -> None:
        self.files: dict[str, Lanes] = {
            "R": np.zeros((256, LANES), np.uint32),
            "UR": np.zeros((256, 1), np.uint32),
            "P": np.zeros((8, LANES), bool),
            "UP": np.zeros((8, 1), bool),
        }
        self.files["P"][7] = self.files["UP"][7] = True
        self.executing: npt.NDArray[np.bool_] = np.zeros(LANES, bool)

    # ---- registers
    def raw(self, o: Operand, word: int = 0) -> Value:
        if o.kind in ("R", "UR"):
            if o.is_zero:
                return np.zeros(LANES, np.uint32) if o.kind == "R" else np.uint32(0)
            self.check_register(o.kind, o.number + word)
            v = self.files[o.kind][o.number + word]
            return v.copy() if o.kind == "R" else v[0]
        if o.kind in ("imm", "float", "code"):
            return np.uint32(0 if word else o.number)
        if o.kind == "const":
            return self.constant(o, self.address(o, False) + 4 * word)
        raise UnsupportedError(f"operand {o.text!r}")

    @abstractmethod
    def constant(self, o: Operand, address: Value) -> Value:
        """The u32 at an address of constant bank `o.number`."""

    def read_predicate(self, kind: str, number: int) -> Value:
        v = self.files[kind][number]
        return v.copy() if kind == "P" else v[0]

    def write(self, o: Operand, v: Value, word: int = 0) -> None:
        if not o.is_zero:
            self.assign(o.kind, o.number + word, view(v, UNSIGNED))

    def write_predicate(self, o: Operand, v: Value) -> None:
        if not o.is_zero:
            self.assign(o.kind, o.number, v)

    def assign(self, file: str, number: int, v: Value) -> None:
        self.check_register(file, number)
        if file in ("R", "P"):
            np.copyto(self.files[file][number], v, casting="unsafe", where=self.executing)
        elif self.executing.any():
            self.files[file][number] = self.first(v)

    # ---- kinds and conversions
    def const(self, c: int | float, bits: int = 32) -> Value:
        return (FLOAT if isinstance(c, float) else UNSIGNED)[bits // 8](c)

    def zext(self, v: Value) -> Value:
        v = np.asarray(v)
        return (v if v.dtype == bool else v.view(np.uint32)).astype(np.uint64)

    def sext(self, v: Value) -> Value:
        return np.asarray(v).view(np.int32).astype(np.int64)

    def low(self, v: Value) -> Value:
        return np.asarray(v).view(np.uint64).astype(np.uint32)

    def number(self, v: Value) -> Value:
        return np.asarray(v).astype(np.uint32)

    def signed(self, v: Value) -> Value:
        return view(v, SIGNED)

    def unsigned(self, v: Value) -> Value:
        return view(v, UNSIGNED)

    def bits(self, v: Value) -> Value:
        return view(v, UNSIGNED)

    def as_float(self, v: Value) -> Value:
        return view(v, FLOAT)

    def to_f32(self, v: Value) -> Value:
        return np.asarray(v).astype(np.float32)

    def to_f64(self, v: Value) -> Value:
        return np.asarray(v).astype(np.float64)

    def to_integer(self, v: Value, bits: int, signed: bool) -> Value:
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        kind = (SIGNED if signed else UNSIGNED)[bits // 8]
        v = np.asarray(v, np.float64)
        inside = (v > low) & (v < high)  # for 64 bits `high` is taken as the next power of two
        exact = np.where(inside, v, 0).astype(kind)
        return np.where(v <= low, kind(low), np.where(v >= high, kind(high), exact))

    # ---- arithmetic
    def where(self, condition: Value, a: Value, b: Value) -> Value:
        return np.where(condition, a, b)

    def absolute(self, v: Value) -> Value:
        return np.abs(v)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        a, b, c = np.broadcast_arrays(a, b, c)
        if a.dtype == np.float64:
            return np.vectorize(fused, otypes=[np.float64])(a, b, c)
        s, error = two_sum(self.to_f64(a) * self.to_f64(b), self.to_f64(c))
        return self.to_f32(round_to_odd(self, s, error))

    def divide(self, a: Value, b: Value) -> Value:
        return np.divide(a, b)

    def round(self, v: Value, mode: str) -> Value:
        return ROUND[mode](v)

    def popcount(self, v: Value) -> Value:
        return np.asarray(np.bitwise_count(v)).astype(np.uint32)

    def leading_zeros(self, v: Value) -> Value:
        _, length = np.frexp(np.asarray(v).astype(np.float64))
        return (32 - length).astype(np.uint32)

    # ---- the warp
    def lane(self) -> Value:
        return LANE

    def active(self) -> Value:
        return np.uint32(mask_of(self.executing))

    def ballot(self, v: Value) -> Value:
        return np.uint32(mask_of(self.executing & v))

    def first(self, v: Value) -> Value:
        return spread(v)[int(np.argmax(self.executing))]

    def shuffle(self, v: Value, source: Value) -> Value:
        return spread(v)[spread(source)]

    def permute(self, v: Value, source: Sequence[int]) -> Value:
        return spread(v)[list(source)]

    def apart(self, name: str, function: Routine, values: Sequence[Value]) -> tuple[Value, ...]:
        return function(self, *values)

    def lanewise(self, name: str, function: Callable[..., Value], values: Sequence[Value]) -> Value:
        return function(self, *values)

    def tabulated(
        self, name: str, function: Callable[[Engine, Value, Table], Value], v: Value, columns: Sequence[Sequence[int]]
    ) -> Value:
        return function(self, v, lambda column, row: np.array(columns[column], np.uint32)[row])

    def read_apart(
        self, i: Instruction, name: str, function: Routine, values: Sequence[Value], lanes: Value | None = None
    ) -> tuple[Value, ...]:
        before = self.executing
        if lanes is not None:
            self.executing = before & lanes
        made = function(self, *values)
        self.executing = before
        return made


def fused(a: float, b: float, c: float) -> float:
    """a · b + c rounded once, by exact arithmetic."""
    if not (np.isfinite(a) and np.isfinite(b)) or a == 0 or b == 0:
        return float(np.float64(a) * b + c)
    if not np.isfinite(c):
        return float(c)
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")
