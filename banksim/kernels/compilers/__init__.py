"""Kernel sources → cubin, with no GPU: Numba functions, CUDA C++, PTX."""

from __future__ import annotations

from banksim.kernels.compilers.cuda import compile_cuda
from banksim.kernels.compilers.numba import Compiled, Field, compile_numba
from banksim.kernels.compilers.ptx import assemble, link

__all__ = ["Compiled", "Field", "assemble", "compile_cuda", "compile_numba", "link"]
