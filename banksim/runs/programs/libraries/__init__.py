"""What the stand-ins for NVIDIA's libraries (cuda/libraries) ask for, computed by NumPy in the program's memory.

calls.py     a call: its words, and the memory that they point into
cublas.py    vectors and matrices
matrices.py  how these are stored
products.py  products of matrices of any types
curand.py    random numbers
generators.py  the words that cuRAND's are made of
"""

from collections.abc import Sequence

from banksim.machine.launch import Buffer
from banksim.runs.programs.libraries import cublas, curand
from banksim.runs.programs.libraries.calls import Memory, read

COMPUTE = {"cuBLAS": cublas.compute, "cuRAND": curand.compute}


def answer(content: bytes, buffers: Sequence[Buffer]) -> tuple[str, bytes]:
    """The name of what was called, such as `cuBLAS Sgemm`, and the answer."""
    library, name, words = read(content)
    what = f"{library} {name}"
    return what, COMPUTE[library](Memory(buffers, what), name, words)
