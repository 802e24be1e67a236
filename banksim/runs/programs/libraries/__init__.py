"""What the stand-ins for NVIDIA's libraries (cuda/libraries) ask for, computed by NumPy in the program's memory.

calls.py     a call: its words, and the memory that they point into
cublas.py    vectors and matrices
matrices.py  how these are stored
data_types.py  numbers of the types of cudaDataType
products.py  products of matrices of any types
chains.py    sums of floats in cuBLAS's order
factors.py   triangular factors of many matrices
cublaslt.py  products of matrices, and what follows them
cufft.py     Fourier transforms
cusolver.py  systems of equations, eigenvalues, singular values
cusparse.py  products of sparse matrices with dense ones, and these as sparse ones
sparse_matrices.py  sparse matrices in memory
sparse_systems.py  products of two, triangular systems, incomplete factors
sparse_vectors.py  sparse vectors, and conversions by the older functions
curand.py    random numbers
generators.py  the words that cuRAND's are made of
twister.py  those of MT19937
quasirandom.py  Sobol's numbers
poisson.py  Poisson's, made of words
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from banksim.machine.launch import Buffer
from banksim.runs.programs.libraries import cublas, cublaslt, cufft, curand, cusolver, cusparse
from banksim.runs.programs.libraries.calls import Memory, read

COMPUTE = {
    "cuBLAS": cublas.compute,
    "cuBLASLt": cublaslt.compute,
    "cuFFT": cufft.compute,
    "cuRAND": curand.compute,
    "cuSOLVER": cusolver.compute,
    "cuSPARSE": cusparse.compute,
}


@dataclass(frozen=True)
class Called:
    """What a call gave. `name`: such as `cuBLAS Sgemm`; `used`: the numbers of the buffers that it read or wrote."""

    name: str
    answer: bytes
    used: set[int]
    seconds: float


def called(content: bytes, buffers: Sequence[Buffer]) -> Called:
    """Compute what a call asks for."""
    library, name, words = read(content)
    memory, began = Memory(buffers, f"{library} {name}"), time.perf_counter()
    with np.errstate(all="ignore"):  # infinities and NaNs are the program's own
        answer = COMPUTE[library](memory, name, words)
    return Called(memory.what, answer, memory.used, time.perf_counter() - began)


def depends_on_memory_alone(content: bytes) -> bool:
    """Whether a call does the same whenever memory is the same. A generator's does not: its numbers go on."""
    return read(content)[0] != "cuRAND"
