"""Kernel sources → cubin, with no GPU: Numba functions, CUDA C++, PTX.

numba.py               Numba functions: compile_numba
numba_arguments.py     … what types arguments have, and what parameters they become
numba_objects.py       … what is asked of its objects
numba_without_gpu.py   … numba-cuda's questions to a driver, answered
cuda.py                CUDA C++: compile_cuda, by nvcc or NVRTC
included.py            … the headers that a source includes, and where those of its helpers are
host_part.py           … a file whose host part does not compile
headers.py             … which wheel has a header that was not found
nvrtc.py               … the compiler that is a library
ptx.py                 PTX → cubin, cubins → one: assemble, link
source.py              … a file and the options that nvcc and NVRTC share
versions.py            the versions of all of them
tools.py               ptxas, nvdisasm and the others: found and run with a time limit
"""

from banksim.kernels.compilers.cuda import compile_cuda
from banksim.kernels.compilers.numba import CompiledKernel, compile_numba
from banksim.kernels.compilers.numba_arguments import Field
from banksim.kernels.compilers.ptx import assemble, link

__all__ = ["CompiledKernel", "Field", "assemble", "compile_cuda", "compile_numba", "link"]
