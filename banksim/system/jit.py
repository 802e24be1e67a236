"""How banksim's own loops are compiled by numba: no more of them than a run needs, and each only once on a machine.

What numba's front end takes goes by the function, and as much again by the Python wrapper that it gives each. So a
function that only compiled code calls is `inner`: it has no wrapper and lies in no cache but within its callers. A
`Callback`, which the code of a kernel calls by its address, is compiled when a kernel first needs it. `compiler.py`
leaves out what none of them needs of numba's pipeline.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
from llvmlite import ir
from numba import config, njit
from numba.core import event
from numba.core.caching import CacheImpl, FunctionCache, _CacheLocator
from numba.core.ccallback import CFunc
from numba.core.sigutils import normalize_signature
from numba.core.typing.templates import Signature as FunctionSignature
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import register_jitable

from banksim.errors import InputError
from banksim.system import folder_locks
from banksim.system.cache import usable
from banksim.system.compiled_types import (
    Code,
    Function,
    Integer,
    Made,
    NumbaType,
    Place,
    Signature,
    TargetContext,
    TypingContext,
)
from banksim.system.compiler import FRUGAL, PassesOfInner, PassesOfOuter
from banksim.system.native_code import COMPILED, PACKAGE, version_of_loops
from banksim.system.progress import ProgressBar

if config.DISABLE_JIT:  # type: ignore[attr-defined]  # intrinsics have no other form
    raise InputError("NUMBA_DISABLE_JIT leaves banksim without its compiled loops: unset it")

COMPILE = "numba:compile"
"""Numba's name for the event of compiling a function."""
INNER: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": PassesOfInner,
    **FRUGAL,
}
OUTER: dict[str, Any] = {"pipeline_class": PassesOfOuter, **FRUGAL}

if TYPE_CHECKING:

    def carray(place: Place, shape: Integer | tuple[Integer, ...], dtype: npt.DTypeLike = ...) -> Any:
        """numba's function as compiled code calls it: an array at an address. Its elements are known to numba only."""

else:
    from banksim.system.compiler import carray as carray


def inner(function: Function) -> Function:
    """A function that compiled code calls; Python runs it as it is."""
    compiled: Function = register_jitable(**INNER)(function)
    return compiled


def inlined(function: Function) -> Function:
    """An `inner` one that each caller makes its own."""
    compiled: Function = register_jitable(forceinline=True, **INNER)(function)
    return compiled


def outer(function: Function) -> Function:
    """A function that Python calls: its code is kept in numba's cache. Other threads of Python run meanwhile."""

    def made(cache: bool = False) -> Any:
        dispatcher: Any = njit(nogil=True, **OUTER)(function)
        if cache:
            dispatcher._cache = KeptCode(function)  # type: ignore[no-untyped-call]
        return dispatcher

    compiled: Function = kept(function, made)
    return compiled


def intrinsic(
    result: type[Made], signature: Signature | Callable[..., Signature]
) -> Callable[[Callable[..., ir.Value | None]], Callable[..., Made]]:
    """A function of compiled code that is written as LLVM code: from a builder and the arguments' values it makes the
    result's value. `signature`: in numba's types, or a function that tells it of the arguments' types."""

    def made(write: Callable[..., ir.Value | None]) -> Callable[..., Made]:
        @wraps(write)
        def typed(typing_context: TypingContext, *given: NumbaType) -> Code:
            def generate(
                context: TargetContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]
            ) -> ir.Value:
                value = write(builder, *args)
                return context.get_dummy_value() if value is None else value  # type: ignore[no-untyped-call]

            return signature if isinstance(signature, FunctionSignature) else signature(*given), generate

        compiled: Callable[..., Made] = numba_intrinsic(typed)
        return compiled

    return made


class Callback:
    """A function that the code of kernels calls by its address, compiled when this is first asked for."""

    def __init__(self, signature: Signature, function: Callable[..., object]) -> None:
        self.signature, self.py_func = signature, function
        self.name = function.__name__

    @cached_property
    def made(self) -> Any:
        with event.trigger_event(COMPILE, {"dispatcher": self}):
            return kept(self.py_func, self.compiled)

    @property
    def address(self) -> int:
        return int(self.made.address)

    @property
    def code(self) -> bytes | None:
        """The object that it lies in, if numba has it at hand. None if it names addresses of this process."""
        if self.made._library.has_dynamic_globals:
            return None
        found: bytes | None = getattr(self.made._cache, "code", None) or self.made._library._compiled_object
        return found

    def compiled(self, cache: bool = False) -> Any:
        signature = normalize_signature(self.signature)  # type: ignore[no-untyped-call]
        code: Any = CFunc(self.py_func, signature, {}, FRUGAL, pipeline_class=PassesOfOuter)  # type: ignore[arg-type]
        if cache:
            code._cache = KeptCode(self.py_func)  # type: ignore[no-untyped-call]
        code.compile()
        return code


def callback(signature: Signature) -> Callable[[Callable[..., object]], Callback]:
    return lambda function: Callback(signature, function)


