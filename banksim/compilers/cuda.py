"""CUDA C++ → cubin: nvcc where there is a host compiler, NVRTC where there is none."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from banksim import cache
from banksim.compilers import tools


def compile_cuda(
    source: str | Path,
    arch: str = "sm_90",
    defines: Sequence[str] = (),
    includes: Sequence[str | Path] = (),
    std: str | None = None,
) -> bytes:
    """The cubin of a CUDA C++ file (a Path, or a str that names one) or of source text."""
    if isinstance(source, str) and "\n" not in source and "{" not in source:
        source = Path(source)
    text = source if isinstance(source, str) else source.read_text()
    options = ["-arch", arch, "-lineinfo", *(f"-D{d}" for d in defines), *(f"-I{Path(i).resolve()}" for i in includes)]
    if std:
        options.append(f"-std={std}")
    with tempfile.TemporaryDirectory(prefix="banksim-") as folder:
        file = source if isinstance(source, Path) else Path(folder) / "kernel.cu"
        if isinstance(source, str):
            file.write_text(text)
        key = cache.key("nvcc", tools.identity("nvcc"), *options, str(file.resolve()), text)
        cubin = cache.get(key)
        if cubin is None:
            target = Path(folder) / "kernel.cubin"
            tools.run("nvcc", ["-cubin", *options, "-o", target, file], what=str(file))
            cubin = target.read_bytes()
            cache.put(key, cubin)
    return cubin
