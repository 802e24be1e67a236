"""MUFU: the special functions that the GPU approximates by tables."""

from __future__ import annotations

from banksim.kernels.kernel import Instruction
from banksim.machine.engine import Engine, Value
from banksim.machine.operations import half
from banksim.machine.operations.rounding import flushed
from banksim.machine.operations.table import NAN32, float_bits, operation, which, write_float


def turned(x: Engine, v: Value) -> Value:
    """Radians of an angle in turns."""
    return (v - x.round(v, "nearest")) * 6.283185307179586


FUNCTIONS = ("RCP64H", "RSQ64H", "RCP", "RSQ", "SQRT", "EX2", "LG2", "SIN", "COS", "TANH")


@operation("MUFU", f"{' '.join(FUNCTIONS)} F16 BF16", marks="H1")
def mufu(x: Engine, i: Instruction) -> None:
    """Approximations; here the nearest number, from which the GPU's tables differ by a few of the last bits.

    SIN and COS take turns, not radians. RCP64H and RSQ64H: from upper word to upper word of doubles.
    """
    to, source = i.operands
    name = which(i, FUNCTIONS)
    if name in ("RCP64H", "RSQ64H"):
        _upper_word(x, i)
    elif i.modifiers & {"F16", "BF16"}:
        v = function(x, name, x.to_f64(half.lower_half(x, i, source)))
        x.write(to, half.to_half(x, v, half.format_of(i)))
    elif name == "TANH":
        write_float(x, to, x.to_f32(function(x, name, x.to_f64(x.float32(source)))))
    else:
        v = function(x, name, x.to_f64(flushed(x, x.float32(source))))
        x.write(to, float_bits(x, flushed(x, x.to_f32(v))))


def function(x: Engine, name: str, v: Value) -> Value:
    """f64 → f64."""
    match name:
        case "RCP":
            return x.divide(x.const(1.0, 64), v)
        case "RSQ":
            return x.divide(x.const(1.0, 64), x.math("sqrt", v))
        case "SIN" | "COS":
            return x.math(name.lower(), turned(x, v))
    return x.math({"SQRT": "sqrt", "EX2": "exp2", "LG2": "log2", "TANH": "tanh"}[name], v)


def _upper_word(x: Engine, i: Instruction) -> None:
    """RCP64H, RSQ64H: a double's upper word to that of its reciprocal (root), denormals taken for zeros."""
    to, source = i.operands
    word = x.value(source)
    d = x.as_float(x.zext(x.where((word & 0x7FF00000) == 0, word & 0x80000000, word)) << 32)
    negative_zero = x.bits(d) == 1 << 63
    root = d if "RCP64H" in i.modifiers else x.math("sqrt", d)
    result = x.divide(x.const(1.0, 64), root)
    word = x.high(x.bits(result))
    word = x.where((word & 0x7FF00000) == 0, word & 0x80000000, word)
    word = x.where(negative_zero, x.const(0xFFF00000), word)
    x.write(to, x.where(result == result, word, x.const(NAN32)))
