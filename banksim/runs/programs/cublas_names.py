"""cuBLAS's functions as one table, and what is generated from it for the stand-in (cuda/include, cuda/libraries).

libraries/cublas.py, which computes them, reads `FUNCTIONS` as well. A parameter with `!` is written to; one with `~` is
real, whatever the function's type; one with `#` is an int; one with `[]` is an array of pointers to matrices; the
type of one with `:` is told by another parameter. `>=` gives the least leading dimension, `<=` the largest size, as C.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

TABLE = """
S D C Z      : axpy              : n alpha x incx y! incy
S D C Z      : copy              : n x incx y! incy
S D C Z      : swap              : n x! incx y! incy
S D C Z      : scal              : n alpha x! incx
Cs Zd        : scal              : n alpha~ x! incx
S D          : dot               : n x incx y incy result!
C Z          : dotu dotc         : n x incx y incy result!
S D Sc Dz    : nrm2 asum         : n x incx result~!
Is Id Ic Iz  : amax amin         : n x incx result#!
S D C Z      : rot               : n x! incx y! incy cosine~ sine
Cs Zd        : rot               : n x! incx y! incy cosine~ sine~
S D C Z      : gemv              : op m n alpha a lda>=m x incx beta y! incy
S D C Z      : gbmv              : op m n kl ku alpha a lda>=kl+ku+1 x incx beta y! incy
S D C Z      : symv              : uplo n alpha a lda>=n x incx beta y! incy
C Z          : hemv              : uplo n alpha a lda>=n x incx beta y! incy
S D          : sbmv              : uplo n k alpha a lda>=k+1 x incx beta y! incy
C Z          : hbmv              : uplo n k alpha a lda>=k+1 x incx beta y! incy
S D          : spmv              : uplo n alpha a x incx beta y! incy
C Z          : hpmv              : uplo n alpha a x incx beta y! incy
S D C Z      : trmv trsv         : uplo op diag n a lda>=n x! incx
S D C Z      : tbmv tbsv         : uplo op diag n k a lda>=k+1 x! incx
S D C Z      : tpmv tpsv         : uplo op diag n a x! incx
S D          : ger               : m n alpha x incx y incy a! lda>=m
C Z          : geru gerc         : m n alpha x incx y incy a! lda>=m
S D C Z      : syr               : uplo n alpha x incx a! lda>=n
C Z          : her               : uplo n alpha~ x incx a! lda>=n
S D          : spr               : uplo n alpha x incx a!
C Z          : hpr               : uplo n alpha~ x incx a!
S D C Z      : syr2              : uplo n alpha x incx y incy a! lda>=n
C Z          : her2              : uplo n alpha x incx y incy a! lda>=n
S D          : spr2              : uplo n alpha x incx y incy a!
C Z          : hpr2              : uplo n alpha x incx y incy a!
S D C Z      : symm              : side uplo m n alpha a lda>=side?n:m b ldb>=m beta c! ldc>=m
C Z          : hemm              : side uplo m n alpha a lda>=side?n:m b ldb>=m beta c! ldc>=m
S D C Z      : syrk              : uplo op n k alpha a lda>=TURNED(op)?k:n beta c! ldc>=n
C Z          : herk              : uplo op n k alpha~ a lda>=TURNED(op)?k:n beta~ c! ldc>=n
S D C Z      : syr2k syrkx       : uplo op n k alpha a lda>=TURNED(op)?k:n b ldb>=TURNED(op)?k:n beta c! ldc>=n
C Z          : her2k herkx       : uplo op n k alpha a lda>=TURNED(op)?k:n b ldb>=TURNED(op)?k:n beta~ c! ldc>=n
S D C Z      : trmm              : side uplo op diag m n alpha a lda>=side?n:m b ldb>=m c! ldc>=m
S D C Z      : trsm              : side uplo op diag m n alpha a lda>=side?n:m b! ldb>=m
C Z          : gemm3m            : opa opb m n k alpha a lda>=TURNED(opa)?k:m b ldb>=TURNED(opb)?n:k beta c! ldc>=m
S D C Z      : trttp             : uplo n a lda>=n b!
S D C Z      : tpttr             : uplo n a b! ldb>=n
S D C Z      : geam              : opa opb m n alpha a lda>=TURNED(opa)?n:m beta b ldb>=TURNED(opb)?n:m c! ldc>=m
S D C Z      : dgmm              : side m n a lda>=m x incx c! ldc>=m
S D          : rotg              : p! q! cosine! sine!
C Z          : rotg              : p! q! cosine~! sine!
S D          : rotm              : n x! incx y! incy rotation
S D          : rotmg             : d1! d2! p! q rotation!
S D C Z      : trsmBatched       : side uplo op diag m n alpha a[] lda>=side?n:m b[]! ldb>=m count
S D C Z      : gemvBatched       : op m n alpha a[] lda>=m x[] incx beta y[]! incy count
S D C Z      : gemvStridedBatched: op m n alpha a lda>=m stridea x incx stridex beta y! incy stridey count
S D C Z      : getrfBatched      : n a[]! lda>=n pivots! info! count
S D C Z      : getrsBatched      : op n nrhs a[] lda>=n pivots b[]! ldb>=n host_info! count
S D C Z      : getriBatched      : n a[] lda>=n pivots c[]! ldc>=n info! count
S D C Z      : matinvBatched     : n<=32 a[] lda>=n c[]! ldc>=n info! count
-            : axpyEx            : n alpha:ta ta x:tx tx incx y!:ty ty incy run
-            : copyEx            : n x:tx tx incx y!:ty ty incy
-            : swapEx            : n x!:tx tx incx y!:ty ty incy
-            : scalEx            : n alpha:ta ta x!:tx tx incx run
-            : dotEx dotcEx      : n x:tx tx incx y:ty ty incy result!:tr tr run
-            : nrm2Ex asumEx     : n x:tx tx incx result!:tr tr run
I            : amaxEx aminEx     : n x:tx tx incx result#!
-            : rotEx             : n x!:tx tx incx y!:ty ty incy cosine:ts sine:ts ts run
C            : syrkEx syrk3mEx   : uplo op n k alpha a:tx tx lda>=TURNED(op)?k:n beta c!:ty ty ldc>=n
C            : herkEx herk3mEx   : uplo op n k alpha~ a:tx tx lda>=TURNED(op)?k:n beta~ c!:ty ty ldc>=n
"""
PRODUCTS = """
S D C Z H : gemm                : opa opb m n k alpha a lda b ldb beta c! ldc
S D C Z H : gemmBatched         : opa opb m n k alpha a[] lda b[] ldb beta c[]! ldc count
S D C Z H : gemmStridedBatched  : opa opb m n k alpha a lda stridea b ldb strideb beta c! ldc stridec count
S C       : gemmEx              : opa opb m n k alpha a:atype atype lda b:btype btype ldb beta c!:ctype ctype ldc
C         : gemm3mEx            : opa opb m n k alpha a:atype atype lda b:btype btype ldb beta c!:ctype ctype ldc
-         : gemmEx              : opa opb m n k alpha a atype lda b btype ldb beta c! ctype ldc compute algo
-         : gemmBatchedEx       : opa opb m n k alpha a[] atype lda b[] btype ldb beta c[]! ctype ldc count compute algo
-         : gemmStridedBatchedEx: opa opb m n k alpha a atype lda stridea b btype ldb strideb beta c! ctype ldc \
stridec count compute algo
"""
"""Products, which one function of cublas.c does for all."""
SCALARS = ("alpha", "beta", "cosine", "sine", "p", "q", "d1", "d2", "rotation")
ROTATION = 5
"""How many numbers `rotation` points to: a flag for the form of a matrix, and its four elements."""
TYPES = {
    "S": "float",
    "D": "double",
    "C": "cuComplex",
    "Z": "cuDoubleComplex",
    "V": "void",
    "I": "int",
    "L": "int64_t",
    "H": "__half",
}
REAL = {"S": "S", "D": "D", "C": "S", "Z": "D"}
DATA = {"S": "R_32F", "D": "R_64F", "C": "C_32F", "Z": "C_64F", "H": "R_16F"}
"""The names of cudaDataType."""
DATA_TYPES = ("ta", "tx", "ty", "tr", "ts", "run", "atype", "btype", "ctype")
OF_PREFIX = {"Sc": "C", "Dz": "Z", "Cs": "C", "Zd": "Z"}
ENUMERATIONS = {
    "uplo": ("cublasFillMode_t", 2),
    "side": ("cublasSideMode_t", 2),
    "diag": ("cublasDiagType_t", 2),
    **dict.fromkeys(("op", "opa", "opb"), ("cublasOperation_t", 4)),
    "compute": ("cublasComputeType_t", 0),
    "algo": ("cublasGemmAlgo_t", 0),
}
"""Their types, and how many values they have."""
SIZES = ("m", "n", "k", "kl", "ku", "nrhs", "count")
WIDE = "_64"
ONLY_NARROW = ("getrf", "getrs", "getri", "matinv", "trttp", "tpttr", "rotg", "rotmg")
"""Functions that have no twin with 64-bit sizes, or no size."""
IN_MEMORY = ("x", "y", "a", "b", "c", "result", "pivots", "info", "host_info")


@dataclass(frozen=True)
class Parameter:
    """`kind`: the letter of the type of a number; `written`: whether it points to what is written; `each`: whether it
    is an array of pointers; `typed`: the parameter that tells its type; `least` and `most`: C code."""

    name: str
    kind: str
    written: bool
    each: bool
    typed: str
    least: str
    most: str
    integer: str = "int"
    """The type of sizes and steps."""

    @staticmethod
    def read(word: str, kind: str) -> Parameter:
        word, _, least = word.partition(">=")
        word, _, most = word.partition("<=")
        word, _, typed = word.partition(":")
        name = word.rstrip("!~#[]")
        kind = "V" if typed else "I" if "#" in word or name in ("pivots", "info", "host_info") else kind
        return Parameter(name, REAL[kind] if "~" in word else kind, "!" in word, "[]" in word, typed, least, most)

    @property
    def declaration(self) -> str:
        if self.name in IN_MEMORY or self.name in SCALARS:
            constant = "" if self.written else "const "
            return f"{constant}{TYPES[self.kind]} *{f'const {self.name}[]' if self.each else self.name}"
        plain = (
            "cudaDataType"
            if self.name in DATA_TYPES
            else "long long"
            if self.name.startswith("stride")
            else self.integer
        )
        return f"{ENUMERATIONS.get(self.name, (plain, 0))[0]} {self.name}"

    @property
    def condition(self) -> str:
        """What must hold of it, or cuBLAS refuses the call; as C."""
        if self.name in ENUMERATIONS:
            return f"(unsigned){self.name} < {ENUMERATIONS[self.name][1]}"
        if self.name in SIZES:
            return f"{self.name} >= 0" + (f" && {self.name} <= {self.most}" if self.most else "")
        return f"LEADS({self.name}, {self.least})" if self.least else self.name

    @property
    def size(self) -> str:
        return f"size_of({self.typed})" if self.typed else f"sizeof *{self.name}"

    @property
    def pointers(self) -> list[str]:
        """Pointers to each of its scalars, as C."""
        return [f"{self.name} + {k}" for k in range(ROTATION)] if self.name == "rotation" else [self.name]

    @property
    def words(self) -> str:
        """The words of a call that pass it, as C."""
        if self.name in SCALARS:
            return ", ".join(f"SCALAR_OF({one}, {self.size})" for one in self.pointers)
        return f"POINTER({self.name})" if self.name in IN_MEMORY else self.name


@dataclass(frozen=True)
class Function:
    """`name`: after `cublas`; `base`: the name of what does the same for one matrix, without the letter of its
    type; `kind`: the letter of the type of its vectors and matrices."""

    name: str
    base: str
    kind: str
    parameters: tuple[Parameter, ...]

    @property
    def results(self) -> list[Parameter]:
        """The parameters written to that lie where the scalars do: on the host or the device."""
        return [one for one in self.parameters if one.written and one.name in (*SCALARS, "result")]

    @property
    def prototype(self) -> str:
        declared = ", ".join(one.declaration for one in self.parameters)
        return f"cublasStatus_t cublas{self.name}(cublasHandle_t h, {declared})"

    @property
    def definition(self) -> str:
        names, needed = [one.name for one in self.parameters], [*SCALARS, "result", "host_info"]
        if "a" in names:  # functions of vectors alone take a negative size, and do nothing
            needed += [*SIZES, *ENUMERATIONS, *(one.name for one in self.parameters if one.least)]
            needed += ["incx", "incy"] * (self.base != "dgmm")
        checks = [one.condition for one in self.parameters if one.name in needed]
        results = "".join(f"{{{to}, {one.size}}}, " for one in self.results for to in one.pointers)
        words = ", ".join(one.words for one in self.parameters)
        first = "*host_info = 0; " if "host_info" in names else ""
        return (
            f"{self.prototype} {{ NEED({' && '.join(checks) or 'h'}); {first}"
            f'RESULTS("{self.name}", ({{{results}{{0}}}}), {words}); }}'
        )


def with_wide(functions: Iterable[Function]) -> Iterator[Function]:
    """The functions, and of those that have one the twin with 64-bit sizes: cublasSgemm and cublasSgemm_64."""
    for function in functions:
        yield function
        if function.base not in ONLY_NARROW:
            wide = [replace(one, integer="int64_t", kind=one.kind.replace("I", "L")) for one in function.parameters]
            yield replace(function, name=function.name + WIDE, parameters=tuple(wide))


def product_definition(function: Function) -> str:
    """C code of a product: what a parameter does not tell follows from the function's type."""
    passed = {one.name: one.name for one in function.parameters if one.name != "algo"} | {"c": "(void *)c"}
    data, computed = DATA.get(function.kind, ""), "32F" if function.name.removesuffix(WIDE).endswith("Ex") else ""
    implied = dict.fromkeys(("atype", "btype", "ctype"), f"CUDA_{data}") | {"count": "1"}
    implied["compute"] = f"CUBLAS_COMPUTE_{computed or data[2:]}"
    each = {"pointers": "1"} if any(one.each for one in function.parameters) else {}
    fields = ", ".join(f".{name} = {value}" for name, value in {**implied, **passed, **each}.items())
    return f'{function.prototype} {{ return product(h, "{function.name}", (struct product){{{fields}}}); }}'


