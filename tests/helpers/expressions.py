"""Random expressions over integers and floats: as CUDA C++, and as NumPy says that they must come out.

A row of `ROWS` is one operation: what it takes and gives, how it is written in CUDA C++, and what it computes.
`expression(type)` is a Hypothesis strategy of trees of rows over operands that hold every edge case.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

TYPES = {
    "u32": ("unsigned", np.uint32), "s32": ("int", np.int32),
    "u64": ("unsigned long long", np.uint64), "s64": ("long long", np.int64),
    "f32": ("float", np.float32), "f64": ("double", np.float64),
}  # fmt: skip
OPERANDS = ("a", "b", "c")
COMPARISONS: tuple[tuple[str, str, Callable[[Any, Any], Any]], ...] = (
    ("lt", "<", operator.lt), ("le", "<=", operator.le), ("gt", ">", operator.gt), ("ge", ">=", operator.ge),
    ("eq", "==", operator.eq), ("ne", "!=", operator.ne),
)  # fmt: skip
COUNT = 256
"""Threads, each with operands of its own."""


@dataclass(frozen=True)
class Row:
    name: str
    takes: tuple[str, ...]
    gives: str
    text: str
    compute: Callable[..., Any]


@dataclass(frozen=True, repr=False)
class Tree:
    """An operation on trees, or an operand: `row` None and its name and type in `leaf`."""

    row: Row | None
    parts: tuple[Tree, ...] = ()
    leaf: tuple[str, str] = ("", "")

    @property
    def text(self) -> str:
        """The expression in CUDA C++."""
        if self.row is None:
            name, kind = self.leaf
            return f"{name}_{kind}"
        return self.row.text.format(*(part.text for part in self.parts))

    def __repr__(self) -> str:
        return self.text

    def compute(self, values: dict[tuple[str, str], Any]) -> Any:
        if self.row is None:
            return values[self.leaf]
        return self.row.compute(*(part.compute(values) for part in self.parts))


ROWS: list[Row] = []


def row(name: str, takes: str, gives: str, text: str, compute: Callable[..., Any]) -> None:
    """`text` has {0}, {1} … for the operands; `compute` gives something that its type holds. The type is written out,
    for CUDA's bit counts are signed, and an overloaded function would not know what it takes."""
    type_name, kind = TYPES[gives]
    text = f"(({type_name})({text}))"
    ROWS.append(Row(name, tuple(takes.split()), gives, text, lambda *v: np.asarray(compute(*v)).astype(kind)))


def bit_reverse(v: Any) -> Any:
    bits = 8 * v.dtype.itemsize
    unsigned = v.view(f"u{v.dtype.itemsize}")
    result = np.zeros_like(unsigned)
    for k in range(bits):
        result |= (unsigned >> k & 1) << (bits - 1 - k)
    return result


def bit_length(v: Any) -> Any:
    return np.array([int(n).bit_length() for n in v.view(f"u{v.dtype.itemsize}")])


def find_first(v: Any) -> Any:
    return np.array([(int(n) & -int(n)).bit_length() for n in v])


def funnel(low: Any, high: Any, shift: Any, left: bool) -> Any:
    both = high.astype(np.uint64) << np.uint64(32) | low
    shift = shift.astype(np.uint64)
    return (both << shift >> np.uint64(32) if left else both >> shift).astype(np.uint32)


def permute(a: Any, b: Any, selector: Any) -> Any:
    both = b.astype(np.uint64) << np.uint64(32) | a
    result = np.zeros(a.shape, np.uint64)
    for k in range(4):
        byte = both >> ((selector >> 4 * k & 7) * 8).astype(np.uint64) & np.uint64(0xFF)
        result |= byte << np.uint64(8 * k)
    return result


def high_product(a: Any, b: Any) -> Any:
    bits = 8 * a.dtype.itemsize
    products = [int(p) * int(q) >> bits for p, q in zip(a, b, strict=True)]
    return np.array([p % (1 << bits) for p in products], f"u{bits // 8}")


