"""cuSPARSE (cuda/libraries/cusparse.c) over NumPy: products of sparse matrices with dense ones, and to and from these.
Products are summed as doubles and rounded once: sums of floats may differ from cuSPARSE's in the last digits."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from banksim.runs.programs.libraries import sparse_systems, sparse_vectors
from banksim.runs.programs.libraries.calls import Memory
from banksim.runs.programs.libraries.data_types import STORED
from banksim.runs.programs.libraries.matrices import Call, sum_of
from banksim.runs.programs.libraries.sparse_matrices import COO, CSC, DENSE_WORDS, SPARSE_WORDS, Sparse, dense


def compute(memory: Memory, name: str, words: Sequence[int]) -> bytes:
    """Words: whether scalars and results are on the device, and what the function wants."""
    return COMPUTE[name](memory, *words)


def convert(name: str, memory: Memory, on_device: int, *words: int) -> bytes:
    """From dense to sparse, in two steps, and back."""
    sparse = Sparse(memory, *words[:SPARSE_WORDS])
    full = dense(memory, *words[SPARSE_WORDS:])
    if name == "SparseToDense":
        full[:] = 0
        full[sparse.places()] = sparse.data
        return b""
    rows, columns = np.nonzero(full.T)[::-1] if sparse.form == CSC else np.nonzero(full)
    if sparse.form != COO:
        along, total = (columns, sparse.columns) if sparse.form == CSC else (rows, sparse.rows)
        sparse.begins[:] = np.searchsorted(along, np.arange(total + 1)) + sparse.base
    if name == "DenseToSparse_convert":
        if sparse.form == COO:
            sparse.array(sparse.offsets, sparse.count, sparse.of_offsets)[:] = rows + sparse.base
        sparse.stored_indices()[:] = (rows if sparse.form == CSC else columns) + sparse.base
        sparse.data[:] = full[rows, columns]
        return b""
    return len(rows).to_bytes(8, "little")


def product(memory: Memory, on_device: int, op: int, op_of_b: int, *rest: int) -> bytes:
    """c = alpha · op(a) · op(b) + beta · c."""
    sparse = Sparse(memory, *rest[4 : 4 + SPARSE_WORDS])
    right, to = (
        dense(memory, *rest[at : at + DENSE_WORDS]) for at in (4 + SPARSE_WORDS, 4 + SPARSE_WORDS + DENSE_WORDS)
    )
    call = Call(memory, on_device, STORED[sparse.kind])
    alpha, beta = (call.scalar(rest[at : at + 2], call.dtype) for at in (0, 2))
    rows, columns = sparse.places()[:: -1 if op else 1]
    values = sparse.data.conj() if op == 2 else sparse.data
    right = (right.conj() if op_of_b == 2 else right).T if op_of_b else right
    found = np.empty(to.shape, np.result_type(call.dtype, np.float64))
    for column in range(to.shape[1]):
        terms = values.astype(found.dtype) * right[columns, column]
        found[:, column] = np.bincount(rows, terms.real, len(to))
        if np.iscomplexobj(terms):
            found[:, column] += 1j * np.bincount(rows, terms.imag, len(to))
    to[:] = sum_of(alpha * found, beta, to)
    return b""


COMPUTE: dict[str, Callable[..., bytes]] = {
    "SpMV": product,
    "SpMM": product,
    **{name: partial(convert, name) for name in ("SparseToDense", "DenseToSparse_analysis", "DenseToSparse_convert")},
    **sparse_systems.COMPUTE,
    **sparse_vectors.COMPUTE,
}