def functions(table: str) -> Iterator[Function]:
    for line in table.strip().splitlines():
        types, names, parameters = (part.split() for part in re.split(r" *: (?=\S)| : ", line))
        for name, prefix in product(names, types):
            kind, whole = OF_PREFIX.get(prefix, prefix[-1].upper()), prefix + name
            if prefix in "-I":
                kind, whole = "V", name[:1].upper() + name[1:] if prefix == "-" else whole
            read = tuple(Parameter.read(word, kind) for word in parameters)
            yield Function(whole, re.sub("(3m)?Ex$|(Strided)?Batched$", "", name), kind, read)


FUNCTIONS = {one.name: one for one in with_wide(functions(TABLE))}


def named(types: str, names: str) -> list[str]:
    return [f"cublas{kind}{name}" for name, kind in product(names.split(), types.split())]


OF_PRODUCTS = [*with_wide(functions(PRODUCTS))]
OLDEST = [*named("S D", "axpy copy swap scal dot nrm2 asum gemv ger gemm"), *named("Is Id", "amax amin")]
WITHOUT_HANDLE = [one for one in (*FUNCTIONS.values(), *OF_PRODUCTS) if f"cublas{one.name}" in OLDEST]
"""Functions that cublas.h has as well, without a handle."""
OF_HANDLES = [f"cublas{name}{what}" for what in ("Stream", "PointerMode") for name in ("Get", "Set")]
OF_HANDLES += ["cublasCreate", "cublasDestroy", "cublasSetWorkspace", "cublasGetVersion"]
NEVER_RENAMED = ("syrkx", "herkx", "gemm3m", "trttp", "tpttr", "geam", "dgmm")
MISSING = [
    *named("S D C Z", "geqrfBatched gelsBatched"),
    *("cublasRotgEx", "cublasRotmEx", "cublasRotmgEx"),
    *("cublasHgemvBatched", "cublasHgemvStridedBatched", "cublasUint8gemmBias"),
    *("cublasLoggerConfigure", "cublasSetLoggerCallback", "cublasGetLoggerCallback", "cublasGetProperty"),
    *("cublasGetSmCountTarget", "cublasSetSmCountTarget"),
]


