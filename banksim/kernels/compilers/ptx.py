"""PTX → cubin, with ptxas itself: what links through nvJitLink is not the code that a GPU runs."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from banksim.errors import CompileError
from banksim.kernels.compilers import tools
from banksim.system import cache
from banksim.system.writing import write


def assemble(ptx: str | bytes, arch: str = "sm_90", options: Sequence[str] = (), name: str = "kernel.ptx") -> bytes:
    """The cubin that ptxas makes of `ptx` for `arch`, with line information.

    `options` go to ptxas as they are. CompileError with its message about `name` when it refuses the PTX.
    """
    source = (ptx.encode() if isinstance(ptx, str) else ptx).rstrip(b"\0\n") + b"\n"  # ptxas 13.0 may crash without
    try:
        return _made("ptxas", ["-arch", arch, "-lineinfo", *options], [(source, "kernel.ptx")])
    except CompileError as error:
        said = str(error).replace("kernel.ptx", name)
        raise CompileError(said if name in said else f"{name}: {said}") from None


def link(parts: Sequence[bytes], arch: str = "sm_90") -> bytes:
    """The executable cubin that nvlink makes of relocatable ones."""
    inputs = [(part, f"part{number}.cubin") for number, part in enumerate(parts)]
    return _made("nvlink", ["-arch", arch], inputs)


def _made(program: str, options: Sequence[str], inputs: Sequence[tuple[bytes, str]]) -> bytes:
    key = cache.key(program, tools.identity(program), *options, *(content for content, _ in inputs))
    made = cache.get(key)
    if made is None:
        with tempfile.TemporaryDirectory(prefix="banksim-") as name:
            folder = Path(name)
            for content, file in inputs:
                write(folder / file, content, own=True)
            files = [file for _, file in inputs]
            tools.run(program, [*options, *files, "-o", "made.cubin"], folder, what=files[0])
            made = (folder / "made.cubin").read_bytes()
        cache.put(key, made)
    return made
