"""Products of cuBLASLt (cuda/libraries/cublasLt.c) over NumPy, with what follows them: a bias, ReLU or GELU (its form
with tanh), and their gradients."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from banksim.errors import UnsupportedError
from banksim.runs.programs.libraries.calls import Array, Memory
from banksim.runs.programs.libraries.data_types import STORED, number_of, put
from banksim.runs.programs.libraries.matrices import Call, as_asked
from banksim.runs.programs.libraries.products import COMPLEX, COMPUTED, product_of, sum_of_both

RELU, BIAS, OF_RELU, GELU, OF_GELU, AUXILIARY = 2, 4, 8, 32, 64, 128
"""Bits of cublasLtEpilogue_t: what it does, and whether it keeps or reads a second matrix."""
AS_RESULT = (1 << 32) - 1
"""Instead of a cudaDataType: that of the result."""
LAYOUT_WORDS = 8


@dataclass(frozen=True)
class Matrix:
    """One of the matrices of a call, or as many as `count` tells, `stride` values apart."""

    memory: Memory
    address: int
    kind: int
    by_rows: int
    rows: int
    columns: int
    leading: int
    count: int
    stride: int

    def stored(self, number: int) -> Array:
        address = self.address + number * self.stride * np.dtype(STORED[self.kind]).itemsize
        if self.by_rows:
            return self.memory.matrix(address, self.columns, self.rows, self.leading, STORED[self.kind]).T
        return self.memory.matrix(address, self.rows, self.columns, self.leading, STORED[self.kind])

    def read(self, number: int, dtype: type[np.generic]) -> Array:
        return number_of(self.stored(number), self.kind, dtype)


def compute(memory: Memory, name: str, words: Sequence[int]) -> bytes:
    """d = epilogue(alpha · op(a) · op(b) + beta · c)."""
    on_device, computed, scale, op, op_of_b, epilogue, *rest = words
    a, b, c, to = (Matrix(memory, *rest[at : at + LAYOUT_WORDS]) for at in range(11, len(rest), LAYOUT_WORDS))
    given, summed, results = COMPUTED.get(computed, (np.float32, np.float32, {}))
    if a.kind != b.kind or c.kind != to.kind or to.kind not in results.get(a.kind, ()):
        raise UnsupportedError(
            f"{memory.what}: there is no product of cudaDataType {a.kind} and {b.kind} as {to.kind} by "
            f"cublasComputeType_t {computed}"
        )
    if to.kind in COMPLEX:
        given = summed = STORED[to.kind]
    if STORED.get(scale) != given:
        raise UnsupportedError(f"{memory.what}: scalars of cudaDataType {scale}")
    call = Call(memory, on_device, given)
    alpha, beta = (summed(call.scalar(rest[at : at + 2], given)) for at in (0, 2))
    for number in range(to.count):
        left, right = (as_asked(one.read(number, summed), how) for one, how in ((a, op), (b, op_of_b)))
        before = c.read(number, summed) if beta != 0 else left
        total = sum_of_both(alpha, product_of(left, right), beta, before)
        put(to.stored(number), finished(memory, epilogue, total, to, number, rest[4:11]), to.kind)
    return b""


def finished(memory: Memory, epilogue: int, total: Array, to: Matrix, number: int, words: Sequence[int]) -> Array:
    """What an epilogue makes of a product. `words`: address, type and distance of its bias; address, type, leading
    dimension and distance of its second matrix."""
    bias, of_bias, bias_stride, auxiliary, of_auxiliary, leading, stride = words
    if epilogue & BIAS:
        kind = to.kind if of_bias == AS_RESULT else of_bias
        at = bias + number * bias_stride * np.dtype(STORED[kind]).itemsize
        total = total + number_of(memory.array(at, to.rows, STORED[kind]), kind, total.dtype.type)[:, None]
    if not epilogue & AUXILIARY:
        return np.maximum(total, 0) if epilogue & RELU else gelu(total)[0] if epilogue & GELU else total
    if epilogue & (RELU | OF_RELU):  # a bit for each value, by columns
        bits = memory.matrix(auxiliary + number * stride // 8, -(-to.rows // 8), to.columns, leading // 8, np.uint8)
        if epilogue & OF_RELU:
            return np.where(np.unpackbits(bits, 0, to.rows, "little"), total, 0)
        bits[:] = np.packbits(total > 0, 0, "little")
        return np.maximum(total, 0)
    kind = to.kind if of_auxiliary == AS_RESULT else of_auxiliary
    second = Matrix(memory, auxiliary, kind, 0, to.rows, to.columns, leading, 1, stride)
    if epilogue & OF_GELU:
        return total * gelu(second.read(number, total.dtype.type))[1]
    put(second.stored(number), total, kind)
    return gelu(total)[0]


def gelu(x: Array) -> tuple[Array, Array]:
    """x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))), and its derivative."""
    factor = x.dtype.type(np.sqrt(2 / np.pi))
    tanh = np.tanh(factor * (x + x.dtype.type(0.044715) * x**3))
    slope = (1 - tanh**2) * factor * (1 + x.dtype.type(3 * 0.044715) * x**2)
    return x / 2 * (1 + tanh), (1 + tanh) / 2 + x / 2 * slope
