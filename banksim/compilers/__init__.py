"""Kernel sources → cubin, with no GPU: Numba functions, CUDA C++, PTX."""

from __future__ import annotations

from banksim.compilers.cuda import compile_cuda
from banksim.compilers.numba import Compiled, compile_numba
from banksim.compilers.ptx import assemble

__all__ = ["Compiled", "assemble", "compile_cuda", "compile_numba"]
