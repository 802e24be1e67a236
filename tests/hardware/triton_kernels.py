"""Kernels of Triton and Gluon that were recorded on the hardware, from tests/languages; `assembled`: their cubin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rules import argument, launch

GLUON = {"M": 64, "N": 64, "A": "ROWS", "B": "COLUMNS"}
HALVES = "float16[4096] = i % 2048"
SMALL = ("float16[{}] = hash(i) % 9 - 4", "float16[{}] = hash(i, 1) % 9 - 4", "float32[{}] = 0")


def factors(*sizes: int) -> tuple[str, ...]:
    return tuple(rule.format(size) for rule, size in zip(SMALL, sizes, strict=True))


KERNELS: dict[str, tuple[str, str, tuple[int, ...], tuple[str, ...], dict[str, Any]]] = {}
"""Name → file, function, grid, arguments, and constants (of Gluon's kernels also names of the file)."""


def one(name: str, function: str, grid: tuple[int, ...], *arguments: str, **const: Any) -> None:
    """`function` as triton.transpose or gluon.exchange."""
    file, _, function = function.partition(".")
    KERNELS[name] = (file, function, grid, arguments, const)


one("transpose32", "triton.transpose", (2, 3), "float32[6144] = i", "float32[6144] = 0", "int32 = 64", "int32 = 96",
    BLOCK=32)  # fmt: skip
one("transpose64", "triton.transpose", (2, 1), "float16[8192] = i % 2048", "float16[8192] = 0", "int32 = 128",
    "int32 = 64", BLOCK=64, num_warps=8)  # fmt: skip
one("product32", "triton.product", (2, 1), "float32[3072] = hash(i) % 17 / 8 - 1",
    "float32[1536] = hash(i, 1) % 17 / 8 - 1", "float32[2048] = 0", "int32 = 64", "int32 = 32", "int32 = 48",
    BM=32, BN=32, BK=16, num_warps=2, num_stages=2)  # fmt: skip
one("product_mma", "triton.product_f16", (4, 2), *factors(8192, 4096, 8192), "int32 = 128", "int32 = 64", "int32 = 64",
    BM=32, BN=32, BK=32, num_warps=2, num_stages=3)  # fmt: skip
one("product_wgmma", "triton.product_f16", (2, 1), *factors(8192, 4096, 8192), "int32 = 128", "int32 = 64",
    "int32 = 64", BM=64, BN=64, BK=32, num_warps=4, num_stages=2)  # fmt: skip
one("total", "triton.total", (4,), "float32[1000] = hash(i) % 100", "float32[1] = 0", "int32 = 1000", BLOCK=256)
one("softmax", "triton.softmax", (3,), "float32[600] = 0", "float32[600] = unit(i)", "int32 = 200", "int32 = 200",
    BLOCK=256)  # fmt: skip
one("running_total", "triton.running_total", (2,), "int32[1024] = hash(i) % 100 - 50", "int32[1024] = 0", BLOCK=512)
one("sort", "triton.sort", (2,), "int32[512] = hash(i) % 1999 - 999", "int32[512] = 0", BLOCK=256)
one("histogram", "triton.histogram", (2,), "int32[1024] = hash(i) % 64", "int32[128] = 0", BLOCK=512, BINS=64)
one("layer_norm", "triton.layer_norm", (4,), "float32[1200] = unit(i)", "float32[300] = unit(i, 1)",
    "float32[300] = unit(i, 2)", "float32[1200] = 0", "int32 = 300", BLOCK=512)  # fmt: skip
one("attention", "triton.attention", (2,), "float16[8192] = unit(i) - 0.5", "float16[8192] = unit(i, 1) - 0.5",
    "float16[8192] = unit(i, 2) - 0.5", "float32[8192] = 0", "int32 = 128", T=64, D=64, num_stages=2)  # fmt: skip
for layout in ("plain", "swizzled", "padded", "nvmma"):
    one(f"exchange_{layout}", "gluon.exchange", (1,), HALVES, "float16[4096] = 0", S=layout.upper(), **GLUON)
one("exchange_floats", "gluon.exchange", (1,), "float32[4096] = i", "float32[4096] = 0", S="PLAIN", **GLUON)
one("gluon_transpose", "gluon.transpose", (2, 1), "float16[8192] = i % 2048", "float16[8192] = 0", "int32 = 128",
    "int32 = 64", T=64, A="ROWS", S="SWIZZLED")  # fmt: skip
one("gluon_total", "gluon.total", (2,), "float32[1024] = hash(i) % 100", "float32[1] = 0", N=512, L="LINE")
one(
    "gluon_softmax", "gluon.softmax", (3,), "float32[600] = 0", "float32[600] = unit(i)", "int32 = 200", N=256, L="LINE"
)
one("gluon_product", "gluon.product", (2, 1), *factors(8192, 4096, 8192), "int32 = 64", "int32 = 64",
    M=64, N=64, K=64, A="ROWS", ACC="MMA_V2", S="SWIZZLED")  # fmt: skip
one("warpgroup_product", "gluon.warpgroup_product", (2, 1), *factors(16384, 8192, 8192), "int32 = 64", "int32 = 128",
    M=64, N=64, K=64, A="ROWS", ACC="MMA_V3", S="NVMMA")  # fmt: skip


SHARED = {
    "transpose32": 4096, "transpose64": 8192, "product32": 4096, "product_mma": 8192, "product_wgmma": 16384,
    "total": 16, "softmax": 16, "running_total": 16, "sort": 1024, "histogram": 256, "layer_norm": 2048,
    "attention": 40960, "exchange_plain": 8192, "exchange_swizzled": 8192, "exchange_padded": 9200,
    "exchange_nvmma": 8192, "exchange_floats": 16384, "gluon_transpose": 8192, "gluon_total": 16, "gluon_softmax": 8,
    "gluon_product": 16384, "warpgroup_product": 16384,
}  # fmt: skip
"""Bytes of dynamic shared memory that Triton asks for."""


def triton_kernels() -> None:
    """Registers the launches. After the arguments come those that Triton adds: two pointers, which are null here."""
    for name, (_, _, grid, arguments, const) in KERNELS.items():
        block = 32 * const.get("num_warps", 4)
        rules = (*arguments, "uint64 = 0", "uint64 = 0")
        launch("triton_kernels", name, grid, block, *rules, dynamic_shared=SHARED[name])


def made() -> Iterator[tuple[str, str, int]]:
    """Each kernel's name, its PTX and its shared memory."""
    from banksim.runs.languages.triton import compiled_by_triton
    from banksim.runs.options import Call
    from languages import gluon_kernels, triton_kernels

    files: dict[str, Any] = {"triton": triton_kernels, "gluon": gluon_kernels}
    for name, (file, function, grid, rules, const) in KERNELS.items():
        module = files[file]
        named = {key: getattr(module, value) if isinstance(value, str) else value for key, value in const.items()}
        kernel = getattr(module, function)
        args = [argument(rule) for rule in rules]
        found, _ = compiled_by_triton(Call(kernel, grid, None, args, named), "sm_90")
        code = re.sub(rf"\b{found.metadata.name}\b", name, found.asm["ptx"])
        yield name, code.replace("global_smem", f"{name}_smem"), found.metadata.shared


def assembled() -> bytes:
    """One cubin of all kernels."""
    from python_kernels import joined

    from banksim.kernels.compilers.ptx import assemble

    kernels = [*made()]
    assert {name: shared for name, _, shared in kernels} == SHARED, {name: shared for name, _, shared in kernels}
    return assemble(joined(code for _, code, _ in kernels), "sm_90a")


triton_kernels()