def quotient(a: Any, b: Any) -> Any:
    """C's quotient, toward zero; a divisor of 0 counts as 1."""
    wrap = 1 << 8 * a.dtype.itemsize
    pairs = [(int(p), int(q) or 1) for p, q in zip(a, b, strict=True)]
    exact = [abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1) for p, q in pairs]
    return np.array([n % wrap for n in exact], f"u{a.dtype.itemsize}").view(a.dtype)


def remainder(a: Any, b: Any) -> Any:
    return a - quotient(a, b) * np.where(b == 0, np.ones_like(b), b)


def shift(v: Any, count: Any, left: bool) -> Any:
    """PTX's: counts beyond the width clear everything, or leave the sign."""
    bits = 8 * v.dtype.itemsize
    count = np.minimum(count, np.uint32(200)).astype(object)
    moved = v.astype(object) << count if left else v.astype(object) >> count
    return np.array([int(n) % (1 << bits) for n in moved], f"u{bits // 8}").view(v.dtype)


def bit_field(v: Any, position: Any, length: Any) -> Any:
    """PTX's bfe: bits beyond the end are copies of the sign."""
    bits = 8 * v.dtype.itemsize
    result = []
    for n, p, count in zip(v.tolist(), (position & 0xFF).tolist(), (length & 0xFF).tolist(), strict=True):
        signed = v.dtype.kind == "i" and count > 0
        last = min(p + count - 1, bits - 1)
        sign = signed and n >> last & 1
        field = (n >> p) & ((1 << max(min(count, bits - p), 0)) - 1) if p < bits else 0
        filled = max(min(count, bits - p), 0)
        result.append((field | (-1 << filled if sign else 0)) % (1 << bits))
    return np.array(result, f"u{bits // 8}").view(v.dtype)


def fused(a: Any, b: Any, c: Any) -> Any:
    """a · b + c rounded once."""
    out = np.where(np.isfinite(a) & np.isfinite(b) & ~np.isfinite(c), c, a * b + c)
    for n, (x, y, z) in enumerate(zip(a, b, c, strict=True)):
        if np.isfinite([x, y, z]).all() and x and y:
            out[n] = rounded(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)), out.dtype)
    return out


def rounded(exact: Fraction, dtype: Any) -> Any:
    """The float nearest to a rational, ties to even, overflow to infinity; 0 is +0."""
    if not exact:
        return dtype.type(0)
    info = np.finfo(dtype)
    sign, exact = (-1, -exact) if exact < 0 else (1, exact)
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    exponent += (exact >= Fraction(2) ** (exponent + 1)) - (exact < Fraction(2) ** exponent)
    unit = Fraction(2) ** (max(exponent, int(info.minexp)) - int(info.nmant))
    whole = round(exact / unit)
    value = whole * unit
    return dtype.type(sign * np.inf if value > Fraction(float(info.max)) else sign * float(value))


def smaller(a: Any, b: Any) -> Any:
    """fmin: a NaN only where both are, −0 below +0."""
    less = (a < b) | ((a == b) & np.signbit(a)) | np.isnan(b)
    return np.where(less, a, b)


def larger(a: Any, b: Any) -> Any:
    return -smaller(-a, -b)


def to_integer(v: Any, how: Callable[[Any], Any], dtype: Any, nan: int) -> Any:
    """A float rounded and clamped to an integer type."""
    info = np.iinfo(dtype)
    whole = [nan if np.isnan(f) else f for f in how(v).astype(np.float64)]
    ends = [int(f) if np.isfinite(f) else info.max if f > 0 else info.min for f in whole]
    return np.array([max(info.min, min(info.max, n)) for n in ends], dtype)


def saturate(v: Any) -> Any:
    return np.where(np.isnan(v) | (v <= 0), np.zeros_like(v), np.minimum(v, 1))


def to_float(v: Any, dtype: Any) -> Any:
    return np.array([rounded(Fraction(int(n)), np.dtype(dtype)) for n in v], dtype)


