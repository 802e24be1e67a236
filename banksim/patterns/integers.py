"""C's integer arithmetic on arrays: promotion, conversion, wrap, truncation; and Python's, as Numba has it.

An array has one element for each thread of each iteration, and axes of length 1 where it does not depend on
them. Its NumPy type is its C type. What C leaves undefined (division by zero, a shift by too much) is no
error until a thread uses it: it is a *fault*, a number that travels beside the value.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = np.ndarray
"""Integers of some type, of shape (points, threads), either of which may be 1."""

SUMS = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or,
    "^": np.bitwise_xor,
}  # fmt: skip
COMPARISONS = {
    "==": np.equal, "!=": np.not_equal, "<": np.less, ">": np.greater, "<=": np.less_equal,
    ">=": np.greater_equal,
}  # fmt: skip


class Value(NamedTuple):
    """Integers, and where they are undefined: the number of the fault, 0 for none (None: nowhere)."""

    numbers: Numbers
    fault: Numbers | None = None


def number(value: int, type_: str) -> Value:
    """A constant."""
    return Value(np.full((1, 1), value, type_))


def worse(first: Numbers | None, second: Numbers | None) -> Numbers | None:
    """The faults of a result that needs both: the first one's where it has one."""
    if first is None or second is None:
        return second if first is None else first
    return np.where(first != 0, first, second)


def mark(bad: npt.NDArray[np.bool_], fault: int) -> Numbers | None:
    """The fault where `bad`."""
    return np.where(bad, fault, 0) if bad.any() else None


def promote(numbers: Numbers) -> Numbers:
    """C's integer promotion: everything narrower than int becomes int."""
    return numbers.astype(np.int32) if numbers.dtype.itemsize < 4 else numbers


def common(left: Numbers, right: Numbers) -> tuple[Numbers, Numbers]:
    """C's usual arithmetic conversions: the wider type wins, among equals the unsigned one."""
    left, right = promote(left), promote(right)
    if left.dtype == right.dtype:
        return left, right
    size = max(left.dtype.itemsize, right.dtype.itemsize)
    unsigned = any(side.dtype.itemsize == size and side.dtype.kind == "u" for side in (left, right))
    type_ = np.dtype(f"{'u' if unsigned else 'i'}{size}")
    return left.astype(type_, copy=False), right.astype(type_, copy=False)


def widen(numbers: Numbers) -> Numbers:
    """What Numba computes with: 64 bits, signed."""
    return numbers.astype(np.int64, copy=False)


def binary(sign: str, left: Value, right: Value, python: bool, fault: int) -> Value:
    """`left sign right` for every operator but `&&` and `||`; `fault` marks what is undefined."""
    if sign in ("<<", ">>"):
        return shift(sign, left, right, python, fault)
    undefined = worse(left.fault, right.fault)
    if python:
        a, b = widen(left.numbers), widen(right.numbers)
    else:
        a, b = common(left.numbers, right.numbers)
    if sign in COMPARISONS:
        return Value(COMPARISONS[sign](a, b).astype(np.int32), undefined)
    if sign in SUMS:
        return Value(SUMS[sign](a, b), undefined)
    zero = b == 0
    b = np.where(zero, b.dtype.type(1), b)
    with np.errstate(over="ignore"):  # the most negative number by -1 wraps
        if python:
            result = np.remainder(a, b) if sign == "%" else np.floor_divide(a, b)
        else:
            rest = np.fmod(a, b)
            result = rest if sign == "%" else np.floor_divide(a - rest, b)
    return Value(result, worse(undefined, mark(zero, fault)))


def shift(sign: str, left: Value, right: Value, python: bool, fault: int) -> Value:
    """`<<` and `>>` in the promoted left type; a count that is negative or too large is undefined."""
    a = widen(left.numbers) if python else promote(left.numbers)
    count = right.numbers
    bits = 8 * a.dtype.itemsize
    bad = (count < 0) | (count >= bits)
    count = np.where(bad, 0, count).astype(a.dtype)
    result = np.left_shift(a, count) if sign == "<<" else np.right_shift(a, count)
    return Value(result, worse(worse(left.fault, right.fault), mark(bad, fault)))


def unary(sign: str, operand: Value, python: bool) -> Value:
    """`-`, `+`, `~` and `!`."""
    a = widen(operand.numbers) if python else promote(operand.numbers)
    if sign == "!":
        return Value((a == 0).astype(np.int32), operand.fault)
    if sign == "+":
        return Value(a, operand.fault)
    return Value(np.negative(a) if sign == "-" else np.invert(a), operand.fault)


def logical(sign: str, left: Value, right: Value, python: bool) -> Value:
    """`&&` and `||`: the right side counts only where the left one leaves the answer open.

    The answer is 0 or 1 in C, and one of the sides in Python.
    """
    true = left.numbers != 0
    opened = true if sign == "&&" else ~true
    fault = right.fault if right.fault is None else np.where(opened, right.fault, 0)
    if python:
        result = np.where(opened, widen(right.numbers), widen(left.numbers))
    else:
        result = np.where(opened, right.numbers != 0, true).astype(np.int32)
    return Value(result, worse(left.fault, fault))


def choose(condition: Value, yes: Value, no: Value, python: bool) -> Value:
    """`condition ? yes : no`: each side counts only where it is chosen."""
    true = condition.numbers != 0
    if python:
        a, b = widen(yes.numbers), widen(no.numbers)
    else:
        a, b = common(yes.numbers, no.numbers)
    fault: Numbers | None = None
    if yes.fault is not None or no.fault is not None:
        fault = np.where(true, 0 if yes.fault is None else yes.fault, 0 if no.fault is None else no.fault)
    return Value(np.where(true, a, b), worse(condition.fault, fault))


def extremes(name: str, sides: list[Value], python: bool) -> Value:
    """`min` and `max` of any number of values, in their common type."""
    result = sides[0]
    for side in sides[1:]:
        if python:
            a, b = widen(result.numbers), widen(side.numbers)
        else:
            a, b = common(result.numbers, side.numbers)
        chosen = np.minimum(a, b) if name == "min" else np.maximum(a, b)
        result = Value(chosen, worse(result.fault, side.fault))
    return result


def convert(value: Value, type_: str) -> Value:
    """The value converted to an integer type: by wrapping, to bool by comparing with 0."""
    if type_ == "?":
        return Value(value.numbers != 0, value.fault)
    return Value(value.numbers.astype(type_), value.fault)
