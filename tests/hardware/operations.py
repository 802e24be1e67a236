"""Single operations on odd operands, and what an H200 makes of them: expressions of CUDA C++ and PTX instructions.

`python operations.py compile` writes the kernels' cubin, `launch FOLDER` (on a machine with the GPU) runs them and
writes `operations.npz`: for each group of expressions the 64-bit slots of its results, one row an expression.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from driver import Driver
from recorder import DATA, commands, compile_kernels

COUNT, BLOCK, IN_ONE_KERNEL = 512, 128, 24
KINDS = {
    "int": (np.uint32, "r"), "unsigned": (np.uint32, "r"), "float": (np.uint32, "f"),
    "f16x2": (np.uint32, "r"), "bf16x2": (np.uint32, "r"),
    "s64": (np.uint64, "l"), "u64": (np.uint64, "l"), "double": (np.uint64, "d"),
}  # fmt: skip
"""The kinds of operands of expressions: by C type, their bits and their letter in inline PTX."""


@dataclass(frozen=True)
class Expression:
    """An expression of operands a, b, c of the C type `kind` (or of pairs of halves in an unsigned). With `result` it
    is a PTX instruction of {d}, {a}, {b}, {c}. `table`: it reads the tables of MUFU; such expressions
    have kernels of their own."""

    kind: str
    text: str
    result: str = ""
    table: bool = False


COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
INTEGER = """a+b; a-b; a*b; a/b; a%b; a<<b; a>>b; a&b; ~a; -a; a*b+c; a-b-c; min(a,b); max(a,b); a<b?a:c; a==b
a!=b&&c>b; __popc(a); __clz(a); __ffs(a); __brev(a); __byte_perm(a,b,c); __funnelshift_l(a,b,c); __funnelshift_r(a,b,c)
__funnelshift_lc(a,b,c); __funnelshift_rc(a,b,c); __dp4a(a,b,c); __vadd4(a,b); __vabsdiffu4(a,b); __vsadu4(a,b)
__vmaxs2(a,b); __vmins4(a,b); __vaddss2(a,b); __vcmpgtu4(a,b); (signed char)a; (short)a; (unsigned char)a
(unsigned short)(a+b); max(min(a,b),c); min(a+b,c); max(max(a,b),c); max(a+b,0); (a*7+b)>>3; a*65537; a*5-1; a<<3|b>>5
(a>>b)&15; a/10; a%10; a/7u; a%7u; __fns(a,b,c); (a&b)|(~a&c); (a&b)==0?a:c; a^b^c; (a|b)&~c"""
INT = """abs(a); __mulhi(a,b); __mul24(a,b); __sad(a,b,c); __hadd(a,b); __rhadd(a,b)"""
UNSIGNED = """__umulhi(a,b); __umul24(a,b); __usad(a,b,c); __uhadd(a,b); __urhadd(a,b)"""
LONG = """a+b; a-b; a*b; a/b; a%b; a<<(b&127); a>>(b&127); a&b; ~a; -a; a*b+c; min(a,b); max(a,b); a<b?a:c; a==b
__popcll(a); __clzll(a); __ffsll(a); __brevll(a); a/10; a%7; (int)a*(s64)(int)b; (unsigned)a*(u64)(unsigned)b
(a<b)&(b<c); a*3+1; a<<3; a>>5; a+b*8; a-b-c; a<=b||b==c"""
FLOAT = """a+b; a-b; a*b; a/b; fmaf(a,b,c); sqrtf(a); 1.0f/a; fminf(a,b); fmaxf(a,b); fabsf(a); -a; floorf(a); ceilf(a)
truncf(a); rintf(a); roundf(a); nearbyintf(a); fmodf(a,b); remainderf(a,b); logf(a); log2f(a); log10f(a)
log1pf(a); expm1f(a); sinf(a); cosf(a); sinpif(a); atan2f(a,b); hypotf(a,b); erff(a); ldexpf(a,(int)b)
logbf(a); copysignf(a,b); nextafterf(a,b); fdimf(a,b); __saturatef(a); __saturatef(a+b); __saturatef(fmaf(a,b,c))
__fdiv_rz(a,b); __fdiv_ru(a,b); __fsqrt_rz(a); __fsqrt_ru(a); __frcp_rd(a); __frsqrt_rn(a); a<b?a:c; a<=b; a!=b; !(a<b)
!(a>=b); isnan(a); isinf(a); isfinite(a); signbit(a); a==b&&b!=c; a*0.5f+1; (float)(int)a; (float)(unsigned)a
(float)(s64)a; (float)(u64)a; (float)(short)a; (float)(unsigned char)a; (float)(signed char)a; (double)a
(float)((double)a*b); __half2float(__float2half(a)); __bfloat162float(__float2bfloat16(a)); norm3df(a,b,c)
(float)(__float_as_uint(a)&255); (float)((__float_as_uint(a)>>8)&255); (float)(short)__float_as_int(a); -(a*b)-c
(float)(unsigned short)(__float_as_int(a)>>16); fabsf(a)-fabsf(b); a>b?1.0f:0.0f; fmaxf(fmaxf(a,b),c)
fminf(fabsf(a),b)"""
TABLE = """rsqrtf(a); expf(a); exp2f(a); exp10f(a); tanf(a); sinhf(a); coshf(a); tanhf(a); asinhf(a); cbrtf(a); erfcf(a)
asinf(a); acosf(a); atanf(a); powf(a,b); tgammaf(a); j0f(a); normcdff(a); erfinvf(a)
__expf(a); __logf(a); __powf(a,b); __fdividef(a,b)"""
DOUBLE = """a+b; a-b; a*b; a/b; fma(a,b,c); sqrt(a); rsqrt(a); 1.0/a; fmin(a,b); fmax(a,b); fabs(a); floor(a); ceil(a)
trunc(a); rint(a); round(a); fmod(a,b); exp(a); log(a); sin(a); cos(a); tan(a); pow(a,b); atan2(a,b); tanh(a); erf(a)
__ddiv_rz(a,b); __dsqrt_ru(a); (double)(float)a; (double)(int)a; (double)(unsigned)a; (double)(s64)a; (double)(u64)a
a<b?a:c; a<=b; a!=b; !(a<b); isnan(a); isinf(a); signbit(a); a*2+1; cbrt(a); ldexp(a,3); copysign(a,b); lgamma(a)
hypot(a,b); exp2(a); log2(a); log10(a); expm1(a); asin(a); acos(a); atan(a); sinh(a); cosh(a); nextafter(a,b)
(double)__double2half(a); a>0.0?a:-a; remainder(a,b)"""


def c_expressions() -> Iterator[Expression]:
    for kinds, texts, table in (
        (("int", "unsigned"), INTEGER, False), (("int",), INT, False), (("unsigned",), UNSIGNED, False),
        (("s64", "u64"), LONG, False), (("s64",), "__mul64hi(a,b); llabs(a)", False),
        (("u64",), "__umul64hi(a,b)", False), (("float",), FLOAT, False), (("float",), TABLE, True),
        (("double",), DOUBLE, False),
    ):  # fmt: skip
        for kind in kinds:
            for text in texts.replace("\n", ";").split(";"):
                yield Expression(kind, text.strip(), table=table)


def float_instructions() -> Iterator[Expression]:
    for r in ("rn", "rz", "rm", "rp"):
        for marks in ("", ".ftz", ".sat", ".ftz.sat"):
            yield Expression("float", f"add.{r}{marks}.f32 {{d}}, {{a}}, {{b}};", "float")
            yield Expression("float", f"mul.{r}{marks}.f32 {{d}}, {{a}}, {{b}};", "float")
            yield Expression("float", f"fma.{r}{marks}.f32 {{d}}, {{a}}, {{b}}, {{c}};", "float")
        for name, operands in (("add", "{a}, {b}"), ("mul", "{a}, {b}"), ("fma", "{a}, {b}, {c}"),
                               ("div", "{a}, {b}"), ("sqrt", "{a}"), ("rcp", "{a}")):  # fmt: skip
            yield Expression("double", f"{name}.{r}.f64 {{d}}, {operands};", "double")
            if name in ("div", "sqrt", "rcp"):
                yield Expression("float", f"{name}.{r}.f32 {{d}}, {operands};", "float")
                yield Expression("float", f"{name}.{r}.ftz.f32 {{d}}, {operands};", "float")
        yield Expression("double", f"cvt.{r}.f32.f64 {{d}}, {{a}};", "float")
        yield Expression("double", f"cvt.{r}.ftz.f32.f64 {{d}}, {{a}};", "float")
        for kind in ("s32", "u32"):
            yield Expression("int", f"cvt.{r}.f32.{kind} {{d}}, {{a}};", "float")
            yield Expression("int", f"cvt.{r}.f64.{kind} {{d}}, {{a}};", "double")
        for kind in ("s16", "u16", "s8", "u8"):
            text = f"{{.reg .b16 t; cvt.u16.u32 t, {{a}}; cvt.{r}.f32.{kind} {{d}}, t;}}"
            yield Expression("int", text, "float")
        for kind in ("s64", "u64"):
            yield Expression("s64", f"cvt.{r}.f32.{kind} {{d}}, {{a}};", "float")
            yield Expression("s64", f"cvt.{r}.f64.{kind} {{d}}, {{a}};", "double")
    for r in ("rni", "rzi", "rmi", "rpi"):
        for kind, result in (("s32", "int"), ("u32", "int"), ("s64", "s64"), ("u64", "s64")):
            yield Expression("float", f"cvt.{r}.{kind}.f32 {{d}}, {{a}};", result)
            yield Expression("float", f"cvt.{r}.ftz.{kind}.f32 {{d}}, {{a}};", result)
            yield Expression("double", f"cvt.{r}.{kind}.f64 {{d}}, {{a}};", result)
        for kind in ("s16", "u16", "s8", "u8"):
            text = f"{{.reg .b16 t; cvt.{r}.{kind}.f32 t, {{a}}; cvt.u32.u16 {{d}}, t;}}"
            yield Expression("float", text, "int")
        for marks in ("", ".ftz", ".sat"):
            yield Expression("float", f"cvt.{r}{marks}.f32.f32 {{d}}, {{a}};", "float")
        yield Expression("double", f"cvt.{r}.f64.f64 {{d}}, {{a}};", "double")
    for name in ("rcp", "rsqrt", "sqrt", "ex2", "lg2"):
        for marks in ("", ".ftz"):
            yield Expression("float", f"{name}.approx{marks}.f32 {{d}}, {{a}};", "float", table=True)
    for name in ("min", "max"):
        for marks in ("", ".ftz", ".NaN", ".ftz.NaN", ".xorsign.abs", ".NaN.xorsign.abs"):
            yield Expression("float", f"{name}{marks}.f32 {{d}}, {{a}}, {{b}};", "float")
        yield Expression("double", f"{name}.f64 {{d}}, {{a}}, {{b}};", "double")
    for test in (*COMPARISONS, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"):
        for kind, name in (("float", "f32"), ("float", "ftz.f32"), ("double", "f64")):
            text = f"{{.reg .pred p; setp.{test}.{name} p, {{a}}, {{b}}; selp.u32 {{d}}, 1, 0, p;}}"
            yield Expression(kind, text, "unsigned")
        yield Expression("float", f"set.{test}.f32.f32 {{d}}, {{a}}, {{b}};", "float")
    for half in ("f16", "bf16"):
        for r in ("rn", "rz"):
            text = f"{{.reg .b16 t; cvt.{r}.{half}.f32 t, {{a}}; cvt.u32.u16 {{d}}, t;}}"
            yield Expression("float", text, "unsigned")
            yield Expression("float", f"cvt.{r}.{half}x2.f32 {{d}}, {{a}}, {{b}};", "unsigned")
        text = f"{{.reg .b16 t; cvt.u16.u32 t, {{a}}; cvt.f32.{half} {{d}}, t;}}"
        yield Expression("int", text, "float")
    yield Expression("double", "{.reg .b16 t; cvt.rn.f16.f64 t, {a}; cvt.u32.u16 {d}, t;}", "unsigned")
    yield Expression("int", "{.reg .b16 t; cvt.u16.u32 t, {a}; cvt.f64.f16 {d}, t;}", "double")
    yield Expression("float", "cvt.f64.f32 {d}, {a};", "double")
    yield Expression("float", "cvt.ftz.f64.f32 {d}, {a};", "double")


def integer_instructions() -> Iterator[Expression]:
    def int_(text: str) -> Expression:
        return Expression("int", text, "int")

    def long(text: str) -> Expression:
        return Expression("s64", text, "s64")

    for test in COMPARISONS:
        for name in ("s32", "u32"):
            yield int_(f"{{.reg .pred p, q; setp.gt.s32 q, {{c}}, 0; setp.{test}.or.{name} p, {{a}}, {{b}}, q; "
                       "selp.u32 {d}, 1, 0, p;}")  # fmt: skip
        for name in ("s64", "u64"):
            text = f"{{.reg .pred p; setp.{test}.{name} p, {{a}}, {{b}}; selp.u32 {{d}}, 1, 0, p;}}"
            yield Expression("s64", text, "unsigned")
    for name in ("shf.l.clamp.b32", "shf.l.wrap.b32", "shf.r.clamp.b32", "shf.r.wrap.b32"):
        yield int_(f"{name} {{d}}, {{a}}, {{b}}, {{c}};")
    for name in ("shl.b", "shr.s", "shr.u"):
        yield int_(f"{name}32 {{d}}, {{a}}, {{b}};")
        yield long(f"{{.reg .u32 t; cvt.u32.u64 t, {{b}}; {name}64 {{d}}, {{a}}, t;}}")
        for n in (0, 1, 7, 31, 32, 33, 40, 63):
            yield long(f"{name}64 {{d}}, {{a}}, {n};")
    for n in (0, 1, 31, 32, 40):
        yield int_(f"shf.l.clamp.b32 {{d}}, {{a}}, {{b}}, {n};")
        yield int_(f"shf.r.clamp.b32 {{d}}, {{a}}, {{b}}, {n};")
        yield int_(f"shr.s32 {{d}}, {{a}}, {n};")
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield int_(f"prmt.b32{mode} {{d}}, {{a}}, {{b}}, {{c}};")
    for selector in (0x3210, 0x7654, 0x0123, 0x5410, 0x7632, 0x9910, 0x8880, 0xBA98, 0x4567, 0x8F08, 0x1111):
        yield int_(f"prmt.b32 {{d}}, {{a}}, {{b}}, {selector};")
    for name in ("bfind.u", "bfind.s", "bfind.shiftamt.u", "bfind.shiftamt.s", "clz.b", "popc.b"):
        yield int_(f"{name}32 {{d}}, {{a}};")
        yield long(f"{{.reg .u32 t; {name}64 t, {{a}}; cvt.u64.u32 {{d}}, t;}}")
    for name in ("brev.b32", "abs.s32", "neg.s32", "cnot.b32"):
        yield int_(f"{name} {{d}}, {{a}};")
    for name in ("szext.wrap.s32", "szext.clamp.s32", "szext.wrap.u32", "szext.clamp.u32", "bmsk.wrap.b32",
                 "bmsk.clamp.b32", "add.sat.s32", "sub.sat.s32", "mul.hi.s32", "mul.hi.u32", "min.s32", "max.u32",
                 "min.s16x2", "max.s16x2", "min.u16x2", "max.u16x2", "add.s16x2", "min.relu.s32",
                 "max.relu.s32"):  # fmt: skip
        yield int_(f"{name} {{d}}, {{a}}, {{b}};")
    for name in ("bfe.s32", "bfe.u32", "mad.hi.s32", "mad.hi.u32", "mad.lo.s32", "mad24.lo.s32", "mad24.hi.s32",
                 "sad.s32", "sad.u32", "mad.hi.sat.s32"):  # fmt: skip
        yield int_(f"{name} {{d}}, {{a}}, {{b}}, {{c}};")
    for name in ("s64", "u64"):
        yield long(f"{{.reg .u32 t, u; cvt.u32.u64 t, {{b}}; cvt.u32.u64 u, {{c}}; bfe.{name} {{d}}, {{a}}, t, u;}}")
        yield long(f"mad.hi.{name} {{d}}, {{a}}, {{b}}, {{c}};")
        yield long(f"min.{name} {{d}}, {{a}}, {{b}};")
        yield long(f"max.{name} {{d}}, {{a}}, {{b}};")
    for table in (0x01, 0x1E, 0x2A, 0x96, 0xE8, 0xCA, 0xD8, 0x69, 0x7F, 0x80, 0xFE, 0x3C, 0x5A, 0x17, 0x6B):
        yield int_(f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table};")
    for name in ("mul.wide.s32", "mul.wide.u32"):
        yield Expression("int", f"{name} {{d}}, {{a}}, {{b}};", "s64")
    for kind in ("s32.s32", "u32.u32", "s32.u32", "u32.s32"):
        for name in ("dp4a", "dp2a.lo", "dp2a.hi"):
            yield int_(f"{name}.{kind} {{d}}, {{a}}, {{b}}, {{c}};")
    for size, expression in (("32", int_), ("64", long)):
        for text in ("add.cc.TYPE t, {a}, {b}; addc.cc.TYPE t, t, {c}; addc.TYPE {d}, {a}, t;",
                     "sub.cc.TYPE t, {a}, {b}; subc.cc.TYPE t, t, {c}; subc.TYPE {d}, {a}, t;",
                     "mad.lo.cc.TYPE t, {a}, {b}, {c}; madc.hi.TYPE {d}, {a}, {b}, t;"):  # fmt: skip
            yield expression(("{.reg .TYPE t; " + text + "}").replace("TYPE", f"u{size}"))


def warp_instructions() -> Iterator[Expression]:
    for mode in ("idx", "up", "down", "bfly"):
        for c in ("0x1f", "0x0", "0x181f", "0x1c03", "0x1000", "0x70b"):
            yield Expression("int", f"{{.reg .pred p; .reg .u32 t, u; shfl.sync.{mode}.b32 t|p, {{a}}, {{b}}, {c}, -1; "
                                    "selp.u32 u, 7, 0, p; mad.lo.u32 {d}, t, 9, u;}", "int")  # fmt: skip
    for name in ("add.s32", "min.s32", "max.s32", "min.u32", "max.u32", "and.b32", "or.b32", "xor.b32"):
        yield Expression("int", f"redux.sync.{name} {{d}}, {{a}}, -1;", "int")
    yield Expression("int", "{.reg .u32 t; and.b32 t, {a}, 3; match.any.sync.b32 {d}, t, -1;}", "int")
    yield Expression("int", "{.reg .u32 t, u; .reg .pred p; shr.u32 t, {b}, 31; match.all.sync.b32 u|p, t, -1; "
                            "selp.u32 t, 1, 0, p; add.u32 {d}, t, u;}", "int")  # fmt: skip
    yield Expression("s64", "{.reg .u64 t; .reg .u32 u; and.b64 t, {a}, 0x100000003; match.any.sync.b64 u, t, -1; "
                            "cvt.u64.u32 {d}, u;}", "s64")  # fmt: skip
    for mode in ("all", "any", "uni"):
        yield Expression("int", f"{{.reg .pred p, q; setp.lt.s32 p, {{a}}, {{b}}; vote.sync.{mode}.pred q, p, -1; "
                                "selp.u32 {d}, 1, 0, q;}", "int")  # fmt: skip
    yield Expression("int", "{.reg .pred p; setp.lt.s32 p, {a}, {b}; vote.sync.ballot.b32 {d}, p, -1;}", "int")
    yield Expression("int", "{.reg .pred p; .reg .u32 l; elect.sync l|p, -1; selp.u32 {d}, 7, 9, p; "
                            "add.u32 {d}, {d}, l;}", "int")  # fmt: skip


def half_instructions() -> Iterator[Expression]:
    def of(kind: str, text: str, table: bool = False) -> Expression:
        return Expression(kind, text, "unsigned", table)

    for kind, r in (("f16x2", ""), ("bf16x2", ".rn")):
        for marks in ("", ".sat", ".ftz", ".ftz.sat") if kind == "f16x2" else ("",):
            for name in ("add", "sub", "mul"):
                yield of(kind, f"{name}{r}{marks}.{kind} {{d}}, {{a}}, {{b}};")
            yield of(kind, f"fma.rn{marks}.{kind} {{d}}, {{a}}, {{b}}, {{c}};")
        yield of(kind, f"fma.rn.relu.{kind} {{d}}, {{a}}, {{b}}, {{c}};")
        yield of(kind, f"neg.{kind} {{d}}, {{a}};")
        yield of(kind, f"abs.{kind} {{d}}, {{a}};")
        for marks in ("", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"):
            yield of(kind, f"min{marks}.{kind} {{d}}, {{a}}, {{b}};")
            yield of(kind, f"max{marks}.{kind} {{d}}, {{a}}, {{b}};")
        for test in (*COMPARISONS, "equ", "neu", "ltu", "num", "nan"):
            yield of(kind, f"{{.reg .pred p, q; setp.{test}.{kind} p|q, {{a}}, {{b}}; "
                           "selp.u32 {d}, 1, 0, p; @q or.b32 {d}, {d}, 2;}")  # fmt: skip
            yield of(kind, f"set.{test}.{kind}.{kind} {{d}}, {{a}}, {{b}};")
        yield of(kind, f"ex2.approx{'.ftz' if kind == 'bf16x2' else ''}.{kind} {{d}}, {{a}};", True)
        yield of(kind, f"tanh.approx.{kind} {{d}}, {{a}};", True)
        one = kind.removesuffix("x2")
        take = "{.reg .b16 x, y, z; cvt.u16.u32 x, {a}; cvt.u16.u32 y, {b}; "
        for name in ("add", "mul"):
            yield of(kind, f"{take}{name}{r}.{one} z, x, y; cvt.u32.u16 {{d}}, z;}}")
        yield of(kind, f"{take}fma.rn.{one} z, x, y, x; cvt.u32.u16 {{d}}, z;}}")
        for name in ("s32", "u32"):
            yield of(kind, f"{{.reg .b16 y; cvt.rn.{one}.{name} y, {{a}}; cvt.u32.u16 {{d}}, y;}}")
        for name in ("s64", "u64"):
            yield of(kind, "{.reg .b64 w; .reg .b16 y; cvt.u64.u32 w, {a}; shl.b64 w, w, 13; "
                           f"cvt.rn.{one}.{name} y, w; cvt.u32.u16 {{d}}, y;}}")  # fmt: skip
    for mode in ("rni", "rzi", "rmi", "rpi"):
        yield of("f16x2", f"{{.reg .b16 x; cvt.u16.u32 x, {{a}}; cvt.{mode}.s32.f16 {{d}}, x;}}")
        yield of("f16x2", f"{{.reg .b16 x, y; cvt.u16.u32 x, {{a}}; cvt.{mode}.f16.f16 y, x; "
                          "cvt.u32.u16 {d}, y;}")  # fmt: skip


def narrow_instructions() -> Iterator[Expression]:
    """Conversions to 8 and 16 bits, with every rounding mode and with saturation, and back."""
    take, give = "{.reg .b16 s; cvt.u16.u32 s, {a}; ", "cvt.u32.u16 {d}, t;}"
    for form in ("e4m3x2", "e5m2x2"):
        for relu in ("", ".relu"):
            text = f"{{.reg .b16 t; cvt.rn.satfinite{relu}.{form}.f32 t, {{a}}, {{b}}; {give}"
            yield Expression("float", text, "unsigned")
            text = f"{{.reg .b16 t; cvt.rn.satfinite{relu}.{form}.f16x2 t, {{a}}; {give}"
            yield Expression("f16x2", text, "unsigned")
            yield Expression("int", f"{take}cvt.rn{relu}.f16x2.{form} {{d}}, s;}}", "unsigned")
    for half in ("f16", "bf16"):
        for r in ("rm", "rp"):
            yield Expression("float", f"{{.reg .b16 t; cvt.{r}.{half}.f32 t, {{a}}; {give}", "unsigned")
        for r in ("rn", "rz", "rm", "rp"):
            for kind in ("s32", "u32"):
                yield Expression("int", f"{{.reg .b16 t; cvt.{r}.{half}.{kind} t, {{a}}; {give}", "unsigned")
            for kind in ("s64", "u64"):
                yield Expression("s64", f"{{.reg .b16 t; cvt.{r}.{half}.{kind} t, {{a}}; {give}", "unsigned")
            for kind in ("s16", "u16"):
                text = f"{take}.reg .b16 t; cvt.{r}.{half}.{kind} t, s; {give}"
                yield Expression("int", text, "unsigned")
            yield Expression("double", f"{{.reg .b16 t; cvt.{r}.{half}.f64 t, {{a}}; {give}", "unsigned")
        for r in ("rn", "rz"):
            yield Expression("float", f"cvt.{r}.relu.{half}x2.f32 {{d}}, {{a}}, {{b}};", "unsigned")
    yield Expression("float", "cvt.rna.tf32.f32 {d}, {a};", "unsigned")
    for r in ("rn", "rz"):
        for relu in ("", ".relu"):
            yield Expression("float", f"cvt.{r}{relu}.tf32.f32 {{d}}, {{a}};", "unsigned")
    for to in ("s8", "u8", "s16", "u16"):
        for kind in ("s32", "u32"):
            yield Expression("int", f"{{.reg .b16 t; cvt.sat.{to}.{kind} t, {{a}}; {give}", "unsigned")
    for to in ("s32", "u32"):
        for kind in ("s64", "u64"):
            yield Expression("s64", f"cvt.sat.{to}.{kind} {{d}}, {{a}};", "unsigned")
    for kind in ("f16x2", "bf16x2"):
        one = kind.removesuffix("x2")
        for name in ("min", "max"):
            text = f"{{.reg .b16 x, y; cvt.u16.u32 x, {{a}}; mov.b16 y, 0x3c00; {name}.{one} x, x, y; "
            text += "cvt.u32.u16 {d}, x;}"
            yield Expression(kind, text, "unsigned")


def groups() -> dict[str, list[Expression]]:
    """Expressions by the kernel that computes them. A kernel has expressions of one kind, not too many; those that read
    tables have kernels of their own."""
    every = [*c_expressions(), *float_instructions(), *integer_instructions()]
    every += [*warp_instructions(), *half_instructions(), *narrow_instructions()]
    out: dict[str, list[Expression]] = {}
    for kind in KINDS:
        for table in (False, True):
            chosen = [e for e in every if e.kind == kind and e.table == table]
            size = 12 if kind == "double" else IN_ONE_KERNEL
            for n in range(0, len(chosen), size):
                out[f"{kind}_{'table_' if table else ''}{n // size}"] = chosen[n : n + size]
    return out


def source() -> str:
    lines = ["#include <cuda_fp16.h>", "#include <cuda_bf16.h>", "typedef long long s64;",
             "typedef unsigned long long u64;"]  # fmt: skip
    for name, expressions in groups().items():
        kind = expressions[0].kind
        c = "unsigned" if kind.endswith("x2") else kind
        body = []
        for n, e in enumerate(expressions):
            if e.result:
                asm = e.text.replace("{a}", "%1").replace("{b}", "%2").replace("{c}", "%3").replace("{d}", "%0")
                letters = KINDS[e.result][1], KINDS[kind][1]
                inputs = ", ".join(f'"{letters[1]}"({operand})' for operand in "abc")
                value = f'({{ {e.result} d; asm volatile("{asm}" : "={letters[0]}"(d) : {inputs}); d; }})'
            else:
                value = f"({kind})({e.text})"
            body.append(f"  *({e.result or kind} *)(out + {n * COUNT} + t) = {value};")
        head = f'extern "C" __global__ void {name}(const {c} *in, u64 *out) {{'
        lines += [head, f"  int t = blockIdx.x * {BLOCK} + threadIdx.x;"]
        lines += [f"  {c} a = in[t], b = in[t + {COUNT}], c = in[t + {2 * COUNT}];", *body, "}"]
    return "\n".join([*lines, ""])


def operands(kind: str) -> Any:
    """The bits of a, b and c, of shape (3, COUNT): half of them special values, the rest of every magnitude."""
    if kind in ("f16x2", "bf16x2"):
        return pairs(kind)
    dtype = KINDS[kind][0]
    bits = 8 * np.dtype(dtype).itemsize
    rng = np.random.default_rng(bits + (kind in ("float", "double")))
    shape = 3, COUNT
    anything = rng.integers(0, 2**bits - 1, shape, dtype, endpoint=True)
    if kind not in ("float", "double"):
        near = [0, 1, 2, 3, 5, 7, 8, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 0x7FFF, 0x8000, 0xFFFF, 2**24 + 1]
        near += [0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x55555555, 0x01010101, 0x80808080, 0x12345678]
        near += [2**32, 2**53 + 1, 2**54 + 2, 2**63 - 1, 2**63, 2**63 + 1] if bits == 64 else []
        odd = np.array([*near, *(-n % 2**bits for n in near)], dtype)
        anything >>= rng.integers(0, bits, shape, dtype)
        return np.where(rng.random(shape) < 0.6, rng.choice(odd, shape), anything)
    real = np.float32 if kind == "float" else np.float64
    info = np.finfo(real)
    near = [0.0, 1.0, 2.0, 0.5, 1.5, 2.5, 3.0, np.inf, info.max, info.tiny, info.smallest_subnormal, info.tiny * 1.5]
    near += [info.tiny / 2, info.max / 2, 1 + info.eps, 1 - info.epsneg, 2.0**31, 2.0**32, 2.0**63, 2.0**64, 0.1, 1e10]
    near += [127.5, 128.0, 255.5, 65504.0, 65520.0, 6e-8, 1e-7, 3.14159265, 100.0, 12345.678, 1e30, 1e-30]
    odd = np.array([*near, *(-n for n in near)], real).view(dtype)
    nans = [0xFFC00001, 0x7FA00000, 0x7FFFFFFF]
    if bits == 64:
        nans = [0xFFF8000000000001, 0x7FF4 << 48, 0x7FF8000012345678]
    odd = np.concatenate([odd, np.array(nans, dtype)])
    usual = (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 5, shape)).astype(real).view(dtype)
    choice = rng.random(shape)
    values = np.where(choice < 0.5, rng.choice(odd, shape), np.where(choice < 0.8, usual, anything))
    with np.errstate(all="ignore"):
        product = (values[0].view(real) * values[1].view(real)).astype(real)
    cancels = rng.random(COUNT) < 0.15
    values[2] = np.where(cancels, (-product).view(dtype), values[2])
    return values


def pairs(kind: str) -> Any:
    """Operands of two halves each: powers of two and their neighbours, whole numbers, infinities, NaNs, and any
    bits."""
    rng = np.random.default_rng(16 + (kind == "f16x2"))
    digits = 10 if kind == "f16x2" else 7
    powers = np.arange(0, 0x8000, 1 << digits, dtype=np.uint16)
    odd = np.concatenate([powers, powers + 1, powers[1:] - 1, [1, 3, 0x7FFF, 0x7E01]]).astype(np.uint16)
    whole = np.arange(-40, 41)
    if kind == "f16x2":
        usual = (whole / 4).astype(np.float16).view(np.uint16)
    else:
        usual = ((whole / 4).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    shape = 3, 2 * COUNT
    choice = rng.random(shape)
    values = np.where(choice < 0.5, rng.choice(odd, shape), rng.integers(0, 0xFFFF, shape, np.uint16, endpoint=True))
    values = np.where(choice > 0.7, rng.choice(usual, shape), values)
    values ^= (rng.integers(0, 2, shape) << 15).astype(np.uint16)
    return values.view(np.uint32)


def launch(folder: Path) -> None:
    """Run every kernel on the GPU and save the results."""
    driver = Driver()
    module = driver.module((DATA / "operations.cubin").read_bytes())
    results = {}
    for name, expressions in groups().items():
        out = np.zeros((len(expressions), COUNT), np.uint64)
        pointers = [driver.upload(np.ascontiguousarray(operands(expressions[0].kind))), driver.upload(out)]
        driver.launch(driver.function(module, name), (COUNT // BLOCK,), (BLOCK,), pointers)
        results[name] = driver.download(pointers[1], out)
        driver.free(pointers)
    np.savez_compressed(folder / "operations.npz", **results)


def compile_all(nvcc: str = "nvcc") -> None:
    compile_kernels(nvcc, source().encode(), DATA / "operations.cubin", "-w")


if __name__ == "__main__":
    commands(__doc__, compile=compile_all, launch=launch)