def integer_rows() -> None:
    for bits in ("32", "64"):
        size = int(bits) // 8
        long = {"32": "", "64": "ll"}[bits]
        for sign in "us":
            t = sign + bits
            for name, symbol, compute in (
                ("add", "+", operator.add), ("subtract", "-", operator.sub), ("multiply", "*", operator.mul),
                ("and", "&", operator.and_), ("or", "|", operator.or_), ("xor", "^", operator.xor),
            ):  # fmt: skip
                # signed overflow is undefined in C++: compute unsigned
                c = TYPES["u" + bits][0]
                row(name, f"{t} {t}", t, f"{TYPES[t][0]})(({c}){{0}} {symbol} ({c}){{1}}", compute)
            for name, symbol, compare in COMPARISONS:
                row(name, f"{t} {t} {t} {t}", t, f"{{0}} {symbol} {{1}} ? {{2}} : {{3}}",
                    lambda a, b, c, d, compare=compare: np.where(compare(a, b), c, d))  # fmt: skip
            row("min", f"{t} {t}", t, "min({0}, {1})", np.minimum)
            row("max", f"{t} {t}", t, "max({0}, {1})", np.maximum)
            row("not", t, t, "~{0}", operator.invert)
            row("divide", f"{t} {t}", t, "divide({0}, {1})", quotient)
            row("remainder", f"{t} {t}", t, "remain({0}, {1})", remainder)
            for n in (3, 7, 10, 641):
                kind = TYPES[t][1]
                row(f"by{n}", t, t, f"{{0}} / {n}", lambda a, n=n, kind=kind: quotient(a, np.full_like(a, kind(n))))
                row(f"mod{n}", t, t, f"{{0}} % {n}", lambda a, n=n, kind=kind: remainder(a, np.full_like(a, kind(n))))
            row("shr", f"{t} u32", t, "shift_right({0}, {1})", lambda a, s: shift(a, s, False))
            row("shl", f"{t} u32", t, "shift_left({0}, {1})", lambda a, s: shift(a, s, True))
            for n in (1, 5, 8, 16, 31, int(bits) - 1):
                row(f"shr{n}", t, t, f"{{0}} >> {n}", lambda a, n=n: a >> a.dtype.type(n))
                row(f"shl{n}", t, t, f"{TYPES[t][0]})((unsigned {'long long' if long else 'int'}){{0}} << {n}",
                    lambda a, n=n: a << a.dtype.type(n))  # fmt: skip
            row("high", f"{t} {t}", t, f"{'u' if sign == 'u' else ''}mulhi({{0}}, {{1}})".replace("umulhi", "mulhi"),
                lambda a, b: high_product(a, b).view(a.dtype))  # fmt: skip
            row("field", f"{t} u32 u32", t, "field({0}, {1} & 255, {2} & 255)", bit_field)
            other = ("s" if sign == "u" else "u") + bits
            row("view", other, t, f"({TYPES[t][0]}){{0}}", lambda a, t=t: a.view(TYPES[t][1]))
        u = "u" + bits
        row("popc", u, "u32", f"__popc{long}({{0}})", np.bitwise_count)
        row("clz", u, "u32", f"__clz{long}({{0}})", lambda a, size=size: 8 * size - bit_length(a))
        row("ffs", u, "u32", f"__ffs{long}({{0}})", find_first)
        row("brev", u, u, f"__brev{long}({{0}})", bit_reverse)
    row("abs", "s32", "s32", "abs({0})", np.abs)
    row("absll", "s64", "s64", "llabs({0})", np.abs)
    row("multiply-add", "u32 u32 u32", "u32", "{0} * {1} + {2}", lambda a, b, c: a * b + c)
    row("wide", "u32 u32 u64", "u64", "(unsigned long long){0} * {1} + {2}",
        lambda a, b, c: a.astype(np.uint64) * b.astype(np.uint64) + c)  # fmt: skip
    row("swide", "s32 s32", "s64", "(long long){0} * {1}", lambda a, b: a.astype(np.int64) * b.astype(np.int64))
    row("three", "u32 u32 u32", "u32", "{0} + {1} - {2}", lambda a, b, c: a + b - c)
    row("choose", "u32 u32 u32", "u32", "({0} & {1}) | (~{0} & {2})", lambda a, b, c: (a & b) | (~a & c))
    row("major", "u32 u32 u32", "u32", "({0} & {1}) | ({0} & {2}) | ({1} & {2})",
        lambda a, b, c: (a & b) | (a & c) | (b & c))  # fmt: skip
    row("any bit", "u32 u32 u32 u32", "u32", "({0} & {1]) ? {2} : {3}".replace("]", "}"),
        lambda a, b, c, d: np.where(a & b, c, d))  # fmt: skip
    row("permute", "u32 u32 u32", "u32", "__byte_perm({0}, {1}, {2})", permute)
    for selector in (0x0123, 0x5410, 0x7632, 0x4567, 0x1111, 0x6420):
        row(f"permute{selector:x}", "u32 u32", "u32", f"__byte_perm({{0}}, {{1}}, {selector})",
            lambda a, b, s=selector: permute(a, b, np.full_like(a, s)))  # fmt: skip
    for name, left in (("l", True), ("r", False)):
        row("funnel", "u32 u32 u32", "u32", f"__funnelshift_{name}({{0}}, {{1}}, {{2}})",
            lambda a, b, s, left=left: funnel(a, b, s & 31, left))  # fmt: skip
        row("funnel clamped", "u32 u32 u32", "u32", f"__funnelshift_{name}c({{0}}, {{1}}, {{2}})",
            lambda a, b, s, left=left: funnel(a, b, np.minimum(s, np.uint32(32)), left))  # fmt: skip
    row("low", "u64", "u32", "(unsigned){0}", lambda a: a.astype(np.uint32))
    row("upper", "u64", "u32", "(unsigned)({0} >> 32)", lambda a: (a >> np.uint64(32)).astype(np.uint32))
    row("extend", "u32", "u64", "(unsigned long long){0}", lambda a: a)
    row("extend", "s32", "s64", "(long long){0}", lambda a: a)
    row("byte", "s32", "s32", "(int)(signed char){0}", lambda a: a.astype(np.int8))
    row("short", "s32", "s32", "(int)(short){0}", lambda a: a.astype(np.int16))
    row("ubyte", "u32", "u32", "(unsigned)(unsigned char){0}", lambda a: a.astype(np.uint8))


