"""Sums in the order of an H200's cuBLAS: one element after the other, each product fused with the addition behind it.

So it computes axpy, ger, rot, geam and syrk, batches of products, two in three products of doubles and one in three of
floats (of 32, 128, 1024, 2048, 4096 rows …). The others it splits along k, by a choice that nobody has published.

NumPy rounds products before it adds them, and sums in an order of its own. What is compiled here takes as long: the
sums of `ROWS` rows and a vector of columns stay in registers, and both matrices are laid out as they are read.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
from llvmlite import ir
from llvmlite.binding import ExecutionEngine

from banksim.runs.programs.libraries.calls import Array
from banksim.runs.programs.libraries.matrices import Scalar
from banksim.system.llvm_compiler import Code, compiled
from banksim.system.native_code import WELL, host_features, linked

ROWS = 8
DEPTH = 1024
"""Bytes of a column that are read at a time: with those of a vector of columns they stay in a cache."""
WORD, I32 = ir.IntType(64), ir.IntType(32)
KINDS: dict[np.dtype, ir.Type] = {np.dtype(np.float32): ir.FloatType(), np.dtype(np.float64): ir.DoubleType()}


def lanes(dtype: np.dtype) -> int:
    """Columns of a vector: two registers of AVX-512 for each of 8 rows, or one of AVX2."""
    return (128 if "+avx512f" in host_features() else 32) // dtype.itemsize


def chained(left: Array, right: Array) -> Array:
    """left · right, of floats of 32 or 64 bits."""
    (rows, depth), columns = left.shape, right.shape[1]
    one, other = panels(left.T, ROWS), panels(right, lanes(right.dtype))
    to = np.zeros((len(one) * ROWS, other.shape[0] * other.shape[2]), left.dtype)
    step = DEPTH // left.itemsize
    for first in range(0, depth, step):
        places = (one[:, first:].ctypes, other[:, first:].ctypes, to.ctypes)
        function("products", left.dtype)(*places, min(step, depth - first), depth, len(one), len(other))
    return to[:rows, :columns]


def fused(one: Scalar, other: Scalar, summand: Array) -> Array:
    """one · other + summand, rounded once if it is of floats of 32 or 64 bits; the factors are spread to its shape."""
    if summand.dtype not in KINDS:
        return np.asarray(one * other + summand)
    to = np.array(summand, order="C")
    factors = (np.ascontiguousarray(np.broadcast_to(factor, to.shape), to.dtype) for factor in (one, other))
    function("sums", to.dtype)(*(factor.ctypes for factor in factors), to.ctypes, to.size)
    return to


def panels(matrix: Array, width: int) -> Array:
    """The matrix as so many columns after the other, with columns of zeros behind the last."""
    rows, columns = matrix.shape
    found = np.zeros((-(-columns // width), rows, width), matrix.dtype)
    whole = columns // width
    found[:whole] = matrix[:, : whole * width].reshape(rows, whole, width).transpose(1, 0, 2)
    if whole < len(found):
        found[whole, :, : columns - whole * width] = matrix[:, whole * width :]
    return found


@cache
def function(name: str, dtype: np.dtype) -> Callable[..., None]:
    sizes = {"products": 4, "sums": 1}[name]
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * sizes)
    return kind(code().get_function_address(f"{name}_{dtype}"))


@cache
def code() -> ExecutionEngine:
    module = ir.Module()
    for dtype in KINDS:
        write_products(module, dtype)
        write_sums(module, dtype)
    return linked([compiled(Code(str(module), WELL))])


@contextmanager
def counted(builder: ir.IRBuilder, count: ir.Value) -> Iterator[ir.Value]:
    """A loop over the numbers below `count`."""
    before, (head, body, behind) = builder.block, (builder.append_basic_block() for _ in range(3))
    builder.branch(head)
    builder.position_at_end(head)
    index = builder.phi(WORD)
    index.add_incoming(WORD(0), before)
    builder.cbranch(builder.icmp_signed("<", index, count), body, behind)
    builder.position_at_end(body)
    yield index
    index.add_incoming(builder.add(index, WORD(1)), builder.block)
    builder.branch(head)
    builder.position_at_end(behind)


def started(module: ir.Module, name: str, dtype: np.dtype, sizes: int) -> tuple[ir.IRBuilder, list[ir.Value]]:
    kinds = [KINDS[dtype].as_pointer()] * 3 + [WORD] * sizes
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), f"{name}_{dtype}")
    return ir.IRBuilder(function.append_basic_block()), list(function.args)


def write_sums(module: ir.Module, dtype: np.dtype) -> None:
    """to = one · other + to, of `count` elements."""
    builder, (one, other, to, count) = started(module, "sums", dtype, 1)
    with counted(builder, count) as index:
        place = builder.gep(to, [index])
        factors = (builder.load(builder.gep(array, [index])) for array in (one, other))
        builder.store(builder.fma(*factors, builder.load(place)), place)
    builder.ret_void()


def write_products(module: ir.Module, dtype: np.dtype) -> None:
    """to += left · right, of so many `panels`, each `whole` deep, of which `depth` is multiplied. `to` lies by rows."""
    builder, (left, right, to, depth, whole, rows, columns) = started(module, "products", dtype, 4)
    width = lanes(dtype)
    vector = ir.VectorType(KINDS[dtype], width)
    undefined, everywhere = ir.Constant(vector, ir.Undefined), ir.Constant(ir.VectorType(I32, width), [0] * width)
    sums = [builder.alloca(vector) for _ in range(ROWS)]
    name = f"llvm.fma.v{width}f{8 * dtype.itemsize}"
    fma = ir.Function(module, ir.FunctionType(vector, [vector] * 3), name)
    with counted(builder, columns) as column, counted(builder, rows) as row:
        ours = builder.gep(left, [builder.mul(builder.mul(row, whole), WORD(ROWS))])
        others = builder.gep(right, [builder.mul(builder.mul(column, whole), WORD(width))])
        places = []
        for k, sum in enumerate(sums):
            line = builder.add(builder.mul(row, WORD(ROWS)), WORD(k))
            number = builder.add(builder.mul(line, columns), column)
            places.append(builder.gep(builder.bitcast(to, vector.as_pointer()), [number]))
            builder.store(builder.load(places[-1], align=dtype.itemsize), sum)
        with counted(builder, depth) as index:
            other = builder.load(
                builder.gep(builder.bitcast(others, vector.as_pointer()), [index]), align=dtype.itemsize
            )
            for k, sum in enumerate(sums):
                one = builder.load(builder.gep(ours, [builder.add(builder.mul(index, WORD(ROWS)), WORD(k))]))
                spread = builder.shuffle_vector(builder.insert_element(undefined, one, I32(0)), undefined, everywhere)
                builder.store(builder.call(fma, [spread, other, builder.load(sum)]), sum)
        for place, sum in zip(places, sums, strict=True):
            builder.store(builder.load(sum), place, align=dtype.itemsize)
    builder.ret_void()