def without_handle(function: Function) -> str:
    """C code of cublas.h's function of this name: it takes scalars as values, letters for what is done to matrices, and
    returns its result."""
    declared, passed = [], []
    result = next((TYPES[one.kind] for one in function.parameters if one.name == "result"), "void")
    for one in function.parameters:
        if one.name in SCALARS:
            declared.append(f"{TYPES[one.kind]} {one.name}")
        elif one.name != "result":
            declared.append(f"char {one.name}" if one.name in ENUMERATIONS else one.declaration)
        operation = f"banksim_cublas_operation({one.name})" if one.name in ENUMERATIONS else one.name
        passed.append(f"&{one.name}" if one.name in (*SCALARS, "result") else operation)
    call = f"BANKSIM_NOTED(cublas{function.name}, {', '.join(passed)});"
    body = call if result == "void" else f"{result} result = 0; {call} return result;"
    return f"BANKSIM_LOCAL {result} cublas{function.name}({', '.join(declared)}) {{ {body} }}"


def headers() -> dict[str, str]:
    """The headers by their names. They give functions the names of their newer versions, take these away again where
    cublas.h has its own and define these, define those of the table, and list what is missing, for a macro of who
    includes them."""
    renamed = [f"cublas{one.name}" for one in FUNCTIONS.values() if one.name.endswith(one.base)]
    renamed = [name for name in renamed if not name.endswith(NEVER_RENAMED)]
    older = [f"cublas{one.name}" for one in WITHOUT_HANDLE]
    renamed += named("S D C Z", "gemm")
    known = {f"cublas{one.name}" for one in (*FUNCTIONS.values(), *OF_PRODUCTS)}
    newer = {name: f"{name}_v2" for name in (*OF_HANDLES, *renamed)}
    newer |= {f"{name}{WIDE}": f"{name}_v2{WIDE}" for name in renamed if f"{name}{WIDE}" in known}
    return {
        "banksim_cublas_newer.h": "".join(f"#define {name} {new}\n" for name, new in newer.items()),
        "banksim_cublas_older.h": "".join(f"#undef {name}\n" for name in ("cublasGetVersion", *older)),
        "banksim_cublas_without_handle.h": "".join(f"{without_handle(one)}\n" for one in WITHOUT_HANDLE),
        "banksim_cublas_defined.h": "".join(f"{one.definition}\n" for one in FUNCTIONS.values()),
        "banksim_cublas_products.h": "".join(f"{product_definition(one)}\n" for one in OF_PRODUCTS),
        "banksim_cublas_missing.h": "".join(f"BANKSIM_MISSING({name})\n" for name in MISSING),
    }
