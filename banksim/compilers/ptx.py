"""PTX → cubin, with ptxas itself: what links through nvJitLink is not the code that a GPU runs."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from banksim import cache
from banksim.compilers import tools


def assemble(ptx: str | bytes, arch: str = "sm_90", options: Sequence[str] = ()) -> bytes:
    """The cubin that ptxas makes of `ptx` for `arch`, with line information. `options` go to ptxas as they are."""
    source = ptx.encode() if isinstance(ptx, str) else ptx
    arguments = ["-arch", arch, "-lineinfo", *options]
    key = cache.key("ptxas", tools.identity("ptxas"), *arguments, source)
    cubin = cache.get(key)
    if cubin is None:
        with tempfile.TemporaryDirectory(prefix="banksim-") as folder:
            (Path(folder) / "kernel.ptx").write_bytes(source.rstrip(b"\0"))
            tools.run("ptxas", [*arguments, "kernel.ptx", "-o", "kernel.cubin"], cwd=Path(folder), what="the PTX")
            cubin = (Path(folder) / "kernel.cubin").read_bytes()
        cache.put(key, cubin)
    return cubin
