"""What banksim must know of a language whose compiler makes machine code, and how its calls become machine code's.

A language is a module with the functions of `Language`. It is imported when one of its kernels is first given (the
package of the kernel's type tells which language it is), and imports its compiler only where that is used."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from importlib import import_module
from types import FunctionType
from typing import Any, Protocol, cast

from banksim.errors import BanksimError, CompileError, InputError
from banksim.kernels.cubin import decode
from banksim.kernels.kernel import Kernel, Preset
from banksim.runs.options import Call, Grid

LANGUAGES: dict[str, str] = {
    "cuda": "banksim.runs.languages.cutile",
    "tilelang": "banksim.runs.languages.tilelang",
    "triton": "banksim.runs.languages.triton",
    "tvm": "banksim.runs.languages.tilelang",
    "warp": "banksim.runs.languages.warp",
}
"""The module that knows a language, by the package that the type of its kernels comes from."""


@dataclass(frozen=True)
class Compiled:
    """A kernel as its compiler left it: machine code, and what every launch of it has. `about`: what `pack` must know
    of the compilation; `cluster`: the blocks of a cluster, where the machine code does not say."""

    cubin: bytes
    name: str
    preset: Preset | None = None
    about: Any = None
    cluster: tuple[int, ...] | None = None


class Language(Protocol):
    """The functions of a language's module."""

    NAME: str

    def importing(self, arch: str) -> AbstractContextManager[object]:
        """What stands in for a GPU of `arch` while a file with kernels is imported."""

    def owns(self, value: object) -> bool:
        """Whether a value is a kernel of this language."""

    def title(self, kernel: Any) -> tuple[str, Sequence[str]]:
        """A kernel's name, and its parameters as its source has them."""

    def names(self, kernel: Any) -> Mapping[str, object]:
        """The values of the names in a kernel's source, for constants that are given as text."""

    def compile(self, call: Call, arch: str) -> Compiled:
        """The machine code of a call's kernel for an architecture such as sm_90."""

    def pack(self, call: Call, compiled: Compiled) -> Sequence[object]:
        """The arguments as the compiled kernel takes them: arrays, whose addresses are passed, scalars, structs."""

    def grid(self, call: Call, compiled: Compiled) -> Grid | None:
        """The blocks of the grid."""


def without_gpu(arch: str) -> AbstractContextManager[object]:
    """`importing` of a language whose files ask for no GPU: nothing stands in for one."""
    return nullcontext()


def place_of(function: FunctionType) -> str:
    """The file, the line and the name of a kernel's function, for messages."""
    code = function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}: {function.__name__}"


def refused(where: str, error: Exception, gist: str = "") -> CompileError:
    """The error for what a compiler refused. Its first line: where, and the gist (else the compiler's first line)."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    rest = lines if gist and gist != lines[0].strip() else lines[1:]
    return CompileError("\n".join([f"{where}: {gist or lines[0].strip()}", *rest]))


@contextmanager
def refusals(where: str, gist: Callable[[Exception], str] = lambda error: "") -> Iterator[None]:
    """Within, what a compiler raises, which may be an error of any kind, becomes one that says where."""
    try:
        yield
    except BanksimError:
        raise
    except Exception as error:
        raise refused(where, error, gist(error)) from error


def check_constants(where: str, given: Collection[str], known: Sequence[str], required: Sequence[str]) -> None:
    """`InputError` for constants that the kernel does not have, and for those that are missing."""
    for name in given:
        if name not in known:
            raise InputError(f"{where}: {name} is no constant: it has {', '.join(known) or 'none'}")
    if lacking := [name for name in required if name not in given]:
        raise InputError(
            f"{where}: the constants {', '.join(lacking)} are missing: give --const {lacking[0]}=…, "
            f"or const={{{lacking[0]!r}: …}}"
        )


def language_of(kernel: object) -> Language | None:
    """The language of a kernel; None for what no language knows."""
    for kind in type(kernel).__mro__:
        module = LANGUAGES.get(str(kind.__module__).partition(".")[0])
        if module is not None:
            found = cast(Language, import_module(module))
            return found if found.owns(kernel) else None
    return None


def in_machine_code(call: Call, arch: str) -> Call:
    """The call of a language's kernel as one of a decoded kernel. `InputError` for constants of any other kernel."""
    language = language_of(call.kernel)
    if language is None:
        if call.const:
            names = ", ".join(call.const)
            raise InputError(f"constants ({names}) are for kernels of languages that compile them in, such as Triton's")
        return call
    compiled = language.compile(call, arch)
    name, _ = language.title(call.kernel)
    kernel = replace(decoded(compiled), plain_name=name, for_arch=lambda other: decoded(language.compile(call, other)))
    return replace(
        call, kernel=kernel, grid=language.grid(call, compiled), args=[*language.pack(call, compiled)], const={}
    )


def decoded(compiled: Compiled) -> Kernel:
    """The decoded kernel, with what the compiler said of its launches."""
    found = decode(compiled.cubin)[compiled.name]
    x, y, z = (*(compiled.cluster or ()), 1, 1, 1)[:3]
    return replace(
        found, preset=compiled.preset, required_cluster=(x, y, z) if compiled.cluster else found.required_cluster
    )
