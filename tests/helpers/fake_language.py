"""A language of the tests' own: its kernels are CUDA C++ in a Python object, with constants that are macros.

Its compiler is the one that banksim uses for CUDA C++, so what it makes is real machine code.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from banksim import Struct
from banksim.errors import InputError
from banksim.kernels.compilers import compile_cuda
from banksim.kernels.cubin import entry_names
from banksim.kernels.kernel import Preset
from banksim.runs.languages.language import Compiled
from banksim.runs.options import Call

NAME = "Fake"
compilations: list[tuple[str, str]] = []
"""What was compiled, and for what."""


class FakeKernel:
    """`parameters`: those of the source; arrays become a struct of address and length, hidden scratch follows."""

    def __init__(self, name: str, source: str, parameters: Sequence[str], constants: Sequence[str]) -> None:
        self.name, self.source, self.parameters, self.constants = name, source, parameters, constants


TRANSPOSE = FakeKernel(
    "transpose",
    """
    struct View { float *data; int size; };
    extern "C" __global__ void __launch_bounds__(TILE * TILE) transpose(View out, View in, int n, int *scratch) {
        extern __shared__ float tile[];
        int x = threadIdx.x % TILE, y = threadIdx.x / TILE;
        tile[y * (TILE + PAD) + x] = in.data[(blockIdx.y * TILE + y) * n + blockIdx.x * TILE + x];
        __syncthreads();
        out.data[(blockIdx.x * TILE + y) * n + blockIdx.y * TILE + x] = tile[x * (TILE + PAD) + y];
        scratch[(blockIdx.y * gridDim.x + blockIdx.x) * TILE + x] = in.size;
    }
    """,
    ("out", "in", "n"),
    ("TILE", "PAD"),
)


def importing(arch: str) -> AbstractContextManager[object]:
    return nullcontext()


def owns(value: object) -> bool:
    return isinstance(value, FakeKernel)


def title(kernel: FakeKernel) -> tuple[str, Sequence[str]]:
    return kernel.name, [*kernel.parameters, *(f"{name}: const" for name in kernel.constants)]


def names(kernel: FakeKernel) -> Mapping[str, Any]:
    return {"NARROW": 16, "np": np}


def compile(call: Call, arch: str) -> Compiled:
    if lacking := [name for name in call.kernel.constants if name not in call.const]:
        raise InputError(f"{call.kernel.name}: the constants {', '.join(lacking)} are missing")
    compilations.append((call.kernel.name, arch))
    cubin = compile_cuda(call.kernel.source, arch, [f"{name}={value}" for name, value in call.const.items()])
    [name] = [name for name in entry_names(cubin) if re.search(call.kernel.name, name)]
    tile, pad = int(call.const["TILE"]), int(call.const["PAD"])
    return Compiled(cubin, name, Preset((tile * tile, 1, 1), 4 * tile * (tile + pad), (4 * tile,)))


def pack(call: Call, compiled: Compiled) -> list[object]:
    return [Struct(data=one, size=np.int32(one.size)) if isinstance(one, np.ndarray) else one for one in call.args]


def grid(call: Call, compiled: Compiled) -> Any:
    return call.grid(call.const) if callable(call.grid) else call.grid