def float_rows() -> None:
    roots: dict[str, Callable[[Any], Any]] = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}
    for t, prefix, word, suffix in (("f32", "f", "float", "f"), ("f64", "d", "double", "")):
        row("add", f"{t} {t}", t, f"__{prefix}add_rn({{0}}, {{1}})", operator.add)
        row("subtract", f"{t} {t}", t, f"__{prefix}add_rn({{0}}, -{{1}})", operator.sub)
        row("multiply", f"{t} {t}", t, f"__{prefix}mul_rn({{0}}, {{1}})", operator.mul)
        row("fma", f"{t} {t} {t}", t, f"__fma{'f' if suffix else ''}_rn({{0}}, {{1}}, {{2}})", fused)
        row("fms", f"{t} {t} {t}", t, f"__fma{'f' if suffix else ''}_rn(-{{0}}, {{1}}, {{2}})",
            lambda a, b, c: fused(-a, b, c))  # fmt: skip
        row("divide", f"{t} {t}", t, f"__{prefix}div_rn({{0}}, {{1}})", operator.truediv)
        row("reciprocal", t, t, f"__{prefix}rcp_rn({{0}})", lambda a: a.dtype.type(1) / a)
        row("sqrt", t, t, f"__{prefix}sqrt_rn({{0}})", np.sqrt)
        row("min", f"{t} {t}", t, f"fmin{suffix}({{0}}, {{1}})", smaller)
        row("max", f"{t} {t}", t, f"fmax{suffix}({{0}}, {{1}})", larger)
        row("abs", t, t, f"fabs{suffix}({{0}})", np.abs)
        row("negate", t, t, "-{0}", operator.neg)
        for name, how in (("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("rint", np.rint)):
            row(name, t, t, f"{name}{suffix}({{0}})", how)
        for name, symbol, compare in COMPARISONS:
            row(name, f"{t} {t} {t} {t}", t, f"{{0}} {symbol} {{1}} ? {{2}} : {{3}}",
                lambda a, b, c, d, compare=compare: np.where(compare(a, b), c, d))  # fmt: skip
            row(f"not {name}", f"{t} {t} u32 u32", "u32", f"!({{0}} {symbol} {{1}}) ? {{2}} : {{3}}",
                lambda a, b, c, d, compare=compare: np.where(~compare(a, b), c, d))  # fmt: skip
        row("isnan", f"{t} u32", "u32", "isnan({0}) ? 7u : {1}", lambda a, b: np.where(np.isnan(a), 7, b))
        for mode, how in roots.items():
            for gives, target in (("s32", "int"), ("u32", "uint"), ("s64", "ll"), ("u64", "ull")):
                dtype = np.dtype(TYPES[gives][1])
                bits = 8 * dtype.itemsize
                # a NaN: 0 from float32 to 32 bits, otherwise the highest bit alone
                nan = 0 if t == "f32" and bits == 32 else 2.0 ** (bits - 1) * (-1 if gives[0] == "s" else 1)
                row(f"to {gives}", t, gives, f"__{word}2{target}_{mode}({{0}})",
                    lambda a, how=how, dtype=dtype, nan=nan: to_integer(a, how, dtype, nan))  # fmt: skip
        for kind in ("s32", "u32", "s64", "u64"):
            row(f"from {kind}", kind, t, f"({word}){{0}}", lambda a, t=t: to_float(a, TYPES[t][1]))
    row("saturate", "f32", "f32", "__saturatef({0})", saturate)
    row("saturated sum", "f32 f32", "f32", "__saturatef(__fadd_rn({0}, {1}))", lambda a, b: saturate(a + b))
    row("widen", "f32", "f64", "(double){0}", lambda a: a)
    row("narrow", "f64", "f32", "(float){0}", lambda a: a)
    row("bits", "f32", "u32", "bits_of({0})", lambda a: np.where(np.isnan(a), np.float32(0), a).view(np.uint32))
    row("as float", "u32", "f32", "__uint_as_float({0} & 0xff7fffffu)",
        lambda a: (a & np.uint32(0xFF7FFFFF)).view(np.float32))  # fmt: skip


integer_rows()
float_rows()

PRELUDE = """
template <class T> __device__ bool minus_one(T b) { return b == (T)-1 && (T)-1 < 0; }
template <class T> __device__ T divide(T a, T b) {
  return b == 0 ? a : minus_one(b) ? (T)(0 - (unsigned long long)a) : a / b; }
template <class T> __device__ T remain(T a, T b) { return b == 0 || minus_one(b) ? 0 : a % b; }
__device__ int mulhi(int a, int b) { return __mulhi(a, b); }
__device__ unsigned mulhi(unsigned a, unsigned b) { return __umulhi(a, b); }
__device__ long long mulhi(long long a, long long b) { return __mul64hi(a, b); }
__device__ unsigned long long mulhi(unsigned long long a, unsigned long long b) { return __umul64hi(a, b); }
__device__ unsigned bits_of(float a) { return isnan(a) ? 0 : __float_as_uint(a); }
#define PTX(T, R, OP, S) \\
  __device__ T shift_left(T a, unsigned s) { \\
    T d; asm("shl.b" S " %0, %1, %2;" : "=" R(d) : R(a), "r"(s)); return d; } \\
  __device__ T shift_right(T a, unsigned s) { \\
    T d; asm("shr." OP S " %0, %1, %2;" : "=" R(d) : R(a), "r"(s)); return d; } \\
  __device__ T field(T a, unsigned p, unsigned n) { \\
    T d; asm("bfe." OP S " %0, %1, %2, %3;" : "=" R(d) : R(a), "r"(p), "r"(n)); return d; }
PTX(int, "r", "s", "32")
PTX(unsigned, "r", "u", "32")
PTX(long long, "l", "s", "64")
PTX(unsigned long long, "l", "u", "64")
"""


def source(kernels: Mapping[str, list[Tree]]) -> str:
    """CUDA C++ of kernels: thread t writes tree k of its operands to out[k · COUNT + t]."""
    return "\n".join([PRELUDE, *(kernel(name, trees) for name, trees in kernels.items())])


def kernel(name: str, trees: list[Tree]) -> str:
    pointers = ", ".join(f"const {TYPES[t][0]}* in_{t}" for t in TYPES)
    loads = [f"  {TYPES[t][0]} {name}_{t} = in_{t}[{COUNT * n} + t];" for t in TYPES for n, name in enumerate(OPERANDS)]
    stores = [
        f"  *({TYPES[tree_type(tree)][0]}*)(out + {COUNT * k} + t) = {tree.text};" for k, tree in enumerate(trees)
    ]
    head = f'extern "C" __global__ void {name}({pointers}, unsigned long long* out) {{'
    return "\n".join([head, "  int t = threadIdx.x;", *loads, *stores, "}", ""])


def tree_type(tree: Tree) -> str:
    return tree.leaf[1] if tree.row is None else tree.row.gives


def operand_values() -> dict[tuple[str, str], Any]:
    """COUNT values of each operand and type: pairs of edge cases, then random ones of every magnitude."""
    rng = np.random.default_rng(0)
    values = {}
    for t, (_, dtype) in TYPES.items():
        unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
        odd = odd_values(np.dtype(dtype))
        for name in OPERANDS:
            magnitudes = rng.integers(0, 8 * unsigned.itemsize, COUNT).astype(unsigned)
            bits = rng.integers(0, np.iinfo(unsigned).max, COUNT, unsigned, endpoint=True)
            anything = (bits >> magnitudes).view(dtype)
            if np.dtype(dtype).kind == "f":
                usual = (rng.standard_normal(COUNT) * 10.0 ** rng.integers(-2, 5, COUNT)).astype(dtype)
                anything = np.where(rng.random(COUNT) < 0.6, usual, anything)
            values[name, t] = np.where(rng.random(COUNT) < 0.5, rng.choice(odd, COUNT), anything)
    return values


def odd_values(dtype: np.dtype[Any]) -> Any:
    """Where arithmetic goes wrong: ends of ranges, signs, counts of bits, denormals, ties, infinities, NaNs."""
    if dtype.kind in "ui":
        bits, info = 8 * dtype.itemsize, np.iinfo(dtype)
        near = [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 255, 2**16, 2**24 + 1, 2**31 - 1]
        near += [info.max, info.max - 1, info.min, info.min + 1, 2 ** (bits - 2), info.max // 3]
        near += [2**53 + 1, 2**32, 2**32 - 1, 2**63 - 1] if bits == 64 else []
        near += [-1, -2, -31, -128, -(2**15)] if dtype.kind == "i" else [2 ** (bits - 1), 2 ** (bits - 1) + 1]
        return np.array(near, dtype)
    info = np.finfo(dtype)
    odd = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 0.1, 1e10, 127.5, 2.0**31, 2.0**32, 2.0**63, 2.0**64, 2.0**24 + 1, np.inf]
    odd += [info.max, info.tiny, info.smallest_subnormal, info.tiny / 2, 1 + info.eps, 1 - info.epsneg, info.max / 2]
    return np.array([*odd, *(-v for v in odd), np.nan], dtype)


def leaf(t: str) -> st.SearchStrategy[Tree]:
    return st.sampled_from([Tree(None, (), (name, t)) for name in OPERANDS])


def part(t: str, depth: int) -> st.SearchStrategy[Tree]:
    """An operand of an operation: two times out of three an expression itself."""
    inner = expression(t, depth - 1)
    return st.one_of(leaf(t), inner, inner)


def expression(t: str, depth: int = 3) -> st.SearchStrategy[Tree]:
    """Trees of type t, of `depth` operations at most."""
    if not depth:
        return leaf(t)
    rows = [r for r in ROWS if r.gives == t]
    return st.sampled_from(rows).flatmap(
        lambda r: st.tuples(*(part(k, depth) for k in r.takes)).map(lambda parts: Tree(r, parts))
    )