def kept(function: Callable[..., object], compiled: Callable[..., object]) -> Any:
    """What `compiled(cache=True)` gives; where numba finds no folder to keep the code of a function in, or one that
    others can write to, without keeping it."""
    try:
        return compiled(cache=True) if trusted(function.__code__.co_filename, function) else compiled()
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        tell_once()
        return compiled()


class KeptCode(FunctionCache):
    """Numba's cache of the code of a function, read without what numba does before it looks there: to register the
    types and code of all that it knows takes a fifth of a second, and code that is ready needs none of it. (Where code
    is not there yet, compiling it begins with this anyway.) Code that another process compiles now is waited for.

    Numba replaces files whole, but an index and the code that it names are two: of processes that compile a function
    for different types at once, one may name the other's code."""

    code: bytes | None = None
    """The object that was found there."""

    def load_overload(self, signature: Any, context: Any) -> Any:
        found = self.stored(signature, context)
        if found is None and self._enabled:
            folder_locks.begin(self.cache_path)
            found = self.stored(signature, context)
            if found is not None:
                folder_locks.end(self.cache_path)
        return found

    def save_overload(self, signature: Any, data: Any) -> None:
        try:
            super().save_overload(signature, data)  # type: ignore[no-untyped-call]
        finally:
            folder_locks.end(self.cache_path)

    def stored(self, signature: Any, context: Any) -> Any:
        if not self._enabled:
            return None
        with self._guard_against_spurious_io_errors():
            key = self._index_key(signature, context.codegen())  # type: ignore[no-untyped-call]
            data = self._cache_file.load(key)  # type: ignore[no-untyped-call]
            if data is None:
                return None
            match data:
                case ((_, "object", (bytes(code), *_)), _, _, made, *_):
                    if made.args != getattr(signature, "args", signature):  # two processes wrote at once
                        return None
                    self.code = code
                case _:  # of a version of numba that writes other records
                    self.code = None
            return self._impl.rebuild(context, data)


class OfOneVersion(_CacheLocator):
    """Where numba keeps the code of a function of this package: where it would anyway, but for one version of it all.

    Numba takes the code of a function for valid as long as the function's own file is the same. It holds that of
    functions of other files too, and would go on judging by an old rule when only the rule's file has changed.
    """

    def __init__(self, where: Any) -> None:
        self.where = where

    @classmethod
    def from_function(cls, function: Callable[..., object], file: str) -> OfOneVersion | None:
        if not Path(file).resolve().is_relative_to(PACKAGE):
            return None
        others = (other.from_function(function, file) for other in LOCATORS if other is not cls)
        return next((cls(found) for found in others if found), None)

    def ensure_cache_path(self) -> None:
        self.where.ensure_cache_path()

    def get_cache_path(self) -> str:
        return str(self.where.get_cache_path())

    def get_source_stamp(self) -> object:
        return self.where.get_source_stamp(), version_of_loops()

    def get_disambiguator(self) -> str:
        return str(self.where.get_disambiguator())


LOCATORS: list[Any] = CacheImpl._locator_classes
LOCATORS.insert(0, OfOneVersion)
FOLDERS: dict[str, bool] = {}


def trusted(source: str, function: Callable[..., object]) -> bool:
    """Whether numba's folder for the functions of a source is beside it, and as much to be trusted, or the user's."""
    if source not in FOLDERS:
        folder = Path(FunctionCache(function).cache_path)  # type: ignore[no-untyped-call]
        FOLDERS[source] = folder.parent == Path(source).parent or usable(folder, "NUMBA_CACHE_DIR")
    return FOLDERS[source]


def folders_of_loops() -> set[Path]:
    """The folders in which numba keeps the code of this package's functions."""
    files = {file.parent: file for room in COMPILED for file in (PACKAGE / room).rglob("*.py")}
    found = (OfOneVersion.from_function(inner, str(file)) for file in files.values())
    return {Path(one.get_cache_path()) for one in found if one}


@cache
def tell_once() -> None:
    print(
        "banksim: no folder can be written to in which compiled code would be kept, so every run compiles anew "
        "(NUMBA_CACHE_DIR names one)",
        file=sys.stderr,
    )


class Compiling(ProgressBar):
    """The progress of numba while it compiles functions of this package."""

    def text(self, seconds: float) -> str:
        return f"compiling banksim's own loops for this machine, once: {self.done} {self.what}"


class Told(event.Listener):
    """Says what goes on while numba compiles functions of this package, and what these need."""

    def __init__(self) -> None:
        self.depth = 0
        self.progress: ProgressBar | None = None

    def on_start(self, event: Any) -> None:
        function = getattr((event.data or {}).get("dispatcher"), "py_func", None)
        if self.depth or getattr(function, "__module__", "").startswith("banksim."):
            self.progress = self.progress or Compiling("functions")
            self.depth += 1

    def on_end(self, event: Any) -> None:
        if self.depth and self.progress:
            self.depth -= 1
            self.progress(1)
            if not self.depth:
                self.progress.clear()


if sys.stderr is not None and sys.stderr.isatty():
    event.register(COMPILE, Told())  # type: ignore[no-untyped-call]
