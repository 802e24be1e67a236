"""Atomic additions of floats, as memory computes them."""

from banksim.errors import UnsupportedError
from banksim.machine.engine import Engine, Value
from banksim.machine.operations.half import BFLOAT16, FLOAT16, from_half, to_half
from banksim.machine.operations.rounding import flushed
from banksim.machine.operations.table import NAN64, float_bits

FLOATS = ("f32", "f32_ftz", "f64", "f16x2", "bf16x2")
"""Kinds of numbers whose sums `added` knows; of f32_ftz, denormals are zeros."""


def added(x: Engine, kind: str, old: Value, v: Value) -> Value:
    """Bits of the sum of two numbers (or of two pairs of halves), given as bits."""
    if kind in ("f16x2", "bf16x2"):
        form = FLOAT16 if kind == "f16x2" else BFLOAT16
        lower, upper = (
            to_half(x, x.to_f64(from_half(x, a, form)) + x.to_f64(from_half(x, b, form)), form)
            for a, b in ((old & 0xFFFF, v & 0xFFFF), (old >> 16, v >> 16))
        )
        return upper << 16 | lower
    a, b = x.as_float(old), x.as_float(v)
    if kind == "f64":
        s = a + b
        return x.where(s == s, x.bits(s), x.const(NAN64, 64))
    if kind == "f32_ftz":
        return float_bits(x, flushed(x, flushed(x, a) + flushed(x, b)))
    return float_bits(x, a + b)


def check_float(kind: str, function: str) -> None:
    """UnsupportedError for an operation on floats that the GPU's memory has, but not this simulator."""
    if kind in FLOATS and function not in ("add", "exch"):
        raise UnsupportedError(f"an atomic {function} on {kind}")
