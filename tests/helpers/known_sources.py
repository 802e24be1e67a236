"""Sources of kernels that tests look at, compiled once and listed together: nvdisasm is slow to start."""

import functools
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from banksim.kernels.compilers import assemble, compile_cuda, tools
from banksim.kernels.cubin import decode_ahead
from banksim.system import cache
from helpers.places import KERNELS

SMALL = """
extern __shared__ int dynamic[];
__global__ void windows(int* a, int n) {
    int l[40];
    for (int i = 0; i < n; i++) l[i] = a[i];
    int *p = n > 3 ? l : a, *q = n > 2 ? dynamic : a;
    p[n] = q[n] = 4;
    a[3] = l[a[2]];
}
struct S { int a[8]; };
__global__ void parameters(const __grid_constant__ S s, int* o, int i) {
    const int* p = i > 2 ? s.a : o;
    o[0] = p[i];
}
#include <cstdio>
__global__ void calls_the_driver(int* a) { printf("%d", a[0]); free(malloc(a[1])); }
#if __CUDA_ARCH__ >= 900
__global__ void __block_size__((32, 4, 2)) fixed(int* a) { a[0] = 1; }
#endif
"""
DIVISORS = {"root": 1.4142135623730951, "negative": -3.0, "large": 1e300, "small": 2.5e-200}
DIVISIONS = "\n".join(
    f'extern "C" __global__ void {name}(double *x) {{ *x /= {divisor!r}; }}' for name, divisor in DIVISORS.items()
)
TEXTS = {"small": SMALL, "divisions": DIVISIONS}
DECODED = {
    "sm_75": ("calls.cu", "small"),
    "sm_80": ("calls.cu", "small", "inlined.cu"),
    "sm_90": ("calls.cu", "small", "inlined.cu", "forms.cu", "whole.cu", "divisions"),
    "sm_120": ("calls.cu", "small", "inlined.cu", "forms.cu"),
}
"""The sources whose kernels tests look at, by architecture: a file, or one of `TEXTS`."""
BY_NVCC = {"whole.cu", "separate.cu"}
"""The others NVRTC compiles, in a tenth of the time."""
HOST_COMPILER = tools.host_compiler


@functools.cache
def forms() -> bytes:
    """The PTX of forms.cu, which takes seconds. It is the same for all architectures whose code tests look at."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["-ptx", "-arch", "compute_90", "-w", "-lineinfo", "-DOFFSET=3", "-o", "forms.ptx"]
        tools.run("nvcc", [*options, KERNELS / "forms.cu"], Path(folder), what="forms.cu")
        return (Path(folder) / "forms.ptx").read_bytes()


@functools.cache
def made(source: str, arch: str = "sm_90", relocatable: bool = False) -> bytes:
    if source == "forms.cu":
        return assemble(forms(), arch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tools, "host_compiler", HOST_COMPILER if source in BY_NVCC else lambda: None)
        content = TEXTS.get(source, KERNELS / source)
        return compile_cuda(content, arch, ["OFFSET=3"], std="c++17", relocatable=relocatable)


@functools.cache
def listed(arch: str) -> None:
    """List all of an architecture with one start of nvdisasm."""
    decode_ahead(made(source, arch) for source in DECODED[arch])


def kept(text: str) -> Path:
    """The file that has a source which was compiled as text."""
    return cache.keep(text.encode(), "kernel.cu")


def list_ahead(texts: Iterable[str], arch: str = "sm_90") -> None:
    """List the kernels of sources with one start of nvdisasm, wherever their files lie."""
    decode_ahead(compile_cuda(kept(text), arch) for text in texts)
