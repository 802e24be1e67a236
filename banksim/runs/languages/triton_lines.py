"""Makes Triton write the lines of the program into machine code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from banksim.kernels.compilers.numba_without_gpu import replaced

if TYPE_CHECKING:
    from banksim.runs.languages.triton_objects import JitFunction

ASSEMBLY = re.compile(r"// begin inline asm\n.*?// end inline asm", re.DOTALL)
LOCATION = re.compile(r"^\s*\.loc\b.*\n", re.MULTILINE)


@contextmanager
def own_lines(jit: ModuleType) -> Iterator[None]:
    """Within, what Triton compiles names the lines of its statements. `jit`: the module triton.runtime.jit.

    Triton's cache is then used only for kernels of the same file: its own key has the source, but the machine code
    names the file too."""
    kept = jit.JITFunction.cache_key.fget
    backend = import_module("triton.backends.nvidia.compiler").CUDABackend
    assemble = backend.make_cubin

    def key(function: JitFunction) -> str:
        return f"{kept(function)}-{function.fn.__code__.co_filename}"

    def assembled(self: object, ptx: str, *rest: Any) -> Any:
        return assemble(self, with_lines_of_statements(ptx), *rest)

    with replaced(jit.JITFunction, "cache_key", property(key)), replaced(backend, "make_cubin", assembled):
        yield


def with_lines_of_statements(ptx: str) -> str:
    """LLVM counts on, from the line of the statement, through the lines of inline assembly that Triton makes of it:
    a load would be listed some lines further down. Here all of it has the statement's line."""
    return ASSEMBLY.sub(lambda found: LOCATION.sub("", found[0]), ptx)
